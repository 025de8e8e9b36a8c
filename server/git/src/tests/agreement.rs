//! Random work in a repository: Adjutant reads what git shows.

use adjutant_testkit::campaign::{self, Dice};

use super::*;

const PATHS: [&str; 10] =
    ["a", "b", "a.x", "dir/a", "dir/b", "dir/deep/a", "dir-x", "dir0", "two words", "\u{e4}/\u{1f600}"];

const TEXTS: [&str; 6] = ["", "one\n", "two\n", "no line end", "one\r\ntwo\r\n", "many\nlines\nof\ntext\n"];

fn change(git: &Workshop, dice: &mut Dice) {
    let path = *dice.pick(&PATHS);
    match dice.roll(12) {
        0..=4 => git.write(path, dice.pick(&TEXTS)),
        5 => _ = fs::remove_file(git.root.join(path)),
        6 | 7 => _ = git.run(&git.root, &["add", "-A", "--", path]),
        8 => _ = git.run(&git.root, &["rm", "-q", "--cached", "--", path]),
        9 => _ = git.run(&git.root, &["commit", "-q", "-m", "x"]),
        10 => _ = git.run(&git.root, &["commit", "-q", "-a", "--amend", "-m", "y"]),
        _ => match dice.roll(8) {
            0 => _ = git.run(&git.root, &["gc", "-q", "--prune=now"]),
            1 => _ = git.run(&git.root, &["update-index", "--index-version", *dice.pick(&["2", "4"])]),
            2 => _ = git.run(&git.root, &["pack-refs", "--all"]),
            3 => _ = git.run(&git.root, &["switch", "-q", "-C", *dice.pick(&["x", "y"])]),
            4 => _ = git.run(&git.root, &["checkout", "-q", "--detach"]),
            5 => _ = git.run(&git.root, &["reset", "-q", "HEAD~1"]),
            6 => _ = git.run(&git.root, &["stash", "-q"]),
            _ => _ = git.run(&git.root, &["repack", "-q"]),
        },
    }
}

/// Returns what git shows for a name; `None` if it has none.
fn shown(git: &Workshop, name: &str) -> Option<Vec<u8>> {
    let output = git.run(&git.root, &["cat-file", "blob", name]);
    output.status.success().then_some(output.stdout)
}

fn check(git: &Workshop, seed: u64) {
    let repository = git.repository();
    let before = contents(&git.root);
    let head = repository.head().unwrap();
    let staged_files = repository.staged_files().unwrap();
    let read = PATHS.map(|path| {
        (repository.committed(Path::new(path)).unwrap(), repository.staged(Path::new(path)).unwrap())
    });
    assert_eq!(contents(&git.root), before, "seed {seed}: reading wrote something");

    for (path, (committed, staged)) in PATHS.iter().zip(read) {
        assert_eq!(committed, shown(git, &format!("HEAD:{path}")), "seed {seed}: HEAD:{path}");
        assert_eq!(staged, shown(git, &format!(":{path}")), "seed {seed}: :{path}");
    }
    let commit = git.run(&git.root, &["rev-parse", "-q", "--verify", "HEAD"]);
    let commit = commit.status.success().then(|| String::from_utf8(commit.stdout).unwrap().trim().to_owned());
    assert_eq!(head.commit.map(|commit| commit.to_string()), commit, "seed {seed}");
    assert_eq!(head.branch.unwrap_or_default(), git.git(&["branch", "--show-current"]), "seed {seed}");
    let against = if commit.is_some() { "HEAD" } else { "4b825dc642cb6eb9a060e54bf8d69288fbee4904" };
    let listed = git.git(&["diff", "--cached", "--name-only", "--no-renames", "-z", against]);
    let listed: Vec<PathBuf> = listed.split_terminator('\0').map(PathBuf::from).collect();
    assert_eq!(staged_files, listed, "seed {seed}");
}

#[test]
fn p03_adjutant_reads_what_git_shows() {
    for seed in 0..campaign::size("ADJUTANT_GIT_WORK", 400, 12) as u64 {
        let mut dice = campaign::dice(seed);
        let git = Workshop::new();
        for _ in 0..6 {
            for _ in 0..=dice.roll(10) {
                change(&git, &mut dice);
            }
            check(&git, seed);
        }
    }
}
