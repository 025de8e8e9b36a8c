//! The failures of docs/performance.md as one campaign: every row of `rows.rs`, on every wire, with every kind
//! of client.
//!
//! Never trusts a client alone: the model counts requests, and the log counts ends and asks.

mod line;
mod plain;
mod rich;
mod rows;
mod waiting;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use adjutant_protocol::SessionId;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{Dialect, ModelServer};
use serde_json::Value;

use crate::rig::facts_named;
use rows::{ANSWER, Ends, ROWS, Row, Wait};

/// Number of cells played at once: a cell mostly waits.
const AT_ONCE: usize = 6;
/// How long one step of a cell may take: others run at the same time, and one has 8 MiB.
const DEADLINE: Duration = Duration::from_secs(60);
const OPTIONS: [&str; 3] = ["retry", "wait", "stop"];

/// One row on one wire, with its model and its workspace.
struct Cell {
    row: &'static Row,
    model: ModelServer,
    workspace: Workspace,
}

/// One run as a client showed it.
#[derive(Debug, Default)]
struct Seen {
    /// The answer as the user finally reads it.
    text: String,
    /// The sentence of the failure, each time the client showed it.
    failures: Vec<String>,
    /// Number of ends that the client showed.
    ends: usize,
    /// The title and the options of the remaining ask, if any.
    ask: Option<(String, Vec<String>)>,
    /// The reports of a silence.
    silences: Vec<String>,
}

/// Plays a run to its end with one kind of client.
type Client = fn(&Cell) -> Seen;

impl Cell {
    fn new(row: &'static Row, wire: Dialect) -> Cell {
        let model = row.model();
        let workspace = Workspace::new("//- /a.txt\nhello\n");
        workspace.config(&row.settings(wire, &model.base_url()));
        Cell { row, model, workspace }
    }

    /// Lets the model continue, if the row has a silence that ends.
    fn let_the_model_continue(&self) {
        if self.row.wait == Wait::SilenceThatEnds {
            self.model.wait_for_holding(1);
            self.model.release();
        }
    }

    fn is_silent(&self) -> bool {
        matches!(self.row.wait, Wait::Silence | Wait::SilenceThatEnds)
    }

    /// Returns the only session of this workspace.
    fn session(&self) -> SessionId {
        let sessions = crate::kill::sessions(&self.workspace);
        let [session] = &sessions[..] else { panic!("one session, not {sessions:?}") };
        session.as_str().into()
    }

    fn check(&self, seen: &Seen) {
        let requests = self.model.requests();
        assert_eq!(requests.len(), self.row.requests, "requests at the model");
        let whole = requests.iter().filter(|request| request.json()["stream"] != true).count();
        assert_eq!(whole, self.row.whole, "requests for the whole answer");
        if let Wait::Asked(ms) = self.row.wait {
            let between = requests[1].arrived.duration_since(requests[0].arrived);
            assert!(between >= Duration::from_millis(ms), "the next request came after {between:?}");
        }
        let session = self.session();
        assert_eq!(seen.ends, 1, "ends that the client showed");
        assert_eq!(facts_named(&self.workspace, &session, "run_ended").len(), 1, "ends in the log");
        let asked: Vec<Value> = facts_named(&self.workspace, &session, "ask_opened");
        match &self.row.ends {
            Ends::Says(text) => self.check_text(&text(), seen),
            Ends::RefusesTheCall => {
                self.check_text(ANSWER, seen);
                let [before, second] =
                    [0, 1].map(|at| String::from_utf8_lossy(&requests[at].body).into_owned());
                // The call is refused with its limit, or made, or it asks as any other call.
                let limit = second.split("together may have ").nth(1).unwrap_or_default();
                let refused = limit.starts_with(|digit: char| digit.is_ascii_digit());
                let asked = second.matches("ejected").count() > before.matches("ejected").count();
                assert!(refused || asked || self.workspace.exists("large.txt"), "{second:.400}");
            }
            Ends::Asks(kind, words) => {
                let [failure] = &seen.failures[..] else { panic!("one failure: {:?}", seen.failures) };
                assert!(failure.contains(words), "{failure}");
                assert!(words_of(ANSWER).starts_with(&words_of(&seen.text)), "{}", seen.text);
                let Some((title, options)) = &seen.ask else { panic!("there is no ask") };
                assert!(title.contains(words) && *options == OPTIONS, "{title}: {options:?}");
                assert_eq!(asked.len(), 1, "{asked:?}");
                assert_eq!(asked[0]["ask"]["kind"], "api_req_failed");
                let failed = facts_named(&self.workspace, &session, "turn_failed");
                let class = failed[0]["failure"]["class"].clone();
                let class: adjutant_core::machine::retry::FailureClass =
                    serde_json::from_value(class).expect("a class of failures");
                assert_eq!((failed.len(), class.into()), (1, *kind));
            }
        }
        let reported = !seen.silences.is_empty();
        assert_eq!(reported, self.is_silent(), "reported silences: {:?}", seen.silences);
    }

