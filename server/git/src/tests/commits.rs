//! Tests of the branch and the last commit.

use std::ffi::OsStr;
use std::os::unix::fs::symlink;

use super::*;
use crate::{Head, MAX_TEXT, same_text};

fn on(branch: &str, commit: CommitId) -> Head {
    Head { branch: Some(branch.to_owned()), commit: Some(commit) }
}

#[test]
fn a_repository_without_commits_has_a_branch_only() {
    let git = Workshop::new();
    git.write("a", "one\n");
    let repository = git.repository();
    assert_eq!(repository.head(), Ok(Head { branch: Some("main".to_owned()), commit: None }));
    assert_eq!(repository.committed(Path::new("a")), Ok(None));
    assert_eq!(repository.staged(Path::new("a")), Ok(None));
    assert_eq!(repository.staged_files(), Ok(vec![]));
    git.git(&["add", "a"]);
    assert_eq!(staged(&repository, "a"), b"one\n");
    assert_eq!(repository.staged_files(), Ok(vec![PathBuf::from("a")]));
}

#[test]
fn p03_commits_amends_and_switches_show_at_once() {
    let git = Workshop::new();
    let repository = git.repository();
    git.write("deep/er/a", "one\n");
    let first = git.commit("first");
    assert_eq!(repository.head(), Ok(on("main", first)));
    assert_eq!(committed(&repository, "deep/er/a"), b"one\n");
    git.write("deep/er/a", "two\n");
    assert_eq!(committed(&repository, "deep/er/a"), b"one\n", "the work tree does not count");
    let second = git.commit("second");
    assert_eq!(committed(&repository, "deep/er/a"), b"two\n");
    assert_eq!(repository.committed_in(first, Path::new("deep/er/a")), Ok(Some(b"one\n".to_vec())));
    assert_eq!(repository.follows(second, first), Ok(true));
    assert_eq!(repository.follows(first, second), Ok(false));

    git.write("deep/er/a", "three\n");
    git.git(&["commit", "-q", "-a", "--amend", "-m", "amended"]);
    let amended = git.id("HEAD");
    assert_eq!(committed(&repository, "deep/er/a"), b"three\n");
    assert_eq!(repository.follows(amended, second), Ok(false), "an amended commit replaces");
    assert_eq!(repository.follows(amended, first), Ok(true));

    git.git(&["switch", "-q", "-c", "topic/x", &first.to_string()]);
    assert_eq!(repository.head(), Ok(on("topic/x", first)));
    assert_eq!(committed(&repository, "deep/er/a"), b"one\n");
    git.git(&["checkout", "-q", "--detach", "main"]);
    assert_eq!(repository.head(), Ok(Head { branch: None, commit: Some(amended) }));
    assert_eq!(committed(&repository, "deep/er/a"), b"three\n");
}

#[test]
fn only_texts_of_the_commit_have_content() {
    let git = Workshop::new();
    git.write("dir/a", "one\n");
    git.write("empty", "");
    symlink("dir/a", git.root.join("link")).unwrap();
    symlink("dir", git.root.join("folder")).unwrap();
    git.commit("first");
    git.write("new", "new\n");
    let repository = git.repository();
    assert_eq!(committed(&repository, "empty"), b"");
    assert_eq!(committed(&repository, git.root.join("dir/a").to_str().unwrap()), b"one\n");
    for path in ["link", "folder", "folder/a", "dir", "dir/b", "dir/a/b", "new", "", ".git/HEAD"] {
        assert_eq!(repository.committed(Path::new(path)), Ok(None), "{path}");
        assert_eq!(repository.staged(Path::new(path)), Ok(None), "{path}");
    }
    for path in ["../a", "dir/../a", "/etc/hostname"] {
        assert!(reason(repository.committed(Path::new(path))).contains("not in the work tree"), "{path}");
        assert!(reason(repository.staged(Path::new(path))).contains("not in the work tree"), "{path}");
    }
}

