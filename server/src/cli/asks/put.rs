//! Prints an ask: the whole diff or command, then the possible answers.
//!
//! Never shortens the subject of an approval, and never prints it unescaped (A2).

use adjutant_core::text::cells;
use adjutant_core::text::display::{Surface, display_diff, shown_command};
use adjutant_protocol::ask::{AskGroup, AskSubject, AskView, EditedFile, OptionKind};
use adjutant_protocol::operation::FileOperation;

use crate::cli::page::{Ink, Printer};

use super::answer::{has_several_changes, of_kind, saving};

/// Columns of a narrow screen, and rows of a text that fits it together with the lines after it.
const COLUMNS: usize = 80;
const ROWS: usize = 15;

/// Prints an ask. Its options are numbered if a number can be typed.
pub fn put(page: &mut Printer, ask: &AskView) {
    put_whole(page, ask);
    if of_kind(ask, OptionKind::AllowOnce).is_none() && ask.group == AskGroup::Interactive {
        for (at, option) in ask.options.iter().enumerate() {
            page.line(&format!("  {}. {}", at + 1, option.name));
        }
    }
}

/// Prints the title, the reason and the whole subject of an ask.
pub fn put_whole(page: &mut Printer, ask: &AskView) {
    page.line_in(Ink::Bold, &format!("? {}", ask.title));
    if let Some(description) = &ask.description {
        for line in description.lines() {
            page.line(&format!("  {line}"));
        }
    }
    for EditedFile { path, diff, new_file, operation, .. } in ask.files() {
        let what = match operation {
            Some(FileOperation::Delete) => "deletes",
            Some(FileOperation::Move { .. }) => "moves",
            None if *new_file => "makes the file",
            None => "changes",
        };
        page.line(&format!("  {what} {path}:"));
        put_diff(page, diff);
    }
    match &ask.subject {
        Some(AskSubject::Edit(_) | AskSubject::Edits { .. }) | None => {}
        Some(AskSubject::Command { command, cwd, timeout_seconds, .. }) => {
            let limit =
                timeout_seconds.map(|seconds| format!(", for at most {seconds} s")).unwrap_or_default();
            page.line(&format!("  runs in {}{limit}:", shown_command(cwd)));
            // Lines are split only at line feeds; other line ends in a command are shown escaped.
            let lines: Vec<String> = shown_command(command).split('\n').map(str::to_owned).collect();
            for (at, line) in lines.iter().enumerate() {
                let mark = if at == 0 { "$" } else { ">" };
                page.verbatim(Ink::Cyan, &format!("  {mark} {line}"));
            }
            put_length(page, &lines);
        }
        Some(AskSubject::Read { path, reason }) => {
            page.line(&format!("  reads {path}: {reason}"));
        }
    }
}

/// Prints each line of a diff. It is split only at line feeds, so that a different line end is visible.
pub fn put_diff(page: &mut Printer, diff: &str) {
    let diff = display_diff(diff, Surface::Plain).text;
    // An inserted line may look like the head of a file. Heads come before the first hunk.
    let mut in_head = true;
    for line in diff.strip_suffix('\n').unwrap_or(&diff).split('\n') {
        in_head &= !line.starts_with('@');
        let ink = match line.as_bytes() {
            _ if in_head => Ink::Bold,
            [b'+', ..] => Ink::Green,
            [b'-', ..] => Ink::Red,
            [b'@', ..] => Ink::Cyan,
            _ => Ink::Plain,
        };
        page.verbatim(ink, line);
    }
    put_length(page, &diff.lines().collect::<Vec<_>>());
}

/// Prints the length of a text if its beginning may have left the screen.
fn put_length(page: &mut Printer, lines: &[impl AsRef<str>]) {
    let rows: usize = lines.iter().map(|line| cells::rows(line.as_ref(), COLUMNS)).sum();
    if rows > ROWS {
        page.line(&format!("  {} lines in all; scroll up to read the first.", lines.len()));
    }
}

/// Returns one line that says what can be typed.
pub fn hint(ask: &AskView) -> String {
    if of_kind(ask, OptionKind::AllowOnce).is_some() {
        let always = of_kind(ask, OptionKind::AllowAlways);
        let always = always.map(|option| format!(" · always = {}", option.name)).unwrap_or_default();
        let changes = if has_several_changes(ask) { " · p = change by change" } else { "" };
        if saving(ask).is_some() {
            return "s = save the files in the editor, then run · y = run on the files as saved · n = reject · any other text = reject with this reason".to_owned();
        }
        return format!(
            "y = yes, once · n = reject{always}{changes} · any other text = reject with this reason"
        );
    }
    let text = if ask.free_text { " · or a text of your own" } else { "" };
    match ask.group {
        AskGroup::Interactive if ask.options.is_empty() => "type an answer".to_owned(),
        AskGroup::Interactive => format!("type a number{text}"),
        _ => {
            let names: Vec<String> = ask
                .options
                .iter()
                .enumerate()
                .map(|(at, option)| format!("{} = {}", at + 1, option.name))
                .collect();
            format!("{}{text}", names.join(" · "))
        }
    }
}
