//! Kills at any moment: the server of an editor dies after a random time or at a named point, again and again.
//! Meanwhile its commands are asked about, answered, run and published (F1, F4). Also editors that die while
//! an ask is open (F9).
//!
//! Judges by the updates of the editor, the log and the ledger that the commands write, never by the
//! server's memory.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use adjutant_core::record::AskKind;
use adjutant_core::record::{CallEnd, Event, Record};
use adjutant_protocol::SessionId;
use adjutant_protocol::session::PromptResult;
use adjutant_protocol::state::{Outcome, State};
use adjutant_testkit::campaign::{self, Dice};
use adjutant_testkit::editor::{Answer, Editor, Id, Options};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply, Request};
use adjutant_testkit::process::{MARK, Server, wait_until};
use serde_json::json;

use super::story::{BINARY, calls, facts, fold, told};
use crate::stage::conversation_of;

/// The number of sessions that are killed in parallel.
const WORKERS: usize = 4;
/// The number of kills of one session before its run may end.
const LIVES: usize = 25;
/// The number of commands in one run.
const COMMANDS: usize = 4;
/// The longest life of a server that dies by the clock. Most runs are over by then.
const LONGEST_LIFE_US: usize = 160_000;
/// The most time in which a server may reach the point of its kill.
const TO_THE_POINT: Duration = Duration::from_millis(400);
/// The points between a prompt and the outcome of a command.
const POINTS: [&str; 11] = [
    "prompt-accepted",
    "facts-written",
    "facts-durable",
    "turn-begun",
    "reply-streaming",
    "reply-complete",
    "call-prepared",
    "ask-delivered",
    "ask-answered",
    "command-started",
    "command-ended",
];

/// A session and the deaths of its servers.
struct Hunted {
    workspace: Workspace,
    // Kept alive because it answers the requests of the session.
    _model: ModelServer,
    dice: Dice,
    session: Option<SessionId>,
    /// The number of deaths for each way to die.
    deaths: BTreeMap<String, usize>,
}

impl Hunted {
    fn new(seed: u64) -> Hunted {
        let workspace = Workspace::new("//- /keep.txt\n");
        let numbers = AtomicUsize::new(0);
        // Each command has its own number, which identifies its line in the ledger.
        let model = ModelServer::answering(move |request: &Request| {
            let conversation = conversation_of(request);
            let last_prompt = conversation.iter().rposition(|(role, _)| role == "user").unwrap_or(0);
            let done = conversation[last_prompt..].iter().filter(|(role, _)| role == "tool").count();
            match done {
                COMMANDS.. => Reply::text("All is written down."),
                _ => {
                    let number = numbers.fetch_add(1, Ordering::SeqCst);
                    let command = format!("echo {number} >> ledger");
                    Reply::text("And another one.").and_call("run_command", json!({"command": command}))
                }
            }
        });
        workspace.openai(&model.base_url());
        Hunted {
            workspace,
            _model: model,
            dice: campaign::dice(seed),
            session: None,
            deaths: BTreeMap::new(),
        }
    }

    /// Starts a server with the same environment as all others, because an approval is for one environment.
    fn serve(&self, fault: Option<&str>) -> (Server, Editor) {
        let mut server = Server::spawn_with(BINARY, &self.workspace, &["lsp"], |command| {
            command.env(MARK, "hunted");
            command.envs(fault.map(|fault| ("ADJUTANT_FAULT", fault)));
        });
        let editor = server.editor(Options::new(&self.workspace));
        (server, editor)
    }

    fn facts(&self) -> Vec<Record> {
        let folder = |id: &SessionId| self.workspace.state_dir().join("sessions").join(&id.0);
        match &self.session {
            // A server that died before its first write leaves at most the folder.
            Some(id) if folder(id).join("events.jsonl").exists() => facts(&self.workspace, &id.0),
            _ => Vec::new(),
        }
    }

