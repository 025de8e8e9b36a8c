//! Tests of the index.

use super::*;

fn paths(paths: &[&str]) -> Result<Vec<PathBuf>, Unknown> {
    Ok(paths.iter().map(PathBuf::from).collect())
}

/// Returns a repository with files in folders, all committed.
fn workshop() -> Workshop {
    let git = Workshop::new();
    for path in ["a", "b", "dir/a", "dir/b", "dir/deep/a", "dir.x", "other/a", "z"] {
        git.write(path, format!("{path}\n"));
    }
    git.commit("first");
    git
}

fn stage_changes(git: &Workshop) {
    git.write("a", "changed\n");
    git.write("new/a", "new\n");
    git.git(&["add", "-A"]);
    git.git(&["rm", "-q", "b"]);
    git.git(&["mv", "dir/deep/a", "dir/moved"]);
    git.git(&["update-index", "--chmod=+x", "z"]);
    git.write("a", "not staged\n");
    git.write("dir/a", "not staged\n");
    git.write("untracked", "not staged\n");
}

fn check_changes(repository: &Repository) {
    let expected = ["a", "b", "dir/deep/a", "dir/moved", "new/a", "z"];
    assert_eq!(repository.staged_files(), paths(&expected));
    assert_eq!(staged(repository, "a"), b"changed\n");
    assert_eq!(staged(repository, "dir/a"), b"dir/a\n");
    assert_eq!(staged(repository, "dir/moved"), b"dir/deep/a\n");
    assert_eq!(staged(repository, "new/a"), b"new\n");
    for path in ["b", "dir/deep/a", "untracked", "dir"] {
        assert_eq!(repository.staged(Path::new(path)), Ok(None), "{path}");
    }
}

#[test]
fn p03_staged_files_are_found_in_every_version_of_the_index() {
    for version in ["2", "3", "4"] {
        let git = workshop();
        git.git(&["update-index", "--index-version", version]);
        stage_changes(&git);
        if version == "3" {
            // Git writes version 3 only for entries with more flags.
            git.git(&["update-index", "--skip-worktree", "dir/b"]);
        }
        let header = fs::read(git.root.join(".git/index")).unwrap();
        assert_eq!(header[7].to_string(), version);
        check_changes(&git.repository());
    }
}

#[test]
fn an_index_with_extensions_or_without_a_checksum_is_read() {
    for settings in
        [&["core.untrackedCache"][..], &["index.skipHash"], &["index.threads", "core.untrackedCache"]]
    {
        let git = workshop();
        for setting in settings {
            git.git(&["config", setting, "true"]);
        }
        stage_changes(&git);
        git.git(&["status"]);
        check_changes(&git.repository());
    }
}

#[test]
fn everything_is_staged_against_no_index_or_no_commit() {
    let git = workshop();
    fs::remove_file(git.root.join(".git/index")).unwrap();
    let all = ["a", "b", "dir.x", "dir/a", "dir/b", "dir/deep/a", "other/a", "z"];
    assert_eq!(git.repository().staged_files(), paths(&all));
    assert_eq!(git.repository().staged(Path::new("a")), Ok(None));
    git.git(&["reset", "-q"]);
    git.git(&["checkout", "-q", "--orphan", "fresh"]);
    assert_eq!(git.repository().staged_files(), paths(&all));
    assert_eq!(git.repository().committed(Path::new("a")), Ok(None));
}

#[test]
fn a_file_in_the_place_of_a_folder_is_staged_with_what_it_replaces() {
    let git = workshop();
    git.git(&["rm", "-q", "-r", "dir"]);
    git.write("dir", "a file now\n");
    git.git(&["rm", "-q", "a"]);
    git.write("a/b", "a folder now\n");
    git.git(&["add", "-A"]);
    let expected = ["a", "a/b", "dir", "dir/a", "dir/b", "dir/deep/a"];
    assert_eq!(git.repository().staged_files(), paths(&expected));
    assert_eq!(staged(&git.repository(), "dir"), b"a file now\n");
    assert_eq!(staged(&git.repository(), "a/b"), b"a folder now\n");
}

#[test]
fn a_file_that_is_only_meant_to_be_added_is_not_staged() {
    let git = workshop();
    git.write("new", "new\n");
    git.git(&["add", "-N", "new"]);
    assert_eq!(git.repository().staged_files(), paths(&[]));
    assert_eq!(git.repository().staged(Path::new("new")), Ok(None));
}

