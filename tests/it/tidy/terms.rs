//! Names of types say what a thing is and mean one thing in their crate. Every mark in a comment has a line in
//! `docs/`.
//!
//! Never judges whether a name is the usual one of the field; readers do.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::source::{Source, comments, files, read, root, rust};

/// The source folder of each product crate.
const CRATES: [&str; 9] = [
    "server/core/src",
    "server/git/src",
    "server/host/src",
    "server/model/src",
    "server/protocol/src",
    "server/src",
    "server/store/src",
    "server/tools/src",
    "server/transport/src",
];

/// Participles without the ending `ed`. As names they say what happened to a thing, not what it is.
const PARTICIPLES: [&str; 22] = [
    "Begun", "Built", "Chosen", "Eaten", "Found", "Frozen", "Given", "Heard", "Held", "Kept", "Known",
    "Left", "Meant", "Ran", "Said", "Seen", "Sent", "Shown", "Taken", "Told", "Worn", "Written",
];

/// One declaration of a type.
struct Declaration {
    name: String,
    place: String,
    is_public: bool,
}

/// Returns the types that one file declares.
fn declarations(source: &Source) -> Vec<Declaration> {
    let mut found = Vec::new();
    for (at, line) in source.code().lines().enumerate() {
        let code = line.trim_start();
        // An associated type belongs to its trait.
        if code.starts_with("type ") && line.starts_with(' ') {
            continue;
        }
        let (is_public, rest) = without_visibility(code);
        let keyword =
            ["struct ", "enum ", "trait ", "type ", "union "].into_iter().find(|word| rest.starts_with(word));
        let Some(rest) = keyword.and_then(|word| rest.strip_prefix(word)) else { continue };
        let name: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric()).collect();
        if name.starts_with(|c: char| c.is_ascii_uppercase()) {
            found.push(Declaration { name, place: format!("{}:{}", source.path, at + 1), is_public });
        }
    }
    found
}

fn without_visibility(code: &str) -> (bool, &str) {
    let Some(rest) = code.strip_prefix("pub") else { return (false, code) };
    let rest = match rest.strip_prefix('(') {
        Some(scope) => scope.split_once(')').map_or("", |(_, rest)| rest),
        None => rest,
    };
    rest.strip_prefix(' ').map_or((false, code), |rest| (true, rest))
}

/// Returns each name that one crate declares more than once, if one of the types is public, with the places.
fn doubled(sources: &[Source]) -> Vec<String> {
    let mut places: BTreeMap<String, Vec<Declaration>> = BTreeMap::new();
    for declaration in sources.iter().flat_map(declarations) {
        places.entry(declaration.name.clone()).or_default().push(declaration);
    }
    places.retain(|_, all| all.len() > 1 && all.iter().any(|one| one.is_public));
    let line = |(name, all): (String, Vec<Declaration>)| {
        format!("{name}: {}", all.into_iter().map(|one| one.place).collect::<Vec<_>>().join(", "))
    };
    places.into_iter().map(line).collect()
}

fn product(folder: &str) -> Vec<Source> {
    let sources: Vec<Source> =
        files(folder, &[".rs"]).into_iter().filter(|source| !source.is_test()).collect();
    assert!(!sources.is_empty(), "{folder} has no code: correct CRATES");
    sources
}

