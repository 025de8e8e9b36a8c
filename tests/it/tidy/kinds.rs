//! A new kind of ask does not compile until every surface has a case for it (S12).
//!
//! Never accepts a catch-all: a `match` that names kinds must name all of them.

use super::source::rust;

/// Returns the bodies of all `match` blocks of blanked code, nested ones included.
fn matches_in(code: &str) -> Vec<&str> {
    let starts = code.match_indices("match ").map(|(at, _)| at);
    starts.filter_map(|at| body(&code[at..])).collect()
}

/// Returns the text between the first brace and its closing brace.
fn body(code: &str) -> Option<&str> {
    let open = code.find('{')?;
    let mut depth = 0_usize;
    for (at, character) in code[open..].char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(&code[open + 1..open + at]);
        }
    }
    None
}

/// Returns a block without the blocks inside it, so that only its own arms remain.
fn own_arms(body: &str) -> String {
    let mut depth = 0_usize;
    let mut own = String::new();
    for character in body.chars() {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ if depth == 0 => own.push(character),
            _ => {}
        }
    }
    own
}

fn hides_kinds(body: &str) -> bool {
    let own = own_arms(body);
    let names_kinds = own.lines().any(|line| {
        let pattern = line.split_once("=>").map_or("", |(pattern, _)| pattern);
        pattern.contains("AskKind::") || line.trim_start().starts_with("| AskKind::")
    });
    names_kinds && own.lines().any(|line| line.trim_start().starts_with("_ =>"))
}

#[test]
fn s12_no_surface_has_a_catch_all_for_kinds_of_ask() {
    let caught = "match kind { AskKind::Tool => 1,\n _ => 2 }";
    assert!(matches_in(caught).into_iter().any(hides_kinds), "the check finds a catch-all");
    let mut seen = 0;
    let mut wrong = Vec::new();
    for source in rust().into_iter().filter(|source| source.path.starts_with("server/") && !source.is_test())
    {
        let code = source.code();
        let blocks = matches_in(&code);
        seen += blocks.iter().filter(|body| own_arms(body).contains("AskKind::")).count();
        if blocks.into_iter().any(hides_kinds) {
            wrong.push(source.path);
        }
    }
    assert!(seen >= 5, "only {seen} places match on the kind of an ask; does the check still find them?");
    assert!(wrong.is_empty(), "name every kind instead of `_`: {wrong:#?}");
}
