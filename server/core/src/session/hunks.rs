//! The state of hunks, from proposed to the end of their life: a function of the events alone.
//!
//! Never decides. `accept` uses the same function to see what its own events lead to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::policy::observation::ObservedPath;
use crate::record::{
    AllowedBy, BatchId, CallPart, ChangeSetId, EditCheck, Event, FileChange, HunkNote, ToolCallId,
};
use crate::session::maker::Maker;

/// The change sets of a session, by their ids.
pub type Changes = BTreeMap<ChangeSetId, ChangeState>;

/// The id of what a change without hunks does: it creates an empty file.
pub(super) const FILE: &str = "file";

/// The state of a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HunkState {
    Proposed,
    /// Allowed and on its way.
    Applying,
    /// In the text.
    Applied,
    Rejected,
    /// Sent, and not found in the text afterwards.
    NotApplied,
    /// Proposed again by a later change, for a later text.
    Replaced,
}

impl HunkState {
    /// Whether the call that made the hunk has nothing to wait for.
    pub fn is_final(self) -> bool {
        !matches!(self, HunkState::Proposed | HunkState::Applying)
    }
}

/// A change set and the state of its hunks.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeState {
    /// With at least one part, also if its record has none.
    pub change: FileChange,
    /// The file, as `Prepare` observed it.
    pub seen: Option<ObservedPath>,
    pub hunks: BTreeMap<String, HunkState>,
    /// The ids of its hunks, in order. A replay drops the hunks themselves once nothing needs them.
    ids: Vec<String>,
    /// How many lines each of its hunks removes and inserts, in the order of `ids`; empty if it has none.
    pub counts: Vec<(u32, u32)>,
    /// The hunks that each decision applies now. An entry stays until the outcome of its hunks is recorded.
    pub batches: BTreeMap<BatchId, Vec<String>>,
    /// What allowed each hunk that was ever on its way. Empty in logs of 0.1.
    pub allowed_by: BTreeMap<String, AllowedBy>,
    /// Whether the user or a rule has ever allowed some of its hunks.
    pub tried: bool,
    /// The number of times that these hunks were proposed. A new proposal counts only if the one before was allowed.
    pub attempt: usize,
    /// Sentences for the results of the calls, each with the ids of the hunks that it is about.
    pub notes: Vec<(Vec<String>, HunkNote)>,
    /// Its calls ended while the edit was on its way, so it may or may not be in the text.
    pub unsettled: bool,
    /// What proposed it; `None` only without an open run.
    pub maker: Option<Arc<Maker>>,
}

impl ChangeState {
    /// Returns a change that was just proposed. `call` made it alone if it has no parts (logs of 0.1).
    pub(crate) fn proposed(mut change: FileChange, call: &ToolCallId) -> Self {
        let ids = ids_of(&change);
        if change.parts.is_empty() {
            change.parts = vec![CallPart { call: call.clone(), hunks: ids.clone() }];
        }
        let hunks = ids.iter().map(|id| (id.clone(), HunkState::Proposed)).collect();
        let count = |lines: &[String]| u32::try_from(lines.len()).unwrap_or(u32::MAX);
        let counts = change.hunks.iter().map(|hunk| (count(&hunk.removed), count(&hunk.inserted))).collect();
        Self {
            hunks,
            ids,
            counts,
            batches: BTreeMap::new(),
            allowed_by: BTreeMap::new(),
            tried: false,
            attempt: 1,
            notes: Vec::new(),
            unsettled: false,
            maker: None,
            seen: None,
            change,
        }
    }

