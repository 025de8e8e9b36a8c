//! `adjutant editor vscode`: the extension as a package, installed by the editor's own program.
//!
//! Never unpacks the extension itself: only the editor knows where its extensions are.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::super::Exit;
use super::super::page::{Ink, Printer, note};
use super::carried::VERSION;
use super::folder::write_package;
use super::programs::{self, EndedProgram};
use super::vsix::{self, VSIX};
use super::{places, report};
use crate::settings::Sources;

/// The programs that are looked for, in this order, and what people call them.
pub const PROGRAMS: [(&str, &str); 4] =
    [("code", "VS Code"), ("codium", "VSCodium"), ("cursor", "Cursor"), ("code-server", "code-server")];

/// The extension, as these programs name it.
pub const EXTENSION: &str = "adjutant.adjutant";

/// How long an installation or a removal may take. A slow machine needs half a minute.
const LIMIT: Duration = Duration::from_secs(120);
/// How long a list may take.
const LIST_LIMIT: Duration = Duration::from_secs(30);

#[derive(Clone, Debug, Args)]
pub struct VscodeLine {
    /// Use this program, such as codium, instead of the first one that is found
    #[arg(long, value_name = "PROGRAM")]
    with: Option<String>,
    /// Only write the package to a file, for a machine that is elsewhere
    #[arg(long, value_name = "FILE", conflicts_with_all = ["with", "remove"])]
    to: Option<PathBuf>,
    /// Remove the extension
    #[arg(long)]
    remove: bool,
}

/// A program of VS Code's kind.
struct EditorProgram {
    /// As the user types it.
    word: String,
    path: PathBuf,
}

pub async fn vscode(sources: &Sources, line: VscodeLine, page: &mut Printer) -> anyhow::Result<Exit> {
    if let Some(file) = &line.to {
        write_package(file, &vsix::package()?.bytes)?;
        page.line_in(Ink::Green, &format!("✓ Adjutant {VERSION} for VS Code is written: {}", file.display()));
        page.line("Next: where VS Code is, run `code --install-extension FILE`, or its command *Extensions: Install from VSIX…*.");
        return Ok(Exit::Fine);
    }
    let mut found: Vec<EditorProgram> = match &line.with {
        Some(word) => one(word).into_iter().collect(),
        None => PROGRAMS.iter().filter_map(|(word, _)| one(word)).collect(),
    };
    if let (Some(word), []) = (&line.with, &found[..]) {
        note(&format!("error: there is no program {word:?}; give its name on PATH, or its path"));
        return Ok(Exit::Usage);
    }
    let others = found.split_off(found.len().min(1));
    let others: Vec<String> = others.into_iter().map(|program| program.word).collect();
    let program = found.pop();
    match line.remove {
        true => remove(sources, program, &others, page).await,
        false => install(sources, program, &others, page).await,
    }
}

fn one(word: &str) -> Option<EditorProgram> {
    programs::find(word).map(|path| EditorProgram { word: word.to_owned(), path })
}

async fn install(
    sources: &Sources,
    program: Option<EditorProgram>,
    others: &[String],
    page: &mut Printer,
) -> anyhow::Result<Exit> {
    let folder = places::own(sources, "vscode")?;
    folder.install(&[vsix::package()?])?;
    let file = folder.path.join(VSIX);
    let Some(EditorProgram { word, path }) = program else {
        note(&format!(
            "error: none of {} is on PATH, so nothing was installed. The extension is in {}. Install it in VS Code by *Extensions: \
             Install from VSIX…*, or name the program: `adjutant editor vscode --with PROGRAM`",
            known(),
            file.display()
        ));
        return Ok(Exit::Failed);
    };
    page.line(&format!("{word} installs the extension ..."));
    let arguments: [&OsStr; 3] = ["--install-extension".as_ref(), file.as_os_str(), "--force".as_ref()];
    if let Err(why) = run(&path, &arguments, LIMIT).await {
        note(&format!(
            "error: {why}\nThe extension is in {}. Correct what {word} says, then run this again.",
            file.display()
        ));
        return Ok(Exit::Failed);
    }
    page.line_in(Ink::Green, &format!("✓ Adjutant {VERSION} is installed in {}", title(&word)));
    page.line("Next: reload its windows (*Developer: Reload Window*), then run *Adjutant: Open Chat*.");
    if !others.is_empty() {
        page.line(&format!(
            "Also on PATH: {}. `adjutant editor vscode --with {}` installs it there.",
            others.join(", "),
            others[0]
        ));
    }
    report::check_path(page);
    Ok(Exit::Fine)
}

async fn remove(
    sources: &Sources,
    program: Option<EditorProgram>,
    others: &[String],
    page: &mut Printer,
) -> anyhow::Result<Exit> {
    let folder = places::own(sources, "vscode")?;
    let Some(EditorProgram { word, path }) = program else {
        let package = folder.remove()?;
        report::removed(page, "The package of the extension", &folder, package.as_ref());
        note(&format!(
            "error: none of {} is on PATH, so the extension itself was not removed. Remove it in the list of extensions, or name the \
             program: `adjutant editor vscode --remove --with PROGRAM`",
            known()
        ));
        return Ok(Exit::Failed);
    };
    let removed = match installed_version(&path).await {
        Ok(None) => {
            page.line(&format!("There is nothing to remove: {} does not have the extension", title(&word)));
            Ok(())
        }
        Ok(Some(version)) => {
            let arguments: [&OsStr; 2] = ["--uninstall-extension".as_ref(), EXTENSION.as_ref()];
            run(&path, &arguments, LIMIT).await.map(|_| {
                page.line_in(Ink::Green, &format!("✓ Adjutant {version} is removed from {}", title(&word)));
            })
        }
        Err(why) => Err(why),
    };
    if let Err(why) = removed {
        note(&format!("error: {why}\nCorrect what {word} says, then run this again."));
        return Ok(Exit::Failed);
    }
    folder.remove()?;
    if !others.is_empty() {
        page.line(&format!("Not looked at: {}. `--with {}` removes it there.", others.join(", "), others[0]));
    }
    Ok(Exit::Fine)
}

/// Returns the version of the extension in an editor; `None` if it is not installed there.
pub async fn installed_version(program: &Path) -> Result<Option<String>, String> {
    let ended = run(program, &["--list-extensions".as_ref(), "--show-versions".as_ref()], LIST_LIMIT).await?;
    let version = |line: &str| {
        let (name, version) = line.trim().split_once('@')?;
        name.eq_ignore_ascii_case(EXTENSION).then(|| version.to_owned())
    };
    Ok(ended.output.lines().find_map(version))
}

/// Runs such a program. The text of an error has the output of the program, if it failed.
async fn run(program: &Path, arguments: &[&OsStr], limit: Duration) -> Result<EndedProgram, String> {
    let name = program.display();
    match programs::run(program, arguments, limit).await {
        Ok(ended) if ended.succeeded => Ok(ended),
        Ok(ended) if ended.output.trim().is_empty() => Err(format!("{name} failed and printed nothing")),
        Ok(ended) => Err(format!("{name} failed. It printed:\n{}", ended.output.trim_end())),
        Err(why) => Err(format!("{name} {why}")),
    }
}

/// Returns what people call a program.
fn title(word: &str) -> &str {
    PROGRAMS.iter().find(|(program, _)| *program == word).map_or(word, |(_, title)| title)
}

fn known() -> String {
    PROGRAMS.map(|(word, _)| word).join(", ")
}
