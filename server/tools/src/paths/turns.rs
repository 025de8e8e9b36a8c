//! A lock for each file, shared by all servers of a user. Removes the temporary files of a server that was killed
//! while it held one.
//!
//! Never puts a lock into the workspace, and never removes a file while somebody holds its turn.

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

/// How often a turn is tried, and the pause between: a write takes milliseconds.
const TRIES: u32 = 250;
const PAUSE: Duration = Duration::from_millis(20);
/// The longest note of a turn: two paths and two numbers.
const MOST_NOTE: u64 = 16 * 1024;

/// The folder of turns; without one nobody is waited for.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    folder: Option<PathBuf>,
}

/// Somebody has the turn and does not end it.
#[derive(Debug)]
pub struct Busy;

/// The turn at one file, up to its drop.
#[derive(Debug)]
pub struct Turn {
    held: Option<(File, PathBuf)>,
}

impl Turns {
    /// Turns are taken in a folder of the state directory.
    pub fn in_state(state: &Path) -> Self {
        Self { folder: Some(state.join("writing")) }
    }

    /// Waits for the turn at a file. Where no lock can be made, as on a full disk, there is none.
    pub fn acquire(&self, target: &Path) -> Result<Turn, Busy> {
        let free = Turn { held: None };
        let Some(folder) = &self.folder else { return Ok(free) };
        let path = folder.join(name_of(target));
        for _ in 0..TRIES {
            let file = match open(&path).or_else(|_| made(folder).and_then(|()| open(&path))) {
                Ok(file) => file,
                Err(error) => {
                    tracing::warn!(%error, "a file is written without a lock");
                    return Ok(free);
                }
            };
            match lock(&file) {
                Ok(()) if is_at(&file, &path) => {
                    clear(&file);
                    return Ok(Turn { held: Some((file, path)) });
                }
                // Its holder has removed it meanwhile.
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => std::thread::sleep(PAUSE),
                Err(_) => return Ok(free),
            }
        }
        Err(Busy)
    }

    /// Removes what servers that are no more left beside files they wrote.
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
            drop(Turn { held: Some((file, path)) });
        }
    }
}

impl Turn {
    /// Notes which file the next server has to remove if this one is killed now.
    pub(super) fn leaves(&self, beside: &Path) {
        self.note(beside.as_os_str().as_bytes());
    }

    /// Notes what that file is before it is exchanged with `target`: device, inode and hash of the new
    /// content, and the hash of the bytes that may go. What else comes out of the exchange belongs to
    /// another program.
    pub(super) fn exchanges(
        &self,
        target: &Path,
        (id, new): ((u64, u64), [u8; 32]),
        may_go: Option<[u8; 32]>,
    ) {
        let may_go = may_go.map(|sum| hex(&sum)).unwrap_or_default();
        self.note(format!("\0{}:{}\0{}\0{may_go}\0", id.0, id.1, hex(&new)).as_bytes());
        self.note(target.as_os_str().as_bytes());
    }

