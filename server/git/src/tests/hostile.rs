//! Damaged and hostile repositories: no panic, no wait, nothing written, and no text that git did not store.

use std::os::unix::fs::symlink;

use adjutant_testkit::campaign::{self, Dice};
use rustix::fs::{CWD, Mode};

use super::*;
use crate::index;
use crate::objects::Objects;
use crate::{discovery, staged};

/// Everything that Adjutant asks about a repository, for the paths of `workshop`.
#[derive(Debug, PartialEq)]
struct Answers {
    committed: Vec<Result<Option<Vec<u8>>, Unknown>>,
    staged: Vec<Result<Option<Vec<u8>>, Unknown>>,
    staged_files: Result<Vec<PathBuf>, Unknown>,
}

const PATHS: [&str; 5] = ["a", "dir/a", "dir/deep/b", "new", "missing"];

fn ask(root: &Path) -> Option<Answers> {
    let repository = Repository::find(root).ok()??;
    if let Ok(head) = repository.head()
        && let Some(commit) = head.commit
    {
        _ = repository.follows(commit, CommitId::from_hex(&"1".repeat(40)).unwrap());
    }
    _ = repository.stamp();
    _ = repository.tip("other");
    _ = repository.stashed_since(0);
    Some(Answers {
        committed: PATHS.iter().map(|path| repository.committed(Path::new(path))).collect(),
        staged: PATHS.iter().map(|path| repository.staged(Path::new(path))).collect(),
        staged_files: repository.staged_files(),
    })
}

/// Returns a repository with loose and packed objects and references, and staged changes.
fn workshop(index_version: &str) -> Workshop {
    let git = Workshop::new();
    let text =
        |version: usize| (0..300).map(|line| format!("{line} {}\n", line * version)).collect::<String>();
    for version in 0..5 {
        git.write("a", text(version));
        git.write("dir/a", "one\n");
        git.write("dir/deep/b", text(version + 3));
        git.commit("more");
    }
    git.git(&["branch", "other"]);
    git.git(&["gc", "-q", "--prune=now"]);
    git.git(&["update-index", "--index-version", index_version]);
    git.git(&["switch", "-q", "-c", "topic"]);
    git.write("dir/a", "two\n");
    git.commit("loose");
    git.write("new", "new\n");
    git.git(&["add", "-A"]);
    git
}

/// Copies a folder with all that is in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for (path, content) in contents(from) {
        let target = to.join(path.strip_prefix(from).expect("it is below"));
        if path.is_dir() {
            fs::create_dir_all(target).expect("a folder");
        } else {
            fs::create_dir_all(target.parent().expect("a folder above")).expect("its folder");
            fs::write(target, content).expect("a file");
        }
    }
}

/// Changes a file at random places: bits, bytes, its length.
fn damage(bytes: &mut Vec<u8>, dice: &mut Dice) {
    for _ in 0..=dice.roll(3) {
        let at = dice.roll(bytes.len());
        match dice.roll(8) {
            0 => bytes.truncate(at),
            1 => bytes.extend_from_within(at..),
            2 => bytes.splice(at..at, [0; 4]).for_each(drop),
            3 => bytes.iter_mut().skip(at).take(4).for_each(|byte| *byte = 0xff),
            4 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = dice.roll(256) as u8),
            _ => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << dice.roll(8)),
        }
    }
}

/// Writes the checksum that belongs to the bytes before it, as one who means harm does.
fn sign(bytes: &mut Vec<u8>) {
    let Some(end) = bytes.len().checked_sub(index::CHECKSUM) else { return };
    bytes.truncate(end);
    let mut hasher = gix_hash::hasher(gix_hash::Kind::Sha1);
    hasher.update(bytes);
    bytes.extend(hasher.try_finalize().unwrap().as_slice());
}

#[test]
fn p03_damage_anywhere_never_panics_and_never_invents_a_text() {
    let originals = ["2", "4"].map(workshop).map(|git| (ask(&git.root).expect("a repository"), git));
    for seed in 0..campaign::size("ADJUTANT_GIT_FLIPS", 20_000, 300) as u64 {
        let mut dice = campaign::dice(seed);
        let (truth, git) = dice.pick(&originals);
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("work");
        copy(&git.root, &root);
        let files: Vec<PathBuf> =
            contents(&root.join(".git")).into_keys().filter(|path| path.is_file()).collect();
        let file = dice.pick(&files);
        let name = file.strip_prefix(root.join(".git")).unwrap().to_owned();
        let mut bytes = fs::read(file).unwrap();
        damage(&mut bytes, &mut dice);
        if name.as_path() == Path::new("index") && dice.roll(2) == 0 {
            sign(&mut bytes);
        }
        fs::remove_file(file).unwrap();
        fs::write(file, bytes).unwrap();

        let before = contents(&root);
        let answers = ask(&root);
        assert!(contents(&root) == before, "seed {seed}: reading wrote something");
        // Only what names objects, the references and the index, can lead to other texts. Objects cannot.
        let Some(answers) = answers.filter(|_| name.starts_with("objects")) else { continue };
        for (what, true_text) in
            answers.committed.iter().zip(&truth.committed).chain(answers.staged.iter().zip(&truth.staged))
        {
            assert!(what.is_err() || what == true_text, "seed {seed}: {name:?} made up {what:?}");
        }
        assert!(
            answers.staged_files.is_err() || answers.staged_files == truth.staged_files,
            "seed {seed}: {name:?}"
        );
    }
}

