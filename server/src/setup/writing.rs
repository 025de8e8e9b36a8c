//! The user's settings file with one more provider in it, or with another choice for new sessions.
//!
//! Keeps everything else in the file, with comments and order. Never writes a key into the settings.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use adjutant_core::config::Wire;
use adjutant_core::digest_parts;
use anyhow::Context;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use toml_edit::{DocumentMut, Item, Table, TableLike, value};

use crate::settings::private_dir;

/// How long a write waits for another one.
const LOCK_WAIT: Duration = Duration::from_secs(3);
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// A provider as the user described it.
pub struct NewProvider {
    pub name: String,
    pub wire: Wire,
    pub base_url: String,
    pub model: String,
}

/// Where its key is. Has no `Debug` on purpose.
pub enum Key {
    Variable(String),
    /// The key itself, to be written to a file.
    Typed(String),
}

/// Reads the settings file; returns an empty text if there is none. Fails if it is not TOML, before the
/// user answers questions in vain.
pub fn read(file: &Path) -> anyhow::Result<String> {
    let text = match fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        read => read.with_context(|| format!("read \"{}\"", file.display()))?,
    };
    parsed(&text, file)?;
    Ok(text)
}

fn parsed(present: &str, file: &Path) -> anyhow::Result<DocumentMut> {
    present.parse().map_err(|error: toml_edit::TomlError| {
        let at = error.span().map_or(0, |span| span.start);
        let line = present.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1;
        anyhow::anyhow!(
            "read \"{}\": line {line} is not valid TOML: {}; correct it, or move the file away, then run setup again",
            file.display(),
            error.message()
        )
    })
}

/// Returns the settings with the provider in them and its model as `model`. A typed key is read from the
/// file of this name in the same folder.
pub fn changed(
    present: &str,
    provider: &NewProvider,
    key: Option<(&Key, &str)>,
    file: &Path,
) -> anyhow::Result<String> {
    let mut document = parsed(present, file)?;
    set(document.as_table_mut(), "model", &format!("{}/{}", provider.name, provider.model));
    let providers = document.entry("providers").or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let odd = || anyhow::anyhow!("use \"{}\": its `providers` is no table; correct it", file.display());
    let providers = providers.as_table_like_mut().ok_or_else(odd)?;
    let one = providers.entry(&provider.name).or_insert_with(|| Item::Table(Table::new()));
    let one = one.as_table_like_mut().ok_or_else(odd)?;
    // One provider has one key, so those of before are removed.
    for other in ["api_key_env", "api_key_command", "api_key_file", "script"] {
        one.remove(other);
    }
    // A header may hold a secret of the service for which it was written.
    if one.get("base_url").and_then(Item::as_str).map(same_address) != Some(same_address(&provider.base_url))
    {
        one.remove("headers");
    }
    set(one, "wire", provider.wire.name());
    set(one, "base_url", &provider.base_url);
    match key {
        Some((Key::Variable(name), _)) => set(one, "api_key_env", name),
        Some((Key::Typed(_), name)) => set(one, "api_key_file", name),
        None => {}
    }
    Ok(document.to_string())
}

/// Sets one value; comments around the old one stay.
fn set(table: &mut dyn TableLike, key: &str, text: &str) {
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(present) => {
            let decor = present.decor().clone();
            *present = text.into();
            *present.decor_mut() = decor;
        }
        None => drop(table.insert(key, value(text))),
    }
}

/// Reads the settings, and writes the key, then the settings that name it. No other write comes between.
pub fn write(file: &Path, provider: &NewProvider, key: Option<&Key>) -> anyhow::Result<()> {
    folder_of(file)?;
    let _lock = lock(file)?;
    let present = read(file)?;
    let name = key_file(provider);
    let text = changed(&present, provider, key.map(|key| (key, name.as_str())), file)?;
    // A relative name is looked up beside the settings as they are named, not beside what a link names.
    if let Some(Key::Typed(key)) = key {
        replace(&file.with_file_name(name), key)?;
    }
    // If the file is a link, for instance into a repository of settings, it stays one.
    replace(&fs::canonicalize(file).unwrap_or_else(|_| file.to_owned()), &text)
}

