//! Who else could have written what is believed: owners and modes, looked at as ssh does.
//!
//! Never changes what belongs to another user, and never the mode of a settings file.

use std::fs::{DirBuilder, Metadata, Permissions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

use anyhow::Context;
use rustix::fs::Stat;

/// Bits that let a group or everybody write.
const OTHERS_WRITE: u32 = 0o022;
/// In a directory with this bit, others can neither replace nor remove a file.
const STICKY: u32 = 0o1000;

/// Returns why a settings file is not believed, and behind "; " what to do: anybody but the user and root
/// could have written it, or put it there.
pub(super) fn doubt(path: &Path, found: Stat) -> Option<String> {
    let fix = |what: &Path| format!("run `chmod go-w {}`", what.display());
    if !is_trusted(found.st_uid) {
        return Some("belongs to another user; make one of your own".to_owned());
    }
    if found.st_mode & OTHERS_WRITE != 0 {
        return Some(format!("can be written by other users; {}", fix(path)));
    }
    // Where its links lead: whoever may write that directory can put another file in its place.
    let real = path.canonicalize().ok()?;
    let directory = real.parent()?;
    let around = directory.metadata().ok()?;
    if !is_trusted(around.uid()) {
        return Some("lies in a directory of another user; move it to one of your own".to_owned());
    }
    let open = around.mode() & OTHERS_WRITE != 0 && around.mode() & STICKY == 0;
    open.then(|| format!("lies in a directory that other users can write; {}", fix(directory)))
}

/// The user and root: whoever is root can do everything anyway.
fn is_trusted(owner: u32) -> bool {
    owner == 0 || owner == rustix::process::geteuid().as_raw()
}

/// Creates a directory of Adjutant's, for its owner alone; one that is there already is made so. A link is
/// not followed.
pub fn private_dir(path: &Path) -> anyhow::Result<()> {
    let make = || format!("create the directory {path:?}");
    if !path.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
        DirBuilder::new().recursive(true).mode(0o700).create(path).with_context(make)?;
    }
    let found = std::fs::symlink_metadata(path).with_context(make)?;
    if found.is_symlink() {
        anyhow::bail!("use the directory {path:?}: it is a link; remove it");
    }
    tighten(path, &found).map(drop)
}

/// Makes the state directory and that of the sessions private, as far as they are there; returns what there
/// is to tell of it. Fails where they are another user's. The user's own links are followed.
pub(super) fn guard_state(state: &Path) -> anyhow::Result<Vec<String>> {
    let mut told = Vec::new();
    for path in [state.to_owned(), state.join("sessions")] {
        let link = path.symlink_metadata().ok().filter(|found| found.is_symlink());
        if link.is_some_and(|link| !is_trusted(link.uid())) {
            anyhow::bail!("use the directory {path:?}: it is a link of another user; remove it");
        }
        // What is not there will be made private.
        let Ok(found) = std::fs::metadata(&path) else { continue };
        if let Some(mode) = tighten(&path, &found)? {
            told.push(format!(
                "the directory {path:?} was open to other users (mode {mode:04o}), who may have read or changed \
                 sessions; it is now yours alone"
            ));
        }
    }
    Ok(told)
}

/// Takes away what others may do with a directory of the user; returns the mode it had, if that was too wide.
fn tighten(path: &Path, found: &Metadata) -> anyhow::Result<Option<u32>> {
    if !found.is_dir() {
        anyhow::bail!("use the directory {path:?}: it is no directory");
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        anyhow::bail!(
            "use the directory {path:?}: it belongs to another user; name one of your own in ADJUTANT_STATE_DIR"
        );
    }
    let mode = found.permissions().mode() & 0o7777;
    if mode & 0o077 == 0 {
        return Ok(None);
    }
    let private = Permissions::from_mode(0o700);
    std::fs::set_permissions(path, private)
        .with_context(|| format!("make the directory {path:?} private"))?;
    Ok(Some(mode))
}
