//! The entry point for `tests/fuzz` to the code that reads answers of providers. Never part of any other build.

use std::sync::Arc;

use adjutant_core::config::Wire;
use adjutant_core::machine::retry::CallFailure;
use adjutant_core::prompt::{Delta, GenerationSettings, ModelMessage, ModelRequest, Reply};

/// Reads the body of an answer from these pieces. Returns also the deltas that it streamed.
pub fn read_reply(wire: Wire, pieces: &[&[u8]], whole: bool) -> (Result<Reply, CallFailure>, Vec<Delta>) {
    let request = ModelRequest {
        model: "m1".to_owned(),
        system: "Be brief.".into(),
        free_form: false,
        tools: Arc::new([]),
        messages: vec![ModelMessage::user("hello")],
        max_output_tokens: None,
        generation_settings: GenerationSettings::default(),
        whole,
        images: Default::default(),
        reminder: None,
        is_summary: false,
        replaced_replies: 0,
    };
    let mut deltas = Vec::new();
    let reply = crate::unsent::read(wire, &request, pieces, &mut |delta| deltas.push(delta));
    (reply, deltas)
}
