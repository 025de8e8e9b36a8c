//! Real editors drive the real server: Neovim, Helix and Emacs without a
//! plugin, VS Code with our extension.
//!
//! Run by `tests/run`, which installs them first. Never skips an editor: one
//! that is not there fails its tests.

mod editor;
mod emacs;
mod helix;
mod jsonrpc;
mod kakoune;
mod lsp_mode;
mod neovim;
mod opening;
mod pytest_lsp;
mod readme;
mod scenes;
mod screen;
mod seen;
mod stage;
mod vim_ale;
mod vscode;
