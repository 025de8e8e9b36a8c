//! The three assemblers: every cut of a body gives the same reply or failure, and a partial body never gives
//! another reply than the whole one.

use std::collections::BTreeSet;

use adjutant_core::config::Wire;
use adjutant_core::prompt::{Delta, Reply, StopCause};
use adjutant_model::fuzzing::read_reply;

use super::{number, pieces};

/// The number of places where the body is cut off, spread over its length.
const CUTS: usize = 6;

/// The first byte decides the cut into pieces; from 0xf0 on, the body is not a stream.
pub fn check(wire: Wire, mut input: &[u8]) {
    let shape = number(&mut input);
    let whole = shape >= 0xf0;
    let (outcome, deltas) = read_reply(wire, &[input], whole);
    let (again, deltas_again) = read_reply(wire, &pieces(input, shape), whole);
    assert_eq!(format!("{outcome:?}"), format!("{again:?}"), "cut by {shape}");
    assert_eq!(deltas, deltas_again, "cut by {shape}");
    let reply = match outcome {
        Err(failed) => {
            assert!(!failed.message.is_empty() && failed.message.len() < 4096, "{failed:?}");
            return;
        }
        Ok(reply) => reply,
    };
    is_sound(&reply, input.len());
    matches_deltas(&reply, &deltas);
    for at in (1..=CUTS).map(|nth| input.len() * nth / (CUTS + 1)).chain([input.len().saturating_sub(shape)])
    {
        let (Ok(part), _) = read_reply(wire, &[&input[..at]], whole) else { continue };
        let content = |reply: &Reply| (reply.text.clone(), format!("{:?}", reply.calls), reply.stop);
        assert_eq!(content(&part), content(&reply), "cut at {at} of {}", input.len());
    }
}

fn is_sound(reply: &Reply, bytes: usize) {
    let arguments: usize = reply.calls.iter().map(|call| call.arguments.len()).sum();
    // An escape of six bytes becomes at most three bytes, so no text grows.
    assert!(reply.text.len() + reply.reasoning.len() <= bytes && arguments <= 2 * bytes);
    assert!(reply.calls.iter().all(|call| !call.name.is_empty() && !call.id.is_empty()), "{reply:?}");
    let ids: BTreeSet<&str> = reply.calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids.len(), reply.calls.len(), "{reply:?}");
    match reply.stop {
        StopCause::EndTurn => assert!(reply.calls.is_empty() && !reply.text.is_empty(), "{reply:?}"),
        StopCause::ToolCalls => assert!(!reply.calls.is_empty(), "{reply:?}"),
        StopCause::MaxTokens | StopCause::Refusal => {}
    }
}

/// The published deltas add up to the reply.
fn matches_deltas(reply: &Reply, deltas: &[Delta]) {
    let (mut text, mut reasoning) = (String::new(), String::new());
    for delta in deltas {
        match delta {
            Delta::Text(piece) => text.push_str(piece),
            Delta::Reasoning(piece) => reasoning.push_str(piece),
            Delta::ToolCall { .. } => {}
        }
    }
    assert_eq!((text, reasoning), (reply.text.clone(), reply.reasoning.clone()));
}
