//! The time from a cancel to the client's notification, during each kind of wait.
//!
//! Never measures before the run waits, so the way to the wait is not in the figures.

use std::time::Instant;

use adjutant_testkit::deaf::DeafHost;
use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::json;

use super::client::Message;
use super::figures::{Bench, Stage};
use super::samples::{Samples, ms};

/// The cancels of each kind in one run.
const TIMES: usize = 5;
const SLOW: &str = "[limits]\nsilence_seconds = 1\n[retry]\nbase_ms = 60000\ncap_ms = 60000\n";

/// Returns when the run waits; the number is the count of earlier model requests.
type Until<'a> = &'a dyn Fn(&mut Stage, usize);

/// Measures a cancel in every kind of wait.
pub fn waits(bench: &Bench, samples: &mut Samples) {
    let stage = |reply: fn() -> Reply| bench.stage_with(ModelServer::answering(move |_| reply()), SLOW);
    let retrying: Until = &|stage, _| shown(stage, "retrying");
    cancels(samples, "cancel: back-off", &mut stage(|| Reply::status(500)), retrying);
    let far = || Reply::status(429).header("retry-after", "60");
    cancels(samples, "cancel: Retry-After", &mut stage(far), retrying);
    cancels(samples, "cancel: headers", &mut stage(Reply::never), &|stage, before| {
        stage.model.wait_for_requests(before + 1);
    });
    let held = || Reply::text("one two three four").hold_behind("three");
    cancels(samples, "cancel: stall", &mut stage(held), &|stage, _| shown(stage, "stalled"));
    let mut asking = stage(|| Reply::call("run_command", json!({"command": "true"})));
    asking.client.answers = false;
    cancels(samples, "cancel: ask", &mut asking, &|stage, _| {
        stage.client.wait(|message| message.body["method"] == "agent/session/request_permission");
    });
    key(bench, samples);
    connection(bench, samples);
}

/// Measures a cancel while the program that prints the key hangs.
fn key(bench: &Bench, samples: &mut Samples) {
    let mark = bench.directory.join("key");
    let script = format!("echo > {}; exec sleep 300", mark.display());
    let key = format!("api_key_command = [\"sh\", \"-c\", \"{script}\"]\n{SLOW}");
    let mut stage = bench.stage_with(ModelServer::start([]), &key);
    cancels(samples, "cancel: key", &mut stage, &|stage, _| {
        stage.client.wait_for("the command of the key", || mark.exists());
        std::fs::remove_file(&mark).expect("the mark can be removed");
    });
}

/// Measures a cancel at a host that accepts no connection.
fn connection(bench: &Bench, samples: &mut Samples) {
    let deaf = DeafHost::start();
    let mut stage = bench.stage_at(&deaf.base_url(), ModelServer::start([]), SLOW);
    cancels(samples, "cancel: connection", &mut stage, &|stage, _| {
        stage.client.wait_for("a connection attempt", || deaf.is_knocked_at());
    });
}

/// Sends a prompt and cancels when the run waits, several times. Records the time until the client was notified.
fn cancels(samples: &mut Samples, name: &'static str, stage: &mut Stage, until: Until) {
    let took = (0..TIMES).map(|_| {
        let before = stage.model.requests().len();
        stage.client.prompt(&stage.session, "Say something.");
        until(stage, before);
        let sent = Instant::now();
        stage.client.notify("agent/session/cancel", &json!({"sessionId": stage.session}));
        let idle = stage.client.wait(Message::is_idle);
        assert_eq!(idle.update().map(|update| &update["stopReason"]), Some(&json!("cancelled")));
        ms(idle.at - sent)
    });
    samples.add(name, took.collect());
}

fn shown(stage: &mut Stage, sub: &str) {
    stage.client.wait(|message| message.update().is_some_and(|update| update["sub"] == sub));
}
