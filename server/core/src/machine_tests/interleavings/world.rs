//! The session, its files and its editor, and what is true of them at each moment.

use std::collections::{BTreeMap, BTreeSet};

use adjutant_protocol::review::ReviewHunk;
use adjutant_protocol::update::HunkState;

use super::editor::{Author, Cell, EditorDouble, is_end};
use crate::machine::input::Input;
use crate::machine::step::{Step, next_steps};
use crate::machine_tests::Bench;
use crate::machine_tests::random::Dice;
use crate::record::{ChangeSetId, ReviewState, RunId};
use crate::session::AppliedChange;
use crate::text::document::{ContentChange, Document};
use crate::text::edit::{TextEdit, lines};
use crate::text::position::Encoding;
use crate::text::trace::{HunkText, PastChange, Side, Trace, trace_all};
use crate::wire::origin::{LineAuthor, author_of};
use crate::wire::review::{FoundHunk, applied_hunk};

/// A file of the workspace.
pub struct File {
    pub name: &'static str,
    pub original: String,
    pub editor: EditorDouble,
    /// What the server knows of it.
    pub mirror: Document,
    /// A closed file is written by the server itself.
    pub is_open: bool,
    /// Whether only the agent has changed it.
    pub is_agents: bool,
    /// Whether a client made an edit of it only in part, so that the text has what its hunks say is gone.
    pub is_partly: bool,
}

/// An applied hunk as a client shows it.
#[derive(Clone)]
pub struct ShownHunk {
    pub change_set: ChangeSetId,
    pub hunk: String,
    /// The text of the user in its place.
    pub seen: Option<String>,
    pub state: ReviewState,
}

pub struct World<'a> {
    /// The task whose turn it is.
    pub bench: Bench,
    /// The second task on the same files.
    pub other: Bench,
    /// Who writes the next edit of the server.
    pub writes: Author,
    pub files: Vec<File>,
    pub encoding: Encoding,
    pub dice: Dice<'a>,
    /// Texts before changes, by their hash.
    pub blobs: BTreeMap<String, String>,
    /// The hunks that the client shows; they may be old.
    pub shown: Vec<ShownHunk>,
    pub words: usize,
    /// What happened, for a failure.
    pub story: Vec<String>,
    order: u64,
    landed: BTreeSet<(ChangeSetId, String)>,
}

const FILES: [(&str, &str); 3] = [
    (
        "a.rs",
        "fn one() {\n    first();\n}\n\nfn two() {\n    first();\n    second();\n}\n\n// größe: 10 🐙🐙\nfn three() {\n    third();\n}\n",
    ),
    ("b.txt", "eins\r\nzwei\r\ndrei\r\n\r\nvier ä\r\nfünf 🦀\r\nsechs\r\nsieben\r\nacht\r\nneun\r\nzehn"),
    ("c.md", "# Title\n\n- one\n- two\n- three\n- one\n\n## Part\n\ntext\ntext\ntext\nend"),
];

impl<'a> World<'a> {
    pub fn new(order: u64, encoding: Encoding, numbers: &'a [u8]) -> Self {
        let file = |(name, text): (&'static str, &str)| File {
            name,
            original: text.to_owned(),
            editor: EditorDouble::open(text, encoding),
            mirror: Document::open(&uri(name), 1, text),
            is_open: name != "c.md",
            is_agents: true,
            is_partly: false,
        };
        let mut other = Bench::new();
        // So that no two changes have one name.
        other.drawn = 1_000_000;
        Self {
            bench: Bench::new(),
            other,
            writes: Author::Task,
            files: FILES.map(file).into(),
            encoding,
            dice: Dice::new(numbers),
            blobs: BTreeMap::new(),
            shown: Vec::new(),
            words: 0,
            story: Vec::new(),
            order,
            landed: BTreeSet::new(),
        }
    }

    /// Plays one order to its end.
    pub fn play(&mut self) {
        while !self.dice.is_used_up() {
            match self.dice.roll(28) {
                0..=9 => self.step(),
                10..=13 => self.types(),
                14 => self.undoes_in_the_editor(),
                15 => self.saves(),
                16 => self.restarts(),
                17 => {
                    self.looks();
                    self.checks_origins();
                }
                18 => self.shows(),
                19 | 20 => self.reviews(),
                21 => self.rewinds(),
                22 | 23 => self.switches(),
                _ => self.answers(),
            }
            self.check();
        }
        self.ends();
    }

