//! Bad session logs, one line each: a change of a real log or its file, and what must follow.
//!
//! The lines are data in `tests/corpus`; this file defines their words. A line without a player fails. So does
//! a line that is played although it is listed as impossible.

mod clocks;
mod crashes;
mod open;
mod sizes;
mod sound;
mod writers;

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;

use adjutant_testkit::command::Line;
use open::{Opened, open};
use serde_json::{Value, json};
use sound::{Sound, Spoiled};

const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");

/// The original lines and related lines added later, each file with its number of lines.
const FILES: [(&str, &str, usize); 2] = [
    ("sessionlog.jsonl", include_str!("../corpus/sessionlog.jsonl"), 40),
    ("sessionlog_more.jsonl", include_str!("../corpus/sessionlog_more.jsonl"), 27),
];

/// Lines with another word in Adjutant: the id, that word, and why.
const OTHERWISE: &[(&str, &str, &str)] = &[
    (
        "log-011",
        "resume_headless",
        "a log cut inside its head has no record left to resume: it is listed, reported and empty",
    ),
    (
        "log-014",
        "flag",
        "the last line has the shape of a record, so it was complete once: that is damage and no torn tail",
    ),
    ("log-024", "resume_full", "line ends are no part of a record: nothing is lost, and it is reported"),
];

/// Lines that cannot be played, and why.
const CANNOT: &[(&str, &str)] = &[(
    "log-016",
    "a record has no length field; more-016a and more-016b are a line as long and a number as large",
)];

type Check = fn(&Opened, &Spoiled) -> bool;

/// The check of each word for a log that was opened.
const WORDS: &[(&str, Check)] = &[
    // The tail that never counted is cut, reported, and kept next to the log.
    ("resume_drop_tail", |seen, spoiled| {
        whole(seen, &spoiled.hit) && seen.is_shown() && !seen.flagged() && seen.kept_aside(&spoiled.bytes)
    }),
    ("resume_empty", |seen, _| seen.went_on && seen.says("empty") && seen.listed.is_some()),
    // Only the damaged records are gone, the damage is reported, and a copy of the found log is kept.
    ("resume_partial", |seen, spoiled| {
        whole(seen, &spoiled.hit)
            && seen.flagged()
            && seen.kept_whole(&spoiled.bytes)
            && seen.listed.is_some()
    }),
    // An older version may skip the record: nothing is missing, and nothing is reported.
    ("skip", |seen, spoiled| whole(seen, &spoiled.hit) && !seen.flagged()),
    ("resume_full", |seen, _| whole(seen, &[]) && !seen.flagged()),
    ("flag", |seen, spoiled| whole(seen, &spoiled.hit) && seen.flagged() && seen.listed.is_some()),
    // The line is intact but its event does not fit: it is skipped, and reported.
    ("pass_over", |seen, spoiled| {
        whole(seen, &spoiled.hit) && seen.says("cannot follow the records before") && seen.listed.is_some()
    }),
    // Only the head was left: nothing of the session remains, and that is reported.
    ("resume_headless", |seen, spoiled| {
        seen.went_on && seen.flagged() && seen.kept_whole(&spoiled.bytes) && seen.listed.is_some()
    }),
    ("migrate_copy", |seen, spoiled| {
        whole(seen, &[]) && seen.says("converted from format") && seen.kept_whole(&spoiled.bytes)
    }),
    ("refuse_keep_file", |seen, _| seen.refused.is_some() && seen.untouched && seen.aside.is_empty()),
    ("refuse_newer", |seen, _| {
        let says = |(name, text): &(String, String)| {
            name == "VersionUnsupported" && text.contains("update to continue it")
        };
        seen.refused.as_ref().is_some_and(says) && seen.untouched && seen.aside.is_empty()
    }),
];

/// Whether the session opened, continued, and lost no record except these.
fn whole(seen: &Opened, but: &[u64]) -> bool {
    seen.refused.is_none() && seen.went_on && seen.lost.iter().all(|seq| but.contains(seq))
}

type Scene = fn() -> &'static str;

