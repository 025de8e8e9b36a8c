//! Entry points for `tests/fuzz`, which sends bytes that no correct peer would send.
//!
//! Only adapters to private modules; never decides anything. Only the fuzz targets and the tests are built with it.

use std::path::Path;
use std::sync::Arc;

use crate::session::log::{EVENTS, Log, LogPlace, OpenError, OpenedLog, ReadBack};
use crate::session::storage::faulty::FaultyDisk;
use crate::session::watermark::Syncer;

/// The id of the session in [`LogFile`].
pub const SESSION: &str = "s-1";

const DIRECTORY: &str = "/state/sessions/s-1";

/// The log of one session on a disk in memory.
pub struct LogFile {
    disk: FaultyDisk,
}

impl LogFile {
    /// Returns a disk that has these bytes as the log of [`SESSION`].
    pub fn holding(bytes: &[u8]) -> Self {
        let disk = FaultyDisk::new();
        disk.plant(&Path::new(DIRECTORY).join(EVENTS), bytes);
        Self { disk }
    }

    /// Returns the present bytes of the file.
    pub fn bytes(&self) -> Vec<u8> {
        self.disk.content(&Path::new(DIRECTORY).join(EVENTS)).unwrap_or_default()
    }

    /// Reads the log without changing it.
    pub fn read(&self) -> Result<ReadBack, OpenError> {
        Log::read(&self.disk, Path::new(DIRECTORY), SESSION)
    }

    /// Opens the log for writing, which repairs it. `syncer` makes that durable.
    pub fn open(&self, syncer: Syncer) -> Result<OpenedLog, OpenError> {
        let storage = Arc::new(self.disk.clone());
        let place = LogPlace { storage, syncer, dir: DIRECTORY.into(), session: SESSION.to_owned() };
        Log::open(place, 9_000)
    }
}

/// The kept corpus of the fuzz targets.
#[cfg(test)]
#[path = "../../tests/fuzz/kept.rs"]
mod kept;
/// The fuzz targets, so that the quick tests replay the corpus.
#[cfg(test)]
#[path = "../../tests/fuzz/targets/list.rs"]
pub(crate) mod targets;
#[cfg(test)]
mod tests;
