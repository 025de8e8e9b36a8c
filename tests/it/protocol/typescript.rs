//! Checks the TypeScript types without a compiler: every name is declared, and brackets and fields match.
//!
//! Parses only declarations of types, never other TypeScript.

use std::collections::BTreeSet;

use adjutant_protocol::schema::typescript;

/// Types that need no declaration.
const BUILT_IN: [&str; 8] = ["string", "number", "boolean", "null", "symbol", "never", "Array", "Record"];
/// Types that say nothing about a field.
const HOLES: [&str; 7] = ["any", "unknown", "object", "Object", "Function", "undefined", "bigint"];

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Name(String),
    Literal(String),
    Mark(char),
}

/// Splits declarations into tokens, without comments.
fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let end = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").expect("a comment is closed") + 2
        } else if first == '"' {
            let end = rest[1..].find('"').expect("a string is closed") + 2;
            tokens.push(Token::Literal(rest[1..end - 1].to_owned()));
            end
        } else if first.is_alphanumeric() || first == '_' {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            tokens.push(Token::Name(rest[..end].to_owned()));
            end
        } else {
            assert!("{}[]<>()=|&:;,?".contains(first), "what is {first:?} in {:.60}", rest);
            tokens.push(Token::Mark(first));
            first.len_utf8()
        };
        rest = rest[end..].trim_start();
    }
    tokens
}

/// Returns the name of each declaration with the tokens after its equals sign.
fn declarations(text: &str) -> Vec<(String, Vec<Token>)> {
    let tokens = tokens(text);
    let starts: Vec<usize> =
        (0..tokens.len()).filter(|at| tokens[*at] == Token::Name("export".into())).collect();
    assert_eq!(starts.first(), Some(&0), "there is text before the first declaration");
    let ends = starts.iter().skip(1).copied().chain([tokens.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|(start, end)| match &tokens[*start..end] {
            [_, Token::Name(keyword), Token::Name(name), Token::Mark('='), body @ .., Token::Mark(';')]
                if keyword == "type" && !body.is_empty() =>
            {
                (name.clone(), body.to_vec())
            }
            other => panic!("not a declaration of a type: {other:?}"),
        })
        .collect()
}

fn is_balanced(body: &[Token]) -> bool {
    let mut open = Vec::new();
    for token in body {
        match token {
            Token::Mark(c @ ('{' | '[' | '<' | '(')) => open.push(*c),
            Token::Mark(c @ ('}' | ']' | '>' | ')')) => {
                let expected = match c {
                    '}' => '{',
                    ']' => '[',
                    '>' => '<',
                    _ => '(',
                };
                if open.pop() != Some(expected) {
                    return false;
                }
            }
            _ => {}
        }
    }
    open.is_empty()
}

/// Returns the names that are types: all except the names of properties.
fn used(body: &[Token]) -> Vec<&str> {
    let name = |at: usize| match &body[at] {
        Token::Name(name) => Some((at, name.as_str())),
        _ => None,
    };
    let is_property = |at: usize| {
        let after = body.get(at + 1);
        let after = if after == Some(&Token::Mark('?')) { body.get(at + 2) } else { after };
        // In `[key in string]`, no type uses the name of the key.
        let is_key = |at: usize| body.get(at) == Some(&Token::Name("in".to_owned()));
        after == Some(&Token::Mark(':')) || is_key(at) || is_key(at + 1)
    };
    (0..body.len()).filter_map(name).filter(|(at, _)| !is_property(*at)).map(|(_, name)| name).collect()
}

#[test]
fn l04_typescript_is_closed_and_has_no_holes() {
    let text = typescript();
    let declarations = declarations(&text);
    let names: BTreeSet<&str> = declarations.iter().map(|(name, _)| name.as_str()).collect();
    assert!(names.len() > 60, "only {} types: is the list still read right?", names.len());
    assert_eq!(names.len(), declarations.len(), "a type is declared twice");
    for (name, body) in &declarations {
        assert!(is_balanced(body), "{name}: its brackets do not match");
        for used in used(body) {
            assert!(!HOLES.contains(&used), "{name}: `{used}` says nothing; give the field a type");
            assert!(
                names.contains(used) || BUILT_IN.contains(&used),
                "{name}: `{used}` is not declared; add it to `wire_types!`"
            );
        }
    }
    for id in ["SessionId", "RunId", "MessageId", "ToolCallId", "AskId", "ChangeSetId"] {
        let (_, body) = declarations.iter().find(|(name, _)| name == id).expect("ids are declared");
        assert_eq!(body, &[Token::Name("string".into())], "an id is a string on the wire");
    }
}

/// Returns all fields of the outermost object, and its required fields.
fn fields_of(body: &[Token]) -> (BTreeSet<&str>, BTreeSet<&str>) {
    let mut depth = 0;
    let (mut all, mut needed) = (BTreeSet::new(), BTreeSet::new());
    for (at, token) in body.iter().enumerate() {
        match token {
            Token::Mark('{' | '[' | '<') => depth += 1,
            Token::Mark('}' | ']' | '>') => depth -= 1,
            Token::Name(field) if depth == 1 && matches!(body[at - 1], Token::Mark('{' | ',')) => {
                all.insert(field.as_str());
                if body.get(at + 1) == Some(&Token::Mark(':')) {
                    needed.insert(field.as_str());
                }
            }
            _ => {}
        }
    }
    (all, needed)
}

/// Two generators write the schema and the types. Both must have the same types, and the same fields and
/// required fields of each plain object.
#[test]
fn l04_typescript_and_schema_agree() {
    let text = typescript();
    let schema: serde_json::Value = serde_json::from_str(&adjutant_protocol::schema::json_schema()).unwrap();
    let schema = schema["$defs"].as_object().expect("definitions");
    let declarations = declarations(&text);
    let in_typescript: BTreeSet<&str> = declarations.iter().map(|(name, _)| name.as_str()).collect();
    let in_schema: BTreeSet<&str> = schema.keys().map(String::as_str).collect();
    assert_eq!(in_typescript, in_schema, "a type is in only one of the two");
    let mut compared = 0;
    for (name, body) in &declarations {
        let definition = &schema[name.as_str()];
        let (Some(fields), None) = (definition["properties"].as_object(), definition.get("oneOf")) else {
            continue;
        };
        let (found, needed) = fields_of(body);
        let expected: BTreeSet<&str> = fields.keys().map(String::as_str).collect();
        assert_eq!(found, expected, "the fields of {name}");
        let required = definition["required"].as_array().into_iter().flatten();
        let required: BTreeSet<&str> = required.filter_map(|field| field.as_str()).collect();
        assert_eq!(needed, required, "the required fields of {name}: mark an optional one `#[ts(optional)]`");
        compared += 1;
    }
    assert!(compared > 30, "only {compared} objects were compared");
}

#[test]
fn broken_typescript_is_noticed() {
    assert!(!is_balanced(&tokens("{ a: Array<string }")));
    assert_eq!(used(&tokens("{ a?: B, c: \"d\" | E<F> }")), ["B", "E", "F"]);
    assert_eq!(declarations("// x\nexport type A = { a: string, };").len(), 1);
}
