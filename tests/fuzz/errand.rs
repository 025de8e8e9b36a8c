//! Carries the kept corpus to libFuzzer and back: libFuzzer wants one file for each input.
//!
//! `ADJUTANT_FUZZ_UNPACK=FOLDER` writes the inputs of a corpus into a folder, by their names;
//! `ADJUTANT_FUZZ_PACK=FOLDER` makes the corpus of the files in a folder. An input keeps its name, and
//! who gave one a name wanted it to stay.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::kept::{self, Kept};

/// How names begin that nobody gave.
const UNNAMED: &str = "reached-";

/// What is to be done instead of a search.
pub enum Errand {
    Unpack(PathBuf),
    Pack(PathBuf),
}

impl Errand {
    /// Reads the errand from the environment; none when it asks for none.
    pub fn asked() -> Option<Errand> {
        let folder = |name| std::env::var_os(name).map(PathBuf::from);
        folder("ADJUTANT_FUZZ_UNPACK")
            .map(Errand::Unpack)
            .or_else(|| folder("ADJUTANT_FUZZ_PACK").map(Errand::Pack))
    }

    /// Does it, and returns how many inputs the corpus has.
    ///
    /// # Panics
    /// When a file cannot be read or written.
    pub fn run(&self, corpus: &Path) -> usize {
        let known = kept::read(corpus).unwrap_or_else(|why| panic!("{why}"));
        let packed = match self {
            Errand::Unpack(folder) => {
                for one in &known {
                    std::fs::write(folder.join(&one.name), &one.input).expect("an input can be written");
                }
                return known.len();
            }
            Errand::Pack(folder) => packed(known, files(folder)),
        };
        let lines: String = packed.iter().map(kept::line).collect();
        std::fs::write(corpus, lines).expect("the corpus can be written");
        packed.len()
    }
}

/// Those that are still wanted in their order, then the new ones.
fn packed(known: Vec<Kept>, files: Vec<Kept>) -> Vec<Kept> {
    let wanted: BTreeSet<&[u8]> = files.iter().map(|file| &*file.input).collect();
    let stays = |one: &Kept| !one.name.starts_with(UNNAMED) || wanted.contains(&*one.input);
    let mut packed: Vec<Kept> = known.into_iter().filter(stays).collect();
    let mut inputs: BTreeSet<Vec<u8>> = packed.iter().map(|one| one.input.clone()).collect();
    for file in files {
        if inputs.insert(file.input.clone()) {
            packed.push(Kept { name: name_of(&file), input: file.input });
        }
    }
    packed
}

/// libFuzzer calls its files by forty digits: shorter, and told from a name that somebody gave.
fn name_of(file: &Kept) -> String {
    let by_libfuzzer = file.name.len() == 40 && file.name.bytes().all(|digit| digit.is_ascii_hexdigit());
    if by_libfuzzer { format!("{UNNAMED}{}", &file.name[..12]) } else { file.name.clone() }
}

fn files(folder: &Path) -> Vec<Kept> {
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let file = |path: &PathBuf| Kept {
        name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        input: std::fs::read(path).expect("an input can be read"),
    };
    paths.iter().map(file).collect()
}