    /// Gives the turn to the other task.
    pub fn switches(&mut self) {
        let now = self.bench.now.max(self.other.now);
        std::mem::swap(&mut self.bench, &mut self.other);
        self.bench.now = now;
    }

    /// Whether a change is of the task whose turn it is.
    pub fn is_own(&self, change_set: &ChangeSetId) -> bool {
        self.bench.session.applied.get(change_set).is_some()
    }

    /// Returns how many hunks were in the text at some moment.
    pub fn landed(&self) -> usize {
        self.landed.len()
    }

    pub fn tells(&mut self, what: impl Into<String>) {
        self.story.push(what.into());
    }

    #[track_caller]
    pub fn fail(&self, why: &str) -> ! {
        let texts: String =
            self.files.iter().map(|file| format!("{}: {:?}\n", file.name, file.editor.text())).collect();
        panic!("order {} in {:?}: {why}\n{}\n{texts}", self.order, self.encoding, self.story.join("\n"));
    }

    pub fn file(&self, target: &str) -> usize {
        let at = self.files.iter().position(|file| uri(file.name) == target);
        at.unwrap_or_else(|| self.fail("a change of no file"))
    }

    /// Returns the applied changes of a file, oldest first.
    pub fn changes_of(&self, file: usize) -> Vec<AppliedChange> {
        let target = uri(self.files[file].name);
        let both = [&self.bench, &self.other].into_iter();
        let all = both.flat_map(|bench| bench.session.applied.all());
        let mut all: Vec<AppliedChange> =
            all.filter(|change| change.target == target).map(|change| (**change).clone()).collect();
        all.sort_by_key(|change| (change.at, change.seq));
        all
    }

