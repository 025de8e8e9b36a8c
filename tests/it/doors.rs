//! One ask, five ways to answer, one effect: popup, code action, command with a text, request, and a file from
//! the terminal, all at once.
//!
//! Never requires a certain winner: only that exactly one answer wins, once, also after a restart.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::thread;

use adjutant_protocol::{AskId, SessionId};
use adjutant_testkit::campaign;
use adjutant_testkit::editor::{Answer, Editor, Popup};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::inbox;
use adjutant_testkit::model::Reply;
use adjutant_testkit::process::wait_until;
use serde_json::{Value, json};

use crate::plain::Plain;
use crate::rig::{count, facts_named};

/// Number of races in `tests/run --long`, and in a quick run.
const MANY: usize = 1_000;
const FEW: usize = 60;
/// The server restarts during one ask in this many.
const RESTART_EVERY: usize = 20;
/// How far one surface may be ahead of the others, in turns of a loop.
const HEAD_START: usize = 40_000;

fn races() -> usize {
    campaign::size("ADJUTANT_RACES", MANY, FEW)
}

/// The ask of one race, and the surfaces that show it.
struct Race<'a> {
    editor: &'a Editor,
    workspace: &'a Workspace,
    session: &'a SessionId,
    ask: AskId,
    popup: Popup,
    action: Value,
    number: usize,
}

impl Race<'_> {
    /// Returns the answer of a surface: some allow and some reject, alternating.
    fn option(&self, surface: usize) -> &'static str {
        if (self.number + surface).is_multiple_of(2) { "allow" } else { "reject" }
    }

    fn by_popup(&self) {
        let title = if self.option(0) == "allow" { "Yes, once" } else { "Reject" };
        self.editor.press(&self.popup, Some(title));
    }

    fn by_code_action(&self) {
        let command = &self.action["command"];
        self.execute(json!({ "command": command["command"], "arguments": command["arguments"] }));
    }

    fn by_command(&self) {
        let arguments = json!([{ "askId": self.ask, "text": "not like this" }]);
        self.execute(json!({ "command": "adjutant.respond", "arguments": arguments }));
    }

    fn execute(&self, params: Value) {
        let answered = self.editor.request("workspace/executeCommand", params);
        if answered.is_ok_and(|answered| answered["status"] == "accepted") {
            return;
        }
        // A late answer gets the winning one.
        let message = self.editor.await_message();
        assert!(message.starts_with("Adjutant: this was answered before"), "{message}");
    }

    fn by_request(&self) {
        let params = json!({ "askId": self.ask, "optionId": self.option(3) });
        self.editor.request("agent/ask/respond", params).expect("a later answer gets the winning one");
    }

    fn by_inbox(&self) -> inbox::Letter {
        inbox::leave(self.workspace, self.session, &self.ask, &Answer::option(self.option(4)))
    }

    /// Answers on all five surfaces at once; each race gives another one the lead.
    fn run(&self) -> inbox::Letter {
        let start = Barrier::new(5);
        let wait = |surface: usize| {
            start.wait();
            let behind = (surface + 5 - self.number % 5) % 5;
            (0..behind * (HEAD_START / 5)).for_each(|_| std::hint::spin_loop());
        };
        thread::scope(|scope| {
            scope.spawn(|| (wait(1), self.by_code_action()));
            scope.spawn(|| (wait(2), self.by_command()));
            scope.spawn(|| (wait(3), self.by_request()));
            let letter = scope.spawn(|| (wait(4), self.by_inbox()).1);
            wait(0);
            self.by_popup();
            letter.join().expect("the terminal")
        })
    }
}

/// Returns the popup of the open command ask. Answers the popup that asks whether to resume after a restart.
fn popup(plain: &Plain) -> Popup {
    let shown = plain.rig.await_popup();
    if shown.actions.contains(&"Resume".to_owned()) {
        plain.rig.press(&shown, Some("Resume"));
        return plain.rig.await_popup();
    }
    shown
}

fn open_ask(plain: &Plain, session: &SessionId) -> AskId {
    let listed = plain.rig.request("agent/ask/list", json!({ "sessionId": session })).expect("a list");
    let asks = listed["asks"].as_array().expect("asks");
    let open: Vec<&Value> = asks.iter().filter(|ask| ask["kind"] == "command").collect();
    assert_eq!(open.len(), 1, "{asks:?}");
    AskId(open[0]["askId"].as_str().expect("an id").to_owned())
}

#[test]
fn n02_five_doors_race_and_each_ask_has_one_effect_also_over_restarts() {
    let races = races();
    let turns = (0..races).map(|_| Reply::call("run_command", json!({ "command": "echo ran >> ledger" })));
    let mut plain = Plain::new("//- /a.txt\nhello\n", turns.chain([Reply::text("Done.")]));
    let started = plain.command("adjutant.start", json!(["go", "on"])).expect("it is started");
    let session = SessionId(started["sessionId"].as_str().expect("a session").to_owned());
    let mut won: BTreeMap<String, usize> = BTreeMap::new();
    let mut allowed = 0;
    for number in 0..races {
        let mut shown = popup(&plain);
        if number % RESTART_EVERY == RESTART_EVERY / 2 {
            plain = plain.again();
            shown = popup(&plain);
        }
        let wanted = if number % 2 == 0 { "Adjutant: Reject" } else { "Adjutant: Yes" };
        let race = Race {
            action: plain.await_action("a.txt", wanted),
            ask: open_ask(&plain, &session),
            editor: &plain.rig.editor,
            workspace: &plain.workspace,
            session: &session,
            popup: shown,
            number,
        };
        let letter = race.run();
        let closed = |name: &str| {
            let all = facts_named(&plain.workspace, &session, name);
            all.into_iter().find(|event| event["ask"] == race.ask.0.as_str())
        };
        wait_until("the ask to close", || closed("ask_closed").is_some());
        // After the last ask the session reads no inbox, so a late answer stays for the next process.
        let more = number + 1 < races;
        wait_until("the answer to be removed", || !more || letter.is_gone());
        let resolution = closed("ask_closed").expect("it closed")["resolution"].clone();
        let surface = resolution["surface"].as_str().unwrap_or_else(|| panic!("{resolution}"));
        *won.entry(surface.to_owned()).or_default() += 1;
        allowed += usize::from(resolution["option_id"] == "allow" || resolution["optionId"] == "allow");
    }
    wait_until("the run to end", || count(&plain.workspace, &session, "run_ended") == 1);
    eprintln!("{races} races, won by {won:?}, {allowed} allowed");
    let ledger = plain.workspace.read("ledger");
    assert_eq!(ledger.lines().count(), allowed, "each allowed command ran once, and no other did");
    assert_eq!(facts_named(&plain.workspace, &session, "tool_started").len(), allowed);
    assert!(won.len() >= 3, "a surface that never wins does not race: {won:?}");
    plain.rig.die();
}
