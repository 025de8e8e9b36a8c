//! Hunks as clients see them in a review.

use adjutant_protocol::SessionId;
use adjutant_protocol::review::{AwayPlace, DecidedHunk, HunkName, KeptBy, MadeBy, ReviewHunk, UndoneBy};
use adjutant_protocol::update::HunkState as WireHunkState;

use super::convert::diff_of;
use super::state::applied_state;
use crate::record::{AllowedBy, AskId, ChangeSetId, FileChange, HunkSet, ReviewState, ReviewedBy, RunId};
use crate::session::hunks::ids_of;
use crate::session::{AppliedChange, AppliedHunk, ChangeState, HunkState, Session};
use crate::text::review::{Placement, placement_all};
use crate::text::trace::{HunkText, Side, Trace};

/// A change with hunks that wait for an answer or are on their way, as clients have to know it.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitingHunks {
    pub change: FileChange,
    /// The ids of the hunks, in order, and their states.
    pub hunks: Vec<(String, HunkState)>,
    pub run: RunId,
    pub ask: Option<AskId>,
}

/// Returns the changes of the open turn with hunks that wait for an answer or are on their way, in the order of their
/// calls.
pub fn waiting_changes(session: &Session) -> Vec<WaitingHunks> {
    let Some(run) = session.open_run() else { return Vec::new() };
    let of_change = |state: &ChangeState| {
        let state_of = |id: String| Some((state.hunks.get(&id).copied()?, id));
        let open = ids_of(&state.change).into_iter().filter_map(state_of);
        let hunks: Vec<_> =
            open.filter(|(state, _)| !state.is_final()).map(|(state, id)| (id, state)).collect();
        let ask = session.open_ask_about(&state.change.change_set).map(|open| open.ask.id.clone());
        (!hunks.is_empty()).then(|| WaitingHunks {
            change: state.change.clone(),
            hunks,
            run: run.id.clone(),
            ask,
        })
    };
    session.live_changes().into_iter().filter_map(of_change).collect()
}

/// Returns the hunks that wait for an answer or are on their way, as clients see them. Their lines are those of the text
/// for which they were proposed.
pub fn hunks(session: &Session) -> Vec<ReviewHunk> {
    waiting_changes(session).iter().flat_map(|waiting| waiting.views(&session.id)).collect()
}

impl WaitingHunks {
    /// Returns the hunks as clients see them.
    pub fn views(&self, session: &SessionId) -> Vec<ReviewHunk> {
        self.hunks.iter().map(|(id, state)| self.view(session, id, *state)).collect()
    }

    /// Returns the hunks of an open document where they would be applied in its text of now. A hunk that has no place there
    /// is left out, and so is an operation.
    pub fn views_in(&self, session: &SessionId, now: &str) -> Vec<ReviewHunk> {
        if self.change.operation.is_some() {
            // It is about the file, not about lines.
            return Vec::new();
        }
        let places = placement_all(now, &self.change.hunks);
        let placed = self.change.hunks.iter().zip(places).filter_map(|(hunk, place)| {
            let Placement::At { line, .. } = place else { return None };
            let (id, state) = self.hunks.iter().find(|(id, _)| *id == hunk.id)?;
            let view = self.view(session, id, *state);
            Some(ReviewHunk { line: number(line), end_line: Some(number(line + hunk.removed.len())), ..view })
        });
        placed.collect()
    }

    fn view(&self, session: &SessionId, id: &str, state: HunkState) -> ReviewHunk {
        let change = &self.change;
        // A change that creates an empty file has one id and no lines.
        let hunk = change.hunks.iter().find(|hunk| hunk.id == id);
        let makers =
            change.parts.iter().filter(|part| hunk.is_none() || part.hunks.iter().any(|of| of == id));
        ReviewHunk {
            session_id: session.clone(),
            change_set_id: change.change_set.clone(),
            hunk_id: id.to_owned(),
            state: state.into(),
            uri: change.uri.clone(),
            path: change.path.clone(),
            operation: change.operation.as_ref().map(Into::into),
            line: hunk.map_or(0, |hunk| number(hunk.line)),
            end_line: hunk.map(|hunk| number(hunk.line + hunk.removed.len())),
            removed: hunk.map(|hunk| hunk.removed.concat()).unwrap_or_default(),
            inserted: hunk.map(|hunk| hunk.inserted.concat()).unwrap_or_default(),
            diff: diff_of(
                &change.path,
                change.existed,
                change.operation.as_ref(),
                hunk.map_or(&[], std::slice::from_ref),
            ),
            run_id: self.run.clone(),
            tool_call_ids: makers.map(|part| part.call.clone()).collect(),
            text: None,
            user_lines: 0,
            beneath: Vec::new(),
            formatted: None,
            kept_by: None,
            undone_by: None,
            away: None,
            comment: None,
            earlier: false,
            made_by: None,
            ask_id: self.ask.clone(),
        }
    }
}

