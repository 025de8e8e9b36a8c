//! May this run? The verdict on a prepared call, as one pure function.
//!
//! Never looks at the world: what was seen of it came with the payload.

use crate::config::Denials;
use crate::event::{Change, Payload, Policy, Rule};
use crate::session::Session;

/// What the rules say of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Safe,
    /// With the reason, for the user.
    Ask(String),
    /// With the reason, for the model and the user.
    Deny(String),
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
    if let Some(rule) = denied_by(policy, tool, wanted) {
        return Verdict::Deny(format!("the rule \"{rule}\" of your settings forbids it"));
    }
    if let Wanted::Payload(Payload::Denied { reason }) = wanted {
        return Verdict::Deny(reason.clone());
    }
    if !crate::tool::allowed_in(policy.mode, tool) {
        return Verdict::Deny(format!("\"{tool}\" is not available in {} mode", policy.mode.name()));
    }
    if let Wanted::Change(Change { always_ask: Some(reason), .. }) = wanted {
        return Verdict::Ask(reason.clone());
    }
    if standing(session, wanted) || unattended(policy, wanted) {
        return Verdict::Safe;
    }
    match wanted {
        Wanted::Change(_) => {
            Verdict::Ask("every edit asks until you allow edits for this session".to_owned())
        }
        Wanted::Payload(Payload::Command { .. }) => Verdict::Ask("every command asks".to_owned()),
        Wanted::Payload(Payload::Read { ask: Some(reason), .. }) => Verdict::Ask(reason.clone()),
        Wanted::Payload(Payload::Question { .. }) => Verdict::Ask("the model has a question".to_owned()),
        Wanted::Payload(_) => Verdict::Safe,
    }
}

/// Why a call that is safe is so; for the debug log.
pub fn why_safe(session: &Session, policy: &Policy, wanted: Wanted<'_>) -> &'static str {
    match (standing(session, wanted), unattended(policy, wanted)) {
        (true, _) => "a standing answer of this session covers it",
        (false, true) => "the settings let it run unattended",
        (false, false) => "it reads inside the workspace, or touches nothing",
    }
}

fn denied_by(policy: &Policy, tool: &str, wanted: Wanted<'_>) -> Option<String> {
    let subject = match wanted {
        Wanted::Change(change) => Some(change.path.as_str()),
        Wanted::Payload(Payload::Read { path, .. }) => Some(path.as_str()),
        Wanted::Payload(Payload::Command { line, .. }) => Some(line.as_str()),
        Wanted::Payload(_) => None,
    };
    if policy.deny.is_empty() {
        return None;
    }
    Denials::of_texts(&policy.deny).denial(tool, subject).map(|rule| rule.text.clone())
}

fn standing(session: &Session, wanted: Wanted<'_>) -> bool {
    session.rules.iter().any(|rule| match (rule, wanted) {
        (Rule::Edits, Wanted::Change(_)) => true,
        (Rule::Command { line, cwd }, Wanted::Payload(Payload::Command { line: wants, cwd: at, .. })) => {
            line == wants && cwd == at
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

/// Whether a part of a line may be what another command prints; quoted ones count too, which is strict.
fn has_substitution(line: &str) -> bool {
    ["$(", "`", "<(", ">("].iter().any(|sign| line.contains(sign))
}

/// The rule an "always" to this call makes; none where it cannot be had.
pub fn standing_rule(wanted: Wanted<'_>) -> Option<Rule> {
    match wanted {
        Wanted::Change(_) => Some(Rule::Edits),
        // What another command prints is another line each time.
        Wanted::Payload(Payload::Command { line, .. }) if has_substitution(line) => None,
        Wanted::Payload(Payload::Command { line, cwd, .. }) => {
            Some(Rule::Command { line: line.clone(), cwd: cwd.clone() })
        }
        Wanted::Payload(Payload::Read { path, .. }) => Some(Rule::Read { path: path.clone() }),
        Wanted::Payload(_) => None,
    }
}
