//! Decides whether a prepared call may run: [`verdict`] is one pure function. The sentences that give its reasons are
//! here, in `files` and in `cause`.
//!
//! Never reads files or settings: the caller passes the observations, the policy of the run and the session.

mod files;
#[cfg(test)]
mod tests;

use crate::config::{Denials, FileUse};
use crate::policy::cause::{Cause, Reason};
use crate::policy::observation::{EditRoute, FileClass, ObservedOperation, ObservedPath};
use crate::policy::standing::may_be_standing;
use crate::record::Mode;
use crate::record::{AllowedBy, EditsMode, FileChange, Payload, Policy, Rule};
use crate::session::{Call, Session};
use crate::text::display::{shown, unseen};
use crate::tool::APPLY_PATCH;

pub use files::{OnWrite, on_write, stricter};

/// The decision on one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The call runs. The log keeps what allowed it.
    Allow(AllowedBy),
    /// The user decides. The user reads the reason.
    Ask(Reason),
    /// The call does not run. The model and the user read the reason.
    Deny(Reason),
}

/// What a call would do. Of the call, the verdict depends only on this and on the name of the tool.
#[derive(Clone, Copy, Debug)]
pub enum Act<'a> {
    /// Reads this file, or this folder with everything below it. In a folder, the tool itself leaves out the files that
    /// a deny rule forbids, Adjutant's own files, and the text of files that may hold secrets.
    Read(&'a ObservedPath),
    /// Reads all folders of the workspace, with the same exceptions.
    Walk,
    /// Changes, creates, deletes or moves this file.
    Edit(&'a ObservedPath),
    Command {
        line: &'a str,
        cwd: &'a str,
    },
    /// Asks the user a question of the model.
    Question,
    /// Touches nothing.
    Nothing,
}

impl<'a> Act<'a> {
    /// Returns what a payload does. `target` is the file or folder that it reads. Returns `None` if the payload reads a file
    /// that was not observed: then no verdict is possible.
    pub fn of(payload: &'a Payload, target: Option<&'a ObservedPath>) -> Option<Self> {
        Some(match payload {
            Payload::Read { everywhere: false, .. } => Act::Read(target?),
            Payload::Read { everywhere: true, .. } => Act::Walk,
            Payload::Command { line, cwd, .. } => Act::Command { line, cwd },
            Payload::Question { .. } => Act::Question,
            Payload::Complete { .. } | Payload::Fail { .. } | Payload::Plan { .. } | Payload::Nothing => {
                Act::Nothing
            }
        })
    }

    /// Returns what a prepared call does, or `None` if the call is not prepared.
    pub fn of_call(session: &Session, call: &'a Call) -> Option<Self> {
        let target = call.seen.as_ref();
        match session.change_of(call) {
            Some(_) => target.map(Act::Edit),
            None => call.payload.as_ref().and_then(|payload| Act::of(payload, target)),
        }
    }
}

/// Returns the verdict on one call of `tool`. The first of these that applies decides:
/// 1. a deny rule of the settings denies;
/// 2. a built-in rule denies, such as edits of protected files or outside the workspace;
/// 3. the mode denies;
/// 4. some edits always ask;
/// 5. a standing answer of this session allows;
/// 6. the permissions of an unattended run allow;
/// 7. the setting `edits.mode` allows an edit, unless the file runs when it is built or written and no edit of it was allowed
///    by an answer in this run;
/// 8. by default, reading inside the workspace is allowed, except for files that may hold secrets, and so are a walk
///    and a call that touches nothing; everything else asks.
///
/// An edit that asks says also that it replaces lines which changed since the model saw them.
pub fn verdict(session: &Session, policy: &Policy, tool: &str, act: Act<'_>) -> Verdict {
    match (first_verdict(session, policy, tool, act), act) {
        (Verdict::Ask(why), Act::Edit(ObservedPath { unseen: Some(unseen), .. })) if unseen.changed => {
            Verdict::Ask(Reason::new(why.cause, format!("{}; {why}", unseen.why)))
        }
        (verdict, _) => verdict,
    }
}

fn first_verdict(session: &Session, policy: &Policy, tool: &str, act: Act<'_>) -> Verdict {
    if let Some(why) = forbidden(&session.roots, policy, tool, act) {
        return Verdict::Deny(why);
    }
    let has_effect = matches!(act, Act::Edit(_) | Act::Command { .. });
    if has_effect && policy.mode == Mode::Ask {
        let text = format!("\"{tool}\" is not available in {} mode", policy.mode.name());
        return Verdict::Deny(Reason::new(Cause::Mode, text));
    }
    if let Act::Edit(target) = act
        && let Some(why) = edit_asks(session, target)
    {
        return Verdict::Ask(why);
    }
    if let Some(rule) = standing_answer(session, act) {
        return Verdict::Allow(AllowedBy::Standing { rule: rule.clone() });
    }
    if runs_unattended(policy, act) {
        return Verdict::Allow(AllowedBy::Consent);
    }
    if let Act::Edit(target) = act
        && policy.edits != EditsMode::Ask
    {
        return match runs_on_build(session, target) {
            Some(why) => Verdict::Ask(why),
            None => Verdict::Allow(AllowedBy::EditsMode { mode: policy.edits }),
        };
    }
    let ask = |cause, text: &str| Verdict::Ask(Reason::new(cause, text));
    match act {
        Act::Edit(_) => ask(Cause::EveryEdit, "every edit asks until you allow edits for this session"),
        Act::Command { .. } => ask(Cause::EveryCommand, "every command asks"),
        Act::Question => ask(Cause::Question, "the model has a question"),
        Act::Read(target) => read_asks(target).map_or(Verdict::Allow(AllowedBy::Default), Verdict::Ask),
        Act::Walk | Act::Nothing => Verdict::Allow(AllowedBy::Default),
    }
}

/// Returns why a call is denied, if no answer of the user can allow it: by a deny rule of the settings or by a
/// built-in rule. The mode is not checked here. `roots` are the folders of the workspace.
pub fn forbidden(roots: &[String], policy: &Policy, tool: &str, act: Act<'_>) -> Option<Reason> {
    forbidden_by(&Denials::of_texts(&policy.deny), roots, tool, act)
}

/// The same as [`forbidden`], with deny rules that are already parsed.
pub fn forbidden_by(denials: &Denials, roots: &[String], tool: &str, act: Act<'_>) -> Option<Reason> {
    denied_by_settings(denials, roots, tool, act).or_else(|| denied_by_built_in_rule(act))
}

fn denied_by_settings(denials: &Denials, roots: &[String], tool: &str, act: Act<'_>) -> Option<Reason> {
    let of_file = |file_use, path: &str| denials.denial_of_use(tool, file_use, path, roots);
    let rule = match act {
        Act::Walk => denials.denial_of_tool(tool),
        Act::Read(target) => {
            // An edit needs no other names: a file that has any is not written at all.
            let mut names = [&target.path].into_iter().chain(&target.other_names);
            names.find_map(|path| of_file(FileUse::Reads, path))
        }
        Act::Edit(target) => target.written().find_map(|name| {
            let of_tool = |tool| denials.denial_of_use(tool, FileUse::Writes, &name.path, roots);
            of_file(FileUse::Writes, &name.path).or_else(|| {
                let same = if tool == APPLY_PATCH { same_as_patch(target) } else { &[] };
                same.iter().find_map(|tool| of_tool(tool))
            })
        }),
        Act::Command { line, .. } => denials.denial(tool, Some(line)),
        Act::Question | Act::Nothing => denials.denial(tool, None),
    };
    rule.map(|rule| Reason::of_rule(&rule.text))
}

/// Returns the tools that do the same as this part of a patch: a rule that denies one of them also denies the part.
fn same_as_patch(target: &ObservedPath) -> &'static [&'static str] {
    match &target.operation {
        None => &["edit_file", "write_file"],
        Some(ObservedOperation { to: Some(_), .. }) => &["move_file"],
        Some(ObservedOperation { to: None, .. }) => &["delete_file"],
    }
}

