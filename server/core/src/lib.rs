//! The pure core: records, decisions, steps, verdicts and text.
//!
//! Never does I/O, reads a clock, draws a random number, uses LSP types or is async, so nothing here can fail for
//! outside reasons. One exception reads a clock: a diff stops its search for the shortest answer after a while
//! (`edit::line_diff`). Its result is recorded, and a replay never searches again.

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

/// Returns the SHA-256 of the parts in hexadecimal. Each part has its length before it, so two different lists of
/// parts never give the same input.
pub fn digest_parts(parts: &[&[u8]]) -> String {
    let mut digest = Parts::default();
    parts.iter().for_each(|part| digest.add(part));
    digest.in_hex()
}

/// A digest of parts that are added one by one, so that large parts are not copied.
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
