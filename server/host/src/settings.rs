//! Reads settings from files, environment, editor and flags, and finds the state directory.
//!
//! Never judges a value (that is `adjutant_core::config`), never writes a
//! settings file, and never follows a link that a workspace made.

pub mod own_files;
pub mod owners;

use std::collections::BTreeMap;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub use owners::private_dir;

use adjutant_core::config::{self, Content, File, Flag, Flaw, Layer, Problem, Settings};
use anyhow::Context;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// The largest settings file that is read, in bytes.
const MOST_BYTES: u64 = 1024 * 1024;

/// All sources of settings.
#[derive(Clone, Default)]
pub struct Sources {
    pub environment: BTreeMap<String, String>,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// The workspace folders; each may have a project file.
    pub roots: Vec<PathBuf>,
    /// `initializationOptions`, or the section `adjutant` of the editor's configuration.
    pub editor: Option<serde_json::Value>,
    pub flags: Vec<Flag>,
}

/// The resolved settings, with the problems found while reading them.
#[derive(Debug)]
pub struct LoadedSettings {
    pub settings: Settings,
    pub problems: Vec<Problem>,
    /// The state of the user's file just before it was read.
    pub read: UserFileState,
}

/// Tells whether the user's settings file was written, or replaced by another one: device, number and length of the file, and when
/// its text and its entry were last changed (seconds and nanoseconds). `None` if there is no such file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserFileState(Option<([u64; 3], [i64; 4])>);

impl Sources {
    /// Returns the environment and home directory of this process. Workspace, editor and flags are still empty.
    pub fn of_process() -> Self {
        let text = |os: std::ffi::OsString| os.to_string_lossy().into_owned();
        let environment = std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect();
        // A relative home would be resolved in the working directory, which may be a workspace.
        let home = etcetera::home_dir().ok().filter(|home| home.is_absolute());
        Self { environment, home, ..Self::default() }
    }

    /// Adds the flag `--model`, if it is set.
    pub fn with_model_flag(mut self, model: Option<&str>) -> Self {
        if let Some(model) = model {
            self.flags.push(Flag { flag: "--model".into(), key: "model".into(), value: model.into() });
        }
        self
    }