#[test]
fn a_file_with_a_merge_conflict_is_unknown() {
    let git = workshop();
    git.git(&["switch", "-q", "-c", "topic"]);
    git.write("a", "theirs\n");
    git.commit("theirs");
    git.git(&["switch", "-q", "main"]);
    git.write("a", "ours\n");
    git.commit("ours");
    let merge = git.run(&git.root, &["merge", "-q", "topic"]);
    assert!(!merge.status.success(), "the merge has a conflict");
    let repository = git.repository();
    assert!(reason(repository.staged(Path::new("a"))).contains("merge conflict"));
    assert_eq!(staged(&repository, "b"), b"b\n");
    assert_eq!(committed(&repository, "a"), b"ours\n");
    assert_eq!(repository.staged_files(), paths(&["a"]));
}

#[test]
fn a_split_index_is_unknown() {
    let git = workshop();
    git.git(&["update-index", "--split-index"]);
    let repository = git.repository();
    assert_eq!(reason(repository.staged(Path::new("a"))), "Adjutant does not read a split index");
    git.write("a", "changed\n");
    git.git(&["add", "a"]);
    assert_eq!(reason(repository.staged(Path::new("a"))), "Adjutant does not read a split index");
    assert!(reason(repository.staged_files()).contains("split index"));
    assert_eq!(committed(&repository, "a"), b"a\n");
}

#[test]
fn a_sparse_index_is_read_by_its_trees() {
    let git = workshop();
    git.git(&["sparse-checkout", "init", "--cone", "--sparse-index"]);
    git.git(&["sparse-checkout", "set", "other"]);
    let listed = git.git(&["ls-files", "--sparse", "-s"]);
    assert!(listed.contains("040000"), "the index names a folder as a whole: {listed}");
    let repository = git.repository();
    assert_eq!(staged(&repository, "dir/deep/a"), b"dir/deep/a\n");
    assert_eq!(staged(&repository, "other/a"), b"other/a\n");
    assert_eq!(repository.staged(Path::new("dir")), Ok(None));
    assert_eq!(repository.staged(Path::new("dir/deep/none")), Ok(None));
    assert_eq!(repository.staged_files(), paths(&[]));
    git.write("other/a", "changed\n");
    git.git(&["add", "other/a"]);
    assert_eq!(repository.staged_files(), paths(&["other/a"]));
    // Another commit below the same index: the folder outside the checkout differs as a whole.
    let tree = git.git(&["rev-parse", "HEAD:dir/deep"]);
    let commit = git.git(&["commit-tree", "-m", "x", &tree]);
    git.git(&["update-ref", "HEAD", &commit]);
    assert!(reason(repository.staged_files()).contains("sparse checkout"));
    assert_eq!(staged(&repository, "dir/deep/a"), b"dir/deep/a\n");
}

#[test]
fn the_index_of_a_commit_that_names_files_is_read() {
    let git = workshop();
    let hook = git.root.join(".git/hooks/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    // Git removes its index after the hook.
    fs::write(&hook, "#!/bin/sh\ncp \"$GIT_INDEX_FILE\" kept\nprintf %s \"$GIT_INDEX_FILE\" > name\n")
        .unwrap();
    fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    git.write("a", "changed\n");
    git.write("b", "not in the commit\n");
    let head = git.id("HEAD");
    git.git(&["add", "b"]);
    git.git(&["commit", "-q", "-m", "a alone", "a"]);
    git.git(&["update-ref", "refs/heads/main", &head.to_string()]);
    let commits = git.repository().with_index(Path::new("kept"));
    assert_eq!(commits.staged_files(), paths(&["a"]));
    assert_eq!(staged(&commits, "a"), b"changed\n");
    let mut seen = Vec::new();
    commits.each_staged(|path, text| seen.push((path.to_owned(), text.to_vec()))).unwrap();
    assert_eq!(seen, [(PathBuf::from("a"), b"changed\n".to_vec())]);
    assert!(git.repository().staged_files().unwrap().contains(&PathBuf::from("b")));
    let none = git.repository().with_index(&git.root.join("nothing"));
    assert_eq!(none.staged(Path::new("a")), Ok(None));
    assert_ne!(git.repository().stamp(), none.stamp());
}
