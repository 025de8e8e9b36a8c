//! A search that is the same on every machine: so many inputs, each made out of the kept ones by numbers
//! that follow from a seed.
//!
//! Looks at no clock and at nothing that was reached: hash tables, addresses and processors change what
//! libFuzzer counts as reached, and with that where it searches. Finds less than libFuzzer for that.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::kept;

/// Bytes that stand in what is read, or at a border of numbers and texts.
const BYTES: &[u8] =
    b"\0\t\n\r \"'#%*+,-./0123456789:;<=>?@AZ[\\]_`az{|}~\x7f\x80\xbf\xc2\xe2\xed\xf0\xf4\xff";
/// Pieces of what the targets read.
const WORDS: &[&str] = &[
    "\n\n",
    "\r\n",
    "data: ",
    "event: ",
    "[DONE]",
    "null",
    "true",
    "{}",
    "[]",
    "\"\":",
    "\\u0000",
    "\\ud83d",
    "\u{feff}",
    "\u{1f600}",
    "-1",
    "1e999",
    "18446744073709551616",
    "../",
    "%00",
    "file:///",
    "\"type\":\"",
    "\"index\":0",
    "Content-Length: ",
    "\"more\":true",
];

/// The input that is tried now: a panic writes it down.
static TRIED: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// What to search, and how far.
pub struct Search {
    pub runs: u64,
    pub longest: usize,
    /// Where an input is left that does not hold.
    pub found: PathBuf,
}

impl Search {
    /// Reads the search from the environment; none when it asks for none.
    pub fn asked() -> Option<Search> {
        let get = |name: &str| std::env::var(name).ok();
        let number = |name: &str| get(name).and_then(|text| text.parse().ok());
        let runs = number("ADJUTANT_FUZZ_STEADY")?;
        let longest = number("ADJUTANT_FUZZ_LONGEST").unwrap_or(1024) as usize;
        Some(Search { runs, longest, found: get("ADJUTANT_FUZZ_FOUND")?.into() })
    }

    /// Tries every input, and returns a number that stands for all of them.
    pub fn run(&self, corpus: &Path, check: fn(&[u8])) -> u64 {
        let kept = kept::read(corpus).unwrap_or_else(|why| panic!("{why}"));
        let kept: Vec<Vec<u8>> = kept.into_iter().map(|one| one.input).collect();
        assert!(!kept.is_empty(), "the kept corpus is empty");
        leave_behind(self.found.clone());
        let mut numbers = Numbers(1);
        let mut sum = 0xcbf2_9ce4_8422_2325_u64;
        for _ in 0..self.runs {
            let mut input = kept[numbers.below(kept.len())].clone();
            for _ in 0..=numbers.below(6) {
                change(&mut input, &kept, &mut numbers);
                input.truncate(self.longest);
            }
            for byte in &input {
                sum = (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
            }
            input.clone_into(&mut lock());
            check(&input);
        }
        sum
    }
}

fn lock() -> std::sync::MutexGuard<'static, Vec<u8>> {
    TRIED.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn leave_behind(found: PathBuf) {
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let _ = std::fs::write(&found, &*lock());
        told(panic);
    }));
}

/// Makes one change.
fn change(input: &mut Vec<u8>, kept: &[Vec<u8>], numbers: &mut Numbers) {
    let at = numbers.below(input.len() + 1);
    match numbers.below(9) {
        0 => insert(input, at, &[BYTES[numbers.below(BYTES.len())]]),
        1 => insert(input, at, WORDS[numbers.below(WORDS.len())].as_bytes()),
        2 if at < input.len() => input[at] = BYTES[numbers.below(BYTES.len())],
        3 if at < input.len() => input[at] ^= 1 << numbers.below(8),
        4 => drop(input.drain(stretch(at, input.len(), numbers))),
        // Something of its own once more: what comes twice, or goes on after its end.
        5 => {
            let own = input[stretch(numbers.below(input.len() + 1), input.len(), numbers)].to_vec();
            insert(input, at, &own);
        }
        6 => {
            let other = &kept[numbers.below(kept.len())];
            let part = &other[stretch(numbers.below(other.len() + 1), other.len(), numbers)];
            insert(input, at, part);
        }
        // The front of one and the back of another.
        7 => {
            let other = &kept[numbers.below(kept.len())];
            input.truncate(at);
            input.extend_from_slice(&other[numbers.below(other.len() + 1)..]);
        }
        _ => input.truncate(at),
    }
}

fn insert(input: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    input.splice(at..at, bytes.iter().copied());
}

/// A stretch from a place on: mostly short, at times all that is left.
fn stretch(from: usize, len: usize, numbers: &mut Numbers) -> std::ops::Range<usize> {
    let most = [4, 32, 256, usize::MAX][numbers.below(4)];
    from..from + numbers.below((len - from).min(most) + 1)
}

/// Numbers that follow from a seed (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound.max(1) as u64) as usize
    }
}