    fn check_text(&self, text: &str, seen: &Seen) {
        assert!(seen.failures.is_empty() && seen.ask.is_none(), "{seen:?}");
        let (wanted, shown) = (words_of(text), words_of(&seen.text));
        let same = wanted.chars().zip(shown.chars()).take_while(|(one, other)| one == other).count();
        let around = |text: &str| text.chars().skip(same.saturating_sub(20)).take(60).collect::<String>();
        assert!(wanted == shown, "wanted {:?}, and {:?} was shown", around(&wanted), around(&shown));
    }
}

/// Returns a text without its white space, because clients break lines differently.
fn words_of(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Plays each row on its wires, and fails with all errors.
fn campaign(client: Client, wires: impl Fn(usize) -> Vec<Dialect>) {
    let cells: Vec<(&'static Row, Dialect)> = ROWS
        .iter()
        .enumerate()
        .flat_map(|(at, row)| wires(at).into_iter().map(move |wire| (row, wire)))
        .collect();
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((row, wire)) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let played = catch_unwind(AssertUnwindSafe(|| {
                        let cell = Cell::new(row, *wire);
                        let seen = client(&cell);
                        cell.check(&seen);
                    }));
                    if let Err(panic) = played {
                        let why = panic.downcast_ref::<String>().cloned();
                        let why = why.or(panic.downcast_ref::<&str>().map(|why| (*why).to_owned()));
                        let mut wrong = wrong.lock().expect("no thread panics while it has the lock");
                        wrong.push(format!("{} ({wire:?}): {:.600}", row.name, why.unwrap_or_default()));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no thread panics while it has the lock");
    assert!(wrong.is_empty(), "{} of {} cells:\n{}", wrong.len(), cells.len(), wrong.join("\n\n"));
}

/// Returns all wires.
fn every_wire(_: usize) -> Vec<Dialect> {
    Dialect::ALL.to_vec()
}

/// Returns one wire for each row, in turn; all of them with `ADJUTANT_SLOW`.
fn a_wire(row: usize) -> Vec<Dialect> {
    if std::env::var_os("ADJUTANT_SLOW").is_some() {
        return every_wire(row);
    }
    vec![Dialect::ALL[row % Dialect::ALL.len()]]
}

#[test]
fn s74_s80_s81_s82_s83_s105_s113_every_failure_ends_in_one_way_at_a_client_of_ours() {
    campaign(rich::play, every_wire);
}

#[test]
fn s74_s80_s81_s82_s83_s105_s113_every_failure_ends_in_one_way_at_a_plain_editor() {
    campaign(plain::play, every_wire);
}

#[test]
fn s74_s80_s81_s82_s83_s105_s113_every_failure_ends_in_one_way_at_the_command_line() {
    campaign(line::play, every_wire);
}

#[test]
fn s74_s80_s81_s82_s83_s105_s113_every_failure_ends_in_one_way_at_a_terminal() {
    campaign(line::play_at_a_terminal, a_wire);
}
