//! One popup as a plain client shows it: its text, its buttons, and what the
//! answer means. The only place that decides what a surface may offer for an ask.
//!
//! Pure. Never accepts anything but an offered button as an answer.

use std::collections::BTreeMap;

use adjutant_core::policy::ask::SAVE_AND_RUN;
use adjutant_core::policy::unsaved;
use adjutant_core::text::cells;
use adjutant_core::text::display::{Readable, Surface, display, display_command, display_diff, one_line};
use adjutant_core::wire::ask::{MAX_LABEL, label};
use adjutant_protocol::ask::{AskGroup, AskKind, AskOption, AskSubject, AskView, EditedFile, OptionKind};

/// Lines of a command or a diff that a popup or a diagnostic shows, unless its client has less room.
pub const MAX_LINES: usize = 12;
/// Rows for the title, the reason and the place around it.
const MORE_LINES: usize = 6;
/// Columns of the narrowest screen.
const COLUMNS: usize = 80;
/// Characters of a command or a diff that a popup or a diagnostic shows.
const MAX_CHARS: usize = 600;
/// Characters of a popup that offers an approval. VS Code cuts longer ones without a sign.
const MAX_MESSAGE: usize = 1_000;
/// Characters of one line around the subject.
const MAX_LINE: usize = 300;
/// Characters of the title of an ask that has a subject.
const MAX_TITLE: usize = 80;
/// Characters of a suggestion that is too long for a button.
const MAX_SUGGESTION: usize = 80;
/// Options that become buttons next to *Show*; editors cut more.
const MAX_OPTIONS: usize = 3;

/// The button that opens the whole of what is asked.
pub const SHOW: &str = "Show";

/// How much a surface has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SurfaceRoom {
    /// Lines of the command or the diff that are visible at once.
    pub lines: usize,
    /// Everything is on one line: a text of several loses its line ends, and with them its meaning.
    pub one_line: bool,
}

/// One thing a surface may offer for an ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    pub title: String,
    pub choice: Choice,
}

/// What an offer does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Opens the whole subject; answers nothing.
    Show,
    /// Answers with this option.
    Option { id: String, approves: bool },
}

/// The whole subject of an ask, and the extension of a file with it.
pub struct Whole {
    pub text: String,
    pub ending: &'static str,
}

/// Returns the whole subject of an ask as plain text, with everything that does not fit a surface.
pub fn whole(ask: &AskView) -> Whole {
    let body = body(ask, Surface::Plain).map(|body| body.text);
    let mut head: Vec<String> = Vec::new();
    let mut line = |before: &str, text: &str, after: &str| {
        head.push(format!("{before}{}{after}\n", display_command(text, Surface::Plain).text));
    };
    // A popup without the command or the diff still shows the lines around it.
    let popup_has_lines = body.is_some() && lines_fit(ask);
    match &ask.subject {
        Some(AskSubject::Command { cwd, timeout_seconds, unsaved, .. }) => {
            // The description in the popup says it as well.
            if let Some(sentence) =
                unsaved::sentence_for(unsaved.iter().map(|document| document.path.as_str()))
                    .filter(|_| popup_has_lines)
            {
                line("", &sentence, "");
            }
            line("In ", cwd, &format!("{}:", time_limit(*timeout_seconds)));
        }
        Some(edits @ (AskSubject::Edit(_) | AskSubject::Edits { .. })) => {
            for file in edits.files().iter().filter(|_| !popup_has_lines) {
                line("Changes ", &file.path, "");
            }
        }
        Some(AskSubject::Read { path, reason }) => line("Reads ", path, &format!(" ({reason})")),
        None => line("", &ask.title, ""),
    }
    if let Some(why) = ask.description.as_deref().filter(|_| !popup_has_lines) {
        line("", why, "");
    }
    if ask.kind == AskKind::Followup {
        for (at, option) in ask.options.iter().enumerate() {
            line(&format!("{}. ", at + 1), &option.name, "");
        }
    }
    let ending = if ask.files().is_empty() { "txt" } else { "diff" };
    let between = if head.is_empty() || body.is_none() { "" } else { "\n" };
    Whole { text: format!("{}{between}{}", head.concat(), body.unwrap_or_default()), ending }
}

