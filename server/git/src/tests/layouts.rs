//! Tests of where repositories are, and of those that Adjutant does not read.

use std::os::unix::fs::symlink;

use super::*;
use crate::Head;

#[test]
fn the_nearest_repository_above_a_path_has_it() {
    let git = Workshop::new();
    git.write("dir/a", "outer\n");
    git.git(&["init", "-q", "--template=", "dir/inner"]);
    git.write("dir/inner/a", "inner\n");
    for path in ["", "dir", "dir/a", "dir/missing/too", "missing"] {
        assert_eq!(found(&git.root.join(path)).work_tree(), git.root, "{path}");
    }
    assert_eq!(found(&git.root.join("dir/inner/a")).work_tree(), git.root.join("dir/inner"));
    assert_eq!(Repository::find(&git.home), Ok(None));
    assert_eq!(Repository::find(Path::new("/")), Ok(None));
    assert!(reason(Repository::find(Path::new("work"))).contains("absolute"));
    assert!(reason(Repository::find(&git.root.join("dir/.."))).contains("absolute"));
}

#[test]
fn a_folder_that_only_looks_like_a_repository_is_passed_by() {
    let git = Workshop::new();
    git.write("dir/.git/HEAD", "not a reference\n");
    git.write("dir/HEAD", "text\n");
    fs::create_dir_all(git.root.join("dir/objects")).unwrap();
    fs::create_dir_all(git.root.join("dir/refs")).unwrap();
    symlink("nothing", git.root.join("dir/objects/.git")).unwrap();
    assert_eq!(found(&git.root.join("dir/objects/a")).work_tree(), git.root);
}

#[test]
fn a_second_work_tree_has_its_own_head_and_index() {
    let git = Workshop::new();
    git.write("a", "one\n");
    let first = git.commit("first");
    for (name, args) in [("plain", &[][..]), ("relative", &["-c", "worktree.useRelativePaths=true"])] {
        let other = git.home.join(name);
        git.git(&[args, &["worktree", "add", "-q", "-b", name, other.to_str().unwrap()]].concat());
        fs::write(other.join("a"), "other\n").unwrap();
        git.git_in(&other, &["add", "a"]);
        let repository = found(&other.join("a"));
        assert_eq!(repository.work_tree(), other);
        assert_eq!(repository.head(), Ok(Head { branch: Some(name.to_owned()), commit: Some(first) }));
        assert_eq!(committed(&repository, "a"), b"one\n");
        assert_eq!(staged(&repository, "a"), b"other\n");
        assert_eq!(repository.staged_files(), Ok(vec![PathBuf::from("a")]));
        assert_eq!(git.repository().staged_files(), Ok(vec![]));
        git.git_in(&other, &["commit", "-q", "-m", "other"]);
        assert_eq!(committed(&repository, "a"), b"other\n");
        assert_eq!(committed(&git.repository(), "a"), b"one\n");
    }
}

#[test]
fn a_work_tree_with_settings_of_its_own_is_read() {
    let git = Workshop::new();
    git.write("a", "one\n");
    git.commit("first");
    git.git(&["config", "extensions.worktreeConfig", "true"]);
    let other = git.home.join("other");
    git.git(&["worktree", "add", "-q", "-b", "other", other.to_str().unwrap()]);
    assert_eq!(committed(&found(&other), "a"), b"one\n");
    git.git_in(&other, &["config", "--worktree", "core.bare", "true"]);
    assert!(reason(Repository::find(&other)).contains("bare"));
    assert_eq!(committed(&git.repository(), "a"), b"one\n");
}

#[test]
fn a_submodule_is_a_repository_of_its_own() {
    let git = Workshop::new();
    git.write("a", "outer\n");
    git.commit("first");
    let source = Workshop::new();
    source.write("a", "inner\n");
    let inner = source.commit("inner");
    git.git(&["submodule", "--quiet", "add", source.root.to_str().unwrap(), "sub"]);
    git.git(&["commit", "-q", "-m", "submodule"]);
    assert!(git.root.join("sub/.git").is_file(), "git keeps its repository in another folder");
    let sub = found(&git.root.join("sub/a"));
    assert_eq!(sub.work_tree(), git.root.join("sub"));
    assert_eq!(sub.head().unwrap().commit, Some(inner));
    assert_eq!(committed(&sub, "a"), b"inner\n");
    let outer = git.repository();
    assert_eq!(outer.committed(Path::new("sub")), Ok(None));
    assert_eq!(outer.committed(Path::new("sub/a")), Ok(None));
    assert_eq!(outer.staged(Path::new("sub")), Ok(None));
    assert_eq!(outer.staged_files(), Ok(vec![]));
    git.git_in(&git.root.join("sub"), &["commit", "-q", "--allow-empty", "-m", "more"]);
    git.git(&["add", "sub"]);
    assert_eq!(outer.staged_files(), Ok(vec![PathBuf::from("sub")]));
}

