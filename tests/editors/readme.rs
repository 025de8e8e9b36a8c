//! The set-up pages say what the tests do.
//!
//! Never allows a second version of a set-up file.

use std::fs;

use crate::stage::shipped;

#[test]
fn the_readme_shows_the_files_that_the_tests_use() {
    let page = fs::read_to_string(shipped("editors/README.md")).expect("the page of editors");
    for file in [
        "nvim/lua/adjutant",
        "nvim/init.lua",
        "helix/languages.toml",
        "helix/config.toml",
        "emacs/adjutant.el",
    ] {
        assert!(page.contains(file), "editors/README.md does not name {file}");
    }
    for file in ["nvim/init.lua", "helix/languages.toml", "helix/config.toml"] {
        let text = fs::read_to_string(shipped("editors").join(file)).expect("a file of settings");
        let settings: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        let settings = settings.join("\n");
        assert!(page.contains(settings.trim()), "editors/README.md shows another {file} than is tested");
    }
}
