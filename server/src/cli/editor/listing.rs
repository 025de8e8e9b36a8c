//! `adjutant editor` alone: which editors are on this machine, and whether they have Adjutant's client.
//!
//! Never changes anything itself.

use super::super::Exit;
use super::super::page::Printer;
use super::carried::{self, ClientFile, VERSION};
use super::folder::{FolderState, InstallFolder};
use super::written::WrittenFiles;
use super::{places, programs, vscode};
use crate::settings::Sources;

/// Lists every editor that has a client in this program.
pub async fn list(sources: &Sources, page: &mut Printer) -> anyhow::Result<Exit> {
    for (word, title) in vscode::PROGRAMS {
        let found = programs::find(word);
        let state = match &found {
            None => NOT_FOUND.to_owned(),
            Some(program) => of_extension(word, vscode::installed_version(program).await),
        };
        row(page, title, &state);
    }
    let folders: [(&str, &[&str], InstallFolder, Vec<ClientFile>); 3] = [
        ("Neovim", &["nvim"], places::neovim(sources)?, carried::neovim()),
        ("Emacs", &["emacs"], places::own(sources, "emacs")?, carried::emacs()),
        ("Helix", &["hx", "helix"], places::own(sources, "helix")?, carried::helix()),
    ];
    for (title, words, folder, files) in folders {
        let is_found = words.iter().any(|word| programs::find(word).is_some());
        row(page, title, &of_folder(is_found, &folder, &files));
    }
    Ok(Exit::Fine)
}

const NOT_FOUND: &str = "not on PATH";

fn row(page: &mut Printer, title: &str, state: &str) {
    page.line(&format!("{title:<12} {state}"));
}

fn of_extension(word: &str, version: Result<Option<String>, String>) -> String {
    let command = match word {
        "code" => "adjutant editor vscode".to_owned(),
        word => format!("adjutant editor vscode --with {word}"),
    };
    match version {
        Ok(None) => format!("no client yet: {command}"),
        Ok(Some(version)) if version == VERSION => format!("Adjutant {version}"),
        Ok(Some(version)) => format!("Adjutant {version}; this program has {VERSION}: {command}"),
        Err(why) => why,
    }
}

fn of_folder(is_found: bool, folder: &InstallFolder, files: &[ClientFile]) -> String {
    let command = format!("adjutant editor {}", folder.editor);
    let state = match folder.state() {
        Err(why) => format!("could not {why:#}"),
        Ok(FolderState::Foreign) => format!("files that Adjutant did not write: {}", folder.path.display()),
        Ok(FolderState::Absent) if is_found => format!("no client yet: {command}"),
        Ok(FolderState::Absent) => return NOT_FOUND.to_owned(),
        Ok(FolderState::Installed(written)) if written == WrittenFiles::of(files) => {
            format!("Adjutant {}", written.version)
        }
        Ok(FolderState::Installed(written)) if written.version == VERSION => {
            format!("Adjutant {VERSION}, with other files than this program has: {command}")
        }
        Ok(FolderState::Installed(written)) => {
            format!("Adjutant {}; this program has {VERSION}: {command}", written.version)
        }
    };
    if is_found { state } else { format!("{state}; its program is {NOT_FOUND}") }
}
