//! Where Adjutant's words differ from those of the lines: outcomes, classes of reasons, settings and
//! circumstances.
//!
//! The original lines never change. A line that was added later (`*_more.jsonl`) contains its reason.

use std::collections::BTreeSet;

use adjutant_testkit::corpus::Line;

use super::play::Came::{self, Allowed, Asked, Denied, Refused};

/// The outcome that each word of `expect` requires.
const WORDS: &[(&str, Came)] = &[
    ("accept", Allowed),
    ("allow", Allowed),
    ("truncate", Allowed),
    ("ask", Asked),
    ("deny", Denied),
    ("error", Refused),
    ("reject", Refused),
];

/// Lines with another outcome in Adjutant, at least as strict, and why.
const OUTCOMES: &[(&str, Came, &str)] = &[
    ("tool-040", Refused, "commands run inside the workspace alone"),
    ("tool-042", Denied, "a rule denies; the tool itself is known"),
    ("path-012", Refused, "an encoded `..` has no honest use, so the URI means no place"),
    ("path-016", Refused, "a variable is not expanded, so there is no such place"),
    ("path-030", Refused, "links of the process file system are never followed"),
    ("path-079", Refused, "no answer could make a device readable, so there is no ask"),
    ("path-089", Refused, "a control character in a path is refused"),
];

/// The class of the reason for each line that is not simply allowed: the `Cause` of a call, or the `Flaw` of a
/// reported problem.
const REASONS: &[(&str, &str)] = &[
    ("tool-003", "not_json"),
    ("tool-005", "not_an_object"),
    ("tool-007", "not_an_object"),
    ("tool-009", "not_json"),
    ("tool-011", "not_json"),
    ("tool-013", "repeated_argument"),
    ("tool-015", "unknown_argument"),
    ("tool-017", "not_json"),
    ("tool-019", "wrong_argument"),
    ("tool-021", "not_json"),
    ("tool-023", "not_json"),
    ("tool-025", "not_json"),
    ("tool-027", "not_an_object"),
    ("tool-029", "too_long"),
    ("tool-030", "unknown_tool"),
    ("tool-032", "unknown_tool"),
    ("tool-034", "unknown_tool"),
    ("tool-036", "wrong_argument"),
    ("tool-038", "unknown_argument"),
    ("tool-040", "outside"),
    ("tool-042", "rule"),
    ("tool-051", "ambiguous"),
    ("tool-053", "not_found"),
    ("tool-055", "line_ends"),
    ("tool-057", "every_edit"),
    ("path-008", "outside"),
    ("path-010", "outside"),
    ("path-012", "bad_uri"),
    ("path-016", "no_place"),
    ("path-018", "wrong_argument"),
    ("path-020", "outside"),
    ("path-022", "outside"),
    ("path-026", "own_files"),
    ("path-030", "bad_link"),
    ("path-033", "version_control"),
    ("path-035", "version_control"),
    ("path-037", "editor_settings"),
    ("path-039", "editor_settings"),
    ("path-041", "editor_settings"),
    ("path-043", "editor_settings"),
    ("path-045", "environment"),
    ("path-047", "own_files"),
    ("path-049", "instructions"),
    ("path-051", "build_server"),
    ("path-053", "build"),
    ("path-055", "build"),
    // "Outside" is checked before the kind of file; `paths_more.jsonl` has the same files inside.
    ("path-057", "outside"),
    ("path-059", "outside"),
    ("path-060", "version_control"),
    ("path-062", "editor_settings"),
    ("path-064", "version_control"),
    ("path-066", "version_control"),
    ("path-068", "version_control"),
    ("path-070", "version_control"),
    ("path-077", "special"),
    ("path-079", "special"),
    ("path-081", "not_text"),
    ("path-083", "every_edit"),
    ("path-085", "not_a_directory"),
    ("path-087", "long_name"),
    ("path-089", "wrong_argument"),
    ("path-093", "version_control"),
    ("cfg-003", "syntax"),
    ("cfg-005", "unknown_key"),
    ("cfg-007", "unknown_key"),
    ("cfg-009", "rule"),
    ("cfg-011", "syntax"),
    ("cfg-013", "unknown_key"),
    ("cfg-015", "unknown_key"),
    ("cfg-017", "unknown_key"),
    ("cfg-019", "unknown_key"),
    ("cfg-021", "unknown_key"),
    ("cfg-023", "unknown_key"),
    ("cfg-025", "unknown_key"),
    ("cfg-027", "unknown_key"),
    ("cfg-029", "rule"),
    ("cfg-031", "unknown_key"),
    ("cfg-033", "unknown_key"),
];