#[test]
fn a_repository_in_another_folder_is_read() {
    let git = Workshop::empty();
    let elsewhere = git.home.join("elsewhere.git");
    git.git(&["init", "-q", "-b", "main", "--template=", "--separate-git-dir", elsewhere.to_str().unwrap()]);
    git.write("a", "one\n");
    git.commit("first");
    assert_eq!(committed(&git.repository(), "a"), b"one\n");
    let linked = git.home.join("linked");
    fs::create_dir(&linked).unwrap();
    symlink(&elsewhere, linked.join(".git")).unwrap();
    assert_eq!(committed(&found(&linked), "a"), b"one\n");
}

#[test]
fn what_adjutant_does_not_read_is_unknown() {
    let sha256 = Workshop::with(&["--object-format=sha256"]);
    assert!(reason(Repository::find(&sha256.root)).contains("SHA-256"));
    let reftable = Workshop::with(&["--ref-format=reftable"]);
    assert!(reason(Repository::find(&reftable.root)).contains("reftable"));
    let bare = Workshop::with(&["--bare"]);
    assert!(reason(Repository::find(&bare.root.join("refs"))).contains("bare"));
    let inside = Workshop::new();
    assert!(reason(Repository::find(&inside.root.join(".git/refs/heads"))).contains("git's own"));
    let settings = [
        ("core.bare", "true", "bare"),
        ("core.worktree", "/", "another folder"),
        ("core.worktree", "../missing", "another folder"),
        ("core.repositoryformatversion", "2", "format version"),
        ("extensions.somethingNew", "true", "somethingnew"),
    ];
    for (name, value, expected) in settings {
        let git = Workshop::new();
        git.git(&["config", "core.repositoryformatversion", "1"]);
        git.git(&["config", name, value]);
        let reason = reason(Repository::find(&git.root));
        assert!(reason.contains(expected), "{name}: {reason}");
    }
    let same = Workshop::new();
    same.git(&["config", "core.worktree", same.root.to_str().unwrap()]);
    assert_eq!(same.repository().work_tree(), same.root);
    let broken = Workshop::new();
    broken.write_git("config", "[core\n");
    assert!(reason(Repository::find(&broken.root)).contains("damaged"));
}

#[test]
fn a_git_file_that_leads_to_no_repository_is_unknown() {
    let git = Workshop::empty();
    for content in [
        "",
        "gitdir: \n",
        "gitdir: .git\n",
        "gitdir: ../missing\n",
        "gitdir: /\n",
        "gitdir: \0\n",
        "text\n",
        "gitdir: .\n",
    ] {
        git.write(".git", content);
        let reason = reason(Repository::find(&git.root.join("a")));
        assert!(reason.contains("folder of git"), "{content:?}: {reason}");
    }
    fs::File::create(git.root.join(".git")).unwrap().set_len(1 << 40).unwrap();
    assert!(reason(Repository::find(&git.root)).contains("larger than Adjutant reads"));
    fs::remove_file(git.root.join(".git")).unwrap();
    symlink(".git", git.root.join(".git")).unwrap();
    assert!(reason(Repository::find(&git.root)).contains("cannot be read"));
}

#[test]
fn objects_of_other_repositories_are_unknown() {
    let git = Workshop::new();
    git.write("a", "one\n");
    git.commit("first");
    git.git_in(&git.home, &["clone", "-q", "--shared", "work", "shared"]);
    let repository = found(&git.home.join("shared"));
    assert!(repository.head().unwrap().commit.is_some());
    assert!(reason(repository.committed(Path::new("a"))).contains("borrows objects"));
}

#[test]
fn replaced_objects_are_unknown() {
    let git = Workshop::new();
    git.write("a", "one\n");
    git.commit("first");
    git.write("a", "two\n");
    git.commit("second");
    git.git(&["replace", "HEAD:a", "HEAD~1:a"]);
    let repository = git.repository();
    assert!(reason(repository.committed(Path::new("a"))).contains("replaces objects"));
    git.git(&["pack-refs", "--all"]);
    assert!(reason(repository.committed(Path::new("a"))).contains("replaces objects"));
}

#[test]
fn a_text_that_a_partial_clone_did_not_fetch_is_unknown() {
    let git = Workshop::new();
    git.git(&["config", "uploadpack.allowFilter", "true"]);
    git.write("a", "one\n");
    git.commit("first");
    let from = format!("file://{}", git.root.display());
    git.git_in(&git.home, &["clone", "-q", "--filter=blob:none", "--no-checkout", &from, "partial"]);
    let repository = found(&git.home.join("partial"));
    assert!(reason(repository.committed(Path::new("a"))).contains("partial clone"));
    assert_eq!(repository.committed(Path::new("b")), Ok(None), "its tree is there");
    git.git_in(&git.home.join("partial"), &["checkout", "-q", "main"]);
    assert_eq!(committed(&repository, "a"), b"one\n");
}

#[test]
fn a_very_deep_path_is_unknown() {
    let git = Workshop::empty();
    let deep: PathBuf = std::iter::repeat_n("a", 600).collect();
    assert!(reason(Repository::find(&git.root.join(deep))).contains("deep"));
}
