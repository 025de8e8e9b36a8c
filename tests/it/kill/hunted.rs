//! Kills at any moment: the server under an editor dies by the clock or at a named point, again and
//! again, while commands are asked about, answered, run and told (F1, F4); and editors that die with an
//! ask open (F9).
//!
//! Judges by what the editor was told, by the log and by the ledger the commands write, never by what
//! the server remembers.

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

/// Sessions that are hunted at once.
const WORKERS: usize = 4;
/// Kills of one session before it may come to its end.
const LIVES: usize = 25;
/// Commands of one run.
const COMMANDS: usize = 4;
/// The longest life of a server; most runs are over by then.
const LONGEST_LIFE_US: usize = 160_000;
/// How long a server may take to come by the point it is to die at.
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

/// A session whose servers die.
struct Hunted {
    workspace: Workspace,
    // Answers as long as the session is hunted.
    _model: ModelServer,
    dice: Dice,
    session: Option<SessionId>,
    /// How its servers died.
    deaths: BTreeMap<String, usize>,
}

impl Hunted {
    fn new(seed: u64) -> Hunted {
        let workspace = Workspace::new("//- /keep.txt\n");
        let numbers = AtomicUsize::new(0);
        // Every command is another one, so that the ledger tells them apart.
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

    /// Starts a server with the environment of all others, for approvals bind that.
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
            // A server that died before its first write leaves the folder at most.
            Some(id) if folder(id).join("events.jsonl").exists() => facts(&self.workspace, &id.0),
            _ => Vec::new(),
        }
    }

    /// One life of a server: opens the session, works, dies.
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
        let begun = self.begin(&editor, &mut server);
        let cancels = self.dice.roll(10) == 0;
        if cancels && !server.ends_within(life / 2) {
            editor.notify("agent/session/cancel", json!({"sessionId": self.session}));
        }
        let by_itself = server.ends_within(if cancels { life / 2 } else { life });
        server.kill();
        let told_run = begun.filter(|id| editor.is_answered(id)).map(|id| editor.await_response(&id));
        let now = self.facts();
        let how = match (&fault, by_itself) {
            (Some(_), true) => point,
            _ if fold(&now).open_run().is_some() => "the clock, in a run",
            _ => "the clock, at rest",
        };
        *self.deaths.entry(how.to_owned()).or_default() += 1;
        self.nothing_told_is_lost(&editor, &now);
        if let Some(Ok(result)) = told_run {
            let PromptResult { run_id, .. } =
                serde_json::from_value(result).unwrap_or_else(|e| panic!("{e}"));
            let begun =
                |fact: &Record| matches!(&fact.event, Event::RunStarted { run, .. } if *run == run_id);
            assert!(now.iter().any(begun), "run {run_id} was acknowledged, and is not in the log");
        }
    }

    /// Opens the session and begins a run or goes on with one; returns the request of a prompt.
    fn begin(&mut self, editor: &Editor, server: &mut Server) -> Option<Id> {
        let before = fold(&self.facts());
        // A server that died before the first prompt was kept leaves nothing that could be opened.
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

    /// Everything this editor was told stands in the log, at its place.
    fn nothing_told_is_lost(&self, editor: &Editor, now: &[Record]) {
        let in_log = told(now);
        for update in editor.updates() {
            // What streams is told at once and is in the log with its message.
            if update.sub.is_some() {
                continue;
            }
            let place = usize::try_from(update.seq).unwrap_or(0).checked_sub(1);
            let found = place.and_then(|place| in_log.get(place));
            assert_eq!(
                found,
                Some(&update.update),
                "update {} was told, and the log has another",
                update.seq
            );
        }
    }

    /// Lets the session come to its end, and judges it.
    fn comes_to_its_end(&mut self) {
        let (mut server, editor) = self.serve(None);
        editor.on_ask(|_| Answer::option("allow"));
        self.begin(&editor, &mut server);
        let session = self.session.clone().unwrap_or_else(|| panic!("no session was made"));
        wait_until("the end of the run", || {
            let ended = |fact: &Record| matches!(fact.event, Event::RunEnded { .. });
            let now = facts(&self.workspace, &session.0);
            now.last().is_some_and(ended) && fold(&now).open_run().is_none()
        });
        editor.shutdown();
        server.wait();
        self.is_right();
    }

    /// Every call has one result, every command ran at most as often as it was begun, which is once at most,
    /// and none that was denied or that no answer allowed.
    fn is_right(&self) {
        let facts = self.facts();
        let ledger = match self.workspace.exists("ledger") {
            true => self.workspace.read("ledger"),
            false => String::new(),
        };
        let mut lines: BTreeMap<usize, usize> = BTreeMap::new();
        for line in ledger.lines() {
            *lines.entry(line.parse().unwrap_or_else(|e| panic!("{line:?}: {e}"))).or_default() += 1;
        }
        let seen = calls(&facts);
        for fact in &facts {
            let Event::CallOpened { call, title, .. } = &fact.event else { continue };
            let number = title.split_whitespace().find_map(|word| word.parse().ok());
            let number: usize = number.unwrap_or_else(|| panic!("no number in {title:?}"));
            let call = &seen[&call.to_string()];
            let ran = lines.remove(&number).unwrap_or(0);
            assert!(call.starts <= 1 && ran <= call.starts, "command {number} ran {ran} times: {call:?}");
            let [end] = call.ends[..] else { panic!("command {number} has not one result: {call:?}") };
            match end {
                CallEnd::Completed => assert_eq!(ran, 1, "command {number}: {call:?}"),
                CallEnd::Denied => assert_eq!((call.starts, ran), (0, 0), "command {number}: {call:?}"),
                CallEnd::Failed | CallEnd::Cancelled | CallEnd::Interrupted => {}
            }
        }
        assert!(lines.is_empty(), "commands ran that no log knows: {lines:?}");
        let ended = facts.iter().filter(|fact| matches!(fact.event, Event::RunEnded { .. })).count();
        let begun = facts.iter().filter(|fact| matches!(fact.event, Event::RunStarted { .. })).count();
        assert_eq!(ended, begun, "each run has one end");
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
                    hunted.comes_to_its_end();
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

/// So many editors die with the same ask open; the last one answers it.
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
        assert_eq!(server.descendants(), [], "something outlives the server");
        let facts = hunted.facts();
        assert!(!facts.iter().any(|fact| matches!(fact.event, Event::AskClosed { .. })), "cycle {cycle}");
        assert!(!facts.iter().any(|fact| matches!(fact.event, Event::ToolStarted { .. })), "cycle {cycle}");
        (server, editor) = hunted.serve(None);
        let now = editor.resume(&session, None);
        assert_eq!(now.state.state, State::RequiresAction, "cycle {cycle}");
        assert_eq!(now.asks.iter().map(|open| &open.ask_id).collect::<Vec<_>>(), [&ask], "cycle {cycle}");
    }
    eprintln!("{cycles} editors died; their servers were gone after {slowest:?} at most");
    let first = ask.clone();
    // It may be put before the user only now, while the other door answers it.
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
    assert_eq!(lines, usize::from(allows), "what was allowed ran once, and nothing else");
}

/// An editor that dies closes its pipes; every other one has its server told to end as well.
fn editor_dies(editor: &Editor, server: &Server, cycle: usize) {
    editor.hang_up();
    if cycle % 2 == 1 {
        super::ends::send(server.pid(), rustix::process::Signal::HUP);
    }
}
