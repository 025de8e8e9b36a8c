//! Which process may write a log, and what happens to a session whose file or disk has changed.
//!
//! Each scene asserts by itself and returns the corpus word that it proved.

use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::path::Path;
use std::sync::Arc;

use adjutant::session::log::Log;
use adjutant::session::storage::faulty::{Fault, Loss, Op};
use adjutant::session::storage::{Disk, Storage};
use adjutant_protocol::ask::AskKind;
use adjutant_protocol::methods;
use adjutant_protocol::session::SessionListResult;
use adjutant_protocol::state::{Outcome, State};
use adjutant_protocol::update::Update;
use adjutant_testkit::command::Line;
use adjutant_testkit::editor::Options;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use adjutant_testkit::process::{MARK, Server};
use rustix::fs::{CWD, FileType, mknodat};
use serde_json::json;

use crate::rig::{Rig, refused, session_dir, twin_for};

const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");

/// A workspace with a model, and one session whose run has ended.
struct Over {
    workspace: Workspace,
    _model: ModelServer,
    session: adjutant_protocol::SessionId,
}

fn workspace_with(model: &ModelServer) -> Workspace {
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.openai(&model.base_url());
    workspace
}

fn over() -> Over {
    let model = ModelServer::answering(|_| Reply::text("Done."));
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    rig.run_to_end(&session, "Begin.");
    rig.await_state(State::Idle);
    rig.end();
    Over { workspace, _model: model, session }
}

/// Two processes: the second learns which process has the session. It may read the log, but writes nothing.
pub fn two_servers() -> &'static str {
    let model = ModelServer::start([Reply::text("one two three").hold_after(1), Reply::text("Mine.")]);
    let workspace = workspace_with(&model);
    let spawn = || {
        Server::spawn_with(BINARY, &workspace, &["lsp"], |command| {
            command.env(MARK, "the same for all");
        })
    };
    let (mut first, mut second) = (spawn(), spawn());
    let (one, other) = (first.editor(Options::new(&workspace)), second.editor(Options::new(&workspace)));
    let session = one.new_session();
    let run = one.prompt(&session, "Keep it.").run_id;
    model.wait_for_holding(1);
    let of = |more: &[(&str, serde_json::Value)]| {
        let mut params = json!({ "sessionId": session });
        more.iter().for_each(|(name, value)| params[*name] = value.clone());
        params
    };
    let prompt = of(&[("prompt", json!([{ "type": "text", "text": "Me too." }]))]);
    for (method, params) in [(methods::SESSION_RESUME, of(&[])), (methods::SESSION_PROMPT, prompt.clone())] {
        let error = other.request(method, params).expect_err("another process has it");
        assert!(error.message.contains(&format!("process {}", first.pid())), "{method}: {error}");
        assert_eq!(refused::<()>(Err(error)).1, "SessionLocked", "{method}");
    }
    let listed = other.call::<SessionListResult>(methods::SESSION_LIST, json!({})).sessions;
    assert_eq!((listed[0].session_id.clone(), listed[0].damaged.clone()), (session.clone(), None));
    let shown = Line::new(BINARY, &workspace, &["sessions", "show", &session.0]).run();
    assert!(shown.expect(0).stdout.contains("Keep it."), "{shown}");
    model.release();
    one.await_run_end(&session, &run);
    one.await_state(State::Idle);
    one.shutdown();
    assert!(first.wait().success());
    other.resume(&session, None);
    other.run_to_end(&session, "Now me.");
    other.await_state(State::Idle);
    other.shutdown();
    assert!(second.wait().success());
    let read = Log::read(&Disk, &session_dir(&workspace, &session), &session.0).expect("a log");
    let seqs: Vec<u64> = read.records.iter().map(|record| record.seq).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>(), "the two writers mixed their records");
    assert_eq!(read.notices, []);
    "lock_refused"
}

/// An idle session also belongs to the editor that opened it, until that editor closes.
pub fn another_editor() -> &'static str {
    let here = over();
    let one = Rig::start(&here.workspace);
    one.resume(&here.session, None);
    let other = Rig::start(&here.workspace);
    let resume = json!({ "sessionId": here.session });
    let error = other.request(methods::SESSION_RESUME, resume).expect_err("another process has it");
    assert!(error.message.contains(&format!("process {}", std::process::id())), "{error}");
    assert_eq!(refused::<()>(Err(error)).1, "SessionLocked");
    one.end();
    other.resume(&here.session, None);
    other.run_to_end(&here.session, "Go on.");
    other.await_state(State::Idle);
    other.end();
    "lock_refused"
}

