//! Whole sessions on a disk that fails at its n-th write or sync, or is full (F10, S30). No effect may happen
//! without a durable intent. The run has one end, the user gets one clear message, and the session opens
//! afterwards.
//!
//! The server is the real one. Its disk is the faulty twin, or 64 KiB of memory in a mount namespace of its
//! own. The test fails if the kernel offers no such namespace.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use adjutant::session::log::{Log, RecordRaw};
use adjutant::session::replay::ReplayedSession;
use adjutant::session::storage::faulty::{Fault, FaultyDisk, Loss, Op};
use adjutant::session::storage::{Disk, Storage};
use adjutant_protocol::SessionId;
use adjutant_protocol::ask::{AskGroup, AskKind};
use adjutant_protocol::methods;
use adjutant_protocol::session::SessionListResult;
use adjutant_protocol::state::{State, StateView, SubState};
use adjutant_protocol::update::{RunView, SessionUpdateParams, Update};
use adjutant_testkit::campaign::is_slow;
use adjutant_testkit::command::Line;
use adjutant_testkit::editor::Answer;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply, Request};
use adjutant_testkit::process::wait_until;
use serde_json::{Value, json};

use crate::rig::{Rig, assert_overloaded, refused, session_dir, tool_outputs, twin_for};

const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");
/// Turns of a run: enough for `MOST` writes.
const TURNS: usize = 48;
const MOST: usize = 300;

/// A model that calls reads, commands and new files in turn, `TURNS` times.
fn model() -> ModelServer {
    ModelServer::answering(|request: &Request| match tool_outputs(request).len() {
        number if number >= TURNS => Reply::text("Done."),
        number => match number % 3 {
            0 => Reply::call("read_file", json!({"path": "a.txt"})),
            1 => Reply::call("run_command", json!({"command": format!("echo {number} >> ledger")})),
            _ => {
                let path = format!("notes/{number}.txt");
                Reply::call("write_file", json!({"path": path, "content": "noted\n"}))
            }
        },
    })
}

struct Scene {
    workspace: Workspace,
    _model: ModelServer,
    disk: FaultyDisk,
}

impl Scene {
    fn new() -> Scene {
        let model = model();
        let workspace = Workspace::new("//- /a.txt\nhello\n");
        workspace.openai(&model.base_url());
        let disk = twin_for(&workspace);
        Scene { workspace, _model: model, disk }
    }

    fn rig(&self) -> Rig {
        let rig = Rig::start_on(&self.workspace, Arc::new(self.disk.clone()));
        rig.on_ask(|_| Answer::option("allow"));
        rig
    }

    /// Returns the records of a session on one state of the disk; none if the session was never created.
    fn records(&self, disk: &FaultyDisk, session: &SessionId) -> Vec<RecordRaw> {
        match Log::read(disk, &session_dir(&self.workspace, session), &session.0) {
            Ok(read) => read.records,
            Err(error) => {
                let exists = disk.stat(&session_dir(&self.workspace, session).join("events.jsonl")).is_ok();
                assert!(!exists, "the log cannot be read: {error}");
                Vec::new()
            }
        }
    }

    /// Asserts that no effect happened twice, and that each has an intent in the log.
    fn effects_have_intents(&self, records: &[RecordRaw], when: &str) {
        let ledger = fs::read_to_string(self.workspace.path().join("ledger")).unwrap_or_default();
        let lines: Vec<&str> = ledger.lines().collect();
        assert_eq!(lines.iter().collect::<BTreeSet<_>>().len(), lines.len(), "{when}: twice: {lines:?}");
        let notes = fs::read_dir(self.workspace.path().join("notes")).into_iter().flatten().count();
        assert!(lines.len() <= started(records, "run_command"), "{when}: a command without its intent");
        assert!(notes <= started(records, "write_file"), "{when}: an edit without its intent");
    }
}

fn event(record: &RecordRaw) -> Value {
    serde_json::from_str(record.event.get()).expect("an event is JSON")
}

/// Returns the number of calls of a tool that have an intent in the log.
fn started(records: &[RecordRaw], tool: &str) -> usize {
    let events: Vec<Value> = records.iter().map(event).collect();
    let of_tool = |call: &Value| {
        events
            .iter()
            .any(|event| event["type"] == "call_opened" && event["call"] == *call && event["tool"] == tool)
    };
    let begun = |event: &&Value| {
        (event["type"] == "tool_started" || event["type"] == "apply_started") && of_tool(&event["call"])
    };
    events.iter().filter(begun).count()
}

