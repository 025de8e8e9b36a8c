//! Replays and transcripts of past updates: the session works meanwhile, and the memory is bounded.
//!
//! Never waits for a fixed time: the disk delays the reading until the test releases it.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::sync::Arc;

use adjutant::session::log::line;
use adjutant::session::storage::faulty::FaultyDisk;
use adjutant_core::machine::accept::accept;
use adjutant_core::machine::input::{Input, Preparation, Prompt, Report, Stamp};
use adjutant_core::machine::step::{Step, next_steps};
use adjutant_core::policy::choices::Follows;
use adjutant_core::policy::observation::ObservedPath;
use adjutant_core::prompt::message::{GenerationSettings, Reply as Said, RequestedCall, StopCause};
use adjutant_core::record::{CallEnd, CallResult, Payload, Policy, Record};
use adjutant_core::session::Session;
use adjutant_protocol::SessionId;
use adjutant_protocol::ask::AskKind;
use adjutant_protocol::methods;
use adjutant_protocol::session::{ReplayFrom, ResumeResult};
use adjutant_protocol::state::State;
use adjutant_protocol::update::{SessionUpdateParams, Update};
use adjutant_testkit::campaign::is_slow;
use adjutant_testkit::command::Line;
use adjutant_testkit::editor::Options;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use adjutant_testkit::process::{Server, wait_until};
use serde_json::json;

use crate::rig::{Rig, lasting, session_dir, twin_for};

const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");
/// The size of the reply and of the output of each turn in a long log, in bytes.
const LARGE: usize = 32 << 10;
/// The most memory that a replay may add, however long the log is, in bytes.
const GROWTH: u64 = 24 << 20;

/// A session with one finished run, on a disk that the test can delay.
struct Scene {
    _model: ModelServer,
    workspace: Workspace,
    disk: FaultyDisk,
    rig: Rig,
    session: SessionId,
}

impl Scene {
    fn new() -> Scene {
        let model = ModelServer::answering(|_| Reply::text("All is well."));
        let workspace = Workspace::new("//- /a.txt\nhello\n");
        workspace.openai(&model.base_url());
        let disk = twin_for(&workspace);
        let rig = Rig::start_on(&workspace, Arc::new(disk.clone()));
        let session = rig.new_session();
        rig.run_to_end(&session, "Hello.");
        rig.await_state(State::Idle);
        Scene { _model: model, workspace, disk, rig, session }
    }

    fn hold(&self) {
        self.disk.hold(&session_dir(&self.workspace, &self.session));
    }

    fn reading_begins(&self) {
        wait_until("the log to be read", || self.disk.stuck() > 0);
    }

    /// Runs the session until the log has the end of the run. Its end may not be published yet.
    fn works_on(&self) {
        let run = self.rig.prompt(&self.session, "Hello again.").run_id;
        let log = session_dir(&self.workspace, &self.session).join("events.jsonl");
        let log = || String::from_utf8(self.disk.content(&log).expect("a log")).expect("text");
        wait_until("the end of the run in the log", || {
            log().lines().any(|line| line.contains("run_ended") && line.contains(&run.0))
        });
    }
}

#[test]
fn s09_a_session_works_on_while_its_past_is_told_again() {
    let scene = Scene::new();
    let (rig, session) = (&scene.rig, &scene.session);
    let past = lasting(&rig.updates());
    scene.hold();
    let from = json!({"sessionId": session, "replayFrom": ReplayFrom::Start});
    let resumed = rig.request_nowait(methods::SESSION_RESUME, from);
    scene.reading_begins();
    let now = rig.await_response(&resumed).expect("the answer has the present state");
    let now: ResumeResult = serde_json::from_value(now).expect("a result of resume");
    scene.works_on();
    scene.disk.release();
    let last = |update: &SessionUpdateParams| {
        update.seq > now.seq
            && matches!(&update.update, Update::StateUpdate(view) if view.state == State::Idle)
    };
    rig.await_update(last);
    let all = lasting(&rig.updates());
    let (first, again) = all.split_at(past.len());
    assert_eq!(first, past);
    assert_eq!(&again[..past.len()], past, "all past updates, once");
    let numbers: Vec<u64> = again[past.len()..].iter().map(|update| update.seq).collect();
    let following: Vec<u64> = (now.seq + 1..).take(numbers.len()).collect();
    assert_eq!(numbers, following, "new updates come after the past ones");
    scene.rig.end();
}

