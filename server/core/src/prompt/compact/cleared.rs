//! Which old outputs of tools become placeholders, and the words of a placeholder (S65).
//!
//! Never clears one output at a time: each change of a text that was sent costs the provider's cache from there on.

use super::{LEAST_FREED_PERCENT, window};
use crate::prompt::estimate;
use crate::prompt::message::{ModelMessage, RequestedCall};
use crate::record::ClearedOutput;
use crate::session::Session;
use crate::tool::{Effect, OUTPUT_OF};

/// The last outputs, which always stay. The number is that of seed 001.
const KEPT: usize = 3;
/// A smaller output stays, because its placeholder would be hardly smaller.
const LEAST_BYTES: usize = 2 * 1024;

/// Returns the outputs to clear now, all in one batch; empty unless the window is full enough, and they are a tenth of it.
pub fn clearable(session: &Session) -> Vec<ClearedOutput> {
    let Some(run) = session.open_run() else { return Vec::new() };
    let Some(context) = &run.policy.context else { return Vec::new() };
    let window = window(session, run.current_model());
    let fill = session.tokens.fill(&session.history);
    if fill.saturating_mul(100) < window.saturating_mul(u64::from(context.compact.outputs_percent)) {
        return Vec::new();
    }
    let cleared = outputs(session);
    let freed: f64 = cleared
        .iter()
        .filter_map(|one| match session.history.get(one.at) {
            Some(ModelMessage::Tool { output, .. }) => {
                Some(estimate::of_text(output) - estimate::of_text(&one.text))
            }
            _ => None,
        })
        .sum();
    let least = (window * LEAST_FREED_PERCENT / 100) as f64;
    if freed * session.tokens.factor() < least { Vec::new() } else { cleared }
}

fn outputs(session: &Session) -> Vec<ClearedOutput> {
    let mut cleared = Vec::new();
    let mut calls: Vec<&RequestedCall> = Vec::new();
    let count = session.history.iter().filter(|message| matches!(message, ModelMessage::Tool { .. })).count();
    let mut seen = 0;
    for (at, message) in session.history.iter().enumerate() {
        match message {
            ModelMessage::Assistant { reply } => calls = reply.calls.iter().collect(),
            ModelMessage::Tool { call_id, output } => {
                seen += 1;
                if seen + KEPT > count || output.len() <= LEAST_BYTES || is_placeholder(output) {
                    continue;
                }
                let Some(call) = calls.iter().find(|call| call.id == **call_id) else { continue };
                if let Some(text) = placeholder(session, call, output) {
                    cleared.push(ClearedOutput { at, call: call_id.clone(), text: text.into() });
                }
            }
            ModelMessage::User { .. } => {}
        }
    }
    cleared
}

const MARK: &str = "[left out to save room: ";

fn is_placeholder(output: &str) -> bool {
    output.starts_with(MARK)
}

/// Returns the placeholder of an output; `None` if the output could not be had again.
fn placeholder(session: &Session, call: &RequestedCall, output: &str) -> Option<String> {
    let bytes = output.len();
    match session.tools.effect_of(&call.name) {
        Effect::Read => Some(format!("{MARK}{bytes} bytes. The same call shows what is there now.]")),
        // A command would run once more, but its output is saved.
        Effect::Opaque => {
            let id = session.outputs.get(&*call.id)?.as_ref()?;
            Some(format!("{MARK}{bytes} bytes. read_file with the path `{OUTPUT_OF}{id}` shows them.]"))
        }
        Effect::OwnEdit | Effect::Question | Effect::End => None,
    }
}
