//! `textDocument/completion`, in prompt buffers alone: mentions after `@`, slash commands after `/` at the beginning.
//!
//! Answers `null` for every other document, so that no other completion is disturbed.

use adjutant_core::text::position::{Position, offset_of};
use adjutant_core::wire::prompt_buffer::{ENDING, is_prompt_buffer, start_of_prompt};
use adjutant_protocol::complete::PromptItemKind;
use serde::Deserialize;
use serde_json::{Value, json};
use tower_lsp::ls_types::CompletionOptions;

use crate::agent::Agent;
use crate::client::surfaces::Surfaces;
use crate::documents::Text;

pub(super) const METHOD: &str = "textDocument/completion";
/// What makes an editor ask by itself.
const TRIGGERS: [&str; 2] = ["@", "/"];

/// Kinds of a completion item in LSP.
const FUNCTION: u8 = 3;
const KEYWORD: u8 = 14;
const FILE: u8 = 17;
const FOLDER: u8 = 19;

/// Returns the capability for the answer to `initialize`; `None` for a client that does not complete, or that accepts it later for
/// prompt buffers alone.
pub(super) fn provider(surfaces: &Surfaces) -> Option<CompletionOptions> {
    let is_static = surfaces.completion && !surfaces.register_completion;
    is_static.then(|| CompletionOptions {
        trigger_characters: Some(TRIGGERS.map(str::to_owned).to_vec()),
        resolve_provider: Some(false),
        ..CompletionOptions::default()
    })
}

/// Returns the registration for prompt buffers alone, for a client that accepts it.
pub(super) fn registration() -> Value {
    json!({
        "id": "adjutant-completion",
        "method": METHOD,
        "registerOptions": {
            "documentSelector": [{ "pattern": format!("**/*{ENDING}") }],
            "triggerCharacters": TRIGGERS,
            "resolveProvider": false,
        },
    })
}

/// The params of the method, as far as they count.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CompletionParams {
    text_document: Document,
    position: Position,
}

#[derive(Deserialize)]
struct Document {
    uri: String,
}

/// Completes at a place of a prompt buffer; `null` in every other document.
pub(super) async fn completed(agent: &Agent, params: CompletionParams) -> Value {
    let CompletionParams { text_document: Document { uri }, position } = params;
    if !is_prompt_buffer(&uri) {
        return Value::Null;
    }
    let documents = &agent.sessions.world().documents;
    let (Text::Open(snapshot), encoding) = (documents.under(&uri), documents.encoding()) else {
        return Value::Null;
    };
    let Ok(at) = offset_of(&snapshot.text, position, encoding) else { return Value::Null };
    let text = snapshot.string();
    // A command stands at the beginning of the prompt, after blank lines at most.
    let prompt = start_of_prompt(&text).min(at);
    let blank = text[prompt..at].len() - text[prompt..at].trim_start().len();
    let begin = prompt + blank;
    let done = agent.completed(text[begin..at].to_owned()).await;
    let typed = &text[begin + done.start..at];
    let start = Position { character: position.character - encoding.length(typed) as u32, ..position };
    let items = done.items.into_iter().enumerate().map(|(place, item)| {
        let kind = match item.kind {
            PromptItemKind::File => FILE,
            PromptItemKind::Folder => FOLDER,
            PromptItemKind::Mention => KEYWORD,
            PromptItemKind::Command => FUNCTION,
        };
        json!({
            "label": item.label,
            "kind": kind,
            "detail": item.detail,
            // Ranked by the server: a client sorts by this, and lets through what begins with what was typed.
            "sortText": format!("{place:03}"),
            "filterText": typed,
            "textEdit": { "range": { "start": start, "end": position }, "newText": item.insert },
        })
    });
    // Each letter may bring other names.
    json!({ "isIncomplete": true, "items": items.collect::<Vec<_>>() })
}
