//! Helix in a terminal, driven by keys and read from the screen.
//!
//! It has no `window/showMessageRequest`: asks are diagnostics with code
//! actions. Never looks at what is not on the screen, but for the disk and the
//! message log.

mod scenes;

use std::fs;

use crate::screen::Screen;
use crate::stage::{Stage, installed, shipped};

/// The folder it is installed in.
pub const VERSION: &str = "helix-25.01";

/// A Helix that a test started.
pub struct Helix<'a> {
    pub stage: &'a Stage,
    pub screen: Screen,
}

impl<'a> Helix<'a> {
    /// Opens a file of the workspace and waits until the server knows it.
    pub fn open(stage: &'a Stage, file: &str) -> Helix<'a> {
        let settings = stage.settings_dir().join("helix");
        fs::create_dir_all(&settings).expect("make the settings of Helix");
        fs::copy(shipped("editors/helix/languages.toml"), settings.join("languages.toml"))
            .expect("take the languages as shipped");
        let program = installed(&format!("{VERSION}/usr/bin/hx"));
        let runtime = installed(&format!("{VERSION}/usr/lib/hx/runtime"));
        let line = format!("env HELIX_RUNTIME='{}' '{}' '{file}'", runtime.display(), program.display());
        let opened = stage.seen().count("in", "textDocument/didOpen");
        let screen = Screen::start(stage, &line);
        screen.wait("NOR");
        stage.seen().wait("in", "textDocument/didOpen", opened + 1);
        Helix { stage, screen }
    }

    /// Types a command line.
    pub fn line(&self, line: &str) {
        self.screen.keys(&["Escape"]);
        self.screen.text_in(&format!(":{line}"));
        self.screen.wait(&format!(":{line}"));
        self.screen.keys(&["Enter"]);
    }
}
