//! One scripted task, and the checks that its session must pass whenever its process was killed.
//!
//! Judges by the log, the disk and the output of the binary only.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use adjutant::session::log::{Log, RecordRaw};
use adjutant::session::replay;
use adjutant::session::storage::Disk;
use adjutant_core::record::{CallEnd, Event, Record};
use adjutant_core::session::Session;
use adjutant_core::wire::state::{self, Projector, Updates};
use adjutant_protocol::state::{Outcome, State};
use adjutant_protocol::update::{SessionUpdateParams, Update};
use adjutant_testkit::command::{Line, Ran};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::process::wait_until;

pub const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");

/// A script that searches, reads, edits, writes, runs, asks, edits again and completes.
const SCRIPT: &str = r#"
name = "a task with every kind of tool"

[[turn]]
text = "I look for it first."
[[turn.call]]
tool = "search_text"
arguments = { pattern = "two" }
[[turn.call]]
tool = "read_file"
arguments = { path = "count.txt" }

[[turn]]
text = "Something is missing after two."
[[turn.call]]
tool = "edit_file"
arguments = { path = "count.txt", old_text = "two\n", new_text = "two\ntwo and a half\n" }

[[turn]]
text = "It needs a note."
[[turn.call]]
tool = "write_file"
arguments = { path = "notes/new.txt", content = "counted\n" }

[[turn]]
text = "It goes into the ledger."
repeat_on = ["Interrupted"]
[[turn.call]]
tool = "run_command"
arguments = { command = "echo counted >> ledger" }

[[turn]]
text = "One question."
[[turn.call]]
tool = "ask_user"
arguments = { question = "Is that all?", options = ["yes", "no"] }

[[turn]]
text = "And a last line."
[[turn.call]]
tool = "edit_file"
arguments = { path = "count.txt", old_text = "three\n", new_text = "three\nfour\n" }

[[turn]]
[[turn.call]]
tool = "task_complete"
arguments = { summary = "Counted to four." }
"#;

const BEFORE: &str = "one\ntwo\nthree\n";
const AFTER: &str = "one\ntwo\ntwo and a half\nthree\nfour\n";
/// The arguments that start the task, and those that continue it.
const BEGIN: [&str; 4] = ["run", "-y", "--allow-commands", "count to four"];
const GO_ON: [&str; 4] = ["run", "--continue", "-y", "--allow-commands"];

