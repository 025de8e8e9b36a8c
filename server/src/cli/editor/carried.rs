//! The clients that this program carries: their files, as data.
//!
//! Never reads a file at run time, so a client is always of the version of its server.

use std::borrow::Cow;

use super::tags::tags_of;

/// The version of the server, and so that of every client in it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// One file of a client. Its path is below the folder of the client, with `/` between the parts.
#[derive(Clone, Debug)]
pub struct ClientFile {
    pub path: &'static str,
    pub bytes: Cow<'static, [u8]>,
}

/// Returns the files of a folder below `editors/`; `path = source` gives a file another path than its source has.
macro_rules! carried {
    (@path $path:literal) => { $path };
    (@path $path:literal $source:literal) => { $path };
    ($folder:literal: $($source:literal $(as $path:literal)?),+ $(,)?) => {
        vec![$(ClientFile {
            path: carried!(@path $($path)? $source),
            bytes: Cow::Borrowed(include_bytes!(concat!("../../../../editors/", $folder, "/", $source))),
        }),+]
    };
}

/// Returns the plugin for Neovim with the tags of its help.
pub fn neovim() -> Vec<ClientFile> {
    let mut files = carried![
        "nvim":
        "doc/adjutant.txt",
        "lsp/adjutant.lua",
        "lua/adjutant/about.lua",
        "lua/adjutant/asks.lua",
        "lua/adjutant/attached.lua",
        "lua/adjutant/buffers.lua",
        "lua/adjutant/chat.lua",
        "lua/adjutant/choices.lua",
        "lua/adjutant/commands.lua",
        "lua/adjutant/comments.lua",
        "lua/adjutant/conversation.lua",
        "lua/adjutant/cures.lua",
        "lua/adjutant/deciding.lua",
        "lua/adjutant/demo.lua",
        "lua/adjutant/detail.lua",
        "lua/adjutant/display.lua",
        "lua/adjutant/drawing.lua",
        "lua/adjutant/float.lua",
        "lua/adjutant/folds.lua",
        "lua/adjutant/follow.lua",
        "lua/adjutant/health.lua",
        "lua/adjutant/held.lua",
        "lua/adjutant/history.lua",
        "lua/adjutant/hunks.lua",
        "lua/adjutant/images.lua",
        "lua/adjutant/init.lua",
        "lua/adjutant/keymaps.lua",
        "lua/adjutant/mentions.lua",
        "lua/adjutant/notices.lua",
        "lua/adjutant/pace.lua",
        "lua/adjutant/page.lua",
        "lua/adjutant/panes.lua",
        "lua/adjutant/program.lua",
        "lua/adjutant/prompt.lua",
        "lua/adjutant/reading.lua",
        "lua/adjutant/review.lua",
        "lua/adjutant/runs.lua",
        "lua/adjutant/sessions.lua",
        "lua/adjutant/setup.lua",
        "lua/adjutant/starting.lua",
        "lua/adjutant/status.lua",
        "lua/adjutant/tab.lua",
        "lua/adjutant/unsent.lua",
        "plugin/adjutant.lua",
        "start.lua" as "plugin/adjutant_start.lua",
    ];
    let tags = tags_of("adjutant.txt", &String::from_utf8_lossy(&files[0].bytes));
    files.push(ClientFile { path: "doc/tags", bytes: Cow::Owned(tags.into_bytes()) });
    files
}

/// Returns the set-up for Emacs, for eglot and for lsp-mode.
pub fn emacs() -> Vec<ClientFile> {
    let mut files = carried!["emacs": "adjutant.el"];
    files.extend(carried!["lsp-mode": "adjutant-lsp-mode.el"]);
    files
}

/// Returns the set-up for Helix: lines for two files of its settings.
pub fn helix() -> Vec<ClientFile> {
    carried!["helix": "languages.toml", "config.toml"]
}

/// Returns the files of the extension for VS Code.
pub fn extension() -> Vec<ClientFile> {
    carried![
        "vscode":
        "package.json",
        "README.md",
        "walkthrough.md",
        "dist/extension.js",
        "dist/chat.js",
        "dist/chat.css",
        "dist/licences.txt",
    ]
}
