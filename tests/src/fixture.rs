//! A workspace on disk from one string, with settings and state next to it.
//!
//! Never reads or writes files of the user who runs the tests: home, settings and state are in the
//! temporary directory.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use tempfile::TempDir;

use crate::model::Dialect;
use crate::nobody::{give, unprivileged_id};

/// The environment variable with the invented key of `Workspace::openai`.
pub const KEY_VARIABLE: &str = "ADJUTANT_TEST_KEY";

/// The place of `$0` in the fixture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// Relative to the workspace.
    pub path: String,
    /// In bytes.
    pub offset: usize,
}

/// A workspace folder, with a home, settings and state of its own.
pub struct Workspace {
    directory: TempDir,
    root: PathBuf,
    cursor: Option<Cursor>,
}

impl Drop for Workspace {
    /// Leaves the folder of a failed test for whoever looks for the cause, if `ADJUTANT_KEEP_FAILED` is set.
    fn drop(&mut self) {
        if std::thread::panicking() && std::env::var_os("ADJUTANT_KEEP_FAILED").is_some() {
            self.directory.disable_cleanup(true);
            eprintln!("kept: {}", self.directory.path().display());
        }
    }
}

impl Workspace {
    /// Writes the files of a fixture. A line `//- /path` starts a file; `$0` is the cursor and is removed.
    /// If the first of these lines is indented, its indentation is removed from every line.
    pub fn new(fixture: &str) -> Self {
        let directory = tempfile::Builder::new().prefix("adjutant-test-").tempdir();
        let directory = directory.unwrap_or_else(|error| panic!("make a temporary directory: {error}"));
        // Resolved, because a server may report paths with every link followed.
        let base = fs::canonicalize(directory.path()).unwrap_or_else(|error| panic!("resolve it: {error}"));
        let mut workspace = Self { directory, root: base.join("workspace"), cursor: None };
        for folder in ["workspace", "home", "config", "state", "cache"] {
            make_folder(&base.join(folder));
        }
        for (path, mut text) in files_of(fixture) {
            if let Some(offset) = text.find("$0") {
                assert!(workspace.cursor.is_none(), "the fixture has a second cursor in {path:?}");
                text.replace_range(offset..offset + 2, "");
                assert!(!text.contains("$0"), "the fixture has a second cursor in {path:?}");
                workspace.cursor = Some(Cursor { path: path.clone(), offset });
            }
            workspace.write(&path, &text);
        }
        workspace
    }

    /// Makes the unprivileged user (`nobody::as_nobody`) the owner of everything here, and returns the workspace.
    pub fn given_to_nobody(self) -> Self {
        give(self.directory.path(), unprivileged_id());
        self
    }

    /// Returns the workspace folder.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// Returns the URI of a file in the workspace, or of the workspace itself for "".
    pub fn uri(&self, path: &str) -> String {
        if path.is_empty() { uri_of_path(&self.root) } else { uri_of_path(&self.root.join(path)) }
    }

    /// Returns the place of `$0` in the fixture.
    pub fn cursor(&self) -> Option<&Cursor> {
        self.cursor.as_ref()
    }

