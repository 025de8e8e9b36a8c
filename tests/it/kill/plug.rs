//! The plug is pulled in the middle of a task: the server and its editor die together. A terminal answers what is asked,
//! a fresh editor goes on and ends the review, and all is as if nothing had happened.
//!
//! Judges by the disk, the log and the requests to the model. Never sends a prompt again that was accepted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use adjutant::faults::{POINTS, WRITE_POINTS};
use adjutant_core::record::{AskGroup, AskKind, CallEnd, Event, Record, Resolution};
use adjutant_protocol::ask::{self, AskView};
use adjutant_protocol::review::{ReviewDecideResult, ReviewHunk, ReviewListResult};
use adjutant_protocol::session::{ReplayFrom, SessionListResult};
use adjutant_protocol::state::Outcome;
use adjutant_protocol::update::{HunkState, RunView, Update};
use adjutant_protocol::{SessionId, methods};
use adjutant_testkit::campaign::{self, Dice};
use adjutant_testkit::command::{Line, Ran};
use adjutant_testkit::editor::{Answer, Capabilities, Editor, Encoding, Id, Options, Rule};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Request};
use adjutant_testkit::painter::{CLOSED, Called, OPEN, UNKNOWN, reply, turns_of, unpainted};
use adjutant_testkit::process::{MARK, Server, marked, wait_until};
use serde_json::json;

use super::story::{BINARY, calls, facts, fold, ran_once, sessions};
use super::writes::left;

/// The number of tasks that are played at once.
const WORKERS: usize = 4;
/// The settings of `edits.mode`.
const MODES: [&str; 3] = ["review", "ask", "auto"];

/// The moment at which the plug is pulled, unless an ask stays open or the task is over before.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// The server passes a point of its own for the n-th time.
    Point(&'static str, usize),
    /// The editor has heard so many updates.
    Heard(usize),
    /// The user has answered so many asks, and the next one is open.
    Asked(usize),
    /// Only at the end of the task.
    Never,
}

/// How far a task is when the plug is pulled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    NotBegun,
    BeforeQuestion,
    AtQuestion,
    AfterQuestion,
}

/// How a task without a death comes out.
struct Calm {
    files: BTreeMap<String, String>,
    hunks: Vec<Change>,
    /// The number of updates that the editor heard, and of asks that the user answered.
    heard: usize,
    asked: usize,
}

/// The path of a hunk, what it removes and what it inserts.
type Change = (String, String, String);

/// One task in its own workspace.
struct Task {
    workspace: Workspace,
    model: ModelServer,
    dice: Dice,
    /// Marks all processes. An approval is for one environment, so they have the same.
    mark: String,
    /// Whether a file of the task is open in the editor.
    opens: bool,
}