/// Removes one key. The comments above it stay, above what follows, or at the end of the keys.
fn remove(document: &mut DocumentMut, key: &str) {
    let table = document.as_table_mut();
    let comments = table.key(key).and_then(|key| key.leaf_decor().prefix()?.as_str().map(str::to_owned));
    let next = table.iter().map(|(name, _)| name.to_owned()).skip_while(|name| name != key).nth(1);
    table.remove(key);
    let Some(comments) = comments.filter(|text| text.contains('#')) else { return };
    let Some(next) = next else {
        let present = document.trailing().as_str().unwrap_or_default().to_owned();
        return document.set_trailing(format!("{comments}{present}"));
    };
    let above = |decor: &mut toml_edit::Decor| {
        let present = decor.prefix().and_then(toml_edit::RawString::as_str).unwrap_or_default().to_owned();
        decor.set_prefix(format!("{comments}{present}"));
    };
    match table.get_mut(&next) {
        Some(Item::Table(table)) => above(table.decor_mut()),
        _ => drop(table.key_mut(&next).map(|mut key| above(key.leaf_decor_mut()))),
    }
}

/// Writes one key of the settings, or removes it. No other write comes between.
pub fn write_choice(file: &Path, key: &str, choice: Option<&str>) -> anyhow::Result<()> {
    folder_of(file)?;
    let _lock = lock(file)?;
    let mut document = parsed(&read(file)?, file)?;
    match choice {
        Some(choice) => set(document.as_table_mut(), key, choice),
        None => remove(&mut document, key),
    }
    replace(&fs::canonicalize(file).unwrap_or_else(|_| file.to_owned()), &document.to_string())
}

/// Returns the name of the file of a typed key. It belongs to one address, so that settings which name
/// another address never find this key, also in a process that has not read the new ones yet.
fn key_file(provider: &NewProvider) -> String {
    let address = digest_parts(&[same_address(&provider.base_url).as_bytes()]);
    format!("{}-{}.key", provider.name, &address[..16])
}

/// Returns an address as the settings compare it.
fn same_address(url: &str) -> &str {
    url.trim_end_matches('/')
}

/// Keeps other writes out until the value is dropped, also by a kill.
fn lock(file: &Path) -> anyhow::Result<File> {
    let folder = file.parent().context("find the folder of the settings")?;
    let opened = File::open(folder).with_context(|| format!("open \"{}\"", folder.display()))?;
    let until = Instant::now() + LOCK_WAIT;
    loop {
        match flock(&opened, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if Instant::now() < until => std::thread::sleep(LOCK_PAUSE),
            Err(Errno::WOULDBLOCK) => anyhow::bail!(
                "write \"{}\": another Adjutant is writing it; nothing was written; try again when it has ended",
                file.display()
            ),
            // Some file systems, such as NFS, cannot lock a folder. Then nothing keeps a second process out.
            Ok(()) | Err(_) => return Ok(opened),
        }
    }
}

/// Makes the folder of a file, if there is none; an existing one is not changed.
fn folder_of(file: &Path) -> anyhow::Result<()> {
    let dir = file.parent().context("find the folder of the settings")?;
    if dir.exists() { Ok(()) } else { private_dir(dir) }
}

/// Replaces a file with a text, atomically; only its owner can read it.
fn replace(file: &Path, text: &str) -> anyhow::Result<()> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|error| anyhow::anyhow!("draw a random name: {error}"))?;
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".new-{:016x}", u64::from_ne_bytes(random)));
    let new = file.with_file_name(name);
    let written = || -> io::Result<()> {
        let mut out = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        out.write_all(text.as_bytes())?;
        out.sync_all()?;
        fs::rename(&new, file)
    };
    written()
        .inspect_err(|_| drop(fs::remove_file(&new)))
        .with_context(|| format!("write \"{}\"", file.display()))
}

#[cfg(test)]
mod tests;