/// The scenes of lines that are steps, or too large to be bytes. A scene asserts by itself and returns the word
/// that it proved.
const SCENES: &[(&str, Scene)] = &[
    ("log-045", sizes::line_of_a_gibibyte),
    ("log-047", sizes::ten_thousand_sessions),
    ("log-049", writers::two_servers),
    ("log-051", writers::a_number_in_the_lock_file),
    ("log-053", writers::file_replaced),
    ("log-055", writers::file_cut),
    ("log-057", writers::log_is_a_pipe),
    ("log-059", writers::log_of_another_user),
    ("log-061", writers::disk_full),
    ("log-063", writers::sync_fails_once),
    ("log-065", crashes::copy_of_yesterday),
    ("log-067", crashes::command_without_outcome),
    ("log-069", crashes::read_without_outcome),
    ("log-071", crashes::denied),
    ("log-073", crashes::outcome_without_intent),
    ("log-075", crashes::call_without_result),
    ("log-077", crashes::workspace_moved),
    ("log-079", writers::another_editor),
    ("more-053a", writers::file_removed),
    ("more-055a", writers::file_grown),
    ("more-057a", writers::log_is_a_link),
    ("more-063a", writers::sync_fails_for_ever),
    ("more-069a", crashes::edit_without_outcome),
    ("more-073a", crashes::intent_without_call),
    ("more-075a", crashes::result_lost_long_ago),
    ("more-075b", crashes::any_event_lost),
    ("more-077a", crashes::workspace_is_a_file),
];

/// One line of the corpus.
struct Bad {
    id: String,
    class: String,
    input: Value,
    /// The expected word: that of the line, or the one in `OTHERWISE`.
    word: String,
    why: String,
}

impl Bad {
    fn is_mutation(&self) -> bool {
        self.input["mutate"].is_array()
    }
}

fn lines() -> Vec<Bad> {
    FILES.iter().flat_map(|(name, text, count)| read(name, text, *count)).collect()
}

fn read(name: &str, text: &str, count: usize) -> Vec<Bad> {
    let lines: Vec<Bad> = text.lines().map(|line| one(name, line)).collect();
    assert_eq!(lines.len(), count, "{name}: the count here follows the file");
    lines
}

fn one(name: &str, line: &str) -> Bad {
    let value: Value = serde_json::from_str(line).unwrap_or_else(|why| panic!("{name}: {why}: {line}"));
    let text = |field: &str| value[field].as_str().unwrap_or_else(|| panic!("{field} in {line}")).to_owned();
    let (id, word) = (text("id"), text("expect"));
    let own = OTHERWISE.iter().find(|(other, ..)| *other == id).map(|(_, own, _)| (*own).to_owned());
    Bad {
        class: text("class"),
        input: value["input"].clone(),
        word: own.unwrap_or(word),
        why: text("why"),
        id,
    }
}

/// Plays all lines of a class, and reports which ones failed.
fn play(class: &str) {
    let sound = Sound::make();
    let lines = lines();
    let of_class: Vec<&Bad> = lines.iter().filter(|line| line.class == class).collect();
    assert!(!of_class.is_empty(), "there is no line of the class {class}");
    let fails = |line: &&&Bad| std::panic::catch_unwind(AssertUnwindSafe(|| played(&sound, line))).is_err();
    let failed: Vec<&str> = of_class.iter().filter(fails).map(|line| line.id.as_str()).collect();
    assert!(failed.is_empty(), "these lines failed, see above: {failed:?}");
}

fn played(sound: &Sound, line: &Bad) {
    let Bad { id, word, why, .. } = line;
    let scene = SCENES.iter().find(|(named, _)| named == id).map(|(_, scene)| scene);
    let cannot = CANNOT.iter().any(|(named, _)| named == id);
    match (scene, line.is_mutation(), cannot) {
        (None, _, true) => {}
        (Some(scene), _, false) => assert_eq!(scene(), word, "{id}: {why}"),
        (None, true, false) => {
            let spoiled = sound.spoiled(&line.input["mutate"]);
            let seen = open(sound, &spoiled);
            let check = WORDS.iter().find(|(known, _)| known == word).map(|(_, check)| check);
            let check = check.unwrap_or_else(|| panic!("{id}: unknown word {word:?}"));
            let hit = &spoiled.hit;
            assert!(check(&seen, &spoiled), "{id}: {word} is expected ({why}); hit {hit:?}, seen: {seen:#?}");
        }
        _ => panic!("{id}: there is no way to play this line, or it is listed as impossible"),
    }
}

