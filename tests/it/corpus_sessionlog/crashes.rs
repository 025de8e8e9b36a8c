//! Logs that end or have a hole at a critical place: what a server does when it opens them, and what it never
//! repeats.
//!
//! Each scene uses the log of a real session, cut or rewritten at one event.

use std::fs;

use adjutant::session::log::line::{self, LogLine};
use adjutant_protocol::ask::AskKind;
use adjutant_protocol::methods;
use adjutant_protocol::session::{ResumeResult, SessionListResult};
use adjutant_protocol::state::State;
use adjutant_protocol::{RunId, SessionId};
use adjutant_testkit::editor::{Answer, Options};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply, Request};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::open::open;
use super::sound::{LEAST, Sound};
use crate::rig::{Rig, assert_paired, session_dir, tool_outputs};

/// A session whose run has ended, with its workspace and its log.
pub struct Over {
    pub workspace: Workspace,
    pub model: ModelServer,
    pub session: SessionId,
    bytes: Vec<u8>,
}

/// Runs one prompt. The model calls a tool, and is done once it has the result.
fn over(tool: &'static str, arguments: Value, answer: &'static str) -> Over {
    let model = ModelServer::answering(move |request: &Request| match tool_outputs(request).as_slice() {
        [] => Reply::call(tool, arguments.clone()),
        _ => Reply::text("Done."),
    });
    over_with(model, answer)
}

/// Runs one prompt against a model; every ask gets this option as its answer.
pub fn over_with(model: ModelServer, answer: &'static str) -> Over {
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.openai(&model.base_url());
    let rig = Rig::start(&workspace);
    rig.on_ask(move |_| Answer::option(answer));
    let session = rig.new_session();
    rig.run_to_end(&session, "Do it.");
    rig.await_state(State::Idle);
    rig.end();
    let bytes = fs::read(session_dir(&workspace, &session).join("events.jsonl")).expect("a log");
    Over { workspace, model, session, bytes }
}

pub fn command(answer: &'static str) -> Over {
    over("run_command", json!({"command": "echo ran >> ledger"}), answer)
}

/// A record to write again: whether its batch continues after it, and its event.
pub type WrittenRecord = (bool, Value);

impl Over {
    pub fn written(&self) -> Vec<WrittenRecord> {
        let written = |line: &[u8]| match line::parse(&self.session.0, line) {
            Some(LogLine::Record(record)) => {
                Some((record.more, serde_json::from_slice(record.event).expect("JSON")))
            }
            _ => None,
        };
        self.bytes.split(|byte| *byte == b'\n').filter_map(written).collect()
    }

    /// Writes a new log from these records, numbered from 1.
    pub fn write(&self, records: &[WrittenRecord]) {
        self.write_at(records, 1_800_000_000_000);
    }

    /// The same, with this time for each record.
    pub fn write_at(&self, records: &[WrittenRecord], at: u64) {
        let mut log = Vec::new();
        line::put_header(&mut log, &self.session.0, 1);
        line::put_epoch(&mut log, &self.session.0, 1, 1);
        for (number, (more, event)) in records.iter().enumerate() {
            let event = RawValue::from_string(event.to_string()).expect("JSON");
            let stamp = (number as u64 + 1, at, *more);
            line::put_record(&mut log, &self.session.0, stamp, &event).expect("a record");
        }
        fs::write(self.dir().join("events.jsonl"), log).expect("a log");
    }

    pub fn dir(&self) -> std::path::PathBuf {
        session_dir(&self.workspace, &self.session)
    }

    /// Cuts the log after the batch of the first event with this name.
    pub fn cut_behind(&self, name: &str) {
        let records = self.up_to(name);
        self.write(&records);
    }

    /// Returns the records up to the end of that batch.
    pub fn up_to(&self, name: &str) -> Vec<WrittenRecord> {
        let mut records = self.written();
        let at = records.iter().position(|(_, event)| event["type"] == name);
        let at = at.unwrap_or_else(|| panic!("there is no {name}"));
        let end = (at..records.len()).find(|at| !records[*at].0).expect("a batch has an end");
        records.truncate(end + 1);
        records
    }

