//! Reads the slash commands of the user and of the workspace: `commands/NAME.md` next to the user's settings, and
//! `.adjutant/commands/NAME.md` in each workspace folder.
//!
//! Never follows a link in a workspace, and never reads there more than a bound. Never runs anything.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use adjutant_core::wire::slash::{CommandSource, MAX_TEXT, SlashCommand, built_in};
use rustix::fs::{Dir, Mode, OFlags, open, openat};

use super::World;
use crate::tools::paths::Roots;

/// Files of one folder that are read.
const MAX_FILES: usize = 200;

/// Returns all commands, ordered by name. The user's file wins over the workspace's, and any file over Adjutant's own. Blocks.
pub fn commands(world: &World, roots: &Roots) -> Vec<SlashCommand> {
    let mut found = Vec::new();
    if let Some(settings) = world.own.settings.as_deref().and_then(Path::parent) {
        let folder = open(settings.join("commands"), FOLDER, Mode::empty()).ok();
        found.extend(folder.into_iter().flat_map(|folder| of_folder(&folder, CommandSource::User)));
    }
    let root_names: Vec<String> = roots.paths().map(|root| root.to_string_lossy().into_owned()).collect();
    let settings = world.settings();
    for root in roots.paths() {
        let is_denied = |command: &SlashCommand| {
            let path = root.join(".adjutant/commands").join(format!("{}.md", command.name));
            settings.deny.denial_of_file("read_file", &path.to_string_lossy(), &root_names).is_some()
        };
        let inside = open(root, FOLDER, Mode::empty())
            .and_then(|root| openat(&root, ".adjutant", FOLDER | OFlags::NOFOLLOW, Mode::empty()))
            .and_then(|inner| openat(&inner, "commands", FOLDER | OFlags::NOFOLLOW, Mode::empty()));
        let commands = inside.ok().map(|folder| of_folder(&folder, CommandSource::Workspace));
        found.extend(commands.into_iter().flatten().filter(|command| !is_denied(command)));
    }
    found.extend(built_in());
    // Stable: of two with one name, the first counts.
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found.dedup_by(|later, first| later.name == first.name);
    found
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

fn of_folder(folder: &OwnedFd, source: CommandSource) -> Vec<SlashCommand> {
    let Ok(entries) = Dir::read_from(folder) else { return Vec::new() };
    let names = entries.flatten().map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_owned());
    let mut names: Vec<OsString> =
        names.filter(|name| Path::new(name).extension() == Some(OsStr::new("md"))).collect();
    names.sort();
    names.truncate(MAX_FILES);
    let command = |name: &OsString| {
        let stem = Path::new(name).file_stem()?.to_str()?;
        SlashCommand::of_file(stem, &text(folder, name, source)?, source)
    };
    names.iter().filter_map(command).collect()
}

/// Returns the text of a command; `None` if it is no file, too large or not UTF-8.
fn text(folder: &OwnedFd, name: &OsStr, source: CommandSource) -> Option<String> {
    // Without waiting for a pipe. The user may keep the own files somewhere else, and link them.
    let plain = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = if source == CommandSource::Workspace { plain | OFlags::NOFOLLOW } else { plain };
    let file = File::from(openat(folder, name, flags, Mode::empty()).ok()?);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MAX_TEXT as u64 + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() > MAX_TEXT {
        return None;
    }
    String::from_utf8(bytes).ok()
}
