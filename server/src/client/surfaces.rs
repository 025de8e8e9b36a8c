//! What a client can do: every choice of a surface depends on it.

use adjutant_core::text::position::Encoding;
use adjutant_protocol::capability::ClientAgentCapabilities;

use crate::editor::Abilities;

/// The surfaces of one client; the default is a client that can do nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surfaces {
    /// Has the `agent/*` methods: gets `agent/session/update` and the rest of them.
    pub updates: bool,
    /// Wants text while it streams.
    pub chunks: bool,
    /// Update kinds never to be sent.
    pub opt_out: Vec<String>,
    /// Draws applied hunks in the text.
    pub hunks: bool,
    /// Has a status line of its own.
    pub overview: bool,
    /// Shows a list of sessions that follows what happens.
    pub sessions: bool,
    /// Its user trusts the workspace.
    pub trusted: bool,
    /// Says when the window of its user can be reached.
    pub reach: bool,
    /// Answers asks by `agent/session/request_permission`.
    pub asks_by_request: bool,
    /// Asks are shown as popups, until the client answers that it knows none.
    pub popup: bool,
    /// The client announced popups. Some clients that did not can show them anyway.
    pub popup_announced: bool,
    /// A popup has one line at this client, so a text of several lines is not judged there.
    pub popup_line: bool,
    /// Returns the extra properties of a popup's button, not only its title.
    pub item_properties: bool,
    /// Shows the progress of runs.
    pub progress: bool,
    /// Opens documents for its user.
    pub show_document: bool,
    /// Open asks are shown as diagnostics.
    pub diagnostics: bool,
    /// Supports diagnostics with data.
    pub diagnostic_data: bool,
    /// Supports diagnostics with the version of their document.
    pub diagnostic_version: bool,
    /// Asks for code actions.
    pub code_actions: bool,
    /// Supports code actions as objects; other clients get bare commands.
    pub action_literals: bool,
    /// Shows a code action that cannot be chosen, with the reason.
    pub action_disabled: bool,
    /// Shows hovers, with those of other servers next to them.
    pub hover: bool,
    /// Draws Markdown in a hover.
    pub hover_markdown: bool,
    /// Asks for code lenses, and does not draw changes itself.
    pub lenses: bool,
    /// Reads code lenses again when it is asked to.
    pub lens_refresh: bool,
    /// Shows which edits are Adjutant's, by a label on each.
    pub annotations: bool,
    /// Answers `workspace/configuration`.
    pub configuration: bool,
    /// Reports changed settings only after the server registers for them.
    pub register_configuration: bool,
    /// Completes what is written, and may be asked for it in every document.
    pub completion: bool,
    /// Accepts that completion is registered later, for some documents.
    pub register_completion: bool,
    /// Reports changed files once the server registers for them.
    pub register_files: bool,
    pub abilities: Abilities,
    pub encoding: Encoding,
}

impl Surfaces {
    /// Returns the surfaces of a client with the `agent/*` methods only.
    pub fn of_methods(agent: ClientAgentCapabilities) -> Self {
        Self {
            updates: true,
            chunks: agent.updates.chunks,
            opt_out: agent.updates.opt_out,
            hunks: agent.review.hunks,
            overview: agent.overview,
            sessions: agent.sessions,
            trusted: agent.workspace.trusted,
            reach: agent.window.reach,
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