    fn note(&self, bytes: &[u8]) {
        let Some((file, _)) = &self.held else { return };
        let mut writer: &File = file;
        if let Err(error) = writer.write_all(bytes) {
            tracing::warn!(%error, "what a write would leave behind is not noted");
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some((_, path)) = &self.held {
            // While it is still locked, so that nobody else has taken it.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn name_of(target: &Path) -> String {
    let sum = Sha256::digest(target.as_os_str().as_bytes());
    sum.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

fn made(folder: &Path) -> io::Result<()> {
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

fn is_at(file: &File, path: &Path) -> bool {
    let key = |about: std::fs::Metadata| (about.dev(), about.ino());
    let there = std::fs::symlink_metadata(path).map(key);
    matches!((file.metadata().map(key), there), (Ok(held), Ok(there)) if held == there)
}

/// Brings to its end what a killed server noted in its turn, and forgets it.
fn clear(mut file: &File) {
    let mut note = Vec::new();
    let read = file.take(MOST_NOTE).read_to_end(&mut note);
    if read.is_ok() && !note.is_empty() {
        WriteNote::of(&note).clear();
        if file.set_len(0).and_then(|()| file.rewind()).is_err() {
            tracing::warn!("what a killed server left is noted for good");
        }
    }
}

/// What a server noted of its write before it was killed.
struct WriteNote {
    /// The name beside the file.
    beside: PathBuf,
    exchange: Option<Exchange>,
}

struct Exchange {
    target: PathBuf,
    id: String,
    /// The hash of the new content: the number of a file that is gone is given to another.
    new: String,
    /// The hash of the bytes that may go, empty for a file that was not there.
    may_go: String,
}

impl WriteNote {
    fn of(note: &[u8]) -> Self {
        let path = |bytes: &[u8]| PathBuf::from(std::ffi::OsString::from_vec(bytes.to_vec()));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match note.split(|byte| *byte == 0).collect::<Vec<_>>().as_slice() {
            [beside, id, new, may_go, target] => {
                let (id, new, may_go) = (text(id), text(new), text(may_go));
                let exchange = Exchange { target: path(target), id, new, may_go };
                Self { beside: path(beside), exchange: Some(exchange) }
            }
            // It was killed before there was anything to exchange.
            parts => Self { beside: path(parts.first().unwrap_or(&&b""[..])), exchange: None },
        }
    }

    /// Removes the file beside if it is new content or what was to be replaced. What another program wrote
    /// in the last moment came out of the exchange instead: it gets its name back, as it would have.
    fn clear(&self) {
        let Some(about) = self.about() else { return };
        let goes = match &self.exchange {
            None => true,
            Some(exchange) if exchange.id == id_of(&about) => true,
            Some(exchange) => holds(&self.beside, &exchange.may_go),
        };
        if goes || self.put_back() {
            if std::fs::remove_file(&self.beside).is_ok() {
                tracing::info!(path = %self.beside.display(), "removed what a killed server left");
            }
        } else {
            tracing::warn!(path = %self.beside.display(), "what another program wrote is kept here");
        }
    }

    /// What is there now, if it is a plain file with such a name as only this program gives.
    fn about(&self) -> Option<std::fs::Metadata> {
        let rest = self.beside.file_name()?.to_str()?.strip_prefix(".adjutant-")?.strip_suffix(".tmp")?;
        let ours = rest.len() == 16 && rest.bytes().all(|byte| byte.is_ascii_hexdigit());
        let about = std::fs::symlink_metadata(&self.beside).ok()?;
        (ours && about.is_file()).then_some(about)
    }

    /// Gives the file its name back that came out of the exchange, if the new content still has it.
    fn put_back(&self) -> bool {
        let Some(Exchange { target, id, new, .. }) = &self.exchange else { return false };
        let names = self.beside.parent().zip(self.beside.file_name()).zip(target.file_name());
        let Some(((folder, beside), file)) = names else { return false };
        let Ok(folder) = File::open(folder) else { return false };
        let now = std::fs::symlink_metadata(target);
        now.is_ok_and(|now| now.is_file() && id_of(&now) == *id)
            && holds(target, new)
            && renameat_with(&folder, beside, &folder, file, RenameFlags::EXCHANGE).is_ok()
            && self.about().is_some_and(|about| id_of(&about) == *id)
    }
}

fn id_of(about: &std::fs::Metadata) -> String {
    format!("{}:{}", about.dev(), about.ino())
}

/// Whether a file holds the bytes that have this hash.
fn holds(path: &Path, hash: &str) -> bool {
    std::fs::read(path).is_ok_and(|bytes| hex(&Sha256::digest(bytes)) == hash)
}

fn hex(sum: &[u8]) -> String {
    sum.iter().map(|byte| format!("{byte:02x}")).collect()
}
