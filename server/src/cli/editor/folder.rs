//! The folder of an installed client: writes it, updates it, and removes it.
//!
//! A new version is written next to the folder and then takes its place as a whole, so a kill leaves the old one or the new
//! one. Never changes, overwrites or removes a file that Adjutant did not write: such a file stays, or gets a name of its own.

mod moving;
#[cfg(test)]
mod tests;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};
use rustix::io::Errno;

use super::carried::ClientFile;
use super::written::{LIST, WrittenFiles};
use crate::faults::point;
pub use moving::UserFiles;
use moving::settle;

/// The most bytes of a list that are read.
const MAX_LIST: u64 = 1 << 20;

/// Where a client is installed.
#[derive(Clone, Debug)]
pub struct InstallFolder {
    /// The word after `adjutant editor`.
    pub editor: &'static str,
    pub path: PathBuf,
    /// The folder for what is not in its place yet; on the same disk.
    pub workshop: PathBuf,
}

/// What is in the place of a client.
#[derive(Debug, PartialEq, Eq)]
pub enum FolderState {
    Absent,
    Installed(WrittenFiles),
    /// A folder that Adjutant did not write.
    Foreign,
}

/// How an installation ended.
#[derive(Debug, Default)]
pub struct Installation {
    /// The version that was there before.
    pub before: Option<String>,
    pub users: UserFiles,
}

impl InstallFolder {
    /// Looks at the folder, and changes nothing.
    pub fn state(&self) -> anyhow::Result<FolderState> {
        let found = match fs::symlink_metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(FolderState::Absent),
            found => found.map_err(|error| self.failure("read", &self.path, &error))?,
        };
        if found.is_symlink() {
            let target = fs::read_link(&self.path).unwrap_or_default();
            anyhow::bail!(
                "use \"{}\": it is a link to \"{}\", which Adjutant did not make; remove the link, then run this again",
                self.path.display(),
                target.display()
            );
        }
        if !found.is_dir() {
            anyhow::bail!("use \"{}\": it is a file; move it away, then run this again", self.path.display());
        }
        Ok(read_list(&self.path).map_or(FolderState::Foreign, FolderState::Installed))
    }

    /// Writes the client, or brings it to this version.
    pub fn install(&self, files: &[ClientFile]) -> anyhow::Result<Installation> {
        self.refuse_foreign(files)?;
        let workshop = &self.workshop;
        let folders = [workshop.as_path(), self.path.parent().unwrap_or(workshop)];
        for folder in folders {
            fs::create_dir_all(folder).map_err(|error| self.failure("make the folder", folder, &error))?;
        }
        let _lock = self.lock()?;
        let mut users = self.finish_earlier()?;
        // What was finished may have brought a file of the user back.
        self.refuse_foreign(files)?;
        let before = match self.state()? {
            FolderState::Installed(written) => Some(written.version),
            FolderState::Absent | FolderState::Foreign => None,
        };
        let new = self.beside("new");
        let written = self.write_all(&new, files);
        if let Err(error) = written {
            let _ = fs::remove_dir_all(&new);
            return Err(error);
        }
        point("client-written");
        users.add(self.replace_by(|from, to| renameat_with(CWD, from, CWD, to, RenameFlags::EXCHANGE))?);
        Ok(Installation { before, users })
    }

    /// Removes what Adjutant wrote. Returns `None` if there was nothing.
    pub fn remove(&self) -> anyhow::Result<Option<UserFiles>> {
        if !self.workshop.is_dir() {
            return self.state().map(|_| None);
        }
        let _lock = self.lock()?;
        let left = self.beside("old").exists() || self.beside("swap").exists();
        let mut users = self.finish_earlier()?;
        let installed = matches!(self.state()?, FolderState::Installed(_));
        if installed {
            let old = self.beside("swap");
            self.rename(&self.path, &old)?;
            point("client-aside");
            users.add(self.settled(&old)?);
        }
        // A folder in which something else is stays.
        for folder in [self.path.parent(), Some(self.workshop.as_path())].into_iter().flatten() {
            let _ = fs::remove_dir(folder);
        }
        Ok((installed || left).then_some(users))
    }

    /// Fails if the user has files of their own in the place of the client, for instance a clone of the plugin.
    fn refuse_foreign(&self, files: &[ClientFile]) -> anyhow::Result<()> {
        if self.state()? != FolderState::Foreign {
            return Ok(());
        }
        let taken = files.iter().find(|file| self.path.join(file.path).symlink_metadata().is_ok());
        match taken {
            Some(file) => anyhow::bail!(
                "use \"{}\": Adjutant did not write the files in it, such as {}; move the folder away, then run this again",
                self.path.display(),
                file.path
            ),
            None => Ok(()),
        }
    }

    /// Returns a path in the workshop.
    fn beside(&self, what: &str) -> PathBuf {
        self.workshop.join(format!(".{}.{what}", self.editor))
    }

    /// Keeps other installations out until the value is dropped, also by a kill.
    fn lock(&self) -> anyhow::Result<File> {
        let failure = |error: &io::Error| self.failure("open", &self.workshop, error);
        let folder = File::open(&self.workshop).map_err(|error| failure(&error))?;
        match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(folder),
            Err(Errno::WOULDBLOCK) => {
                anyhow::bail!(
                    "install anything now: another `adjutant editor` is at work; run this again when it has ended"
                )
            }
            // Some file systems, such as NFS, cannot lock a folder. Then nothing keeps a second process out.
            Err(_) => Ok(folder),
        }
    }

    /// Finishes what a killed process began.
    fn finish_earlier(&self) -> anyhow::Result<UserFiles> {
        let [new, swap, old] = ["new", "swap", "old"].map(|what| self.beside(what));
        for place in [&new, &swap, &old] {
            if place.symlink_metadata().is_ok_and(|found| !found.is_dir()) {
                return Err(not_ours(place));
            }
        }
        let mut users = UserFiles::default();
        // The kill came between two renames.
        if old.exists() && !self.path.exists() {
            self.rename(&old, &self.path)?;
        }
        for folder in [old, swap] {
            if folder.exists() {
                users.add(self.settled(&folder)?);
            }
        }
        if new.exists() {
            if !is_begun(&new).map_err(|error| self.failure("read", &new, &error))? {
                return Err(not_ours(&new));
            }
            fs::remove_dir_all(&new).map_err(|error| self.failure("remove", &new, &error))?;
        }
        Ok(users)
    }

    fn write_all(&self, new: &Path, files: &[ClientFile]) -> anyhow::Result<()> {
        let list = WrittenFiles::of(files).text(self.editor);
        let list = ClientFile { path: LIST, bytes: list.into_bytes().into() };
        // The list comes first: by it the next installation knows after a kill whose folder this is.
        for file in [&list].into_iter().chain(files) {
            let path = new.join(file.path);
            write(&path, &file.bytes).map_err(|error| self.failure("write", &path, &error))?;
        }
        Ok(())
    }

    /// Puts the new folder in the place of the old one. `exchange` exchanges two names.
    fn replace_by(&self, exchange: impl Fn(&Path, &Path) -> Result<(), Errno>) -> anyhow::Result<UserFiles> {
        let [new, swap, old] = ["new", "swap", "old"].map(|what| self.beside(what));
        if !self.path.exists() {
            self.rename(&new, &self.path)?;
            return Ok(UserFiles::default());
        }
        // From here on the folder is complete, and is the old or the new one.
        self.rename(&new, &swap)?;
        point("client-complete");
        match exchange(&swap, &self.path) {
            Ok(()) => {
                point("client-exchanged");
                self.settled(&swap)
            }
            // Some file systems cannot exchange names.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                self.rename(&self.path, &old)?;
                self.rename(&swap, &self.path)?;
                self.settled(&old)
            }
            Err(error) => Err(self.failure("replace", &self.path, &error.into())),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> anyhow::Result<()> {
        fs::rename(from, to).map_err(|error| self.failure("replace", to, &error))
    }

    /// Moves what the user has in `old` to the folder, and removes the rest of `old`.
    fn settled(&self, old: &Path) -> anyhow::Result<UserFiles> {
        let lists = [old, &self.path].map(|folder| read_list(folder).unwrap_or_default());
        settle(old, &self.path, &lists).map_err(|error| self.failure("clear", old, &error))
    }

    /// Returns why something failed, and what to do.
    fn failure(&self, what: &str, path: &Path, error: &io::Error) -> anyhow::Error {
        let cure = match error.kind() {
            io::ErrorKind::PermissionDenied => {
                "you have no right to write there; make the folder your own, or name another in XDG_DATA_HOME"
                    .to_owned()
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "the disk is full; make room, then run this again".to_owned()
            }
            io::ErrorKind::ReadOnlyFilesystem => {
                "the disk is read-only; name another folder in XDG_DATA_HOME".to_owned()
            }
            io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
                "a part of this path is a file; move it away, then run this again".to_owned()
            }
            _ => format!("{error}; correct that, then run this again"),
        };
        anyhow::anyhow!("{what} \"{}\": {cure}", path.display())
    }
}

