//! Long work: sessions come and go, models fail, users reject and cancel. The memory, descriptors and
//! threads of the server do not grow (F14).
//!
//! Lasts seconds by default, a minute in `tests/run --long`, and two hours with `ADJUTANT_SOAK_SECONDS=7200`.
//! Each hour may add one MiB.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use adjutant_protocol::SessionId;
use adjutant_protocol::session::WaitResult;
use adjutant_testkit::campaign;
use adjutant_testkit::editor::{Answer, Editor};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply, Request};
use adjutant_testkit::process::{Handles, Server};
use serde_json::json;

use super::serve;
use crate::rig::tool_outputs;

/// The number of users, each with one session at a time.
const USERS: usize = 5;
/// The number of runs in a session before it is closed.
const RUNS: usize = 6;
/// The number of measurements in the whole time.
const LOOKS: u32 = 60;
/// The memory that the allocator may keep in addition, in bytes.
const SLACK: u64 = 12 << 20;
/// The memory that each hour may add, in bytes.
const AN_HOUR: u64 = 1 << 20;

/// One measurement of the server.
#[derive(Clone, Copy, Debug)]
struct Look {
    resident: u64,
    handles: Handles,
}

fn look(server: &Server) -> Look {
    let resident = server.memory().expect("the server runs").resident;
    Look { resident, handles: server.handles().expect("the server runs") }
}

/// Returns a model that calls tools, writes text and fails, at random.
fn model() -> ModelServer {
    let seeds = AtomicU64::new(0);
    ModelServer::answering(move |request: &Request| {
        let number = seeds.fetch_add(1, Ordering::SeqCst);
        let mut dice = campaign::dice(number);
        let words = "I go on with it and say so at some length. ".repeat(1 + dice.roll(20));
        let done = tool_outputs(request).len() % 4 == 3;
        match dice.roll(24) {
            0 => Reply::status(500),
            1 => Reply::hang_up(),
            2 => Reply::text(&words).cut_after(40 + dice.roll(200)),
            3 => Reply::status(429).header("retry-after", "0"),
            _ if done => Reply::text(&words),
            4..10 => Reply::text(&words).and_call("read_file", json!({"path": "a.txt"})),
            10..14 => Reply::call("search_text", json!({"pattern": "l", "path": "."})),
            14..18 => Reply::call("run_command", json!({"command": format!("echo {number}")})),
            18..22 => {
                let path = format!("out{}.txt", number % 20);
                Reply::call("write_file", json!({"path": path, "content": words}))
            }
            _ => Reply::call("read_file", json!({"no such": "argument"})),
        }
    })
}

/// Plays one user: one session after another, each with some runs, until the time is over.
fn user(
    editor: &Editor,
    seed: u64,
    over: &AtomicBool,
    runs: &AtomicUsize,
    deleted: &Mutex<BTreeSet<String>>,
) {
    let mut dice = campaign::dice(seed);
    while !over.load(Ordering::SeqCst) {
        let session = editor.new_session();
        for _ in 0..RUNS {
            let run = editor.prompt(&session, "Go on.").run_id;
            if dice.roll(6) == 0 {
                editor.cancel_run(&session);
            }
            let wait = json!({"sessionId": session, "runId": run, "timeoutMs": 50_000});
            let ended: WaitResult = editor.call("agent/session/wait", wait);
            assert!(ended.ended.is_some(), "a run did not end: {ended:?}");
            runs.fetch_add(1, Ordering::SeqCst);
            if over.load(Ordering::SeqCst) {
                break;
            }
        }
        end(editor, &session, dice.roll(2) == 0, deleted);
    }
}

/// Closes a session, and deletes it if `delete` is set.
fn end(editor: &Editor, session: &SessionId, delete: bool, deleted: &Mutex<BTreeSet<String>>) {
    let answer = editor.request("agent/session/close", json!({"sessionId": session}));
    assert!(answer.is_ok(), "{answer:?}");
    if delete {
        let answer = editor.request("agent/session/delete", json!({"sessionId": session}));
        assert!(answer.is_ok(), "{answer:?}");
        deleted.lock().expect("no thread panicked").insert(session.0.clone());
    }
}

