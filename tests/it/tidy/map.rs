//! `docs/code-map.md` names every module, and nothing that does not exist.
//!
//! Checks only the first level of each crate, because a map is not a list of files.

use super::source::{files, read};

const CRATES: [&str; 9] = [
    "server/protocol/src",
    "server/core/src",
    "server/host/src",
    "server/git/src",
    "server/store/src",
    "server/tools/src",
    "server/transport/src",
    "server/model/src",
    "server/src",
];

/// Returns the names in backticks of one crate's table. The head of the table names the folder.
fn named(folder: &str) -> Vec<String> {
    let page = read("docs/code-map.md");
    let head = format!("| `{folder}/` |");
    let table = page.lines().skip_while(|line| !line.starts_with(&head)).take_while(|line| !line.is_empty());
    let names = table.skip(1).flat_map(|row| row.split('`').skip(1).step_by(2).map(str::to_owned)).collect();
    assert_ne!(names, Vec::<String>::new(), "the code map has no table of {folder}");
    names
}

fn paths_in(folder: &str) -> Vec<String> {
    let paths: Vec<String> = files(folder, &[".rs"]).into_iter().map(|source| source.path).collect();
    assert!(paths.len() > 5, "no files in {folder}");
    paths
        .into_iter()
        .filter_map(|path| Some(path.strip_prefix(folder)?.trim_start_matches('/').to_owned()))
        .collect()
}

#[test]
fn the_code_map_names_every_module() {
    for folder in CRATES {
        let named = named(folder);
        let missing: Vec<String> = paths_in(folder)
            .into_iter()
            .filter(|path| !path.contains('/') && !path.ends_with("tests.rs") && path != "lib.rs")
            .filter(|path| !named.contains(path))
            .collect();
        assert!(missing.is_empty(), "describe these files of {folder} in docs/code-map.md: {missing:?}");
    }
}

#[test]
fn every_seat_of_a_decision_exists() {
    for folder in CRATES {
        let paths = paths_in(folder);
        let names: Vec<String> =
            named(folder).into_iter().filter(|name| name.ends_with(".rs") || name.ends_with('/')).collect();
        assert!(names.len() > 3, "only {} names were found in {folder}", names.len());
        for name in names {
            // A folder exists if a file is in it. A file of a folder is found by its own name.
            let is_there = |path: &String| format!("/{path}").contains(&format!("/{name}"));
            assert!(paths.iter().any(is_there), "docs/code-map.md names {name} of {folder}; was it moved?");
        }
    }
}
