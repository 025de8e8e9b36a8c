//! One scripted task and everything that must hold of its session, whenever
//! its process was killed.
//!
//! Judges by the log, the disk and the binary's own words alone.

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

/// Looks, edits, writes, runs, asks, edits again, completes.
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
/// What runs the task, and what goes on with it.
const BEGIN: [&str; 4] = ["run", "-y", "--allow-commands", "count to four"];
const GO_ON: [&str; 4] = ["run", "--continue", "-y", "--allow-commands"];

/// At which passing of which point a process is to kill itself.
pub type Fault = Option<(&'static str, usize)>;

/// The task, in a workspace of its own.
pub struct Story {
    workspace: Workspace,
    /// The facts that were in the log when it was looked at last.
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

    /// Begins the task; with a fault, the process kills itself at its point.
    pub fn begin(&self, fault: Fault) -> Ran {
        self.run(&BEGIN, fault)
    }

    /// Goes on with the task.
    pub fn go_on(&self, fault: Fault) -> Ran {
        self.run(&GO_ON, fault)
    }

    fn run(&self, args: &[&str], fault: Fault) -> Ran {
        let line = Line::new(BINARY, &self.workspace, args);
        let ran = match fault {
            Some((point, passing)) => line.env("ADJUTANT_FAULT", format!("{point}:{passing}")).run(),
            None => line.run(),
        };
        // A command that was on its way when its server died ends by itself; it reads nothing.
        wait_until("the end of what the killed process had started", || ran.left().is_empty());
        ran
    }

    /// The facts of the log as they can be read now.
    pub fn facts(&self) -> Vec<Record> {
        facts(&self.workspace, &self.id())
    }

    /// What the list of sessions prints.
    pub fn listed(&self) -> String {
        Line::new(BINARY, &self.workspace, &["sessions", "list"]).run().expect(0).stdout.clone()
    }

    pub fn id(&self) -> String {
        only_session(&self.workspace)
    }

    pub fn log(&self) -> PathBuf {
        self.workspace.state_dir().join("sessions").join(self.id()).join("events.jsonl")
    }

    /// Nothing that was in the log before has gone or changed; what is there now has to stay.
    pub fn nothing_is_lost(&mut self) {
        let id = self.id();
        let now: Vec<(u64, String)> = records(&self.workspace, &id)
            .into_iter()
            .map(|record| (record.seq, record.event.get().to_owned()))
            .collect();
        assert!(now.starts_with(&self.kept), "facts are gone: before\n{:#?}\nnow\n{now:#?}", self.kept);
        self.kept = now;
    }

    /// The list shows the session with its prompt, as what its log says it is.
    pub fn is_listed(&self) {
        let ran = Line::new(BINARY, &self.workspace, &["sessions", "list"]).run();
        let session = fold(&self.facts());
        let state = match state::view(&session).state {
            // A run that nobody runs waits to be resumed.
            State::Running | State::Resumable => "interrupted",
            State::RequiresAction => "asks",
            State::Idle => "idle",
            State::None => panic!("an accepted prompt left no trace"),
        };
        let line = ran.expect(0).stdout.lines().nth(1).unwrap_or_default().to_owned();
        let short: String = self.id().chars().skip(2).take(8).collect();
        let shown = line.starts_with(&short) && line.contains("count to four") && line.contains(state);
        assert!(shown && !line.contains("damaged"), "wanted {short}, {state}, \"count to four\" in\n{ran}");
        assert_eq!(ran.stdout.lines().count(), 2, "{ran}");
    }

    /// The export is the fold of the log, update by update.
    pub fn is_exported_whole(&self) {
        let ran = Line::new(BINARY, &self.workspace, &["sessions", "export", &self.id()]).run();
        let exported: Vec<SessionUpdateParams> = ran
            .expect(0)
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|why| panic!("{line}: {why}")))
            .collect();
        // Opening it wrote facts of its own, and they are in the export.
        let told = told(&self.facts());
        assert_eq!(exported.len(), told.len(), "{ran}");
        for (number, (exported, told)) in exported.iter().zip(&told).enumerate() {
            assert_eq!((exported.seq, exported.sub), (number as u64 + 1, None));
            assert_eq!(&exported.update, told);
        }
    }

    /// Whether the log says that the run is over.
    pub fn is_over(&self) -> bool {
        fold(&self.facts()).open_run().is_none()
    }

    /// The task is done, once, on disk and in the log.
    pub fn is_done(&self) {
        self.came_out_right();
        let facts = self.facts();
        ran_once(&facts, Outcome::Completed);
        let commands = calls(&facts).into_values().filter(|call| call.tool == "run_command");
        let (starts, done) = commands.fold((0, 0), |(starts, done), call| {
            (starts + call.starts, done + usize::from(call.ends == [CallEnd::Completed]))
        });
        let lines = self.workspace.read("ledger").lines().count();
        assert_eq!(done, 1, "a command that ended is not asked for again");
        assert!((1..=starts).contains(&lines), "{lines} lines in the ledger of {starts} commands started");
        let session = fold(&facts);
        assert_eq!(state::view(&session).state, State::Idle);
        self.turns_can_be_counted(&facts);
    }

    /// Every edit is on disk once.
    pub fn came_out_right(&self) {
        assert_eq!(self.workspace.read("count.txt"), AFTER, "an edit is missing or doubled");
        assert_eq!(self.workspace.read("notes/new.txt"), "counted\n");
    }

    /// `grep -c` on the log counts turns (S97).
    fn turns_can_be_counted(&self, facts: &[Record]) {
        let log = fs::read_to_string(self.log()).unwrap_or_else(|error| panic!("{error}"));
        let lines = log.lines().filter(|line| line.contains("\"turn_started\"")).count();
        let turns = facts.iter().filter(|fact| matches!(fact.event, Event::TurnStarted { .. })).count();
        assert_eq!(lines, turns);
        let ended = fold(facts).ended.back().map(|ended| ended.end.turns);
        assert_eq!(ended, Some(turns as u32), "the end of the run counts other turns than the log");
    }
}

