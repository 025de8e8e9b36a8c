//! What the server's shell does for a decision of the review, and for what it sees in the text.

use super::editor::Author;
use super::server::Sent;
use super::world::World;
use crate::machine::input::{Input, Report, ReviewOutcome, ReviewTarget};
use crate::machine::step::Step;
use crate::record::{BatchId, ReviewState, ReviewedBy, SeenHunk};
use crate::text::edit::lines;
use crate::text::trace::{HunkText, Side, SideTarget, TurnedHunk, UserText, turn, with_side};

impl World<'_> {
    /// Carries out a decision of the review, file by file.
    pub fn review(&mut self, step: &Step, batch: &BatchId) {
        for file in 0..self.files.len() {
            let changes = self.changes_of(file);
            let mut wanted: Vec<SideTarget> = Vec::new();
            let mut restore = false;
            for (number, change) in changes.iter().enumerate() {
                for (hunk, pending) in change.pending(batch) {
                    let at = change.hunks.iter().position(|one| one.id == hunk.id).expect("its hunk");
                    restore = pending.restore;
                    wanted.push(SideTarget { change: number, hunk: at, seen: pending.seen.clone() });
                }
            }
            if wanted.is_empty() {
                continue;
            }
            let to = if restore { Side::After } else { Side::Before };
            let mut outcomes: Vec<ReviewOutcome> = changes.iter().map(|_| ReviewOutcome::default()).collect();
            let id = |target: &SideTarget| changes[target.change].hunks[target.hunk].id.clone();
            let mut refusals = 0;
            loop {
                let text = self.files[file].editor.text();
                let past = self.past(&changes);
                let after = loop {
                    match with_side(&text, &past, &wanted, to) {
                        Ok(after) => break after,
                        Err((change, hunk, why)) => {
                            let at = wanted.iter().position(|one| (one.change, one.hunk) == (change, hunk));
                            let target = wanted.remove(at.expect("its target"));
                            outcomes[change].failed.push((id(&target), format!("{why:?}")));
                        }
                    }
                };
                let turned = turn(&text, &past, &wanted, to, UserText::IfSeen).results;
                let dropped = turned.into_iter().map(|result| match result {
                    Ok(TurnedHunk::Turned { dropped }) => dropped,
                    _ => None,
                });
                let dropped: Vec<Option<String>> = dropped.collect();
                let sent = if after == text {
                    Sent::Made
                } else {
                    let side = |target: &SideTarget, side| past[target.change].hunks[target.hunk].side(side);
                    let mut removed: Vec<&str> = Vec::new();
                    let mut inserted: Vec<&str> = Vec::new();
                    for target in &wanted {
                        let other = if restore { Side::Before } else { Side::After };
                        inserted.extend(side(target, to));
                        // What is drawn in the place of the hunk may go, and nothing else.
                        match &target.seen {
                            Some(seen) => removed.extend(lines(seen)),
                            None => removed.extend(side(target, other)),
                        }
                    }
                    let own = |all: Vec<&str>| all.into_iter().map(str::to_owned).collect::<Vec<_>>();
                    let (removed, inserted) = (own(removed), own(inserted));
                    fn parts(all: &[String]) -> Vec<&str> {
                        all.iter().map(String::as_str).collect()
                    }
                    self.writes = Author::Review;
                    self.sends(file, &after, &parts(&removed), &parts(&inserted))
                };
                let is_made = self.files[file].editor.text() == after;
                match sent {
                    Sent::Killed => {
                        // Where lines repeat, the text alone does not tell that all of several changes are undone: a known
                        // gap, which `docs/testing.md` names.
                        let is_one = wanted.iter().all(|target| target.change == wanted[0].change);
                        self.files[file].is_agents &= is_one;
                        return self.is_killed();
                    }
                    Sent::Made if is_made => {
                        for (target, dropped) in wanted.iter().zip(dropped) {
                            outcomes[target.change].dropped.extend(dropped.map(|text| (id(target), text)));
                            outcomes[target.change].done.push(id(target));
                        }
                        break;
                    }
                    Sent::NotMade if refusals < 2 => refusals += 1,
                    _ => {
                        // Only the text says what became of it.
                        let text = self.files[file].editor.text();
                        let past = self.past(&changes);
                        for target in &wanted {
                            let own = std::slice::from_ref(target);
                            let outcome = &mut outcomes[target.change];
                            match with_side(&text, &past, own, to) {
                                Ok(same) if same == text => outcome.done.push(id(target)),
                                _ => outcome.failed.push((id(target), "it was not made".to_owned())),
                            }
                        }
                        break;
                    }
                }
            }
            for (change, outcome) in changes.iter().zip(outcomes) {
                if !outcome.done.is_empty() || !outcome.failed.is_empty() {
                    self.tells(format!("{} reviewed: {outcome:?}", change.change_set));
                    let change_set = change.change_set.clone();
                    self.report(step.clone(), Report::Reviewed { change_set, outcome });
                }
            }
        }
    }

    /// Looks whether the user undid or redid hunks in the editor.
    pub fn looks(&mut self) {
        for _ in 0..2 {
            self.switches();
            self.looks_for_one();
        }
    }

    /// The same, for the changes of one task.
    fn looks_for_one(&mut self) {
        for file in 0..self.files.len() {
            let (changes, traces) = self.traces(file);
            for (change, traces) in changes.iter().zip(&traces) {
                if !self.is_own(&change.change_set) {
                    continue;
                }
                for (hunk, trace) in change.hunks.iter().zip(traces) {
                    let HunkText::Is(side) = trace.found else { continue };
                    let is_in_text = side == Side::After;
                    if is_in_text == (hunk.state == ReviewState::Undone) {
                        let seen = SeenHunk { hunk: hunk.id.clone(), seen: None };
                        let target = ReviewTarget {
                            change_set: change.change_set.clone(),
                            hunks: vec![seen],
                            open: true,
                        };
                        self.tells(format!("sees {} of {}: {is_in_text}", hunk.id, change.change_set));
                        let _ = self.bench.input(Input::Found { target, is_in_text, by: ReviewedBy::Editor });
                    }
                }
            }
        }
    }
}