pub fn a_number_in_the_lock_file() -> &'static str {
    let here = over();
    let lock = session_dir(&here.workspace, &here.session).join("lock");
    fs::write(lock, format!("{}\n", std::process::id())).expect("a lock file");
    let rig = Rig::start(&here.workspace);
    assert_eq!(rig.resume(&here.session, None).notices, Vec::<String>::new());
    rig.run_to_end(&here.session, "Go on.");
    rig.await_state(State::Idle);
    rig.end();
    "take_over"
}

/// Changes the file of an open session. Asserts that the session stops, reports it, and changes no byte.
fn stopped_by(change: fn(&Path)) -> &'static str {
    let here = over();
    let rig = Rig::start(&here.workspace);
    rig.resume(&here.session, None);
    let dir = session_dir(&here.workspace, &here.session);
    change(&dir.join("events.jsonl"));
    let logs = || -> Vec<(std::path::PathBuf, Vec<u8>)> {
        let names = ["events.jsonl", "events.old"].map(|name| dir.join(name));
        names.into_iter().filter_map(|path| fs::read(&path).ok().map(|bytes| (path, bytes))).collect()
    };
    let before = logs();
    let prompt = json!({ "sessionId": here.session, "prompt": [{ "type": "text", "text": "more" }] });
    for _ in 0..2 {
        let (_, name) = refused(rig.request(methods::SESSION_PROMPT, prompt.clone()));
        assert_eq!(name, "SessionReadOnly");
    }
    rig.await_update(|params| match &params.update {
        Update::Notice { message } => message.contains("can no longer be written"),
        _ => false,
    });
    rig.end();
    assert_eq!(logs(), before, "something was written anyway");
    "stop_writing"
}

pub fn file_replaced() -> &'static str {
    stopped_by(|log| {
        fs::rename(log, log.with_extension("old")).expect("moved");
        fs::copy(log.with_extension("old"), log).expect("another file");
    })
}

pub fn file_removed() -> &'static str {
    stopped_by(|log| fs::rename(log, log.with_extension("old")).expect("moved"))
}

pub fn file_cut() -> &'static str {
    stopped_by(|log| {
        fs::File::options().write(true).open(log).and_then(|file| file.set_len(300)).expect("cut");
    })
}

pub fn file_grown() -> &'static str {
    stopped_by(|log| {
        let mut text = fs::read(log).expect("a log");
        text.extend(b"by another hand\n");
        fs::write(log, text).expect("grown");
    })
}

/// Asserts that the log is refused at once. If it is no regular file, the list must show it as damaged.
fn refuses(here: &Over, word: &str, is_file: bool) {
    let rig = Rig::start(&here.workspace);
    let listed = rig.call::<SessionListResult>(methods::SESSION_LIST, json!({})).sessions;
    assert!(is_file || listed[0].damaged.is_some(), "{listed:?}");
    let error = rig
        .request(methods::SESSION_RESUME, json!({ "sessionId": here.session }))
        .expect_err("it is no valid log");
    assert!(error.message.contains(word), "{error}");
    rig.end();
}

pub fn log_is_a_pipe() -> &'static str {
    let here = over();
    let log = session_dir(&here.workspace, &here.session).join("events.jsonl");
    fs::remove_file(&log).expect("removed");
    mknodat(CWD, &log, FileType::Fifo, 0o600.into(), 0).expect("a pipe");
    refuses(&here, "a pipe", false);
    "refuse"
}

pub fn log_is_a_link() -> &'static str {
    let here = over();
    let log = session_dir(&here.workspace, &here.session).join("events.jsonl");
    let elsewhere = here.workspace.path().join("elsewhere");
    fs::rename(&log, &elsewhere).expect("moved");
    let before = fs::read(&elsewhere).expect("a log");
    symlink(&elsewhere, &log).expect("a link");
    refuses(&here, "symbolic link", false);
    assert_eq!(fs::read(&elsewhere).expect("a log"), before);
    "refuse"
}

