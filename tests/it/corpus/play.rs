//! The outcome of a tool call, and whether it is the one that its line expects.
//!
//! Reads the session's log, and never only what the test editor saw.

use adjutant_core::policy::cause::Cause;
use adjutant_core::text::display::hidden;
use adjutant_protocol::ask::AskView;
use adjutant_testkit::corpus::Line;
use serde_json::Value;

use super::names;
use crate::rig::facts;
use crate::stage::Stage;

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Came {
    /// The call ran without an ask.
    Allowed,
    /// There was an ask first.
    Asked,
    /// A rule forbids it; no answer can allow it.
    Denied,
    /// The call is invalid and cannot run.
    Refused,
}

impl Came {
    /// Returns how strict the outcome is; a denial and a refusal are equally strict.
    pub fn rank(self) -> u8 {
        match self {
            Came::Allowed => 0,
            Came::Asked => 1,
            Came::Denied | Came::Refused => 2,
        }
    }
}

/// One call with its outcome.
#[derive(Debug)]
pub struct Seen {
    pub came: Came,
    /// The class of the reason in the log.
    pub cause: Option<String>,
    /// The output that the model got.
    pub output: String,
    pub ask: Option<AskView>,
}

impl Seen {
    /// Returns the last call of a session that is idle.
    #[track_caller]
    pub fn last(stage: &Stage) -> Seen {
        let events = facts(&stage.workspace, &stage.session);
        let ended = events.iter().rev().find(|event| event["type"] == "tool_finished").expect("a call ended");
        let asked = events.iter().rev().find(|event| {
            event["type"] == "ask_opened" && !ended["call"].is_null() && event["ask"]["call"] == ended["call"]
        });
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let came = match (asked, ended["result"]["end"].as_str()) {
            (Some(_), _) => Came::Asked,
            (None, Some("completed")) => Came::Allowed,
            (None, Some("denied")) => Came::Denied,
            (None, _) => Came::Refused,
        };
        let cause = match asked {
            Some(asked) => text(&asked["ask"]["cause"]),
            None => text(&ended["result"]["cause"]),
        };
        let id = asked.and_then(|asked| text(&asked["ask"]["id"]));
        let ask = stage.asks().into_iter().find(|ask| Some(&ask.ask_id.0) == id.as_ref());
        assert_eq!(ask.is_some(), came == Came::Asked, "the client shows the ask: {ended}");
        let output = text(&ended["result"]["output"]).unwrap_or_default();
        Seen { came, cause, output, ask }
    }
}

/// Checks the outcome of a line's call.
#[track_caller]
pub fn check(line: &Line, seen: &Seen) {
    let wanted = names::came(line);
    let output: String = seen.output.chars().take(500).collect();
    assert_eq!(seen.came, wanted, "{} ({}): {output}", line.id, line.why);
    let least = names::word(line.min.as_deref().unwrap_or(&line.expect));
    assert!(wanted.rank() >= least.rank(), "{}: never less strict than the line", line.id);
    if wanted != Came::Allowed {
        let reason = names::reason(line);
        let known: Result<Cause, _> = serde_json::from_value(Value::from(reason));
        assert!(known.is_ok_and(|cause| cause != Cause::Other), "{}: {reason:?} is no cause", line.id);
        assert_eq!(seen.cause.as_deref(), Some(reason), "{} ({}): {output}", line.id, line.why);
    }
    assert!(seen.output.len() < 300_000, "{}: the model's text is too long", line.id);
    if let Some(ask) = &seen.ask {
        let shown = [Some(&ask.title), ask.description.as_ref()];
        let odd = |text: &&String| text.contains(hidden);
        assert!(!shown.into_iter().flatten().any(|text| odd(&text)), "{}: {ask:?}", line.id);
    }
}