/// Settings with another name in Adjutant: the line is played as it is, and then as this text.
const SETTINGS: &[(&str, &str, &str)] = &[
    ("cfg-005", "unattended = true", "shape"),
    ("cfg-007", "[permissions]\ndeny = \"list_files\"", "shape"),
    ("cfg-011", "[permissions]\ndeny = [\"list_files\"]\ndeny = [\"find_files\"]", "syntax"),
    ("cfg-013", "[limits]\ntotal_seconds = 99999999999999999999", "shape"),
    ("cfg-015", "[providers.p]\nbase_url = \"https://p.invalid\"\nmax_output_tokens = 0", "value"),
    ("cfg-019", "[providers.p]\nbase_url = \"http://example.invalid\"", "unencrypted"),
    ("cfg-021", "[providers.p]\nbase_url = \"https://user:pw-of-a-url@example.invalid\"", "credentials"),
    ("cfg-023", "[providers.local]\nbase_url = \"https://evil.invalid\"", "loosens"),
    ("cfg-027", "[unattended]\ncommand = true", "loosens"),
];

/// Lines whose settings have another outcome in Adjutant. A table of tool servers has no meaning yet: nothing
/// starts, and the key is reported as unknown.
const SETTING_WORDS: &[(&str, &str)] = &[("cfg-025", "ignore_key")];

/// The circumstances of a line as text, and as the JSON members that the player reads.
const STATES: &[(&str, &str)] = &[
    ("tool is disabled by policy", r#"{"settings": "[permissions]\ndeny = [\"read_file\"]"}"#),
    ("a.rs holds x twice", r#"{"files": {"a.rs": "x x\n"}}"#),
    (
        "a.rs changed on disk since it was read",
        r#"{"files": {"a.rs": "x\n"}, "read": "a.rs", "meanwhile": {"a.rs": "z\n"}}"#,
    ),
    ("CRLF file", r#"{"files": {"a.rs": "one\r\ntwo\r\n"}}"#),
    (
        "write_file over an existing file never read",
        r#"{"files": {"a.rs": "present\n"}, "shows": "-present"}"#,
    ),
];

/// Returns the outcome that a word requires.
#[track_caller]
pub fn word(word: &str) -> Came {
    let found = WORDS.iter().find(|(known, _)| *known == word);
    found.unwrap_or_else(|| panic!("unknown word {word:?}")).1
}

/// Returns the outcome that a line's call must have.
pub fn came(line: &Line) -> Came {
    let own = OUTCOMES.iter().find(|(id, ..)| *id == line.id).map(|(_, came, _)| *came);
    own.unwrap_or_else(|| word(&line.expect))
}

/// Returns the class of the reason that must be given.
#[track_caller]
pub fn reason(line: &Line) -> &str {
    let given = REASONS.iter().find(|(id, _)| *id == line.id).map(|(_, reason)| *reason);
    let reason = line.reason.as_deref().or(given);
    reason.unwrap_or_else(|| panic!("{}: add the class of its reason", line.id))
}

/// Returns the settings of a line under Adjutant's names, each with the class of the problem.
pub fn settings(line: &Line) -> impl Iterator<Item = (&'static str, &'static str)> {
    SETTINGS.iter().filter(|(id, ..)| *id == line.id).map(|(_, text, reason)| (*text, *reason))
}

/// Returns the word for the outcome of a line's settings.
pub fn setting_word(line: &Line) -> &str {
    let own = SETTING_WORDS.iter().find(|(id, _)| *id == line.id).map(|(_, word)| *word);
    own.unwrap_or(&line.expect)
}

/// Returns the JSON members for a line's circumstances.
#[track_caller]
pub fn state(words: &str) -> serde_json::Value {
    let found = STATES.iter().find(|(known, _)| *known == words);
    let (_, members) = found.unwrap_or_else(|| panic!("unknown circumstances {words:?}"));
    serde_json::from_str(members).expect("members are JSON")
}

/// Fails if a table has an entry for an unknown line.
pub fn are_known(ids: &BTreeSet<&str>) {
    let named = OUTCOMES.iter().map(|(id, ..)| id).chain(REASONS.iter().map(|(id, _)| id));
    let named = named.chain(SETTINGS.iter().map(|(id, ..)| id)).chain(SETTING_WORDS.iter().map(|(id, _)| id));
    let unknown: Vec<_> = named.filter(|id| !ids.contains(*id)).collect();
    assert!(unknown.is_empty(), "no line is called {unknown:?}");
}
