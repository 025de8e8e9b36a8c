//! Random replies with random damage: no panic, and no truncated reply counts as complete.
//!
//! Seeded and repeatable, not guided by coverage. Ten thousand rounds with `ADJUTANT_SLOW`, else a few hundred, and
//! then random bytes.

use adjutant_testkit::campaign::{self, Dice};
use adjutant_testkit::model::Reply as Answer;

use super::*;
/// The targets of `tests/fuzz` for answers.
#[path = "../../../../tests/fuzz/targets/of_answers.rs"]
mod targets;

/// Reads a body on one wire, in pieces of random size.
fn read(wire: Dialect, bytes: &[u8], dice: &mut Dice) -> Result<Reply, CallFailure> {
    let mut pieces = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at((1 + dice.roll(200)).min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    unsent::read(wire_of(wire), &request("hello"), &pieces, &mut |_| {})
}

fn answer(dice: &mut Dice) -> Answer {
    let words = ["So ", "né ", "😀 ", "{\"a\":1} ", "data: x ", "\u{1b}[0m "];
    let mut answer = Answer::text(words[dice.roll(words.len())]).usage(7, 3);
    for _ in 0..dice.roll(6) {
        answer = match dice.roll(3) {
            0 => answer.and_text(words[dice.roll(words.len())]),
            1 => answer.and_reasoning(words[dice.roll(words.len())]),
            _ => answer.and_call("read_file", serde_json::json!({"path": words[dice.roll(words.len())]})),
        };
    }
    answer
}

/// Damages a body in one way. Returns whether it was only truncated.
fn spoil(bytes: &mut Vec<u8>, dice: &mut Dice) -> bool {
    let at = dice.roll(bytes.len());
    match dice.roll(6) {
        0 => {
            bytes.truncate(at);
            return true;
        }
        1 => bytes[at] ^= 1 << dice.roll(8),
        2 => drop(bytes.remove(at)),
        3 => bytes.insert(at, dice.roll(256) as u8),
        4 => {
            let end = (at + dice.roll(300)).min(bytes.len());
            drop(bytes.drain(at..end));
        }
        _ => {
            let end = (at + dice.roll(300)).min(bytes.len());
            let piece = bytes[at..end].to_vec();
            drop(bytes.splice(at..at, piece));
        }
    }
    false
}

#[test]
fn f12_ten_thousand_mixes_end_whole_or_in_one_failure() {
    let rounds = campaign::size("ADJUTANT_MIXES", 10_000, 300);
    for wire in Dialect::ALL {
        let mut dice = campaign::dice(0x5eed_0000 + wire as u64);
        for round in 0..rounds {
            let answer = answer(&mut dice);
            let sound = answer.bytes_in(wire);
            let whole = read(wire, &sound, &mut dice);
            let whole = whole.unwrap_or_else(|failed| panic!("{wire:?} {round}: {failed:?}"));
            let mut bytes = sound.clone();
            let cut = spoil(&mut bytes, &mut dice);
            match read(wire, &bytes, &mut dice) {
                // Truncated after its end, the reply is the same. Truncated before, it must fail.
                Ok(reply) if cut => {
                    let same =
                        (&reply.text, &reply.calls, reply.stop) == (&whole.text, &whole.calls, whole.stop);
                    assert!(same, "{wire:?} {round}: {} of {} bytes", bytes.len(), sound.len());
                }
                Ok(_) => {}
                Err(failed) => assert!(!failed.message.is_empty(), "{wire:?} {round}"),
            }
        }
    }
}

/// The number of inputs of each campaign below, the same on every machine. `tests/fuzz` runs them for longer.
fn rounds() -> usize {
    campaign::size("ADJUTANT_SPOILS", 3_000, 300)
}

fn spoiled_again_and_again(wire: Dialect) {
    let mut dice = campaign::dice(0xf0_2221 + wire as u64);
    for _ in 0..rounds() {
        let mut bytes = answer(&mut dice).bytes_in(wire);
        for _ in 0..=dice.roll(12) {
            if bytes.is_empty() {
                break;
            }
            spoil(&mut bytes, &mut dice);
        }
        bytes.insert(0, dice.roll(0xf0) as u8);
        targets::replies::check(wire_of(wire), &bytes);
    }
}

#[test]
fn f12_fuzz_chat() {
    spoiled_again_and_again(Dialect::Chat);
}

#[test]
fn f12_fuzz_messages() {
    spoiled_again_and_again(Dialect::Messages);
}

#[test]
fn f12_fuzz_responses() {
    spoiled_again_and_again(Dialect::Responses);
}

#[test]
fn f12_fuzz_decoder() {
    let mut dice = Dice(0xdec0de);
    let alphabet = b"data: event:id:\r\n\n: \xef\xbb\xbf\xff{}";
    for _ in 0..10 * rounds() {
        let bytes: Vec<u8> = (0..dice.roll(400)).map(|_| alphabet[dice.roll(alphabet.len())]).collect();
        targets::events::check(&bytes);
    }
}
