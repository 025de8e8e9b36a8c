//! Tests of what the stash has, and of branches that are not checked out.

use super::*;

#[test]
fn n03_the_stash_has_what_was_put_aside_also_of_new_files() {
    let git = Workshop::new();
    let repository = git.repository();
    assert_eq!(repository.stashed_since(0), Ok(vec![]), "without commits");
    git.write("a", "one\n");
    git.commit("first");
    assert_eq!(repository.stashed_since(0), Ok(vec![]));
    git.write("a", "two\n");
    git.git(&["stash", "-q"]);
    git.write("new", "new\n");
    git.git(&["stash", "-qu"]);
    let entries = repository.stashed_since(1_700_000_000).expect("it is read");
    let text = |commit: &CommitId, path: &str| repository.committed_in(*commit, Path::new(path));
    let [(newest, _), (untracked, _), (oldest, at)] = entries.as_slice() else { panic!("{entries:?}") };
    assert_eq!((*newest, *oldest), (git.id("stash@{0}"), git.id("stash@{1}")));
    assert_eq!(text(untracked, "new"), Ok(Some(b"new\n".to_vec())));
    assert_eq!((text(oldest, "a"), *at), (Ok(Some(b"two\n".to_vec())), 1_700_000_000));
    assert_eq!(repository.stashed_since(1_700_000_001), Ok(vec![]), "they are older");
    git.git(&["stash", "drop", "-q"]);
    assert_eq!(repository.stashed_since(0), Ok(vec![(*oldest, *at)]));
    git.write_git("logs/refs/stash", "nonsense\n");
    assert!(reason(repository.stashed_since(0)).contains("damaged"));
}

#[test]
fn n03_what_git_put_aside_for_a_rebase_is_in_the_stash() {
    let git = Workshop::new();
    let repository = git.repository();
    git.write("a", "one\n");
    git.commit("first");
    git.write("a", "two\n");
    git.git(&["stash", "-q"]);
    let entry = git.id("stash@{0}");
    git.git(&["stash", "drop", "-q"]);
    for path in ["rebase-merge/autostash", "rebase-apply/autostash", "MERGE_AUTOSTASH"] {
        git.write_git(path, format!("{entry}\n"));
        assert_eq!(repository.stashed_since(0), Ok(vec![(entry, 1_700_000_000)]), "{path}");
        assert_eq!(repository.stashed_since(1_700_000_001), Ok(vec![]), "it is older");
        git.write_git(path, "nonsense\n");
        assert!(reason(repository.stashed_since(0)).contains("damaged"), "{path}");
        std::fs::remove_file(git.root.join(".git").join(path)).expect("it is there");
    }
    // The same commit counts once.
    git.git(&["stash", "store", "-q", &entry.to_string()]);
    git.write_git("MERGE_AUTOSTASH", format!("{entry}\n"));
    assert_eq!(repository.stashed_since(0).map(|entries| entries.len()), Ok(1));
}

#[test]
fn n03_the_last_commit_of_a_branch_is_found_also_packed() {
    let git = Workshop::new();
    git.write("a", "one\n");
    let first = git.commit("first");
    git.git(&["branch", "topic/x"]);
    git.write("a", "two\n");
    let second = git.commit("second");
    let repository = git.repository();
    let tips = || ["main", "topic/x", "none", "no name", "../../HEAD"].map(|name| repository.tip(name));
    let expected = [Ok(Some(second)), Ok(Some(first)), Ok(None), Ok(None), Ok(None)];
    assert_eq!(tips(), expected);
    git.git(&["pack-refs", "--all"]);
    assert_eq!(tips(), expected);
    let head = repository.head().expect("it is read");
    assert_eq!(head.name(12).as_deref(), Some("main"));
    git.git(&["checkout", "-q", "--detach"]);
    let id = second.to_string();
    assert_eq!(repository.head().expect("it is read").name(12), Some(format!("commit {}", &id[..12])));
    assert_eq!(repository.head().expect("it is read").name(40), Some(format!("commit {id}")));
}

#[test]
fn n03_git_is_at_work_while_it_has_locked_the_index() {
    let git = Workshop::new();
    let repository = git.repository();
    assert!(!repository.is_busy());
    git.write_git("index.lock", "");
    assert!(repository.is_busy());
}