/// Returns the command or the diffs of an ask as the surface shows them.
fn body(ask: &AskView, on: Surface) -> Option<Readable<'_>> {
    match ask.subject.as_ref()? {
        AskSubject::Edit(file) => Some(display_diff(&file.diff, on)),
        AskSubject::Edits { files } => {
            // One by one, because the line ends of one file say nothing about another.
            let shown: Vec<Readable<'_>> = files.iter().map(|file| display_diff(&file.diff, on)).collect();
            let changed = shown.iter().any(|diff| diff.changed);
            let text = shown.into_iter().map(|diff| diff.text).collect::<Vec<_>>().concat();
            Some(Readable { text: text.into(), changed })
        }
        AskSubject::Command { command, .. } => Some(display_command(command, on)),
        AskSubject::Read { .. } => None,
    }
}

/// Returns the time limit of a command, in words.
fn time_limit(seconds: Option<u64>) -> String {
    seconds.map(|seconds| format!(", for at most {seconds} s")).unwrap_or_default()
}

/// Whether a surface shows the whole of an ask, with no part of it in another form.
pub fn fits(ask: &AskView, room: SurfaceRoom) -> bool {
    let lines = if room.one_line { 1 } else { room.lines };
    // A text of more than 8 bytes for each allowed character cannot fit, so it is not rendered.
    let bytes = match &ask.subject {
        Some(AskSubject::Command { command, .. }) => command.len(),
        Some(subject) => subject.files().iter().map(|file| file.diff.len()).sum(),
        None => 0,
    };
    let large = bytes > 8 * MAX_CHARS;
    let short = |body: Readable<'_>| {
        let seen = if room.one_line { body.text.lines().count() } else { rows(&body.text) };
        !body.changed && seen <= lines && body.text.chars().count() <= MAX_CHARS
    };
    if large || !lines_fit(ask) || !body(ask, Surface::Message(usize::MAX)).is_none_or(short) {
        return false;
    }
    let all = written(ask, room, true);
    all.encode_utf16().count() <= MAX_MESSAGE && (room.one_line || rows(&all) <= room.lines + MORE_LINES)
}

/// Returns how many rows of a narrow screen a text needs.
fn rows(text: &str) -> usize {
    text.lines().map(|line| cells::rows(line, COLUMNS)).sum()
}

/// Whether the lines around the subject show their texts whole and unchanged.
fn lines_fit(ask: &AskView) -> bool {
    let as_it_is = |text: &str| !display_command(text, Surface::Line(MAX_LINE)).changed;
    let bound = match &ask.subject {
        Some(AskSubject::Command { cwd, .. }) => as_it_is(cwd),
        Some(edits @ (AskSubject::Edit(_) | AskSubject::Edits { .. })) => {
            edits.files().iter().all(|file| as_it_is(&file.path))
        }
        Some(AskSubject::Read { path, reason }) => as_it_is(path) && as_it_is(reason),
        None => as_it_is(&ask.title),
    };
    bound && ask.description.as_deref().is_none_or(|why| !display(why, Surface::Line(MAX_LINE)).changed)
}

