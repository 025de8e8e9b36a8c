//! `adjutant completions` and `adjutant man`: the command line for shells and for `man`.
//!
//! Never has words of its own about a command: both are made of the declaration that makes `--help`.

use std::fs;
use std::path::Path;

use anyhow::Context;
use clap::Command;
use clap_complete::Shell;

use super::Exit;
use super::page::{Ink, Printer};

/// Where each shell looks, for the help.
pub const COMPLETIONS: &str = "\
Packages bring these files. Without a package, write the one of your shell:
  bash  adjutant completions bash > ~/.local/share/bash-completion/completions/adjutant
  zsh   adjutant completions zsh > FOLDER/_adjutant, where FOLDER is in your fpath
  fish  adjutant completions fish > ~/.config/fish/completions/adjutant.fish";

/// Prints the completions of one shell.
pub fn completions(mut command: Command, shell: Shell) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "adjutant", &mut script);
    let mut page = Printer::of_stdout();
    for line in String::from_utf8(script).context("make the completions")?.lines() {
        page.verbatim(Ink::Plain, line);
    }
    page.written()?;
    Ok(Exit::Fine)
}

/// Writes a page of the manual for each command into a folder, which may be there already.
pub fn manual(command: Command, folder: &Path) -> anyhow::Result<Exit> {
    fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(command, folder))
        .with_context(|| format!("write the pages of the manual into \"{}\"", folder.display()))?;
    Ok(Exit::Fine)
}
