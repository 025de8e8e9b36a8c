//! Which names fit a few letters, and which of them first.

use std::fs;
use std::sync::RwLock;
use std::time::Duration;

use super::*;

fn names(paths: &[&str]) -> FileNames {
    let mut names = FileNames::default();
    for path in paths {
        assert!(names.push(path.trim_end_matches('/'), path.ends_with('/')));
    }
    names
}

fn ranked(names: &FileNames, typed: &str) -> Vec<String> {
    names.ranked(typed, &[], 10).into_iter().map(|name| name.path).collect()
}

#[test]
fn n11_the_name_that_is_meant_comes_first() {
    let names = names(&[
        "README.md",
        "docs/",
        "docs/readme-of-tools.md",
        "src/",
        "src/main.rs",
        "src/main_tests.rs",
        "src/domain.rs",
        "src/HttpServer.ts",
        "src/help/tests/server.ts",
        "vendor/src/main.rs",
    ]);
    for (typed, first) in [
        ("main", "src/main.rs"),
        ("main.rs", "src/main.rs"),
        ("readme", "README.md"),
        ("README", "README.md"),
        ("mt", "src/main_tests.rs"),
        ("hs", "src/HttpServer.ts"),
        ("vmain", "vendor/src/main.rs"),
        ("src/", "src/main.rs"),
        ("docs", "docs/"),
        ("dom", "src/domain.rs"),
    ] {
        assert_eq!(ranked(&names, typed).first().map(String::as_str), Some(first), "{typed}");
    }
    assert_eq!(ranked(&names, "zzz"), [""; 0]);
    assert_eq!(ranked(&names, "niam"), [""; 0], "the order of the letters counts");
    assert_eq!(ranked(&names, "")[..3], ["src/", "docs/", "README.md"], "without letters, those at the top");
}

#[test]
fn n11_what_was_used_comes_first_and_decides_between_similar_names() {
    let names = names(&["a/mod.rs", "b/mod.rs", "c/mod.rs", "b/model.rs"]);
    let recent = ["b/model.rs".to_owned(), "c/mod.rs".to_owned()];
    let ranked =
        |typed: &str| names.ranked(typed, &recent, 2).into_iter().map(|name| name.path).collect::<Vec<_>>();
    assert_eq!(ranked(""), ["b/model.rs", "c/mod.rs"]);
    assert_eq!(ranked("mod")[0], "c/mod.rs");
}

#[test]
fn n11_the_names_have_a_bound_and_say_so() {
    let mut names = FileNames::default();
    let long = "x/".repeat(1000);
    let fitted = (0..MAX_NAMES).take_while(|number| names.push(&format!("{long}{number}"), false)).count();
    assert!(names.is_cut() && fitted < MAX_NAMES && names.len() == fitted);
    assert!(names.text.len() + names.entries.len() * size_of::<NameEntry>() <= MAX_BYTES);
    let mut names = FileNames::default();
    assert_eq!((0..=MAX_NAMES).filter(|number| names.push(&number.to_string(), false)).count(), MAX_NAMES);
    assert!(names.is_cut());
}

#[test]
fn n11_the_names_are_those_that_a_search_would_visit() {
    let place = tempfile::tempdir().expect("a folder");
    let root = place.path().canonicalize().expect("it is there");
    for (path, text) in [
        (".gitignore", "out/\n"),
        (".git/config", ""),
        ("out/a.o", ""),
        ("src/a b.rs", ""),
        ("src/line\nend", ""),
        ("more/x.rs", ""),
    ] {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
        fs::write(path, text).expect("it is written");
    }
    let (roots, _) = Roots::open(&[root.clone(), root.join("out")]);
    let exclusions = Exclusions::new(&roots, Default::default(), Default::default());
    let names = RwLock::new(FileNames::default());
    gather(&roots, &exclusions, &Stop::after(Duration::from_secs(60)), &names);
    let names = names.into_inner().expect("no panic");
    let mut all: Vec<String> = names.entries.iter().map(|entry| names.path(entry).to_owned()).collect();
    all.sort();
    assert_eq!(all, [".gitignore", "more", "more/x.rs", "out/a.o", "src", "src/a b.rs"]);
    assert_eq!(name_of(&roots, &root.join("src/a b.rs")).as_deref(), Some("src/a b.rs"));
}
