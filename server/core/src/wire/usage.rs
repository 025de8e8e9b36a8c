//! How full the context of the model is, as clients see it.
//!
//! Never guesses the window of a model.

use adjutant_protocol::session::ContextUsage;

use crate::config::Settings;
use crate::session::Session;

/// Returns how full the context was after the last reply that came with its usage.
pub fn context(session: &Session, settings: &Settings) -> Option<ContextUsage> {
    let fill = session.context.as_ref()?;
    Some(ContextUsage { context_used: fill.tokens, context_size: settings.known_window(&fill.model) })
}
