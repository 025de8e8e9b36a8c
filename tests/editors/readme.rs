//! The set-up pages show the files that the tests use.
//!
//! Never allows a second version of a set-up file.

use std::fs;

use crate::stage::shipped;

#[test]
fn the_readme_shows_the_files_that_the_tests_use() {
    let pages = fs::read_dir(shipped("docs/editors")).expect("the pages of editors").flatten();
    let page: String =
        pages.map(|page| fs::read_to_string(page.path()).expect("the page of an editor")).collect();
    for file in [
        "nvim/lua/adjutant",
        "nvim/init.lua",
        "helix/languages.toml",
        "helix/config.toml",
        "emacs/adjutant.el",
        "lsp-mode/adjutant-lsp-mode.el",
        "kakoune/adjutant.kak",
        "vim-ale/adjutant.vim",
    ] {
        assert!(page.contains(file), "no page in docs/editors names {file}");
    }
    for file in ["nvim/init.lua", "helix/languages.toml", "helix/config.toml"] {
        let text = fs::read_to_string(shipped("editors").join(file)).expect("a file of settings");
        let settings: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        let settings = settings.join("\n");
        assert!(page.contains(settings.trim()), "docs/editors differs from the tested {file}");
    }
}

/// The README's table has a row for each client with a shipped set-up, and the row says whether it was tried.
#[test]
fn finding_d5_the_readme_says_of_each_set_up_whether_it_was_tried() {
    let page = fs::read_to_string(shipped("README.md")).expect("the README");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| [")).collect();
    let folders = fs::read_dir(shipped("editors")).expect("the set-ups").flatten();
    let folders: Vec<String> = folders
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    assert!(folders.len() >= 10, "{folders:?}");
    for folder in folders {
        let row = rows.iter().find(|row| row.contains(&format!("(editors/{folder}/")));
        let row = row.unwrap_or_else(|| panic!("README.md does not say whether {folder} was tried"));
        let tried = row.split('|').nth(2).unwrap_or_default().trim();
        let driven = ["emacs", "helix", "kakoune", "lsp-mode", "nvim", "vim-ale", "vscode"];
        match driven.contains(&folder.as_str()) {
            true => assert_eq!(tried, "CI", "{row}"),
            false => assert!(tried == "*not tried*" || tried.starts_with("by hand, "), "{row}"),
        }
    }
}
