//! The speed of prompts and typing while twenty sessions stream.
//!
//! Asserts that all of these stream at the start and at the end.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::json;

use super::client::Message;
use super::figures::{Bench, Stage};
use super::samples::{Samples, ms};

/// The number of streaming sessions.
const SESSIONS: usize = 20;
/// The number of measured prompts.
const PROMPTS: usize = 100;
/// The number of typed characters.
const KEYS: usize = 1_000;
/// The tokens of a stream: one every ten milliseconds, for longer than the measurement.
const TOKENS: usize = 3_000;

/// Measures prompts, changes and trivial requests next to twenty streams.
pub fn crowd(bench: &Bench, samples: &mut Samples) {
    let words = "word ".repeat(TOKENS);
    let mut stage = bench.stage(ModelServer::answering(move |request| {
        let text = String::from_utf8_lossy(&request.body).contains("Stream on.");
        if text {
            Reply::text(&words).paced(Duration::from_millis(10))
        } else {
            Reply::text("Done.").at_once()
        }
    }));
    let path = bench.workspace.root.join(&bench.workspace.edited);
    stage.client.open(&path);
    // Without the streams, as a comparison; it also opens the connection to the model.
    stage.client.acknowledged(&stage.session, "Say something.");
    idle(&mut stage);
    samples.add("trivial", (0..KEYS).map(|_| trivial(&mut stage)).collect());

    let crowd: Vec<String> = (0..SESSIONS).map(|_| stage.client.new_session().0).collect();
    for session in &crowd {
        stage.client.acknowledged(session, "Stream on.");
    }
    all_stream(&mut stage, &crowd);
    let mut acknowledged = Vec::new();
    for _ in 0..PROMPTS {
        acknowledged.push(ms(stage.client.acknowledged(&stage.session, "Say something.")));
        idle(&mut stage);
    }
    let mut typed = Vec::new();
    for _ in 0..KEYS {
        let sent = Instant::now();
        stage.client.types(&path);
        typed.push(ms(stage.client.trivial() - sent));
    }
    samples.add("acknowledged in a crowd", acknowledged);
    samples.add("typed in a crowd", typed);
    samples.add("trivial in a crowd", (0..KEYS).map(|_| trivial(&mut stage)).collect());
    all_stream(&mut stage, &crowd);
    for session in &crowd {
        stage.client.notify("agent/session/cancel", &json!({"sessionId": session}));
    }
}

fn trivial(stage: &mut Stage) -> f64 {
    let sent = Instant::now();
    ms(stage.client.trivial() - sent)
}

/// Waits until the first session is idle.
fn idle(stage: &mut Stage) {
    let session = stage.session.clone();
    stage.client.wait(|message| message.is_idle() && message.body["params"]["sessionId"] == session);
}

/// Waits for a chunk of each session.
fn all_stream(stage: &mut Stage, crowd: &[String]) {
    let mut silent: BTreeSet<&str> = crowd.iter().map(String::as_str).collect();
    stage.client.passed_over();
    stage.client.wait(|message: &Message| {
        if message.chunk().is_some() {
            silent.remove(message.body["params"]["sessionId"].as_str().unwrap_or_default());
        }
        silent.is_empty()
    });
}