    /// Starts a server and opens the session.
    pub fn reopened(&self) -> (Rig, ResumeResult) {
        let rig = Rig::start(&self.workspace);
        rig.on_ask(|_| Answer::option("allow"));
        let now = rig.resume(&self.session, None);
        (rig, now)
    }

    /// Resumes the run, and returns the tool outputs in the last request to the model.
    pub fn resumed(&self) -> Vec<String> {
        let (rig, now) = self.reopened();
        assert_eq!(now.state.state, State::Resumable, "{now:?}");
        let ask = now.asks.iter().find(|ask| ask.kind == AskKind::ResumeTask).expect("it is asked");
        let before = self.model.requests().len();
        rig.answer(&ask.ask_id, "resume");
        rig.await_run_end(&self.session, &open_run(&now));
        rig.await_state(State::Idle);
        // An edit of a closed file is finished when the session is opened, and the user hears of it.
        for _ in rig.messages() {
            let message = rig.await_message();
            assert!(message.contains("A task was cut short while it changed a file."), "{message}");
        }
        rig.end();
        let requests = self.model.requests();
        requests[before..].iter().for_each(assert_paired);
        tool_outputs(requests.last().expect("a request"))
    }
}

pub fn open_run(now: &ResumeResult) -> RunId {
    now.state.run_id.clone().expect("an open run")
}

pub fn command_without_outcome() -> &'static str {
    let over = command("allow");
    over.cut_behind("tool_started");
    let outputs = over.resumed();
    assert!(outputs[0].contains("outcome is unknown"), "{outputs:?}");
    assert_eq!(over.workspace.read("ledger"), "ran\n", "it ran again");
    "unknown_outcome_ask"
}

pub fn read_without_outcome() -> &'static str {
    let over = over("read_file", json!({"path": "a.txt"}), "allow");
    over.cut_behind("tool_started");
    over.workspace.write("a.txt", "changed meanwhile\n");
    let outputs = over.resumed();
    assert!(outputs[0].contains("changed meanwhile"), "{outputs:?}");
    "rerun_ok"
}

/// Whether or not the edit had landed, the text has it once.
pub fn edit_without_outcome() -> &'static str {
    for landed in [true, false] {
        let edit = json!({"path": "a.txt", "old_text": "hello\n", "new_text": "hello\nonce\n"});
        let over = over("edit_file", edit, "allow");
        assert_eq!(over.workspace.read("a.txt"), "hello\nonce\n");
        over.cut_behind("apply_started");
        if !landed {
            over.workspace.write("a.txt", "hello\n");
        }
        let outputs = over.resumed();
        assert_eq!(over.workspace.read("a.txt"), "hello\nonce\n", "landed: {landed}, {outputs:?}");
    }
    "exactly_once"
}

pub fn denied() -> &'static str {
    let over = command("reject");
    over.cut_behind("ask_closed");
    let outputs = over.resumed();
    assert!(!over.workspace.exists("ledger"), "the denied command ran");
    assert!(!outputs[0].contains("unknown"), "{outputs:?}");
    "not_executed"
}

/// Asserts that the list and the opening client report the damage, and that the session continues anyway.
fn flagged(over: &Over) {
    let rig = Rig::start(&over.workspace);
    let listed = rig.call::<SessionListResult>(methods::SESSION_LIST, json!({})).sessions;
    let damaged = listed[0].damaged.clone().unwrap_or_default();
    assert!(damaged.contains("cannot follow the records before"), "{listed:?}");
    let now = rig.resume(&over.session, None);
    assert!(now.notices.iter().any(|notice| notice.contains("cannot follow")), "{:?}", now.notices);
    rig.run_to_end(&over.session, "And now?");
    rig.await_state(State::Idle);
    rig.end();
    over.model.requests().iter().for_each(assert_paired);
    assert_eq!(over.workspace.read("ledger"), "ran\n");
}

pub fn outcome_without_intent() -> &'static str {
    let over = command("allow");
    let mut records = over.written();
    records.retain(|(_, event)| event["type"] != "tool_started");
    over.write(&records);
    flagged(&over);
    "flag"
}

