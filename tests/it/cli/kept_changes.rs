//! What a session has changed, kept next to its log: when `adjutant why` believes it.
//!
//! Never asks the program what it has read: a forged or damaged file shows it.

use std::fs;
use std::path::PathBuf;

use super::Place;
use super::review::fixed;

/// Returns the file in which the changes of the only session are kept next to its log.
fn kept_changes(place: &Place) -> PathBuf {
    let sessions: Vec<_> = fs::read_dir(place.path("state").join("sessions")).unwrap().flatten().collect();
    assert_eq!(sessions.len(), 1);
    sessions[0].path().join("changes.jsonl")
}

#[test]
fn n30_why_reads_the_log_only_where_its_changes_are_not_kept_next_to_it() {
    let place = fixed();
    let why = || place.run(&["why", "greeting.txt:1"]).out();
    let (whole, file) = (why(), kept_changes(&place));
    assert!(whole.contains("fix the greeting"), "{whole}");
    let kept = fs::read_to_string(&file).expect("the end of the run kept them");
    // Who reads this text and not the log says what it says.
    fs::write(&file, forged(&kept, |lines| lines.replace("fix the greeting", "break all things"))).unwrap();
    assert!(why().contains("break all things"), "{}", why());
    // A file that is damaged, gone or of an older log is not believed, and is written again.
    for damaged in [&kept[..kept.len() / 2], "", "null\n", "\0\0\0"] {
        fs::write(&file, damaged).unwrap();
        assert_eq!(why(), whole, "{damaged:?}");
        assert_eq!(fs::read_to_string(&file).unwrap(), kept, "{damaged:?}");
    }
    fs::remove_file(&file).unwrap();
    assert_eq!(why(), whole);
    place.run(&["review", "keep", "greeting.txt:1"]).exits(0);
    fs::write(&file, &kept).unwrap();
    assert!(why().contains("a person kept it"), "{}", why());
}

/// Returns a kept file with other changes, and with their checksum.
fn forged(kept: &str, change: impl FnOnce(&str) -> String) -> String {
    let (head, lines) = kept.split_once('\n').unwrap();
    let lines = change(lines);
    let mut head: serde_json::Value = serde_json::from_str(head).unwrap();
    let roots: String = head["roots"]
        .as_array()
        .unwrap()
        .iter()
        .map(|root| format!("{}\n", root.as_str().unwrap()))
        .collect();
    head["sum"] = crc32fast::hash(format!("{roots}{lines}").as_bytes()).into();
    format!("{head}\n{lines}")
}

#[test]
fn n30_why_reads_only_the_changes_of_its_file() {
    let place = fixed();
    let why = || place.run(&["why", "greeting.txt:1"]).out();
    let (whole, file) = (why(), kept_changes(&place));
    let kept = fs::read_to_string(&file).unwrap();
    // The change of another file is none that anybody could read.
    let other = |lines: &str| {
        let head = lines.lines().next().unwrap().replace("greeting.txt", "other.txt");
        format!("{lines}{head}\nno change at all\n")
    };
    let forged = forged(&kept, other);
    fs::write(&file, &forged).unwrap();
    assert_eq!(why(), whole);
    assert_eq!(fs::read_to_string(&file).unwrap(), forged, "it is believed as it is");
    // Where the first cannot be read, none is believed.
    let damaged = self::forged(&kept, |lines| lines.replace("\"hunks\":", "\"hanks\":"));
    fs::write(&file, damaged).unwrap();
    assert_eq!(why(), whole);
    assert_eq!(fs::read_to_string(&file).unwrap(), kept, "it was written again");
}

#[test]
fn n30_changes_are_not_kept_of_a_damaged_log_nor_believed_of_a_copied_session() {
    let place = fixed();
    let why = || place.run(&["why", "greeting.txt:1"]).out();
    let (whole, kept) = (why(), kept_changes(&place));
    let folder = kept.parent().unwrap().to_owned();
    let log = fs::read_to_string(folder.join("events.jsonl")).unwrap();
    // One byte of the record that says that the change is in the text.
    fs::remove_file(&kept).unwrap();
    fs::write(folder.join("events.jsonl"), log.replace("\"type\":\"applied\"", "\"type\":\"bpplied\""))
        .unwrap();
    assert!(why().starts_with("No session of this workspace knows"), "{}", why());
    fs::write(folder.join("events.jsonl"), &log).unwrap();
    assert_eq!(why(), whole, "what the damaged log lacked is there again");
    // A copy has the log of another session, so that nothing can be decided in it.
    let copy = folder.with_file_name("s-0000000000000000");
    fs::create_dir(&copy).unwrap();
    for entry in fs::read_dir(&folder).unwrap().flatten().filter(|entry| entry.path().is_file()) {
        fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
    }
    assert_eq!(why(), whole);
    assert_eq!(place.run(&["review", "keep", "--all"]).out(), "1 kept\n");
    // Without its log, nothing is known of it.
    fs::remove_dir_all(&copy).unwrap();
    fs::remove_file(folder.join("events.jsonl")).unwrap();
    assert!(why().starts_with("No session of this workspace knows"), "{}", why());
}
