//! What the model sees: the request of each turn.
//!
//! Never knows a provider's wire format; `server/src/model/` translates.

pub mod compact;
pub mod estimate;
pub mod image;
pub mod message;
pub mod models;
mod pairs;
pub mod reminder;
pub mod sections;
pub mod words;

use std::sync::Arc;

use crate::prompt::image::withheld;

pub use crate::prompt::message::{
    Base64Image, CutReply, Delta, GenerationSettings, Level, ModelMessage, ModelRequest, OpaqueItems, Reply,
    RequestedCall, StopCause, ToolSpec, Usage,
};
use crate::prompt::models::Facts;
use crate::record::Mode;
use crate::session::Session;

/// Returns the request of the next turn. `facts` says what the model supports: without tools their calls become text,
/// and without images each image becomes text.
pub fn request(session: &Session, model: &str, mode: Mode, facts: &Facts) -> ModelRequest {
    let mut messages = pairs::paired(&session.history);
    withheld::withhold(&mut messages, facts.images);
    ModelRequest {
        model: model.to_owned(),
        system: sections::joined(&sections::sections(session, mode, facts)).into(),
        tools: if facts.tools { session.tools.specs(mode) } else { Arc::default() },
        messages: if facts.tools { messages } else { messages.iter().map(ModelMessage::in_words).collect() },
        max_output_tokens: None,
        free_form: facts.free_form,
        generation_settings: GenerationSettings::default(),
        whole: false,
        images: Default::default(),
        reminder: None,
        is_summary: false,
        replaced_replies: session.compacted.replies,
    }
}
