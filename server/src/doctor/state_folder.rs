//! Whether the folder of the sessions can be used, for `adjutant doctor`.
//!
//! Never leaves a change: the file of the test is removed again.

use std::fs::{self, Metadata, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, accessat, statvfs};

/// Bytes that must fit; with less room a session would soon fail.
const ROOM: usize = 64 << 10;

/// The state of a folder that can be used.
#[derive(Debug, PartialEq, Eq)]
pub enum Usable {
    Yes,
    /// Others may enter it; the next run makes it private.
    OpenToOthers,
    /// It does not exist yet, and can be made.
    NotYet,
}

/// Checks the state directory. The error says what is wrong and what to do, and continues a sentence
/// that begins with the path.
pub fn check(state: &Path) -> Result<Usable, String> {
    let mut usable = Usable::Yes;
    let mut last = None;
    for place in [state.to_owned(), state.join("sessions")] {
        match fs::metadata(&place) {
            Ok(found) => {
                own(&place, &found)?;
                if found.permissions().mode() & 0o077 != 0 {
                    usable = Usable::OpenToOthers;
                }
                last = Some(place);
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => break,
            Err(error) => return Err(format!("cannot be checked: {error}")),
        }
    }
    match last {
        Some(place) => try_to_write(&place).map(|()| usable),
        None => can_be_made(state).map(|()| Usable::NotYet),
    }
}

fn own(place: &Path, found: &Metadata) -> Result<(), String> {
    if !found.is_dir() {
        return Err(format!("cannot be used: {place:?} is no folder; remove it"));
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(format!(
            "cannot be used: {place:?} belongs to another user; name one of your own in ADJUTANT_STATE_DIR"
        ));
    }
    Ok(())
}

/// Writes a file as a session would, and removes it.
fn try_to_write(place: &Path) -> Result<(), String> {
    let path = place.join(format!(".doctor-{}", std::process::id()));
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        file.write_all(&vec![0; ROOM])?;
        file.sync_all()
    };
    let written = write();
    // It fails if the file could not be made, which does not matter.
    let _ = fs::remove_file(&path);
    written.map_err(|error| {
        let what_to_do = match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => "make room",
            _ => "make it writable, or name another one in ADJUTANT_STATE_DIR",
        };
        format!("cannot be written: {error}; {what_to_do}")
    })
}

/// Checks whether a folder can be made in the nearest existing one.
fn can_be_made(state: &Path) -> Result<(), String> {
    let Some(there) = state.ancestors().find(|above| above.symlink_metadata().is_ok()) else { return Ok(()) };
    let cannot =
        |why: &str| format!("cannot be made in {there:?}: {why}; name another one in ADJUTANT_STATE_DIR");
    accessat(CWD, there, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS)
        .map_err(|error| cannot(&std::io::Error::from(error).to_string()))?;
    let room = statvfs(there).map_err(|error| cannot(&std::io::Error::from(error).to_string()))?;
    if room.f_bavail.saturating_mul(room.f_frsize) < ROOM as u64 {
        return Err(cannot("no space is left there"));
    }
    Ok(())
}
