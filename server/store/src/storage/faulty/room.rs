//! The room that is left on the disk in memory. Never gives room back.

use std::collections::BTreeMap;
use std::io;

/// The room that is left, and what files have reserved of it.
#[derive(Default)]
pub(super) struct Room {
    /// Bytes; `None` if there is no limit.
    pub left: Option<usize>,
    /// Up to where each file has room.
    reserved: BTreeMap<u64, usize>,
}

impl Room {
    /// Takes the room that a file needs for `len` bytes more at its end. Fails if the disk is full.
    pub fn take(&mut self, ino: u64, end: usize, len: usize) -> io::Result<()> {
        let reserved = self.reserved.get(&ino).copied().unwrap_or(0).max(end);
        let new = (end + len).saturating_sub(reserved);
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(new).ok_or(rustix::io::Errno::NOSPC)?;
        }
        self.reserved.insert(ino, reserved + new);
        Ok(())
    }
}
