//! `adjutant editor`: the clients in this program are installed into editors, updated, and removed.
//!
//! Never changes the settings of an editor: it prints the lines that the user may add.

mod archive;
mod carried;
mod folder;
mod listing;
mod neovim;
mod places;
mod printed;
mod programs;
mod report;
mod tags;
mod vscode;
mod vsix;
mod written;

use clap::{Args, Subcommand};

use super::Exit;
use super::page::Printer;
use super::signals::{ProcessSignal, Signals};
use crate::settings::Sources;

/// The arguments of `adjutant editor`.
#[derive(Clone, Debug, Args)]
pub struct EditorLine {
    #[command(subcommand)]
    editor: Option<EditorChoice>,
}

#[derive(Clone, Debug, Subcommand)]
enum EditorChoice {
    /// Install the extension into VS Code, VSCodium, Cursor or code-server
    Vscode(vscode::VscodeLine),
    /// Install the plugin into Neovim
    Nvim(ClientLine),
    /// Write the set-up file for Emacs, and print the line that loads it
    Emacs(ClientLine),
    /// Print the lines for the settings of Helix
    Helix(ClientLine),
}

#[derive(Clone, Copy, Debug, Args)]
struct ClientLine {
    /// Remove what Adjutant wrote, and nothing of yours
    #[arg(long)]
    remove: bool,
}

/// Installs, updates or removes a client; without an editor, lists them.
pub async fn editor(sources: Sources, line: EditorLine) -> anyhow::Result<Exit> {
    let mut page = Printer::of_stdout();
    let mut signals = Signals::new()?;
    // A signal drops the work, and with it the program of an editor. Writing has no await, so a signal cannot cut it.
    let exit = tokio::select! {
        biased;
        signal = signals.next_signal() => match signal {
            ProcessSignal::Interrupt => Exit::Interrupted,
            ProcessSignal::Terminate => Exit::Terminated,
        },
        exit = carry_out(&sources, line, &mut page) => exit?,
    };
    page.written()?;
    Ok(exit)
}

async fn carry_out(sources: &Sources, line: EditorLine, page: &mut Printer) -> anyhow::Result<Exit> {
    match line.editor {
        None => listing::list(sources, page).await,
        Some(EditorChoice::Vscode(line)) => vscode::vscode(sources, line, page).await,
        Some(EditorChoice::Nvim(line)) => neovim::neovim(sources, line.remove, page),
        Some(EditorChoice::Emacs(line)) => printed::emacs(sources, line.remove, page),
        Some(EditorChoice::Helix(line)) => printed::helix(sources, line.remove, page),
    }
}
