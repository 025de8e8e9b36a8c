//! How much of a campaign is played, and the chance in it.
//!
//! Never reads a clock or a random number of the system: a seed that failed can be played again.

/// Whether campaigns of minutes are wanted, as in `tests/run --long`.
pub fn is_slow() -> bool {
    std::env::var_os("ADJUTANT_SLOW").is_some()
}

/// How many of something a campaign does: what its variable says, else `slow` or `brief`.
#[track_caller]
pub fn size(variable: &str, slow: usize, brief: usize) -> usize {
    match std::env::var(variable).ok().map(|size| size.parse()) {
        Some(Ok(size)) => size,
        Some(Err(why)) => panic!("{variable} is no number: {why}"),
        None if is_slow() => slow,
        None => brief,
    }
}

/// Returns the seed of all chance: `ADJUTANT_SEED`, or 0; the same seed plays the same campaigns.
#[track_caller]
pub fn seed() -> u64 {
    match std::env::var("ADJUTANT_SEED").ok().map(|seed| seed.parse()) {
        Some(Ok(seed)) => seed,
        Some(Err(why)) => panic!("ADJUTANT_SEED is no number: {why}"),
        None => 0,
    }
}

/// Returns the dice with this number of a campaign.
pub fn dice(number: u64) -> Dice {
    Dice(number ^ seed().wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Numbers drawn from a seed (splitmix64).
#[derive(Clone)]
pub struct Dice(pub u64);

impl Dice {
    /// Draws a number below `sides`; zero where there are none.
    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let sides = u64::try_from(sides.max(1)).unwrap_or(1);
        usize::try_from((mixed ^ (mixed >> 31)) % sides).unwrap_or_default()
    }

    /// Draws one of several.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.roll(of.len())]
    }
}
