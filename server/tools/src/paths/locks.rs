//! Write locks: one for each file, shared by all servers of a user. Removes the temporary files of a server that was
//! killed during a write.
//!
//! Never puts a lock into the workspace, and never removes a temporary file while its lock is held.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, OFlags, RenameFlags, renameat_with};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

/// How often to try a lock, and the pause between: a write takes milliseconds.
const TRIES: u32 = 250;
const PAUSE: Duration = Duration::from_millis(20);
/// The most bytes of the note in a lock file: two paths, two hashes and some numbers.
const MOST_NOTE: u64 = 16 * 1024;

/// In place of the id of new content: the file is removed.
const REMOVAL: &str = "removal";

/// The folder of locks; without one there are no locks.
#[derive(Clone, Debug, Default)]
pub struct WriteLocks {
    folder: Option<PathBuf>,
}

/// Another server has the lock and does not release it.
#[derive(Debug)]
pub struct Busy;

/// The lock of one file, held until the drop; `None` if no lock could be made.
#[derive(Debug)]
pub struct WriteLock {
    held: Option<(File, PathBuf)>,
}

impl WriteLocks {
    /// Returns locks in a folder of the state directory.
    pub fn in_state(state: &Path) -> Self {
        Self { folder: Some(state.join("writing")) }
    }

    /// Waits for the lock of a file. If no lock can be made, for example on a full disk, returns without one.
    ///
    /// # Errors
    ///
    /// Returns [`Busy`] if another server keeps the lock for five seconds.
    pub fn acquire(&self, target: &Path) -> Result<WriteLock, Busy> {
        let free = WriteLock { held: None };
        let Some(folder) = &self.folder else { return Ok(free) };
        let path = folder.join(name_of(target));
        for _ in 0..TRIES {
            let file = match open(&path).or_else(|_| make(folder).and_then(|()| open(&path))) {
                Ok(file) => file,
                Err(error) => {
                    tracing::warn!(%error, "a file is written without a lock");
                    return Ok(free);
                }
            };
            match lock(&file) {
                Ok(()) if is_at(&file, &path) => {
                    clear(&file);
                    return Ok(WriteLock { held: Some((file, path)) });
                }
                // The holder removed the lock file before this server locked it.
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => std::thread::sleep(PAUSE),
                Err(_) => return Ok(free),
            }
        }
        Err(Busy)
    }

    /// Removes the temporary files of servers that were killed.
    pub fn sweep(&self) {
        let Some(entries) = self.folder.as_ref().and_then(|folder| std::fs::read_dir(folder).ok()) else {
            return;
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            let Ok(file) = open(&path) else { continue };
            if lock(&file).is_err() || !is_at(&file, &path) {
                continue;
            }
            clear(&file);
            drop(WriteLock { held: Some((file, path)) });
        }
    }
}

impl WriteLock {
    /// Notes which temporary file the next server has to remove if this one is killed.
    pub(super) fn note_temporary(&self, temporary: &Path) {
        self.note(temporary.as_os_str().as_bytes());
    }

    /// Notes the exchange of the temporary file with `target`: device, inode and hash of the new content, and the
    /// hash of the bytes that may be removed. Any other bytes that come out of the exchange belong to another
    /// program.
    pub(super) fn note_exchange(
        &self,
        target: &Path,
        id: (u64, u64),
        new: [u8; 32],
        removable: Option<[u8; 32]>,
    ) {
        let removable = removable.map(|sum| hex(&sum)).unwrap_or_default();
        self.note(format!("\0{}:{}\0{}\0{removable}\0", id.0, id.1, hex(&new)).as_bytes());
        self.note(target.as_os_str().as_bytes());
    }

    /// Notes that `target` gets the name of the temporary file, and that it may be removed there if it has this content.
    pub(super) fn note_removal(&self, target: &Path, removable: [u8; 32]) {
        self.note(format!("\0{REMOVAL}\0\0{}\0", hex(&removable)).as_bytes());
        self.note(target.as_os_str().as_bytes());
    }

    fn note(&self, bytes: &[u8]) {
        let Some((file, _)) = &self.held else { return };
        let mut writer: &File = file;
        if let Err(error) = writer.write_all(bytes) {
            tracing::warn!(%error, "a write is not noted, so a killed server may leave its temporary file");
        }
    }
}

