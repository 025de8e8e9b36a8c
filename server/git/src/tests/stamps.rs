//! Tests of the stamp.

use super::*;

#[test]
fn p03_a_stamp_changes_with_the_state_and_only_then() {
    let git = Workshop::new();
    let repository = git.repository();
    let mut stamps = vec![repository.stamp()];
    let mut changes = |what: &str| {
        let stamp = repository.stamp();
        assert_eq!(stamp, repository.stamp(), "after {what}");
        assert!(!stamps.contains(&stamp), "{what} does not show");
        stamps.push(stamp);
    };
    git.write("a", "one\n");
    git.git(&["add", "a"]);
    changes("the first file");
    git.git(&["commit", "-q", "-m", "first"]);
    changes("the first commit");
    for text in ["two\n", "six\n"] {
        git.write("a", text);
        git.git(&["add", "a"]);
        changes("a staged change of equal length");
        git.git(&["commit", "-q", "-m", text]);
        changes("a commit");
    }
    git.git(&["commit", "-q", "--amend", "-m", "amended"]);
    changes("an amended commit");
    git.git(&["switch", "-q", "-c", "topic"]);
    changes("another branch on the same commit");
    git.git(&["checkout", "-q", "--detach"]);
    changes("no branch");
    git.git(&["switch", "-q", "main"]);
    git.git(&["pack-refs", "--all"]);
    changes("packed references");
    git.git(&["update-ref", "refs/heads/main", "HEAD~1"]);
    changes("a moved branch");
    git.git(&["config", "core.bare", "false"]);
    git.git(&["config", "x.y", "z"]);
    changes("settings");
    fs::write(git.root.join(".git/HEAD"), "nonsense").unwrap();
    changes("a damaged HEAD");
    fs::remove_file(git.root.join(".git/index")).unwrap();
    changes("a missing index");
}

#[test]
fn a_stamp_does_not_change_with_the_work_tree() {
    let git = Workshop::new();
    git.write("a", "one\n");
    git.commit("first");
    let repository = git.repository();
    let stamp = repository.stamp();
    git.write("a", "two\n");
    git.write("b", "new\n");
    assert_eq!(repository.stamp(), stamp);
    git.git(&["branch", "other"]);
    assert_eq!(repository.stamp(), stamp, "another branch does not matter");
}