#[test]
fn packed_references_and_packed_objects_are_read() {
    let git = Workshop::new();
    // Each version shares most with its neighbours, so that git makes chains.
    let line = |number: u64| format!("{:016x}\n", number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let text = |version: u64| -> String { (version * 100..version * 100 + 1_000).map(line).collect() };
    let mut commits = Vec::new();
    for version in 0..30 {
        git.write("a", text(version));
        git.write(format!("dir{version}/b"), format!("{version}\n"));
        commits.push(git.commit("more"));
    }
    for branch in 0..50 {
        git.git(&["branch", &format!("branch-{branch}"), &commits[branch % 30].to_string()]);
    }
    let repository = git.repository();
    git.git(&["pack-refs", "--all"]);
    assert!(!git.root.join(".git/refs/heads/main").exists(), "it is packed");
    assert_eq!(repository.head(), Ok(on("main", commits[29])));
    git.git(&["gc", "-q", "--aggressive", "--prune=now"]);
    assert_eq!(git.git(&["count-objects"]), "0 objects, 0 kilobytes");
    for (version, commit) in (0..).zip(&commits) {
        let path = Path::new("a");
        assert_eq!(repository.committed_in(*commit, path), Ok(Some(text(version).into_bytes())));
        assert_eq!(repository.follows(commits[29], *commit), Ok(true));
    }
    let chains = git.git(&["verify-pack", "-s", &pack_index(&git)]);
    assert!(chains.contains("chain length = 2"), "no chain of differences to test: {chains}");
    assert_eq!(committed(&repository, "dir7/b"), b"7\n");
    assert_eq!(staged(&repository, "dir7/b"), b"7\n");
    assert_eq!(repository.staged_files(), Ok(vec![]));
    git.git(&["switch", "-q", "branch-7"]);
    assert_eq!(repository.head(), Ok(on("branch-7", commits[7])));
    // A loose reference wins against the packed one, and a new object is loose.
    git.write("a", "new\n");
    let new = git.commit("new");
    assert_eq!(repository.head(), Ok(on("branch-7", new)));
    assert_eq!(committed(&repository, "a"), b"new\n");
    git.git(&["repack", "-q"]);
    git.git(&["multi-pack-index", "write"]);
    assert_eq!(committed(&repository, "a"), b"new\n");
}

fn pack_index(git: &Workshop) -> String {
    let files = contents(&git.root.join(".git/objects/pack"));
    let index = files.into_keys().find(|path| path.extension().is_some_and(|ending| ending == "idx"));
    index.expect("a pack").to_str().unwrap().to_owned()
}

#[test]
fn an_emptied_folder_of_branches_hides_no_packed_branch() {
    let git = Workshop::new();
    let commit = git.commit("first");
    git.git(&["pack-refs", "--all"]);
    fs::create_dir(git.root.join(".git/refs/heads/main")).unwrap();
    assert_eq!(git.repository().head(), Ok(on("main", commit)));
}

#[test]
fn a_branch_may_be_another_name_of_a_branch() {
    let git = Workshop::new();
    let commit = git.commit("first");
    git.git(&["symbolic-ref", "refs/heads/alias", "refs/heads/main"]);
    git.git(&["symbolic-ref", "HEAD", "refs/heads/alias"]);
    assert_eq!(git.repository().head(), Ok(on("main", commit)));
}

#[test]
fn every_legal_name_of_a_file_is_found() {
    let git = Workshop::new();
    let names = [
        &b"new\nline"[..],
        b"not \xff\xfe utf-8",
        b"\xc3\xa4 \xf0\x9f\x98\x80",
        b" ",
        b"-",
        b"a\tb",
        b"\\",
        b"\"",
        b"con:",
    ];
    for (number, name) in names.iter().enumerate() {
        git.write(Path::new("dir").join(OsStr::from_bytes(name)), format!("{number}\n"));
    }
    git.commit("names");
    let repository = git.repository();
    for (number, name) in names.iter().enumerate() {
        let path = Path::new("dir").join(OsStr::from_bytes(name));
        let text = Ok(Some(format!("{number}\n").into_bytes()));
        assert_eq!(repository.committed(&path), text, "{path:?}");
        assert_eq!(repository.staged(&path), text, "{path:?}");
        git.write(&path, "changed\n");
    }
    git.git(&["add", "-A"]);
    let mut expected: Vec<PathBuf> =
        names.iter().map(|name| Path::new("dir").join(OsStr::from_bytes(name))).collect();
    expected.sort();
    assert_eq!(repository.staged_files(), Ok(expected));
}

#[test]
fn a_text_has_a_limit() {
    let git = Workshop::new();
    let limit = usize::try_from(MAX_TEXT).unwrap();
    git.write("fits", vec![b'a'; limit]);
    git.write("large", vec![b'a'; limit + 1]);
    git.commit("large");
    let repository = git.repository();
    for packed in [false, true] {
        if packed {
            git.git(&["gc", "-q"]);
        }
        assert_eq!(committed(&repository, "fits").len(), limit, "packed: {packed}");
        assert!(reason(repository.committed(Path::new("large"))).contains("larger than Adjutant reads"));
        assert!(reason(repository.staged(Path::new("large"))).contains("larger than Adjutant reads"));
    }
}

#[test]
fn the_largest_text_is_read_from_its_differences_too() {
    let git = Workshop::new();
    let mut text: Vec<u8> =
        (0..u32::try_from(MAX_TEXT / 16).unwrap()).flat_map(|n| format!("{n:015}\n").into_bytes()).collect();
    for version in 0..3_u8 {
        text[100] = b'0' + version;
        git.write("fits", &text);
        git.commit("version");
    }
    git.git(&["-c", "core.bigFileThreshold=1g", "repack", "-q", "-a", "-d", "-f", "--depth=3"]);
    let repository = git.repository();
    for (number, commit) in ["HEAD", "HEAD~1", "HEAD~2"].iter().enumerate() {
        text[100] = b'2' - u8::try_from(number).unwrap();
        let read = repository.committed_in(git.id(commit), Path::new("fits")).unwrap().unwrap();
        assert!(read == text, "{commit}");
    }
}

#[test]
fn line_ends_that_git_converts_are_the_same_text() {
    let git = Workshop::new();
    git.git(&["config", "core.autocrlf", "true"]);
    git.write("a", "one\r\ntwo\r\n");
    git.commit("converted");
    let repository = git.repository();
    assert_eq!(committed(&repository, "a"), b"one\ntwo\n");
    assert!(same_text(&committed(&repository, "a"), "one\r\ntwo\r\n"));
    assert!(same_text(&staged(&repository, "a"), "one\r\ntwo\r\n"));
    assert!(!same_text(&committed(&repository, "a"), "one\r\ntwo\n"));
}

#[test]
fn a_shallow_clone_is_read_up_to_its_border() {
    let git = Workshop::new();
    git.write("a", "one\n");
    let first = git.commit("first");
    git.write("a", "two\n");
    let second = git.commit("second");
    let third = git.commit("third");
    let from = format!("file://{}", git.root.display());
    git.git_in(&git.home, &["clone", "-q", "--depth=1", &from, "shallow"]);
    let repository = found(&git.home.join("shallow"));
    assert_eq!(repository.head(), Ok(on("main", third)));
    assert_eq!(committed(&repository, "a"), b"two\n");
    assert_eq!(repository.follows(third, second), Ok(true), "the last commit names it");
    assert!(reason(repository.follows(third, first)).contains("is missing"));
}

#[test]
fn a_long_history_is_followed_up_to_a_limit() {
    let git = Workshop::new();
    let tree = git.git(&["write-tree"]);
    let mut stream = String::new();
    for number in 0..1_100 {
        stream += &format!(
            "commit refs/heads/main\nmark :{}\ncommitter A <a@example.org> {number} +0000\ndata 1\nx\n",
            number + 1
        );
    }
    assert_eq!(tree, "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
    git.feed(&["fast-import", "--quiet"], &stream);
    let repository = git.repository();
    let head = git.id("HEAD");
    assert_eq!(repository.follows(head, git.id("HEAD~900")), Ok(true));
    assert!(reason(repository.follows(head, git.id("HEAD~1050"))).contains("last 1000 commits"));
}
