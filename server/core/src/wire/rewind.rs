//! A preview of what it means to take back runs, as clients see it.

use std::collections::BTreeMap;

use adjutant_protocol::rewind::{FilePreview, LeftHunks, RewindChoice, RewindPreview};

use crate::record::FileOperation;
use crate::session::rewind::{FileRewind, Obstacle, RewindOutcome, RewoundRuns};
use crate::session::{AppliedChange, Session};
use crate::text::display::one_line;
use crate::text::trace::SideRefusal;

/// Command lines in a preview.
const MOST_COMMANDS: usize = 20;
/// Files and commands in the lines for people.
const MOST_LINES: usize = 40;
/// Characters of a path, a title or a command in the lines for people.
const MOST_CHARS: usize = 120;

/// A file with changes of the runs.
pub struct RewoundFile {
    pub uri: String,
    /// As the user sees it.
    pub path: String,
    /// What becomes of its hunks, or of how many hunks nothing becomes, and why.
    pub hunks: Result<FileRewind, (usize, String)>,
}

/// Returns the preview. `why` says why a hunk of a file stays as it is, by the number of the file.
pub fn preview(
    session: &Session,
    runs: &RewoundRuns,
    files: &[&RewoundFile],
    why: impl Fn(usize, SideRefusal) -> String,
) -> RewindPreview {
    let previews: Vec<FilePreview> = files
        .iter()
        .enumerate()
        .map(|(number, file)| file_preview(session, file, runs, |refusal| why(number, refusal)))
        .collect();
    let ran: Vec<String> = session
        .commands
        .iter()
        .filter(|ran| runs.all.contains(&ran.run))
        .map(|ran| ran.line.clone())
        .collect();
    let digest = |file: &&RewoundFile| Some((file.uri.clone(), file.hunks.as_ref().ok()?.digest.clone()));
    let mut preview = RewindPreview {
        session_id: session.id.clone(),
        run_id: runs.first.clone(),
        title: runs.title.clone(),
        later: runs.all.len() > 1,
        restore: runs.restore,
        commands_run: number(ran.len()),
        commands: ran[ran.len().saturating_sub(MOST_COMMANDS)..].to_vec(),
        forgotten: runs.all.iter().any(|run| session.applied.forgotten.contains(run)),
        choices: choices(&previews, runs.restore),
        files: previews,
        lines: Vec::new(),
        expect: files.iter().filter_map(digest).collect::<BTreeMap<_, _>>(),
    };
    preview.lines = in_lines(&preview);
    preview
}

fn file_preview(
    session: &Session,
    file: &RewoundFile,
    runs: &RewoundRuns,
    why: impl Fn(SideRefusal) -> String,
) -> FilePreview {
    let mut shown = FilePreview {
        uri: file.uri.clone(),
        path: file.path.clone(),
        hunks: 0,
        kept: 0,
        user_hunks: 0,
        user_lines: 0,
        already: 0,
        removed: false,
        becomes: Vec::new(),
        left: Vec::new(),
    };
    let rewind = match &file.hunks {
        Ok(rewind) => rewind,
        Err((hunks, why)) => {
            shown.left.push(LeftHunks { hunks: number(*hunks), why: why.clone() });
            return shown;
        }
    };
    for hunk in &rewind.hunks {
        match &hunk.outcome {
            RewindOutcome::Already => shown.already += 1,
            RewindOutcome::Exact => {
                shown.hunks += 1;
                shown.kept += u32::from(hunk.kept);
                let change = session.applied.get(&hunk.change_set);
                shown.becomes.extend(change.and_then(|change| becomes(change, runs.restore)));
            }
            RewindOutcome::WithUsers { lines, .. } => {
                shown.user_hunks += 1;
                shown.user_lines += number(*lines);
            }
            RewindOutcome::Left(refusal) => {
                let why = match refusal {
                    Obstacle::Lines(refusal) => why(*refusal),
                    Obstacle::NoFile => "the file is not there now".to_owned(),
                    Obstacle::Waits => "another deletion or move of the file stays".to_owned(),
                    Obstacle::OtherFile => "another file has its name now".to_owned(),
                    Obstacle::OtherText => {
                        "the file has another text now; undo what was changed later first".to_owned()
                    }
                    Obstacle::NoContent => {
                        "its content is not kept, or no text; decide about it alone".to_owned()
                    }
                };
                match shown.left.iter_mut().find(|left| left.why == why) {
                    Some(left) => left.hunks += 1,
                    None => shown.left.push(LeftHunks { hunks: 1, why }),
                }
            }
        }
    }
    shown.removed = shown.hunks > 0 && rewind.removes;
    if rewind.is_absent {
        // It only comes and goes.
        shown.becomes.clear();
    }
    shown
}

