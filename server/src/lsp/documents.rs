//! Document notifications, translated into the mirror's own types.
//!
//! Never judges a change; the mirror does.

use adjutant_core::text::document::ContentChange;
use adjutant_core::text::position::{Position, Range};
use tower_lsp::ls_types::{DidChangeTextDocumentParams, DidOpenTextDocumentParams};

use crate::documents::Documents;

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