pub fn intent_without_call() -> &'static str {
    let over = command("allow");
    let mut records = over.written();
    let at = records.iter().position(|(_, event)| event["type"] == "tool_started").expect("an intent");
    records.insert(at + 1, (false, json!({"type": "tool_started", "call": "c-0000000000000000"})));
    over.write(&records);
    flagged(&over);
    "flag"
}

/// The reply with its call is the last record of the log.
pub fn call_without_result() -> &'static str {
    let over = command("allow");
    let mut records = over.written();
    let at = records.iter().position(|(_, event)| event["type"] == "replied").expect("a reply");
    records.truncate(at + 1);
    records[at].0 = false;
    over.write(&records);
    let outputs = over.resumed();
    assert!(outputs[0].contains("outcome is unknown"), "{outputs:?}");
    assert_eq!(over.workspace.read("ledger"), "ran\n");
    "repair"
}

pub fn result_lost_long_ago() -> &'static str {
    let over = command("allow");
    let mut records = over.written();
    records.retain(|(_, event)| event["type"] != "tool_finished");
    over.write(&records);
    let (rig, _) = over.reopened();
    rig.run_to_end(&over.session, "And now?");
    rig.await_state(State::Idle);
    rig.end();
    let requests = over.model.requests();
    let last = requests.last().expect("a request");
    assert_paired(last);
    assert!(tool_outputs(last)[0].contains("outcome is unknown"), "{:?}", tool_outputs(last));
    assert_eq!(over.workspace.read("ledger"), "ran\n");
    "repair"
}

/// Removes every record in turn in `tests/run --long`, otherwise every fifth.
pub fn any_event_lost() -> &'static str {
    let sound = Sound::make();
    let step = if std::env::var_os("ADJUTANT_SLOW").is_some() { 1 } else { 5 };
    // Without its end, the last batch is a torn tail; another line covers that.
    let whole = (1..*sound.last_batch().start()).filter(|record| *record != LEAST);
    for record in whole.step_by(step) {
        let spoiled = sound.spoiled(&json!([{"op": "remove_record", "record": record}]));
        let seen = open(&sound, &spoiled);
        assert!(seen.went_on && seen.flagged(), "without record {record}: {seen:#?}");
    }
    "repair"
}

/// A copy of the log from before the end: approved calls in it are not repeated.
pub fn copy_of_yesterday() -> &'static str {
    let over = command("allow");
    over.cut_behind("tool_started");
    let (rig, now) = over.reopened();
    assert_eq!((now.state.state, now.notices), (State::Resumable, Vec::new()));
    rig.end();
    assert_eq!(over.workspace.read("ledger"), "ran\n", "an approval of yesterday was used");
    // A copy from before the answer asks again, and does nothing until it is answered.
    over.cut_behind("ask_opened");
    let rig = Rig::start(&over.workspace);
    let now = rig.resume(&over.session, None);
    assert_eq!((now.state.state, now.notices), (State::RequiresAction, Vec::new()));
    rig.end();
    assert_eq!(over.workspace.read("ledger"), "ran\n");
    "resume_full"
}

/// If the session's folder is gone, nothing continues by itself, and a notice says why.
fn without_its_folder(put: fn(&std::path::Path)) -> &'static str {
    let over = over("read_file", json!({"path": "a.txt"}), "allow");
    over.cut_behind("tool_started");
    let root = over.workspace.path();
    let moved = root.with_file_name("moved");
    fs::rename(root, &moved).expect("moved");
    put(root);
    let before = over.model.requests().len();
    let rig = Rig::start_with(&over.workspace, Options::at(&moved));
    let now = rig.resume(&over.session, None);
    assert_eq!(now.state.state, State::Resumable);
    assert!(now.asks.iter().any(|ask| ask.kind == AskKind::ResumeTask));
    let place = root.display().to_string();
    assert!(now.notices.iter().any(|notice| notice.contains(&place)), "{:?}", now.notices);
    rig.end();
    assert_eq!(over.model.requests().len(), before, "the run continued by itself");
    "ask"
}

pub fn workspace_moved() -> &'static str {
    without_its_folder(|_| {})
}

pub fn workspace_is_a_file() -> &'static str {
    without_its_folder(|root| fs::write(root, "no folder").expect("a file"))
}
