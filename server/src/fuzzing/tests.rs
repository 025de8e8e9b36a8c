//! Replays the kept corpus of the fuzz targets in every quick test run.
//!
//! Never adds to the corpus; `tests/fuzz/run --keep` does.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::kept::{self, Kept};
use super::targets::TARGETS;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fuzz/corpus")
}

fn kept_of(target: &str) -> Vec<Kept> {
    kept::read(&corpus().join(format!("{target}.jsonl"))).unwrap_or_else(|why| panic!("{why}"))
}

#[test]
fn f15_every_kept_input_still_holds() {
    let mut broken = Vec::new();
    for (target, check) in TARGETS {
        let kept = kept_of(target);
        assert!(kept.len() >= 5, "the corpus of {target} has {} inputs", kept.len());
        for one in kept {
            // The panic of a property does not name the input.
            if std::panic::catch_unwind(|| check(&one.input)).is_err() {
                broken.push(format!("{target} does not hold for {}", one.name));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_kept_corpus_is_small_and_has_no_strangers() {
    let mut bytes = 0;
    for entry in std::fs::read_dir(corpus()).expect("there is a corpus") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let of = |target: &str| format!("{target}.jsonl") == name;
        assert!(TARGETS.iter().any(|(target, _)| of(target)), "{name} is the corpus of no target");
        bytes += path.metadata().expect("a file").len();
    }
    assert!(bytes < 1 << 20, "the kept corpus has {bytes} bytes");
}

#[test]
fn every_kept_input_has_one_line_and_a_name_of_its_own() {
    for (target, _) in TARGETS {
        let kept = kept_of(target);
        let names: BTreeSet<&str> = kept.iter().map(|one| &*one.name).collect();
        let inputs: BTreeSet<&[u8]> = kept.iter().map(|one| &*one.input).collect();
        assert_eq!((names.len(), inputs.len()), (kept.len(), kept.len()), "{target}: one is there twice");
        for name in names {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
            assert!(name.contains(plain) && name.chars().all(plain), "{target}: {name:?} is no file name");
        }
        let lines: String = kept.iter().map(kept::line).collect();
        let file = std::fs::read_to_string(corpus().join(format!("{target}.jsonl"))).expect("a corpus");
        assert!(lines == file, "{target}: packed again it is another file");
    }
}