/// Returns why a built-in rule denies a call. No answer and no setting overrides such a rule.
fn denied_by_built_in_rule(act: Act<'_>) -> Option<Reason> {
    match act {
        Act::Read(ObservedPath { path, names_unknown: true, .. }) => {
            let text = format!(
                "\"{path}\" has other names (hard links), and there was no time to find out whether a deny rule of \
                 the settings forbids to read one of them"
            );
            Some(Reason::new(Cause::Rule, text))
        }
        Act::Edit(target) => target.written().find_map(write_denied),
        _ => None,
    }
}

/// Returns why a file with this name is never written.
fn write_denied(ObservedPath { path, inside, write_class, .. }: &ObservedPath) -> Option<Reason> {
    if !inside {
        let text = format!("\"{path}\" is outside the workspace, where nothing is written");
        return Some(Reason::new(Cause::Outside, text));
    }
    let class = write_class.filter(|class| on_write(*class) == OnWrite::Denied)?;
    let text = format!("\"{path}\" is protected: it {}", files::words(class));
    Some(Reason::new(files::cause(class), text))
}

/// Returns why reading this path asks the user, or `None` if it does not ask (P5).
pub fn read_asks(target: &ObservedPath) -> Option<Reason> {
    let path = &target.path;
    match (target.secret, target.inside) {
        (None, true) => None,
        (None, false) => Some(Reason::new(Cause::Outside, format!("\"{path}\" is outside the workspace"))),
        (Some(class), true) => Some(class_reason(path, class)),
        (Some(class), false) => {
            let text = format!("\"{path}\" is outside the workspace, and {}", files::words(class));
            Some(Reason::new(files::cause(class), text))
        }
    }
}