impl Task {
    fn new(mode: &str, opens: bool, dice: Dice) -> Task {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let workspace = Workspace::new("//- /keep.txt\nkept\n");
        workspace.write(OPEN, &unpainted(OPEN));
        workspace.write(CLOSED, &unpainted(CLOSED));
        let model = ModelServer::answering(|request: &Request| reply(request));
        workspace.openai(&model.base_url()).add_config(&format!("[edits]\nmode = \"{mode}\""));
        let mark = format!("plug-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::SeqCst));
        Task { workspace, model, dice, mark, opens }
    }

    fn serve(&self, moment: Moment, encoding: Encoding) -> (Server, Editor) {
        let mut server = Server::spawn_with(BINARY, &self.workspace, &["lsp"], |command| {
            command.env(MARK, &self.mark);
            if let Moment::Point(name, passing) = moment {
                command.env("ADJUTANT_FAULT", format!("{name}:{passing}"));
            }
        });
        let can = Capabilities::full().with_encodings(&[encoding]);
        let editor = server.editor(Options::new(&self.workspace).capabilities(can));
        if self.opens {
            editor.open(OPEN);
        }
        (server, editor)
    }

    fn terminal(&self, args: &[&str]) -> Ran {
        Line::new(BINARY, &self.workspace, args).env(MARK, &self.mark).run()
    }

    /// Returns the session, if the log has its beginning.
    fn session(&self) -> Option<SessionId> {
        // A server that died before its first write leaves at most the folder.
        let is_begun = |id: &SessionId| fold(&self.facts_of(id)).created;
        let mut begun = sessions(&self.workspace).into_iter().map(SessionId).filter(is_begun);
        let session = begun.next();
        assert_eq!(begun.next(), None, "the task is in two sessions");
        session
    }

    fn facts_of(&self, session: &SessionId) -> Vec<Record> {
        let log = self.workspace.state_dir().join("sessions").join(&session.0).join("events.jsonl");
        if log.exists() { facts(&self.workspace, &session.0) } else { Vec::new() }
    }

    /// The user begins the task, and the plug is pulled. Returns how it came to that.
    fn dies(&mut self, moment: Moment) -> &'static str {
        let (mut server, editor) = self.serve(moment, Encoding::Utf16);
        editor.expect_loss();
        let mut patience = if let Moment::Asked(answers) = moment { answers } else { usize::MAX };
        editor.on_ask(move |ask| match patience {
            0 => Answer::Hold,
            _ => {
                patience -= 1;
                consent(ask)
            }
        });
        let prompted = self.begins(&editor, &mut server);
        let mut how = "";
        wait_until("the moment", || {
            let updates = editor.updates();
            how = match moment {
                _ if !server.is_alive() => "at a point",
                Moment::Heard(count) if updates.len() >= count => "after an update",
                _ if !editor.held_asks().is_empty() => "at an open ask",
                _ if updates.iter().any(|update| is_end(&update.update)) => "at the end",
                _ => return false,
            };
            true
        });
        // The editor may be gone a little before its server, or after it.
        if self.dice.roll(2) == 0 {
            editor.hang_up();
        }
        server.kill();
        if prompted.is_some_and(|id| editor.is_answered(&id)) {
            assert!(self.session().is_some(), "a prompt was accepted, and the log does not have it");
        }
        no_rule_is_broken(editor);
        how
    }

    /// Sends the prompt, unless the server dies before.
    fn begins(&self, editor: &Editor, server: &mut Server) -> Option<Id> {
        let new = editor.request_nowait(methods::SESSION_NEW, json!({}));
        wait_until("the session or the end", || editor.is_answered(&new) || !server.is_alive());
        if !editor.is_answered(&new) {
            return None;
        }
        let session = editor.await_response(&new).expect("a session")["sessionId"].clone();
        let prompt = json!([{"type": "text", "text": "Paint it."}]);
        let prompt = json!({"sessionId": session, "prompt": prompt});
        Some(editor.request_nowait(methods::SESSION_PROMPT, prompt))
    }

    /// Answers at a terminal what is open, one ask or more, or lets the task end there.
    fn goes_on_at_a_terminal(&mut self) {
        for _ in 0..self.dice.roll(4) {
            let Some(session) = self.session() else { return };
            let now = fold(&self.facts_of(&session));
            let listed = self.terminal(&["asks", "--json"]);
            let listed =
                listed.expect(0).stdout.lines().map(|line| serde_json::from_str(line).expect("an ask"));
            let listed: Vec<AskView> = listed.collect();
            let shown: BTreeSet<_> = listed.iter().map(|ask| ask.ask_id.0.clone()).collect();
            assert_eq!(shown, self.waiting(&session), "not exactly what is open is shown");
            assert_eq!(shown.len(), listed.len(), "an ask is shown twice");
            match listed.first() {
                Some(ask) => {
                    let Answer::Option(option) = consent(ask) else { panic!("{ask:?}") };
                    let ran = self.terminal(&["answer", &ask.ask_id.0, &option]);
                    assert!(ran.expect(0).stdout.starts_with("accepted\n"), "{ran}");
                }
                // Nobody is asked any more, because the only question has its answer.
                None if now.open_run().is_some() && self.stage() == Stage::AfterQuestion => {
                    self.terminal(&["run", "--continue", "-y", "--allow-commands"]).expect(0);
                }
                None => return,
            }
        }
    }

    /// Returns the asks for which the run waits.
    fn waiting(&self, session: &SessionId) -> BTreeSet<String> {
        let now = fold(&self.facts_of(session));
        let waiting = now.open_asks().filter(|ask| ask.kind.group() == AskGroup::Interactive);
        waiting.map(|ask| ask.id.0.clone()).collect()
    }

