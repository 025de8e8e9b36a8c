//! The workspace the bench works in: 192 files of 1.3 MB, always the same.
//!
//! Never reads or writes anything outside the directory it was given.

use std::fs;
use std::path::{Path, PathBuf};

/// Files in all, and how many of them a task reads.
const FILES: usize = 192;
/// A task reads files of at most so many bytes, so that requests grow as in the runs of the peers.
const MOST_READ: usize = 8_000;

pub struct Workspace {
    pub root: PathBuf,
    /// Names of the files that are read, in order.
    pub read: Vec<String>,
    /// Name of the file that is edited; every line of it is unique.
    pub edited: String,
}

impl Workspace {
    /// Writes the files below `directory`.
    pub fn make(directory: &Path) -> Workspace {
        let root = directory.join("workspace");
        let mut read = Vec::new();
        let mut bytes = 0;
        for number in 0..FILES {
            let name = format!("src/part{}/file{number}.txt", number % 8);
            let path = root.join(&name);
            fs::create_dir_all(path.parent().unwrap_or(&root)).expect("the workspace can be made");
            let text = content(number);
            bytes += text.len();
            if text.len() <= MOST_READ && number != 0 {
                read.push(name);
            }
            fs::write(&path, text).expect("the workspace can be written");
        }
        assert!((1_250_000..1_350_000).contains(&bytes), "the workspace has {bytes} bytes, not 1.3 MB");
        Workspace { root, read, edited: "src/part0/file0.txt".to_owned() }
    }
}

/// Lines that look like code and differ from file to file; some 0.5 to 13 kB.
fn content(number: usize) -> String {
    let lines = 10 + number * 89 % FILES * 13 / 10;
    let line = |line: usize| format!("    let value_{number}_{line} = compute(input[{line}], \"part\");\n");
    (0..lines).map(line).collect()
}

/// The line of the edited file with this number, without its end.
pub fn line_of_edited(number: usize) -> String {
    format!("    let value_0_{number} = compute(input[{number}], \"part\");")
}
