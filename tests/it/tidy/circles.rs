//! No files import one another in a circle.
//!
//! An import from the file of the own folder (`config/show.rs` from `config.rs`) does not count, because both are
//! one module in two files. Never checks tests.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{Source, blank, files, words};

const CRATES: [&str; 8] = [
    "server/protocol/src",
    "server/core/src",
    "server/git/src",
    "server/store/src",
    "server/tools/src",
    "server/transport/src",
    "server/model/src",
    "server/src",
];

/// The paths of the modules in one crate, such as `["config", "show"]`.
type Modules = BTreeSet<Vec<String>>;

fn module_of(path: &str, folder: &str) -> Vec<String> {
    let inner = path.strip_prefix(folder).unwrap_or(path).trim_start_matches('/').trim_end_matches(".rs");
    inner.split('/').filter(|part| !matches!(*part, "lib" | "main")).map(str::to_owned).collect()
}

/// Expands `a::{b, c::{d, e}}` to `a::b`, `a::c::d` and `a::c::e`, each as a list of names.
fn spread(tree: &str, before: &[String], into: &mut Vec<Vec<String>>) {
    let tree = tree.trim();
    let end = tree.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(tree.len());
    let (name, rest) = tree.split_at(end);
    let mut path = before.to_vec();
    if !name.is_empty() {
        path.push(name.to_owned());
    }
    let rest = rest.trim_start().strip_prefix("::").unwrap_or(rest).trim_start();
    if let Some(group) = rest.strip_prefix('{') {
        let (mut depth, mut from) = (0_i32, 0);
        for (at, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => {
                    spread(&group[from..at], &path, into);
                    return;
                }
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    spread(&group[from..at], &path, into);
                    from = at + 1;
                }
                _ => {}
            }
        }
    } else if !name.is_empty()
        && rest.starts_with(|c: char| c.is_alphabetic())
        && tree[end..].trim_start().starts_with("::")
    {
        spread(rest, &path, into);
    } else if !path.is_empty() {
        into.push(path);
    }
}

/// Returns the modules that a file names: after `crate` or `super`, and its own children after `use`.
fn named(own: &[String], code: &str, modules: &Modules) -> BTreeSet<Vec<String>> {
    let mut paths = Vec::new();
    for start in ["crate", "super", "self"] {
        for at in words(code, start) {
            // A name in a group or after another `super` was read with the start of its path.
            if !code[..at].trim_end().ends_with("::") {
                spread(&code[at..], &[], &mut paths);
            }
        }
    }
    for at in words(code, "use") {
        spread(&code[at + "use".len()..], &["self".to_owned()], &mut paths);
    }
    paths.into_iter().filter_map(|path| resolved(own, &path, modules)).collect()
}

/// Returns the module that is the longest prefix of a path, if it is not the file itself or one above it.
fn resolved(own: &[String], path: &[String], modules: &Modules) -> Option<Vec<String>> {
    let mut at = own.to_vec();
    for (number, name) in path.iter().enumerate() {
        match name.as_str() {
            "crate" if number == 0 => at.clear(),
            "self" => {}
            "super" => _ = at.pop()?,
            name => {
                at.push(name.to_owned());
                if !modules.contains(&at) {
                    at.pop();
                    break;
                }
            }
        }
    }
    // The file itself and the files of its folders do not count.
    (!own.starts_with(&at)).then_some(at)
}

/// Returns a path of imports from a module back to itself, if there is one.
fn circle(from: &[String], imports: &BTreeMap<Vec<String>, BTreeSet<Vec<String>>>) -> Option<Vec<String>> {
    let mut came_from: BTreeMap<&Vec<String>, &[String]> = BTreeMap::new();
    let mut ahead = vec![from];
    while let Some(at) = ahead.pop() {
        for next in imports.get(at).into_iter().flatten() {
            if next == from {
                let mut way = vec![at.join("/")];
                let mut back = at;
                while back != from {
                    back = came_from[&back.to_vec()];
                    way.insert(0, back.join("/"));
                }
                return Some(way);
            }
            if !came_from.contains_key(next) {
                came_from.insert(next, at);
                ahead.push(next);
            }
        }
    }
    None
}

fn imports_of(sources: &[Source], folder: &str) -> BTreeMap<Vec<String>, BTreeSet<Vec<String>>> {
    let product: Vec<&Source> = sources.iter().filter(|source| !source.is_test()).collect();
    let modules: Modules = product.iter().map(|source| module_of(&source.path, folder)).collect();
    let imports = |source: &&Source| {
        let own = module_of(&source.path, folder);
        let named = named(&own, &source.code(), &modules);
        (own, named)
    };
    product.iter().map(imports).collect()
}

#[test]
fn no_files_import_one_another_in_a_circle() {
    let mut wrong = BTreeSet::new();
    for folder in CRATES {
        let imports = imports_of(&files(folder, &[".rs"]), folder);
        let arrows: usize = imports.values().map(BTreeSet::len).sum();
        assert!(arrows > 10, "only {arrows} imports were found in {folder}");
        for module in imports.keys() {
            if let Some(way) = circle(module, &imports) {
                wrong.insert(format!("{folder}: {}", way.join(" -> ")));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "move what both need to a file that imports neither:\n{}",
        wrong.into_iter().collect::<Vec<_>>().join("\n")
    );
}

#[test]
fn circles_are_seen() {
    let source = |path: &str, text: &str| Source { path: format!("x/{path}"), text: text.to_owned() };
    let found = |of_b: &str| {
        let sources = [
            source("a.rs", "use crate::{b::{B, C}, d};\nfn a() { super::b::c(); }"),
            source("b.rs", of_b),
            source("b/e.rs", "use super::B;\nuse crate::d::D;"),
            source("d.rs", "// use crate::a;\nuse std::fmt;"),
        ];
        let imports = imports_of(&sources, "x");
        imports
            .keys()
            .filter_map(|module| circle(module, &imports))
            .map(|way| way.join(" "))
            .collect::<Vec<_>>()
    };
    assert_eq!(found("use e::E;\npub struct B;"), Vec::<String>::new());
    assert_eq!(found("use crate::a::A;"), ["a b", "b a"]);
    assert_eq!(found("fn b() { crate::d::d(); super::a::a(); }"), ["a b", "b a"]);
    assert_eq!(blank("\"use crate::a;\"").trim(), "");
}
