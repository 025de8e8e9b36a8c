//! The entry point of `tests/fuzz` to what reads the answers of providers. No other build has it.

use std::sync::Arc;

use adjutant_core::config::Wire;
use adjutant_core::machine::retry::CallFailure;
use adjutant_core::prompt::{Delta, GenerationSettings, ModelMessage, ModelRequest, Reply};

/// Reads the body of an answer that came in these pieces; returns also what was heard while it came.
pub fn read_reply(wire: Wire, pieces: &[&[u8]], whole: bool) -> (Result<Reply, CallFailure>, Vec<Delta>) {
    let request = ModelRequest {
        model: "m1".to_owned(),
        system: "Be brief.".into(),
        tools: Arc::new([]),
        messages: vec![ModelMessage::user("hello")],
        max_output_tokens: None,
        manner: GenerationSettings::default(),
        whole,
        images: Default::default(),
    };
    let mut heard = Vec::new();
    let reply = crate::unsent::read(wire, &request, pieces, &mut |delta| heard.push(delta));
    (reply, heard)
}
