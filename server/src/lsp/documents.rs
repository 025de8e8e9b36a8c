//! Document notifications, translated into the mirror's own types.
//!
//! Never judges a change; the mirror does.

use adjutant_core::text::document::ContentChange;
use adjutant_core::text::position::{Position, Range};
use serde_json::Value;
use tower_lsp::ls_types::{DidChangeTextDocumentParams, DidOpenTextDocumentParams};

use crate::documents::Documents;

/// Returns the params of `didOpen` with a language. Emacs sends `null` while it does not know the language of a file that an edit
/// has opened. No text depends on it, and an unreadable message would make every open document unsynced.
pub fn with_language(mut params: Option<Value>) -> Option<Value> {
    let language = params.as_mut().and_then(|params| params.pointer_mut("/textDocument/languageId"));
    if let Some(language) = language.filter(|language| language.is_null()) {
        *language = Value::String(String::new());
    }
    params
}

pub fn opened(documents: &Documents, params: DidOpenTextDocumentParams) {
    let document = params.text_document;
    documents.opened(document.uri.as_str(), document.version, &document.text);
}

pub fn changed(documents: &Documents, params: DidChangeTextDocumentParams) {
    let changes: Vec<ContentChange> = params
        .content_changes
        .into_iter()
        .map(|change| ContentChange {
            range: change.range.map(|range| Range {
                start: Position { line: range.start.line, character: range.start.character },
                end: Position { line: range.end.line, character: range.end.character },
            }),
            text: change.text,
        })
        .collect();
    documents.changed(params.text_document.uri.as_str(), params.text_document.version, &changes);
}
