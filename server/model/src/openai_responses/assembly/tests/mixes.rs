//! Random streams: omitted copies of a text do not change the reply, and no stream causes a panic.

use proptest::prelude::*;

use super::*;

const WORDS: [&str; 3] = ["né ", "two ", "😀"];
const PIECES: [&str; 3] = ["{\"p\"", ":[1,", "2]}"];

/// Which events of one item are sent: `added`, so many deltas, the complete text, the complete item.
type Sent = (bool, usize, bool, bool);

fn sent() -> impl Strategy<Value = Sent> {
    (any::<bool>(), 0..=3_usize, any::<bool>(), any::<bool>())
}

fn message_events(index: i64, (begun, pieces, all, end): Sent) -> Vec<Value> {
    let id = format!("i{index}");
    let mut events = Vec::new();
    events.extend(begun.then(|| added(index, message(&id, ""))));
    events.extend(WORDS[..pieces].iter().map(|word| text(index, word)));
    events.extend(all.then(|| event("output_text.done", index, json!({"text": WORDS.concat()}))));
    events.extend(end.then(|| ended(index, message(&id, &WORDS.concat()))));
    events
}

fn call_events(index: i64, (begun, pieces, all, end): Sent) -> Vec<Value> {
    let (id, call_id) = (format!("i{index}"), format!("c{index}"));
    let whole = PIECES.concat();
    let mut events = Vec::new();
    events.extend(begun.then(|| added(index, call(&id, &call_id, "read", ""))));
    events.extend(PIECES[..pieces].iter().map(|piece| arguments(index, piece)));
    events.extend(all.then(|| event("function_call_arguments.done", index, json!({"arguments": whole}))));
    events.extend(end.then(|| ended(index, call(&id, &call_id, "read", &whole))));
    events
}

/// Events in any order, whether they fit together or not.
fn some_event() -> impl Strategy<Value = Value> {
    (0..3_i64, 0..14_usize).prop_map(|(index, kind)| {
        let id = format!("i{index}");
        let thought =
            json!({"id": id, "type": "reasoning", "summary": [{"text": "hm"}], "encrypted_content": "x"});
        match kind {
            0 => json!({"type": "response.created", "response": {}}),
            1 => added(index, message(&id, "")),
            2 => added(index, call(&id, &format!("c{index}"), "read", "")),
            3 => text(index, WORDS[0]),
            4 => arguments(index, PIECES[0]),
            5 => event("output_text.done", index, json!({"text": "né two"})),
            6 => event("function_call_arguments.done", index, json!({"arguments": "{}"})),
            7 => ended(index, message(&id, "né ")),
            8 => ended(index, call(&id, "c", "read", "{}")),
            9 => ended(index, thought),
            10 => event("reasoning_summary_text.delta", index, json!({"summary_index": index, "delta": "h"})),
            11 => event("refusal.delta", index, json!({"delta": "No"})),
            12 => json!({"type": "response.output_text.delta", "delta": "bare"}),
            _ => completed(json!([message("i0", "né "), thought, {"type": "odd"}])),
        }
    })
}

proptest! {
    #[test]
    fn s111_whatever_is_left_out_the_last_event_makes_good(
        (one, two, three) in (sent(), sent(), sent()),
        order in any::<u64>(),
    ) {
        let mut lanes = [message_events(0, one), call_events(1, two), call_events(2, three)];
        let mut stream = Vec::new();
        let mut order = order;
        while let Some(lane) = {
            let left = lanes.iter_mut().filter(|lane| !lane.is_empty()).collect::<Vec<_>>();
            let count = left.len().max(1) as u64;
            left.into_iter().nth((order % count) as usize)
        } {
            stream.push(lane.remove(0));
            order = order.rotate_right(3);
        }
        let whole = PIECES.concat();
        let [second, third] = ["c1", "c2"].map(|id| call(&format!("i{}", &id[1..]), id, "read", &whole));
        stream.push(completed(json!([message("i0", &WORDS.concat()), second, third])));
        let (reply, streamed) = assembled(&stream).unwrap();
        prop_assert_eq!(&reply.text, &WORDS.concat());
        prop_assert_eq!(words(&streamed), WORDS.concat());
        prop_assert_eq!(reply.calls.len(), 2);
        prop_assert!(reply.calls.iter().all(|call| call.arguments == whole && call.name == "read"));
    }

    #[test]
    fn s111_no_events_make_the_assembly_of_responses_panic(events in prop::collection::vec(some_event(), 0..24)) {
        match assembled(&events) {
            Ok((reply, streamed)) => {
                // The deltas make up the text, and the opaque items can be sent back.
                prop_assert_eq!(words(&streamed), reply.text);
                for item in reply.kept.into_iter().flat_map(|kept| kept.items) {
                    prop_assert!(opaque::to_input(&item).is_ok());
                }
            }
            Err(failed) => prop_assert_eq!(failed.class, FailureClass::Broken),
        }
    }
}
