//! Stands in for the surfaces of plain clients until they land.
//!
//! Never shows anything.

use adjutant_protocol::ask::{AskView, OptionKind};
use adjutant_protocol::{AskId, SessionId};

use super::Doors;

/// One thing a surface may offer for an ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    pub title: String,
    pub choice: Choice,
}

/// What an offer does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Opens the whole of it; answers nothing.
    Show,
    /// Answers with this option.
    Option { id: String, approves: bool },
}

impl Doors {
    pub fn offers(&self, ask: &AskView) -> Vec<Offer> {
        let approves = |kind| matches!(kind, OptionKind::AllowOnce | OptionKind::AllowAlways);
        let (yes, no): (Vec<_>, Vec<_>) = ask.options.iter().partition(|option| approves(option.kind));
        let of = |option: &adjutant_protocol::ask::AskOption| Offer {
            title: option.name.clone(),
            choice: Choice::Option { id: option.option_id.clone(), approves: approves(option.kind) },
        };
        let show = Offer { title: "Show".to_owned(), choice: Choice::Show };
        no.into_iter().map(of).chain([show]).chain(yes.into_iter().map(of)).collect()
    }

    pub async fn show(&self, _: &AskId) {}

    pub async fn show_transcript(&self, _: &SessionId) {}

    pub fn user_acted(&self) {}
}
