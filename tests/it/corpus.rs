//! Bad inputs as data, one line each, played against the real program: tool calls, paths, settings and
//! workspaces.
//!
//! The lines are in `tests/corpus`. `names.rs` maps their words to Adjutant's, and `later.rs` lists lines that
//! cannot be played yet. No line is skipped: a line without a player fails.

mod canary;
mod config;
mod later;
mod names;
mod paths;
mod play;
mod setup;
mod toolcalls;
mod trust;
mod workspaces;

use std::collections::BTreeSet;

use adjutant_testkit::corpus::{Line, read};

/// The original lines, and lines added later for related cases.
const FILES: [(&str, &str); 8] = [
    ("toolcalls.jsonl", include_str!("../corpus/toolcalls.jsonl")),
    ("toolcalls_more.jsonl", include_str!("../corpus/toolcalls_more.jsonl")),
    ("paths.jsonl", include_str!("../corpus/paths.jsonl")),
    ("paths_more.jsonl", include_str!("../corpus/paths_more.jsonl")),
    ("config.jsonl", include_str!("../corpus/config.jsonl")),
    ("config_more.jsonl", include_str!("../corpus/config_more.jsonl")),
    ("workspace_injection.jsonl", include_str!("../corpus/workspace_injection.jsonl")),
    ("workspace_injection_more.jsonl", include_str!("../corpus/workspace_injection_more.jsonl")),
];

/// Number of lines in each original file; the originals never change.
const GIVEN: [(&str, usize); 4] =
    [("toolcalls", 30), ("paths", 49), ("config", 24), ("workspace_injection", 15)];

type Player = fn(&Line);

/// Every class with the function that plays its lines.
const CLASSES: &[(&str, Player)] = &[
    ("json-args", toolcalls::play),
    ("json-size", toolcalls::play),
    ("semantics", toolcalls::play),
    ("pairing", toolcalls::play),
    ("edit-preconditions", toolcalls::play),
    ("ordinary", paths::play),
    ("traversal", paths::play),
    ("symlink", paths::play),
    ("protected-write", paths::play),
    ("name-tricks", paths::play),
    ("windows", paths::play),
    ("special", paths::play),
    ("archive", paths::play),
    ("user-config", config::play),
    ("project-config", config::play),
    ("trust", trust::play),
    ("open-time", workspaces::play),
    ("injection", workspaces::play),
];

fn lines() -> Vec<Line> {
    FILES.iter().flat_map(|(name, text)| read(name, text)).collect()
}

/// Plays every line of these classes that can be played.
fn play(classes: &[&str]) {
    let mut failed = Vec::new();
    for class in classes {
        let (_, player) = CLASSES.iter().find(|(name, _)| name == class).expect("a class");
        let lines: Vec<Line> = lines().into_iter().filter(|line| line.class == *class).collect();
        assert!(!lines.is_empty(), "there is no line of the class {class}");
        // A failing line does not hide the next.
        let fails = |line: &&Line| {
            assert!(!line.never_run, "{}: it must not be executed, and this player does", line.id);
            std::panic::catch_unwind(|| player(line)).is_err()
        };
        let played = lines.iter().filter(|line| !later::waits(line));
        failed.extend(played.filter(fails).map(|line| line.id.clone()));
    }
    assert!(failed.is_empty(), "these lines fail, each above: {failed:?}");
}

#[test]
fn s43_corpus_tool_arguments() {
    play(&["json-args", "json-size", "semantics"]);
}

#[test]
fn s41_corpus_calls_and_their_results() {
    play(&["pairing"]);
}

#[test]
fn p2_corpus_edits_fit_the_text_or_are_not_made() {
    play(&["edit-preconditions"]);
}

#[test]
fn s55_corpus_paths() {
    play(&["ordinary", "traversal", "symlink", "windows", "archive"]);
}

#[test]
fn s55_corpus_special_files() {
    play(&["special"]);
}

#[test]
fn p3_corpus_protected_files() {
    play(&["protected-write", "name-tricks"]);
}

#[test]
fn f26_corpus_settings_of_the_user() {
    play(&["user-config"]);
}

#[test]
fn f26_corpus_settings_of_a_project() {
    play(&["project-config", "trust"]);
}

#[test]
fn f21_corpus_workspaces_that_were_opened() {
    play(&["open-time"]);
}

#[test]
fn f21_corpus_texts_that_give_orders() {
    play(&["injection"]);
}

#[test]
fn g1_corpora_are_whole_and_every_line_is_played_or_waits_for_its_feature() {
    for (name, count) in GIVEN {
        let text = FILES.iter().find(|(file, _)| *file == format!("{name}.jsonl")).expect("a file").1;
        assert_eq!(read(name, text).len(), count, "{name} was changed");
    }
    let lines = lines();
    let ids: BTreeSet<&str> = lines.iter().map(|line| line.id.as_str()).collect();
    assert_eq!(ids.len(), lines.len(), "an id occurs twice");
    for line in &lines {
        assert!(
            CLASSES.iter().any(|(class, _)| *class == line.class),
            "{}: no player for its class",
            line.id
        );
    }
    names::are_known(&ids);
    later::is_true(&lines);
    for id in toolcalls::SCENES.iter().map(|(id, _)| id).chain(trust::SCENES.iter().map(|(id, _)| id)) {
        assert!(ids.contains(id), "the scene {id} has no line");
    }
    for (id, _) in workspaces::SCENES {
        assert!(ids.contains(id), "the scene {id} has no line");
    }
}