/// Says what becomes of a file whose deletion or move is undone or restored; `None` if the change is one of lines.
fn becomes(change: &AppliedChange, restore: bool) -> Option<String> {
    Some(match (change.operation.as_ref()?, restore) {
        (FileOperation::Delete { .. }, false) => "the deleted file comes back".to_owned(),
        (FileOperation::Delete { .. }, true) => "the file is deleted again".to_owned(),
        (FileOperation::Move { .. }, false) => format!("the file is called {} again", change.path),
        (FileOperation::Move { path, .. }, true) => format!("the file is called {path} again"),
    })
}

fn choices(files: &[FilePreview], restore: bool) -> Vec<RewindChoice> {
    let verb = if restore { "restore" } else { "undo" };
    let sum = |of: fn(&FilePreview) -> u32| files.iter().map(of).sum::<u32>();
    let (hunks, users, lines) =
        (sum(|file| file.hunks), sum(|file| file.user_hunks), sum(|file| file.user_lines));
    let mut choices = Vec::new();
    if hunks > 0 {
        choices.push(RewindChoice {
            title: format!("Yes, {verb} {}", counted(hunks, "change")),
            user_lines: false,
        });
    }
    if users > 0 {
        let all = hunks + users;
        let yours = match lines {
            0 => "what you changed in them".to_owned(),
            lines => format!("your {}", counted(lines, "line")),
        };
        choices.push(RewindChoice {
            title: format!("Yes, {verb} {}, also {yours}", counted(all, "change")),
            user_lines: true,
        });
    }
    choices
}

/// Returns a preview in lines for people. Text that a model or a repository chose is escaped.
fn in_lines(preview: &RewindPreview) -> Vec<String> {
    let RewindPreview { title, files, commands, commands_run, later, restore, forgotten, .. } = preview;
    let (verb, verbed) = if *restore { ("Restore", "there already") } else { ("Undo", "undone already") };
    let since = if *later { " and everything after it" } else { "" };
    let mut lines = vec![format!("{verb} “{}”{since}: {}", one_line(title, MOST_CHARS), sizes(files))];
    for file in files.iter().take(MOST_LINES) {
        let mut parts = Vec::new();
        if file.hunks > 0 {
            parts.push(counted(file.hunks, "change"));
        }
        if file.kept > 0 {
            parts.push(format!("{} of them kept before", file.kept));
        }
        if file.user_hunks > 0 {
            let more = if file.hunks > 0 { " more" } else { "" };
            let lines = match file.user_lines {
                0 => "where you removed lines".to_owned(),
                lines => format!("with {} of yours", counted(lines, "line")),
            };
            parts.push(format!("{}{more} {lines}", counted(file.user_hunks, "change")));
        }
        let is_said = *restore && !file.becomes.is_empty();
        if file.removed && !is_said {
            parts.push("the file goes away".to_owned());
        }
        parts.extend(file.becomes.iter().map(|words| one_line(words, 2 * MOST_CHARS)));
        if file.already > 0 {
            parts.push(format!("{} {verbed}", file.already));
        }
        for left in &file.left {
            parts.push(format!(
                "{} left: {}",
                counted(left.hunks, "change"),
                one_line(&left.why, 2 * MOST_CHARS)
            ));
        }
        lines.push(format!("  {}: {}", one_line(&file.path, MOST_CHARS), parts.join(", ")));
    }
    if files.len() > MOST_LINES {
        lines.push(format!("  and {} more", counted(number(files.len() - MOST_LINES), "file")));
    }
    if *forgotten {
        lines.push("Older changes of it are not remembered any more, and stay.".to_owned());
    }
    if !commands.is_empty() && !restore {
        let ran = counted(*commands_run, "command");
        lines.push(format!("Not covered: what {ran} changed that ran meanwhile:"));
        lines.extend(commands.iter().map(|line| format!("  {}", one_line(line, MOST_CHARS))));
    }
    lines
}

fn sizes(files: &[FilePreview]) -> String {
    let hunks: u32 = files.iter().map(|file| file.hunks + file.user_hunks).sum();
    let touched = files.iter().filter(|file| file.hunks + file.user_hunks > 0).count();
    match hunks {
        0 => "nothing is left to do".to_owned(),
        _ => format!("{} in {}", counted(hunks, "change"), counted(number(touched), "file")),
    }
}

/// Returns a count with its noun.
fn counted(count: u32, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