    /// Plays one life of a server: it opens the session, works and dies. Then checks the log.
    fn dies_once(&mut self) {
        let point = POINTS[self.dice.roll(POINTS.len())];
        let fault = (self.dice.roll(2) == 0).then(|| format!("{point}:{}", 1 + self.dice.roll(4)));
        let by_clock = Duration::from_micros(self.dice.roll(LONGEST_LIFE_US) as u64);
        let life = if fault.is_some() { TO_THE_POINT } else { by_clock };
        let mut answers = Dice(self.dice.0 ^ 0x5eed);
        let (mut server, editor) = self.serve(fault.as_deref());
        editor.expect_loss();
        editor.on_ask(move |_| match answers.roll(10) {
            0..6 => Answer::option("allow"),
            6..9 => Answer::option("reject"),
            _ => Answer::Close,
        });
        let prompted = self.begin(&editor, &mut server);
        let cancels = self.dice.roll(10) == 0;
        if cancels && !server.ends_within(life / 2) {
            editor.notify("agent/session/cancel", json!({"sessionId": self.session}));
        }
        let by_itself = server.ends_within(if cancels { life / 2 } else { life });
        server.kill();
        let answer = prompted.filter(|id| editor.is_answered(id)).map(|id| editor.await_response(&id));
        let now = self.facts();
        let how = match (&fault, by_itself) {
            (Some(_), true) => point,
            _ if fold(&now).open_run().is_some() => "the clock, in a run",
            _ => "the clock, at rest",
        };
        *self.deaths.entry(how.to_owned()).or_default() += 1;
        self.has_all_published(&editor, &now);
        if let Some(Ok(result)) = answer {
            let PromptResult { run_id, .. } =
                serde_json::from_value(result).unwrap_or_else(|e| panic!("{e}"));
            let started =
                |record: &Record| matches!(&record.event, Event::RunStarted { run, .. } if *run == run_id);
            assert!(now.iter().any(started), "run {run_id} was acknowledged but is not in the log");
        }
    }

    /// Opens the session and starts or resumes a run. Returns the request id if it sent a prompt.
    fn begin(&mut self, editor: &Editor, server: &mut Server) -> Option<Id> {
        let before = fold(&self.facts());
        // If a server died before it recorded the first prompt, there is no session to open.
        self.session = self.session.take().filter(|_| before.created);
        let session = self.session.get_or_insert_with(|| editor.new_session()).clone();
        if before.created {
            let resume = editor.request_nowait("agent/session/resume", json!({"sessionId": session}));
            wait_until("the session or the end", || editor.is_answered(&resume) || !server.is_alive());
            if !editor.is_answered(&resume) {
                return None;
            }
        }
        let idle = fold(&self.facts());
        if let Some(ask) = idle.open_asks().find(|ask| ask.kind == AskKind::ResumeTask) {
            editor.request_nowait("agent/ask/respond", json!({"askId": ask.id, "optionId": "resume"}));
            return None;
        }
        let prompt = json!([{"type": "text", "text": "Write it all down."}]);
        let prompt = json!({"sessionId": session, "prompt": prompt});
        before.open_run().is_none().then(|| editor.request_nowait("agent/session/prompt", prompt))
    }

    /// Checks that every numbered update of this editor is in the log, under its number.
    fn has_all_published(&self, editor: &Editor, now: &[Record]) {
        let in_log = told(now);
        for update in editor.updates() {
            // Streamed text is published at once. The log has it later, with its message.
            if update.sub.is_some() {
                continue;
            }
            let place = usize::try_from(update.seq).unwrap_or(0).checked_sub(1);
            let found = place.and_then(|place| in_log.get(place));
            assert_eq!(
                found,
                Some(&update.update),
                "update {} was published, and the log has a different one",
                update.seq
            );
        }
    }

    /// Lets the run end without kills, and checks the session.
    fn run_to_the_end(&mut self) {
        let (mut server, editor) = self.serve(None);
        editor.on_ask(|_| Answer::option("allow"));
        self.begin(&editor, &mut server);
        let session = self.session.clone().unwrap_or_else(|| panic!("no session was created"));
        wait_until("the end of the run", || {
            let ended = |record: &Record| matches!(record.event, Event::RunEnded { .. });
            let now = facts(&self.workspace, &session.0);
            now.last().is_some_and(ended) && fold(&now).open_run().is_none()
        });
        editor.shutdown();
        server.wait();
        self.is_right();
    }

    /// Checks that every call has one result and that every command started and ran at most once. A denied
    /// command never ran.
    fn is_right(&self) {
        let records = self.facts();
        let ledger = match self.workspace.exists("ledger") {
            true => self.workspace.read("ledger"),
            false => String::new(),
        };
        let mut lines: BTreeMap<usize, usize> = BTreeMap::new();
        for line in ledger.lines() {
            *lines.entry(line.parse().unwrap_or_else(|e| panic!("{line:?}: {e}"))).or_default() += 1;
        }
        let seen = calls(&records);
        for record in &records {
            let Event::CallOpened { call, title, .. } = &record.event else { continue };
            let number = title.split_whitespace().find_map(|word| word.parse().ok());
            let number: usize = number.unwrap_or_else(|| panic!("no number in {title:?}"));
            let call = &seen[&call.to_string()];
            let ran = lines.remove(&number).unwrap_or(0);
            assert!(call.starts <= 1 && ran <= call.starts, "command {number} ran {ran} times: {call:?}");
            let [end] = call.ends[..] else {
                panic!("command {number} does not have exactly one result: {call:?}")
            };
            match end {
                CallEnd::Completed => assert_eq!(ran, 1, "command {number}: {call:?}"),
                CallEnd::Denied => assert_eq!((call.starts, ran), (0, 0), "command {number}: {call:?}"),
                CallEnd::Failed | CallEnd::Cancelled | CallEnd::Interrupted => {}
            }
        }
        assert!(lines.is_empty(), "commands ran that the log does not have: {lines:?}");
        let ended = records.iter().filter(|record| matches!(record.event, Event::RunEnded { .. })).count();
        let started =
            records.iter().filter(|record| matches!(record.event, Event::RunStarted { .. })).count();
        assert_eq!(ended, started, "each run has one end");
    }
}

