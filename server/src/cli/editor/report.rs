//! What is printed after every installation and removal, in plain words.
//!
//! Never decides what is done.

use std::path::Path;

use super::super::page::{Ink, Printer};
use super::carried::VERSION;
use super::folder::{InstallFolder, Installation, UserFiles};
use super::programs;

/// The most files of the user that are named.
const MAX_NAMED: usize = 20;

/// Says what was written, and what became of files of the user.
pub fn installed(page: &mut Printer, what: &str, folder: &InstallFolder, done: &Installation) {
    let verb = match done.before.as_deref() {
        None => "is installed".to_owned(),
        Some(VERSION) => "is installed again".to_owned(),
        Some(before) => format!("replaces version {before}"),
    };
    page.line_in(Ink::Green, &format!("✓ {what} {VERSION} {verb}: {}", folder.path.display()));
    let renamed = done.users.renamed.iter();
    named(page, renamed.map(|(old, new)| format!("You changed {old}. Your text is in {new} now.")));
}

/// Says what was removed, and which files of the user are left.
pub fn removed(page: &mut Printer, what: &str, folder: &InstallFolder, users: Option<&UserFiles>) {
    let place = folder.path.display();
    let Some(users) = users else {
        return page.line(&format!("There is nothing to remove: Adjutant wrote nothing to {place}"));
    };
    page.line_in(Ink::Green, &format!("✓ {what} is removed: {place}"));
    let left = users.kept.iter().chain(users.renamed.iter().map(|(_, new)| new));
    named(page, left.map(|path| format!("You added or changed {path}. It is left there.")));
}

fn named(page: &mut Printer, lines: impl Iterator<Item = String>) {
    let lines: Vec<String> = lines.collect();
    lines.iter().take(MAX_NAMED).for_each(|line| page.line(line));
    if lines.len() > MAX_NAMED {
        page.line(&format!("{} more files are yours.", lines.len() - MAX_NAMED));
    }
}

/// Warns if an editor would start no program, or another one than this.
pub fn check_path(page: &mut Printer) {
    let own = std::env::current_exe().ok();
    let folder = own.as_deref().and_then(Path::parent).map(|folder| folder.display().to_string());
    let real = |path: &Path| path.canonicalize().ok();
    match (programs::find("adjutant"), own.as_deref()) {
        (None, _) => page.line_in(
            Ink::Bold,
            &format!(
                "Editors look for `adjutant` on PATH, and it is not there: add the folder {}",
                folder.unwrap_or_else(|| "with this program".to_owned())
            ),
        ),
        (Some(found), Some(own)) if real(&found) != real(own) => page.line_in(
            Ink::Bold,
            &format!(
                "Editors start `adjutant` from PATH, which is another program: {}. Install the client with that program, so that both fit.",
                found.display()
            ),
        ),
        _ => {}
    }
}
