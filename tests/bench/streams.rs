//! The cost of the connection itself: many updates, and a client that does not read.
//!
//! Asserts that every message arrives once and in order.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use adjutant::client::face::Bare;
use adjutant::client::surfaces::Surfaces;
use adjutant::client::{ClientLink, Timing};
use adjutant::documents::Documents;
use adjutant::transport::{self, Answer, Backend, ErrorBody, NotificationOutcome, Params, Serving, framing};
use adjutant_protocol::update::{SessionUpdateParams, Update};
use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::json;

use super::figures::Bench;
use super::process::memory;
use super::samples::{Samples, ms};

/// The number of updates; the queue can merge none of them.
const UPDATES: u64 = 100_000;
/// The most updates that wait for the client; the queue has room for more.
const AHEAD: u64 = 20_000;
/// The number of deltas, three bytes each.
const DELTAS: usize = 1_000_000;

/// A face without methods.
struct Nothing;

impl Backend for Nothing {
    fn request(&self, method: &str, _: Params) -> Serving<Answer> {
        Box::pin(std::future::ready(Err(ErrorBody::no_method(method))))
    }

    fn notification(&self, _: &str, _: Params) -> NotificationOutcome {
        NotificationOutcome::PassedOver
    }

    fn lost(&self) {}
}

/// Measures a hundred thousand lasting updates through one client link to a client that reads.
pub fn updates(_: &Bench, samples: &mut Samples) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let (near, mut far) = transport::pipe().expect("a pipe");
    let (out, parts) = transport::channel();
    runtime.spawn(transport::serve(Nothing, parts, near.reader, near.writer));
    let _inside = runtime.enter();
    let agent = serde_json::from_value(json!({"version": 0, "updates": {"chunks": true}}));
    let surfaces = Surfaces::of_methods(agent.expect("capabilities"));
    let timing = Timing { patience: Duration::from_secs(1), reaction: Duration::ZERO };
    // An update without room in the queue would be read from the log later. There is no log here, so
    // the bench never gets far ahead of the reader.
    let (link, _wants) = ClientLink::open(out, Box::new(Bare), surfaces, timing, Documents::default());
    let read = Arc::new(AtomicU64::new(0));
    let count_read = read.clone();
    let reader = std::thread::spawn(move || {
        let mut decoder = framing::Decoder::new();
        let mut chunk = vec![0; 64 * 1024];
        let mut next = 0_u64;
        while next < UPDATES {
            let count = far.reader.read(&mut chunk).expect("the server writes");
            assert!(count > 0, "{next} updates arrived");
            let mut input = &chunk[..count];
            while let Some(body) = decoder.feed(&mut input) {
                let body = body.expect("a frame");
                next += 1;
                let wanted = format!("\"seq\":{next},");
                assert!(body.windows(wanted.len()).any(|part| part == wanted.as_bytes()), "in order");
            }
            count_read.store(next, Ordering::Release);
        }
        Instant::now()
    });
    let began = Instant::now();
    for seq in 1..=UPDATES {
        while seq - read.load(Ordering::Acquire) > AHEAD {
            std::thread::yield_now();
        }
        let update = Update::UserMessage {
            message_id: "msg-1".into(),
            text: "a few words".to_owned(),
            images: Vec::new(),
            attached: Vec::new(),
            added: None,
        };
        link.update(SessionUpdateParams { session_id: "s-1".into(), seq, sub: None, run_id: None, update });
    }
    let received = reader.join().expect("all came in order");
    samples.add("updates", vec![(received - began).as_secs_f64()]);
    drop(far.writer);
    runtime.shutdown_background();
}

/// Measures a million deltas to a client that does not read, then a cancel, then the time until it has
/// read everything.
pub fn deaf(bench: &Bench, samples: &mut Samples) {
    let letter = |number: usize| char::from(b'a' + u8::try_from(number % 26).unwrap_or_default());
    let whole: String = (0..DELTAS).flat_map(|n| [letter(n), letter(n / 26), ' ']).collect();
    let long = Reply::text(&whole).in_pieces_of(64 * 1024);
    let held = Reply::text("one two three four five six seven").hold_after(400);
    let mut stage = bench.stage(ModelServer::start([Reply::text("Ready.").at_once(), long, held]));
    stage.run();
    let pid = stage.client.pid();
    let before = memory(pid).0;
    stage.client.listen(false);
    stage.client.prompt_unheard(&stage.session, "Say very much.");
    stage.client.wait_for("the text", || stage.model.answered().len() == 2);
    stage.client.prompt_unheard(&stage.session, "And more.");
    stage.client.wait_for("the next reply", || stage.model.begun().len() == 3);
    let sent = Instant::now();
    stage.client.notify("agent/session/cancel", &json!({"sessionId": stage.session}));
    stage.model.wait_for_closed(1);
    let closed = stage.model.closed_at()[0];
    samples.add("deaf cancel", vec![ms(closed.saturating_duration_since(sent))]);
    samples.add("deaf growth MiB", vec![(memory(pid).1 - before) * 1e6 / f64::from(1 << 20)]);
    let reads = Instant::now();
    stage.client.listen(true);
    let message = stage.client.wait(|message| {
        message.update().is_some_and(|update| {
            update["sessionUpdate"] == "agent_message" && update["text"] == whole.as_str()
        })
    });
    samples.add("deaf heals", vec![ms(message.at - reads)]);
    stage.client.wait(|message| message.update().is_some_and(|update| update["stopReason"] == "cancelled"));
}
