//! `--shard K/N`: which attempts of a set belong to one of several machines.
//!
//! Never looks at a result: the same set always has the same shards.

use std::fmt;
use std::str::FromStr;

/// The most shards of a set.
const MAX_SHARDS: usize = 100_000;

/// One of `of` shards; the first is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: usize,
    of: usize,
}

impl Shard {
    /// The whole set.
    pub const WHOLE: Shard = Shard { number: 1, of: 1 };

    /// Whether the attempt at this place in the order of the set belongs to the shard.
    pub fn has(self, place: usize) -> bool {
        place % self.of == self.number - 1
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers =
            text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((number, of)) if (1..=of).contains(&number) && of <= MAX_SHARDS => Ok(Shard { number, of }),
            _ => Err(format!("write K/N, such as 1/4: shard K of N, from 1 to N, at most {MAX_SHARDS}")),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n25_every_attempt_is_in_exactly_one_shard() {
        for of in 1..=7 {
            for place in 0..100 {
                let shards = (1..=of).filter(|number| Shard { number: *number, of }.has(place)).count();
                assert_eq!(shards, 1, "attempt {place} of {of} shards");
            }
        }
    }

    #[test]
    fn n25_a_shard_that_makes_no_sense_is_refused() {
        for wrong in ["", "1", "0/2", "3/2", "1/0", "a/b", "-1/2", "1/2/3", "1/100001"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
        assert_eq!("2/3".parse::<Shard>().map(|shard| shard.to_string()), Ok("2/3".to_owned()));
    }
}