    /// Returns the calls that edit the file, in their order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCallId> {
        self.change.parts.iter().map(|part| &part.call)
    }

    /// Whether this call edits the file.
    pub fn is_of(&self, call: &ToolCallId) -> bool {
        self.calls().any(|other| other == call)
    }

    /// Whether a hunk is in this state.
    pub fn has(&self, state: HunkState) -> bool {
        self.hunks.values().any(|hunk| *hunk == state)
    }

    /// Whether an edit is on its way.
    pub fn is_applying(&self) -> bool {
        !self.batches.is_empty()
    }

    /// Returns its hunks in order, each with the numbers of lines that it removes and inserts.
    pub fn counted(&self) -> impl Iterator<Item = (&String, (u32, u32))> {
        self.ids.iter().zip(self.counts.iter().copied())
    }

    /// Returns the ids of the hunks in this state, in order.
    pub fn in_state(&self, state: HunkState) -> Vec<String> {
        self.ids.iter().filter(|id| self.hunks.get(*id) == Some(&state)).cloned().collect()
    }

    /// Returns the same change with these hunks alone.
    pub fn of_hunks(&self, ids: &[String]) -> FileChange {
        let change = &self.change;
        if ids.len() == self.ids.len() {
            return change.clone();
        }
        let ids: BTreeSet<&String> = ids.iter().collect();
        let part = |part: &CallPart| {
            let hunks: Vec<String> = part.hunks.iter().filter(|id| ids.contains(*id)).cloned().collect();
            // A part without hunks means that a later call replaced them, which is true only of those that had none.
            (!hunks.is_empty() || part.hunks.is_empty()).then(|| CallPart { call: part.call.clone(), hunks })
        };
        FileChange {
            parts: change.parts.iter().filter_map(part).collect(),
            hunks: change.hunks.iter().filter(|hunk| ids.contains(&hunk.id)).cloned().collect(),
            ..change.clone()
        }
    }

    /// Returns the ids of the hunks that a call waits for: those that it made. If a later call replaced all of them, it
    /// waits for the hunks of the file.
    pub fn waited_for<'a>(&'a self, call: &ToolCallId) -> Vec<&'a str> {
        let part = self.change.parts.iter().find(|part| part.call == *call);
        match part.map(|part| part.hunks.as_slice()) {
            None => Vec::new(),
            Some([]) => self.ids.iter().map(String::as_str).collect(),
            Some(ids) => ids.iter().map(String::as_str).collect(),
        }
    }

    /// Sets the state of hunks; no ids mean all of them (logs of 0.1 name none for an empty file).
    fn mark(&mut self, ids: &[String], state: HunkState, note: Option<&HunkNote>) {
        let all;
        let ids = match ids {
            [] => {
                all = self.ids.clone();
                &all
            }
            ids => ids,
        };
        for id in ids {
            self.hunks.insert(id.clone(), state);
        }
        if let Some(note) = note {
            self.notes.push((ids.to_vec(), note.clone()));
        }
        if state.is_final() {
            let ids: BTreeSet<&String> = ids.iter().collect();
            for hunks in self.batches.values_mut() {
                hunks.retain(|id| !ids.contains(id));
            }
            self.batches.retain(|_, hunks| !hunks.is_empty());
        }
    }

    fn settle(&mut self, found: EditCheck, ids: &[String], note: Option<&HunkNote>) {
        let applying = self.in_state(HunkState::Applying);
        let ids = if ids.is_empty() { &applying } else { ids };
        let state = match found {
            EditCheck::Landed => HunkState::Applied,
            EditCheck::NotLanded | EditCheck::Unclear => HunkState::NotApplied,
        };
        if !ids.is_empty() {
            self.mark(ids, state, note);
        }
    }
}

/// Returns the ids of the hunks of a change, in order.
pub fn ids_of(change: &FileChange) -> Vec<String> {
    if change.hunks.is_empty() {
        return vec![FILE.to_owned()];
    }
    change.hunks.iter().map(|hunk| hunk.id.clone()).collect()
}

/// Folds one event into the changes.
pub fn fold(changes: &mut Changes, event: &Event) {
    match event {
        Event::ChangeProposed { call, change, replaces, .. }
        | Event::OperationProposed { call, change, replaces, .. } => {
            let mut proposed = ChangeState::proposed((**change).clone(), call);
            if let Some(old) = replaces
                && let Some(state) = changes.get_mut(&old.change_set)
            {
                state.mark(&old.hunks, HunkState::Replaced, None);
                proposed.attempt = state.attempt + usize::from(state.tried);
            }
            if change.parts.is_empty() {
                // Version 0.1 recorded the new proposal of a call, and no end of the old one.
                for state in changes.values_mut().filter(|state| state.is_of(call)) {
                    let void = state.in_state(HunkState::Proposed);
                    if !void.is_empty() {
                        state.mark(&void, HunkState::Replaced, None);
                    }
                }
            }
            changes.insert(change.change_set.clone(), proposed);
        }
        Event::HunkDecided { change_set, hunks, apply: false, note, .. } => {
            if let Some(state) = changes.get_mut(change_set) {
                state.mark(hunks, HunkState::Rejected, note.as_ref());
            }
        }
        Event::ApplyStarted { change_set, hunks, batch, allowed_by, .. } => {
            if let Some(state) = changes.get_mut(change_set) {
                state.mark(hunks, HunkState::Applying, None);
                let batch = batch.clone().unwrap_or_else(|| BatchId(change_set.0.clone()));
                let hunks = if hunks.is_empty() { state.ids.clone() } else { hunks.clone() };
                if let Some(by) = allowed_by {
                    state.allowed_by.extend(hunks.iter().map(|id| (id.clone(), by.clone())));
                }
                state.batches.insert(batch, hunks);
                state.tried = true;
            }
        }
        Event::Applied { change_set, hunks, note, .. } => {
            if let Some(state) = changes.get_mut(change_set) {
                state.mark(hunks, HunkState::Applied, note.as_ref());
            }
        }
        Event::Settled { change_set, found, hunks, note } => {
            if let Some(state) = changes.get_mut(change_set) {
                state.settle(*found, hunks, note.as_ref());
            }
        }
        _ => {}
    }
}

/// Returns the changes after these events.
pub fn after<'a>(changes: &Changes, events: impl IntoIterator<Item = &'a Event>) -> Changes {
    let mut changes = changes.clone();
    events.into_iter().for_each(|event| fold(&mut changes, event));
    changes
}

/// Whether a call has nothing to wait for: it made a change, and all its hunks have ended.
pub fn has_ended(changes: &Changes, call: &ToolCallId) -> bool {
    let mut own = changes.values().filter(|state| state.is_of(call)).peekable();
    let is_final = |state: &ChangeState, id: &str| state.hunks.get(id).is_none_or(|hunk| hunk.is_final());
    own.peek().is_some() && own.all(|state| state.waited_for(call).into_iter().all(|id| is_final(state, id)))
}
