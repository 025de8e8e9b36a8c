//! `adjutant editor nvim`: the plugin as a package of Neovim.
//!
//! Never touches `init.lua`, and never starts Neovim.

use super::super::Exit;
use super::super::page::Printer;
use super::{carried, places, report};
use crate::settings::Sources;

const WHAT: &str = "Adjutant for Neovim";

pub fn neovim(sources: &Sources, remove: bool, page: &mut Printer) -> anyhow::Result<Exit> {
    let folder = places::neovim(sources)?;
    if remove {
        report::removed(page, WHAT, &folder, folder.remove()?.as_ref());
        return Ok(Exit::Fine);
    }
    let done = folder.install(&carried::neovim())?;
    report::installed(page, WHAT, &folder, &done);
    page.line("Next: open a file in Neovim, and type `:Adjutant` with what it should do. `:help adjutant` has the rest.");
    // By default, lazy.nvim turns off Neovim's packages.
    let lazy = folder.workshop.join("../../../lazy/lazy.nvim");
    if lazy.is_dir() {
        page.line("You have lazy.nvim, which loads no packages. Add this to its plugins:");
        page.block(&format!("  {{ dir = {}, lazy = false }}", quoted(&folder.path.display().to_string())));
    }
    report::check_path(page);
    Ok(Exit::Fine)
}

/// Returns a text as Lua.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