    /// Returns how far the task is.
    fn stage(&self) -> Stage {
        let Some(session) = self.session() else { return Stage::NotBegun };
        let asks = asks(&self.facts_of(&session));
        match asks.iter().find(|(kind, _)| *kind == AskKind::Followup) {
            None => Stage::BeforeQuestion,
            Some((_, ends)) if ends.is_empty() => Stage::AtQuestion,
            Some(_) => Stage::AfterQuestion,
        }
    }

    /// A fresh editor goes on, and ends the review. Returns the hunks.
    fn ends_at_an_editor(&self) -> Vec<Change> {
        let (mut server, editor) = self.serve(Moment::Never, Encoding::Utf8);
        let listed: SessionListResult = editor.call(methods::SESSION_LIST, json!({}));
        let listed: Vec<_> = listed.sessions.into_iter().map(|session| session.session_id).collect();
        editor.on_ask(consent);
        let session = match self.session() {
            Some(session) => {
                assert_eq!(listed, std::slice::from_ref(&session));
                let open = self.waiting(&session);
                let now = editor.resume(&session, Some(ReplayFrom::Start));
                for ask in open {
                    let shown = now.asks.iter().filter(|shown| shown.ask_id.0 == ask).count();
                    assert_eq!(shown, 1, "ask {ask} is not shown once: {:?}", now.asks);
                }
                session
            }
            // The user's prompt was never accepted, so they type it again.
            None => {
                let prompt = self.begins(&editor, &mut server).expect("the server lives");
                editor.await_response(&prompt).expect("it is accepted");
                self.session().expect("a session")
            }
        };
        self.comes_to_its_end(&editor, &session);
        let hunks = self.reviews(&editor, &session);
        editor.shutdown();
        server.wait();
        no_rule_is_broken(editor);
        hunks
    }

    fn comes_to_its_end(&self, editor: &Editor, session: &SessionId) {
        let mut resumed = false;
        wait_until("the end of the task", || {
            let now = fold(&self.facts_of(session));
            let to_resume = now.open_asks().find(|ask| ask.kind == AskKind::ResumeTask).cloned();
            if let Some(ask) = to_resume.filter(|_| !resumed) {
                editor.respond(&adjutant_protocol::AskId(ask.id.0), "resume");
                resumed = true;
            }
            now.open_run().is_none()
        });
    }

    /// Keeps all hunks, and returns them.
    fn reviews(&self, editor: &Editor, session: &SessionId) -> Vec<Change> {
        let listed = || {
            let mut listed: ReviewListResult = editor.call(methods::REVIEW_LIST, json!({"all": true}));
            // The model made this again, because it did not see it in the file.
            let is_lost =
                |hunk: &ReviewHunk| hunk.state == HunkState::NotApplied && hunk.path == OPEN && self.opens;
            listed.hunks.retain(|hunk| !is_lost(hunk));
            listed.hunks
        };
        for hunk in listed().iter().filter(|hunk| hunk.state != HunkState::Kept) {
            assert_eq!(hunk.state, HunkState::Applied, "{hunk:?}");
            let target = json!({"changeSetId": hunk.change_set_id, "hunkIds": [hunk.hunk_id]});
            let keep = json!({"sessionId": session, "targets": [target], "action": "keep"});
            let decided: ReviewDecideResult = editor.call(methods::REVIEW_DECIDE, keep);
            assert_eq!(decided.hunks[0].state, HunkState::Kept, "{decided:?}");
        }
        let change = |hunk: ReviewHunk| {
            assert_eq!(hunk.state, HunkState::Kept, "{hunk:?}");
            (hunk.path, hunk.removed, hunk.inserted)
        };
        let mut changes: Vec<Change> = listed().into_iter().map(change).collect();
        changes.sort();
        changes
    }