/// Returns the ids of the hunks of a change that wait for an answer.
pub fn waiting(session: &Session, change_set: &ChangeSetId) -> Vec<String> {
    session.changes.get(change_set).map(|state| state.in_state(HunkState::Proposed)).unwrap_or_default()
}

/// Returns the states of these hunks.
pub fn states(session: &Session, targets: &[HunkSet]) -> Vec<DecidedHunk> {
    let of_target = |target: &HunkSet| -> Vec<DecidedHunk> {
        let Some(state) = session.changes.get(&target.change_set) else { return Vec::new() };
        let decided = |id: &String| {
            let hunk = state.hunks.get(id).copied()?;
            let change_set_id = target.change_set.clone();
            Some(DecidedHunk { change_set_id, hunk_id: id.clone(), state: hunk.into(), why: None })
        };
        target.hunks.iter().filter_map(decided).collect()
    };
    targets.iter().flat_map(of_target).collect()
}

/// Where an applied hunk is, and what is there.
pub struct FoundHunk<'a> {
    pub trace: &'a Trace,
    /// The lines of its place in the text of now.
    pub text: String,
    /// The hunks that stand on it.
    pub beneath: Vec<HunkName>,
    /// Where else its text is, if it is not in the file.
    pub away: Option<AwayPlace>,
}