    fn variable(&self, name: &str) -> Option<&str> {
        self.environment.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Returns an XDG base directory. A relative one is ignored, as the specification demands.
    fn xdg(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        let set = self.variable(variable).map(PathBuf::from).filter(|path| path.is_absolute());
        set.or_else(|| Some(self.home.as_ref()?.join(below_home)))
    }

    /// Makes the state directory private. Returns it with a notice for each directory whose mode was too wide.
    pub fn own_state_dir(&self) -> anyhow::Result<(PathBuf, Vec<String>)> {
        let directory = self.state_dir()?;
        let notices = owners::guard_state(&directory)?;
        notices.iter().for_each(|notice| tracing::warn!("{notice}"));
        Ok((directory, notices))
    }

    /// Returns the path of the user's settings file, whether the file exists or not.
    pub fn user_file(&self) -> Option<PathBuf> {
        match self.variable("ADJUTANT_CONFIG") {
            Some(named) => Some(absolute(Path::new(named))),
            None => Some(self.xdg("XDG_CONFIG_HOME", ".config")?.join("adjutant").join("config.toml")),
        }
    }

    /// Returns the present state of the user's settings file, without reading it.
    pub fn user_file_state(&self) -> UserFileState {
        let found = self.user_file().and_then(|path| path.metadata().ok());
        UserFileState(found.map(|found| {
            let times = [found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()];
            ([found.dev(), found.ino(), found.len()], times)
        }))
    }

    /// Returns the folder for the data of programs. Creates nothing.
    pub fn data_home(&self) -> anyhow::Result<PathBuf> {
        let folder = self.xdg("XDG_DATA_HOME", ".local/share");
        folder.context("find the folder for data: set HOME to your home folder, or XDG_DATA_HOME")
    }

    /// Returns the path of the state directory. Creates nothing.
    pub fn state_dir(&self) -> anyhow::Result<PathBuf> {
        match self.variable("ADJUTANT_STATE_DIR") {
            Some(named) => Ok(absolute(Path::new(named))),
            None => {
                let base = self.xdg("XDG_STATE_HOME", ".local/state");
                let base =
                    base.context("find the state directory: neither HOME nor ADJUTANT_STATE_DIR is set")?;
                Ok(base.join("adjutant"))
            }
        }
    }
}

/// Reads and resolves all layers. Always returns settings; the problems say what is wrong with the sources.
pub fn load(sources: &Sources) -> LoadedSettings {
    load_as(sources, None)
}

/// Like `load`, as if the user's settings file had this text, if there is one.
pub fn load_as(sources: &Sources, text: Option<String>) -> LoadedSettings {
    // First, so that a write during the reading is noticed afterwards.
    let read = sources.user_file_state();
    let mut layers = Vec::new();
    let mut missing = None;
    if let Some(path) = sources.user_file() {
        let content = text.map_or_else(|| read_user_file(&path), Content::Text);
        if content == Content::Missing && sources.variable("ADJUTANT_CONFIG").is_some() {
            missing = Some(no_such_file(&path));
        }
        layers.push(Layer::UserFile(File { path: text_of(&path), content }));
    }
    for root in &sources.roots {
        let path = root.join(".adjutant").join("config.toml");
        layers.push(Layer::ProjectFile(File { path: text_of(&path), content: read_project_file(root) }));
    }
    layers.extend(sources.editor.clone().map(Layer::Editor));
    layers.push(Layer::Environment(sources.environment.clone()));
    layers.push(Layer::Flags(sources.flags.clone()));
    let (settings, mut problems) = config::resolve(layers);
    problems.extend(missing);
    problems.extend(own_files::problems(&settings));
    for problem in &problems {
        tracing::warn!(problem = %problem, "settings");
    }
    LoadedSettings { settings, problems, read }
}

fn no_such_file(path: &Path) -> Problem {
    Problem {
        flaw: Flaw::Unreadable,
        file: Some(text_of(path)),
        line: None,
        key: None,
        message: "there is no such file".to_owned(),
        what_to_do: "create it, or unset ADJUTANT_CONFIG".to_owned(),
    }
}

fn text_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Flags for reading a file. Without NONBLOCK, opening a named pipe would wait for a writer for ever.
fn reading() -> OFlags {
    OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC
}

/// Reads the user's settings file. Follows links, because users often keep settings in another place.
fn read_user_file(path: &Path) -> Content {
    if path == Path::new("/dev/null") {
        return Content::Missing;
    }
    let opened = rustix::fs::open(path, reading(), Mode::empty());
    let doubt = opened.as_ref().ok().and_then(|file| owners::doubt(path, rustix::fs::fstat(file).ok()?));
    match (content(opened), doubt) {
        (Content::Text(text), Some(why)) => Content::Doubtful { text, why },
        (content, _) => content,
    }
}

/// Reads the project file of a workspace folder. Does not follow links inside the folder.
fn read_project_file(root: &Path) -> Content {
    let directory = OFlags::DIRECTORY | reading();
    let open = || {
        let root = rustix::fs::open(root, directory, Mode::empty())?;
        let inner = rustix::fs::openat(&root, ".adjutant", directory | OFlags::NOFOLLOW, Mode::empty())?;
        rustix::fs::openat(&inner, "config.toml", reading() | OFlags::NOFOLLOW, Mode::empty())
    };
    content(open())
}

fn content(opened: Result<OwnedFd, Errno>) -> Content {
    let file = match opened {
        Ok(descriptor) => std::fs::File::from(descriptor),
        Err(Errno::NOENT) => return Content::Missing,
        Err(Errno::LOOP | Errno::MLINK) => return unreadable("is a link, which is not followed"),
        Err(Errno::NOTDIR) => return unreadable("lies in something that is no directory"),
        Err(Errno::ACCESS | Errno::PERM) => return unreadable("may not be read"),
        Err(error) => return Content::Unreadable(format!("could not be opened ({error})")),
    };
    match file.metadata() {
        Ok(found) if !found.is_file() => return unreadable("is no regular file"),
        Ok(found) if found.len() > MOST_BYTES => return unreadable("is larger than 1 MiB"),
        Ok(_) => {}
        Err(error) => return Content::Unreadable(format!("could not be read ({error})")),
    }
    let mut bytes = Vec::new();
    // The file may have grown since its length was read.
    match file.take(MOST_BYTES + 1).read_to_end(&mut bytes) {
        Err(error) => Content::Unreadable(format!("could not be read ({error})")),
        Ok(_) if bytes.len() as u64 > MOST_BYTES => unreadable("is larger than 1 MiB"),
        Ok(_) => match String::from_utf8(bytes) {
            Ok(text) => Content::Text(text),
            Err(_) => unreadable("is not UTF-8 text"),
        },
    }
}

fn unreadable(why: &str) -> Content {
    Content::Unreadable(why.to_owned())
}