impl Drop for WriteLock {
    fn drop(&mut self) {
        if let Some((_, path)) = &self.held {
            // The lock is still held, so no other server has it.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn name_of(target: &Path) -> String {
    let sum = Sha256::digest(target.as_os_str().as_bytes());
    sum.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

fn make(folder: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(flags).open(path)
}

fn lock(file: &File) -> Result<(), Errno> {
    rustix::fs::flock(file.as_fd(), FlockOperation::NonBlockingLockExclusive)
}

/// Whether a path still leads to this open file.
fn is_at(file: &File, path: &Path) -> bool {
    let key = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    let there = std::fs::symlink_metadata(path).map(key);
    matches!((file.metadata().map(key), there), (Ok(held), Ok(there)) if held == there)
}

/// Cleans up after a killed server by its note in the lock file, then clears the note.
fn clear(mut file: &File) {
    let mut note = Vec::new();
    let read = file.take(MOST_NOTE).read_to_end(&mut note);
    if read.is_ok() && !note.is_empty() {
        WriteNote::of(&note).clear();
        if file.set_len(0).and_then(|()| file.rewind()).is_err() {
            tracing::warn!("the note of a killed server could not be cleared");
        }
    }
}

/// The note of a write by a server that was killed.
struct WriteNote {
    /// The temporary file.
    temporary: PathBuf,
    exchange: Option<Exchange>,
}

struct Exchange {
    target: PathBuf,
    /// Device and inode of the new content, or [`REMOVAL`].
    id: String,
    /// The hash of the new content, because the inode number of a removed file is reused.
    new: String,
    /// The hash of the bytes that may be removed; empty if the file did not exist.
    removable: String,
}

impl WriteNote {
    fn of(note: &[u8]) -> Self {
        let path = |bytes: &[u8]| PathBuf::from(std::ffi::OsString::from_vec(bytes.to_vec()));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match note.split(|byte| *byte == 0).collect::<Vec<_>>().as_slice() {
            [temporary, id, new, removable, target] => {
                let (id, new, removable) = (text(id), text(new), text(removable));
                let exchange = Exchange { target: path(target), id, new, removable };
                Self { temporary: path(temporary), exchange: Some(exchange) }
            }
            // The server was killed before the exchange.
            parts => Self { temporary: path(parts.first().unwrap_or(&&b""[..])), exchange: None },
        }
    }

    /// Removes the temporary file if it has the new content or the content that was to be replaced. Otherwise another
    /// program wrote the content in the last moment, and it gets its name back.
    fn clear(&self) {
        let Some(found) = self.temporary_file() else { return };
        let removable = match &self.exchange {
            None => true,
            Some(exchange) if exchange.id == id_of(&found) => true,
            Some(exchange) => has_content(&self.temporary, &exchange.removable),
        };
        if removable || self.put_back() {
            if std::fs::remove_file(&self.temporary).is_ok() {
                tracing::info!(path = %self.temporary.display(), "removed the temporary file of a killed server");
            }
        } else {
            tracing::warn!(path = %self.temporary.display(), "kept a text that another program wrote");
        }
    }

    /// Returns the status of the temporary file, if it is a regular file with a name that only Adjutant uses.
    fn temporary_file(&self) -> Option<std::fs::Metadata> {
        let rest = self.temporary.file_name()?.to_str()?.strip_prefix(".adjutant-")?;
        // Earlier versions wrote the other ending.
        let rest = rest.strip_suffix(".swp").or_else(|| rest.strip_suffix(".tmp"))?;
        let own_name = rest.len() == 16 && rest.bytes().all(|byte| byte.is_ascii_hexdigit());
        let found = std::fs::symlink_metadata(&self.temporary).ok()?;
        (own_name && found.is_file()).then_some(found)
    }

    /// Gives the old file its name back, if the new content still has that name. Returns whether it did.
    fn put_back(&self) -> bool {
        let Some(Exchange { target, id, new, .. }) = &self.exchange else { return false };
        let names = self.temporary.parent().zip(self.temporary.file_name()).zip(target.file_name());
        let Some(((folder, temporary), file)) = names else { return false };
        let Ok(folder) = File::open(folder) else { return false };
        if id == REMOVAL {
            return renameat_with(&folder, temporary, &folder, file, RenameFlags::NOREPLACE).is_ok();
        }
        let now = std::fs::symlink_metadata(target);
        now.is_ok_and(|now| now.is_file() && id_of(&now) == *id)
            && has_content(target, new)
            && renameat_with(&folder, temporary, &folder, file, RenameFlags::EXCHANGE).is_ok()
            && self.temporary_file().is_some_and(|found| id_of(&found) == *id)
    }
}

fn id_of(found: &std::fs::Metadata) -> String {
    format!("{}:{}", found.dev(), found.ino())
}

/// Whether the content of a file has this hash.
fn has_content(path: &Path, hash: &str) -> bool {
    std::fs::read(path).is_ok_and(|bytes| hex(&Sha256::digest(bytes)) == hash)
}

fn hex(sum: &[u8]) -> String {
    sum.iter().map(|byte| format!("{byte:02x}")).collect()
}
