//! Parses the wait that a provider requests in its headers or its message, and formats waits for messages.
//!
//! Never decides a retry, or whether Adjutant obeys the wait.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Returns the wait in milliseconds, from `retry-after-ms` or from `Retry-After` in seconds or as a date.
///
/// `None` if there is neither, or if it is invalid.
pub(super) fn retry_after_ms(
    milliseconds: Option<&str>,
    after: Option<&str>,
    now: SystemTime,
) -> Option<u64> {
    let number = |text: Option<&str>| {
        text?.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0)
    };
    if let Some(wait) = number(milliseconds) {
        return Some(wait.ceil() as u64);
    }
    if let Some(seconds) = number(after) {
        return Some((seconds * 1000.0).ceil() as u64);
    }
    let until = http_date(after?)?;
    let wait = until.duration_since(now).unwrap_or(Duration::ZERO);
    u64::try_from(wait.as_millis()).ok()
}

/// Parses the only date format that servers may write: `Wed, 21 Oct 2026 07:28:00 GMT`.
fn http_date(text: &str) -> Option<SystemTime> {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let words = text.split_ascii_whitespace().collect::<Vec<_>>();
    let [_, day, month, year, time, "GMT"] = words[..] else { return None };
    let month = MONTHS.as_bytes().chunks(3).position(|name| name == month.as_bytes())? as u64 + 1;
    let (day, year) = (day.parse::<u64>().ok()?, year.parse::<u64>().ok()?);
    let mut clock = time.split(':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    if !(1..=31).contains(&day) || !(1970..=9999).contains(&year) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // Days of the Gregorian calendar. Years begin in March, so that the leap day is the last day of a year.
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1;
    let days_to_1970 = 719_468;
    let seconds = (days - days_to_1970) * 86_400 + hour * 3600 + minute * 60 + second;
    Some(UNIX_EPOCH + Duration::from_secs(seconds))
}

/// Formats a wait for a person, such as `90 s` or `3 min`, rounded up.
pub(super) fn in_words(milliseconds: u64) -> String {
    let seconds = milliseconds.div_ceil(1000);
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", seconds.div_ceil(60)),
        7200..=172_799 => format!("{} h", seconds.div_ceil(3600)),
        _ => format!("{} days", seconds.div_ceil(86_400)),
    }
}

/// Returns the wait in a message such as "Please try again in 1m2.5s.", in milliseconds.
pub(super) fn wait_in_words(message: &str) -> Option<u64> {
    let message = message.to_ascii_lowercase();
    let mut rest = message.split_once("try again in ")?.1.trim_start();
    let mut wait = None;
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let Ok(number) = rest[..digits].parse::<f64>() else { return wait };
        let unit = rest[digits..].trim_start();
        let letters = unit.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(unit.len());
        let milliseconds = match &unit[..letters] {
            "ms" | "milliseconds" => 1.0,
            "s" | "second" | "seconds" => 1000.0,
            "m" | "minute" | "minutes" => 60_000.0,
            "h" | "hour" | "hours" => 3_600_000.0,
            _ => return wait,
        };
        wait = Some(wait.unwrap_or(0_u64).saturating_add((number * milliseconds).ceil() as u64));
        rest = &unit[letters..];
    }
}

#[cfg(test)]
mod tests;
