//! The code map of `docs/architecture.md` names what is there, and nothing else.
//!
//! Looks at the first level of each crate only: a map is no list of files.

use super::source::{files, read, root};

const CRATES: [&str; 3] = ["server/protocol/src", "server/core/src", "server/src"];

#[test]
fn the_code_map_names_every_module() {
    let page = read("docs/architecture.md");
    let mut missing = Vec::new();
    for directory in CRATES {
        let found = files(directory, &[".rs"]);
        assert!(found.len() > 5, "no files in {directory}");
        for path in found.into_iter().map(|source| source.path) {
            let inner = path.strip_prefix(directory).unwrap_or(&path).trim_start_matches('/');
            let is_first =
                !inner.contains('/') && !inner.ends_with("tests.rs") && !path.ends_with("/src/lib.rs");
            if is_first && !page.contains(&format!("`{inner}`")) {
                missing.push(path);
            }
        }
    }
    assert!(missing.is_empty(), "say in the code map of docs/architecture.md what these do: {missing:?}");
}

#[test]
fn every_seat_of_a_decision_exists() {
    let page = read("docs/architecture.md");
    let seats: Vec<&str> = page
        .split('`')
        .filter(|text| {
            text.ends_with(".rs")
                && ["core/src/", "protocol/src/", "src/"].iter().any(|at| text.starts_with(at))
        })
        .collect();
    assert!(seats.len() > 15, "only {} seats were found", seats.len());
    for seat in seats {
        assert!(
            root().join("server").join(seat).is_file(),
            "docs/architecture.md names server/{seat}; was it moved?"
        );
    }
}
