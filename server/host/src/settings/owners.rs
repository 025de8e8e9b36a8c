//! Checks owners and modes of settings and state, as ssh does: could another user have written them?
//!
//! Never changes a file of another user, and never changes the mode of a settings file.

use std::fs::{DirBuilder, Metadata, Permissions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

use anyhow::Context;
use rustix::fs::Stat;

/// The mode bits that let a group or all users write.
const OTHERS_WRITE: u32 = 0o022;
const GROUP_WRITES: u32 = 0o020;
/// In a directory with this bit, other users can neither replace nor remove a file.
const STICKY: u32 = 0o1000;

/// Returns why a settings file is not trusted and, after "; ", what to do. It is not trusted if a user other
/// than this one and root could have written or replaced it. Checks every directory up to the user's home, or
/// up to the root.
pub(super) fn doubt(path: &Path, found: Stat) -> Option<String> {
    if !is_trusted(found.st_uid) {
        return Some("belongs to another user; make one of your own".to_owned());
    }
    if found.st_mode & OTHERS_WRITE != 0 {
        return Some(format!("can be written by other users; {}", forbid_writing(path)));
    }
    let home = etcetera::home_dir().ok().filter(|home| home.is_absolute());
    let home = home.and_then(|home| home.canonicalize().ok());
    // Checks the directory of the link's target and that of its name: who can write one can replace the file.
    let real = path.canonicalize().ok()?;
    let named = path.parent().and_then(|directory| directory.canonicalize().ok());
    let places = [real.parent(), named.as_deref()];
    places.into_iter().flatten().find_map(|directory| doubt_of_directory(directory, home.as_deref()))
}

fn forbid_writing(path: &Path) -> String {
    format!("run `chmod go-w {}`", path.display())
}

/// Returns why a resolved directory, or one above it, is not trusted.
fn doubt_of_directory(directory: &Path, home: Option<&Path>) -> Option<String> {
    for (above, place) in directory.ancestors().enumerate() {
        let Ok(found) = place.metadata() else { continue };
        let lies = if above == 0 { "lies in" } else { "lies below" };
        if !is_trusted(found.uid()) {
            return Some(format!("{lies} a directory of another user; move it to one of your own"));
        }
        let writers = found.mode() & OTHERS_WRITE;
        // Many systems give each user a private group. Root may let a group of administrators write a directory.
        let group_is_trusted = || above > 0 && (found.uid() == 0 || is_private(found.gid()));
        let open =
            writers != 0 && found.mode() & STICKY == 0 && !(writers == GROUP_WRITES && group_is_trusted());
        if open {
            return Some(format!("{lies} a directory that other users can write; {}", forbid_writing(place)));
        }
        if home == Some(place) {
            return None;
        }
    }
    None
}

/// Whether a group belongs to the user and has no other member.
fn is_private(group: u32) -> bool {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let user = rustix::process::geteuid().as_raw();
    is_group_of_one(&read("/etc/passwd"), &read("/etc/group"), user, group)
}

fn is_group_of_one(users: &str, groups: &str, user: u32, group: u32) -> bool {
    let has = |line: &str, at: usize, number: u32| {
        line.split(':').nth(at).and_then(|field| field.parse().ok()) == Some(number)
    };
    let in_it: Vec<&str> = users.lines().filter(|line| has(line, 3, group)).collect();
    let [alone] = in_it.as_slice() else { return false };
    let name = alone.split(':').next();
    let mut named = groups.lines().filter(|line| has(line, 2, group));
    let members = named.next().and_then(|line| line.split(':').nth(3));
    has(alone, 2, user)
        && named.next().is_none()
        && members.is_some_and(|members| members.split(',').all(|one| one.is_empty() || Some(one) == name))
}

/// Whether the owner is the user or root; root can do everything anyway.
fn is_trusted(owner: u32) -> bool {
    owner == 0 || owner == rustix::process::geteuid().as_raw()
}

/// Creates a directory for its owner only. Makes an existing one private. Fails if it is a link or belongs to
/// another user.
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

/// Makes the state directory and that of the sessions private if they exist. Returns a notice for each whose
/// mode was too wide. Fails if one belongs to another user. Follows the user's own links.
pub(super) fn guard_state(state: &Path) -> anyhow::Result<Vec<String>> {
    let mut notices = Vec::new();
    for path in [state.to_owned(), state.join("sessions")] {
        let link = path.symlink_metadata().ok().filter(|found| found.is_symlink());
        if link.is_some_and(|link| !is_trusted(link.uid())) {
            anyhow::bail!(
                "use the directory {path:?}: it is a link that another user made; name another directory in \
                 ADJUTANT_STATE_DIR"
            );
        }
        // A missing directory is created private later.
        let Ok(found) = std::fs::metadata(&path) else { continue };
        if let Some(mode) = tighten(&path, &found)? {
            notices.push(format!(
                "the directory {path:?} was open to other users (mode {mode:04o}), who may have read or changed \
                 sessions; it is now private"
            ));
        }
    }
    Ok(notices)
}

/// Makes a directory of the user private. Returns its earlier mode if other users had any permission.
fn tighten(path: &Path, found: &Metadata) -> anyhow::Result<Option<u32>> {
    if !found.is_dir() {
        anyhow::bail!("use the directory {path:?}: it is not a directory");
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

#[cfg(test)]
mod tests {
    use super::is_group_of_one;

    #[test]
    fn finding_h5_a_group_of_one_is_the_users_own() {
        let users =
            "root:x:0:0::/root:/bin/sh\nada:x:1000:1000::/home/ada:/bin/sh\nbob:x:1001:1001::/:/bin/sh\n";
        let groups = "root:x:0:\nada:x:1000:\nbob:x:1001:bob\nstaff:x:50:ada,bob\nwheel:x:10:ada\n";
        let own = |user, group| is_group_of_one(users, groups, user, group);
        assert!(own(1000, 1000) && own(1001, 1001));
        assert!(!own(1000, 1001) && !own(1000, 50) && !own(1000, 10) && !own(1000, 7));
        let joined = groups.replace("ada:x:1000:", "ada:x:1000:bob");
        assert!(!is_group_of_one(users, &joined, 1000, 1000));
        let shared = users.replace("bob:x:1001:1001", "bob:x:1001:1000");
        assert!(!is_group_of_one(&shared, groups, 1000, 1000));
        assert!(!is_group_of_one("", "", 1000, 1000));
    }
}
