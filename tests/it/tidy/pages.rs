//! The index lists every page under its reader, links work, and the page of features stays short.
//!
//! Never judges the content of a page; readers do.

use super::source::{files, read};

/// The most lines of the page of features.
const MOST_LINES: usize = 40;

#[test]
fn every_page_stands_in_the_index_once() {
    let index = read("docs/README.md");
    let mut wrong = Vec::new();
    for page in files("docs", &[".md"]) {
        let path = page.path.trim_start_matches("docs/");
        if path == "README.md" || path.starts_with("decisions/") {
            continue;
        }
        let times = index.matches(&format!("]({path})")).count();
        if times != 1 {
            wrong
                .push(format!("docs/README.md has {path} {times} times; it needs it once, under its reader"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn links_between_pages_lead_somewhere() {
    let mut wrong = Vec::new();
    let pages = files("docs", &[".md"]).into_iter().chain(files("editors", &[".md"]));
    let top = ["README.md", "CHANGELOG.md"].map(|path| super::Source { path: path.into(), text: read(path) });
    for page in pages.chain(top) {
        let folder = page.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for target in targets(&page.text) {
            let file = target.split('#').next().unwrap_or_default();
            let outside = file.is_empty() || file.contains(':');
            if !outside && !super::source::root().join(folder).join(file).exists() {
                wrong.push(format!("{}: the link {target} has no target", page.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the targets of the links in a page, except those in code.
fn targets(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        fenced ^= line.trim_start().starts_with("```");
        if fenced {
            continue;
        }
        // Every second part between backticks is code.
        for plain in line.split('`').step_by(2) {
            found.extend(
                plain
                    .split("](")
                    .skip(1)
                    .filter_map(|rest| rest.split_once(')'))
                    .map(|(to, _)| to.to_owned()),
            );
        }
    }
    found
}

#[test]
fn finding_e11_what_works_is_a_short_page_without_names_of_tests() {
    let page = read("docs/features.md");
    let lines = page.lines().count();
    assert!(lines <= MOST_LINES, "docs/features.md has {lines} lines; users read {MOST_LINES}");
    for row in super::rows::rows() {
        assert!(
            !page.contains(&format!("| {} |", row.id)),
            "docs/features.md has row {}; rows.md has rows",
            row.id
        );
        for test in row.tests {
            assert!(!page.contains(&test), "docs/features.md names the test {test}; rows.md names tests");
        }
    }
}
