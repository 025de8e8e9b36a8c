//! The review of applied edits at a terminal: listed, shown, kept, undone, checked before a commit, and explained.

use std::fs;
use std::process::Command;

use super::{DONE, EDIT, Place};

/// A place where an unattended run has fixed the greeting.
fn fixed() -> Place {
    let place = Place::new(&format!("{EDIT}{DONE}"));
    let run = place.run(&["run", "-y", "fix the greeting"]);
    run.exits(0);
    assert_eq!(place.greeting(), "Hello, world\n");
    place
}

#[test]
fn p02_a_change_is_listed_shown_and_undone_at_a_terminal() {
    let place = fixed();
    let listed = place.run(&["review"]);
    let shown = listed.out();
    assert!(shown.contains("fix the greeting") && shown.contains("greeting.txt:1  -1 +1"), "{shown}");
    let shown = place.run(&["review", "show", "greeting.txt:1"]).out();
    assert!(shown.contains("-Helo, world") && shown.contains("+Hello, world"), "{shown}");
    assert_eq!(place.run(&["review", "undo", "greeting.txt"]).out(), "1 undone\n");
    assert_eq!(place.greeting(), "Helo, world\n");
    assert_eq!(place.run(&["review"]).out(), "Nothing is left to review.\n");
    let nothing = place.run(&["review", "undo", "greeting.txt"]);
    assert_eq!(nothing.code(), Some(2), "{}", nothing.err());
}

#[test]
fn n03_what_the_user_typed_into_a_change_is_not_dropped_unseen() {
    let place = fixed();
    fs::write(place.workspace().join("greeting.txt"), "Hello, my world\n").unwrap();
    let shown = place.run(&["review"]).out();
    assert!(shown.contains("you changed it since"), "{shown}");
    let refused = place.run(&["review", "undo", "greeting.txt"]);
    assert_eq!(refused.code(), Some(1));
    assert!(refused.err().contains("look at it again before you decide"), "{}", refused.err());
    assert_eq!(place.greeting(), "Hello, my world\n");
    assert_eq!(place.run(&["review", "keep", "--all"]).out(), "1 kept\n");
    assert_eq!(place.greeting(), "Hello, my world\n");
}

#[test]
fn n30_why_says_who_wrote_a_line_and_whether_a_person_looked() {
    let place = fixed();
    let why = place.run(&["why", "greeting.txt:1"]).out();
    assert!(why.contains("play/script wrote it today") && why.contains("fix the greeting"), "{why}");
    assert!(why.contains("consent to work unattended") && why.contains("nobody has looked"), "{why}");
    place.run(&["review", "keep", "greeting.txt:1"]);
    let why = place.run(&["why", "greeting.txt:1"]).out();
    assert!(why.contains("a person kept it"), "{why}");
    fs::write(place.workspace().join("other.txt"), "mine\n").unwrap();
    let why = place.run(&["why", "other.txt:1"]).out();
    assert!(why.starts_with("No session of this workspace knows"), "{why}");
    assert_eq!(place.run(&["why", "greeting.txt"]).code(), Some(2));
}

/// An edit that no person saw is not said to be kept by one.
#[test]
fn n30_why_says_that_a_setting_kept_a_change() {
    let place = Place::new(&format!("{EDIT}{DONE}"));
    let settings = fs::read_to_string(place.path("config.toml")).unwrap();
    fs::write(place.path("config.toml"), format!("{settings}[edits]\nmode = \"auto\"\n")).unwrap();
    place.run(&["run", "fix the greeting"]).exits(0);
    assert_eq!(place.greeting(), "Hello, world\n");
    let why = place.run(&["why", "greeting.txt:1"]).out();
    assert!(why.contains("nobody looked at it: edits.mode = \"auto\" keeps every edit"), "{why}");
}

#[test]
fn n30_a_commit_hook_finds_changes_that_nobody_looked_at() {
    let place = fixed();
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.args(args).current_dir(place.workspace()).env("HOME", place.path("home"));
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        let output = git.output().expect("git runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let none = place.run(&["review", "--check"]);
    assert_eq!(none.code(), Some(1), "a check without a repository means nothing");
    git(&["init", "-q"]);
    // Nothing is staged.
    place.run(&["review", "--check"]).exits(0);
    git(&["add", "greeting.txt"]);
    let found = place.run(&["review", "--check"]);
    let said = found.err();
    assert_eq!(found.code(), Some(1), "{said}");
    assert!(
        said.contains("1 unreviewed agent change in staged files") && said.contains("greeting.txt:1"),
        "{said}"
    );
    place.run(&["review", "keep", "--all"]);
    place.run(&["review", "--check"]).exits(0);
}

#[test]
fn p21_the_diff_that_a_terminal_prints_is_one_for_git() {
    let place = fixed();
    let printed = place.run(&["review", "diff"]).exits(0);
    let session = serde_json::from_str::<serde_json::Value>(&place.run(&["review", "--json"]).out());
    let session = session.expect("one change")["sessionId"].as_str().expect("an id").to_owned();
    assert_eq!(place.run(&["review", "diff", "--session", &session]).out(), printed.out());
    let patch = place.path("fix.diff");
    fs::write(&patch, printed.out()).unwrap();
    let mut git = Command::new("git");
    git.args(["apply", "--reverse"]).arg(&patch).current_dir(place.workspace());
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    let output = git.output().expect("git runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(place.greeting(), "Helo, world\n");
    assert_eq!(place.run(&["review", "diff"]).out(), "", "it is not in the text any more");
    assert_eq!(place.run(&["review", "diff", "--session", "s-0000000000000000"]).code(), Some(1));
}
