//! Commits and the review: what a commit keeps, and the commit hook, `adjutant review --check`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::review::fixed;
use super::{DONE, EDIT, Place};

/// Runs git in a folder, with a hook that finds the program and its state. Returns whether it succeeded, and what it said.
fn git(place: &Place, folder: &Path, args: &[&str]) -> (bool, String) {
    let mut git = place.command(&[]);
    let program = git.get_program().to_owned();
    let environment: Vec<_> =
        git.get_envs().map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned))).collect();
    git = Command::new("git");
    git.env_clear().envs(environment.into_iter().filter_map(|(name, value)| Some((name, value?))));
    git.env("ADJUTANT", program).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    for role in ["AUTHOR", "COMMITTER"] {
        git.env(format!("GIT_{role}_NAME"), "A").env(format!("GIT_{role}_EMAIL"), "a@example.org");
    }
    let output = git.args(args).current_dir(folder).stdin(Stdio::null()).output().expect("git runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.success(), said)
}

/// Makes a repository of a folder: its files are in the first commit, and each later commit asks the hook.
pub(super) fn repository(place: &Place, folder: &Path) {
    for args in [&["init", "-q", "-b", "main"][..], &["add", "-A"], &["commit", "-qm", "first"]] {
        let (fine, said) = git(place, folder, args);
        assert!(fine, "{args:?}: {said}");
    }
    let hook = folder.join(".git/hooks/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\nexec \"$ADJUTANT\" review --check\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn p03_a_committed_change_needs_no_review_and_why_says_so() {
    let place = fixed_in_git();
    place.git(&["commit", "-qam", "unseen", "--no-verify"]);
    assert_eq!(place.run(&["review"]).out(), "Nothing is left to review.\n");
    let why = place.run(&["why", "greeting.txt:1"]).out();
    assert!(why.contains("it was committed, and nobody kept it in a review before"), "{why}");
    assert!(!why.contains("a person kept it"), "{why}");
    // The next commit of the file has nothing new of it.
    fs::write(place.workspace().join("greeting.txt"), "Hello, world\nmine\n").unwrap();
    place.git(&["commit", "-qam", "more"]);
}

/// A place with a repository in which an unattended run has fixed the greeting.
pub(super) fn fixed_in_git() -> Place {
    let place = Place::new(&format!("{EDIT}{DONE}"));
    fs::write(place.workspace().join("other.txt"), "one\n").unwrap();
    repository(&place, &place.workspace());
    place.run(&["run", "-y", "fix the greeting"]).exits(0);
    place
}

impl Place {
    pub(super) fn git(&self, args: &[&str]) {
        let (fine, said) = git(self, &self.workspace(), args);
        assert!(fine, "{args:?}: {said}");
    }

    /// Checks that the hook stops a commit because of one change, and names its place.
    fn stops(&self, args: &[&str], place: &str) {
        let (fine, said) = git(self, &self.workspace(), args);
        assert!(!fine, "{args:?} must be stopped");
        assert!(said.contains("1 unreviewed agent change in staged files") && said.contains(place), "{said}");
    }
}

#[test]
fn n30_a_check_without_a_repository_means_nothing() {
    let place = fixed();
    let none = place.run(&["review", "--check"]);
    assert_eq!(none.code(), Some(1));
    assert!(none.err().contains("no workspace folder is in a git repository"), "{}", none.err());
}

#[test]
fn n30_a_commit_hook_judges_what_git_is_about_to_commit() {
    let place = fixed_in_git();
    let found = "greeting.txt:1";
    // Nothing is staged, so only commits that name the file or say `-a` have the change.
    place.run(&["review", "--check"]).exits(0);
    fs::write(place.workspace().join("other.txt"), "two\n").unwrap();
    place.git(&["commit", "-qm", "mine", "other.txt"]);
    place.stops(&["commit", "-am", "all"], found);
    place.stops(&["commit", "-m", "it", "greeting.txt"], found);
    place.git(&["add", "greeting.txt"]);
    place.stops(&["commit", "-m", "staged"], found);
    // The index stays as it was.
    place.stops(&["commit", "-m", "staged"], found);
    place.run(&["review", "keep", "--all"]).exits(0);
    place.git(&["commit", "-qm", "kept"]);
}

#[test]
fn n30_a_change_counts_by_its_staged_text_whatever_the_work_tree_has() {
    let place = fixed_in_git();
    let (file, found) = (place.workspace().join("greeting.txt"), "greeting.txt:1");
    place.git(&["add", "greeting.txt"]);
    fs::write(&file, "Helo, world\n").unwrap();
    place.stops(&["commit", "-m", "changed since"], found);
    fs::remove_file(&file).unwrap();
    place.stops(&["commit", "-m", "deleted since"], found);
    // Another line of the file is staged, and not the change.
    fs::write(&file, "Helo, world\nmine\n").unwrap();
    place.git(&["add", "greeting.txt"]);
    fs::write(&file, "Hello, world\nmine\n").unwrap();
    place.git(&["commit", "-qm", "only mine"]);
    // The hook still stops a later commit of the change.
    place.stops(&["commit", "-am", "the rest"], found);
    // What was undone counts while it is staged.
    place.git(&["add", "greeting.txt"]);
    assert_eq!(place.run(&["review", "undo", "--all"]).out(), "1 undone\n");
    place.stops(&["commit", "-m", "undone since"], found);
}

#[test]
fn n30_an_empty_file_that_the_agent_made_counts_too() {
    let call = "[[turn]]\n[[turn.call]]\ntool = \"write_file\"\narguments = { path = \"empty.txt\", content = \"\" }\n";
    let place = Place::new(&format!("{call}{DONE}"));
    repository(&place, &place.workspace());
    place.run(&["run", "-y", "make it"]).exits(0);
    let file = place.workspace().join("empty.txt");
    assert_eq!(fs::read_to_string(&file).unwrap(), "");
    place.git(&["add", "empty.txt"]);
    place.stops(&["commit", "-m", "made"], "empty.txt:1");
    assert_eq!(place.run(&["review", "undo", "--all"]).out(), "1 undone\n");
    assert!(!file.exists());
    place.git(&["add", "-A"]);
    place.git(&["commit", "-qm", "nothing", "--allow-empty"]);
}

#[test]
fn n30_a_change_in_a_file_that_was_moved_is_found_by_its_text() {
    let place = Place::new(&format!("{EDIT}{DONE}"));
    let lines = |greeting: &str| format!("{greeting}, world\nand\nall\nof\nyou\n");
    fs::write(place.workspace().join("greeting.txt"), lines("Helo")).unwrap();
    fs::write(place.workspace().join("other.txt"), "Hello, world\n").unwrap();
    repository(&place, &place.workspace());
    place.run(&["run", "-y", "fix the greeting"]).exits(0);
    assert_eq!(place.greeting(), lines("Hello"));
    // A file that has the same line and nothing else is another file.
    fs::write(place.workspace().join("other.txt"), "Hello, world\nHello, world\n").unwrap();
    place.git(&["commit", "-qm", "mine", "other.txt"]);
    place.git(&["mv", "greeting.txt", "moved.txt"]);
    // Git moves the old text of the index.
    place.git(&["commit", "-qm", "moved"]);
    place.stops(&["commit", "-am", "with the change"], "moved.txt:1");
    place.git(&["mv", "moved.txt", "again.txt"]);
    place.git(&["add", "-A"]);
    place.stops(&["commit", "-m", "moved again"], "again.txt:1");
}

#[test]
fn n30_a_commit_is_stopped_also_where_files_changed_their_names_with_others() {
    let lines = |greeting: &str| format!("{greeting}, world\nand\nall\nof\nyou\n");
    let moved = |git: &dyn Fn(&Place), expected: &str| {
        let place = Place::new(&format!("{EDIT}{DONE}"));
        fs::write(place.workspace().join("greeting.txt"), lines("Helo")).unwrap();
        fs::write(place.workspace().join("other.txt"), "another\ntext\n").unwrap();
        repository(&place, &place.workspace());
        place.run(&["run", "-y", "fix the greeting"]).exits(0);
        git(&place);
        place.git(&["add", "-A"]);
        place.stops(&["commit", "-m", "moved"], expected);
        // What stops the commit can be looked at and decided under the name that it has there.
        let shown = place.run(&["review", "show", expected]).exits(0);
        assert!(shown.out().contains("+Hello, world"), "{}", shown.out());
        assert_eq!(place.run(&["review", "keep", expected]).exits(0).out(), "1 kept\n");
        place.git(&["commit", "-qm", "moved"]);
    };
    let at = |place: &Place, name: &str| place.workspace().join(name);
    let refilled = |place: &Place| {
        fs::rename(at(place, "greeting.txt"), at(place, "old.txt")).unwrap();
        fs::write(at(place, "greeting.txt"), "something else\n").unwrap();
    };
    moved(&refilled, "old.txt:1");
    moved(&|place| place.git(&["mv", "-f", "greeting.txt", "other.txt"]), "other.txt:1");
    let swapped = |place: &Place| {
        fs::rename(at(place, "greeting.txt"), at(place, "between")).unwrap();
        fs::rename(at(place, "other.txt"), at(place, "greeting.txt")).unwrap();
        fs::rename(at(place, "between"), at(place, "other.txt")).unwrap();
    };
    moved(&swapped, "other.txt:1");
}

/// The name of a file is a text of the repository.
#[test]
fn n30_no_name_of_a_staged_file_writes_a_line_of_its_own() {
    let place = fixed_in_git();
    place.git(&["add", "greeting.txt"]);
    place.git(&["mv", "greeting.txt", "a\nnothing is left to review"]);
    let found = place.run(&["review", "--check"]);
    assert_eq!(found.code(), Some(1), "{}", found.err());
    assert!(found.err().contains("1 unreviewed agent change"), "{}", found.err());
    let is_forged = found.err().lines().any(|line| line.starts_with("nothing is left"));
    assert!(!is_forged, "{}", found.err());
}
