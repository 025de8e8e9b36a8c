//! The size of test campaigns and their random numbers.
//!
//! Never reads a clock or a random number of the system, so a failed seed can be repeated.

/// Whether campaigns may run for minutes, as in `tests/run --long`.
pub fn is_slow() -> bool {
    std::env::var_os("ADJUTANT_SLOW").is_some()
}

/// Returns the size of a campaign: the value of its environment variable, else `slow` or `brief`.
#[track_caller]
pub fn size(variable: &str, slow: usize, brief: usize) -> usize {
    match std::env::var(variable).ok().map(|size| size.parse()) {
        Some(Ok(size)) => size,
        Some(Err(why)) => panic!("{variable} is not a number: {why}"),
        None if is_slow() => slow,
        None => brief,
    }
}

/// Returns the seed of all random numbers: `ADJUTANT_SEED`, or 0. The same seed gives the same campaigns.
#[track_caller]
pub fn seed() -> u64 {
    match std::env::var("ADJUTANT_SEED").ok().map(|seed| seed.parse()) {
        Some(Ok(seed)) => seed,
        Some(Err(why)) => panic!("ADJUTANT_SEED is not a number: {why}"),
        None => 0,
    }
}

/// Returns the random numbers of case `number` in a campaign.
pub fn dice(number: u64) -> Dice {
    Dice(number ^ seed().wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Random numbers from a seed (splitmix64).
#[derive(Clone)]
pub struct Dice(pub u64);

impl Dice {
    /// Returns a number below `sides`; zero if `sides` is zero.
    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let sides = u64::try_from(sides.max(1)).unwrap_or(1);
        usize::try_from((mixed ^ (mixed >> 31)) % sides).unwrap_or_default()
    }

    /// Returns one of these items.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.roll(of.len())]
    }
}