#[test]
fn damage_of_an_index_is_noticed_by_its_checksum() {
    let git = workshop("2");
    let truth = ask(&git.root).unwrap();
    let path = git.root.join(".git/index");
    let original = fs::read(&path).unwrap();
    for at in (0..original.len()).step_by(3) {
        let mut bytes = original.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&path, bytes).unwrap();
        assert!(git.repository().staged_files().is_err(), "byte {at}");
    }
    fs::write(&path, original).unwrap();
    assert_eq!(ask(&git.root), Some(truth));
}

#[test]
fn references_in_a_circle_are_unknown() {
    let git = workshop("2");
    git.write_git("HEAD", "ref: refs/heads/a\n");
    git.write_git("refs/heads/a", "ref: refs/heads/b\n");
    git.write_git("refs/heads/b", "ref: refs/heads/a\n");
    assert!(reason(git.repository().head()).contains("too many references"));
    for (head, expected) in [
        ("ref: refs/../../secret\n", "damaged"),
        ("ref: /etc/passwd\n", "damaged"),
        ("ref: ORIG_HEAD\n", "no branch"),
        ("ref: refs/heads/.invalid\n", "damaged"),
        ("ref:\n", "damaged"),
        ("ref: refs/heads/a/b\n", ""),
    ] {
        git.write_git("HEAD", head);
        match git.repository().head() {
            Ok(found) => assert_eq!(found.commit, None, "{head:?}: there is no such branch"),
            Err(unknown) => {
                assert!(!expected.is_empty() && unknown.to_string().contains(expected), "{head:?}: {unknown}")
            }
        }
    }
    git.write_git("HEAD", format!("{}\n", "a".repeat(40)));
    assert!(reason(git.repository().committed(Path::new("a"))).contains("is missing"));
    git.write_git("HEAD", "ref: refs/heads/tree\n");
    git.write_git("refs/heads/tree", format!("{}\n", git.git(&["rev-parse", "other^{tree}"])));
    assert!(reason(git.repository().committed(Path::new("a"))).contains("not a commit"));
}

