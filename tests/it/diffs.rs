//! The diffs that an ask shows: `git apply` accepts each of them. It turns the old text into the new one, byte
//! by byte.
//!
//! Leaves out lines that end with a carriage return alone, because no diff tool supports them.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use adjutant_core::text::review::{hunks, unified_diff};
use adjutant_testkit::campaign::{Dice, size};

/// Number of files whose diffs form one patch.
const FILES: usize = 60;

/// Few different lines, so that the same line often occurs twice.
const LINES: [&str; 14] = [
    "",
    "",
    "a",
    "b",
    "    x = 1",
    "}",
    "-a",
    "+b",
    "-- a/other",
    "++ b/other",
    "@@ -1,1 +1,1 @@",
    "\t",
    "blanks at the end  ",
    "ä 😀\u{200b}",
];

fn line(dice: &mut Dice, end: &str) -> String {
    dice.pick(&LINES).to_string() + end
}

/// Returns a text and a version of it that is changed in some places.
fn pair(dice: &mut Dice) -> (String, String) {
    let end = *dice.pick(&["\n", "\n", "\r\n"]);
    let count = *dice.pick(&[0, 1, 2, 5, 12, 40]);
    let before: Vec<String> = (0..count).map(|_| line(dice, end)).collect();
    let mut after = before.clone();
    for _ in 0..*dice.pick(&[1, 1, 2, 3, 6]) {
        let at = dice.roll(after.len() + 1);
        let removed = dice.roll(3).min(after.len() - at);
        let inserted: Vec<String> = (0..dice.roll(3)).map(|_| line(dice, end)).collect();
        after.splice(at..at + removed, inserted);
    }
    if dice.roll(12) == 0 {
        after.clear();
    }
    let whole = |lines: Vec<String>, cut: bool| {
        let text = lines.concat();
        if cut { text.trim_end_matches(['\r', '\n']).to_owned() } else { text }
    };
    (whole(before, dice.roll(4) == 0), whole(after, dice.roll(4) == 0))
}

fn git_apply(folder: &Path, args: &[&str]) -> Result<(), String> {
    let mut git = Command::new("git");
    git.arg("apply").args(args).arg("--whitespace=nowarn").arg("../patch").current_dir(folder);
    git.env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CEILING_DIRECTORIES", "/");
    let done = git.stdin(Stdio::null()).output().expect("git is installed: tests/run installs it");
    done.status.success().then_some(()).ok_or_else(|| String::from_utf8_lossy(&done.stderr).into_owned())
}

/// Applies the diffs of many files as one patch; `Err` holds git's message.
fn apply(seed: u64, pairs: &[(String, String, String)]) -> Result<(), String> {
    let place = tempfile::tempdir().expect("a folder for the files");
    let folder = place.path().join("files");
    let mut patch = String::new();
    for (path, before, after) in pairs {
        let file = folder.join(path);
        fs::create_dir_all(file.parent().expect("a file lies in a folder")).expect("make its folder");
        // An empty file exists if its path contains "empty"; otherwise it is new.
        let existed = !before.is_empty() || path.contains("empty");
        if existed {
            fs::write(&file, before).expect("write the old text");
        }
        let made = hunks(before, after);
        if !made.is_empty() {
            patch += &unified_diff(path, existed, &made);
        }
    }
    fs::write(place.path().join("patch"), &patch).expect("write the diffs");
    git_apply(&folder, &["--check"]).and_then(|()| git_apply(&folder, &[]))?;
    for (path, before, after) in pairs {
        let now = fs::read_to_string(folder.join(path)).unwrap_or_default();
        assert_eq!(now, *after, "seed {seed}: {path} was {before:?}; the patch is\n{patch}");
    }
    Ok(())
}

#[test]
fn finding_d11_git_applies_every_diff_that_is_shown() {
    for seed in 0..size("ADJUTANT_DIFFS", 45, 12) as u64 {
        let mut dice = Dice(seed);
        let named = |dice: &mut Dice, at: usize| {
            let name = *dice.pick(&[
                "plain",
                "two words",
                "ä/😀",
                "src/deep/empty",
                "a b/empty file",
                "2026-01-01 10:00",
            ]);
            format!("{name} {at}.rs")
        };
        let pairs: Vec<_> = (0..FILES)
            .map(|at| {
                let (before, after) = pair(&mut dice);
                (named(&mut dice, at), before, after)
            })
            .filter(|(_, before, after)| before != after)
            .collect();
        assert!(pairs.len() > FILES / 2, "seed {seed}: too few texts differ");
        if let Err(why) = apply(seed, &pairs) {
            let alone = pairs
                .iter()
                .find_map(|one| apply(seed, std::slice::from_ref(one)).err().map(|why| (one, why)));
            panic!("seed {seed}: {why}\nalone: {alone:#?}");
        }
    }
}
