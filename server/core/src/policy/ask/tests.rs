//! An approval binds every field of what was shown.

use super::*;
use crate::machine::input::Choice;
use crate::record::{AskKind, FileChange, Payload};
use crate::text::review::Hunk;

fn command() -> Payload {
    Payload::Command {
        line: "make test".to_owned(),
        cwd: "/ws".to_owned(),
        timeout_seconds: 60,
        binding: "shell, directory, environment".to_owned(),
    }
}

/// Returns all variants of a JSON value in which one leaf differs.
fn changed(value: &serde_json::Value) -> Vec<serde_json::Value> {
    use serde_json::Value;
    match value {
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, inner)| {
                changed(inner).into_iter().map(|other| {
                    let mut fields = fields.clone();
                    fields.insert(name.clone(), other);
                    Value::Object(fields)
                })
            })
            .collect(),
        Value::Array(items) => (0..items.len())
            .flat_map(|at| {
                changed(&items[at]).into_iter().map(move |other| {
                    let mut items = items.clone();
                    items[at] = other;
                    Value::Array(items)
                })
            })
            .collect(),
        Value::String(text) => vec![Value::String(format!("{text} ")), Value::String(String::new())],
        Value::Number(number) => vec![Value::from(number.as_u64().unwrap_or(0) + 1)],
        Value::Bool(truth) => vec![Value::Bool(!truth)],
        Value::Null => Vec::new(),
    }
}

#[test]
fn f22_whatever_is_changed_in_a_command_that_was_asked_about_its_digest_changes() {
    let asked = command();
    let digest = payload_digest(&asked, None);
    let value = serde_json::to_value(&asked).unwrap();
    let others: Vec<Payload> =
        changed(&value).into_iter().filter_map(|other| serde_json::from_value(other).ok()).collect();
    assert!(others.len() >= 7, "every field was changed: {others:?}");
    for other in others {
        assert_ne!(payload_digest(&other, None), digest, "{other:?}");
    }
    assert_eq!(payload_digest(&command(), None), digest);
}

#[test]
fn f22_whatever_is_changed_in_the_lines_of_an_edit_its_digest_changes() {
    let hunk = Hunk {
        line: 3,
        removed: vec!["old\n".to_owned()],
        inserted: vec!["new\n".to_owned(), "more\n".to_owned()],
        context_before: vec!["before\n".to_owned()],
        context_after: vec!["after\n".to_owned()],
        id: "h1".to_owned(),
    };
    let digest = |target: &str, hunks: Vec<Hunk>| {
        changes_digest(&[&FileChange {
            parts: Vec::new(),
            change_set: "set".into(),
            path: "a.txt".to_owned(),
            uri: target.to_owned(),
            target: target.to_owned(),
            open: false,
            existed: true,
            always_ask: None,
            mark: None,
            tasks: Vec::new(),
            before: None,
            operation: None,
            hunks: hunks.into(),
        }])
    };
    let asked = digest("/ws/a.txt", vec![hunk.clone()]);
    assert_ne!(digest("/ws/b.txt", vec![hunk.clone()]), asked);
    assert_ne!(digest("/ws/a.txt", vec![hunk.clone(), hunk.clone()]), asked);
    let parts: [fn(&mut Hunk) -> &mut Vec<String>; 4] = [
        |hunk| &mut hunk.removed,
        |hunk| &mut hunk.inserted,
        |hunk| &mut hunk.context_before,
        |hunk| &mut hunk.context_after,
    ];
    for (at, part) in parts.into_iter().enumerate() {
        let mut other = hunk.clone();
        part(&mut other)[0].push('x');
        assert_ne!(digest("/ws/a.txt", vec![other]), asked, "part {at}");
        let mut moved = hunk.clone();
        let line = part(&mut moved).remove(0);
        part(&mut moved).push(line + "y");
        assert_ne!(digest("/ws/a.txt", vec![moved]), asked, "part {at}");
    }
    // The line numbers are not part of the digest: the lines may have moved.
    let elsewhere = Hunk { line: 9, ..hunk };
    assert_eq!(digest("/ws/a.txt", vec![elsewhere]), asked);
}

#[test]
fn what_cannot_be_allowed_for_good_offers_no_always() {
    let ids = |always| -> Vec<String> {
        options(AskKind::Command, always, &[]).into_iter().map(|option| option.option_id).collect()
    };
    assert_eq!(ids(Some("Always")), [ALLOW, ALLOW_ALWAYS, REJECT]);
    assert_eq!(ids(None), [ALLOW, REJECT]);
}

#[test]
fn where_nobody_is_every_kind_is_denied_or_left_open_and_none_allowed() {
    for kind in AskKind::ALL {
        match Choice::absent(kind) {
            Some(Choice::Option { id, text }) => assert_eq!((id.as_str(), text), (REJECT, None)),
            Some(Choice::Text(text)) => {
                assert_eq!((kind, text.as_str()), (AskKind::Followup, "nobody is present to answer"));
            }
            None => assert_ne!(kind.group(), crate::record::AskGroup::Interactive),
        }
    }
}
