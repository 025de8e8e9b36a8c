//! The reminder: what is true now and is no part of the conversation. It comes last in a request and never enters the history.
//!
//! Never repeats what the conversation has, and never has more than a few lines.

use crate::record::{ContextKind, ContextPolicy, ContextText, PlanStep, StepStatus};
use crate::session::Session;
use crate::text::display::one_line;

/// Open documents that are named.
const MAX_DOCUMENTS: usize = 12;
/// Characters of a name, and of a step of the plan.
const MAX_SHOWN: usize = 160;

/// What the session knows of now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionNow {
    plan: Vec<PlanStep>,
    /// The surroundings at the beginning of the session.
    first: Option<ContextText>,
    /// What is left of the budget that ends first.
    left: Option<String>,
    is_off: bool,
}

impl SessionNow {
    /// Returns what the session knows for a request with this policy; without one, a request has no reminder.
    pub fn of(session: &Session, context: Option<&ContextPolicy>) -> Self {
        let is_surroundings = |text: &&ContextText| text.kind == ContextKind::Surroundings;
        Self {
            plan: session.plan.clone(),
            first: session.texts.iter().find(is_surroundings).cloned(),
            left: session.budget_left(),
            is_off: context.is_none_or(|context| context.off.iter().any(|off| off == "reminder")),
        }
    }
}

/// What the editor shows at the time of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EditorNow {
    /// The open documents of the workspace, the one in focus first.
    pub open: Vec<OpenDocument>,
    /// What the user has selected, or where the cursor is.
    pub cursor: Option<String>,
    /// The surroundings as they are now.
    pub surroundings: Option<ContextText>,
}

/// A document that is open in the editor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenDocument {
    pub path: String,
    pub unsaved: bool,
}

/// Returns the reminder of a request; `None` if there is nothing to say.
pub fn reminder(session: &SessionNow, editor: &EditorNow) -> Option<String> {
    if session.is_off {
        return None;
    }
    let parts = [
        documents(editor),
        cursor(editor),
        changed_surroundings(session, editor),
        plan(&session.plan),
        session.left.clone(),
    ];
    let lines: Vec<String> = parts.into_iter().flatten().collect();
    (!lines.is_empty()).then(|| format!("[now, from Adjutant and not from the user]\n{}", lines.join("\n")))
}

fn documents(now: &EditorNow) -> Option<String> {
    let name = |document: &OpenDocument| {
        let unsaved = if document.unsaved { " (unsaved)" } else { "" };
        format!("{}{unsaved}", one_line(&document.path, MAX_SHOWN))
    };
    let named: Vec<String> = now.open.iter().take(MAX_DOCUMENTS).map(name).collect();
    let more = match now.open.len().saturating_sub(MAX_DOCUMENTS) {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    (!named.is_empty()).then(|| format!("Open in the editor: {}{more}.", named.join(", ")))
}

fn cursor(now: &EditorNow) -> Option<String> {
    now.cursor.as_ref().map(|cursor| format!("{}.", one_line(cursor, MAX_SHOWN)))
}

/// Returns the lines of the surroundings that differ from those at the beginning of the session.
fn changed_surroundings(session: &SessionNow, now: &EditorNow) -> Option<String> {
    let (now, first) = (now.surroundings.as_ref()?, session.first.as_ref()?);
    let is_new = |line: &&str| !first.text.lines().any(|known| known == *line);
    let changed: Vec<&str> = now.text.lines().filter(is_new).collect();
    (!changed.is_empty()).then(|| format!("Changed since the beginning:\n{}", changed.join("\n")))
}

fn plan(steps: &[PlanStep]) -> Option<String> {
    let line = |step: &PlanStep| {
        let mark = match step.status {
            StepStatus::Pending => "[ ]",
            StepStatus::InProgress => "[>]",
            StepStatus::Completed => "[x]",
        };
        format!("{mark} {}", one_line(&step.text, MAX_SHOWN))
    };
    let lines: Vec<String> = steps.iter().map(line).collect();
    (!lines.is_empty()).then(|| format!("The plan:\n{}", lines.join("\n")))
}

#[cfg(test)]
mod tests;
