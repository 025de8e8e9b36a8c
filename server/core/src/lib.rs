//! The pure core: facts, decisions, steps, verdicts and text.
//!
//! Nothing here does I/O, reads a clock, draws a random number, knows LSP
//! types or is async, so nothing here can fail for outside reasons.

pub mod accept;
pub mod ask;
pub mod choices;
pub mod config;
pub mod document;
pub mod edit;
pub mod event;
pub mod input;
pub mod locate;
pub mod message;
pub mod models;
pub mod permission;
pub mod position;
pub mod prompt;
pub mod retry;
pub mod review;
pub mod run;
pub mod session;
pub mod start;
pub mod state;
pub mod step;
pub mod tool;
pub mod transcript;

#[cfg(test)]
mod machine_tests;

use sha2::{Digest, Sha256};

/// SHA-256 over length-prefixed parts, in hexadecimal; no two lists of parts collide by joining.
pub fn digest_parts(parts: &[&[u8]]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    in_hex(hasher)
}

/// SHA-256 over a value as JSON, in hexadecimal. It is hashed as it is written, for it may have megabytes.
pub fn digest_json(value: &impl serde::Serialize) -> String {
    struct Hashing(Sha256);
    impl std::io::Write for Hashing {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.update(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut hashing = Hashing(Sha256::new());
    // It cannot fail: what is digested is made of text, numbers and lists.
    let _ = serde_json::to_writer(&mut hashing, value);
    in_hex(hashing.0)
}

fn in_hex(hasher: Sha256) -> String {
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
