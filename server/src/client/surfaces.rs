//! What a client can do: every choice of a door goes by it.

use adjutant_core::text::position::Encoding;
use adjutant_protocol::capability::ClientAgentCapabilities;

use crate::editor::Abilities;

/// The surfaces of one client; the default is a client that can do nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surfaces {
    /// Has methods of ours: is told `agent/session/update` and all that is ours.
    pub updates: bool,
    /// Wants text while it streams.
    pub chunks: bool,
    /// Update kinds never to be sent.
    pub opt_out: Vec<String>,
    /// Takes asks as requests of ours.
    pub asks_by_request: bool,
    /// Asks are put by a popup, until the client answers that it knows none.
    pub popup: bool,
    /// The client announced popups; some answer one all the same.
    pub popup_announced: bool,
    /// A popup is one line at this client: what has several is not judged there.
    pub popup_line: bool,
    /// Returns what a popup's button carried beside its title.
    pub item_properties: bool,
    /// Shows how far runs are.
    pub progress: bool,
    /// Opens documents for its user.
    pub show_document: bool,
    /// Open asks are shown beside lines of documents.
    pub diagnostics: bool,
    /// Takes diagnostics with data.
    pub diagnostic_data: bool,
    /// Takes diagnostics with the version of their document.
    pub diagnostic_version: bool,
    /// Asks for code actions.
    pub code_actions: bool,
    /// Takes code actions as objects; others get bare commands.
    pub action_literals: bool,
    /// Shows a code action that cannot be chosen, with the reason.
    pub action_disabled: bool,
    /// Answers when it is asked for its settings.
    pub configuration: bool,
    /// Tells of changed settings only once that is registered.
    pub register_configuration: bool,
    pub abilities: Abilities,
    pub encoding: Encoding,
}

impl Surfaces {
    /// Returns those of a client that has the `agent/*` methods, and nothing of its protocol beside them.
    pub fn of_methods(agent: ClientAgentCapabilities) -> Self {
        Self {
            updates: true,
            chunks: agent.updates.chunks,
            opt_out: agent.updates.opt_out,
            asks_by_request: agent.asks.request,
            popup_line: agent.asks.popup_line,
            abilities: Abilities {
                save: agent.documents.save,
                complete: agent.documents.complete,
                ..Abilities::default()
            },
            ..Self::default()
        }
    }
}
