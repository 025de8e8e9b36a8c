//! Waits in all their formats.

use super::*;

#[test]
fn s80_retry_after_in_every_shape() {
    let now = UNIX_EPOCH + Duration::from_secs(1_445_412_480);
    let after = |text| retry_after_ms(None, Some(text), now);
    assert_eq!(after("2"), Some(2000));
    assert_eq!(after("1.5"), Some(1500));
    assert_eq!(after("0"), Some(0));
    assert_eq!(after("Wed, 21 Oct 2015 07:28:10 GMT"), Some(10_000));
    assert_eq!(after("Wed, 21 Oct 2015 07:27:00 GMT"), Some(0));
    assert!(after("Wed, 21 Oct 2099 07:28:00 GMT").is_some_and(|wait| wait > 80 * 365 * 86_400_000));
    for garbage in ["soon", "", "-3", "NaN", "inf", "Wed, 99 Foo 2015 07:28:10 GMT", "Wed, 21 Oct 2015 7 GMT"]
    {
        assert_eq!(after(garbage), None, "{garbage}");
    }
    assert_eq!(retry_after_ms(Some("250"), Some("9"), now), Some(250));
    assert_eq!(retry_after_ms(None, None, now), None);
}

#[test]
fn s80_dates_are_right_over_leap_years() {
    let seconds = |text| http_date(text).unwrap().duration_since(UNIX_EPOCH).unwrap().as_secs();
    assert_eq!(seconds("Thu, 01 Jan 1970 00:00:00 GMT"), 0);
    assert_eq!(seconds("Tue, 29 Feb 2000 00:00:00 GMT"), 951_782_400);
    assert_eq!(seconds("Fri, 01 Mar 2024 00:00:00 GMT"), 1_709_251_200);
    assert_eq!(seconds("Fri, 31 Dec 2100 23:59:59 GMT"), 4_133_980_799);
}
