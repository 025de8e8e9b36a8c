//! May this run? The verdict on a prepared call, as one pure function.
//!
//! Never looks at the world: what was seen of it came with the payload.

use crate::cause::{Cause, Reason};
use crate::config::Denials;
use crate::event::{Change, Payload, Policy, Rule};
use crate::session::Session;
use crate::standing::may_stand;

/// What the rules say of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Safe,
    /// With the reason, for the user.
    Ask(Reason),
    /// With the reason, for the model and the user.
    Deny(Reason),
}

/// What a call would do, as `verdict` sees it.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    Payload(&'a Payload),
    Change(&'a Change),
}

/// The verdict on one call of `tool`. Precedence, first match wins:
/// 1. a deny rule of the settings, 2. what we forbid ourselves (protected and outside paths),
/// 3. the mode, 4. files that always ask, 5. a standing answer of this session,
/// 6. what may run unattended, 7. the default: reading inside the workspace is safe, everything else asks.
pub fn verdict(session: &Session, policy: &Policy, tool: &str, wanted: Wanted<'_>) -> Verdict {
    if let Some(why) = forbidden(session, policy, tool, wanted) {
        return Verdict::Deny(why);
    }
    if let Wanted::Payload(Payload::Denied { reason, cause }) = wanted {
        return Verdict::Deny(known(*cause, reason));
    }
    if !crate::tool::allowed_in(policy.mode, tool) {
        let text = format!("\"{tool}\" is not available in {} mode", policy.mode.name());
        return Verdict::Deny(Reason::new(Cause::Mode, text));
    }
    if let Wanted::Change(Change { always_ask: Some(reason), cause, .. }) = wanted {
        return Verdict::Ask(known(*cause, reason));
    }
    if standing(session, wanted) || unattended(policy, wanted) {
        return Verdict::Safe;
    }
    match wanted {
        Wanted::Change(_) => ask(Cause::EveryEdit, "every edit asks until you allow edits for this session"),
        Wanted::Payload(Payload::Command { .. }) => ask(Cause::EveryCommand, "every command asks"),
        Wanted::Payload(Payload::Read { ask: Some(reason), cause, .. }) => {
            Verdict::Ask(known(*cause, reason))
        }
        Wanted::Payload(Payload::Question { .. }) => ask(Cause::Question, "the model has a question"),
        Wanted::Payload(_) => Verdict::Safe,
    }
}

/// Why a deny rule of the settings forbids it, whatever anybody answered before.
pub fn forbidden(session: &Session, policy: &Policy, tool: &str, wanted: Wanted<'_>) -> Option<Reason> {
    let rule = denied_by(session, policy, tool, wanted)?;
    Some(Reason::of_rule(&rule))
}

fn ask(cause: Cause, text: &str) -> Verdict {
    Verdict::Ask(Reason::new(cause, text))
}

/// Logs of earlier versions know the text alone.
fn known(cause: Option<Cause>, text: &str) -> Reason {
    Reason::new(cause.unwrap_or(Cause::Other), text)
}

/// Why a call that is safe is so; for the debug log.
pub fn why_safe(session: &Session, policy: &Policy, wanted: Wanted<'_>) -> &'static str {
    match (standing(session, wanted), unattended(policy, wanted)) {
        (true, _) => "a standing answer of this session covers it",
        (false, true) => "the settings let it run unattended",
        (false, false) => "it reads inside the workspace, or touches nothing",
    }
}

fn denied_by(session: &Session, policy: &Policy, tool: &str, wanted: Wanted<'_>) -> Option<String> {
    if policy.deny.is_empty() {
        return None;
    }
    let denials = Denials::of_texts(&policy.deny);
    let of_file = |path: &str| denials.denial_of_file(tool, path, &session.roots);
    let rule = match wanted {
        Wanted::Payload(Payload::Read { everywhere: true, .. }) => denials.denial_of_tool(tool),
        Wanted::Payload(Payload::Read { path, also, .. }) => {
            of_file(path).or_else(|| also.iter().find_map(|path| of_file(path)))
        }
        Wanted::Change(Change { path, .. }) => of_file(path),
        Wanted::Payload(Payload::Command { line, .. }) => denials.denial(tool, Some(line)),
        // It ends for a reason of its own, which is the one to tell.
        Wanted::Payload(Payload::Denied { .. } | Payload::Refused { .. }) => None,
        Wanted::Payload(_) => denials.denial(tool, None),
    };
    rule.map(|rule| rule.text.clone())
}

fn standing(session: &Session, wanted: Wanted<'_>) -> bool {
    session.rules.iter().any(|rule| match (rule, wanted) {
        (Rule::Edits, Wanted::Change(_)) => true,
        (Rule::Command { line, cwd }, Wanted::Payload(Payload::Command { line: wants, cwd: at, .. })) => {
            // A log may hold an answer that could not be given today.
            line == wants && cwd == at && may_stand(line)
        }
        (Rule::Read { path }, Wanted::Payload(Payload::Read { path: wants, .. })) => path == wants,
        _ => false,
    })
}

fn unattended(policy: &Policy, wanted: Wanted<'_>) -> bool {
    let Some(allowed) = policy.unattended else { return false };
    match wanted {
        Wanted::Change(_) => allowed.edit,
        Wanted::Payload(Payload::Command { .. }) => allowed.command,
        Wanted::Payload(_) => false,
    }
}

/// The rule an "always" to this call makes; none where it cannot be had.
pub fn standing_rule(wanted: Wanted<'_>) -> Option<Rule> {
    match wanted {
        Wanted::Change(_) => Some(Rule::Edits),
        Wanted::Payload(Payload::Command { line, .. }) if !may_stand(line) => None,
        Wanted::Payload(Payload::Command { line, cwd, .. }) => {
            Some(Rule::Command { line: line.clone(), cwd: cwd.clone() })
        }
        Wanted::Payload(Payload::Read { path, .. }) => Some(Rule::Read { path: path.clone() }),
        Wanted::Payload(_) => None,
    }
}
