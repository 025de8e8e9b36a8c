//! Clocks that jump, stop or run backwards (F11). They change no order, end no wait early and make no wait longer.
//!
//! Never reads a clock: time is an argument. The parts of the disk and the system are tested elsewhere.

use proptest::prelude::*;

use super::random::{Dice, input};
use super::*;
use crate::machine::step::{Wake, longest_wait};

const TEN_YEARS: u64 = 10 * 365 * 86_400_000;
/// A time with ten years before and after it.
const NOW: u64 = 1_800_000_000_000;
/// The longest possible wait: a day, if a provider asks for it and the user agrees.
const LONGEST: u64 = 24 * 3_600_000;

/// Plays the inputs of these bytes with the given clock.
fn drive(bytes: &[u8], clock: impl Fn(usize) -> u64) -> Bench {
    let mut bench = Bench::new();
    let mut dice = Dice::new(bytes);
    let mut number = 0;
    while !dice.is_used_up() {
        let input = input(&bench, &mut dice);
        bench.now = clock(number);
        number += 1;
        let _ = bench.input(input);
    }
    bench
}

/// Returns the records without their times.
fn happened(bench: &Bench) -> Vec<(u64, bool, &'static str)> {
    bench.log.iter().map(|record| (record.seq, record.last, record.event.name())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn f11_whatever_the_clock_says_the_same_happens_in_the_same_order(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        jumps in prop::collection::vec(0_u8..4, 1..40),
    ) {
        let even = drive(&bytes, |number| NOW + number as u64);
        let jumping = drive(&bytes, |number| match jumps[number % jumps.len()] {
            0 => NOW - TEN_YEARS,
            1 => NOW + TEN_YEARS,
            2 => 0,
            _ => NOW + number as u64,
        });
        let stalled = drive(&bytes, |_| NOW);
        let last = drive(&bytes, |_| u64::MAX - 10);
        for other in [&jumping, &stalled, &last] {
            prop_assert_eq!(happened(&even), happened(other));
            prop_assert_eq!(even.session.current_state(), other.session.current_state());
            prop_assert_eq!(&other.replayed(), &other.session);
        }
    }

    #[test]
    fn f11_a_wait_ends_by_its_own_length_and_is_taken_at_any_time(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        jumps in prop::collection::vec(any::<bool>(), 1..40),
    ) {
        let mut bench = drive(&bytes, |number| match jumps[number % jumps.len()] {
            true => NOW + TEN_YEARS,
            false => NOW,
        });
        let waits: Vec<Wake> = next_steps(&bench.session).iter().filter_map(wait).collect();
        for wake in waits {
            prop_assert!(longest_wait(&bench.session, &wake) <= LONGEST);
            // The clock was set back by twenty years meanwhile.
            bench.now = NOW - TEN_YEARS;
            let taken = bench.input(Input::Woke(wake));
            prop_assert!(taken.is_ok(), "{:?}", taken);
        }
    }
}

fn wait(step: &Step) -> Option<Wake> {
    match step {
        Step::Wake(wake) => Some(wake.clone()),
        _ => None,
    }
}

#[test]
fn f11_a_retry_of_a_clock_ten_years_ahead_does_not_wait_ten_years() {
    let mut bench = Bench::new();
    bench.now = NOW + TEN_YEARS;
    bench.prompt("go").unwrap();
    bench.report(is_model, Report::TurnBegan);
    let failure = crate::machine::retry::CallFailure {
        class: crate::machine::retry::FailureClass::RateLimited,
        message: "busy".to_owned(),
        retry_after_ms: Some(20_000),
    };
    bench.report(is_model, Report::CallFailed(failure));
    let wake = next_steps(&bench.session).iter().find_map(wait).expect("a retry is waited for");
    assert!(wake.at > NOW + TEN_YEARS);
    let longest = longest_wait(&bench.session, &wake);
    assert!((20_000..=LONGEST).contains(&longest), "{longest}");
}