    pub fn past<'c>(&'c self, changes: &'c [AppliedChange]) -> Vec<PastChange<'c>> {
        let past = |change: &'c AppliedChange| {
            let before = change.before.as_ref().and_then(|hash| self.blobs.get(hash)).map(String::as_str);
            change.past(before)
        };
        let past = changes.iter().map(past).collect::<Option<Vec<_>>>();
        past.unwrap_or_else(|| self.fail("a live session has lost the lines of its hunks"))
    }

    pub fn traces(&self, file: usize) -> (Vec<AppliedChange>, Vec<Vec<Trace>>) {
        let changes = self.changes_of(file);
        let traces = trace_all(&self.files[file].editor.text(), &self.past(&changes));
        (changes, traces)
    }

    /// Tells the server of a change of the user, as the protocol does.
    pub fn tell_server(&mut self, file: usize, edit: Option<TextEdit>) {
        let encoding = self.encoding;
        let file = &mut self.files[file];
        let change = match edit {
            Some(edit) => ContentChange { range: Some(edit.range), text: edit.new_text },
            None => ContentChange { range: None, text: file.editor.text() },
        };
        file.mirror
            .apply_changes(file.editor.version, &[change], encoding)
            .expect("the change can be followed");
    }

    /// Makes an edit of the server in the editor. It may remove and insert only these lines.
    pub fn server_edits(&mut self, file: usize, edits: &[TextEdit], removed: &[&str], inserted: &[&str]) {
        let before = self.files[file].editor.cells.clone();
        self.files[file].editor.accepts(edits, self.writes);
        self.tell_server(file, None);
        let after = self.files[file].editor.cells.clone();
        if !leads_to(&contents(&before), &contents(&after), removed, inserted) {
            self.fail(&format!("{edits:?} changed other lines than were shown: {removed:?} to {inserted:?}"));
        }
        let ends = |cells: &[Cell]| -> BTreeMap<u64, String> {
            let lines = super::editor::lines(cells);
            let end = |line: &&[Cell]| {
                let end: String = line.iter().filter(|cell| is_end(cell)).map(|cell| cell.char).collect();
                (!end.is_empty() && line.len() > end.len()).then(|| (line[0].id, end))
            };
            lines.iter().filter_map(end).collect()
        };
        let (old, new) = (ends(&before), ends(&after));
        if old.iter().any(|(id, end)| new.get(id).is_some_and(|other| other != end)) {
            self.fail("a line outside of the edit got another line end");
        }
    }

    /// Checks what is true at each moment.
    fn check(&mut self) {
        for file in 0..self.files.len() {
            let text = self.files[file].editor.text();
            let mirror = self.files[file].mirror.text().map(|rope| rope.to_string());
            if mirror.as_deref() != Ok(&text) {
                self.fail("the server has another text than the editor");
            }
            // Each file in turn, because a look at all of them takes longest.
            if self.story.len() % self.files.len() != file {
                continue;
            }
            let (changes, traces) = self.traces(file);
            let all: Vec<&str> = lines(&text).collect();
            for (change, traces) in changes.iter().zip(&traces) {
                for (hunk, trace) in change.hunks.iter().zip(traces) {
                    self.landed.insert((change.change_set.clone(), hunk.id.clone()));
                    let Some(lines) = change.lines_of(hunk) else { continue };
                    let there = all.get(trace.lines.clone()).unwrap_or_default();
                    let is_drawn_right = match (trace.found, &hunk.amended) {
                        (HunkText::Is(Side::After), None) => same(there, &lines.inserted),
                        (HunkText::Is(Side::Before), _) => same(there, &lines.removed),
                        _ => true,
                    };
                    if !is_drawn_right && trace.beneath.is_empty() {
                        self.fail(&format!("{} is drawn at {there:?}, but is {lines:?}", hunk.id));
                    }
                }
            }
        }
    }

    /// Brings the session to rest, and undoes everything that can be undone.
    fn ends(&mut self) {
        self.tells("the end");
        for _ in 0..2 {
            self.switches();
            self.rests();
        }
        self.looks();
        self.checks_origins();
        let ends_by_runs = self.order.is_multiple_of(2);
        // What stands on something else is undone after that.
        for _ in 0..6 {
            self.switches();
            self.looks();
            self.shows();
            match ends_by_runs {
                true => self.rewinds_all(),
                false => self.undoes_all(),
            }
        }
        for file in 0..self.files.len() {
            let File { name, original, editor, is_agents, .. } = &self.files[file];
            let changes = self.changes_of(file);
            let is_undone =
                changes.iter().flat_map(|change| &change.hunks).all(|hunk| hunk.state == ReviewState::Undone);
            if *is_agents && is_undone && editor.text() != *original {
                self.fail(&format!(
                    "{name} is not as it was, though only the agent changed it: {original:?}"
                ));
            }
        }
        self.check();
    }

    /// Undoes all runs of one task, one by one or all from one on.
    fn rewinds_all(&mut self) {
        let ended: Vec<RunId> = self.bench.session.ended.iter().map(|ended| ended.run.clone()).collect();
        let later = self.order.is_multiple_of(4);
        for run in ended.iter().rev() {
            self.rewinds_from(Some(run), later, false);
        }
    }

    /// Brings the session of one task to rest.
    fn rests(&mut self) {
        let _ = self.bench.input(Input::Cancel { run: None });
        for _ in 0..200 {
            if !next_steps(&self.bench.session).iter().any(does_work) {
                break;
            }
            self.step();
        }
        if next_steps(&self.bench.session).iter().any(does_work) {
            self.fail(&format!("it never rests: {:?}", next_steps(&self.bench.session)));
        }
        if self.bench.replayed() != self.bench.session {
            self.fail("the log alone gives another session");
        }
    }

    /// Compares who wrote each line, as `adjutant why` says it, with who wrote its characters.
    pub fn checks_origins(&mut self) {
        for file in 0..self.files.len() {
            let (changes, traces) = self.traces(file);
            let text = self.files[file].editor.text();
            let all: Vec<&str> = lines(&text).collect();
            let mut views: Vec<ReviewHunk> = Vec::new();
            for (change, traces) in changes.iter().zip(&traces) {
                for (hunk, trace) in change.hunks.iter().zip(traces) {
                    let text = all.get(trace.lines.clone()).unwrap_or_default().concat();
                    let found = FoundHunk { trace, text, beneath: Vec::new(), away: None };
                    views.extend(applied_hunk(&"s1".into(), change, hunk, found));
                }
            }
            views.retain(|view| view.is_unreviewed() || view.state == HunkState::Kept);
            let original: Vec<&str> = lines(&self.files[file].original).collect();
            for (number, cells) in self.files[file].editor.lines().into_iter().enumerate() {
                let cells: Vec<&Cell> = cells.iter().filter(|cell| !is_end(cell)).collect();
                let content: String = cells.iter().map(|cell| cell.char).collect();
                let is_of = |author| !cells.is_empty() && cells.iter().all(|cell| cell.author == author);
                let once = |lines: &[&str]| {
                    lines.iter().filter(|line| line.trim_end_matches(['\r', '\n']) == content).count() == 1
                };
                let line = u32::try_from(number).unwrap_or(u32::MAX);
                let has = |view: &&ReviewHunk| {
                    view.line <= line
                        && view.end_line.is_some_and(|end| line < end)
                        && author_of(view, line, Some(&content)) == Some(LineAuthor::Agent)
                };
                let is_agents = views.iter().any(|view| has(&view));
                let inserts = |view: &ReviewHunk| view.inserted.lines().any(|own| own == content);
                let count = |lines: &[String]| {
                    lines.iter().filter(|line| line.trim_end_matches(['\r', '\n']) == content).count()
                };
                // No text says which of two equal lines was there first, if one of them has gone.
                let was_doubled = || {
                    let hunks = changes
                        .iter()
                        .flat_map(|change| change.hunks.iter().map(|hunk| change.lines_of(hunk)));
                    hunks.flatten().any(|lines| count(&lines.inserted) > count(&lines.removed))
                };
                let is_right = match () {
                    () if is_of(Author::Task) && content.starts_with("agent") && once(&all) => {
                        is_agents || self.files[file].is_partly || !views.iter().any(inserts)
                    }
                    () if is_of(Author::User) && content.starts_with("user") => !is_agents,
                    () if is_of(Author::Original) && once(&all) && once(&original) => {
                        !is_agents || was_doubled()
                    }
                    () => true,
                };
                if !is_right {
                    let name = self.files[file].name;
                    self.fail(&format!(
                        "{content:?} of {name} is said to be the agent's: {is_agents}\n{views:#?}"
                    ));
                }
            }
        }
    }
}

