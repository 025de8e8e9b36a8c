//! Real editors drive the real server: VS Code with Adjutant's extension, the others with the shipped set-up
//! files alone.
//!
//! `tests/run` installs the editors and then runs these tests. Never skips an editor: a missing one fails
//! its tests.

mod carried;
mod editor;
mod emacs;
mod helix;
mod jsonrpc;
mod kakoune;
mod lsp_mode;
mod neovim;
mod opening;
mod plug;
mod pytest_lsp;
mod readme;
mod scenes;
mod screen;
mod seen;
mod stage;
mod together;
mod vim_ale;
mod vscode;