#[test]
fn nothing_waits_for_a_pipe() {
    let loose = |git: &Workshop| {
        let hex = git.git(&["rev-parse", "HEAD"]);
        PathBuf::from(format!("objects/{}/{}", &hex[..2], &hex[2..]))
    };
    let pack = |git: &Workshop, ending: &str| {
        let files = contents(&git.root.join(".git/objects/pack")).into_keys();
        files.into_iter().find(|path| path.extension().is_some_and(|other| other == ending)).expect("a pack")
    };
    for place in 0..8 {
        let git = workshop("2");
        let path = match place {
            0 => "HEAD".into(),
            1 => "index".into(),
            2 => "packed-refs".into(),
            3 => "config".into(),
            4 => "refs/heads/topic".into(),
            5 => loose(&git),
            6 => pack(&git, "idx"),
            _ => pack(&git, "pack"),
        };
        let path = git.root.join(".git").join(path);
        _ = fs::remove_file(&path);
        rustix::fs::mknodat(CWD, &path, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let Some(answers) = ask(&git.root) else { continue };
        let unknown = |answers: &[Result<Option<Vec<u8>>, Unknown>]| answers.iter().any(Result::is_err);
        assert!(unknown(&answers.committed) || unknown(&answers.staged), "{path:?} was passed by");
    }
    let git = Workshop::empty();
    rustix::fs::mknodat(CWD, git.root.join(".git"), rustix::fs::FileType::Fifo, Mode::RUSR, 0).unwrap();
    assert!(reason(Repository::find(&git.root)).contains("not a regular file"));
}

#[test]
fn files_of_absurd_size_are_unknown() {
    let git = workshop("2");
    for (name, length) in [("index", 1 << 40), ("packed-refs", 1 << 40), ("refs/heads/topic", 1 << 40)] {
        let path = git.root.join(".git").join(name);
        let original = fs::read(&path).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_len(length).unwrap();
        let answers = ask(&git.root).unwrap();
        let all = answers.committed.iter().chain(&answers.staged);
        assert!(
            all.filter_map(|answer| answer.as_ref().err()).any(|why| why.to_string().contains("larger")),
            "{name}"
        );
        fs::write(path, original).unwrap();
    }
}

#[test]
fn an_unreadable_file_is_unknown() {
    // A circle of links cannot be read by any user, not even by root.
    for name in ["HEAD", "index", "packed-refs", "config", "objects/pack", "refs/replace"] {
        let git = workshop("2");
        let path = git.root.join(".git").join(name);
        _ = fs::remove_file(&path);
        _ = fs::remove_dir_all(&path);
        symlink(path.file_name().unwrap(), &path).unwrap();
        if let Some(answers) = ask(&git.root) {
            assert!(answers.staged_files.is_err(), "{name}");
        }
    }
}

#[test]
fn trees_that_multiply_have_a_limit() {
    let git = Workshop::new();
    git.write("a", "one\n");
    git.commit("first");
    // Ten names for the same tree, again and again: a hundred million files from nine objects.
    let mut tree = git.git(&["rev-parse", "HEAD^{tree}"]);
    for _ in 0..8 {
        let listing: String = (0..10).map(|name| format!("040000 tree {tree}\t{name}\n")).collect();
        tree = git.feed(&["mktree"], &listing);
    }
    let commit = git.git(&["commit-tree", "-m", "bomb", &tree]);
    git.git(&["update-ref", "HEAD", &commit]);
    assert_eq!(committed(&git.repository(), "0/1/2/3/4/5/6/7/a"), b"one\n");
    let location = discovery::find(&git.root).unwrap().unwrap();
    let objects = Objects::open(&location).unwrap();
    let tree = objects.tree_of(git.id("HEAD")).unwrap();
    let index = index::read(&location).unwrap();
    assert!(reason(staged::files(&objects, Some(tree), &index, 1_000)).contains("1000 files"));
}

/// Returns an index of version 4 with these entries: bytes removed from the path before, and the path after them.
fn index_of_paths(paths: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let mut bytes =
        [&b"DIRC"[..], &4_u32.to_be_bytes(), &u32::try_from(paths.len()).unwrap().to_be_bytes()].concat();
    let mut length = 0_usize;
    for (removed, path) in paths {
        length = length - usize::from(*removed) + path.len();
        bytes.extend([0; 24]);
        bytes.extend(0o100_644_u32.to_be_bytes());
        bytes.extend([0; 12]);
        bytes.extend([7; 20]);
        bytes.extend(u16::try_from(length.min(0xfff)).unwrap().to_be_bytes());
        bytes.push(*removed);
        bytes.extend(path);
        bytes.push(0);
    }
    bytes.extend([0; index::CHECKSUM]);
    sign(&mut bytes);
    bytes
}

#[test]
fn an_index_whose_paths_multiply_is_unknown() {
    let number = |at: u32| at.to_be_bytes().map(|byte| byte | 0x80).to_vec();
    assert!(index::decode(index_of_paths(&[(0, b"a".to_vec()), (0, b"b".to_vec())])).is_ok());
    let mut paths = vec![(0, [vec![b'a'; 4_000], number(0)].concat())];
    paths.extend((1..200_000).map(|at| (4, number(at))));
    // A file of 14 MB whose paths have 800 MB.
    assert!(reason(index::decode(index_of_paths(&paths)).map(|_| ())).contains("damaged"));
    let long = vec![(0, vec![b'a'; 5_000])];
    assert!(reason(index::decode(index_of_paths(&long)).map(|_| ())).contains("damaged"));
    let unsorted = [(0, b"b".to_vec()), (1, b"a".to_vec())];
    assert!(reason(index::decode(index_of_paths(&unsorted)).map(|_| ())).contains("damaged"));
}

#[test]
fn an_index_with_a_very_deep_cached_tree_is_read_without_it() {
    let mut bytes = index_of_paths(&[(0, b"a".to_vec())]);
    bytes.truncate(bytes.len() - index::CHECKSUM);
    let tree = b"a\0-1 1\n".repeat(2_000_000);
    bytes.extend(b"TREE");
    bytes.extend(u32::try_from(tree.len()).unwrap().to_be_bytes());
    bytes.extend(tree);
    bytes.extend([0; index::CHECKSUM]);
    sign(&mut bytes);
    assert_eq!(index::decode(bytes).unwrap().entries().count(), 1);
}
