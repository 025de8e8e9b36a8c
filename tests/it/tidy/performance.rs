//! Every failure in `docs/performance.md` names a test that exists, or says that none does yet.
//!
//! Never checks its figures: those are measured, not tested.

use std::collections::BTreeSet;

use super::source::{blank, read, rust};

#[test]
fn every_failure_names_tests_that_exist_or_says_that_none_does() {
    let mut functions = BTreeSet::new();
    for source in rust() {
        for after in blank(&source.text).split("fn ").skip(1) {
            let name: String = after.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            functions.insert(name);
        }
    }
    let page = read("docs/performance.md");
    let table = page.split("\n| failure |").nth(1).expect("the page has the table of failures");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with("| "));
    let mut wrong = Vec::new();
    let mut count = 0;
    for row in rows {
        count += 1;
        let shown = row.trim_matches('|').split('|').nth(3).unwrap_or_default();
        let named: Vec<&str> = shown.split('`').skip(1).step_by(2).collect();
        if named.is_empty() && !shown.contains("not shown yet") {
            wrong.push(format!("name a test, or say \"not shown yet\": {row}"));
        }
        wrong.extend(
            named
                .iter()
                .filter(|name| !functions.contains(**name))
                .map(|name| format!("there is no test `{name}`; was it renamed?")),
        );
    }
    assert!(count >= 11, "the table has {count} rows, but the peers were tested with 11 failures");
    assert!(wrong.is_empty(), "docs/performance.md:\n{}", wrong.join("\n"));
}
