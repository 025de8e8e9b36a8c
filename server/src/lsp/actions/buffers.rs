//! In a prompt buffer: sending the prompt.
//!
//! Offered wherever the cursor is, because the whole document is for it.

use adjutant_core::wire::prompt_buffer::{is_prompt_buffer, written_prompt};
use adjutant_protocol::commands::{SEND, SendArguments};
use serde_json::json;
use tower_lsp::ls_types::CodeActionParams;

use super::{ActionOffer, REWRITE};
use crate::agent::Agent;
use crate::documents::Text;

pub(super) fn offered(agent: &Agent, params: &CodeActionParams) -> Vec<ActionOffer> {
    let uri = params.text_document.uri.as_str();
    if !is_prompt_buffer(uri) {
        return Vec::new();
    }
    let Text::Open(snapshot) = agent.sessions.world().documents.under(uri) else { return Vec::new() };
    if written_prompt(&snapshot.string()).is_none() {
        return Vec::new();
    }
    vec![ActionOffer {
        title: "Adjutant: Send this prompt".to_owned(),
        kind: REWRITE,
        command: SEND,
        argument: json!(SendArguments { uri: uri.to_owned() }),
        edit: None,
        generated: false,
        diagnostics: Vec::new(),
        disabled: None,
    }]
}
