//! The pure core: facts, decisions, steps, verdicts and text.
//!
//! Nothing here does I/O, reads a clock, draws a random number, knows LSP
//! types or is async, so nothing here can fail for outside reasons. The one
//! exception: a diff stops looking for the shortest answer after a while
//! (`edit::line_diff`); what it found is recorded, never found again by a replay.

pub mod config;
pub mod machine;
pub mod policy;
pub mod prompt;
pub mod record;
pub mod session;
pub mod text;
pub mod tool;
pub mod wire;

#[cfg(test)]
mod machine_tests;

use sha2::{Digest, Sha256};

/// SHA-256 over length-prefixed parts, in hexadecimal; no two lists of parts collide by joining.
pub fn digest_parts(parts: &[&[u8]]) -> String {
    let mut digest = Parts::default();
    parts.iter().for_each(|part| digest.add(part));
    digest.in_hex()
}

/// A digest of parts that are told one by one, so that nothing large is copied for it.
#[derive(Default)]
pub(crate) struct Parts(Sha256);

impl Parts {
    pub(crate) fn add(&mut self, part: &[u8]) {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    pub(crate) fn in_hex(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
