//! How often, how long, and for which failures a turn is tried again.

use proptest::prelude::*;

use super::*;

const PASSING: [FailureClass; 7] = [
    FailureClass::RateLimited,
    FailureClass::Overloaded,
    FailureClass::Network,
    FailureClass::FirstByte,
    FailureClass::Stalled,
    FailureClass::Broken,
    FailureClass::Interrupted,
];

const LASTING: [FailureClass; 6] = [
    FailureClass::Total,
    FailureClass::Auth,
    FailureClass::Quota,
    FailureClass::ContextExceeded,
    FailureClass::ModelNotFound,
    FailureClass::InvalidRequest,
];

fn failure(class: FailureClass, retry_after_ms: Option<u64>) -> CallFailure {
    CallFailure { class, message: String::new(), retry_after_ms }
}

/// Returns all waits of a turn in which every attempt has this failure.
fn waits(failure: &CallFailure, jitter: f64, policy: &RetryPolicy) -> Vec<u64> {
    let mut tries = Tries::default();
    let next = |_| {
        let wait = next_attempt(failure, &tries, jitter, policy);
        tries.fail(failure.class);
        wait
    };
    (1..100).map_while(next).collect()
}

/// Returns the tries of a turn after attempts with these failures.
fn after(classes: &[FailureClass]) -> Tries {
    let mut tries = Tries::default();
    classes.iter().for_each(|class| tries.fail(*class));
    tries
}

#[test]
fn s80_a_500_for_ever_gets_six_tries_within_64_s() {
    let overloaded = failure(FailureClass::Overloaded, None);
    let policy = RetryPolicy::default();
    assert_eq!(waits(&overloaded, 0.0, &policy), [500, 1414, 4000, 11_314, 32_000]);
    assert_eq!(waits(&overloaded, 1.0, &policy), [625, 1768, 5000, 14_142, 32_000]);
    assert!(waits(&overloaded, 1.0, &policy).iter().sum::<u64>() < 64_000);
}

#[test]
fn s80_an_outage_of_20_s_is_outlived() {
    let network = failure(FailureClass::Network, None);
    assert!(waits(&network, 0.0, &RetryPolicy::default()).iter().sum::<u64>() > 20_000);
}

#[test]
fn s83_only_passing_failures_are_tried_again() {
    let policy = RetryPolicy::default();
    for class in PASSING {
        assert_eq!(waits(&failure(class, None), 0.5, &policy).len(), 5, "{class:?}");
    }
    for class in LASTING {
        assert_eq!(
            next_attempt(&failure(class, Some(1)), &Tries::default(), 0.5, &policy),
            None,
            "{class:?}"
        );
    }
}

#[test]
fn s80_retry_after_is_obeyed_and_bounded() {
    let policy = RetryPolicy::default();
    let after =
        |ms| next_attempt(&failure(FailureClass::RateLimited, Some(ms)), &Tries::default(), 0.0, &policy);
    assert_eq!(after(2_000), Some(2_000));
    assert_eq!(after(MAX_RETRY_AFTER_MS), Some(MAX_RETRY_AFTER_MS));
    assert_eq!(after(MAX_RETRY_AFTER_MS + 1), None);
    assert_eq!(after(0), Some(500), "a zero falls back to the usual wait");
}

#[test]
fn s80_a_policy_can_be_fast() {
    let policy = RetryPolicy { base_ms: 1, cap_ms: 5, max_attempts: 3 };
    assert_eq!(waits(&failure(FailureClass::Broken, None), 0.0, &policy), [1, 5]);
    let once = RetryPolicy { max_attempts: 1, ..policy };
    assert_eq!(next_attempt(&failure(FailureClass::Broken, None), &Tries::default(), 0.0, &once), None);
}

#[test]
fn s83_a_refused_conversation_is_repaired_once_and_asked_again_at_once() {
    let refused = failure(FailureClass::History, None);
    assert_eq!(waits(&refused, 0.5, &RetryPolicy::default()), [0]);
    let before = after(&[FailureClass::Overloaded, FailureClass::Network]);
    assert_eq!(next_attempt(&refused, &before, 0.0, &RetryPolicy::default()), Some(0));
}

#[test]
fn s85_refused_images_are_taken_out_once_beside_what_else_is_repaired() {
    let refused = failure(FailureClass::Images, None);
    assert_eq!(waits(&refused, 0.5, &RetryPolicy::default()), [0]);
    let repaired = after(&[FailureClass::History]);
    assert_eq!(next_attempt(&refused, &repaired, 0.0, &RetryPolicy::default()), Some(0));
    let images_withheld = after(&[FailureClass::Images]);
    let history = failure(FailureClass::History, None);
    assert_eq!(next_attempt(&history, &images_withheld, 0.0, &RetryPolicy::default()), Some(0));
}

#[test]
fn s81_two_broken_streams_make_the_answer_be_asked_for_whole() {
    use FailureClass::{Broken, Overloaded, Stalled};
    assert!(!after(&[Broken, Overloaded, Overloaded]).asks_whole());
    assert!(after(&[Broken, Overloaded, Stalled]).asks_whole());
}

#[test]
fn s113_the_next_model_takes_over_where_that_can_help() {
    let others = ["a/1".to_owned(), "b/2".to_owned()];
    let next = |class, model| fallback_model(&failure(class, None), model, &others);
    assert_eq!(next(FailureClass::Overloaded, "x/0"), Some("a/1"));
    assert_eq!(next(FailureClass::Overloaded, "a/1"), Some("b/2"));
    assert_eq!(next(FailureClass::Overloaded, "b/2"), None, "each at most once");
    for class in LASTING {
        assert_eq!(next(class, "x/0"), None, "{class:?} is for the user to know");
    }
    assert_eq!(next(FailureClass::Interrupted, "x/0"), None);
}

proptest! {
    #[test]
    fn s80_waits_stay_between_base_and_cap(
        attempt in 1_usize..20, jitter in prop::num::f64::ANY, base in 0u64..5_000, more in 0u64..60_000, tries in 0_usize..12,
    ) {
        let policy = RetryPolicy { base_ms: base, cap_ms: base + more, max_attempts: tries as u32 };
        let before = after(&vec![FailureClass::Network; attempt - 1]);
        let wait = next_attempt(&failure(FailureClass::Network, None), &before, jitter, &policy);
        match wait {
            Some(wait) => prop_assert!(attempt < tries && base <= wait && wait <= base + more),
            None => prop_assert!(attempt >= tries),
        }
    }
}
