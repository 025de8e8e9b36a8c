//! `adjutant config`: every setting, its value and where the value came from.
//!
//! Never changes anything.

use crate::settings::{Sources, load};

use super::Exit;
use super::folder::Folder;
use super::page::Printer;

/// Prints the settings that apply in this folder.
pub fn config(mut sources: Sources) -> anyhow::Result<Exit> {
    sources.roots =
        Folder::find(None, sources.home.as_deref()).map_or_else(|_| Vec::new(), |folder| folder.workspace());
    let loaded = load(&sources);
    let mut page = Printer::of_stdout();
    page.block(&adjutant_core::config::explain(&loaded.settings));
    if !loaded.problems.is_empty() {
        page.line("");
        page.line("Problems:");
        for problem in &loaded.problems {
            page.line(&format!("- {problem}"));
        }
    }
    page.written()?;
    Ok(Exit::Fine)
}
