//! The review of applied edits at a terminal: listed, shown, kept, undone, checked before a commit, and explained.

use std::fs;
use std::process::Command;

use super::commits::{fixed_in_git, repository};
use super::{DONE, EDIT, Place};

/// A place where an unattended run has fixed the greeting.
pub(super) fn fixed() -> Place {
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
fn p02_what_was_undone_at_a_terminal_is_restored_there_and_what_was_kept_is_undone_by_its_line() {
    let place = fixed();
    let undone = place.run(&["review", "undo", "greeting.txt:1"]);
    assert_eq!(undone.err(), "`adjutant review restore greeting.txt:1` brings it back\n");
    assert_eq!(place.run(&["review", "restore", "greeting.txt"]).out(), "1 restored\n");
    assert_eq!(place.greeting(), "Hello, world\n");
    let nothing = place.run(&["review", "restore", "greeting.txt"]);
    assert_eq!(nothing.code(), Some(2));
    assert!(
        nothing.err().starts_with("no change was undone there, as far as the files on disk show"),
        "{}",
        nothing.err()
    );
    assert_eq!(place.run(&["review", "keep", "greeting.txt"]).out(), "1 kept\n");
    assert_eq!(
        place.run(&["review", "undo", "greeting.txt"]).code(),
        Some(2),
        "a kept one is named by its line"
    );
    assert_eq!(place.run(&["review", "undo", "greeting.txt:1"]).out(), "1 undone\n");
    assert_eq!(place.greeting(), "Helo, world\n");
}

#[test]
fn n03_what_the_user_typed_into_a_change_is_not_dropped_unseen() {
    let place = fixed();
    fs::write(place.workspace().join("greeting.txt"), "Hello, my world\n").unwrap();
    let shown = place.run(&["review"]).out();
    assert!(shown.contains("you changed it since"), "{shown}");
    let sides = "before:\nHelo, world\nthe agent's:\nHello, world\nin its place is now:\nHello, my world\n";
    let shown = place.run(&["review", "show"]).out();
    assert!(shown.contains(sides), "{shown}");
    let refused = place.run(&["review", "undo", "greeting.txt"]);
    assert_eq!(refused.code(), Some(1));
    assert!(refused.err().contains("look at it again before you decide"), "{}", refused.err());
    assert!(refused.err().contains("`--mine` takes them out, too"), "{}", refused.err());
    assert_eq!(place.greeting(), "Hello, my world\n");
    assert_eq!(place.run(&["review", "undo", "greeting.txt:1", "--mine"]).out(), "1 undone\n");
    assert_eq!(place.greeting(), "Helo, world\n");
    assert_eq!(place.run(&["review", "restore", "greeting.txt:1"]).out(), "1 restored\n");
    assert_eq!(place.greeting(), "Hello, my world\n", "with the lines of the user");
    assert_eq!(place.run(&["review", "keep", "--all"]).out(), "1 kept\n");
    assert_eq!(place.greeting(), "Hello, my world\n");
}

const TWICE: &str = r#"
[[turn]]
text = "I fix it."
[[turn.call]]
tool = "edit_file"
arguments = { path = "greeting.txt", old_text = "Helo", new_text = "Hello" }
[[turn.call]]
tool = "write_file"
arguments = { path = "new/notes.md", content = "notes\n" }

[[turn]]
text = "Done."

[[turn]]
text = "And again."
[[turn.call]]
tool = "edit_file"
arguments = { path = "greeting.txt", old_text = "Hello", new_text = "Good day" }

[[turn]]
text = "Done."
"#;

#[test]
fn p02_an_undo_by_line_takes_only_what_show_prints_for_that_line() {
    let place = Place::new(TWICE);
    place.run(&["run", "-y", "fix the greeting"]).exits(0);
    assert_eq!(place.run(&["review", "keep", "greeting.txt"]).out(), "1 kept\n");
    let shown = place.run(&["review", "show", "greeting.txt:1"]).out();
    assert!(shown.contains("+Hello, world"), "a kept change is shown where its line is named: {shown}");
    place.run(&["run", "-y", "--continue", "friendlier"]).exits(0);
    assert_eq!(place.greeting(), "Good day, world\n");
    let shown = place.run(&["review", "show", "greeting.txt:1"]).out();
    assert!(shown.contains("+Good day") && !shown.contains("-Helo"), "{shown}");
    assert_eq!(place.run(&["review", "undo", "greeting.txt:1"]).out(), "1 undone\n");
    assert_eq!(place.greeting(), "Hello, world\n", "the change that was kept stays");
}

#[test]
fn p02_changes_on_each_other_with_lines_of_the_user_are_undone_together_at_a_terminal() {
    let turn = |old: &str, new: &str| {
        let call = format!(
            "[[turn]]\n[[turn.call]]\ntool = \"edit_file\"\narguments = {{ path = \"greeting.txt\", old_text = \"{old}\", new_text = \"{new}\" }}\n"
        );
        format!("{call}{DONE}")
    };
    let [lower, upper] = [turn("Helo, world\\n", "Hello\\nworld\\n"), turn("world\\n", "World\\n")];
    for is_one_task in [true, false] {
        let place = Place::new(&lower);
        place.run(&["run", "-y", "two lines"]).exits(0);
        place.play(&if is_one_task { format!("{lower}{upper}") } else { upper.clone() });
        let again: &[&str] = if is_one_task { &["--continue"] } else { &[] };
        place.run(&[&["run", "-y"], again, &["a capital"]].concat()).exits(0);
        fs::write(place.workspace().join("greeting.txt"), "Hello\nmine\nWorld\n").unwrap();
        let undone = place.run(&["review", "undo", "greeting.txt", "--mine"]);
        assert_eq!(undone.out(), "2 undone\n", "one task: {is_one_task}: {}", undone.err());
        assert_eq!(place.greeting(), "Helo, world\n");
    }
}

#[test]
fn p02_a_new_file_that_was_undone_is_restored_at_a_terminal() {
    let place = Place::new(TWICE);
    place.run(&["run", "-y", "fix the greeting"]).exits(0);
    let undone = place.run(&["review", "undo", "new/notes.md"]);
    assert_eq!(undone.err(), "`adjutant review restore new/notes.md:1` brings it back\n");
    assert!(!place.workspace().join("new/notes.md").exists());
    assert_eq!(place.run(&["review", "restore", "new/notes.md:1"]).out(), "1 restored\n");
    assert_eq!(fs::read_to_string(place.workspace().join("new/notes.md")).unwrap(), "notes\n");
}

#[test]
fn n03_a_name_that_is_a_file_and_a_line_decides_about_neither() {
    let place = fixed();
    fs::write(place.workspace().join("greeting.txt:1"), "mine\n").unwrap();
    let refused = place.run(&["review", "keep", "greeting.txt:1"]);
    assert_eq!(refused.code(), Some(2));
    assert!(refused.err().contains("is a file, and a line of another file"), "{}", refused.err());
    assert_eq!(place.run(&["review", "keep", "greeting.txt"]).out(), "1 kept\n");
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

/// The title is only the first line, or what a client chose.
#[test]
fn n30_why_says_the_prompt_in_the_words_of_the_user() {
    let place = Place::new(&format!("{EDIT}{DONE}"));
    let prompt = "fix the greeting\n\nas \u{202e}everybody\u{1b}[31m spells it";
    place.run(&["run", "-y", prompt]).exits(0);
    let why = place.run(&["why", "greeting.txt:1"]).out();
    let (shown, escaped) = ("fix the greeting as ", ["\\u{202e}everybody", "\\u{1b}"]);
    assert!(why.contains("task      fix the greeting\n"), "{why}");
    assert!(
        why.contains(&format!("prompt    {shown}")) && escaped.iter().all(|one| why.contains(one)),
        "{why}"
    );
    assert!(!why.contains(['\u{202e}', '\u{1b}']), "{why:?}");
}

#[test]
fn n30_why_follows_a_file_that_the_user_moved_and_committed() {
    let place = Place::new(&format!("{EDIT}{DONE}"));
    let lines = |greeting: &str| format!("{greeting}, world\nand\nall\nof\nyou\n");
    fs::write(place.workspace().join("greeting.txt"), lines("Helo")).unwrap();
    fs::write(place.workspace().join("other.txt"), "Hello, world\nof others\n").unwrap();
    repository(&place, &place.workspace());
    place.run(&["run", "-y", "fix the greeting"]).exits(0);
    let why = |at: &str| place.run(&["why", at]).out();
    place.git(&["mv", "greeting.txt", "moved.txt"]);
    assert!(why("moved.txt:1").contains("fix the greeting"), "{}", why("moved.txt:1"));
    place.git(&["commit", "-qam", "moved", "--no-verify"]);
    fs::rename(place.workspace().join("moved.txt"), place.workspace().join("again.txt")).unwrap();
    fs::write(place.workspace().join("again.txt"), format!("mine\n{}", lines("Hello"))).unwrap();
    assert!(why("again.txt:2").contains("play/script wrote it today"), "{}", why("again.txt:2"));
    let none = "No session of this workspace knows";
    assert!(why("again.txt:1").starts_with(none), "{}", why("again.txt:1"));
    // The same line in another file is another line.
    assert!(why("other.txt:1").starts_with(none), "{}", why("other.txt:1"));
}

/// Only the text of now says whose a line is, whatever the history says that had it.
#[test]
fn n30_why_after_a_rewrite_of_history_says_only_what_the_text_shows() {
    let place = Place::new(&format!("{EDIT}{DONE}"));
    let file = place.workspace().join("greeting.txt");
    let lines = |greeting: &str| format!("all\n.\n.\n.\n{greeting}, world\nand\nyou\n");
    fs::write(&file, lines("Helo")).unwrap();
    repository(&place, &place.workspace());
    place.run(&["run", "-y", "fix the greeting"]).exits(0);
    let why = |at: &str| place.run(&["why", at]).out();
    let (agents, none) = ("play/script wrote it today", "No session of this workspace knows");
    place.git(&["commit", "-qam", "second", "--no-verify"]);
    // Another message, and other commits before it.
    place.git(&["commit", "-q", "--amend", "-m", "third", "--no-verify"]);
    assert!(why("greeting.txt:5").contains(agents), "{}", why("greeting.txt:5"));
    place.git(&["checkout", "-qb", "other", "HEAD~1"]);
    assert!(why("greeting.txt:5").starts_with(none), "{}", why("greeting.txt:5"));
    fs::write(&file, format!("mine\nmine too\n{}", lines("Helo"))).unwrap();
    place.git(&["commit", "-qam", "mine", "--no-verify"]);
    place.git(&["rebase", "-q", "other", "main"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), format!("mine\nmine too\n{}", lines("Hello")));
    assert!(why("greeting.txt:7").contains(agents), "{}", why("greeting.txt:7"));
    for line in [1, 2, 6, 8] {
        let why = why(&format!("greeting.txt:{line}"));
        assert!(why.starts_with(none), "{line}: {why}");
    }
    // The commit gets another text of this line.
    fs::write(&file, format!("mine\nmine too\n{}", lines("Howdy"))).unwrap();
    place.git(&["commit", "-qa", "--amend", "--no-edit", "--no-verify"]);
    assert!(!why("greeting.txt:7").contains("wrote it"), "{}", why("greeting.txt:7"));
    // The commit is dropped.
    place.git(&["reset", "-q", "--hard", "HEAD~1"]);
    assert!(why("greeting.txt:7").starts_with(none), "{}", why("greeting.txt:7"));
    // It comes back.
    place.git(&["reset", "-q", "--hard", "HEAD@{2}"]);
    assert!(why("greeting.txt:7").contains(agents), "{}", why("greeting.txt:7"));
}

/// A change of two lines close to each other has the lines between them, which nobody wrote anew.
#[test]
fn n30_a_line_between_two_changed_ones_was_there_before() {
    let edit = r#"
[[turn]]
text = "I do."
[[turn.call]]
tool = "edit_file"
arguments = { path = "greeting.txt", old_text = "one\ntwo\nthree", new_text = "1\ntwo\n3" }
"#;
    let place = Place::new(&format!("{edit}{DONE}"));
    fs::write(place.workspace().join("greeting.txt"), "zero\none\ntwo\nthree\nfour\n").unwrap();
    place.run(&["run", "-y", "number them"]).exits(0);
    let why = |line: u32| place.run(&["why", &format!("greeting.txt:{line}")]).out();
    for line in [2, 4] {
        assert!(why(line).starts_with("play/script wrote it today:"), "{line}: {}", why(line));
    }
    let said = "This line was there before, inside a change that play/script made today:";
    assert!(why(3).starts_with(said), "{}", why(3));
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
    fs::write(place.workspace().join("greeting.txt"), b"\xff\n").unwrap();
    let left_out = place.run(&["review", "diff"]);
    assert_eq!((left_out.code(), left_out.out().as_str()), (Some(1), ""), "a diff that is not whole fails");
    assert!(left_out.err().contains("greeting.txt"), "{}", left_out.err());
}

/// An error is a sentence about the work, not about the messages between programs.
#[test]
fn n30_an_error_at_a_terminal_names_no_method() {
    let place = fixed();
    let refused = place.run(&["review", "diff", "--session", "s-0000000000000000"]);
    assert_eq!(refused.code(), Some(1));
    assert_eq!(refused.err(), "there is no session \"s-0000000000000000\"\n");
    // A session that cannot be opened for writing, because its lock is no file.
    let session = serde_json::from_str::<serde_json::Value>(&place.run(&["review", "--json"]).out());
    let session = session.expect("one change")["sessionId"].as_str().expect("an id").to_owned();
    let lock = place.path("state").join("sessions").join(&session).join("lock");
    fs::remove_file(&lock).and_then(|()| fs::create_dir(&lock)).unwrap();
    let commands = [
        &["review", "undo", "--run", "--yes"][..],
        &["review", "keep", "--all"],
        &["review", "comment", "greeting.txt:1", "why?"],
        &["review", "undo", "greeting.txt"],
        &["run", "-y", "--session", &session, "more"],
    ];
    for command in commands {
        let refused = place.run(command);
        let said = refused.err();
        assert_ne!(refused.code(), Some(0), "{command:?}: {said}");
        assert!(!said.contains("agent/") && !said.contains("call \""), "{command:?}: {said}");
        assert!(said.contains("directory"), "{command:?}: {said}");
    }
}

/// Commits on a branch after `run`, then after `review`, and at last goes back: the change is on the branch then.
#[test]
fn n03_a_terminal_notes_the_branch_of_a_commit_so_that_its_changes_are_away_from_others() {
    let place = fixed_in_git();
    place.git(&["switch", "-qc", "topic"]);
    place.git(&["commit", "-qam", "it", "--no-verify"]);
    assert_eq!(place.run(&["review"]).out(), "Nothing is left to review.\n");
    place.git(&["switch", "-q", "main"]);
    assert_eq!(place.greeting(), "Helo, world\n");
    let restored = place.run(&["review", "restore", "greeting.txt"]);
    assert_eq!(restored.code(), Some(2), "{}{}", restored.out(), restored.err());
    assert_eq!(place.greeting(), "Helo, world\n", "it is on the branch, and was not undone");
    place.git(&["switch", "-q", "topic"]);
    assert!(place.run(&["why", "greeting.txt:1"]).out().contains("it was committed"));
}

/// A command of the agent commits on a new branch.
#[test]
fn n03_a_run_at_a_terminal_notes_the_branch_of_its_own_commit() {
    let commit = r#"
[[turn]]
[[turn.call]]
tool = "run_command"
arguments = { command = "git switch -qc topic && git -c user.name=A -c user.email=a@example.org commit -qam it --no-verify && git switch -q main && git switch -q topic" }
"#;
    let place = Place::new(&format!("{EDIT}{commit}{DONE}"));
    repository(&place, &place.workspace());
    place.run(&["run", "-y", "--allow-commands", "fix the greeting and commit it"]).exits(0);
    place.git(&["switch", "-q", "main"]);
    assert_eq!(place.greeting(), "Helo, world\n");
    let restored = place.run(&["review", "restore", "greeting.txt"]);
    assert_eq!(restored.code(), Some(2), "{}{}", restored.out(), restored.err());
    assert_eq!(place.greeting(), "Helo, world\n", "it is on the branch, and was not undone");
}

#[test]
fn p04_a_run_is_shown_undone_and_restored_at_a_terminal() {
    let place = fixed();
    let asked = place.run(&["review", "undo", "--run"]);
    assert_eq!(asked.code(), Some(2), "{}", asked.err());
    let shown = asked.out();
    assert_eq!(shown, "Undo “fix the greeting”: 1 change in 1 file\n  greeting.txt: 1 change\n");
    assert!(asked.err().contains("give --yes"), "{}", asked.err());
    assert_eq!(place.greeting(), "Hello, world\n");
    let listed = place.run(&["review"]).out();
    let run = listed.split_once("(run-").and_then(|(_, rest)| rest.split_once(')')).expect("an id").0;
    let undone = place.run(&["review", "undo", "--run", &format!("run-{run}"), "--yes"]);
    assert!(undone.out().ends_with("\n1 undone\n"), "{}", undone.out());
    assert_eq!(place.greeting(), "Helo, world\n");
    let none = place.run(&["review", "undo", "--run", "last", "--yes"]);
    assert_eq!(none.code(), Some(2), "{}", none.err());
    assert!(none.out().contains("nothing is left to do"), "{}", none.out());
    let restored = place.run(&["review", "restore", "--yes", "--run"]);
    assert!(restored.out().ends_with("\n1 restored\n"), "{}{}", restored.out(), restored.err());
    assert_eq!(place.greeting(), "Hello, world\n");
    // What the user wrote into it goes only with `--mine`.
    fs::write(place.workspace().join("greeting.txt"), "Hello, my world\n").unwrap();
    let refused = place.run(&["review", "undo", "--run", "--yes"]);
    assert!(refused.out().contains("1 change with 1 line of yours"), "{}", refused.out());
    assert!(refused.code() == Some(2) && refused.err().contains("--mine"), "{}", refused.err());
    assert_eq!(place.greeting(), "Hello, my world\n");
    place.run(&["review", "undo", "--run", "--yes", "--mine"]).exits(0);
    assert_eq!(place.greeting(), "Helo, world\n");
    assert_eq!(place.run(&["review", "undo", "--run", "run-x", "--yes"]).code(), Some(2));
}

/// A comment waits at its change, also for another process, until the comments are sent: then it is a task like any.
#[test]
fn p06_comments_are_written_at_a_line_and_sent_as_one_task() {
    let place = fixed();
    let nothing = place.run(&["review", "send"]);
    assert_eq!(nothing.code(), Some(2));
    assert!(nothing.err().contains("no comment waits"), "{}", nothing.err());
    let nowhere = place.run(&["review", "comment", "greeting.txt:9", "why?"]);
    assert_eq!(nowhere.code(), Some(2));
    assert!(nowhere.err().contains("no change to comment on"), "{}", nowhere.err());
    let said = place.run(&["review", "comment", "greeting.txt:1", "say \u{1b}[31mhi"]).out();
    assert_eq!(said, "1 comment waits to send with `adjutant review send`\n");
    let listed = place.run(&["review"]).out();
    assert!(listed.contains("\n    » say \\u{1b}[31mhi\n"), "{listed}");
    assert!(listed.contains("1 comment waits to send with `adjutant review send`"), "{listed}");
    // A change that is kept keeps its comment.
    place.run(&["review", "keep", "--all"]).exits(0);
    place.play(&format!("{EDIT}{DONE}[[turn]]\ntext = \"I see.\"\n"));
    let sent = place.run(&["review", "send", "Look at this."]);
    assert_eq!(sent.out(), "I see.\n", "{}", sent.err());
    let listed = place.run(&["review", "--json"]).out();
    assert_eq!(listed, "", "nothing is left, also no comment");
    let shown = place.run(&["sessions", "show", "s-"]).out();
    for part in ["Look at this.", "My comments on your changes", "greeting.txt, line 1"] {
        assert!(shown.contains(part), "no {part:?} in {shown}");
    }
    assert_eq!(place.run(&["review", "send"]).code(), Some(2), "it was sent");
}

/// A run that changed many files ends with one line that says so.
#[test]
fn n06_a_run_that_changed_many_files_says_so_in_one_line() {
    let mut script = "[[turn]]\ntext = \"All.\"\n".to_owned();
    for number in 0..6 {
        script += &format!(
            "[[turn.call]]\ntool = \"write_file\"\narguments = {{ path = \"f{number}.txt\", content = \"1\\n2\\n\" }}\n"
        );
    }
    let place = Place::new(&format!("{script}{DONE}"));
    let ran = place.run(&["run", "-y", "make them"]).exits(0);
    let line = "6 files +12 · adjutant review · adjutant review undo --run\n";
    assert!(ran.err().contains(line), "{}", ran.err());
    assert_eq!(place.run(&["review", "keep", "--all"]).out(), "6 kept\n");
}
