//! The workspace of the bench: always the same 192 files with 1.3 MB.
//!
//! Never reads or writes outside the given directory.

use std::fs;
use std::path::{Path, PathBuf};

/// The number of files.
const FILES: usize = 192;
/// A task reads only files up to this many bytes, so that requests grow as in the runs of the peers.
const MOST_READ: usize = 8_000;

pub struct Workspace {
    pub root: PathBuf,
    /// The names of the files for tasks to read, in order.
    pub read: Vec<String>,
    /// The name of the file to edit; each of its lines is unique.
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

/// Returns lines that look like code and differ between files: 0.5 to 13 kB.
fn content(number: usize) -> String {
    let lines = 10 + number * 89 % FILES * 13 / 10;
    let line = |line: usize| format!("    let value_{number}_{line} = compute(input[{line}], \"part\");\n");
    (0..lines).map(line).collect()
}

/// Returns line `number` of the edited file, without its end.
pub fn line_of_edited(number: usize) -> String {
    format!("    let value_0_{number} = compute(input[{number}], \"part\");")
}
