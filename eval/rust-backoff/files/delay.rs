/// Returns the wait before an attempt, in milliseconds; `named` is the time that the server named.
pub fn delay_ms(attempt: u32, named: Option<u64>) -> u64 {
    let own = 500 * 2u64.pow(attempt - 1);
    named.unwrap_or(own).min(30_000)
}