    /// Checks what is left of the task: each question and each call has one end, and the command ran as the log says.
    fn is_done_once(&self) {
        let records = self.facts_of(&self.session().expect("a session"));
        ran_once(&records, Outcome::Stopped);
        for (kind, ends) in asks(&records) {
            assert_eq!(ends.len(), 1, "an ask has not exactly one end: {kind:?}, {ends:?}");
            let by_user = matches!(ends[0], Resolution::Selected { .. } | Resolution::Decided);
            assert!(by_user, "the user did not answer: {kind:?}, {ends:?}");
        }
        let questions = asks(&records).iter().filter(|(kind, _)| *kind == AskKind::Followup).count();
        assert_eq!(questions, 1, "the question was not asked once");
        let told = self.model.requests().last().map(turns_of).expect("a request").concat();
        let answers = told.iter().filter(|(.., output)| output == "The user answered: red").count();
        assert_eq!(answers, 1, "{told:?}");
        self.ran_once_or_is_unknown(&told);
        let is_cut = |call: &&Called| call.2.starts_with(UNKNOWN) && call.0 != "run_command";
        let cut: Vec<_> = told.iter().filter(is_cut).collect();
        // The text of an editor dies with it, so only there it cannot be known whether an edit was made.
        let is_of_editor = |call: &Called| self.opens && call.1["path"] == OPEN;
        assert!(cut.len() <= 1 && cut.iter().all(|call| is_of_editor(call)), "{told:?}");
        for (_, call) in calls(&records).iter().filter(|(_, call)| call.tool != "run_command") {
            let is_done = call.ends == [CallEnd::Completed];
            assert!(is_done || call.ends == [CallEnd::Interrupted] && !cut.is_empty(), "{call:?}: {told:?}");
        }
        assert_eq!(left(self.workspace.path()), [""; 0].map(Path::new), "temporary files are left");
        wait_until("the end of all processes", || marked(&self.mark, 0).is_empty());
    }

    /// Checks the trace of the command: one if the model read that the command ended, at most one if it read that the outcome is unknown.
    fn ran_once_or_is_unknown(&self, told: &[Called]) {
        let ledger = self.workspace.path().join("ledger");
        let traces = fs::read_to_string(ledger).unwrap_or_default().lines().count();
        let commands: Vec<_> = told.iter().filter(|(tool, ..)| tool == "run_command").collect();
        match commands[..] {
            [(.., output)] if output.starts_with("exit code 0 ") => assert_eq!(traces, 1, "{told:?}"),
            [(.., output)] if output.starts_with(UNKNOWN) => {
                assert!(traces <= 1, "{traces} traces: {told:?}")
            }
            _ => panic!("{told:?}"),
        }
    }
}

/// The user agrees with everything.
fn consent(ask: &AskView) -> Answer {
    Answer::option(if ask.kind == ask::AskKind::Followup { "option-1" } else { "allow" })
}

/// Returns all asks for which the run waited, and how each was closed.
fn asks(records: &[Record]) -> Vec<(AskKind, Vec<Resolution>)> {
    let mut asks = BTreeMap::new();
    for record in records {
        match &record.event {
            Event::AskOpened { ask } if ask.kind.group() == AskGroup::Interactive => {
                assert!(asks.insert(&ask.id.0, (ask.kind, Vec::new())).is_none(), "{ask:?} is opened twice");
            }
            Event::AskClosed { ask, resolution } => {
                asks.entry(&ask.0).and_modify(|(_, ends)| ends.push(resolution.clone()));
            }
            _ => {}
        }
    }
    asks.into_values().collect()
}

fn is_end(update: &Update) -> bool {
    matches!(update, Update::Run(RunView::Ended { .. }))
}

/// Returns the texts of all files but the trace of the command.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let (name, path) = (entry.file_name().to_string_lossy().into_owned(), entry.path());
        match path.is_dir() {
            true => {
                files.extend(self::files(&path).into_iter().map(|(at, text)| (format!("{name}/{at}"), text)))
            }
            false if name == "ledger" => {}
            false => drop(files.insert(name, fs::read_to_string(&path).expect("a text"))),
        }
    }
    files
}

/// The user of this test reads no message.
fn no_rule_is_broken(editor: Editor) {
    let broken: Vec<_> =
        editor.finish().into_iter().filter(|fault| fault.rule != Rule::UnreadMessage).collect();
    assert!(broken.is_empty(), "{broken:?}");
}