#[test]
fn type_names_mean_one_thing_in_their_crate() {
    let wrong: Vec<String> = CRATES.iter().flat_map(|folder| doubled(&product(folder))).collect();
    assert!(
        wrong.is_empty(),
        "types of one crate have the same name; give each its own:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn type_names_say_what_a_thing_is() {
    let is_participle = |name: &str| {
        let one_word = name.chars().skip(1).all(|c| c.is_ascii_lowercase());
        one_word && (name.ends_with("ed") || PARTICIPLES.contains(&name))
    };
    let all = CRATES.iter().flat_map(|folder| product(folder)).collect::<Vec<_>>();
    let wrong = all.iter().flat_map(declarations).filter(|one| is_participle(&one.name));
    let wrong: Vec<String> = wrong.map(|one| format!("{}: {}", one.place, one.name)).collect();
    assert!(
        wrong.is_empty(),
        "these names say what happened to a thing, not what it is:\n{}",
        wrong.join("\n")
    );
}

/// Returns the marks of a comment: `S26`, `A3`, `design 15`, `decision 012`, `finding C6`.
fn marks(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.collect();
    let is_code = |word: &str| {
        let digits = word.get(1..).unwrap_or_default().trim_end_matches('b');
        word.starts_with(|c: char| c.is_ascii_uppercase())
            && (1..=3).contains(&digits.len())
            && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let before = words[..at].last().map_or(String::new(), |word| word.to_lowercase());
        if is_code(word) && before == "finding" {
            found.push(format!("finding {}", word.to_uppercase()));
        } else if is_code(word) {
            found.push((*word).to_owned());
        } else if (before == "decision" || before == "design")
            && word.bytes().all(|byte| byte.is_ascii_digit())
        {
            found.push(format!("{before} {word}"));
        }
    }
    found
}

/// Returns the findings in the names of tests.
fn findings_in_names(code: &str) -> Vec<String> {
    let ids = code.split("fn finding_").skip(1).map(|after| after.split('_').next().unwrap_or_default());
    // In `finding_a_model_..` the word is a verb, not a mark.
    let ids = ids.filter(|id| id.contains(|c: char| c.is_ascii_digit()));
    ids.map(|id| format!("finding {}", id.to_uppercase())).collect()
}

/// Returns every mark that the pages explain.
fn explained() -> BTreeSet<String> {
    let first_cell =
        |line: &str| line.strip_prefix("| ").and_then(|rest| rest.split(" |").next().map(str::to_owned));
    let mut all: BTreeSet<String> = ["docs/rules.md", "docs/rows.md"]
        .into_iter()
        .flat_map(|page| read(page).lines().filter_map(first_cell).collect::<Vec<_>>())
        .collect();
    for record in files("docs/decisions", &[".md"]) {
        let name = Path::new(&record.path).file_name().and_then(|name| name.to_str()).unwrap_or_default();
        all.insert(format!("decision {}", name.split('-').next().unwrap_or_default()));
    }
    all
}

#[test]
fn every_mark_in_a_comment_leads_to_a_line() {
    let explained = explained();
    let mut wrong = BTreeSet::new();
    for source in rust() {
        // These files have marks as examples.
        if source.path.starts_with("tests/it/tidy/") {
            continue;
        }
        let in_comments = comments(&source.text);
        for mark in marks(&in_comments).into_iter().chain(findings_in_names(&source.text)) {
            if !explained.contains(&mark) {
                wrong.insert(format!("{mark}: {}", source.path));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "marks without a line in docs/rules.md or docs/rows.md:\n{}",
        wrong.into_iter().collect::<Vec<_>>().join("\n")
    );
    assert!(root().join("docs/rules.md").is_file());
}

#[test]
fn names_and_marks_are_read() {
    let source = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
    let twice =
        [source("a.rs", "pub struct Line;"), source("b.rs", "struct Line<'a>;\nimpl X { type Line = u8; }")];
    assert_eq!(doubled(&twice), ["Line: a.rs:1, b.rs:1"]);
    let apart = [
        source("a.rs", "struct Line;"),
        source("b.rs", "enum Line {}"),
        source("c.rs", "// pub struct Line;"),
    ];
    assert!(doubled(&apart).is_empty(), "each type is private to its file");
    assert_eq!(
        marks("/// Said (S26, A3; design 15): finding C6, decision 012. UTF8 and B are none; finding C1b."),
        ["S26", "A3", "design 15", "finding C6", "decision 012", "finding C1B"]
    );
    assert_eq!(findings_in_names("fn finding_c1b_x() {} fn finding_a_model() {}"), ["finding C1B"]);
    let kept = comments("let a = \"// no\"; // yes\n/* and */ b");
    assert_eq!(kept.split_whitespace().collect::<Vec<_>>(), ["//", "yes", "/*", "and", "*/"]);
}