#[test]
fn s101_a_session_works_on_while_its_transcript_is_written_and_no_block_is_lost() {
    let scene = Scene::new();
    let (rig, session) = (&scene.rig, &scene.session);
    scene.hold();
    let show = json!({"command": "adjutant.showTranscript", "arguments": [{"sessionId": session}]});
    rig.request("workspace/executeCommand", show).expect("the transcript is shown");
    scene.reading_begins();
    scene.works_on();
    scene.disk.release();
    rig.run_to_end(session, "And once more.");
    let path = session_dir(&scene.workspace, session).join("transcript.md");
    let text = || String::from_utf8(scene.disk.content(&path).unwrap_or_default()).expect("text");
    wait_until("the transcript to have all three runs", || text().matches("**Done").count() == 3);
    for words in ["> Hello.", "> Hello again.", "> And once more."] {
        assert_eq!(text().matches(words).count(), 1, "{words}: {}", text());
    }
    scene.rig.end();
}

#[test]
fn s09_an_ask_that_closed_long_ago_is_not_closed_again_by_a_replay() {
    let model =
        ModelServer::start([Reply::call("run_command", json!({"command": "true"})), Reply::text("Well.")]);
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.openai(&model.base_url());
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Run it.").run_id;
    let ask = rig.await_ask_of(AskKind::Command);
    rig.answer(&ask.ask_id, "allow");
    rig.await_run_end(&session, &run);
    rig.await_state(State::Idle);
    let resolved = || rig.seen().matches(methods::ASK_RESOLVED).count();
    let before = resolved();
    assert!(before > 0, "the ask was closed");
    let seen = rig.updates().len();
    let now = rig.resume(&session, Some(ReplayFrom::Start));
    wait_until("the whole past again", || rig.updates()[seen..].iter().any(|update| update.seq == now.seq));
    // This answer comes after all past updates.
    rig.resume(&session, None);
    assert_eq!(resolved(), before);
    rig.end();
}

/// A session of the core and its log.
struct Past {
    session: Session,
    log: Vec<u8>,
    now: u64,
}

impl Past {
    fn input(&mut self, input: Input) {
        self.now += 1;
        let mut seed = [0; 16];
        seed[..8].copy_from_slice(&self.now.to_le_bytes());
        let stamp = Stamp::new(1_700_000_000_000 + self.now, seed);
        let events = accept(&self.session, &stamp, input).expect("the input is valid");
        let id = self.session.id.0.clone();
        for (index, event) in events.iter().enumerate() {
            let last = index + 1 == events.len();
            let record = Record { seq: self.session.seq + 1, at: stamp.now, last, event: event.clone() };
            line::put_record(&mut self.log, &id, (record.seq, record.at, !last), event).expect("a record");
            self.session.apply(&record);
        }
    }

    fn report(&mut self, report: Report) {
        let step = next_steps(&self.session).into_iter().find(|step| !matches!(step, Step::Wake(_)));
        self.input(Input::Step { step: step.expect("there is work"), report });
    }

    /// Adds a turn whose reply and output have about `size` bytes each.
    fn turn(&mut self, number: usize, size: usize) {
        let call = RequestedCall {
            id: format!("call_{number}"),
            name: "read_file".to_owned(),
            arguments: r#"{"path":"a.txt"}"#.to_owned(),
            free_form: false,
        };
        self.report(Report::TurnBegan);
        self.report(Report::ReplyStarted);
        let (text, stop) = ("I read it. ".repeat(size.div_ceil(11)), StopCause::ToolCalls);
        self.report(Report::Replied(Said { text, calls: vec![call], stop, ..Said::default() }));
        let payload = Payload::Read { path: "a.txt".to_owned(), everywhere: false };
        self.report(Report::Prepared(Box::new(
            Preparation::of(payload).about(ObservedPath::inside("a.txt")),
        )));
        self.report(Report::Finished(CallResult {
            end: CallEnd::Completed,
            output: "hello\n".repeat(size.div_ceil(6)).into(),
            summary: "1 line".to_owned(),
            elapsed_ms: 1,
            cause: None,
            whole: None,
            unsaved: Vec::new(),
            reads: Vec::new(),
        }));
    }