fn named(records: &[RecordRaw], name: &str) -> Vec<Value> {
    records.iter().map(event).filter(|event| event["type"] == name).collect()
}

/// The result of a run under a fault, as the client saw it.
struct Seen {
    session: SessionId,
    stopped: bool,
}

/// Runs the task until it ends, or until the session reports that its log cannot be written.
fn run(scene: &Scene, when: &str) -> Seen {
    let rig = scene.rig();
    let session = rig.new_session();
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "Do all of it."}]});
    let prompt = rig.request_nowait(methods::SESSION_PROMPT, prompt);
    let notices = || {
        let messages = rig.updates().into_iter().filter_map(|params| match params.update {
            Update::Notice { message } => Some(message),
            _ => None,
        });
        messages.filter(|message| message.contains("can no longer be written")).collect::<Vec<_>>()
    };
    let ended = || {
        let end = |update: &Update| matches!(update, Update::Run(RunView::Ended { .. }));
        rig.updates().iter().any(|params| end(&params.update))
    };
    wait_until(&format!("{when}: an end or a message"), || ended() || !notices().is_empty());
    let stopped = !notices().is_empty();
    let answer = rig.await_response(&prompt);
    assert!(answer.is_ok() || stopped, "{when}: {answer:?}");
    rig.end();
    Seen { session, stopped }
}

/// Opens the session again on a sound disk and brings its run to an end.
fn finish(scene: &Scene, seen: &Seen, when: &str) {
    let rig = scene.rig();
    let listed = rig.call::<SessionListResult>(methods::SESSION_LIST, json!({})).sessions;
    let Some(entry) = listed.iter().find(|entry| entry.session_id == seen.session) else {
        // No reply promised this session; a new one begins.
        assert!(seen.stopped, "{when}: the session is gone");
        let session = rig.new_session();
        rig.run_to_end(&session, "Begin again.");
        rig.await_state(State::Idle);
        rig.end();
        return;
    };
    assert_eq!(entry.damaged, None, "{when}");
    let now = rig.resume(&seen.session, None);
    if let Some(run) = now.state.run_id.clone() {
        for ask in now.asks.iter().filter(|ask| ask.group == AskGroup::Resumable) {
            rig.answer(&ask.ask_id, "resume");
        }
        rig.await_run_end(&seen.session, &run);
        rig.await_state(State::Idle);
    }
    // A write that was cut short is finished first.
    for _ in rig.messages() {
        let message = rig.await_message();
        assert!(message.contains("A task was cut short while it changed a file."), "{when}: {message}");
    }
    rig.end();
    let records = scene.records(&scene.disk, &seen.session);
    let runs = named(&records, "run_started");
    let ends = named(&records, "run_ended");
    assert_eq!((runs.len(), ends.len()), (1, 1), "{when}: not one end");
    assert_eq!(runs[0]["run"], ends[0]["run"], "{when}");
    scene.effects_have_intents(&records, when);
}

/// Plays one run whose `nth` operation of a kind fails; returns whether the fault occurred.
fn fails_at(op: Op, nth: usize, fault: Fault, power_too: bool) -> bool {
    let when = format!("{op:?} {nth} {fault:?}");
    let mut scene = Scene::new();
    scene.disk.fail(op, nth, fault);
    let seen = run(&scene, &when);
    let met = scene.disk.count(op) >= nth;
    scene.disk.heal();
    let durable = scene.disk.after_power_loss(scene.disk.crash_points(), Loss::Unsynced);
    scene.effects_have_intents(&scene.records(&durable, &seen.session), &when);
    if power_too {
        scene.disk = durable;
    }
    finish(&scene, &seen, &when);
    met
}

/// Returns which of the `MOST` operations to try: all of them with `ADJUTANT_SLOW`.
fn chosen() -> Vec<usize> {
    if is_slow() {
        return (1..=MOST).collect();
    }
    (1..=MOST).step_by(43).chain([2, 3]).collect()
}

#[test]
fn f10_s30_whichever_write_fails_under_a_session_it_ends_once_and_opens_again() {
    let mut met = 0;
    for nth in chosen() {
        let fault = [Fault::Full, Fault::Broken, Fault::Partial(40)][nth % 3];
        met += usize::from(fails_at(Op::Write, nth, fault, nth % 2 == 0));
    }
    assert!(met >= chosen().len() - 1, "a run writes too seldom for this: {met}");
}

