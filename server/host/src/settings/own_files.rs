//! Files that settings name: keys, certificates and scripts. Their owners and modes are checked before use.
//!
//! Never writes such a file, and never quotes the content of a key file.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use adjutant_core::config::{Flaw, KeySource, Problem, SettingOrigin, Settings};
use rustix::fs::Mode;
use rustix::io::Errno;

use super::reading;

#[cfg(test)]
mod tests;

/// The most bytes of a key file; no key is longer.
const MAX_KEY_BYTES: u64 = 8 << 10;
/// The most bytes of a certificate file: several times the size of a platform's store.
const MAX_CERTIFICATE_BYTES: u64 = 4 << 20;
/// The most bytes of the script of a scripted model.
const MAX_SCRIPT_BYTES: u64 = 32 << 20;

/// The first line of every certificate in PEM form.
const PEM_CERTIFICATE: &[u8] = b"-----BEGIN CERTIFICATE-----";

/// Opens a regular file without waiting. The text of an error follows a word for the file, as in "the file ".
///
/// Links are followed, because they are the user's own; their target is checked.
fn open(path: &str) -> Result<(File, std::fs::Metadata), String> {
    let opened = rustix::fs::open(Path::new(path), reading(), Mode::empty());
    let file = File::from(opened.map_err(|error| match error {
        Errno::NOENT | Errno::NOTDIR => format!("{path:?} does not exist"),
        Errno::ACCESS | Errno::PERM => format!("{path:?} may not be read by you"),
        error => format!("{path:?} could not be opened ({error})"),
    })?);
    let found = file.metadata().map_err(|error| format!("{path:?} could not be read ({error})"))?;
    if !found.is_file() {
        return Err(format!("{path:?} is no regular file"));
    }
    Ok((file, found))
}

/// Opens a file. Fails unless the user owns it and no other user can read it.
fn open_private(path: &str) -> Result<File, String> {
    let (file, found) = open(path)?;
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(format!("{path:?} belongs to another user; make one of your own"));
    }
    if found.permissions().mode() & 0o077 != 0 {
        return Err(format!("{path:?} is open to other users; run `chmod 600` on it"));
    }
    if found.len() > MAX_KEY_BYTES {
        return Err(format!("{path:?} is larger than any key; let it hold the key alone"));
    }
    Ok(file)
}

/// Reads a key file. The text of an error follows "the file ".
pub fn private_text(path: &str) -> Result<String, String> {
    let bytes = bytes(path, open_private(path)?, MAX_KEY_BYTES)?;
    String::from_utf8(bytes).map_err(|_| format!("{path:?} is not text; let it hold the key alone"))
}

/// Reads a certificate file. The text of an error follows "the file ".
pub fn certificates(path: &str) -> Result<Vec<u8>, String> {
    let bytes = read_trusted(path, MAX_CERTIFICATE_BYTES)?;
    if !bytes.windows(PEM_CERTIFICATE.len()).any(|window| window == PEM_CERTIFICATE) {
        return Err(format!("{path:?} holds no certificate in PEM form"));
    }
    Ok(bytes)
}

/// Reads the script of a scripted model. The text of an error follows "the script ".
pub fn script(path: &str) -> Result<String, String> {
    let bytes = read_trusted(path, MAX_SCRIPT_BYTES)?;
    String::from_utf8(bytes).map_err(|_| format!("{path:?} is not UTF-8 text"))
}

/// Reads a file of at most `most` bytes that no other user can write.
fn read_trusted(path: &str, most: u64) -> Result<Vec<u8>, String> {
    let (file, found) = open(path)?;
    if found.len() > most {
        return Err(format!("{path:?} is larger than {} MiB", most >> 20));
    }
    // Another user who can write the file could choose the trusted authorities or the actions of a model.
    let stat = rustix::fs::fstat(&file).map_err(|error| error.to_string())?;
    match super::owners::doubt(Path::new(path), stat) {
        Some(why) => Err(format!("{path:?} {why}")),
        None => bytes(path, file, most),
    }
}

