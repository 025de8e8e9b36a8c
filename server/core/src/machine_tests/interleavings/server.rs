//! What the server's shell does for each step, with the editor double in place of an editor.
//!
//! As the shell, it believes only the text.

use super::editor::Author;
use super::world::{World, does_work, uri};
use crate::machine::input::{
    ChangeNow, EditLocation, EditOutcome, EditReport, Input, PreparedEdits, PreparedFile, RefusedEdit,
    ReobservedChange, Report,
};
use crate::machine::step::{BatchPart, Step, next_steps};
use crate::machine_tests::{done, prompt, reply};
use crate::policy::cause::{Cause, Reason};
use crate::policy::observation::ObservedPath;
use crate::record::{
    BatchId, CallEnd, CallPart, ChangeSetId, EditCheck, EditsMode, FileChange, Policy, ToolCallId,
};
use crate::session::HunkState;
use crate::text::draft::Draft;
use crate::text::edit::{lines, text_edits};
use crate::text::review::{
    Hunk, Presence, apply_hunks, hunks, presence_of_cut_short, present_all, text_after,
};

/// What an editor does with an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behaviour {
    Honest,
    /// Refuses it, because the user typed first.
    Stale,
    /// Says that it was applied, and does nothing.
    Lies,
    /// Makes only the first of its edits.
    Partly,
    /// Makes it, and the user takes it back at once.
    Undone,
    /// Makes it, and the server is killed before it hears of it.
    Killed,
}

/// What became of an edit.
pub enum Sent {
    Made,
    NotMade,
    Killed,
}