/// The point and its passing at which a process kills itself.
pub type Fault = Option<(&'static str, usize)>;

/// The task in its own workspace.
pub struct Story {
    workspace: Workspace,
    /// The records that were in the log at the last check.
    kept: Vec<(u64, String)>,
}

impl Story {
    pub fn new() -> Story {
        let workspace = Workspace::new(&format!("//- /count.txt\n{BEFORE}"));
        workspace.script(SCRIPT);
        Story { workspace, kept: Vec::new() }
    }

    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Starts the task. With a fault, the process kills itself at that point.
    pub fn begin(&self, fault: Fault) -> Ran {
        self.run(&BEGIN, fault)
    }

    /// Continues the task.
    pub fn go_on(&self, fault: Fault) -> Ran {
        self.run(&GO_ON, fault)
    }

    fn run(&self, args: &[&str], fault: Fault) -> Ran {
        let line = Line::new(BINARY, &self.workspace, args);
        let ran = match fault {
            Some((point, passing)) => line.env("ADJUTANT_FAULT", format!("{point}:{passing}")).run(),
            None => line.run(),
        };
        // A command that ran when its server died ends by itself, because it waits for no input.
        wait_until("the end of what the killed process had started", || ran.left().is_empty());
        ran
    }

    /// Returns the records that can be read from the log now.
    pub fn facts(&self) -> Vec<Record> {
        facts(&self.workspace, &self.id())
    }

    /// Returns the output of `sessions list`.
    pub fn listed(&self) -> String {
        Line::new(BINARY, &self.workspace, &["sessions", "list"]).run().expect(0).stdout.clone()
    }

    pub fn id(&self) -> String {
        only_session(&self.workspace)
    }

    pub fn log(&self) -> PathBuf {
        self.workspace.state_dir().join("sessions").join(self.id()).join("events.jsonl")
    }

    /// Checks that the log still has all records of the last check, unchanged. Remembers the present ones.
    pub fn nothing_is_lost(&mut self) {
        let id = self.id();
        let now: Vec<(u64, String)> = records(&self.workspace, &id)
            .into_iter()
            .map(|record| (record.seq, record.event.get().to_owned()))
            .collect();
        assert!(now.starts_with(&self.kept), "records are gone: before\n{:#?}\nnow\n{now:#?}", self.kept);
        self.kept = now;
    }

    /// Checks that the list shows the session with its prompt and the state that its log has.
    pub fn is_listed(&self) {
        let ran = Line::new(BINARY, &self.workspace, &["sessions", "list"]).run();
        let session = fold(&self.facts());
        let state = match state::view(&session).state {
            // An open run without a process waits to be resumed.
            State::Running | State::Resumable => "interrupted",
            State::RequiresAction => "asks",
            State::Idle => "idle",
            State::None => panic!("an accepted prompt left no trace"),
        };
        let line = ran.expect(0).stdout.lines().nth(1).unwrap_or_default().to_owned();
        let short: String = self.id().chars().skip(2).take(8).collect();
        let shown = line.starts_with(&short) && line.contains("count to four") && line.contains(state);
        assert!(shown && !line.contains("damaged"), "expected {short}, {state}, \"count to four\" in\n{ran}");
        assert_eq!(ran.stdout.lines().count(), 2, "{ran}");
    }

    /// Checks that the export has the same updates as the fold of the log.
    pub fn is_exported_whole(&self) {
        let ran = Line::new(BINARY, &self.workspace, &["sessions", "export", &self.id()]).run();
        let exported: Vec<SessionUpdateParams> = ran
            .expect(0)
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|why| panic!("{line}: {why}")))
            .collect();
        // The export itself opened the session and wrote events. They are in the export, too.
        let expected = told(&self.facts());
        assert_eq!(exported.len(), expected.len(), "{ran}");
        for (number, (exported, expected)) in exported.iter().zip(&expected).enumerate() {
            assert_eq!((exported.seq, exported.sub), (number as u64 + 1, None));
            assert_eq!(&exported.update, expected);
        }
    }

    /// Whether the log says that the run is over.
    pub fn is_over(&self) -> bool {
        fold(&self.facts()).open_run().is_none()
    }

    /// Checks that the task is done exactly once, on disk and in the log.
    pub fn is_done(&self) {
        self.came_out_right();
        let records = self.facts();
        ran_once(&records, Outcome::Completed);
        let commands = calls(&records).into_values().filter(|call| call.tool == "run_command");
        let (starts, done) = commands.fold((0, 0), |(starts, done), call| {
            (starts + call.starts, done + usize::from(call.ends == [CallEnd::Completed]))
        });
        let lines = self.workspace.read("ledger").lines().count();
        assert_eq!(done, 1, "a command that completed does not run again");
        assert!((1..=starts).contains(&lines), "{lines} lines in the ledger of {starts} commands started");
        let session = fold(&records);
        assert_eq!(state::view(&session).state, State::Idle);
        self.turns_can_be_counted(&records);
    }

    /// Checks that every edit is on disk exactly once.
    pub fn came_out_right(&self) {
        assert_eq!(self.workspace.read("count.txt"), AFTER, "an edit is missing or doubled");
        assert_eq!(self.workspace.read("notes/new.txt"), "counted\n");
    }

    /// Checks that `grep -c` on the log counts the turns (S97).
    fn turns_can_be_counted(&self, records: &[Record]) {
        let log = fs::read_to_string(self.log()).unwrap_or_else(|error| panic!("{error}"));
        let lines = log.lines().filter(|line| line.contains("\"turn_started\"")).count();
        let turns = records.iter().filter(|record| matches!(record.event, Event::TurnStarted { .. })).count();
        assert_eq!(lines, turns);
        let ended = fold(records).ended.back().map(|ended| ended.end.spent.requests);
        assert_eq!(ended, Some(turns as u32), "the end of the run and the log count different turns");
    }
}

