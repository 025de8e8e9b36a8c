//! May this run? The verdict on a prepared call, as one pure function, and every sentence that gives its reason.
//!
//! Never looks at the world: what was seen of it came with the call.

mod files;
#[cfg(test)]
mod tests;

use crate::config::{Denials, FileUse};
use crate::policy::cause::{Cause, Reason};
use crate::policy::observation::{EditRoute, FileClass, ObservedPath};
use crate::policy::standing::may_be_standing;
use crate::record::Mode;
use crate::record::{AllowedBy, FileChange, Payload, Policy, Rule};
use crate::session::{Call, Session};
use crate::text::display::{shown, unseen};

pub use files::{OnWrite, on_write};

/// What the rules say of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// With what allows it, for the log.
    Allow(AllowedBy),
    /// With the reason, for the user.
    Ask(Reason),
    /// With the reason, for the model and the user.
    Deny(Reason),
}

/// What a call would do, as it is judged.
#[derive(Clone, Copy, Debug)]
pub enum Act<'a> {
    /// Reads this file or folder, and what is below it.
    Read(&'a ObservedPath),
    /// Reads through all folders of the workspace.
    Walk,
    /// Changes this file, or makes it.
    Edit(&'a ObservedPath),
    Command {
        line: &'a str,
        cwd: &'a str,
    },
    Question,
    /// Touches nothing.
    Nothing,
}

impl<'a> Act<'a> {
    /// What a payload does; `seen` is the file it is about. None where that file was not looked at: nothing can
    /// be said of it then.
    pub fn of(payload: &'a Payload, seen: Option<&'a ObservedPath>) -> Option<Self> {
        Some(match payload {
            Payload::Read { everywhere: false, .. } => Act::Read(seen?),
            Payload::Read { everywhere: true, .. } => Act::Walk,
            Payload::Command { line, cwd, .. } => Act::Command { line, cwd },
            Payload::Question { .. } => Act::Question,
            Payload::Complete { .. } | Payload::Fail { .. } | Payload::Nothing => Act::Nothing,
        })
    }

    /// What a call does that was prepared; none where it was not.
    pub fn of_call(session: &Session, call: &'a Call) -> Option<Self> {
        let seen = call.seen.as_ref();
        match session.change_of(call) {
            Some(_) => seen.map(Act::Edit),
            None => call.payload.as_ref().and_then(|payload| Act::of(payload, seen)),
        }
    }
}

/// The verdict on one call of `tool`. Precedence, first match wins:
/// 1. a deny rule of the settings, 2. what we forbid ourselves (protected and outside paths),
/// 3. the mode, 4. files that always ask, 5. a standing answer of this session,
/// 6. what may run unattended, 7. the default: reading inside the workspace is safe, everything else asks.
pub fn verdict(session: &Session, policy: &Policy, tool: &str, act: Act<'_>) -> Verdict {
    if let Some(why) = forbidden(&session.roots, policy, tool, act) {
        return Verdict::Deny(why);
    }
    let acts = matches!(act, Act::Edit(_) | Act::Command { .. });
    if acts && policy.mode == Mode::Ask {
        let text = format!("\"{tool}\" is not available in {} mode", policy.mode.name());
        return Verdict::Deny(Reason::new(Cause::Mode, text));
    }
    if let Act::Edit(seen) = act
        && let Some(why) = edit_asks(seen)
    {
        return Verdict::Ask(why);
    }
    if let Some(rule) = standing(session, act) {
        return Verdict::Allow(AllowedBy::Standing { rule: rule.clone() });
    }
    if unattended(policy, act) {
        return Verdict::Allow(AllowedBy::Consent);
    }
    let ask = |cause, text: &str| Verdict::Ask(Reason::new(cause, text));
    match act {
        Act::Edit(_) => ask(Cause::EveryEdit, "every edit asks until you allow edits for this session"),
        Act::Command { .. } => ask(Cause::EveryCommand, "every command asks"),
        Act::Question => ask(Cause::Question, "the model has a question"),
        Act::Read(seen) => read_asks(seen).map_or(Verdict::Allow(AllowedBy::Default), Verdict::Ask),
        Act::Walk | Act::Nothing => Verdict::Allow(AllowedBy::Default),
    }
}

/// Why this may not be done, whatever anybody answers: a deny rule of the settings, or a rule of ours. `roots`
/// are the folders of the workspace.
pub fn forbidden(roots: &[String], policy: &Policy, tool: &str, act: Act<'_>) -> Option<Reason> {
    forbidden_by(&Denials::of_texts(&policy.deny), roots, tool, act)
}

/// The same with deny rules that were read already.
pub fn forbidden_by(denials: &Denials, roots: &[String], tool: &str, act: Act<'_>) -> Option<Reason> {
    denied_by(denials, roots, tool, act).or_else(|| ours(act))
}

fn denied_by(denials: &Denials, roots: &[String], tool: &str, act: Act<'_>) -> Option<Reason> {
    let of_file = |used, path: &str| denials.denial_of_use(tool, used, path, roots);
    let rule = match act {
        Act::Walk => denials.denial_of_tool(tool),
        Act::Read(seen) => {
            let mut names = [&seen.path].into_iter().chain(&seen.also);
            names.find_map(|path| of_file(FileUse::Reads, path))
        }
        Act::Edit(seen) => of_file(FileUse::Writes, &seen.path),
        Act::Command { line, .. } => denials.denial(tool, Some(line)),
        Act::Question | Act::Nothing => denials.denial(tool, None),
    };
    rule.map(|rule| Reason::of_rule(&rule.text))
}

/// What no answer and no rule of the settings allows.
fn ours(act: Act<'_>) -> Option<Reason> {
    match act {
        Act::Read(ObservedPath { path, names_unknown: true, .. }) => {
            let text = format!(
                "\"{path}\" has other names (hard links), and there was no time to see whether a deny rule of the \
                 settings keeps one of them"
            );
            Some(Reason::new(Cause::Rule, text))
        }
        Act::Edit(ObservedPath { path, inside: false, .. }) => {
            let text = format!("\"{path}\" is outside the workspace, where nothing is written");
            Some(Reason::new(Cause::Outside, text))
        }
        Act::Edit(ObservedPath { path, class: Some(class), .. }) if on_write(*class) == OnWrite::Denied => {
            let text = format!("\"{path}\" is protected: it {}", files::words(*class));
            Some(Reason::new(files::cause(*class), text))
        }
        _ => None,
    }
}

/// Why reading this place needs an answer (P1, P5).
pub fn read_asks(seen: &ObservedPath) -> Option<Reason> {
    let path = &seen.path;
    match (seen.holds, seen.inside) {
        (None, true) => None,
        (None, false) => Some(Reason::new(Cause::Outside, format!("\"{path}\" is outside the workspace"))),
        (Some(class), true) => Some(of_class(path, class)),
        (Some(class), false) => {
            let text = format!("\"{path}\" is outside the workspace, and {}", files::words(class));
            Some(Reason::new(files::cause(class), text))
        }
    }
}

/// How an edit is made in an editor that takes it with a code action alone.
pub const BY_ACTION: &str =
    "only the code action \"Adjutant: Yes, apply\" makes this edit in your editor; choose it there";

/// Why no standing answer and no consent covers this edit.
fn edit_asks(seen: &ObservedPath) -> Option<Reason> {
    let asked = seen.class.filter(|class| on_write(*class) == OnWrite::Asked).or(seen.holds);
    let of_class = asked.map(|class| of_class(&seen.path, class));
    let overtaken = seen.overtaken.as_ref().map(|how| {
        Reason::new(Cause::Changed, format!("{how}, so this is the edit as it would be made now"))
    });
    let of_way = match seen.way {
        // It may be open all the same (decision 4).
        EditRoute::DiskIfSaved => Some(Reason::new(
            Cause::OnDisk,
            format!(
                "\"{}\" is written on disk: if this file is open with unsaved changes, save it first",
                seen.path
            ),
        )),
        EditRoute::Action => Some(Reason::new(Cause::ByAction, BY_ACTION)),
        EditRoute::Editor | EditRoute::Disk | EditRoute::Nowhere => None,
    };
    let all = [overtaken, of_class, of_way].into_iter().flatten();
    all.reduce(|one, other| Reason { text: format!("{}; {}", one.text, other.text), ..one })
}

/// What the user should know of a change beside why it is asked: its file runs on build, or it has characters
/// that nobody sees.
pub fn caution(seen: &ObservedPath, change: &FileChange) -> Option<String> {
    let marked = seen.class.filter(|class| on_write(*class) == OnWrite::Marked && seen.holds.is_none());
    let of_class = marked.map(|class| of_class(&seen.path, class).text);
    let odd = change.hunks.iter().flat_map(|hunk| &hunk.inserted).find_map(|line| unseen(line));
    let odd =
        odd.map(|c| format!("its new text holds characters nobody sees, such as {}", shown(&c.to_string())));
    [of_class, odd].into_iter().flatten().reduce(|one, other| format!("{one}; {other}"))
}

fn of_class(path: &str, class: FileClass) -> Reason {
    Reason::new(files::cause(class), format!("\"{path}\" {}", files::words(class)))
}

/// Why an edit cannot be made, as it may be told: nothing of a text that nobody has allowed to be read (P5).
/// `quotes` says whether the reason has some of it.
pub fn reportable(
    roots: &[String],
    policy: &Policy,
    seen: Option<&ObservedPath>,
    (why, quotes): (Reason, bool),
) -> Reason {
    let Some(seen) = seen.filter(|_| quotes) else { return why };
    let denials = Denials::of_texts(&policy.deny);
    let kept = || denials.denial_of_file("read_file", &seen.path, roots).is_some();
    if seen.holds.is_none() && !kept() {
        return why;
    }
    let text = format!(
        "\"{}\" was not changed: it may hold secrets, so nothing is told of its text here, and the edit does not fit \
         it; read the file first, which asks the user",
        seen.path
    );
    Reason::new(why.cause, text)
}

/// What allowed something, in words for the debug log.
pub fn in_words(allowed_by: &AllowedBy) -> &'static str {
    match allowed_by {
        AllowedBy::Answer { .. } => "the user's answer",
        AllowedBy::Standing { .. } => "a standing answer of this session covers it",
        AllowedBy::Consent => "the settings let it run unattended",
        AllowedBy::Default => "it reads inside the workspace, or touches nothing",
        AllowedBy::Unknown => "something this version does not know",
    }
}