/// Root gives the file to another user; other users mount a foreign file over it, in a mount namespace.
pub fn log_of_another_user() -> &'static str {
    let here = over();
    let log = session_dir(&here.workspace, &here.session).join("events.jsonl");
    if chown(&log, Some(65_534), None).is_ok() {
        refuses(&here, "belongs to another user", true);
        return "refuse";
    }
    let script = "mount --bind /etc/passwd \"$0\" && exec \"$@\"";
    let log = log.to_string_lossy();
    let args = ["-rm", "sh", "-c", script, &log, BINARY, "sessions", "export", &here.session.0];
    let ran = Line::new("unshare", &here.workspace, &args).run();
    assert!(!ran.status.success() && ran.stderr.contains("belongs to another user"), "{ran}");
    "refuse"
}

/// Returns a model that calls a command, and is done once it has the result.
fn command_model() -> ModelServer {
    ModelServer::answering(|request| match crate::rig::tool_outputs(request).as_slice() {
        [] => Reply::call("run_command", json!({"command": "echo ran >> ledger"})),
        _ => Reply::text("Done."),
    })
}

pub fn disk_full() -> &'static str {
    let model = command_model();
    let workspace = workspace_with(&model);
    let disk = twin_for(&workspace);
    let rig = Rig::start_on(&workspace, Arc::new(disk.clone()));
    let session = rig.new_session();
    rig.prompt(&session, "Run it.");
    let ask = rig.await_ask_of(AskKind::Command);
    disk.fail_from(Op::Write, 1, Fault::Full);
    rig.answer(&ask.ask_id, "allow");
    rig.await_update(|params| match &params.update {
        Update::Notice { message } => {
            message.contains("no space is left; free some, then open this session again")
        }
        _ => false,
    });
    rig.end();
    assert!(!workspace.exists("ledger"), "it ran without a durable intent");
    disk.heal();
    let rig = Rig::start_on(&workspace, Arc::new(disk));
    let now = rig.resume(&session, None);
    assert_eq!((now.state.state, now.asks.len()), (State::RequiresAction, 1));
    rig.answer(&now.asks[0].ask_id, "allow");
    rig.await_run_end(&session, &now.state.run_id.expect("an open run"));
    rig.await_state(State::Idle);
    rig.end();
    assert_eq!(workspace.read("ledger"), "ran\n");
    "stop_before_effect"
}

pub fn sync_fails_once() -> &'static str {
    let model = command_model();
    let workspace = workspace_with(&model);
    let disk = twin_for(&workspace);
    let rig = Rig::start_on(&workspace, Arc::new(disk.clone()));
    let session = rig.new_session();
    let run = rig.prompt(&session, "Run it.").run_id;
    let ask = rig.await_ask_of(AskKind::Command);
    let log = session_dir(&workspace, &session).join("events.jsonl");
    let before = disk.stat(&log).expect("a log").id;
    disk.fail(Op::Sync, 1, Fault::Broken);
    rig.answer(&ask.ask_id, "allow");
    let end = rig.await_run_end(&session, &run);
    assert_eq!(end.outcome, Outcome::Stopped);
    assert_ne!(disk.stat(&log).expect("a log").id, before, "the sync was repeated on the same file");
    // Published events survive a power loss.
    let after = disk.after_power_loss(disk.crash_points(), Loss::Unsynced);
    let read = Log::read(&after, &session_dir(&workspace, &session), &session.0).expect("a log");
    assert!(read.records.iter().any(|record| record.event.get().contains("\"run_ended\"")));
    rig.await_state(State::Idle);
    rig.end();
    assert_eq!(workspace.read("ledger"), "ran\n");
    "stop_and_reopen"
}

pub fn sync_fails_for_ever() -> &'static str {
    let model = command_model();
    let workspace = workspace_with(&model);
    let disk = twin_for(&workspace);
    let rig = Rig::start_on(&workspace, Arc::new(disk.clone()));
    let session = rig.new_session();
    rig.prompt(&session, "Run it.");
    let ask = rig.await_ask_of(AskKind::Command);
    disk.fail_from(Op::Sync, 1, Fault::Broken);
    rig.answer(&ask.ask_id, "allow");
    rig.await_update(|params| match &params.update {
        Update::Notice { message } => message.contains("can no longer be written"),
        _ => false,
    });
    rig.end();
    assert!(!workspace.exists("ledger"), "it ran without a durable intent");
    "stop_writing"
}