/// The records of one call in the log.
#[derive(Debug)]
pub struct CallSeen {
    pub tool: String,
    /// How often its effect was started.
    pub starts: usize,
    pub ends: Vec<CallEnd>,
}

pub fn calls(records: &[Record]) -> BTreeMap<String, CallSeen> {
    let mut calls = BTreeMap::new();
    for record in records {
        match &record.event {
            Event::CallOpened { call, tool, .. } => {
                let seen = CallSeen { tool: tool.clone(), starts: 0, ends: Vec::new() };
                assert!(calls.insert(call.to_string(), seen).is_none(), "call {call} is opened twice");
            }
            Event::ToolStarted { call, .. } | Event::ApplyStarted { call, .. } => {
                let Some(seen) = calls.get_mut(&call.to_string()) else { panic!("{call} was never opened") };
                assert!(seen.ends.is_empty(), "call {call} is started after its end");
                seen.starts += 1;
            }
            Event::ToolFinished { call, result } => {
                let Some(seen) = calls.get_mut(&call.to_string()) else { panic!("{call} was never opened") };
                seen.ends.push(result.end);
            }
            _ => {}
        }
    }
    calls
}

/// Checks that there is one run with this end. Every call started at most once and ended once.
pub fn ran_once(records: &[Record], outcome: Outcome) {
    let started: Vec<_> = records
        .iter()
        .filter_map(|record| match &record.event {
            Event::RunStarted { run, .. } => Some(run.clone()),
            _ => None,
        })
        .collect();
    let ended: Vec<_> = records
        .iter()
        .filter_map(|record| match &record.event {
            Event::RunEnded { run, outcome: how, .. } => Some((run.clone(), Outcome::from(*how))),
            _ => None,
        })
        .collect();
    assert_eq!(started.len(), 1, "there is not exactly one start of a run");
    assert_eq!(ended, [(started[0].clone(), outcome)]);
    for (id, call) in calls(records) {
        assert_eq!(call.ends.len(), 1, "call {id}: {call:?}");
        assert!(call.starts <= 1, "call {id}: {call:?}");
    }
}

pub fn fold(records: &[Record]) -> Session {
    let id = records.iter().find_map(|record| match &record.event {
        Event::SessionCreated { session, .. } => Some(session.clone()),
        _ => None,
    });
    let mut session = Session::new(id.unwrap_or_default(), Vec::new());
    records.iter().for_each(|record| session.apply(record));
    session
}

pub fn told(records: &[Record]) -> Vec<Update> {
    let mut session = fold(&records[..0]);
    let mut projector = Projector::new(&session);
    let mut updates = Vec::new();
    for record in records {
        session.apply(record);
        if let Updates::Lasting(lasting) = projector.project(&session, record) {
            updates.extend(lasting);
        }
    }
    updates
}

/// Returns the id of the only session. A second session would be a leftover.
pub fn only_session(workspace: &Workspace) -> String {
    let mut ids = sessions(workspace);
    assert_eq!(ids.len(), 1, "{ids:?}");
    ids.remove(0)
}

pub fn sessions(workspace: &Workspace) -> Vec<String> {
    let entries = fs::read_dir(workspace.state_dir().join("sessions")).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

pub fn facts(workspace: &Workspace, id: &str) -> Vec<Record> {
    let records: Result<_, _> =
        records(workspace, id).iter().filter_map(|record| replay::read_record(record).transpose()).collect();
    records.unwrap_or_else(|why| panic!("read the log: {why}"))
}

pub fn records(workspace: &Workspace, id: &str) -> Vec<RecordRaw> {
    let folder = workspace.state_dir().join("sessions").join(id);
    let read = Log::read(&Disk, &folder, id).unwrap_or_else(|error| panic!("{error}"));
    let damage: Vec<_> = read.notices.iter().filter(|notice| notice.is_damage()).collect();
    assert!(damage.is_empty(), "{damage:?}");
    read.records
}
