//! The table: what the model does wrong, how many requests it may get, and how that ends.
//!
//! A row knows no client and no wire; a new failure needs only a new row.

use adjutant_protocol::update::FailureKind;
use adjutant_testkit::model::{Dialect, ModelServer, Reply, Request};
use serde_json::json;

/// No two words are the same, so a lost or repeated word is noticed.
pub const ANSWER: &str = "every single word of this answer stands here once and none is missing";

/// One failure.
pub struct Row {
    pub name: &'static str,
    /// The replies of the test model, in order; the last one repeats for ever.
    pub plays: fn() -> Vec<Reply>,
    /// Number of expected requests, to all models together.
    pub requests: usize,
    /// How many of them ask for the whole answer instead of a stream.
    pub whole: usize,
    pub ends: Ends,
    pub wait: Wait,
    /// Further lines of the settings, with their tables.
    pub settings: &'static str,
}

/// How the run ends.
pub enum Ends {
    /// With exactly this text.
    Says(fn() -> String),
    /// The call before is refused with its limit, or made; then `ANSWER`.
    RefusesTheCall,
    /// With one `api_req_failed`, whose sentence has these words.
    Asks(FailureKind, &'static str),
}

/// What a client sees of a wait while it lasts.
#[derive(Clone, Copy, PartialEq)]
pub enum Wait {
    None,
    /// Reported as a silence, until a limit ends it.
    Silence,
    /// Reported as a silence; then the model continues.
    SilenceThatEnds,
    /// At least this many milliseconds are between the first request and the second.
    Asked(u64),
}

fn answer() -> String {
    ANSWER.to_owned()
}

fn whole() -> Reply {
    Reply::text(ANSWER)
}

fn cut() -> Reply {
    whole().cut_behind("stands")
}

fn too_long() -> Reply {
    let error = json!({"error": {"code": "context_length_exceeded", "message": "prompt is too long"}});
    Reply::status(400).body(error.to_string())
}

/// Returns ten thousand different words.
fn burst() -> String {
    (0..10_000).map(|number| format!("w{number} ")).collect::<String>().trim_end().to_owned()
}

fn large_call() -> Reply {
    Reply::call("write_file", json!({"path": "large.txt", "content": "words ".repeat((8 << 20) / 6)}))
}

const PLAIN: Row = Row {
    name: "",
    plays: || vec![whole()],
    requests: 1,
    whole: 0,
    ends: Ends::Says(answer),
    wait: Wait::None,
    settings: "",
};

pub const ROWS: &[Row] = &[
    Row {
        name: "429 once, with Retry-After",
        plays: || vec![Reply::status(429).header("retry-after", "1"), whole()],
        requests: 2,
        wait: Wait::Asked(1_000),
        ..PLAIN
    },
    Row {
        name: "429 for ever",
        plays: || vec![Reply::status(429)],
        requests: 6,
        ends: Ends::Asks(FailureKind::RateLimited, "limits the rate of requests"),
        ..PLAIN
    },
    Row {
        name: "429 that asks for more than two minutes",
        plays: || vec![Reply::status(429).header("retry-after", "121")],
        ends: Ends::Asks(FailureKind::RateLimited, "it asks to wait 3 min"),
        ..PLAIN
    },
    Row { name: "500 once", plays: || vec![Reply::status(500), whole()], requests: 2, ..PLAIN },
    Row {
        name: "500 for ever",
        plays: || vec![Reply::status(500).body("oops")],
        requests: 6,
        ends: Ends::Asks(FailureKind::Overloaded, "has trouble or is overloaded (500: \"oops\")"),
        ..PLAIN
    },
    Row {
        name: "401",
        plays: || vec![Reply::status(401).body(r#"{"error":"bad key"}"#)],
        ends: Ends::Asks(FailureKind::Auth, "the key in ADJUTANT_TEST_KEY was refused by provider"),
        ..PLAIN
    },
    Row { name: "dropped in mid-text once", plays: || vec![cut(), whole()], requests: 2, ..PLAIN },
    Row {
        name: "dropped in mid-text for ever",
        plays: || vec![cut()],
        requests: 6,
        whole: 4,
        ends: Ends::Asks(FailureKind::Broken, "ended its answer too early"),
        ..PLAIN
    },
    Row {
        name: "dropped before the headers once",
        plays: || vec![Reply::hang_up(), whole()],
        requests: 2,
        ..PLAIN
    },
    Row {
        name: "another answer after a dropped one",
        plays: || vec![Reply::text("every single word was another").cut_behind("was"), whole()],
        requests: 2,
        ..PLAIN
    },
    Row {
        name: "a body without its final event",
        plays: || vec![Reply::text("every single word of this").unfinished(), whole()],
        requests: 2,
        ..PLAIN
    },
    Row {
        name: "one malformed event",
        plays: || vec![whole().insert_event(5, "{\"choices\": [{"), whole()],
        requests: 2,
        ..PLAIN
    },
    Row {
        name: "a stall that ends",
        plays: || vec![whole().hold_behind("stands")],
        wait: Wait::SilenceThatEnds,
        settings: "[limits]\nsilence_seconds = 1",
        ..PLAIN
    },
    Row {
        name: "a stall in mid-stream",
        plays: || vec![whole().hold_behind("stands"), whole()],
        requests: 2,
        wait: Wait::Silence,
        settings: "[limits]\nsilence_seconds = 1\nidle_seconds = 3\nfirst_byte_seconds = 3",
        ..PLAIN
    },
    Row {
        name: "no headers",
        plays: || vec![Reply::never(), whole()],
        requests: 2,
        wait: Wait::Silence,
        settings: "[limits]\nsilence_seconds = 1\nfirst_byte_seconds = 3",
        ..PLAIN
    },
    Row {
        // There is one request: a conversation that is too long stays so, and nothing shortens it yet.
        name: "context exceeded for ever",
        plays: || vec![too_long()],
        ends: Ends::Asks(FailureKind::ContextExceeded, "does not fit the window of model"),
        ..PLAIN
    },
    Row {
        name: "8 MiB of tool arguments",
        plays: || vec![large_call(), whole()],
        requests: 2,
        ends: Ends::RefusesTheCall,
        ..PLAIN
    },
    Row {
        name: "a burst of 10 000 tokens",
        plays: || vec![Reply::text(&burst()).in_pieces_of(16 * 1024)],
        ends: Ends::Says(burst),
        ..PLAIN
    },
    Row {
        name: "two broken streams, then the whole answer",
        plays: || vec![cut(), whole().cut_behind("missing"), whole()],
        requests: 3,
        whole: 1,
        ..PLAIN
    },
    Row {
        name: "a model that a fallback model replaces",
        plays: || vec![Reply::status(503)],
        requests: 4,
        settings: "attempts = 3",
        ..PLAIN
    },
];

impl Row {
    /// Returns the test model of this row; its fallback model `n` always answers.
    pub fn model(&self) -> ModelServer {
        let mut plays = (self.plays)();
        plays.reverse();
        ModelServer::answering(move |request| {
            if request.json()["model"] == "n" {
                return whole();
            }
            let next = if plays.len() > 1 { plays.pop() } else { plays.last().cloned() };
            as_asked(next.expect("a row plays something"), request)
        })
    }

    /// Returns the settings: one model on this wire, and a fallback model if the row needs one.
    pub fn settings(&self, wire: Dialect, url: &str) -> String {
        let provider = |name: &str| {
            format!(
                "[providers.{name}]\nwire = \"{}\"\nbase_url = \"{url}\"\napi_key_env = \"ADJUTANT_TEST_KEY\"\n",
                wire.wire()
            )
        };
        let fallback = if self.settings.contains("attempts") { "[\"second/n\"]" } else { "[]" };
        format!(
            "model = \"first/m\"\nfallback_models = {fallback}\n{}{}[retry]\nbase_ms = 10\ncap_ms = 20\n{}\n",
            provider("first"),
            provider("second"),
            self.settings
        )
    }
}

/// Turns the reply into a whole one if the request asked for no stream.
fn as_asked(reply: Reply, request: &Request) -> Reply {
    if request.json()["stream"] == true { reply } else { reply.whole() }
}