impl World<'_> {
    /// Carries out one step that is due.
    pub fn step(&mut self) {
        let mut steps = next_steps(&self.bench.session);
        if steps.iter().any(does_work) {
            steps.retain(does_work);
        }
        let Some(step) = steps.get(self.dice.roll(steps.len().max(1))).cloned() else {
            let edits = EditsMode::ALL[self.dice.roll(3)];
            let prompted = prompt("do it");
            let policy = Policy { edits, ..prompted.policy.clone() };
            self.tells(format!("a prompt, {edits:?}"));
            let _ = self.bench.input(Input::prompted(crate::machine::input::Prompt { policy, ..prompted }));
            return;
        };
        match &step {
            Step::CallModel { .. } => self.model(),
            // No run of these has a context.
            Step::ReadContext { .. } | Step::Compact { .. } => {}
            Step::LookOutside { .. } => {
                self.report(step, Report::LookedOutside(None));
                self.model();
            }
            Step::Prepare { calls, .. } => {
                let report = self.prepared(calls);
                self.report(step, report);
            }
            Step::Reobserve { changes, .. } => {
                let found = changes.iter().filter_map(|id| self.reobserved(id)).collect();
                self.report(step, Report::Reobserved(found));
            }
            Step::Apply { batch, part } => self.apply(&step, batch, part),
            Step::Settle { change_set } => {
                let check = self.settled(change_set);
                // The server asks the user to look at a file that is not clear, and lists no hunk of it.
                let change = self.bench.session.changes.get(change_set).map(|state| state.change.clone());
                if let Some(change) = change
                    && check == EditCheck::Unclear
                {
                    let file = self.file(&change.target);
                    self.files[file].is_agents = false;
                }
                self.tells(format!("{change_set} settled: {check:?}"));
                self.report(step, Report::Settled(check));
            }
            Step::Review { batch, .. } => self.review(&step, batch),
            Step::RunTool { .. } => self.report(step, Report::Finished(done(CallEnd::Failed))),
            Step::Wake(wake) => {
                let _ = self.bench.input(Input::Woke(wake.clone()));
            }
            Step::DeliverAsk { .. } => {}
        }
    }

    pub fn report(&mut self, step: Step, report: Report) {
        // A report of a step that should not run any more is refused.
        let _ = self.bench.input(Input::Step { step, report });
    }

    /// One reply of the model: a few edits, or the end of the run.
    fn model(&mut self) {
        let calls: Vec<String> = match self.dice.roll(5) {
            0 => Vec::new(),
            _ => (0..1 + self.dice.roll(4)).map(|_| self.edit()).collect(),
        };
        self.tells(format!("the model calls {calls:?}"));
        let calls: Vec<(&str, &str)> = calls.iter().map(|call| ("edit_file", call.as_str())).collect();
        for report in [Report::TurnBegan, Report::ReplyStarted, Report::Replied(reply("", &calls))] {
            let steps = next_steps(&self.bench.session);
            if let Some(step) = steps.into_iter().find(|step| matches!(step, Step::CallModel { .. })) {
                self.report(step, report);
            }
        }
    }

    /// Returns the arguments of an edit that replaces some lines of a file.
    fn edit(&mut self) -> String {
        let file = self.dice.roll(self.files.len());
        let text = self.files[file].editor.text();
        let all: Vec<&str> = lines(&text).collect();
        let from = self.dice.roll(all.len().max(1));
        let old: Vec<&str> = all.iter().skip(from).take(1 + self.dice.roll(3)).copied().collect();
        let end = if self.files[file].name == "b.txt" { "\r\n" } else { "\n" };
        let mut new: Vec<String> = old.iter().map(|line| (*line).to_owned()).collect();
        for _ in 0..=self.dice.roll(2) {
            self.words += 1;
            // Now and then a line that is in the text already.
            let line = match self.dice.roll(5) {
                0 => {
                    all.get(self.dice.roll(all.len().max(1))).map_or(String::new(), |line| (*line).to_owned())
                }
                1 => end.to_owned(),
                _ => format!("agent{} ☂{end}", self.words),
            };
            let at = self.dice.roll(new.len() + 1);
            match self.dice.roll(3) {
                0 => new.insert(at, line),
                1 if at < new.len() => drop(new.remove(at)),
                _ if at < new.len() => new[at] = line,
                _ => new.push(line),
            }
        }
        let arguments = serde_json::json!({
            "path": self.files[file].name, "old_text": old.concat(), "new_text": new.concat(),
        });
        arguments.to_string()
    }

    fn prepared(&mut self, calls: &[ToolCallId]) -> Report {
        let mut drafts: Vec<(usize, Draft, Vec<ToolCallId>)> = Vec::new();
        let mut refused = Vec::new();
        for id in calls {
            let Some(call) = self.bench.session.call(id) else { continue };
            let given: serde_json::Value =
                serde_json::from_str(&call.reply.calls[call.index].arguments).expect("arguments");
            let text = |name: &str| given[name].as_str().unwrap_or_default().to_owned();
            let file = self.file(&uri(&text("path")));
            let at = drafts.iter().position(|(other, ..)| *other == file).unwrap_or_else(|| {
                let before = self.files[file].editor.text();
                drafts.push((file, Draft::of(before.as_str().into()), Vec::new()));
                drafts.len() - 1
            });
            let draft = &drafts[at].1;
            let (old, now) = (text("old_text"), draft.text().to_owned());
            let after = now.replacen(&old, &text("new_text"), 1);
            if old.is_empty() || now.matches(&old).count() != 1 || after == now {
                let why = Reason::new(Cause::NotFound, "it is not there once");
                let seen = Some(ObservedPath::inside(text("path")));
                refused.push(RefusedEdit { call: id.clone(), seen, why: Some(why), may_reveal: false });
                continue;
            }
            let edit = drafts[at].2.len();
            drafts[at].1 = drafts[at].1.after(edit, after.into());
            drafts[at].2.push(id.clone());
        }
        let mut files = Vec::new();
        for (file, draft, calls) in drafts.into_iter().filter(|(.., calls)| !calls.is_empty()) {
            let part = |(edit, call): (usize, ToolCallId)| CallPart { call, hunks: draft.made_by(edit) };
            let parts = calls.into_iter().enumerate().map(part).collect();
            let change = self.change(file, parts, draft.hunks().to_vec());
            files.push(PreparedFile { seen: ObservedPath::inside(&change.path), change });
        }
        Report::PreparedEdits(PreparedEdits { files, refused })
    }

    fn change(&mut self, file: usize, parts: Vec<CallPart>, hunks: Vec<Hunk>) -> FileChange {
        let text = self.files[file].editor.text();
        let hash = format!("{:064x}", self.blobs.len());
        self.blobs.insert(hash.clone(), text);
        let name = self.files[file].name;
        FileChange {
            change_set: "".into(),
            parts,
            path: name.to_owned(),
            uri: uri(name),
            target: uri(name),
            open: self.files[file].is_open,
            existed: true,
            always_ask: None,
            mark: None,
            tasks: Vec::new(),
            before: Some(hash),
            operation: None,
            hunks: hunks.into(),
        }
    }

    fn reobserved(&mut self, id: &ChangeSetId) -> Option<ReobservedChange> {
        let state = self.bench.session.changes.get(id)?;
        let change = state.of_hunks(&state.in_state(HunkState::Proposed));
        let found = match self.made_anew(&change) {
            None => ChangeNow::Gone { why: "it has no place".to_owned() },
            Some(fresh) => {
                let lines = |hunks: &[Hunk]| -> Vec<(Vec<String>, Vec<String>)> {
                    hunks.iter().map(|hunk| (hunk.removed.clone(), hunk.inserted.clone())).collect()
                };
                if lines(&change.hunks) == lines(&fresh.hunks) {
                    ChangeNow::Same
                } else {
                    let seen = Box::new(ObservedPath::inside(&fresh.path));
                    ChangeNow::Other { change: Box::new(fresh), seen }
                }
            }
        };
        Some(ReobservedChange { change_set: id.clone(), found })
    }

    /// Returns a change as it would be made in the text of now; `None` if it has no place.
    fn made_anew(&mut self, change: &FileChange) -> Option<FileChange> {
        let file = self.file(&change.target);
        let text = self.files[file].editor.text();
        let wanted = apply_hunks(&text, &change.hunks).ok().filter(|wanted| *wanted != text)?;
        let fresh = hunks(&text, &wanted);
        let ids: Vec<String> = fresh.iter().map(|hunk| hunk.id.clone()).collect();
        let parts = change.parts.iter().map(|part| CallPart { call: part.call.clone(), hunks: ids.clone() });
        let parts = parts.collect();
        let change_set = change.change_set.clone();
        Some(FileChange { change_set, ..self.change(file, parts, fresh) })
    }

    fn apply(&mut self, step: &Step, batch: &BatchId, part: &BatchPart) {
        let of_batch = |state: &&crate::session::ChangeState| {
            state.batches.contains_key(batch) && part.has(&state.change)
        };
        let changes: Vec<FileChange> = self
            .bench
            .session
            .live_changes()
            .into_iter()
            .filter(of_batch)
            .map(|state| state.of_hunks(&state.batches[batch]))
            .collect();
        if changes.is_empty() {
            return self.report(step.clone(), Report::Finished(done(CallEnd::Failed)));
        }
        for change in changes {
            let Some(outcome) = self.applied(&change) else { return self.is_killed() };
            self.tells(format!("{} of {}: {outcome:?}", change.change_set, change.path));
            let change_set = change.change_set.clone();
            self.report(
                step.clone(),
                Report::Edited { change_set, report: EditReport { outcome, elapsed_ms: 1, on: None } },
            );
        }
    }

    /// Makes a change in three tries; `None` if the server was killed.
    fn applied(&mut self, change: &FileChange) -> Option<EditOutcome> {
        let file = self.file(&change.target);
        let location = if change.open { EditLocation::Open } else { EditLocation::Saved };
        let not_applied = |why: &str, in_doubt| EditOutcome::NotApplied { why: why.to_owned(), in_doubt };
        for _ in 0..3 {
            let text = self.files[file].editor.text();
            if self.after(change).as_ref() == Some(&text) {
                // A server that was killed has made it.
                return Some(EditOutcome::Landed {
                    location,
                    exact: true,
                    formatted: crate::text::trace::Formatting::default(),
                });
            }
            let Ok(wanted) = apply_hunks(&text, &change.hunks) else {
                return Some(not_applied("it has no place", false));
            };
            if wanted == text {
                // Somebody else wrote the same lines meanwhile. They count as the agent's, and go with an undo.
                self.files[file].is_agents = false;
                return Some(EditOutcome::Landed {
                    location,
                    exact: true,
                    formatted: crate::text::trace::Formatting::default(),
                });
            }
            let removed: Vec<&str> =
                change.hunks.iter().flat_map(|hunk| &hunk.removed).map(String::as_str).collect();
            let inserted: Vec<&str> =
                change.hunks.iter().flat_map(|hunk| &hunk.inserted).map(String::as_str).collect();
            let then = present_all(&text, &change.hunks);
            self.writes = Author::Task;
            match self.sends(file, &wanted, &removed, &inserted) {
                Sent::Killed => {
                    // Where lines repeat, only the text for which the change was made tells whether it was made.
                    let before = change.before.as_ref().and_then(|hash| self.blobs.get(hash));
                    self.files[file].is_agents &= before == Some(&text);
                    return None;
                }
                Sent::Made => {}
                Sent::NotMade => continue,
            }
            if self.files[file].editor.text() == wanted {
                return Some(EditOutcome::Landed {
                    location,
                    exact: true,
                    formatted: crate::text::trace::Formatting::default(),
                });
            }
            let now = present_all(&self.files[file].editor.text(), &change.hunks);
            let is_there = |presence: &Presence| *presence == Presence::Landed;
            if now.iter().all(is_there) {
                return Some(EditOutcome::Landed {
                    location,
                    exact: false,
                    formatted: crate::text::trace::Formatting::default(),
                });
            }
            if then.iter().zip(&now).any(|(then, now)| !is_there(then) && is_there(now)) {
                let landed = change.hunks.iter().zip(&now).filter(|(_, now)| is_there(now));
                return Some(EditOutcome::Partly {
                    landed: landed.map(|(hunk, _)| hunk.id.clone()).collect(),
                });
            }
            if self.files[file].editor.text() == text {
                return Some(not_applied("the text does not show it", true));
            }
            return Some(EditOutcome::Undone);
        }
        match self.made_anew(change) {
            Some(change) => Some(EditOutcome::Overtaken {
                seen: Box::new(ObservedPath {
                    overtaken: Some("the text kept changing".to_owned()),
                    ..ObservedPath::inside(&change.path)
                }),
                change: Box::new(change),
                why: "the text kept changing".to_owned(),
            }),
            None => Some(not_applied("it has no place", false)),
        }
    }

    /// Sends an edit that leads to a text. It may remove and insert only these lines.
    pub fn sends(&mut self, file: usize, wanted: &str, removed: &[&str], inserted: &[&str]) -> Sent {
        let text = self.files[file].editor.text();
        let edits = text_edits(&text, wanted, self.encoding);
        let behaviour = match self.dice.roll(16) {
            10 | 11 if self.files[file].is_open => Behaviour::Stale,
            12 if self.files[file].is_open => Behaviour::Lies,
            13 if self.files[file].is_open => Behaviour::Partly,
            14 if self.files[file].is_open => Behaviour::Undone,
            15 => Behaviour::Killed,
            _ => Behaviour::Honest,
        };
        self.tells(format!("{behaviour:?}: {edits:?}"));
        match behaviour {
            Behaviour::Honest => self.server_edits(file, &edits, removed, inserted),
            Behaviour::Stale => {
                self.types();
                return Sent::NotMade;
            }
            Behaviour::Lies => {}
            Behaviour::Partly => {
                self.files[file].is_agents &= edits.len() == 1;
                self.files[file].is_partly |= edits.len() > 1;
                self.server_edits(file, &edits[..1], removed, inserted);
            }
            Behaviour::Undone => {
                self.server_edits(file, &edits, removed, inserted);
                self.files[file].editor.undoes();
                self.tell_server(file, None);
            }
            Behaviour::Killed => {
                self.server_edits(file, &edits, removed, inserted);
                return Sent::Killed;
            }
        }
        Sent::Made
    }

    /// Returns the text that a change makes of the text for which it was made.
    fn after(&self, change: &FileChange) -> Option<String> {
        text_after(self.blobs.get(change.before.as_ref()?)?, &change.hunks)
    }

    fn settled(&self, id: &ChangeSetId) -> EditCheck {
        let Some(state) = self.bench.session.changes.get(id) else { return EditCheck::Unclear };
        let text = self.files[self.file(&state.change.target)].editor.text();
        let sent = state.of_hunks(&state.in_state(HunkState::Applying));
        let before = sent.before.as_ref().and_then(|hash| self.blobs.get(hash));
        presence_of_cut_short(&text, before.map(String::as_str), &sent.hunks).into()
    }

    /// The server is killed; another one opens the log.
    pub fn is_killed(&mut self) {
        self.tells("killed");
        self.restarts();
    }

    pub fn restarts(&mut self) {
        self.tells("restarts");
        for _ in 0..2 {
            self.switches();
            self.bench.session = self.bench.replayed();
            let epoch = self.bench.session.epoch + 1;
            if !self.bench.log.is_empty() {
                let _ = self.bench.input(Input::Opened { epoch });
            }
        }
    }
}