#[test]
fn f10_s30_whichever_sync_fails_under_a_session_it_ends_once_and_opens_again() {
    let mut met = 0;
    for nth in chosen() {
        let op = if nth % 5 == 0 { Op::SyncDir } else { Op::Sync };
        met += usize::from(fails_at(op, nth, Fault::Broken, nth % 2 == 0));
    }
    assert!(met > chosen().len() / 4, "a run syncs too seldom for this: {met}");
}

/// Returns a model that asks its user once, and a workspace whose sessions are on a disk that can fail.
fn asking() -> (FaultyDisk, Workspace, ModelServer) {
    let model = ModelServer::answering(|request: &Request| match tool_outputs(request).as_slice() {
        [] => Reply::call("ask_user", json!({"question": "Which one?", "options": ["red", "green"]})),
        _ => Reply::text("Done."),
    });
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.openai(&model.base_url());
    (twin_for(&workspace), workspace, model)
}

#[test]
fn who_asks_again_of_a_session_that_cannot_be_written_is_told_so_and_never_waits() {
    let (disk, workspace, _model) = asking();
    let rig = Rig::start_on(&workspace, Arc::new(disk.clone()));
    let twice = |method: &str, params: Value| {
        let first = rig.request_nowait(method, params.clone());
        assert_eq!(
            refused(rig.await_response(&first)).1,
            "SessionReadOnly",
            "{method}: the loss is reported"
        );
        let again = rig.request_nowait(method, params);
        assert_eq!(refused(rig.await_response(&again)).1, "SessionReadOnly", "{method}: and reported again");
    };
    let asked = rig.new_session();
    rig.prompt(&asked, "Ask me.");
    let ask = rig.await_ask_of(AskKind::Followup);
    let prompted = rig.new_session();
    disk.fail_from(Op::Sync, 1, Fault::Broken);
    twice(methods::ASK_RESPOND, json!({"askId": ask.ask_id, "answer": "blue"}));
    let prompt = json!([{"type": "text", "text": "Go on."}]);
    twice(methods::SESSION_PROMPT, json!({"sessionId": prompted, "prompt": prompt, "key": "once"}));
    disk.heal();
    rig.end();
}

#[test]
fn finding_f3_s96_no_update_has_a_number_that_the_log_gives_to_something_else() {
    let model = ModelServer::start([Reply::text("Begun, and over").hold_behind("Begun")]);
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.openai(&model.base_url());
    let disk = twin_for(&workspace);
    let rig = Rig::start_on(&workspace, Arc::new(disk.clone()));
    let session = rig.new_session();
    rig.prompt(&session, "Begin.");
    let state_is = |params: &SessionUpdateParams, is: &dyn Fn(&StateView) -> bool| matches!(&params.update, Update::StateUpdate(view) if is(view));
    let streams =
        |params: &SessionUpdateParams| state_is(params, &|view| view.sub == Some(SubState::Streaming));
    let resumable = |params: &SessionUpdateParams| state_is(params, &|view| view.state == State::Resumable);
    // A numbered update survives a power loss at the moment the client receives it.
    let survives = |disk: &FaultyDisk| {
        let published =
            rig.updates().iter().filter(|params| params.sub.is_none()).map(|params| params.seq).max();
        let after = disk.after_power_loss(disk.crash_points(), Loss::Unsynced);
        let mut replayed = ReplayedSession::new(&session);
        let records =
            Log::read(&after, &session_dir(&workspace, &session), &session.0).expect("a log").records;
        records.iter().for_each(|record| replayed.fold(record));
        assert!(Some(replayed.seq) >= published, "{} of {published:?} updates are in the log", replayed.seq);
    };
    wait_until("the reply streams", || rig.updates().iter().any(streams));
    survives(&disk);
    disk.fail_from(Op::Sync, 1, Fault::Broken);
    let words = json!([{"type": "text", "text": "And more."}]);
    let steer = rig.request_nowait(methods::SESSION_PROMPT, json!({"sessionId": session, "prompt": words}));
    assert_eq!(refused(rig.await_response(&steer)).1, "SessionReadOnly");
    wait_until("the state is published", || rig.updates().iter().any(resumable));
    let last = rig.updates().into_iter().find(resumable).expect("it is published");
    assert!(last.sub.is_some(), "it is not in the log, so it has no number: {last:?}");
    survives(&disk);
    disk.heal();
    model.release();
    rig.end();
}