fn not_ours(place: &Path) -> anyhow::Error {
    anyhow::anyhow!(
        "use \"{}\": Adjutant did not make what is there; move it away, then run this again",
        place.display()
    )
}

/// Whether a folder is one that an installation began: it has a list, or nothing but the begin of one.
fn is_begun(folder: &Path) -> io::Result<bool> {
    if read_list(folder).is_some() {
        return Ok(true);
    }
    for entry in fs::read_dir(folder)? {
        if entry?.file_name() != LIST {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Reads the list of a folder; `None` if there is none that Adjutant wrote.
fn read_list(folder: &Path) -> Option<WrittenFiles> {
    let path = folder.join(LIST);
    if !path.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    File::open(&path).ok()?.take(MAX_LIST).read_to_string(&mut text).ok()?;
    WrittenFiles::parse(&text)
}

/// Writes a new file to the disk.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Writes a file that the user named. An existing one is replaced as a whole, and only if it is a package.
pub fn write_package(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let place = path.display();
    if path.is_dir() {
        anyhow::bail!("write \"{place}\": it is a folder; name a file in it");
    }
    if path.symlink_metadata().is_ok() && !begins_as_package(path) {
        anyhow::bail!("write \"{place}\": another file is there; name a new one");
    }
    let mut name = path.file_name().context("write the package: name a file")?.to_owned();
    name.push(format!(".new-{}", std::process::id()));
    let new = path.with_file_name(name);
    let written = OpenOptions::new().write(true).create_new(true).open(&new).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&new, path)
    });
    written.inspect_err(|_| drop(fs::remove_file(&new))).with_context(|| format!("write \"{place}\""))
}

fn begins_as_package(path: &Path) -> bool {
    let mut start = [0; 4];
    let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
    is_file
        && File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok()
        && start == *b"PK\x03\x04"
}