/// Returns an applied hunk as clients see it; `None` if its lines are not kept any more.
pub fn applied_hunk(
    session: &SessionId,
    change: &AppliedChange,
    hunk: &AppliedHunk,
    found: FoundHunk<'_>,
) -> Option<ReviewHunk> {
    let lines = change.lines_of(hunk)?;
    let FoundHunk { trace, text, beneath, away } = found;
    let makers = change.parts.iter().filter(|part| part.hunks.contains(&hunk.id));
    let is_amended = away.is_none() && is_amended(hunk, trace);
    let state = if away.is_some() { WireHunkState::Away } else { state_now(hunk, trace) };
    let formatted = hunk.formatted.as_deref().unwrap_or_default();
    let own_lines: Vec<&str> =
        lines.inserted.iter().map(String::as_str).chain(crate::text::edit::lines(formatted)).collect();
    let user_lines = match trace.found {
        _ if away.is_some() => 0,
        HunkText::Amended { others } => number(others),
        // What the user had made of it, restored. Lines of later changes in its place are not theirs.
        HunkText::Is(Side::After) if is_amended => {
            let made = hunk.amended.as_deref().unwrap_or(&text);
            number(crate::text::edit::lines(made).filter(|line| !own_lines.contains(line)).count())
        }
        HunkText::Is(_) | HunkText::Gone => 0,
    };
    let is_kept = state == WireHunkState::Kept || away.is_some() && hunk.state == ReviewState::Kept;
    let ask_id = match &hunk.allowed_by {
        Some(AllowedBy::Answer { ask }) => Some(ask.clone()),
        _ => None,
    };
    Some(ReviewHunk {
        session_id: session.clone(),
        change_set_id: change.change_set.clone(),
        hunk_id: hunk.id.clone(),
        state,
        uri: change.uri.clone(),
        path: change.path.clone(),
        operation: change.operation.as_ref().map(Into::into),
        line: number(trace.lines.start),
        end_line: Some(number(trace.lines.end)),
        removed: lines.removed.concat(),
        inserted: lines.inserted.concat(),
        diff: diff_of(
            &change.path,
            change.existed,
            change.operation.as_ref(),
            if lines.is_empty() { &[] } else { std::slice::from_ref(lines) },
        ),
        run_id: change.maker.run.clone(),
        tool_call_ids: makers.map(|part| part.call.clone()).collect(),
        text: is_amended.then_some(text),
        user_lines,
        beneath,
        formatted: hunk.formatted.clone(),
        kept_by: is_kept.then(|| kept_by(hunk)),
        undone_by: undone_by(hunk).filter(|_| state == WireHunkState::Undone),
        away,
        comment: hunk.comment.clone(),
        earlier: change.earlier,
        made_by: Some(MadeBy {
            task: change.maker.title.clone(),
            prompts: change.maker.prompts.texts.clone(),
            prompts_left_out: change.maker.prompts.left_out,
            model: change.maker.model.clone(),
            at: change.at,
            allowed_by: allowed_text(hunk.allowed_by.as_ref()).to_owned(),
            ask_id,
            mark: change.mark.clone(),
        }),
        ask_id: None,
    })
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Returns why a kept hunk is kept.
fn kept_by(hunk: &AppliedHunk) -> KeptBy {
    match (hunk.reviewed_by, &hunk.allowed_by) {
        _ if hunk.by_age => KeptBy::Age,
        (Some(ReviewedBy::Decision | ReviewedBy::Editor | ReviewedBy::Close), _) => KeptBy::Review,
        (Some(ReviewedBy::Commit), _) => KeptBy::Commit,
        (None, Some(AllowedBy::Answer { .. })) => KeptBy::Question,
        (None, _) => KeptBy::EditsMode,
    }
}

/// Returns how a hunk was undone, if the log says it.
fn undone_by(hunk: &AppliedHunk) -> Option<UndoneBy> {
    match (hunk.state, hunk.reviewed_by?) {
        (ReviewState::Undone, ReviewedBy::Decision) => Some(UndoneBy::Review),
        (ReviewState::Undone, ReviewedBy::Editor) => Some(UndoneBy::Editor),
        (ReviewState::Undone, ReviewedBy::Close) => Some(UndoneBy::Close),
        _ => None,
    }
}

/// Whether the text in the place of a hunk has lines of the user.
fn is_amended(hunk: &AppliedHunk, trace: &Trace) -> bool {
    match trace.found {
        HunkText::Amended { .. } => true,
        HunkText::Is(Side::After) => hunk.amended.is_some(),
        HunkText::Is(Side::Before) | HunkText::Gone => false,
    }
}

/// Whether the text has nothing of what a hunk inserted, although nobody has undone it.
pub fn is_missing(hunk: &AppliedHunk, trace: &Trace) -> bool {
    is_out(trace) && hunk.pending.is_none() && hunk.state != ReviewState::Undone
}

/// Whether the text has nothing of what a hunk inserted.
pub fn is_out(trace: &Trace) -> bool {
    match trace.found {
        HunkText::Is(side) => side == Side::Before,
        HunkText::Amended { others } => others == trace.lines.len(),
        HunkText::Gone => true,
    }
}

/// Whether the text has a hunk, whole or as the user changed it. Of one that the log says was undone only the whole counts: other
/// lines in its place are the user's.
pub fn is_in_text(hunk: &AppliedHunk, trace: &Trace) -> bool {
    match trace.found {
        HunkText::Is(side) => side == Side::After,
        HunkText::Amended { .. } => hunk.state != ReviewState::Undone,
        HunkText::Gone => false,
    }
}

/// Whether the text says of a hunk that it is undone and the log that it is not, or the other way round.
pub fn differs_from_log(hunk: &AppliedHunk, found: HunkText) -> bool {
    match found {
        HunkText::Is(side) => (side == Side::After) == (hunk.state == ReviewState::Undone),
        HunkText::Amended { .. } | HunkText::Gone => false,
    }
}

/// Returns the state of an applied hunk: what the log says, unless the text says otherwise.
fn state_now(hunk: &AppliedHunk, trace: &Trace) -> WireHunkState {
    let recorded = applied_state(hunk);
    match (recorded, trace.found) {
        (WireHunkState::Applying | WireHunkState::Undoing, _) => recorded,
        (WireHunkState::Kept, HunkText::Is(Side::Before)) => WireHunkState::Undone,
        (WireHunkState::Kept, _) => recorded,
        (_, HunkText::Is(Side::After)) if is_amended(hunk, trace) => WireHunkState::Amended,
        (WireHunkState::Undone, HunkText::Is(Side::After)) => WireHunkState::Applied,
        (WireHunkState::Undone, _) => recorded,
        (_, HunkText::Is(Side::After)) => WireHunkState::Applied,
        (_, HunkText::Is(Side::Before)) => WireHunkState::Undone,
        (_, HunkText::Amended { .. }) => WireHunkState::Amended,
        (_, HunkText::Gone) => WireHunkState::Away,
    }
}

fn allowed_text(by: Option<&AllowedBy>) -> &'static str {
    match by {
        Some(AllowedBy::Answer { .. }) => "a person, who was asked",
        Some(AllowedBy::Standing { .. }) => "the answer that allowed all edits in this session",
        Some(AllowedBy::EditsMode { .. }) => "the setting `edits.mode`",
        Some(AllowedBy::Consent) => "the consent to work unattended",
        Some(AllowedBy::Default | AllowedBy::Unknown) | None => "a rule",
    }
}

/// Returns the states of applied hunks after a decision. `why` says for each that was not done why.
pub fn applied_states(
    session: &Session,
    targets: &[HunkSet],
    why: impl Fn(&ChangeSetId, &str) -> Option<String>,
) -> Vec<DecidedHunk> {
    let of_target = |target: &HunkSet| -> Vec<DecidedHunk> {
        let Some(change) = session.applied.get(&target.change_set) else { return Vec::new() };
        let decided = |id: &String| {
            let state = applied_state(change.hunk(id)?);
            let change_set_id = target.change_set.clone();
            Some(DecidedHunk { why: why(&change_set_id, id), change_set_id, hunk_id: id.clone(), state })
        };
        target.hunks.iter().filter_map(decided).collect()
    };
    targets.iter().flat_map(of_target).collect()
}
