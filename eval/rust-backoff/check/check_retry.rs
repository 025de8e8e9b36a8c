mod attempts;
mod delay;

use attempts::next;
use delay::delay_ms;

#[test]
fn waits_double_up_to_their_limit() {
    let waits: Vec<u64> = (1..=9).map(|attempt| delay_ms(attempt, None)).collect();
    assert_eq!(waits, [0, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
    assert_eq!(delay_ms(u32::MAX, None), 30_000);
}

#[test]
fn a_longer_time_of_the_server_counts() {
    assert_eq!(delay_ms(2, Some(100)), 500);
    assert_eq!(delay_ms(2, Some(700)), 700);
    assert_eq!(delay_ms(2, Some(90_000)), 90_000);
}

#[test]
fn six_attempts_are_all() {
    let waits: Vec<Option<u64>> = (1..=7).map(|attempt| next(attempt, None)).collect();
    let expected = [Some(500), Some(1000), Some(2000), Some(4000), Some(8000), None, None];
    assert_eq!(waits, expected);
}

#[test]
fn a_server_that_wants_too_much_is_not_asked_again() {
    assert_eq!(next(1, Some(120_000)), Some(120_000));
    assert_eq!(next(1, Some(120_001)), None);
}
