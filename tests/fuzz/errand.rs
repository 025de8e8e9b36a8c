//! Copies the kept corpus to libFuzzer and back, because libFuzzer needs one file for each input.
//!
//! `ADJUTANT_FUZZ_UNPACK=FOLDER` writes the inputs of a corpus into a folder, under their names.
//! `ADJUTANT_FUZZ_PACK=FOLDER` updates the corpus from the files in a folder. Never removes or renames an
//! input that a person has named.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::kept::{self, Kept};

/// The prefix of names that no person has chosen.
const UNNAMED: &str = "reached-";

/// A job instead of a search.
pub enum Errand {
    Unpack(PathBuf),
    Pack(PathBuf),
}

impl Errand {
    /// Reads the errand from the environment; returns none if the environment has none.
    pub fn asked() -> Option<Errand> {
        let folder = |name| std::env::var_os(name).map(PathBuf::from);
        folder("ADJUTANT_FUZZ_UNPACK")
            .map(Errand::Unpack)
            .or_else(|| folder("ADJUTANT_FUZZ_PACK").map(Errand::Pack))
    }

    /// Runs the errand, and returns the number of inputs in the corpus.
    ///
    /// # Panics
    /// If a file cannot be read or written.
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

/// Returns the known inputs that stay, in their order, and then the new ones.
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

/// Returns the name of a file in the corpus. The forty digits of a libFuzzer name are shortened and get the
/// prefix, so that they differ from a chosen name.
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
