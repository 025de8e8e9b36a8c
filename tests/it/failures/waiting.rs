//! A cancel during any wait ends the run and releases what it waited for.
//!
//! Asserts no time; `cargo bench --bench figures -- --only waits` measures it.

use std::time::{Duration, Instant};

use adjutant_protocol::RunId;
use adjutant_protocol::SessionId;
use adjutant_protocol::ask::AskKind;
use adjutant_protocol::state::{Outcome, State, SubState};
use adjutant_protocol::update::{RunView, Update};
use adjutant_testkit::deaf::DeafHost;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{Dialect, ModelServer, Reply};
use adjutant_testkit::process::{is_running, wait_until};
use serde_json::json;

use super::rows::ANSWER;
use crate::rig::{Rig, count};

/// The longest time that a key command may run by itself.
const KEY_LIMIT: Duration = Duration::from_secs(10);

/// What the run waits for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum For {
    TheNextTry,
    RetryAfter,
    TheUsersOwnWait,
    Headers,
    TheRestOfTheReply,
    AnAnswer,
    TheKey,
    AConnection,
}

const ALL: [For; 8] = [
    For::TheNextTry,
    For::RetryAfter,
    For::TheUsersOwnWait,
    For::Headers,
    For::TheRestOfTheReply,
    For::AnAnswer,
    For::TheKey,
    For::AConnection,
];

/// A run that waits, and what it waits for.
struct Waiting {
    wait: For,
    model: ModelServer,
    deaf: Option<DeafHost>,
    workspace: Workspace,
    rig: Rig,
    session: SessionId,
}

impl Waiting {
    fn begin(wait: For, wire: Dialect) -> Waiting {
        let model = ModelServer::answering(move |_| match wait {
            For::TheNextTry => Reply::status(500),
            For::RetryAfter | For::TheUsersOwnWait => Reply::status(429).header("retry-after", "60"),
            For::Headers => Reply::never(),
            For::TheRestOfTheReply => Reply::text(ANSWER).hold_behind("stands"),
            For::AnAnswer => Reply::call("run_command", json!({"command": "touch ran"})),
            For::TheKey | For::AConnection => Reply::text(ANSWER),
        });
        let deaf = (wait == For::AConnection).then(DeafHost::start);
        let workspace = Workspace::new("//- /a.txt\nhello\n");
        let url = deaf.as_ref().map_or_else(|| model.base_url(), DeafHost::base_url);
        let slow_key = "[\"sh\", \"-c\", \"echo $$ > key.pid; mv key.pid key; exec sleep 300\"]";
        let slow_key = slow_key.replace("key", &workspace.path().join("key").display().to_string());
        let key = if wait == For::TheKey { format!("api_key_command = {slow_key}\n") } else { String::new() };
        let attempts = if wait == For::TheUsersOwnWait { "attempts = 1" } else { "" };
        workspace.config(&format!(
            "model = \"local/m\"\n[providers.local]\nwire = \"{}\"\nbase_url = \"{url}\"\n{key}\
             [limits]\nsilence_seconds = 1\n[retry]\nbase_ms = 60000\ncap_ms = 60000\n{attempts}\n",
            wire.wire()
        ));
        let rig = Rig::start(&workspace);
        let session = rig.new_session();
        Waiting { wait, model, deaf, workspace, rig, session }
    }

    /// Prompts, and returns once the run waits.
    fn until_it_waits(&self) -> RunId {
        let run = self.rig.prompt(&self.session, "Speak.").run_id;
        let shown = |sub| {
            self.rig.await_update(
                |update| matches!(&update.update, Update::StateUpdate(view) if view.sub == Some(sub)),
            )
        };
        match self.wait {
            For::TheNextTry | For::RetryAfter => drop(shown(SubState::Retrying)),
            For::TheUsersOwnWait => {
                let ask = self.rig.await_ask_of(AskKind::ApiReqFailed);
                self.rig.answer(&ask.ask_id, "wait");
                let started = self.rig.await_update(|update| {
                    matches!(&update.update, Update::Run(RunView::Started { run_id, .. }) if *run_id != run)
                });
                let Update::Run(RunView::Started { run_id, not_before, .. }) = started.update else {
                    panic!("it started")
                };
                assert!(not_before.is_some(), "it does not wait");
                return run_id;
            }
            For::Headers => self.model.wait_for_holding(1),
            For::TheRestOfTheReply => drop(shown(SubState::Stalled)),
            For::AnAnswer => {
                let ask = self.rig.await_ask_of(AskKind::Command);
                self.rig.await_delivery(&ask.ask_id);
            }
            For::TheKey => wait_until("the command of the key", || self.workspace.exists("key")),
            For::AConnection => wait_until("a connection attempt", || self.is_knocking()),
        }
        run
    }

    fn is_knocking(&self) -> bool {
        self.deaf.as_ref().is_some_and(DeafHost::is_knocked_at)
    }

    /// Asserts that what the run waited for is released.
    fn is_released(&self, since: Instant) {
        let requests = self.model.requests().len();
        match self.wait {
            For::TheNextTry | For::RetryAfter | For::TheUsersOwnWait => {
                assert_eq!(requests, 1, "there was another attempt");
            }
            For::Headers | For::TheRestOfTheReply => self.model.wait_for_closed(1),
            For::AnAnswer => {
                wait_until("the request of the ask to be withdrawn", || self.rig.held_asks().is_empty());
                assert!(!self.workspace.exists("ran"));
            }
            For::TheKey => {
                let pid = self.workspace.read("key").trim().parse().expect("a process id");
                wait_until("the command of the key to end", || !is_running(pid));
                assert!(since.elapsed() < KEY_LIMIT, "it ended by itself");
                assert_eq!(requests, 0);
            }
            For::AConnection => wait_until("the connection attempt to end", || !self.is_knocking()),
        }
    }
}

fn cancel_ends_it(wait: For, wire: Dialect) {
    let waiting = Waiting::begin(wait, wire);
    let since = Instant::now();
    let run = waiting.until_it_waits();
    let before = count(&waiting.workspace, &waiting.session, "run_ended");
    waiting.rig.cancel_run(&waiting.session);
    let end = waiting.rig.await_run_end(&waiting.session, &run);
    assert_eq!(end.outcome, Outcome::Cancelled, "{wait:?}, {wire:?}");
    let rests = waiting.rig.await_state(State::Idle);
    assert_eq!(rests.sub, Some(SubState::Cancelled), "{wait:?}, {wire:?}");
    waiting.is_released(since);
    assert_eq!(count(&waiting.workspace, &waiting.session, "run_ended"), before + 1, "{wait:?}, {wire:?}");
    waiting.rig.end();
}

#[test]
fn s80_s90_a_cancel_during_any_wait_ends_the_run_and_lets_go_of_what_was_waited_for() {
    for wire in Dialect::ALL {
        std::thread::scope(|scope| {
            for wait in ALL {
                scope.spawn(move || cancel_ends_it(wait, wire));
            }
        });
    }
}
