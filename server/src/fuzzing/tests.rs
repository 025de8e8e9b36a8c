//! The kept corpus of the fuzz targets, replayed: what was found once is tried by every quick run.
//!
//! Never adds to the corpus; `tests/fuzz/run --keep` does.

use std::path::{Path, PathBuf};

use super::targets::TARGETS;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fuzz/corpus")
}

#[test]
fn f15_every_kept_input_still_holds() {
    let mut broken = Vec::new();
    for (name, check) in TARGETS {
        let kept = std::fs::read_dir(corpus().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut kept: Vec<PathBuf> = kept.map(|entry| entry.expect("an entry").path()).collect();
        kept.sort();
        assert!(kept.len() >= 5, "the corpus of {name} has {} inputs", kept.len());
        for path in kept {
            let input = std::fs::read(&path).expect("an input can be read");
            // The name of the input is what the panic of a property does not say.
            if std::panic::catch_unwind(|| check(&input)).is_err() {
                broken.push(format!("{name} does not hold for {}", path.display()));
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
        assert!(TARGETS.iter().any(|(known, _)| *known == name), "{name} is the corpus of no target");
        let inputs = std::fs::read_dir(&path).expect("a corpus is a directory");
        bytes += inputs
            .map(|input| input.and_then(|input| input.metadata()).map_or(0, |at| at.len()))
            .sum::<u64>();
    }
    assert!(bytes < 1 << 20, "the kept corpus has {bytes} bytes");
}