/// Plays the task without a death.
fn calm(mode: &str, opens: bool) -> Calm {
    let task = Task::new(mode, opens, campaign::dice(0));
    let (mut server, editor) = task.serve(Moment::Never, Encoding::Utf16);
    editor.on_ask(consent);
    let prompt = task.begins(&editor, &mut server).expect("the server lives");
    editor.await_response(&prompt).expect("it is accepted");
    wait_until("the end", || editor.updates().iter().any(|update| is_end(&update.update)));
    let heard = editor.updates().len();
    let hunks = task.reviews(&editor, &task.session().expect("a session"));
    editor.shutdown();
    server.wait();
    task.is_done_once();
    assert_eq!(task.workspace.read("ledger"), "ran\n");
    let asked = asks(&task.facts_of(&task.session().expect("a session"))).len();
    Calm { files: files(task.workspace.path()), hunks, heard, asked }
}

/// Says which seed failed.
struct Place(String);

impl Drop for Place {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("{}", self.0);
        }
    }
}

/// Pulls the plug once. Returns how it came to that.
fn pulled(seed: usize, calms: &[Calm]) -> (&'static str, Stage) {
    let mut dice = campaign::dice(0x9106 ^ (seed as u64) << 16);
    let (mode, opens) = (dice.roll(MODES.len()), dice.roll(2) == 1);
    let calm = &calms[mode * 2 + usize::from(opens)];
    let moment = match seed % 3 {
        0 => {
            // A run passes the points of a command once, and those of an edit often.
            let often = ["command-started", "command-ended"].repeat(3);
            let points: Vec<&str> = POINTS.into_iter().chain(WRITE_POINTS).chain(often).collect();
            let name = *dice.pick(&points);
            let most = match name {
                "prompt-accepted" | "command-started" | "command-ended" => 1,
                "facts-written" | "facts-durable" => 40,
                _ if name.starts_with("edit-") => 2,
                _ => 5,
            };
            Moment::Point(name, 1 + dice.roll(most))
        }
        1 => Moment::Heard(dice.roll(calm.heard + 1)),
        _ => Moment::Asked(dice.roll(calm.asked)),
    };
    let place = format!("seed {seed}: {}, open {opens}, {moment:?}", MODES[mode]);
    let _place = Place(place);
    let mut task = Task::new(MODES[mode], opens, dice);
    let death = (task.dies(moment), task.stage());
    task.goes_on_at_a_terminal();
    let hunks = task.ends_at_an_editor();
    task.is_done_once();
    assert_eq!(files(task.workspace.path()), calm.files, "the files are not as without a death");
    assert_eq!(hunks, calm.hunks, "the hunks are not as without a death");
    death
}

#[test]
fn a_task_whose_plug_is_pulled_at_any_moment_ends_with_the_same_bytes() {
    let begun = Instant::now();
    let plugs = campaign::size("ADJUTANT_PLUGS", 1000, 100);
    let only: Option<usize> = std::env::var("ADJUTANT_ORDER").ok().and_then(|seed| seed.parse().ok());
    let cases = MODES.iter().flat_map(|mode| [(mode, false), (mode, true)]);
    let calms: Vec<Calm> = cases.map(|(mode, opens)| calm(mode, opens)).collect();
    let next = AtomicUsize::new(only.unwrap_or(0));
    let deaths: Mutex<BTreeMap<(&str, Stage), usize>> = Mutex::default();
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::SeqCst);
                    if seed >= plugs && only != Some(seed) || only.is_some_and(|only| only != seed) {
                        return;
                    }
                    let death = pulled(seed, &calms);
                    *deaths.lock().unwrap_or_else(PoisonError::into_inner).entry(death).or_default() += 1;
                }
            });
        }
    });
    let deaths = deaths.into_inner().unwrap_or_else(PoisonError::into_inner);
    eprintln!("{plugs} plugs in {:?}: {deaths:?}", begun.elapsed());
    let count = |is: &dyn Fn(&(&str, Stage)) -> bool| -> usize {
        deaths.iter().filter(|(death, _)| is(death)).map(|(_, count)| count).sum()
    };
    assert!(count(&|(how, _)| *how == "at the end") * 2 < plugs, "most tasks were over: {deaths:?}");
    for stage in [Stage::BeforeQuestion, Stage::AtQuestion, Stage::AfterQuestion] {
        let here = count(&|(_, at)| *at == stage);
        assert!(here > 0 || only.is_some() || plugs < 20, "no plug was pulled at {stage:?}: {deaths:?}");
    }
}