/// Whether a step changes something in the world, other than to call the model or to show an ask.
pub fn does_work(step: &Step) -> bool {
    !matches!(
        step,
        Step::CallModel { .. }
            | Step::Compact { .. }
            | Step::ReadContext { .. }
            | Step::LookOutside { .. }
            | Step::DeliverAsk { .. }
            | Step::Wake(_)
    )
}

pub fn uri(name: &str) -> String {
    format!("file:///ws/{name}")
}

/// Whether lines are the same but for their line ends, of which the last line of a text has none.
fn same(there: &[&str], lines: &[String]) -> bool {
    let content = |line: &str| line.trim_end_matches(['\r', '\n']).to_owned();
    there.iter().map(|line| content(line)).eq(lines.iter().map(|line| content(line)))
}

/// Returns the lines of a text without their line ends.
fn contents(cells: &[Cell]) -> Vec<String> {
    let content = |line: &[Cell]| line.iter().filter(|cell| !is_end(cell)).map(|cell| cell.char).collect();
    super::editor::lines(cells).into_iter().map(content).collect()
}

/// Whether one text becomes the other if only these lines are removed and inserted.
fn leads_to(before: &[String], after: &[String], removed: &[&str], inserted: &[&str]) -> bool {
    let set = |lines: &[&str]| -> BTreeSet<String> {
        lines.iter().map(|line| line.trim_end_matches(['\r', '\n']).to_owned()).collect()
    };
    let (removed, inserted) = (set(removed), set(inserted));
    // Whether the lines before lead to the lines after so far, for each number of lines after.
    let mut leads = vec![true];
    leads.extend(after.iter().scan(true, |so_far, line| {
        *so_far &= inserted.contains(line);
        Some(*so_far)
    }));
    for old in before {
        let mut next = vec![leads[0] && removed.contains(old)];
        for (at, new) in after.iter().enumerate() {
            let is_kept = leads[at] && old == new;
            let is_removed = leads[at + 1] && removed.contains(old);
            let is_inserted = next[at] && inserted.contains(new);
            next.push(is_kept || is_removed || is_inserted);
        }
        leads = next;
    }
    leads.last() == Some(&true)
}