/// The reason of an ask in an editor that accepts edits only through a code action.
pub const BY_ACTION: &str =
    "only the code action \"Adjutant: Yes, apply\" makes this edit in your editor; choose it there";

/// Returns why this edit always asks, even if a standing answer or an unattended run allows edits.
fn edit_asks(session: &Session, target: &ObservedPath) -> Option<Reason> {
    let by_class = target.written().find_map(|name| {
        // An edit of a file that may hold secrets asks, as reading it does.
        let class = name.write_class.filter(|class| on_write(*class) == OnWrite::Asked).or(name.secret)?;
        Some(class_reason(&name.path, class))
    });
    let overtaken = target.overtaken.as_ref().map(|how| {
        Reason::new(Cause::Changed, format!("{how}, so this is the edit as it would be made now"))
    });
    let by_route = match target.route {
        // The file may be open anyway (design 4).
        EditRoute::DiskIfSaved => Some(Reason::new(
            Cause::OnDisk,
            format!(
                "\"{}\" is written on disk: if this file is open with unsaved changes, save it first",
                target.path
            ),
        )),
        EditRoute::Action => Some(Reason::new(Cause::ByAction, BY_ACTION)),
        EditRoute::Editor | EditRoute::Disk | EditRoute::Nowhere => None,
    };
    // The cause of the first reason is kept; the sentences are joined.
    let all = [overtaken, by_class, operation_asks(session, target), by_route].into_iter().flatten();
    all.reduce(|one, other| Reason { text: format!("{}; {}", one.text, other.text), ..one })
}

/// Returns the reason to ask the user about a deletion or a move. A run may delete and move a file that it created itself, if
/// nobody else has changed the file; then it returns `None`.
fn operation_asks(session: &Session, target: &ObservedPath) -> Option<Reason> {
    let operation = target.operation.as_ref()?;
    let run = session.open_run().map(|run| run.id.0.as_str());
    if operation.made_by.is_some() && operation.made_by.as_deref() == run {
        return None;
    }
    Some(match operation.to {
        None => Reason::new(Cause::Delete, "deleting a file always asks"),
        Some(_) => Reason::new(Cause::Move, "moving a file always asks"),
    })
}

/// Returns why an edit asks although `edits.mode` applies edits at once: a build runs the file. Asks once for each file and
/// run (design 8).
fn runs_on_build(session: &Session, target: &ObservedPath) -> Option<Reason> {
    let (path, class) = target.written().find_map(marked)?;
    let run = session.open_run().map(|run| &run.id);
    let is_allowed = session.applied.all().into_iter().any(|change| {
        let mut hunks = change.hunks.iter();
        Some(&change.maker.run) == run
            && change.path == *path
            && hunks.any(|hunk| matches!(hunk.allowed_by, Some(AllowedBy::Answer { .. })))
    });
    (!is_allowed).then(|| class_reason(path, class))
}

/// Returns a name with its class, if a note next to the change says what the file is.
fn marked(name: &ObservedPath) -> Option<(&String, FileClass)> {
    let class = name.write_class.filter(|class| on_write(*class) == OnWrite::Marked)?;
    Some((&name.path, class))
}

