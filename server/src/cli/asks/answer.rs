//! What a typed line means for an ask.
//!
//! Never counts an unclear line as a yes.

use adjutant_core::policy::ask::SAVE_AND_RUN;
use adjutant_protocol::ask::{AskOption, AskView, OptionKind, PermissionOutcome};

/// The meaning of a typed line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypedAnswer {
    Answer(PermissionOutcome),
    /// The person decides change by change.
    Changes,
    /// No clear answer; the text says what to type instead.
    Unclear(String),
}

/// Reads a line as an answer to an ask.
pub fn parse(ask: &AskView, line: &str) -> TypedAnswer {
    let line = line.trim();
    if line.is_empty() {
        return TypedAnswer::Unclear(super::hint(ask));
    }
    let lower = line.to_lowercase();
    if of_kind(ask, OptionKind::AllowOnce).is_some() {
        return permission(ask, line, &lower);
    }
    let chosen = numbered(ask, &lower).or_else(|| named(ask, &lower));
    match chosen {
        Some(option) => TypedAnswer::Answer(select(option, None)),
        None if ask.free_text => TypedAnswer::Answer(PermissionOutcome::Answered { text: line.to_owned() }),
        None => TypedAnswer::Unclear(super::hint(ask)),
    }
}

/// Whether an ask shows more than one group of changed lines, so that they may be decided one by one.
pub fn has_several_changes(ask: &AskView) -> bool {
    let groups = ask.files().iter().map(|file| {
        let is_changed = |line: &&str| line.starts_with(['+', '-']);
        let lines: Vec<&str> = file.diff.lines().skip(2).collect();
        let starts = lines.windows(2).filter(|pair| !is_changed(&pair[0]) && is_changed(&pair[1]));
        // A file without a changed line is one change: it is created empty.
        starts.count().max(1)
    });
    groups.sum::<usize>() > 1
}

fn permission(ask: &AskView, line: &str, lower: &str) -> TypedAnswer {
    if lower == "p" && !ask.files().is_empty() {
        return TypedAnswer::Changes;
    }
    if let ("s", Some(option)) = (lower, saving(ask)) {
        return TypedAnswer::Answer(select(option, None));
    }
    let kind = match lower {
        "y" | "yes" => OptionKind::AllowOnce,
        "always" => OptionKind::AllowAlways,
        _ => OptionKind::RejectOnce,
    };
    let reason = match lower {
        "y" | "yes" | "always" | "n" | "no" => None,
        _ => Some(line.to_owned()),
    };
    match of_kind(ask, kind) {
        Some(option) => TypedAnswer::Answer(select(option, reason)),
        None => TypedAnswer::Unclear(super::hint(ask)),
    }
}

/// Returns the option of a kind that does nothing else.
pub fn of_kind(ask: &AskView, kind: OptionKind) -> Option<&AskOption> {
    ask.options.iter().find(|option| option.kind == kind && option.option_id != SAVE_AND_RUN)
}

/// Returns the option that saves files before it allows.
pub fn saving(ask: &AskView) -> Option<&AskOption> {
    ask.options.iter().find(|option| option.option_id == SAVE_AND_RUN)
}

fn numbered<'a>(ask: &'a AskView, line: &str) -> Option<&'a AskOption> {
    let number: usize = line.parse().ok()?;
    ask.options.get(number.checked_sub(1)?)
}

fn named<'a>(ask: &'a AskView, line: &str) -> Option<&'a AskOption> {
    ask.options.iter().find(|option| option.option_id == line || option.name.to_lowercase() == line)
}

fn select(option: &AskOption, text: Option<String>) -> PermissionOutcome {
    PermissionOutcome::Selected { option_id: option.option_id.clone(), text }
}