/// Returns what a surface may offer now, in order. An approval is never the first, and is offered only if
/// the whole fits the surface or was opened (`seen`) (design 15).
///
/// No button moves to the place where *Show* was. Lists begin at the left, so approvals are added
/// after it. Notifications of one line end at the right, so there they are added before it.
pub fn offers(ask: &AskView, seen: bool, room: SurfaceRoom) -> Vec<Offer> {
    let fits = fits(ask, room);
    let (yes, no): (Vec<_>, Vec<_>) = ask.options.iter().partition(|option| approves(option.kind));
    let titles = titles(ask);
    let of = |option: &AskOption| Offer {
        title: titles.get(&option.option_id).cloned().unwrap_or_default(),
        choice: Choice::Option { id: option.option_id.clone(), approves: approves(option.kind) },
    };
    let no = no.into_iter().map(of);
    let yes = yes.into_iter().map(of).filter(|_| seen || fits);
    let show = has_more(ask, fits).then(|| Offer { title: SHOW.to_owned(), choice: Choice::Show });
    let mut offers: Vec<Offer> =
        if room.one_line { no.chain(yes).chain(show).collect() } else { no.chain(show).chain(yes).collect() };
    distinct(&mut offers);
    offers
}

/// Whether *Show* is offered: for an ask that does not fit, and for every command and diff.
fn has_more(ask: &AskView, fits: bool) -> bool {
    !fits || !ask.files().is_empty() || matches!(ask.subject, Some(AskSubject::Command { .. }))
}

/// Returns the title of each option's button. If a suggestion is longer than a button, all are numbered.
fn titles(ask: &AskView) -> BTreeMap<String, String> {
    let numbered = is_numbered(ask);
    let title = |(at, option): (usize, &AskOption)| {
        let title = match option.kind {
            OptionKind::Choose if numbered => {
                one_line(&format!("{}. {}", at + 1, one_line(&option.name, MAX_SUGGESTION)), MAX_LABEL)
            }
            _ => label(option),
        };
        (option.option_id.clone(), title)
    };
    ask.options.iter().enumerate().map(title).collect()
}

fn is_numbered(ask: &AskView) -> bool {
    ask.kind == AskKind::Followup
        && ask.options.iter().any(|option| display(&option.name, Surface::Line(MAX_LABEL)).changed)
}

/// Whether an option of this kind approves.
pub fn approves(kind: OptionKind) -> bool {
    matches!(kind, OptionKind::AllowOnce | OptionKind::AllowAlways)
}

/// Makes all titles different, because some clients return only the title of the pressed button.
fn distinct(offers: &mut [Offer]) {
    for at in 1..offers.len() {
        let (before, rest) = offers.split_at_mut(at);
        let Some(offer) = rest.first_mut() else { return };
        let title = offer.title.clone();
        let mut number = 1;
        while before.iter().any(|other| other.title == offer.title) {
            number += 1;
            offer.title = format!("{title} ({number})");
        }
    }
}

/// Whether an ask is ever shown as a popup: idle ones are state, not questions (design 14).
pub fn is_for_popups(ask: &AskView) -> bool {
    ask.group != AskGroup::Idle
}

/// Returns the buttons of a popup.
pub fn buttons(ask: &AskView, seen: bool, room: SurfaceRoom) -> Vec<Offer> {
    let mut offers = offers(ask, seen, room);
    let mut options = 0;
    offers.retain(|offer| {
        options += usize::from(offer.choice != Choice::Show);
        offer.choice == Choice::Show || options <= MAX_OPTIONS
    });
    offers
}

/// Returns the question in words and bounded: the text of a popup and of a diagnostic.
pub fn words(ask: &AskView, room: SurfaceRoom) -> String {
    written(ask, room, fits(ask, room))
}