/// Number of failed syncs; in some rounds an event follows before the failure is noticed.
const FAILED_SYNCS: usize = 16;

#[test]
fn a_sync_that_fails_once_stops_no_session_although_facts_follow_at_once() {
    let (disk, workspace, _model) = asking();
    let rig = Rig::start_on(&workspace, Arc::new(disk.clone()));
    for _ in 0..FAILED_SYNCS {
        let session = rig.new_session();
        let run = rig.prompt(&session, "Ask me.").run_id;
        let ask = rig.await_ask_of(AskKind::Followup);
        disk.fail(Op::Sync, 1, Fault::Broken);
        rig.answer(&ask.ask_id, "option-1");
        rig.await_run_end(&session, &run);
        rig.await_state(State::Idle);
    }
    rig.end();
}

/// Number of commands: more than 64 KiB can hold, and fewer than the limit of an unattended run.
const MANY: usize = 40;

/// Number of round trips that give a command more time than it needs.
const ROUND_TRIPS: usize = 200;

#[test]
fn f10_l6_a_command_does_not_begin_before_its_intent_is_durable() {
    let model = ModelServer::answering(|request: &Request| match tool_outputs(request).as_slice() {
        [] => Reply::call("run_command", json!({"command": "echo ran >> ledger"})),
        _ => Reply::text("Done."),
    });
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.openai(&model.base_url());
    let disk = twin_for(&workspace);
    let rig = Rig::start_on(&workspace, Arc::new(disk.clone()));
    let session = rig.new_session();
    let run = rig.prompt(&session, "Run it.").run_id;
    let ask = rig.await_ask_of(AskKind::Command);
    disk.hold_syncs();
    rig.answer(&ask.ask_id, "allow");
    for _ in 0..ROUND_TRIPS {
        rig.call::<SessionListResult>(methods::SESSION_LIST, json!({}));
    }
    let began = workspace.exists("ledger");
    disk.release_syncs();
    assert!(!began, "it ran before the sync of its intent was finished");
    rig.await_run_end(&session, &run);
    rig.await_state(State::Idle);
    rig.end();
    assert_eq!(workspace.read("ledger"), "ran\n");
}

/// Returns a script for the model: commands until the disk is full.
fn filling() -> String {
    let turn = |number: usize| {
        format!(
            "[[turn]]\ntext = \"{}\"\n[[turn.call]]\ntool = \"run_command\"\n\
             arguments = {{ command = \"echo {number} >> ledger\" }}\n",
            "I note the next one. ".repeat(40)
        )
    };
    let end = "[[turn]]\n[[turn.call]]\ntool = \"task_complete\"\narguments = { summary = \"All noted.\" }\n";
    (0..MANY).map(turn).chain([end.to_owned()]).collect::<Vec<_>>().join("\n")
}

