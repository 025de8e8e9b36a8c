//! What a user notices while twenty sessions stream: prompts and typing.
//!
//! Asserts that all of them were streaming at the start and still are at the end.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::json;

use super::client::Message;
use super::figures::{Ground, Stage};
use super::samples::{Samples, ms};

/// Sessions that stream meanwhile.
const SESSIONS: usize = 20;
/// Prompts that are acknowledged meanwhile.
const PROMPTS: usize = 100;
/// Characters that are typed meanwhile.
const KEYS: usize = 1_000;
/// One token each ten milliseconds, for longer than anything here takes.
const TOKENS: usize = 3_000;

/// Acknowledged prompts, handled changes and trivial requests beside twenty streams.
pub fn crowd(ground: &Ground, samples: &mut Samples) {
    let words = "word ".repeat(TOKENS);
    let mut stage = ground.stage(ModelServer::answering(move |request| {
        let text = String::from_utf8_lossy(&request.body).contains("Stream on.");
        if text {
            Reply::text(&words).paced(Duration::from_millis(10))
        } else {
            Reply::text("Done.").at_once()
        }
    }));
    let path = ground.workspace.root.join(&ground.workspace.edited);
    stage.client.open(&path);
    // Alone, for comparison and to connect.
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

/// Waits until the first session rests.
fn idle(stage: &mut Stage) {
    let session = stage.session.clone();
    stage.client.wait(|message| message.is_idle() && message.body["params"]["sessionId"] == session);
}

/// Waits for a piece of text of each session.
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