#[test]
fn f14_what_a_server_holds_does_not_grow_with_the_work_it_has_done() {
    let time = Duration::from_secs(campaign::size("ADJUTANT_SOAK_SECONDS", 60, 6) as u64);
    let model = model();
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.openai(&model.base_url()).add_config("[retry]\nbase_ms = 10\ncap_ms = 50\n");
    let (mut server, editor) = serve(&workspace);
    let answers = Mutex::new(campaign::dice(7));
    editor.on_ask(move |_| match answers.lock().expect("no thread panicked").roll(4) {
        0 => Answer::option("reject"),
        _ => Answer::option("allow"),
    });
    let at_first = look(&server);
    let (over, runs, deleted) = (AtomicBool::new(false), AtomicUsize::new(0), Mutex::default());
    let mut looks = Vec::new();
    thread::scope(|scope| {
        for seed in 0..USERS as u64 {
            let (editor, over, runs, deleted) = (&editor, &over, &runs, &deleted);
            scope.spawn(move || user(editor, seed, over, runs, deleted));
        }
        let (_never, time_is_over) = channel::<()>();
        let until = Instant::now() + time;
        while Instant::now() < until {
            // Nothing is ever sent: this waits for the time between two measurements.
            let _ = time_is_over.recv_timeout(time / LOOKS);
            model.forget_bodies();
            looks.push(look(&server));
        }
        over.store(true, Ordering::SeqCst);
    });
    let at_rest = look(&server);
    eprintln!("{} runs in {time:?}: {at_first:?} .. {:?} .. {at_rest:?}", runs.into_inner(), looks.last());
    does_not_grow(&looks, time);
    let few_more = |now: usize, then: usize, more: usize| now <= then + more;
    // The server may keep some connections open.
    assert!(
        few_more(at_rest.handles.descriptors, at_first.handles.descriptors, 16),
        "{at_first:?} {at_rest:?}"
    );
    // While a command runs, the editor may have an unsaved edit of another user, and users write the same files.
    for _ in editor.messages() {
        let message = editor.await_message();
        let is_of_others = ["saved last, without what the editor has", "changed since the agent read"];
        assert!(is_of_others.iter().any(|part| message.contains(part)), "{message}");
    }
    editor.shutdown();
    server.wait();
    let deleted = deleted.into_inner().expect("no thread panicked");
    nothing_is_left_of(&deleted, &workspace.state_dir());
}

/// Checks that the medians of the last third are at most slightly above those of the second third.
fn does_not_grow(looks: &[Look], time: Duration) {
    let middle = |looks: &[Look], of: fn(&Look) -> u64| {
        let mut all: Vec<u64> = looks.iter().map(of).collect();
        all.sort_unstable();
        all[all.len() / 2]
    };
    let (second, third) = (&looks[looks.len() / 3..looks.len() * 2 / 3], &looks[looks.len() * 2 / 3..]);
    let hours = AN_HOUR * time.as_secs() / 3600;
    let check = |what: &str, of: fn(&Look) -> u64, more: u64| {
        let (then, now) = (middle(second, of), middle(third, of));
        assert!(now <= then + more, "{what}: {then} became {now}");
    };
    check("memory", |look| look.resident, SLACK + hours);
    check("descriptors", |look| look.handles.descriptors as u64, 16);
    check("threads", |look| look.handles.threads as u64, 8);
}

/// Checks that no file of a deleted session and no half-written file is on disk.
fn nothing_is_left_of(deleted: &BTreeSet<String>, state: &Path) {
    assert!(!deleted.is_empty(), "no session was deleted");
    let mut open = vec![state.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("the folder can be read").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            assert!(!deleted.contains(&name), "session {name} was deleted");
            assert!(!name.contains("tmp") && !name.contains("part"), "{:?} is left over", entry.path());
            if entry.path().is_dir() {
                open.push(entry.path());
            }
        }
    }
}
