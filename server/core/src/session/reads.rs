//! The lines of files that the model knows: those that it read, as its own edits and the user's decisions left them.
//!
//! A function of the events alone. Never says what a file has now.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::record::FileRead;
use crate::text::freshness::{KnownLines, LineEdit, LineHash};
use crate::text::review::Hunk;

/// The most pieces of files that are remembered; the oldest are forgotten first.
const MOST_READS: usize = 256;
/// The most lines of all pieces.
const MOST_LINES: usize = 200_000;

/// Everything that the model knows of the text of files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reads {
    /// Oldest first.
    all: VecDeque<Arc<KnownRead>>,
    /// What was checked out when the model learned of it last.
    pub head: Option<String>,
    /// Whether nothing is noted, because no model will be asked.
    is_off: bool,
}

/// Lines of one file that the model knows.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownRead {
    /// As shown to the user.
    pub path: String,
    /// The URI of the file after following every link.
    pub target: String,
    pub lines: KnownLines,
    /// Whether the model was told that the file has other lines now.
    pub told: bool,
    /// The number of the record that changed it last.
    pub seq: u64,
}

impl Reads {
    /// Returns what stays empty whatever happens.
    pub(super) fn off() -> Self {
        Self { is_off: true, ..Self::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns what is known of all files, by their targets.
    pub fn by_file(&self) -> BTreeMap<&str, Vec<Arc<KnownRead>>> {
        let mut files: BTreeMap<&str, Vec<Arc<KnownRead>>> = BTreeMap::new();
        for read in &self.all {
            files.entry(&read.target).or_default().push(read.clone());
        }
        files
    }

    /// Returns what is known of one file.
    pub fn of<'a>(&'a self, target: &'a str) -> impl Iterator<Item = &'a KnownRead> {
        self.all.iter().map(|read| &**read).filter(move |read| read.target == target)
    }

    /// Adds lines that a call showed. They replace what was known of the same lines.
    pub(super) fn note(&mut self, reads: &[FileRead], seq: u64) {
        if self.is_off {
            return;
        }
        for FileRead { path, target, lines, head } in reads {
            self.head = self.head.take().or_else(|| head.clone());
            self.supersede(target, lines);
            let (path, target, lines) = (path.clone(), target.clone(), lines.clone());
            self.add(KnownRead { path, target, lines, told: false, seq });
        }
    }

    /// Notes what is checked out now, if this fold keeps what the model knows.
    pub(super) fn note_head(&mut self, head: Option<&String>) {
        if let Some(head) = head.filter(|_| !self.is_off) {
            self.head = Some(head.clone());
        }
    }

    fn supersede(&mut self, target: &str, newer: &KnownLines) {
        if newer.are_whole() {
            self.forget(target);
            return;
        }
        let split = |read: Arc<KnownRead>| {
            if read.target != target {
                return vec![read];
            }
            let pieces = read.lines.clone().without(newer);
            pieces.into_iter().map(|lines| Arc::new(KnownRead { lines, ..(*read).clone() })).collect()
        };
        self.all = std::mem::take(&mut self.all).into_iter().flat_map(split).collect();
    }

    fn add(&mut self, read: KnownRead) {
        self.all.push_back(Arc::new(read));
        let lines =
            |all: &VecDeque<Arc<KnownRead>>| all.iter().map(|read| read.lines.hashes.len()).sum::<usize>();
        while self.all.len() > MOST_READS || self.all.len() > 1 && lines(&self.all) > MOST_LINES {
            self.all.pop_front();
        }
    }

    /// Follows an edit of a file that the model made, or of which it was told: each hunk from its first lines to its last.
    pub(super) fn edited(&mut self, file: &EditedFile<'_>, edits: &[HunkEdit<'_>], seq: u64) {
        if self.is_off {
            return;
        }
        // From the last to the first, so that the line numbers of those before stay true.
        for edit in edits.iter().rev() {
            let of = |lines: &[String]| lines.iter().map(|line| LineHash::of(line)).collect::<Vec<_>>();
            let (before, after) = (of(&edit.hunk.context_before), of(&edit.hunk.context_after));
            let (removed, inserted) = (of(edit.from), of(edit.to));
            let line = edit.hunk.line;
            let lines =
                LineEdit { line, before: &before, removed: &removed, inserted: &inserted, after: &after };
            let mut is_known = false;
            for read in self.all.iter_mut().filter(|read| read.target == file.target) {
                let read = Arc::make_mut(read);
                let was = read.lines.clone();
                is_known |= read.lines.replace(&lines);
                if read.lines != was {
                    read.seq = seq;
                }
            }
            if !is_known && (!inserted.is_empty() || file.is_new) {
                let (path, target) = (file.path.to_owned(), file.target.to_owned());
                let (first, to_end) = (if file.is_new { 0 } else { line }, file.is_new);
                let lines = KnownLines { first, to_end, hashes: inserted };
                self.add(KnownRead { path, target, lines, told: false, seq });
            }
        }
    }

    /// Gives what is known of a file another name.
    pub(super) fn moved(&mut self, from: &str, path: &str, to: &str, seq: u64) {
        for read in self.all.iter_mut().filter(|read| read.target == from) {
            let read = Arc::make_mut(read);
            (read.path, read.target, read.seq) = (path.to_owned(), to.to_owned(), seq);
        }
    }

    /// Forgets a file.
    pub(super) fn forget(&mut self, target: &str) {
        self.all.retain(|read| read.target != target);
    }

    /// Notes whether the model was told that a file has other lines than it saw.
    pub(super) fn tell(&mut self, target: &str, told: bool) {
        for read in self.all.iter_mut().filter(|read| read.target == target && read.told != told) {
            Arc::make_mut(read).told = told;
        }
    }
}

/// The file of an edit.
pub(super) struct EditedFile<'a> {
    pub path: &'a str,
    pub target: &'a str,
    /// Whether the edit made the file.
    pub is_new: bool,
}

/// A hunk, and what it turned into what: its removed lines into its inserted ones, or back.
pub(super) struct HunkEdit<'a> {
    pub hunk: &'a Hunk,
    pub from: &'a [String],
    pub to: &'a [String],
}