#[test]
fn f1_f4_a_server_that_dies_at_any_moment_loses_nothing_told_and_runs_no_command_twice() {
    let begun = Instant::now();
    let kills = campaign::size("ADJUTANT_KILLS", 2000, 100);
    let sessions = kills.div_ceil(LIVES);
    let next = AtomicUsize::new(0);
    let deaths: Mutex<BTreeMap<String, usize>> = Mutex::default();
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::SeqCst);
                    if seed >= sessions {
                        return;
                    }
                    let mut hunted = Hunted::new(seed as u64);
                    (0..LIVES).for_each(|_| hunted.dies_once());
                    hunted.run_to_the_end();
                    let mut deaths = deaths.lock().unwrap_or_else(PoisonError::into_inner);
                    hunted
                        .deaths
                        .into_iter()
                        .for_each(|(how, count)| *deaths.entry(how).or_default() += count);
                }
            });
        }
    });
    let deaths = deaths.into_inner().unwrap_or_else(PoisonError::into_inner);
    let all: usize = deaths.values().sum();
    eprintln!("{all} kills in {:?}: {deaths:?}", begun.elapsed());
    assert!(all >= kills, "{all} kills are too few");
    let at_rest = deaths.get("the clock, at rest").copied().unwrap_or(0);
    assert!(at_rest * 2 < all, "most servers died when nothing ran: {deaths:?}");
}

#[test]
fn f9_editors_that_die_with_an_ask_open_leave_it_open_and_nothing_running() {
    let cycles = campaign::size("ADJUTANT_DEATHS", 250, 5);
    thread::scope(|scope| {
        for allows in [true, false, true, false] {
            scope.spawn(move || editors_die(cycles, allows));
        }
    });
}

/// Lets `cycles` editors die while the same ask is open. One more editor answers it.
fn editors_die(cycles: usize, allows: bool) {
    let mut hunted = Hunted::new(0);
    let (mut server, mut editor) = hunted.serve(None);
    let session = editor.new_session();
    hunted.session = Some(session.clone());
    editor.prompt(&session, "Write it all down.");
    let ask = editor.await_ask_of(AskKind::Command.into()).ask_id;
    let mut slowest = Duration::ZERO;
    for cycle in 0..cycles {
        let since = Instant::now();
        editor_dies(&editor, &server, cycle);
        server.wait();
        slowest = slowest.max(since.elapsed());
        assert_eq!(server.descendants(), [], "a process outlives the server");
        let records = hunted.facts();
        assert!(
            !records.iter().any(|record| matches!(record.event, Event::AskClosed { .. })),
            "cycle {cycle}"
        );
        assert!(
            !records.iter().any(|record| matches!(record.event, Event::ToolStarted { .. })),
            "cycle {cycle}"
        );
        (server, editor) = hunted.serve(None);
        let now = editor.resume(&session, None);
        assert_eq!(now.state.state, State::RequiresAction, "cycle {cycle}");
        assert_eq!(now.asks.iter().map(|open| &open.ask_id).collect::<Vec<_>>(), [&ask], "cycle {cycle}");
    }
    eprintln!("{cycles} editors died; their servers were gone after {slowest:?} at most");
    let first = ask.clone();
    // The ask may reach the user only now, while the request below answers it.
    editor.on_ask(move |asked| if asked.ask_id == first { Answer::Hold } else { Answer::option("reject") });
    let Some(run) = fold(&hunted.facts()).open_run().map(|run| run.id.clone()) else {
        panic!("the run is gone")
    };
    editor.respond(&ask, if allows { "allow" } else { "reject" });
    assert_eq!(editor.await_run_end(&session, &run).outcome, Outcome::Stopped);
    editor.shutdown();
    hunted.is_right();
    let lines =
        if hunted.workspace.exists("ledger") { hunted.workspace.read("ledger").lines().count() } else { 0 };
    assert_eq!(lines, usize::from(allows), "only the allowed command ran, once");
}

/// Closes the pipes of an editor, as its death does. Every second death also sends SIGHUP to the server.
fn editor_dies(editor: &Editor, server: &Server, cycle: usize) {
    editor.hang_up();
    if cycle % 2 == 1 {
        super::ends::send(server.pid(), rustix::process::Signal::HUP);
    }
}
