//! Edits of two tasks, typing, decisions, whole runs undone, undo and redo, saves with a formatter and restarts, in thousands of
//! orders: through `accept`, the fold and an editor that knows each of its characters and who wrote it.
//!
//! Never a lost character: a server's edit may remove and insert only lines that were shown.

mod editor;
mod review;
mod server;
mod user;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::text::position::Encoding;
use world::World;

/// Returns how many orders are played in one encoding; ten times as many in a long run.
fn orders() -> u64 {
    if std::env::var_os("ADJUTANT_SLOW").is_some() { 33_340 } else { 3_334 }
}

/// Returns the seed of all orders: the same in each run but a long one.
fn seed() -> u64 {
    std::env::var("ADJUTANT_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0)
}

/// Returns the numbers of one order.
fn numbers(order: u64) -> Vec<u8> {
    // xorshift64*, which is enough to draw from.
    let mut state = (seed() << 20).wrapping_add(order).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 56) as u8
    };
    (0..160).map(|_| next()).collect()
}

/// Plays all orders, or only the one that `ADJUTANT_ORDER` names.
fn play_all(encoding: Encoding) {
    let only: Option<u64> = std::env::var("ADJUTANT_ORDER").ok().and_then(|order| order.parse().ok());
    // Each encoding has orders of its own.
    let first = match encoding {
        Encoding::Utf8 => 0,
        Encoding::Utf16 => 100_000,
        Encoding::Utf32 => 200_000,
    };
    let orders = only.map_or(first..first + orders(), |order| order..order + 1);
    let (mut landed, mut played, mut failed) = (0, 0, Vec::new());
    for order in orders {
        let numbers = numbers(order);
        let mut world = World::new(order, encoding, &numbers);
        // Other orders may say more about the cause.
        match catch_unwind(AssertUnwindSafe(|| world.play())) {
            Ok(()) => landed += world.landed(),
            Err(_) => failed.push(order),
        }
        played += 1;
        if failed.len() == 20 {
            break;
        }
    }
    assert!(failed.is_empty(), "of the first {played} orders, these failed in {encoding:?}: {failed:?}");
    assert!(landed >= played || only.is_some(), "only {landed} hunks landed in {played} orders");
}

#[test]
fn n01_n03_n13_n30_ten_thousand_interleavings_lose_nothing_in_utf_8() {
    play_all(Encoding::Utf8);
}

#[test]
fn n01_n03_n13_n30_ten_thousand_interleavings_lose_nothing_in_utf_16() {
    play_all(Encoding::Utf16);
}

#[test]
fn n01_n03_n13_n30_ten_thousand_interleavings_lose_nothing_in_utf_32() {
    play_all(Encoding::Utf32);
}