    /// Reads a file from disk, not from a buffer.
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap_or_else(|error| panic!("read {path:?}: {error}"))
    }

    /// Returns whether the file exists.
    pub fn exists(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }

    /// Writes a file on disk without any notification, and creates the folders it needs.
    pub fn write(&self, path: &str, text: &str) {
        let full = self.root.join(path);
        if let Some(folder) = full.parent() {
            fs::create_dir_all(folder).unwrap_or_else(|error| panic!("make {folder:?}: {error}"));
        }
        fs::write(&full, text).unwrap_or_else(|error| panic!("write {path:?}: {error}"));
    }

    /// Returns the directory of the server's state.
    pub fn state_dir(&self) -> PathBuf {
        self.next_to("state")
    }

    /// Returns the settings file; it need not exist.
    pub fn config_file(&self) -> PathBuf {
        self.next_to("config").join("config.toml")
    }

    /// Writes a file outside the workspace, next to the settings, and returns its path.
    pub fn write_beside(&self, name: &str, text: &str) -> PathBuf {
        let path = self.next_to("config").join(name);
        fs::write(&path, text).unwrap_or_else(|error| panic!("write {path:?}: {error}"));
        // The umask must not matter: Adjutant ignores settings that other users can write.
        let private = fs::Permissions::from_mode(0o600);
        fs::set_permissions(&path, private).unwrap_or_else(|error| panic!("protect {path:?}: {error}"));
        path
    }

    /// Writes the settings file.
    pub fn config(&self, toml: &str) -> &Self {
        self.write_beside("config.toml", toml);
        self
    }

    /// Adds tables to the settings file, for example `[limits]`.
    pub fn add_config(&self, toml: &str) -> &Self {
        let present = fs::read_to_string(self.config_file()).unwrap_or_default();
        self.config(&format!("{present}\n{toml}"))
    }

    /// Configures a scripted model, `play/script`, as the model in use.
    pub fn script(&self, script: &str) -> &Self {
        let path = self.write_beside("script.toml", script);
        let path = toml_text(&path.to_string_lossy());
        self.config(&format!(
            "model = \"play/script\"\n\n[providers.play]\nwire = \"scripted\"\nscript = {path}\n"
        ))
    }

    /// Configures a Chat Completions endpoint, `local/test`, as the model in use, with an invented key.
    pub fn openai(&self, base_url: &str) -> &Self {
        self.provider(Dialect::Chat, base_url)
    }

    /// Configures an endpoint of this wire, `local/test`, as the model in use, with an invented key.
    pub fn provider(&self, wire: Dialect, base_url: &str) -> &Self {
        let (wire, url) = (wire.wire(), toml_text(base_url));
        self.config(&format!(
            "model = \"local/test\"\n\n[providers.local]\nwire = \"{wire}\"\nbase_url = {url}\n\
             api_key_env = \"{KEY_VARIABLE}\"\n"
        ))
    }

    /// Gives the provider that was configured last a window that no test fills, so that megabytes are not compacted.
    pub fn roomy(&self) -> &Self {
        self.add_config("context_window = 100000000")
    }

    /// Returns the environment of a child: each variable that a server reads, and none of the user's.
    pub fn env(&self) -> Vec<(String, String)> {
        let path = |name: &str| self.next_to(name).to_string_lossy().into_owned();
        [
            ("ADJUTANT_CONFIG", self.config_file().to_string_lossy().into_owned()),
            ("ADJUTANT_STATE_DIR", path("state")),
            ("HOME", path("home")),
            ("XDG_CONFIG_HOME", path("config")),
            ("XDG_STATE_HOME", path("state")),
            ("XDG_DATA_HOME", path("state")),
            ("XDG_CACHE_HOME", path("cache")),
            (KEY_VARIABLE, "test-key-of-no-value".to_owned()),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        // The variable is set only if the settings file exists: a name without a file is a problem of its own.
        .filter(|(name, _)| name != "ADJUTANT_CONFIG" || self.config_file().exists())
        .collect()
    }

    fn next_to(&self, name: &str) -> PathBuf {
        // The directory's own path may go through links; the root's path does not.
        self.root.parent().unwrap_or(self.directory.path()).join(name)
    }
}

fn make_folder(path: &Path) {
    use std::os::unix::fs::DirBuilderExt;
    let made = fs::DirBuilder::new().mode(0o700).create(path);
    made.unwrap_or_else(|error| panic!("make {path:?}: {error}"));
}

/// Splits a fixture into paths and texts.
fn files_of(fixture: &str) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = Vec::new();
    let first = fixture.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
    let indent = &first[..first.len() - first.trim_start().len()];
    for line in fixture.split_inclusive('\n') {
        let line = line.strip_prefix(indent).unwrap_or(line.trim_start_matches([' ', '\t']));
        match (line.strip_prefix("//- /"), files.last_mut()) {
            (Some(path), _) => files.push((inside(path.trim_end()), String::new())),
            (None, Some((_, text))) => text.push_str(line),
            (None, None) => {
                assert!(line.trim().is_empty(), "the fixture begins with {line:?}, not with a path")
            }
        }
    }
    files
}

fn inside(path: &str) -> String {
    let plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    assert!(plain && !path.is_empty(), "the fixture names {path:?}, which is no path inside the workspace");
    path.to_owned()
}

fn toml_text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// Returns the `file:` URI of an absolute path.
pub fn uri_of_path(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let mut uri = String::from("file://");
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(char::from(*byte));
            }
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// Returns the path of a `file:` URI; none for any other URI.
pub fn path_of_uri(uri: &str) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let rest = uri.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    let mut bytes = Vec::new();
    let mut left = path.as_bytes();
    while let [first, rest @ ..] = left {
        left = rest;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        left = &rest[2..];
    }
    let path = PathBuf::from(std::ffi::OsString::from_vec(bytes));
    path.is_absolute().then_some(path)
}

#[cfg(test)]
mod tests;