/// Reads a file to its end, at most `most` bytes: it may have grown meanwhile.
fn bytes(path: &str, file: File, most: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = file.take(most).read_to_end(&mut bytes);
    read.map_err(|error| format!("{path:?} could not be read ({error})"))?;
    Ok(bytes)
}

/// The places of Adjutant's own files, apart from those that settings name.
#[derive(Clone, Debug, Default)]
pub struct OwnPlaces {
    /// The user's settings file, whether it exists or not.
    pub settings: Option<PathBuf>,
    pub state: Option<PathBuf>,
    pub home: Option<PathBuf>,
}

impl OwnPlaces {
    /// Returns these places and every file that the settings name, for a workspace of these folders.
    pub fn all(&self, settings: &Settings, folders: &[&Path]) -> Vec<PathBuf> {
        let config = self.settings.as_deref().map(|file| config_place(file, folders));
        let home = self.home.as_deref();
        let files = settings.providers.values().flat_map(|provider| {
            let key = match &provider.key {
                Some(KeySource::File(path)) => vec![PathBuf::from(path)],
                Some(KeySource::Command(words)) => of_command(words, home),
                Some(KeySource::Variable(_)) | None => Vec::new(),
            };
            let named = [provider.script.as_deref(), provider.reach.ca_file.as_deref()].into_iter().flatten();
            key.into_iter().chain(named.map(PathBuf::from)).filter(|path| path.is_absolute())
        });
        config.into_iter().chain(self.state.clone()).chain(files).collect()
    }
}

/// Returns the files of a key command: the program and files that it may run. A word may be a shell line.
fn of_command(words: &[String], home: Option<&Path>) -> Vec<PathBuf> {
    let ends = |c: char| c.is_whitespace() || "'\"`|;&()<>=$".contains(c);
    let pieces = words.iter().flat_map(|word| word.split(ends)).filter(|piece| piece.contains('/'));
    // A key command starts in the root directory.
    let paths = pieces.map(|piece| {
        let of_home = ["~/", "HOME/", "{HOME}/"].iter().find_map(|start| piece.strip_prefix(start));
        match (of_home, home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => Path::new("/").join(piece),
        }
    });
    // A folder is only where the command works, as in `git -C /home/me/notes config x`.
    let whole = words.iter().filter(|word| word.starts_with('/')).map(PathBuf::from);
    let whole = whole.filter(|path| !path.is_dir());
    whole.chain(paths.filter(|path| path.is_file())).collect()
}

/// Returns the folder of the settings file. If a workspace lies in that folder and it is not named `adjutant`,
/// returns only the file.
fn config_place(file: &Path, folders: &[&Path]) -> PathBuf {
    let Some(folder) = file.parent() else { return file.to_owned() };
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let is_own = folder.file_name().is_some_and(|name| name == "adjutant");
    let holds_workspace = folders.iter().any(|open| open.starts_with(&real));
    if is_own || !holds_workspace { folder.to_owned() } else { file.to_owned() }
}

/// Checks the files that settings name. Reads no key.
pub(super) fn problems(settings: &Settings) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut report = |key: String, why: String, what_to_do: &str| {
        let (file, line) = match settings.origin_of(&key) {
            Some(SettingOrigin::UserFile { path, line }) => (Some(path.clone()), *line),
            _ => (None, None),
        };
        let (message, what_to_do) = why.split_once("; ").unwrap_or((&why, what_to_do));
        problems.push(Problem {
            flaw: Flaw::Unreadable,
            file,
            line,
            key: Some(key),
            message: format!("the file {message}"),
            what_to_do: what_to_do.to_owned(),
        });
    };
    // All providers have the same certificate file.
    if let Some(path) = settings.providers.values().find_map(|provider| provider.reach.ca_file.as_ref())
        && let Err(why) = certificates(path)
    {
        report("http.ca_file".to_owned(), why, "name a PEM file with the certificate of the authority");
    }
    for provider in settings.providers.values() {
        if let Some(KeySource::File(path)) = &provider.key
            && let Err(why) = open_private(path)
        {
            report(format!("providers.{}.api_key_file", provider.name), why, "put the key into it");
        }
    }
    problems
}
