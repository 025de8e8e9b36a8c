//! What came of a call of the model, and whether that is what its line wants.
//!
//! Reads the log of the session: never what the double was told alone.

use adjutant_core::policy::cause::Cause;
use adjutant_core::text::display::hidden;
use adjutant_protocol::ask::AskView;
use adjutant_testkit::corpus::Line;
use serde_json::Value;

use super::names;
use crate::rig::facts;
use crate::stage::Stage;

/// What came of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Came {
    /// It was made without a question.
    Allowed,
    /// The user was asked first.
    Asked,
    /// A rule forbids it, whatever anybody answers.
    Denied,
    /// It is no call that could be made at all.
    Refused,
}

impl Came {
    /// How strict that is; a denial and a refusal are alike in this.
    pub fn rank(self) -> u8 {
        match self {
            Came::Allowed => 0,
            Came::Asked => 1,
            Came::Denied | Came::Refused => 2,
        }
    }
}

/// What came of one call.
#[derive(Debug)]
pub struct Seen {
    pub came: Came,
    /// The class of the reason, as the log has it.
    pub cause: Option<String>,
    /// What the model was told.
    pub told: String,
    pub ask: Option<AskView>,
}

impl Seen {
    /// The last call of a session that has come to rest.
    #[track_caller]
    pub fn last(stage: &Stage) -> Seen {
        let facts = facts(&stage.workspace, &stage.session);
        let ended = facts.iter().rev().find(|fact| fact["type"] == "tool_finished").expect("a call ended");
        let asked = facts.iter().rev().find(|fact| {
            fact["type"] == "ask_opened" && !ended["call"].is_null() && fact["ask"]["call"] == ended["call"]
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
        assert_eq!(ask.is_some(), came == Came::Asked, "what is asked is shown: {ended}");
        let told = text(&ended["result"]["output"]).unwrap_or_default();
        Seen { came, cause, told, ask }
    }
}

/// Checks what came of a line's call.
#[track_caller]
pub fn check(line: &Line, seen: &Seen) {
    let wanted = names::came(line);
    let told: String = seen.told.chars().take(500).collect();
    assert_eq!(seen.came, wanted, "{} ({}): {told}", line.id, line.why);
    let least = names::word(line.min.as_deref().unwrap_or(&line.expect));
    assert!(wanted.rank() >= least.rank(), "{}: never less strict than the line", line.id);
    if wanted != Came::Allowed {
        let reason = names::reason(line);
        let known: Result<Cause, _> = serde_json::from_value(Value::from(reason));
        assert!(known.is_ok_and(|cause| cause != Cause::Other), "{}: {reason:?} is no cause", line.id);
        assert_eq!(seen.cause.as_deref(), Some(reason), "{} ({}): {told}", line.id, line.why);
    }
    assert!(seen.told.len() < 300_000, "{}: what the model is told is bounded", line.id);
    if let Some(ask) = &seen.ask {
        let shown = [Some(&ask.title), ask.description.as_ref()];
        let odd = |text: &&String| text.contains(hidden);
        assert!(!shown.into_iter().flatten().any(|text| odd(&text)), "{}: {ask:?}", line.id);
    }
}