const CLASSES: [&str; 6] = ["torn-tail", "damage", "order-identity", "size", "writers-fs", "crash-semantics"];

#[test]
fn l3_corpus_torn_tail() {
    play("torn-tail");
}

#[test]
fn l3_corpus_damage() {
    play("damage");
}

#[test]
fn l2_corpus_order_identity() {
    play("order-identity");
}

#[test]
fn f13_corpus_size() {
    play("size");
}

#[test]
fn l5_corpus_writers_fs() {
    play("writers-fs");
}

#[test]
fn l6_l7_corpus_crash_semantics() {
    play("crash-semantics");
}

#[test]
fn l3_corpus_no_line_is_skipped() {
    let lines = lines();
    let ids: BTreeSet<&str> = lines.iter().map(|line| line.id.as_str()).collect();
    assert_eq!(ids.len(), lines.len(), "an id occurs twice");
    for line in &lines {
        assert!(CLASSES.contains(&line.class.as_str()), "{}: no test plays {:?}", line.id, line.class);
        let scene = SCENES.iter().any(|(id, _)| *id == line.id);
        let cannot = CANNOT.iter().any(|(id, _)| *id == line.id);
        assert!(scene || cannot || line.is_mutation(), "{} has no player", line.id);
        assert!(!(scene && cannot), "{} is played although it is listed as impossible", line.id);
    }
    let named = SCENES.iter().map(|(id, _)| id).chain(CANNOT.iter().map(|(id, _)| id));
    for id in named.chain(OTHERWISE.iter().map(|(id, ..)| id)) {
        assert!(ids.contains(id), "{id} has no line");
    }
}

/// Returns every file of a session except its lock, with its bytes.
fn files(sound: &Sound) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let entries = std::fs::read_dir(sound.dir()).expect("the folder").flatten();
    let mut files: Vec<_> =
        entries.map(|entry| (entry.path(), std::fs::read(entry.path()).unwrap_or_default())).collect();
    files.retain(|(path, _)| !path.ends_with("lock"));
    files.sort();
    files
}

#[test]
fn f31_a_log_of_a_newer_format_is_shown_with_one_sentence_and_nothing_is_written() {
    let sound = Sound::make();
    let newer = json!([
        {"op": "set_version", "to": 2},
        {"op": "set_event", "record": 50, "to": {"type": "of_tomorrow"}},
    ]);
    for mutations in [json!([{"op": "set_version", "to": 2}]), newer] {
        sound.plant(&sound.spoiled(&mutations).bytes);
        let before = files(&sound);
        let line = |args: &[&str]| Line::new(BINARY, &sound.workspace, args).run();
        let listed = line(&["sessions", "list"]);
        assert!(listed.expect(0).stdout.contains("Look five times"), "{listed}");
        assert!(!listed.stdout.contains("damaged"), "{listed}");
        let shown = line(&["sessions", "show", &sound.session.0]);
        let all = format!("{} {}", shown.stdout, shown.stderr);
        let all = all.split_whitespace().collect::<Vec<_>>().join(" ");
        let sentence = "a newer version wrote this log (format 2); update to continue it";
        assert_eq!(all.matches(sentence).count(), 1, "{shown}");
        assert!(all.contains("Look five times"), "{shown}");
        let ran = line(&["run", "--continue", "-y"]);
        assert!(!ran.status.success() && ran.stderr.contains("update to continue it"), "{ran}");
        let after = files(&sound);
        let names: Vec<_> = after.iter().map(|(path, _)| path).collect();
        assert!(after == before, "something was written: {names:?}");
    }
}