fn standing<'a>(session: &'a Session, act: Act<'_>) -> Option<&'a Rule> {
    session.rules.iter().find(|rule| match (rule, act) {
        (Rule::Edits, Act::Edit(_)) => true,
        (Rule::Command { line, cwd }, Act::Command { line: wants, cwd: at }) => {
            // A log may hold an answer that could not be given today.
            line == wants && cwd == at && may_be_standing(line)
        }
        (Rule::Read { path }, Act::Read(seen)) => *path == seen.path,
        _ => false,
    })
}

fn unattended(policy: &Policy, act: Act<'_>) -> bool {
    let Some(allowed) = policy.unattended else { return false };
    match act {
        Act::Edit(_) => allowed.edit,
        Act::Command { .. } => allowed.command,
        Act::Read(_) | Act::Walk | Act::Question | Act::Nothing => false,
    }
}

/// The rule an "always" to this call makes; none where it cannot be had.
pub fn standing_rule(act: Act<'_>) -> Option<Rule> {
    match act {
        Act::Edit(_) => Some(Rule::Edits),
        Act::Command { line, .. } if !may_be_standing(line) => None,
        Act::Command { line, cwd } => Some(Rule::Command { line: line.to_owned(), cwd: cwd.to_owned() }),
        Act::Read(seen) => Some(Rule::Read { path: seen.path.clone() }),
        Act::Walk | Act::Question | Act::Nothing => None,
    }
}
