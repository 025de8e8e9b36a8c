//! The cost of a provider that sends without end: the memory of the server, and the time until it hangs up.
//!
//! Each flood gets a new server, because the figure is the peak of its memory.

use std::time::Duration;

use adjutant_testkit::model::{ModelServer, Reply};

use super::client::Message;
use super::figures::Bench;
use super::process::memory;
use super::samples::Samples;

/// Returns the floods; a limit of bytes ends each.
fn floods() -> Vec<(&'static str, Reply)> {
    let stream = || Reply::status(200).header("content-type", "text/event-stream");
    let arguments = format!("{{\"content\":\"aaaa{}", "b".repeat(4096));
    let text = "w".repeat(4096);
    vec![
        ("arguments", Reply::text("So.").and_raw_call("write_file", &arguments).repeating("bbbb")),
        ("text", Reply::text(&text).repeating("wwww")),
        ("line", stream().body("data: {\"text\":\"").endless(b"x")),
        ("lines", stream().endless(b"data: and more of the same event\n")),
        ("whole", Reply::status(200).header("content-type", "application/json").endless(b" ")),
        ("bomb", stream().header("content-encoding", "gzip").endless(b"\x1f\x8b\x08")),
        ("head", Reply::text("never").endless_head(b"x-more: and more\r\n")),
        ("error", Reply::status(400).endless(b"x")),
        ("redirect", Reply::status(307).header("location", "/again").endless(b"x")),
    ]
}

/// Plays the floods one after the other. Records the largest growth of memory and the longest time.
pub fn hostile(bench: &Bench, samples: &mut Samples) {
    let (mut growth, mut time) = (0.0_f64, Duration::ZERO);
    for (name, flood) in floods() {
        let mut stage = bench.stage(ModelServer::start([Reply::text("Ready.").at_once(), flood]));
        stage.client.prompt(&stage.session, "Are you ready?");
        stage.client.wait(Message::is_idle);
        let pid = stage.client.pid();
        let before = memory(pid).0;
        stage.client.prompt(&stage.session, "And now?");
        let idle = stage.client.wait(Message::is_idle);
        let took = idle.at.saturating_duration_since(stage.model.begun()[1]);
        let grew = (memory(pid).1 - before) * 1e6 / f64::from(1 << 20);
        eprintln!("  {name}: {grew:.1} MiB, {:.3} s", took.as_secs_f64());
        (growth, time) = (growth.max(grew), time.max(took));
    }
    samples.add("hostile MiB", vec![growth]);
    samples.add("hostile s", vec![time.as_secs_f64()]);
}
