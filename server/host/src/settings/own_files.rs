//! Files that settings name: keys, certificates and scripts, looked at before they are believed.
//!
//! Never writes one, and never quotes what is in a key file.

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

/// The most bytes of a key; longer than any there is.
const MAX_KEY_BYTES: u64 = 8 << 10;
/// The most bytes of a file of certificates: several times what a platform has.
const MAX_CERTIFICATE_BYTES: u64 = 4 << 20;
/// The most bytes of a script of a scripted model.
const MAX_SCRIPT_BYTES: u64 = 32 << 20;

/// How every certificate in PEM form begins.
const PEM_CERTIFICATE: &[u8] = b"-----BEGIN CERTIFICATE-----";

/// Opens a regular file without waiting for anybody; an error fits behind what the file is.
///
/// Links are followed: they are the user's own, and what they lead to is judged.
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

/// Opens a file that its owner alone can read, and who that is must be the user.
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

/// Reads a file that holds a key; an error fits behind "the file ".
pub fn private_text(path: &str) -> Result<String, String> {
    let bytes = bytes(path, open_private(path)?, MAX_KEY_BYTES)?;
    String::from_utf8(bytes).map_err(|_| format!("{path:?} is not text; let it hold the key alone"))
}

/// Reads a file of certificates; an error fits behind "the file ".
pub fn certificates(path: &str) -> Result<Vec<u8>, String> {
    let bytes = of_at_most(path, MAX_CERTIFICATE_BYTES)?;
    if !bytes.windows(PEM_CERTIFICATE.len()).any(|window| window == PEM_CERTIFICATE) {
        return Err(format!("{path:?} holds no certificate in PEM form"));
    }
    Ok(bytes)
}

/// Reads the script of a scripted model; an error fits behind "the script ".
pub fn script(path: &str) -> Result<String, String> {
    let bytes = of_at_most(path, MAX_SCRIPT_BYTES)?;
    String::from_utf8(bytes).map_err(|_| format!("{path:?} is not UTF-8 text"))
}

/// Reads a file that has no more than so many bytes.
fn of_at_most(path: &str, most: u64) -> Result<Vec<u8>, String> {
    let (file, found) = open(path)?;
    match found.len() > most {
        true => Err(format!("{path:?} is larger than {} MiB", most >> 20)),
        // What others can write would say whom to trust, or what a model wants.
        false => match super::owners::doubt(
            Path::new(path),
            rustix::fs::fstat(&file).map_err(|error| error.to_string())?,
        ) {
            Some(why) => Err(format!("{path:?} {why}")),
            None => bytes(path, file, most),
        },
    }
}

/// Reads a file to its end, or so far if it has grown meanwhile.
fn bytes(path: &str, file: File, most: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = file.take(most).read_to_end(&mut bytes);
    read.map_err(|error| format!("{path:?} could not be read ({error})"))?;
    Ok(bytes)
}

/// Where Adjutant's own files are, whatever the settings say.
#[derive(Clone, Debug, Default)]
pub struct OwnPlaces {
    /// The user's settings file, there or not.
    pub settings: Option<PathBuf>,
    pub state: Option<PathBuf>,
    pub home: Option<PathBuf>,
}

impl OwnPlaces {
    /// Returns them with every file the settings name, for a workspace of these folders.
    pub fn all(&self, settings: &Settings, folders: &[&Path]) -> Vec<PathBuf> {
        let around = self.settings.as_deref().map(|file| self::around(file, folders));
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
        around.into_iter().chain(self.state.clone()).chain(files).collect()
    }
}

/// The files that a program which prints a key may be, or may run: a word can be a line of a shell.
fn of_command(words: &[String], home: Option<&Path>) -> Vec<PathBuf> {
    let ends = |c: char| c.is_whitespace() || "'\"`|;&()<>=$".contains(c);
    let pieces = words.iter().flat_map(|word| word.split(ends)).filter(|piece| piece.contains('/'));
    // Such a program starts in the root directory.
    let paths = pieces.map(|piece| {
        let of_home = ["~/", "HOME/", "{HOME}/"].iter().find_map(|start| piece.strip_prefix(start));
        match (of_home, home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => Path::new("/").join(piece),
        }
    });
    // A folder is where such a program works, and not its own: `git -C /home/me/notes config x`.
    let whole = words.iter().filter(|word| word.starts_with('/')).map(PathBuf::from);
    let whole = whole.filter(|path| !path.is_dir());
    whole.chain(paths.filter(|path| path.is_file())).collect()
}

/// The folder of the settings; of a file that lies among the user's own, which the environment may name, that alone.
fn around(file: &Path, folders: &[&Path]) -> PathBuf {
    let Some(folder) = file.parent() else { return file.to_owned() };
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let is_ours = folder.file_name().is_some_and(|name| name == "adjutant");
    match is_ours || !folders.iter().any(|open| open.starts_with(&real)) {
        true => folder.to_owned(),
        false => file.to_owned(),
    }
}

/// Looks at the files that settings name; no key is read here.
pub(super) fn problems(settings: &Settings) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut tell = |key: String, why: String, what_to_do: &str| {
        let place = match settings.origin_of(&key) {
            Some(SettingOrigin::UserFile { path, line }) => (Some(path.clone()), *line),
            _ => (None, None),
        };
        let (message, what_to_do) = why.split_once("; ").unwrap_or((&why, what_to_do));
        problems.push(Problem {
            flaw: Flaw::Unreadable,
            file: place.0,
            line: place.1,
            key: Some(key),
            message: format!("the file {message}"),
            what_to_do: what_to_do.to_owned(),
        });
    };
    // All providers have the same one.
    if let Some(path) = settings.providers.values().find_map(|provider| provider.reach.ca_file.as_ref())
        && let Err(why) = certificates(path)
    {
        tell("http.ca_file".to_owned(), why, "name a PEM file with the certificate of the authority");
    }
    for provider in settings.providers.values() {
        if let Some(KeySource::File(path)) = &provider.key
            && let Err(why) = open_private(path)
        {
            tell(format!("providers.{}.api_key_file", provider.name), why, "put the key into it");
        }
    }
    problems
}
