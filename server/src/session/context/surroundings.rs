//! The surroundings of a session: the machine, the date, the state of the repository (S57, S62, S119).
//!
//! Each line stands for itself, so that a reminder can have only those that changed. Never starts a program.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use adjutant_core::record::{ContextKind, ContextText};
use adjutant_core::text::display::one_line;
use adjutant_git::Repository;

use super::text_of;
use crate::tools::paths::Roots;
use crate::tools::process::pin_shell;

/// After this time the changed files of the repository are unknown.
const GIT_TIME: Duration = Duration::from_millis(200);
/// Changed files that are named, and the last commits.
const MAX_FILES: usize = 10;
const MAX_COMMITS: usize = 3;
/// Characters of a name or of the first line of a commit.
const MAX_SHOWN: usize = 80;
/// Digits of a commit.
const COMMIT_DIGITS: usize = 8;

/// Returns the surroundings of now. Blocks, for about [`GIT_TIME`] at most.
pub fn text(roots: &Roots) -> ContextText {
    let mut lines = vec![machine()];
    lines.extend(elsewhere().map(|host| format!("This is not the user's own machine: {host}.")));
    lines.push(date());
    lines.extend(roots.paths().next().and_then(repository));
    let text = format!("# Surroundings\n{}", lines.join("\n"));
    text_of(ContextKind::Surroundings, "this machine".to_owned(), text, 0)
}

fn machine() -> String {
    let shell = pin_shell().map_or_else(
        |_| "no shell was found".to_owned(),
        |shell| format!("commands run in {}", shell.path.display()),
    );
    format!("Platform: {} {}; {shell}.", std::env::consts::OS, std::env::consts::ARCH)
}

/// Returns where the work is, if it is on another machine than the user's screen, or in a container; `None` for the machine
/// itself.
pub fn elsewhere() -> Option<String> {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let host = || one_line(&rustix::system::uname().nodename().to_string_lossy(), MAX_SHOWN);
    if set("SSH_CONNECTION") || set("SSH_CLIENT") {
        return Some(format!("{}, over SSH", host()));
    }
    if set("WSL_DISTRO_NAME") {
        return Some(format!("{}, in WSL", host()));
    }
    let in_container = Path::new("/.dockerenv").exists() || Path::new("/run/.containerenv").exists();
    (in_container || set("REMOTE_CONTAINERS")).then(|| format!("{}, in a container", host()))
}

fn date() -> String {
    let now = jiff::Zoned::now();
    let zone = now.time_zone().iana_name().unwrap_or("local time").to_owned();
    format!("Date: {} ({zone}, UTC{}).", now.strftime("%A, %Y-%m-%d"), now.strftime("%:z"))
}

/// Returns the lines of the repository of a folder; `None` if there is none.
fn repository(folder: &Path) -> Option<String> {
    let found = match Repository::find(folder) {
        Ok(found) => found?,
        Err(why) => return Some(format!("Git: unknown, because {why}.")),
    };
    let end = Instant::now() + GIT_TIME;
    let head = match found.head() {
        Ok(head) => head.name(COMMIT_DIGITS).unwrap_or_else(|| "no commit yet".to_owned()),
        Err(why) => return Some(format!("Git: unknown, because {why}.")),
    };
    let mut lines = vec![format!("Git: {}; {}.", one_line(&head, MAX_SHOWN), changed(&found, end))];
    if let Ok(latest) = found.commits().and_then(|commits| commits.latest(MAX_COMMITS)) {
        lines.extend(latest.into_iter().map(|(id, subject)| {
            let subject = serde_json::Value::from(one_line(&subject, MAX_SHOWN));
            // Anybody can have written it: the line says so, and the quotes end where the text ends.
            format!("Commit {:.COMMIT_DIGITS$} is called by its author: {subject}", id.to_string())
        }));
    }
    Some(lines.join("\n"))
}

fn changed(repository: &Repository, end: Instant) -> String {
    let files: Vec<PathBuf> = match repository.changed_files(end) {
        Ok(files) => files,
        Err(_) => return "changed files unknown".to_owned(),
    };
    if files.is_empty() {
        return "no changes beside those staged".to_owned();
    }
    let names: Vec<String> =
        files.iter().take(MAX_FILES).map(|path| one_line(&path.display().to_string(), MAX_SHOWN)).collect();
    let more = match files.len().saturating_sub(MAX_FILES) {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    format!("changed: {}{more}", names.join(", "))
}