fn written(ask: &AskView, room: SurfaceRoom, whole: bool) -> String {
    // The title is the short form of the subject, which follows whole.
    let title = if ask.subject.is_some() { MAX_TITLE } else { MAX_LINE };
    let mut lines = vec![format!("Adjutant: {}", one_line(&ask.title, title))];
    let body = body(ask, Surface::Message(2 * MAX_CHARS)).filter(|body| {
        // A text in another form is shown, but cannot be allowed by it.
        whole
            || (body.changed
                && body.text.lines().count() <= MAX_LINES
                && body.text.chars().count() <= MAX_CHARS)
    });
    let colon = if body.is_some() { ":" } else { "" };
    lines.extend(ask.description.as_deref().map(|why| one_line(why, MAX_LINE)));
    match &ask.subject {
        Some(AskSubject::Command { cwd, timeout_seconds, .. }) => {
            lines.push(format!("in {}{}{colon}", one_line(cwd, MAX_LINE), time_limit(*timeout_seconds)));
        }
        Some(AskSubject::Edit(EditedFile { path, new_file, .. })) => {
            let new = if *new_file { " (new file)" } else { "" };
            lines.push(format!("{}{new}{colon}", one_line(path, MAX_LINE)));
        }
        // The title names the files, and each diff begins with its name.
        Some(AskSubject::Edits { .. }) => {}
        Some(AskSubject::Read { path, reason }) => {
            lines.push(format!("{} ({})", one_line(path, MAX_LINE), one_line(reason, MAX_LINE)));
        }
        None => {}
    }
    lines.extend(body.map(|body| body.text.trim_end().to_owned()));
    lines.extend(explained(ask).filter(|_| whole));
    lines.join(room.between())
}

/// Returns what "always" would allow, or what is saved first; a button has no room for that.
fn explained(ask: &AskView) -> Option<String> {
    let is_long =
        |option: &&AskOption| option.kind == OptionKind::AllowAlways || option.option_id == SAVE_AND_RUN;
    let option = ask.options.iter().find(is_long)?;
    Some(format!("“{}” = {}", label(option), one_line(&option.name, MAX_LINE)))
}

/// Returns the text of a popup; `at` is the file in which the whole was opened.
pub fn text(ask: &AskView, at: Option<&str>, room: SurfaceRoom) -> String {
    let mut lines = vec![words(ask, room)];
    match at {
        Some(at) => {
            lines.extend(explained(ask).filter(|_| !fits(ask, room)));
            lines.push(format!("The whole of it is open: {}", one_line(room.place(at), MAX_LINE)));
        }
        None if !fits(ask, room) => lines.push(room.too_long().to_owned()),
        None => {}
    }
    if ask.kind == AskKind::Followup {
        lines.extend(suggestions(ask));
        lines.push("The command \"adjutant.respond\" takes an answer in your own words.".to_owned());
    }
    lines.join(room.between())
}

/// Returns the suggestions that no button shows whole.
fn suggestions(ask: &AskView) -> Option<String> {
    let first = if is_numbered(ask) { 0 } else { MAX_OPTIONS };
    let more = ask.options.iter().enumerate().skip(first).take(2 * MAX_OPTIONS - first);
    let more: Vec<String> = more
        .map(|(at, option)| match one_line(&option.name, MAX_SUGGESTION) {
            name if first == 0 => format!("{}. {name}", at + 1),
            name => name,
        })
        .collect();
    let head = if first == 0 { "" } else { "Or: " };
    (!more.is_empty()).then(|| format!("{head}{}", more.join(" · ")))
}

impl SurfaceRoom {
    /// Returns the advice for an ask that does not fit.
    fn too_long(self) -> &'static str {
        if self.one_line {
            "Choose \"Show\" to see the whole of it."
        } else {
            "This cannot be judged here: choose \"Show\" to see the whole of it."
        }
    }

    /// Returns the name of a path: one line has no room for its folders, and the editor has it open.
    fn place(self, path: &str) -> &str {
        if self.one_line { path.rsplit('/').next().unwrap_or(path) } else { path }
    }

    /// Returns the separator of two statements.
    fn between(self) -> &'static str {
        if self.one_line { " · " } else { "\n" }
    }
}

impl Offer {
    /// Returns the id of an offer, for clients whose buttons have one.
    pub fn id(&self) -> &str {
        match &self.choice {
            Choice::Show => "_show",
            Choice::Option { id, .. } => id,
        }
    }
}

#[cfg(test)]
mod tests;
