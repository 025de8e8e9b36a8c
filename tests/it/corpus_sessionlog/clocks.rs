//! Clocks that were set between two openings of a session, and machines with other clocks (F11). Nothing waits
//! for years, and no answer is refused because its ask seems to be from the future.
//!
//! The tests change the wall clock in the log, because no namespace has its own. For the monotonic clock, the
//! binary runs in a time namespace. The test fails if the kernel offers none.

use std::time::{Duration, Instant};

use adjutant_protocol::ask::AskKind;
use adjutant_protocol::state::State;
use adjutant_testkit::command::Line;
use adjutant_testkit::editor::Answer;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::{Value, json};

use super::crashes::{command, open_run, over_with};
use crate::rig::Rig;

const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");
const TEN_YEARS_MS: u64 = 10 * 365 * 86_400_000;
const TEN_YEARS_S: &str = "315360000";

fn now_ms() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    now.as_millis() as u64
}

/// Moves every time in an event by as much as the clock.
fn shift(value: &mut Value, by: i64) {
    match value {
        Value::Object(fields) => fields.iter_mut().for_each(|(name, value)| match value.as_u64() {
            Some(at) if ["retry_at", "not_before", "opened_at", "since"].contains(&name.as_str()) => {
                *value = json!(at.saturating_add_signed(by));
            }
            _ => shift(value, by),
        }),
        Value::Array(values) => values.iter_mut().for_each(|value| shift(value, by)),
        _ => {}
    }
}

#[test]
fn f11_a_retry_noted_by_another_clock_waits_no_longer_than_it_was_to() {
    for by in [TEN_YEARS_MS as i64, -(TEN_YEARS_MS as i64)] {
        let mut asked = 0;
        let model = ModelServer::answering(move |_| {
            asked += 1;
            if asked == 1 { Reply::status(429).header("retry-after", "1") } else { Reply::text("Done.") }
        });
        let over = over_with(model, "allow");
        let mut records = over.up_to("attempt_failed");
        let at = now_ms().saturating_add_signed(by);
        for (_, event) in &mut records {
            if event["type"] == "attempt_failed" {
                event["retry_at"] = json!(at + 1_000);
            }
        }
        over.write_at(&records, at);
        let (rig, now) = over.reopened();
        assert_eq!(now.state.state, State::Resumable);
        let ask = now.asks.iter().find(|ask| ask.kind == AskKind::ResumeTask).expect("it is asked");
        let begun = Instant::now();
        rig.answer(&ask.ask_id, "resume");
        rig.await_run_end(&over.session, &open_run(&now));
        assert!(begun.elapsed() < Duration::from_secs(9), "it waited {:?}", begun.elapsed());
        rig.await_state(State::Idle);
        rig.end();
    }
}

#[test]
fn f11_an_ask_of_a_clock_that_was_set_since_can_be_answered_by_command() {
    for by in [TEN_YEARS_MS as i64, -(TEN_YEARS_MS as i64)] {
        let over = command("allow");
        let mut records = over.up_to("ask_opened");
        records.iter_mut().for_each(|(_, event)| shift(event, by));
        over.write_at(&records, now_ms().saturating_add_signed(by));
        // The call has already run in this test, and its output is stored under its name.
        std::fs::remove_dir_all(over.dir().join("outputs")).expect("the outputs are there");
        let rig = Rig::start(&over.workspace);
        rig.on_ask(|_| Answer::Hold);
        let now = rig.resume(&over.session, None);
        let [ask] = &now.asks[..] else { panic!("one ask: {now:?}") };
        rig.await_delivery(&ask.ask_id);
        let named = json!({"askId": ask.ask_id, "optionId": "allow"});
        let respond = json!({"command": "adjutant.respond", "arguments": [named]});
        let answered = rig.request("workspace/executeCommand", respond);
        assert!(answered.is_ok(), "moved by {by}: {answered:?}");
        rig.await_run_end(&over.session, &open_run(&now));
        rig.await_state(State::Idle);
        rig.end();
        assert_eq!(over.workspace.read("ledger"), "ran\nran\n", "the answer did not count");
    }
}

/// A task that runs two commands without an ask, is killed in between, and is continued.
#[test]
fn f11_a_machine_whose_clock_runs_elsewhere_retries_waits_and_resumes_as_ever() {
    let script = r#"
[[turn]]
text = "I run it."
[[turn.call]]
tool = "run_command"
arguments = { command = "sleep 0.1; echo ran >> ledger" }

[[turn]]
text = "And again."
[[turn.call]]
tool = "run_command"
arguments = { command = "sleep 0.1; echo again >> ledger" }

[[turn]]
[[turn.call]]
tool = "task_complete"
arguments = { summary = "Ran." }
"#;
    // First both clocks are ahead, as on a machine that has run for ten years. Then only the clock that
    // includes sleep is ahead, as on a machine that slept for ten years.
    for clocks in [&["--monotonic", TEN_YEARS_S, "--boottime", TEN_YEARS_S][..], &["--boottime", TEN_YEARS_S]]
    {
        let workspace = Workspace::new("//- /a.txt\nhello\n");
        workspace.script(script);
        let elsewhere = |args: &[&str], fault: Option<&str>| {
            let all = [&["-r", "-T", "--fork"][..], clocks, &[BINARY], args].concat();
            let line = Line::new("unshare", &workspace, &all);
            match fault {
                Some(fault) => line.env("ADJUTANT_FAULT", fault).run(),
                None => line.run(),
            }
        };
        let ran = elsewhere(&["run", "-y", "--allow-commands", "run it twice"], Some("command-ended:2"));
        assert!(
            workspace.exists("ledger"),
            "the kernel gives no time namespace, or the process hangs in it: {ran}"
        );
        assert!(!ran.status.success(), "it was to be killed: {ran}");
        // The next process uses the clocks of this machine.
        let ran = Line::new(BINARY, &workspace, &["run", "--continue", "-y", "--allow-commands"]).run();
        assert!(ran.expect(0).stdout.contains("Ran."), "{ran}");
        assert_eq!(workspace.read("ledger"), "ran\nagain\n");
    }
}