/// What the log says of one call.
#[derive(Debug)]
pub struct CallSeen {
    pub tool: String,
    /// How often its effect was begun.
    pub starts: usize,
    pub ends: Vec<CallEnd>,
}

pub fn calls(facts: &[Record]) -> BTreeMap<String, CallSeen> {
    let mut calls = BTreeMap::new();
    for fact in facts {
        match &fact.event {
            Event::CallOpened { call, tool, .. } => {
                let seen = CallSeen { tool: tool.clone(), starts: 0, ends: Vec::new() };
                assert!(calls.insert(call.to_string(), seen).is_none(), "call {call} is opened again");
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

/// One run, with one end, this one; every call began at most once and ended once.
pub fn ran_once(facts: &[Record], outcome: Outcome) {
    let started: Vec<_> = facts
        .iter()
        .filter_map(|fact| match &fact.event {
            Event::RunStarted { run, .. } => Some(run.clone()),
            _ => None,
        })
        .collect();
    let ended: Vec<_> = facts
        .iter()
        .filter_map(|fact| match &fact.event {
            Event::RunEnded { run, outcome: how, .. } => Some((run.clone(), Outcome::from(*how))),
            _ => None,
        })
        .collect();
    assert_eq!(started.len(), 1, "the run was begun again");
    assert_eq!(ended, [(started[0].clone(), outcome)]);
    for (id, call) in calls(facts) {
        assert_eq!(call.ends.len(), 1, "call {id}: {call:?}");
        assert!(call.starts <= 1, "call {id}: {call:?}");
    }
}

pub fn fold(facts: &[Record]) -> Session {
    let id = facts.iter().find_map(|fact| match &fact.event {
        Event::SessionCreated { session, .. } => Some(session.clone()),
        _ => None,
    });
    let mut session = Session::new(id.unwrap_or_default(), Vec::new());
    facts.iter().for_each(|fact| session.apply(fact));
    session
}

pub fn told(facts: &[Record]) -> Vec<Update> {
    let mut session = fold(&facts[..0]);
    let mut teller = Projector::new(&session);
    let mut updates = Vec::new();
    for fact in facts {
        session.apply(fact);
        if let Updates::Lasting(told) = teller.project(&session, fact) {
            updates.extend(told);
        }
    }
    updates
}

/// The one session there is; a second one would be a leftover.
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
    let facts: Result<_, _> =
        records(workspace, id).iter().filter_map(|record| replay::read_record(record).transpose()).collect();
    facts.unwrap_or_else(|why| panic!("read the log: {why}"))
}

pub fn records(workspace: &Workspace, id: &str) -> Vec<RecordRaw> {
    let folder = workspace.state_dir().join("sessions").join(id);
    let read = Log::read(&Disk, &folder, id).unwrap_or_else(|error| panic!("{error}"));
    let damage: Vec<_> = read.notices.iter().filter(|notice| notice.is_damage()).collect();
    assert!(damage.is_empty(), "{damage:?}");
    read.records
}
