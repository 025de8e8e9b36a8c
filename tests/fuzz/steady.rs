//! A search that is the same on every machine: a fixed number of inputs, which random numbers from a fixed
//! seed make out of the kept ones.
//!
//! Never uses a clock or the coverage. Hash tables, addresses and processors change what libFuzzer counts as
//! reached, and so the way of its search. The price: this search finds less than libFuzzer.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::kept;

/// Bytes with a meaning in the formats, or at a boundary of numbers and characters.
const BYTES: &[u8] =
    b"\0\t\n\r \"'#%*+,-./0123456789:;<=>?@AZ[\\]_`az{|}~\x7f\x80\xbf\xc2\xe2\xed\xf0\xf4\xff";
/// Pieces of the formats that the targets read.
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

/// The current input: a panic writes it to a file.
static TRIED: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// The size of a search and the file for its finding.
pub struct Search {
    pub runs: u64,
    pub longest: usize,
    /// The file for an input that breaks the property.
    pub found: PathBuf,
}

impl Search {
    /// Reads the search from the environment; returns none if the environment has none.
    pub fn asked() -> Option<Search> {
        let get = |name: &str| std::env::var(name).ok();
        let number = |name: &str| get(name).and_then(|text| text.parse().ok());
        let runs = number("ADJUTANT_FUZZ_STEADY")?;
        let longest = number("ADJUTANT_FUZZ_LONGEST").unwrap_or(1024) as usize;
        Some(Search { runs, longest, found: get("ADJUTANT_FUZZ_FOUND")?.into() })
    }

    /// Tries every input, and returns a hash of all of them.
    pub fn run(&self, corpus: &Path, check: fn(&[u8])) -> u64 {
        let kept = kept::read(corpus).unwrap_or_else(|why| panic!("{why}"));
        let kept: Vec<Vec<u8>> = kept.into_iter().map(|one| one.input).collect();
        assert!(!kept.is_empty(), "the kept corpus is empty");
        save_on_panic(self.found.clone());
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

fn save_on_panic(found: PathBuf) {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let _ = std::fs::write(&found, &*lock());
        report(panic);
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
        4 => drop(input.drain(range_from(at, input.len(), numbers))),
        // Repeats a part of the input: a second occurrence, or content after the end.
        5 => {
            let own = input[range_from(numbers.below(input.len() + 1), input.len(), numbers)].to_vec();
            insert(input, at, &own);
        }
        6 => {
            let other = &kept[numbers.below(kept.len())];
            let part = &other[range_from(numbers.below(other.len() + 1), other.len(), numbers)];
            insert(input, at, part);
        }
        // The front of this input and the back of another.
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

/// Returns a range that begins at `from`: usually short, sometimes up to the end.
fn range_from(from: usize, len: usize, numbers: &mut Numbers) -> std::ops::Range<usize> {
    let most = [4, 32, 256, usize::MAX][numbers.below(4)];
    from..from + numbers.below((len - from).min(most) + 1)
}

/// Random numbers from a seed (splitmix64).
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
