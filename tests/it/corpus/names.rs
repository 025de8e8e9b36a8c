//! Where our words differ from those of the lines: outcomes, classes of reasons,
//! settings and circumstances.
//!
//! The lines themselves are never changed. A line of ours (`*_more.jsonl`) says its
//! reason itself.

use std::collections::BTreeSet;

use adjutant_testkit::corpus::Line;

use super::play::Came::{self, Allowed, Asked, Denied, Refused};

/// What each word of `expect` asks of a call.
const WORDS: &[(&str, Came)] = &[
    ("accept", Allowed),
    ("allow", Allowed),
    ("truncate", Allowed),
    ("ask", Asked),
    ("deny", Denied),
    ("error", Refused),
    ("reject", Refused),
];

/// Lines of which something else comes with us, as strict at least, and why.
const OURS: &[(&str, Came, &str)] = &[
    ("tool-040", Refused, "commands run inside the workspace alone"),
    ("tool-042", Denied, "a rule denies; the tool itself is known"),
    ("path-012", Refused, "an encoded `..` has no honest use, so the URI means no place"),
    ("path-016", Refused, "a variable is not expanded, so there is no such place"),
    ("path-030", Refused, "links of the process file system are followed nowhere"),
    ("path-079", Refused, "no answer could make a device readable, so nobody is asked"),
    ("path-089", Refused, "a control character in a path is refused"),
];

/// The class of the reason of each line that is not simply allowed: of a call its `Cause`, of settings
/// the `Flaw` of the problem that is told.
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
    // Outside comes before what lies there; inside, `paths_more.jsonl` has them.
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

/// Settings that have another name with us: the line is played as it stands, and then as this.
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

/// What comes of a line's settings with us, where it is another word: a table of tool servers means
/// nothing yet, so nothing is started, and the key is told as unknown.
const SETTING_WORDS: &[(&str, &str)] = &[("cfg-025", "ignore_key")];

/// Circumstances in the words of a line, as the members that say them in ours.
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

/// What a word asks of a call.
#[track_caller]
pub fn word(word: &str) -> Came {
    let found = WORDS.iter().find(|(known, _)| *known == word);
    found.unwrap_or_else(|| panic!("nobody knows the word {word:?}")).1
}

/// What has to come of a line's call with us.
pub fn came(line: &Line) -> Came {
    let ours = OURS.iter().find(|(id, ..)| *id == line.id).map(|(_, came, _)| *came);
    ours.unwrap_or_else(|| word(&line.expect))
}

/// The class of the reason that has to be given.
#[track_caller]
pub fn reason(line: &Line) -> &str {
    let given = REASONS.iter().find(|(id, _)| *id == line.id).map(|(_, reason)| *reason);
    let reason = line.reason.as_deref().or(given);
    reason.unwrap_or_else(|| panic!("{}: say of which class the reason has to be", line.id))
}

/// The settings of a line under our names, each with the class of what is told of them.
pub fn settings(line: &Line) -> impl Iterator<Item = (&'static str, &'static str)> {
    SETTINGS.iter().filter(|(id, ..)| *id == line.id).map(|(_, text, reason)| (*text, *reason))
}

/// The word for what comes of a line's settings.
pub fn setting_word(line: &Line) -> &str {
    let ours = SETTING_WORDS.iter().find(|(id, _)| *id == line.id).map(|(_, word)| *word);
    ours.unwrap_or(&line.expect)
}

/// The members that say a line's circumstances.
#[track_caller]
pub fn state(words: &str) -> serde_json::Value {
    let found = STATES.iter().find(|(known, _)| *known == words);
    let (_, members) = found.unwrap_or_else(|| panic!("nobody knows the circumstances {words:?}"));
    serde_json::from_str(members).expect("members are JSON")
}

/// Fails on an entry of a table that no line has.
pub fn are_of(ids: &BTreeSet<&str>) {
    let named = OURS.iter().map(|(id, ..)| id).chain(REASONS.iter().map(|(id, _)| id));
    let named = named.chain(SETTINGS.iter().map(|(id, ..)| id)).chain(SETTING_WORDS.iter().map(|(id, _)| id));
    let unknown: Vec<_> = named.filter(|id| !ids.contains(*id)).collect();
    assert!(unknown.is_empty(), "no line is called {unknown:?}");
}