#[test]
fn f10_a_disk_of_64_kib_fills_up_with_one_clear_message_and_all_it_holds_is_sound() {
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.script(&filling());
    let kept = workspace.write_beside("kept", "");
    fs::remove_file(&kept).and_then(|()| fs::create_dir(&kept)).expect("a folder");
    let script = "mount -t tmpfs -o size=64k,mode=700 none \"$ADJUTANT_STATE_DIR\" && : > \"$0/mounted\" \
                  && { \"$@\"; code=$?; cp -R \"$ADJUTANT_STATE_DIR/.\" \"$0\"; exit $code; }";
    let line = ["-rm", "sh", "-c", script, &kept.to_string_lossy(), BINARY];
    let line = [&line[..], &["run", "-y", "--allow-commands", "fill it"]].concat();
    let ran = Line::new("unshare", &workspace, &line).run();
    assert!(kept.join("mounted").exists(), "the kernel gives no mount name space: {ran}");
    assert!(!ran.status.success(), "64 KiB were enough: {ran}");
    // The message may be wrapped for a terminal.
    let all = format!("{} {}", ran.stdout, ran.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(all.matches("no space is left").count(), 1, "{ran}");

    // Moves the state to a disk with room; the run continues to its one end.
    fs::remove_file(kept.join("mounted")).expect("the mark");
    let state = workspace.state_dir();
    fs::remove_dir_all(&state).and_then(|()| fs::rename(&kept, &state)).expect("moved");
    let id = only_session(&state);
    let records = || Log::read(&Disk, &state.join("sessions").join(&id), &id).expect("a log").records;
    let before = workspace.read("ledger").lines().count();
    assert!((1..MANY).contains(&before) && before <= started(&records(), "run_command"), "{before} ran");
    let ran = Line::new(BINARY, &workspace, &["run", "--continue", "-y", "--allow-commands"]).run();
    assert!(ran.expect(0).stdout.contains("All noted."), "{ran}");
    assert_eq!(named(&records(), "run_ended").len(), 1);
    let ledger = workspace.read("ledger");
    let once: BTreeSet<&str> = ledger.lines().collect();
    assert_eq!(once.len(), ledger.lines().count(), "something ran twice: {ledger}");
}

/// The most pages left for sessions: with more, a whole run with one edit fits.
const MOST_PAGES: usize = 12;

#[test]
fn f10_a_run_that_has_no_page_left_for_an_edit_stops_and_says_so() {
    let script = "mount -t tmpfs -o size=64k,mode=700 none \"$ADJUTANT_STATE_DIR\" && : > \"$0.mounted\" \
                  && head -c $((65536 - 4096 * $1)) /dev/zero > \"$ADJUTANT_STATE_DIR/filled\" && shift && exec \"$@\"";
    let edit = "[[turn]]\n[[turn.call]]\ntool = \"edit_file\"\n\
                arguments = { path = \"a.txt\", old_text = \"one\", new_text = \"two\" }\n[[turn]]\ntext = \"Done.\"\n";
    let mut ends = BTreeSet::new();
    for pages in 1..=MOST_PAGES {
        let workspace = Workspace::new("//- /a.txt\none\n");
        workspace.script(edit);
        let mark = workspace.write_beside("kept", "");
        let line = ["-rm", "sh", "-c", script, &mark.to_string_lossy(), &pages.to_string(), BINARY];
        let line = [&line[..], &["run", "-y", "edit it"]].concat();
        let ran = Line::new("unshare", &workspace, &line).run();
        let mounted = mark.with_file_name("kept.mounted").exists();
        assert!(mounted, "the kernel gives no mount name space: {ran}");
        let all = format!("{} {}", ran.stdout, ran.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        let made = workspace.read("a.txt") == "two\n";
        if ran.status.success() {
            assert!(made && !all.contains("no space is left"), "{pages} pages: {ran}");
        } else {
            assert_eq!(all.matches("no space is left").count(), 1, "{pages} pages: {ran}");
        }
        let why = all.contains("the text before the edit cannot be kept");
        assert!(!(made && why), "{pages} pages: {ran}");
        ends.insert((ran.status.success(), why));
    }
    // The run stops at the log, stops at the text before the edit, or does not stop.
    assert_eq!(ends.into_iter().collect::<Vec<_>>(), [(false, false), (false, true), (true, false)]);
}

fn only_session(state: &Path) -> String {
    let entries = fs::read_dir(state.join("sessions")).expect("the sessions").flatten();
    let mut ids: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    assert_eq!(ids.len(), 1, "{ids:?}");
    ids.remove(0)
}

#[test]
fn finding_f5_what_the_log_cannot_record_for_a_moment_is_refused_and_works_when_sent_again() {
    let command = Reply::call("run_command", json!({"command": "echo no >> ledger"}));
    let model = ModelServer::start([command, Reply::text("I see.")]);
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.openai(&model.base_url());
    let disk = twin_for(&workspace);
    let rig = Rig::start_on(&workspace, Arc::new(disk.clone()));
    rig.on_ask(|_| Answer::Hold);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Do it.").run_id;
    let ask = rig.await_ask().ask_id;
    let choice = json!({"sessionId": session, "configId": "mode", "value": "ask"});
    let rejection = json!({"askId": ask, "optionId": "reject"});
    for (method, params) in [(methods::SESSION_SET_CONFIG_OPTION, choice), (methods::ASK_RESPOND, rejection)]
    {
        disk.fail_from(Op::Write, 1, Fault::Scarce);
        assert_overloaded(rig.request(method, params.clone()));
        disk.heal();
        rig.request(method, params).expect("there is room again");
    }
    rig.await_run_end(&session, &run);
    let read = Log::read(&disk, &session_dir(&workspace, &session), &session.0).expect("a log");
    let count = |name: &str| read.records.iter().filter(|record| record.event.get().contains(name)).count();
    assert_eq!((count(r#""type":"config_changed""#), count(r#""type":"ask_closed""#)), (1, 1));
    assert!(!workspace.exists("ledger"));
    rig.end();
}
