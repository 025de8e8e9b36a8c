//! `adjutant editor emacs` and `helix`: a file in Adjutant's own folder, and the lines that the user adds.
//!
//! Never touches the settings of these editors.

use super::super::Exit;
use super::super::page::Printer;
use super::carried::ClientFile;
use super::{carried, places, report};
use crate::settings::Sources;

pub fn emacs(sources: &Sources, remove: bool, page: &mut Printer) -> anyhow::Result<Exit> {
    let what = "Adjutant for Emacs";
    let folder = places::own(sources, "emacs")?;
    let load = |file: &str| format!("  (load {})", quoted(&folder.path.join(file).display().to_string()));
    let [eglot, lsp_mode] = ["adjutant.el", "adjutant-lsp-mode.el"].map(load);
    if remove {
        report::removed(page, what, &folder, folder.remove()?.as_ref());
        page.line("If your init.el loads it, remove that line too. It is one of these:");
        page.block(&format!("{eglot}\n{lsp_mode}"));
        return Ok(Exit::Fine);
    }
    let done = folder.install(&carried::emacs())?;
    report::installed(page, what, &folder, &done);
    page.line("Add this line to your init.el:");
    page.block(&eglot);
    page.line("Or this one, if you use lsp-mode:");
    page.block(&lsp_mode);
    page.line("Next: start Emacs again, `M-x eglot` (or `M-x lsp`) in a file, then `M-x adjutant`.");
    report::check_path(page);
    Ok(Exit::Fine)
}

pub fn helix(sources: &Sources, remove: bool, page: &mut Printer) -> anyhow::Result<Exit> {
    let what = "Adjutant for Helix";
    let folder = places::own(sources, "helix")?;
    let files = carried::helix();
    let [languages, config] = ["languages.toml", "config.toml"].map(|name| settings_of(&files, name));
    if remove {
        report::removed(page, what, &folder, folder.remove()?.as_ref());
        page.line("If you added the lines, remove them from ~/.config/helix/languages.toml too: the table");
        page.block("  [language-server.adjutant]");
        page.line("and the word \"adjutant\" of each `language-servers`.");
        page.line("From ~/.config/helix/config.toml remove these, unless another server needs them:");
        page.block(&config);
        return Ok(Exit::Fine);
    }
    let done = folder.install(&files)?;
    report::installed(page, what, &folder, &done);
    page.line("Add these lines to ~/.config/helix/languages.toml, with one [[language]] for each language.");
    page.line(
        "If the language already has servers, add \"adjutant\" after them, as in [\"pylsp\", \"adjutant\"].",
    );
    page.line("");
    page.block(&languages);
    page.line("");
    page.line("And these to ~/.config/helix/config.toml, to see what Adjutant is at:");
    page.line("");
    page.block(&config);
    page.line("");
    page.line("Next: start Helix again and press `space a` in a file.");
    report::check_path(page);
    Ok(Exit::Fine)
}

/// Returns the settings in a carried file, without its comments.
fn settings_of(files: &[ClientFile], name: &str) -> String {
    let text = files.iter().find(|file| file.path == name).map(|file| String::from_utf8_lossy(&file.bytes));
    let lines: Vec<String> = text
        .iter()
        .flat_map(|text| text.lines())
        .filter(|line| !line.starts_with('#'))
        .map(str::to_owned)
        .collect();
    lines.join("\n").trim().to_owned()
}

/// Returns a text as Lisp.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
