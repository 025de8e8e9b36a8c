//! The set-up pages say what the tests do.
//!
//! Never allows a second version of a set-up file.

use std::fs;

use crate::stage::shipped;

#[test]
fn the_readme_shows_the_files_that_the_tests_use() {
    let page = fs::read_to_string(shipped("editors/README.md")).expect("the page of editors");
    for file in ["nvim/adjutant.lua", "helix/languages.toml", "emacs/adjutant.el"] {
        assert!(page.contains(file), "editors/README.md does not name {file}");
    }
    let languages = fs::read_to_string(shipped("editors/helix/languages.toml")).expect("the languages");
    let settings: String =
        languages.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
    assert!(
        page.contains(settings.trim()),
        "editors/README.md shows other settings for Helix than are tested"
    );
}