/// Returns a warning that is shown next to a change, in addition to the reason of an ask: its file runs on build,
/// or its new text has invisible characters. The class is left out if the edit asks because of secrets anyway.
pub fn caution(target: &ObservedPath, change: &FileChange) -> Option<String> {
    let marked = target.written().filter(|name| name.secret.is_none()).find_map(marked);
    let by_class = marked.map(|(path, class)| class_reason(path, class).text);
    let invisible = change.hunks.iter().flat_map(|hunk| &hunk.inserted).find_map(|line| unseen(line));
    let by_text = invisible
        .map(|c| format!("its new text has invisible characters, such as {}", shown(&c.to_string())));
    [by_class, by_text].into_iter().flatten().reduce(|one, other| format!("{one}; {other}"))
}

fn class_reason(path: &str, class: FileClass) -> Reason {
    Reason::new(files::cause(class), format!("\"{path}\" {}", files::words(class)))
}

/// Returns the reason why an edit cannot be made, in a form that the model may read. `may_reveal` says whether the
/// reason may reveal text of the file. If so, and the model may not read that file without an answer, a reason without
/// that text replaces it (P5).
pub fn reportable(
    roots: &[String],
    policy: &Policy,
    target: Option<&ObservedPath>,
    (why, may_reveal): (Reason, bool),
) -> Reason {
    let Some(target) = target.filter(|_| may_reveal) else { return why };
    let denials = Denials::of_texts(&policy.deny);
    let path = &target.path;
    let text = if denials.denial_of_file("read_file", path, roots).is_some() {
        format!(
            "\"{path}\" was not changed; the reason is not given, because it may show text of the file, which a rule of the \
             settings forbids to read"
        )
    } else if target.secret.is_some() {
        format!(
            "\"{path}\" was not changed; the reason is not given, because it may show text of the file, which may hold \
             secrets; read the file first, which asks the user"
        )
    } else {
        return why;
    };
    Reason::new(why.cause, text)
}

/// Returns what allowed a call, in words for the debug log.
pub fn in_words(allowed_by: &AllowedBy) -> &'static str {
    match allowed_by {
        AllowedBy::Answer { .. } => "the user's answer",
        AllowedBy::Standing { .. } => "a standing answer of this session covers it",
        AllowedBy::EditsMode { .. } => "the setting `edits.mode` applies edits at once",
        AllowedBy::Consent => "the settings let it run unattended",
        AllowedBy::Default => "it reads inside the workspace, or touches nothing",
        AllowedBy::Unknown => "something this version does not know",
    }
}

/// Returns the rule of a standing answer that covers this call.
fn standing_answer<'a>(session: &'a Session, act: Act<'_>) -> Option<&'a Rule> {
    session.rules.iter().find(|rule| match (rule, act) {
        (Rule::Edits, Act::Edit(_)) => true,
        (Rule::Command { line, cwd }, Act::Command { line: wanted, cwd: wanted_cwd }) => {
            // An older version may have accepted an answer that this one does not offer.
            line == wanted && cwd == wanted_cwd && may_be_standing(line)
        }
        (Rule::Read { path }, Act::Read(target)) => *path == target.path,
        _ => false,
    })
}

/// Whether the settings allow this call in an unattended run.
fn runs_unattended(policy: &Policy, act: Act<'_>) -> bool {
    let Some(allowed) = policy.unattended else { return false };
    match act {
        Act::Edit(_) => allowed.edit,
        Act::Command { .. } => allowed.command,
        Act::Read(_) | Act::Walk | Act::Question | Act::Nothing => false,
    }
}

/// Returns the rule that the answer "always" to this call adds, or `None` if this call cannot have such an answer.
pub fn standing_rule(act: Act<'_>) -> Option<Rule> {
    match act {
        Act::Edit(_) => Some(Rule::Edits),
        Act::Command { line, .. } if !may_be_standing(line) => None,
        Act::Command { line, cwd } => Some(Rule::Command { line: line.to_owned(), cwd: cwd.to_owned() }),
        Act::Read(target) => Some(Rule::Read { path: target.path.clone() }),
        Act::Walk | Act::Question | Act::Nothing => None,
    }
}
