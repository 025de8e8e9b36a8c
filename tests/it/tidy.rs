//! Rules of the code base: layers, sizes, names, unfinished work, the table of rows, and the pages.
//!
//! Every check says what to do. A new rule is a test here, never a paragraph elsewhere.

mod circles;
mod kinds;
mod layers;
mod map;
mod owners;
mod pages;
mod performance;
mod rows;
pub mod source;
mod terms;

use source::{Source, files, rust, words};

/// The most lines of a file without its tests.
const MOST_LINES: usize = 600;

/// Files that may be longer, with the reason. Only tables of data may be longer, not logic.
const LONGER: [(&str, &str); 0] = [];

/// Words that hide what a thing does.
const BANNED: [&str; 11] =
    ["manager", "helper", "util", "utils", "common", "misc", "base", "impl", "data", "info", "handler"];

/// Names from outside that the code must use unchanged, with the reason.
const BANNED_EXCEPTIONS: [(&str, &str); 0] = [];

/// Tests that may sleep, as (file, reason).
const SLEEPERS: [(&str, &str); 2] = [
    (
        "server/tools/src/process/tests.rs",
        "the commands under test sleep, and the end of a foreign process gives no event, so the test polls",
    ),
    ("server/transport/src/tests/rig.rs", "the test of the order needs handlers that last differently"),
];

#[test]
fn files_are_small() {
    let mut wrong = Vec::new();
    for source in files("server", &[".rs"]).into_iter().chain(files("editors", &[".rs", ".ts", ".lua"])) {
        let lines = source.code().lines().count();
        let excused = LONGER.iter().any(|(path, _)| *path == source.path);
        if !source.is_test() && lines > MOST_LINES && !excused {
            wrong.push(format!("{}: {lines} lines", source.path));
        }
        if excused && lines <= MOST_LINES {
            wrong.push(format!("{}: is short again; remove it from LONGER", source.path));
        }
    }
    assert!(
        wrong.is_empty(),
        "files over {MOST_LINES} lines: move a second decision to its own file\n{}",
        wrong.join("\n")
    );
}

/// Returns the last word of a name in `CamelCase`, `snake_case` or `kebab-case`, in lower case.
fn last_word(name: &str) -> String {
    let tail = name.rsplit(['_', '-', '.']).next().unwrap_or(name);
    let start = tail.rfind(|c: char| c.is_ascii_uppercase()).unwrap_or(0);
    tail[start..].to_lowercase()
}

fn is_banned(name: &str) -> bool {
    let excused = BANNED_EXCEPTIONS.iter().any(|(exception, _)| *exception == name);
    !excused && (BANNED.contains(&last_word(name).as_str()) || BANNED.contains(&name.to_lowercase().as_str()))
}

#[test]
fn names_say_what_a_thing_does() {
    let mut wrong = Vec::new();
    let clients = files("editors", &[".ts", ".mjs", ".js", ".lua"]);
    for source in rust().iter().chain(&clients) {
        for part in source.path.split('/') {
            let stem = part.split('.').next().unwrap_or(part);
            if is_banned(stem) {
                wrong.push(format!("{}: the name `{stem}`", source.path));
            }
        }
    }
    for source in rust() {
        let code = source::blank(&source.text);
        for keyword in ["mod", "struct", "enum", "trait", "type", "union"] {
            for at in words(&code, keyword) {
                let after = code[at + keyword.len()..].trim_start();
                let name: String = after.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if is_banned(&name) {
                    wrong.push(format!("{}:{}: `{keyword} {name}`", source.path, Source::line_of(&code, at)));
                }
            }
        }
    }
    wrong.sort();
    assert!(wrong.is_empty(), "names that say nothing; name the thing:\n{}", wrong.join("\n"));
}

#[test]
fn nothing_is_unfinished() {
    // Assembled from parts, so that this check does not find its own file.
    let in_code = ["todo!".to_owned(), "unimplemented!".to_owned(), ["#[ign", "ore"].concat()];
    let in_text = [["FIX", "ME"].concat(), ["XX", "X"].concat(), ["TO", "DO"].concat()];
    let mut wrong = Vec::new();
    for source in rust() {
        let code = source::blank(&source.text);
        for needle in &in_code {
            for (at, _) in code.match_indices(needle.as_str()) {
                wrong.push(format!("{}:{}: {needle}", source.path, Source::line_of(&code, at)));
            }
        }
    }
    let clients = files("editors", &[".ts", ".mjs", ".js", ".lua"]);
    for source in rust().iter().chain(&clients) {
        for needle in &in_text {
            for at in words(&source.text, needle) {
                wrong.push(format!("{}:{}: {needle}", source.path, Source::line_of(&source.text, at)));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "finish it, or leave it out and say so in the table of features:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn tests_do_not_sleep() {
    let mut wrong = Vec::new();
    for source in rust() {
        let excused = SLEEPERS.iter().any(|(path, _)| *path == source.path);
        let code = source.test_code();
        let sleeps = code.contains("thread::sleep")
            || code.contains("time::sleep")
            || words(&code, "sleep").next().is_some();
        if sleeps && !excused {
            wrong.push(source.path);
        } else if excused && !sleeps {
            wrong.push(format!("{}: does not sleep any more; remove it from SLEEPERS", source.path));
        }
    }
    assert!(
        wrong.is_empty(),
        "a sleep is slow or flaky: wait for a message or a condition, with a deadline of 10 s\n{}",
        wrong.join("\n")
    );
}

#[test]
fn every_file_says_its_job() {
    let silent: Vec<String> = rust()
        .into_iter()
        .filter(|source| !source.text.starts_with("//! "))
        .map(|source| source.path)
        .collect();
    assert!(
        silent.is_empty(),
        "start these files with `//!`: their job, and one thing that they never do\n{}",
        silent.join("\n")
    );
}

#[test]
fn last_words() {
    assert_eq!(
        ["SessionManager", "base_url", "BaseUrl", "text-utils", "info"].map(last_word),
        ["manager", "url", "url", "utils", "info"]
    );
    assert!(is_banned("ServerInfo") && is_banned("utils") && !is_banned("Database") && !is_banned("BaseUrl"));
}