    /// Returns a session with one run.
    fn new(id: &SessionId, root: &str) -> Past {
        let session = Session::new(id.clone(), vec![root.to_owned()]);
        let mut past = Past { session, log: Vec::new(), now: 0 };
        line::put_header(&mut past.log, &id.0, 1);
        line::put_epoch(&mut past.log, &id.0, 1, 1);
        past.input(Input::prompted(Prompt {
            added: String::new(),
            text: "Look at it.".to_owned(),
            title: None,
            expected_run: None,
            model: "local/test".to_owned(),
            generation_settings: GenerationSettings::default(),
            images: Vec::new(),
            takes_images: true,
            policy: Policy::default(),
            follows: Follows { mode: true, model: true, effort: true, verbosity: true },
            origin: None,
            comments: Vec::new(),
            key: None,
        }));
        past
    }

    /// Writes its log to the state directory of a workspace.
    fn plant(&self, workspace: &Workspace) {
        let dir = session_dir(workspace, &self.session.id);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&dir).expect("a folder");
        let log = dir.join("events.jsonl");
        fs::write(&log, &self.log).expect("a log");
        fs::set_permissions(&log, fs::Permissions::from_mode(0o600)).expect("for its owner");
    }
}

#[test]
fn s09_a_long_past_is_told_again_in_bounded_memory() {
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    let id = SessionId::from("s-0123456789abcdef");
    let bytes = if is_slow() { 192 << 20 } else { 48 << 20 };
    let mut past = Past::new(&id, &workspace.path().display().to_string());
    let mut turns = 0;
    while past.log.len() < bytes {
        turns += 1;
        past.turn(turns, LARGE);
    }
    past.plant(&workspace);
    drop(past);
    // Writes the summary. A server that finds none reads the whole log for its list, at some time during the test.
    Line::new(BINARY, &workspace, &["sessions", "list"]).run().expect(0);
    let mut server = Server::spawn(BINARY, &workspace, &["lsp"]);
    let deadline = std::time::Duration::from_secs(60);
    let editor = server.editor(Options { deadline, ..Options::new(&workspace) });
    let now = editor.resume(&id, None);
    let before = server.memory().expect("the memory can be read");
    let after = editor.resume(&id, Some(ReplayFrom::Start));
    assert_eq!(after.seq, now.seq);
    editor.await_update(|update| update.seq == now.seq && update.sub.is_none());
    let updates = lasting(&editor.updates()).len() as u64;
    assert!(updates >= now.seq, "{updates} of {}", now.seq);
    let peak = server.memory().expect("the memory can be read").peak;
    let grown = peak.saturating_sub(before.peak.max(before.resident));
    eprintln!(
        "a log of {} MiB: {} MiB in memory, {} MiB more for the replay",
        bytes >> 20,
        before.resident >> 20,
        grown >> 20
    );
    assert!(grown <= GROWTH, "the server grew by {} MiB", grown >> 20);
    editor.shutdown();
}

#[test]
fn s09_a_session_of_ten_thousand_items_is_opened_by_two_hundred_of_them() {
    const TURNS: usize = 5_000;
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    let id = SessionId::from("s-0123456789abcdef");
    let mut past = Past::new(&id, &workspace.path().display().to_string());
    // A message and a call each.
    (1..=TURNS).for_each(|number| past.turn(number, 200));
    past.plant(&workspace);
    drop(past);
    let rig = Rig::start(&workspace);
    let begun = std::time::Instant::now();
    let now = rig.resume(&id, Some(ReplayFrom::Last { items: 200 }));
    rig.resume(&id, None);
    let took = begun.elapsed();
    let updates = lasting(&rig.updates());
    eprintln!("{} of {} updates in {} ms", updates.len(), now.seq, took.as_millis());
    let messages =
        updates.iter().filter(|params| matches!(params.update, Update::AgentMessage { .. })).count();
    // The ask that the interrupted run opens is one of the items.
    assert!((99..=100).contains(&messages), "{messages} messages");
    assert!(updates.len() < 1_000, "{} updates", updates.len());
    assert!(now.before.is_some_and(|before| before > now.seq / 2), "there are older ones: {:?}", now.before);
    rig.end();
}
