//! Entry points for those who drive us with bytes no honest peer would send: `tests/fuzz`.
//!
//! Adapters to private modules and nothing else; decides nothing. No build has it but that of the fuzz
//! targets and of the tests.

use std::path::Path;
use std::sync::Arc;

use crate::session::log::{EVENTS, Log, LogPlace, OpenError, OpenedLog, ReadBack};
use crate::session::storage::faulty::FaultyDisk;
use crate::session::watermark::Syncer;

/// The session whose log [`LogFile`] holds.
pub const SESSION: &str = "s-1";

const DIRECTORY: &str = "/state/sessions/s-1";

/// The log of one session on a disk in memory.
pub struct LogFile {
    disk: FaultyDisk,
}

impl LogFile {
    /// Returns a disk that holds these bytes as the log of [`SESSION`].
    pub fn holding(bytes: &[u8]) -> Self {
        let disk = FaultyDisk::new();
        disk.plant(&Path::new(DIRECTORY).join(EVENTS), bytes);
        Self { disk }
    }

    /// Returns what the file holds now.
    pub fn bytes(&self) -> Vec<u8> {
        self.disk.content(&Path::new(DIRECTORY).join(EVENTS)).unwrap_or_default()
    }

    /// Reads the log without changing it.
    pub fn read(&self) -> Result<ReadBack, OpenError> {
        Log::read(&self.disk, Path::new(DIRECTORY), SESSION)
    }

    /// Opens the log for writing, which mends it; the pool is for what it would make durable.
    pub fn open(&self, syncer: Syncer) -> Result<OpenedLog, OpenError> {
        let storage = Arc::new(self.disk.clone());
        let place = LogPlace { storage, syncer, dir: DIRECTORY.into(), session: SESSION.to_owned() };
        Log::open(place, 9_000)
    }
}

/// Their kept corpus.
#[cfg(test)]
#[path = "../../tests/fuzz/kept.rs"]
mod kept;
/// The fuzz targets themselves, so that the quick suite replays what was found.
#[cfg(test)]
#[path = "../../tests/fuzz/targets/list.rs"]
pub(crate) mod targets;
#[cfg(test)]
mod tests;
