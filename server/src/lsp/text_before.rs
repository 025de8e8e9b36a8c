//! `workspace/textDocumentContent` (LSP 3.18): the text before the unreviewed changes of a document, as a document of its own.
//!
//! Its URI is that of the file with another scheme. The types of the framework do not have this method yet.

use serde::Deserialize;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::transport::{Answer, ErrorBody};
use adjutant_protocol::review::ReviewBaseParams;

pub(super) const METHOD: &str = "workspace/textDocumentContent";
const SCHEME: &str = "agent-base";

/// Adds the capability to the answer to `initialize`, if these params of it say that the client has it.
pub(super) fn announced(answer: Answer, is_known: bool) -> Answer {
    let answer = answer?;
    if !is_known {
        return Ok(answer);
    }
    let mut result: Value = serde_json::from_str(answer.get()).unwrap_or_default();
    result["capabilities"]["workspace"]["textDocumentContent"] = json!({ "schemes": [SCHEME] });
    Ok(to_raw_value(&result).unwrap_or(answer))
}

/// Whether the params of `initialize` say that the client shows texts of a server.
pub(super) fn is_known(params: Option<&Value>) -> bool {
    let said = params.and_then(|params| params.pointer("/capabilities/workspace/textDocumentContent"));
    said.is_some_and(Value::is_object)
}

/// Params of the method.
#[derive(Deserialize)]
pub(super) struct ContentParams {
    uri: String,
}

/// Returns the text for a URI of the scheme.
pub(super) async fn content(agent: &Agent, params: ContentParams) -> Result<Value, ErrorBody> {
    let path = params.uri.strip_prefix(SCHEME).filter(|rest| rest.starts_with(':'));
    let path = path.ok_or_else(|| {
        ErrorBody::invalid_params(format!("only the scheme \"{SCHEME}\" has texts here: \"{}\"", params.uri))
    })?;
    let uri = format!("file{path}");
    // First, so that a change meanwhile is not missed.
    agent.sessions.world().link.refreshes().read(&uri);
    let base = agent.review_base(ReviewBaseParams { uri }).await?;
    Ok(json!({ "text": base.text }))
}

/// Returns the URI of the text before the changes of a document, as a client asks for it.
pub(super) fn uri_of(document: &str) -> Option<String> {
    Some(format!("{SCHEME}{}", document.strip_prefix("file")?))
}
