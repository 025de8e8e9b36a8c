//! What the user does.

use super::world::{ShownHunk, World, uri};
use crate::machine::input::{Input, ReviewAct, ReviewInput, ReviewTarget};
use crate::machine_tests::{Bench, random};
use crate::record::{ReviewState, RunId, SeenHunk};
use crate::session::rewind::{FoundChange, FoundFile, RewindOutcome};
use crate::session::{AppliedChange, AppliedHunk};
use crate::text::edit::lines;
use crate::text::trace::{HunkText, Side, Trace};

impl World<'_> {
    /// Types, deletes or pastes somewhere in an open file.
    pub fn types(&mut self) {
        let file = self.dice.roll(2);
        let end = if self.files[file].name == "b.txt" { "\r\n" } else { "\n" };
        self.words += 1;
        let word = format!("user{}", self.words);
        let lines = self.files[file].editor.lines();
        let line = self.dice.roll(lines.len().max(1));
        let begin: usize = lines.iter().take(line).map(|line| line.len()).sum();
        let length = lines.get(line).map_or(0, |line| line.len());
        let content =
            lines.get(line).map_or(0, |line| line.iter().filter(|cell| !super::editor::is_end(cell)).count());
        let inside = begin + self.dice.roll(content + 1);
        let (range, text) = match self.dice.roll(8) {
            0 | 1 => (begin..begin, format!("{word}{end}")),
            2 => (inside..inside, word),
            3 => (inside..begin + content, format!("{word} 🐌 ")),
            4 => (begin..begin + length, String::new()),
            5 => (begin + content..begin + content, format!("{end}{word}{end}{end}")),
            6 => (begin..begin + content, "    first();".to_owned()),
            _ => (begin..inside, "\t".to_owned()),
        };
        if range.is_empty() && text.is_empty() {
            return;
        }
        self.tells(format!("types {text:?} in place of {range:?} of {}", self.files[file].name));
        self.files[file].is_agents = false;
        let typed = self.files[file].editor.types(range, &text);
        self.tell_server(file, Some(typed.edit));
    }

    pub fn undoes_in_the_editor(&mut self) {
        let file = self.dice.roll(2);
        let again = self.dice.roll(3) == 0;
        let editor = &mut self.files[file].editor;
        if if again { editor.redoes() } else { editor.undoes() } {
            self.files[file].is_agents = false;
            self.tells(format!("{} in {}", if again { "redoes" } else { "undoes" }, self.files[file].name));
            self.tell_server(file, None);
        }
    }

    /// Saves an open file; a formatter changes it first.
    pub fn saves(&mut self) {
        let file = self.dice.roll(2);
        let before = self.files[file].editor.version;
        self.files[file].editor.formats();
        if self.files[file].editor.version != before {
            self.files[file].is_agents = false;
            self.tells(format!("a formatter changes {}", self.files[file].name));
            self.tell_server(file, None);
        }
    }

    /// Answers a question, as a whole or hunk by hunk.
    pub fn answers(&mut self) {
        let input = match self.dice.roll(2) {
            0 => random::answer(&self.bench, &mut self.dice),
            _ => random::decision(&self.bench, &mut self.dice),
        };
        if let Some(input) = input {
            self.tells(format!("answers {input:?}"));
            // Another answer may have been faster.
            let _ = self.bench.input(input);
        }
    }

    /// Draws the hunks as they are now.
    pub fn shows(&mut self) {
        let mut shown = Vec::new();
        for file in 0..self.files.len() {
            let text = self.files[file].editor.text();
            let (changes, traces) = self.traces(file);
            for (change, traces) in changes.iter().zip(&traces) {
                for (hunk, trace) in change.hunks.iter().zip(traces) {
                    shown.push(ShownHunk {
                        change_set: change.change_set.clone(),
                        hunk: hunk.id.clone(),
                        seen: text_of_the_user(&text, hunk, trace),
                        state: hunk.state,
                    });
                }
            }
        }
        self.shown = shown;
    }

    /// Decides about some of the hunks that are drawn.
    pub fn reviews(&mut self) {
        let act = [ReviewAct::Keep, ReviewAct::Undo, ReviewAct::Undo, ReviewAct::Restore][self.dice.roll(4)];
        let most = 1 + self.dice.roll(3);
        let mut chosen: Vec<ShownHunk> =
            self.shown.clone().into_iter().filter(|_| self.dice.roll(3) == 0).collect();
        chosen.truncate(most);
        self.decides(act, chosen);
    }

    /// Undoes all hunks of one task in one decision.
    pub fn undoes_all(&mut self) {
        let all = self.shown.iter().filter(|shown| shown.state != ReviewState::Undone).cloned().collect();
        self.decides(ReviewAct::Undo, all);
        self.carries_out();
    }

    fn carries_out(&mut self) {
        while !self.bench.session.applied.pending().is_empty() {
            self.step();
        }
    }

    /// Undoes whole runs of one task, or restores them, as a preview shows it.
    pub fn rewinds(&mut self) {
        let ended: Vec<RunId> = self.bench.session.ended.iter().map(|ended| ended.run.clone()).collect();
        let first = ended.get(self.dice.roll(ended.len().max(1))).cloned();
        let (later, restore) = (self.dice.roll(2) == 0, self.dice.roll(3) == 0);
        self.rewinds_from(first.as_ref(), later, restore);
    }

    /// Undoes or restores a run, or it and all later ones; without a run, the last one.
    pub fn rewinds_from(&mut self, first: Option<&RunId>, later: bool, restore: bool) {
        let Ok(runs) = self.bench.session.rewound(first, later, restore) else { return };
        let with_users = self.dice.roll(2) == 0;
        let all: Vec<Vec<AppliedChange>> = (0..self.files.len()).map(|file| self.changes_of(file)).collect();
        let names: Vec<String> = self.files.iter().map(|file| uri(file.name)).collect();
        let texts: Vec<String> = self.files.iter().map(|file| file.editor.text()).collect();
        let found = |file: usize| FoundFile {
            target: &names[file],
            text: Some(&texts[file]),
            is_created: !self.files[file].is_open,
            changes: all[file]
                .iter()
                .zip(self.past(&all[file]))
                .map(|(change, past)| FoundChange { change, is_own: self.is_own(&change.change_set), past })
                .collect(),
            operations: Vec::new(),
        };
        let found: Vec<FoundFile<'_>> = (0..self.files.len()).map(found).collect();
        let rewinds = runs.in_files(&self.bench.session.applied, &found);
        let mut targets: Vec<ReviewTarget> = Vec::new();
        for hunk in rewinds.into_iter().flat_map(|file| file.hunks) {
            let seen = match hunk.outcome {
                RewindOutcome::Exact => None,
                RewindOutcome::WithUsers { seen, .. } if with_users => seen,
                _ => continue,
            };
            let one = SeenHunk { hunk: hunk.hunk, seen };
            match targets.iter_mut().find(|target| target.change_set == hunk.change_set) {
                Some(target) => target.hunks.push(one),
                None => {
                    targets.push(ReviewTarget { change_set: hunk.change_set, hunks: vec![one], open: true })
                }
            }
        }
        if targets.is_empty() {
            return;
        }
        let act = if restore { ReviewAct::Restore } else { ReviewAct::Undo };
        self.tells(format!("{act:?} runs {:?}: {targets:?}", runs.all));
        let _ = self.bench.input(Input::Review(ReviewInput { targets, act, as_one: true, reason: None }));
        self.carries_out();
    }

    fn decides(&mut self, act: ReviewAct, chosen: Vec<ShownHunk>) {
        let mut targets: Vec<ReviewTarget> = Vec::new();
        for ShownHunk { change_set, hunk, seen, .. } in chosen {
            // Each task is asked for its own.
            if !self.is_own(&change_set) {
                continue;
            }
            let is_under_way =
                |bench: &Bench| bench.session.changes.values().any(|state| state.is_applying());
            if act == ReviewAct::Keep && (is_under_way(&self.bench) || is_under_way(&self.other)) {
                // What an edit on its way has made of a hunk is kept as the user's.
                self.files.iter_mut().for_each(|file| file.is_agents = false);
            }
            // The server itself looks at what is kept.
            let seen = if act == ReviewAct::Keep { self.text_in_place(&change_set.0, &hunk) } else { seen };
            let hunk = SeenHunk { hunk, seen };
            match targets.iter_mut().find(|target| target.change_set == change_set) {
                Some(target) => target.hunks.push(hunk),
                None => targets.push(ReviewTarget { change_set, hunks: vec![hunk], open: true }),
            }
        }
        if !targets.is_empty() {
            self.tells(format!("{act:?} {targets:?}"));
            let _ =
                self.bench.input(Input::Review(ReviewInput { targets, act, as_one: false, reason: None }));
        }
    }

    fn text_in_place(&self, change_set: &str, hunk: &str) -> Option<String> {
        (0..self.files.len()).find_map(|file| {
            let (changes, traces) = self.traces(file);
            let at = changes.iter().position(|change| change.change_set.0 == change_set)?;
            let number = changes[at].hunks.iter().position(|one| one.id == hunk)?;
            text_of_the_user(&self.files[file].editor.text(), &changes[at].hunks[number], &traces[at][number])
        })
    }
}

/// Returns the text in the place of a hunk, if it is not the agent's alone.
fn text_of_the_user(text: &str, hunk: &AppliedHunk, trace: &Trace) -> Option<String> {
    let is_users = match trace.found {
        HunkText::Amended { .. } => true,
        HunkText::Is(Side::After) => hunk.amended.is_some(),
        HunkText::Is(Side::Before) | HunkText::Gone => false,
    };
    is_users.then(|| lines(text).skip(trace.lines.start).take(trace.lines.len()).collect())
}
