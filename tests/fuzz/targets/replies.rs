//! The three assemblers: one reply or one failure, however it was cut, and never half a reply for a whole one.

use std::collections::BTreeSet;

use adjutant_core::config::Wire;
use adjutant_core::prompt::{Delta, Reply, StopCause};
use adjutant_model::fuzzing::read_reply;

use super::{number, pieces};

/// Places where a body is cut off, spread over it.
const CUTS: usize = 6;

/// The first byte says how the body is cut into pieces, and from 0xf0 on that it is no stream.
pub fn check(wire: Wire, mut input: &[u8]) {
    let shape = number(&mut input);
    let whole = shape >= 0xf0;
    let (outcome, heard) = read_reply(wire, &[input], whole);
    let (again, heard_again) = read_reply(wire, &pieces(input, shape), whole);
    assert_eq!(format!("{outcome:?}"), format!("{again:?}"), "cut by {shape}");
    assert_eq!(heard, heard_again, "cut by {shape}");
    let reply = match outcome {
        Err(failed) => {
            assert!(!failed.message.is_empty() && failed.message.len() < 4096, "{failed:?}");
            return;
        }
        Ok(reply) => reply,
    };
    is_sound(&reply, input.len());
    said(&reply, &heard);
    for at in (1..=CUTS).map(|nth| input.len() * nth / (CUTS + 1)).chain([input.len().saturating_sub(shape)])
    {
        let (Ok(part), _) = read_reply(wire, &[&input[..at]], whole) else { continue };
        let told = |reply: &Reply| (reply.text.clone(), format!("{:?}", reply.calls), reply.stop);
        assert_eq!(told(&part), told(&reply), "cut at {at} of {}", input.len());
    }
}

fn is_sound(reply: &Reply, bytes: usize) {
    let arguments: usize = reply.calls.iter().map(|call| call.arguments.len()).sum();
    // An escape of six bytes stands for at most three, so nothing grows.
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

/// What was heard while the reply came is what it says.
fn said(reply: &Reply, heard: &[Delta]) {
    let (mut text, mut reasoning) = (String::new(), String::new());
    for delta in heard {
        match delta {
            Delta::Text(piece) => text.push_str(piece),
            Delta::Reasoning(piece) => reasoning.push_str(piece),
            Delta::ToolCall { .. } => {}
        }
    }
    assert_eq!((text, reasoning), (reply.text.clone(), reply.reasoning.clone()));
}
