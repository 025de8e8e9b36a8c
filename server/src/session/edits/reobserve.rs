//! Checks whether changes that wait for an answer would still do what the user was shown, after the session was opened
//! again.
//!
//! Never runs a tool again: a proposal is its hunks, and some of them may be applied already.

use std::sync::Arc;

use adjutant_core::machine::accept::READ_AGAIN;
use adjutant_core::machine::input::{ChangeNow, ReobservedChange, Report};
use adjutant_core::policy::observation::ObservedPath;
use adjutant_core::policy::permission::stricter;
use adjutant_core::record::FileChange;
use adjutant_core::text::review::{CONTEXT_LINES, Hunk, apply_hunks, hunks};

use super::apply::updated_change;
use super::burst::approved_place;
use super::file_act::FileAct;
use super::propose::observed;
use super::{SessionWorld, current_file};
use crate::aside::aside;
use crate::tools::paths::ResolvedPath;

/// A change with the hunks that wait for an answer, and its file as it was observed.
pub struct WaitingChange {
    pub change: FileChange,
    pub seen: Option<ObservedPath>,
}

/// Returns what each change would do now.
pub async fn reobserve(place: &Arc<SessionWorld>, waiting: Vec<WaitingChange>) -> Report {
    let place = place.clone();
    let found = aside(move || {
        let found = |waiting: WaitingChange| ReobservedChange {
            change_set: waiting.change.change_set.clone(),
            found: now(&place, waiting),
        };
        waiting.into_iter().map(found).collect()
    });
    Report::Reobserved(found.await)
}

/// Blocks.
fn now(place: &SessionWorld, WaitingChange { change, seen }: WaitingChange) -> ChangeNow {
    let gone = |why: String| ChangeNow::Gone { why };
    let at = match approved_place(place, &change.path, &change.target) {
        Ok(at) => at,
        Err(why) => return gone(why),
    };
    if let Some(act) = FileAct::of(&change) {
        return operation_now(place, &at, seen.as_ref(), &act);
    }
    let now = match current_file(place, &at) {
        Ok(now) => now,
        Err(why) => return gone(why.text),
    };
    match (change.existed, now.exists) {
        (true, false) => return gone("the file is gone since it was shown".to_owned()),
        (false, true) => return gone(format!("the file was created meanwhile{READ_AGAIN}")),
        _ => {}
    }
    let fresh = observed(place, &at);
    // The change has only the path to which its links led, and the file may be special by the name that was given.
    let fresh = match &seen {
        Some(seen) => ObservedPath {
            write_class: stricter(seen.write_class, fresh.write_class),
            secret: seen.secret.or(fresh.secret),
            ..fresh
        },
        None => fresh,
    };
    let is_same_file = seen.as_ref().is_some_and(|seen| {
        (seen.inside, seen.secret, seen.write_class) == (fresh.inside, fresh.secret, fresh.write_class)
    });
    let wanted = match apply_hunks(&now.text, &change.hunks) {
        Ok(wanted) if wanted == now.text && now.exists => return gone("the file has it already".to_owned()),
        Ok(wanted) => wanted,
        Err(conflict) => return gone(format!("{conflict}{READ_AGAIN}")),
    };
    if is_same_file && shows_the_same(&change.hunks, &hunks(&now.text, &wanted)) {
        return ChangeNow::Same;
    }
    match updated_change(place, &change, &now, &wanted) {
        Ok(change) => {
            let route = place.world.abilities().way(now.open.is_some(), now.exists, now.has_bom);
            ChangeNow::Other { change: Box::new(change), seen: Box::new(ObservedPath { route, ..fresh }) }
        }
        Err(why) => gone(why),
    }
}

/// Returns what the deletion or the move of a file would do now: the same, or nothing. Blocks.
fn operation_now(
    place: &SessionWorld,
    at: &ResolvedPath,
    seen: Option<&ObservedPath>,
    act: &FileAct,
) -> ChangeNow {
    let gone = |why: String| ChangeNow::Gone { why };
    let fresh = observed(place, at);
    // The names that were given may be special, too, so that only a class that is new counts.
    let is_as_seen = |then: &ObservedPath| {
        (then.write_class, then.secret)
            == (stricter(then.write_class, fresh.write_class), then.secret.or(fresh.secret))
    };
    if !seen.is_some_and(is_as_seen) {
        return gone("the file is special in another way than when it was shown".to_owned());
    }
    match act.waits(place) {
        Ok(()) => ChangeNow::Same,
        Err(why) => gone(why),
    }
}

/// Whether hunks show the same lines with the same context. Their line numbers may differ, and so may the width of a
/// context that reaches to the next hunk: the hunk there may be applied by now.
fn shows_the_same(then: &[Hunk], now: &[Hunk]) -> bool {
    let is_same = |(then, now): (&Hunk, &Hunk)| {
        then.removed == now.removed
            && then.inserted == now.inserted
            && is_same_context(&then.context_before, &now.context_before, <[String]>::ends_with)
            && is_same_context(&then.context_after, &now.context_after, <[String]>::starts_with)
    };
    then.len() == now.len() && then.iter().zip(now).all(is_same)
}

/// Whether the shorter of two contexts is the part of the longer that is next to the hunk (`has`). A context of fewer
/// lines than usual is at the start or the end of its text, which is a part of what it shows.
fn is_same_context(one: &[String], other: &[String], has: fn(&[String], &[String]) -> bool) -> bool {
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    short == long || (short.len() >= CONTEXT_LINES && has(long, short))
}
