//! One popup as a plain client shows it: its text, its buttons, and what the
//! answer means. The one seat of what any surface may offer for an ask.
//!
//! Pure. Nothing but a button that was offered is ever an answer.

use std::borrow::Cow;

use adjutant_core::tool::{one_line, shown, shown_command};
use adjutant_protocol::ask::{AskGroup, AskKind, AskSubject, AskView, OptionKind};
use serde_json::{Value, json};

/// Lines and characters of a subject that a popup or a diagnostic holds.
const MAX_LINES: usize = 12;
const MAX_CHARS: usize = 600;
/// Characters of one line of ours around it.
const MAX_LINE: usize = 300;
/// Characters of a button.
const MAX_TITLE: usize = 80;
/// Buttons of a popup; editors cut more.
const MAX_ACTIONS: usize = 4;
/// Suggestions of a question that become buttons.
const MAX_SUGGESTIONS: usize = 3;

/// The button that opens the whole of what is asked.
pub const SHOW: &str = "Show";

/// What a surface has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// A few lines, as they are.
    Lines,
    /// One line: what is in several loses its line ends, and with them its meaning.
    Line,
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
    /// Opens the whole of it; answers nothing.
    Show,
    /// Answers with this option.
    Option { id: String, approves: bool },
}

/// The whole of what an ask is about, and the ending of a file that holds it.
pub struct Whole<'a> {
    pub text: Cow<'a, str>,
    pub ending: &'static str,
}

/// Returns the whole of what is to be allowed, odd characters escaped; none where the popup's own
/// lines say it all.
pub fn whole(ask: &AskView) -> Option<Whole<'_>> {
    match ask.subject.as_ref()? {
        AskSubject::Edit { diff, .. } => Some(Whole { text: diff_text(diff), ending: "diff" }),
        AskSubject::Command { command, .. } => Some(Whole { text: shown_command(command), ending: "txt" }),
        AskSubject::Read { .. } => None,
    }
}

/// A diff whose lines all end alike is shown without their ends; where they differ, that is part
/// of the change and is seen.
fn diff_text(diff: &str) -> Cow<'_, str> {
    let mut body = diff
        .split_inclusive('\n')
        .skip_while(|line| !line.starts_with("@@"))
        .filter(|line| line.starts_with([' ', '+', '-']));
    if diff.contains('\r') && body.all(|line| line.ends_with("\r\n")) {
        return Cow::Owned(shown(&diff.replace("\r\n", "\n")).into_owned());
    }
    shown(diff)
}

/// Whether the whole of an ask fits a surface.
pub fn fits(ask: &AskView, room: Room) -> bool {
    let lines = match room {
        Room::Lines => MAX_LINES,
        Room::Line => 1,
    };
    // No character is shown by less than an eighth of its bytes, and what is large is not even looked at.
    let large = match &ask.subject {
        Some(AskSubject::Edit { diff, .. }) => diff.len() > 8 * MAX_CHARS,
        _ => false,
    };
    !large
        && whole(ask).is_none_or(|whole| {
            whole.text.lines().count() <= lines && whole.text.chars().count() <= MAX_CHARS
        })
}

/// Returns what a surface may offer now, in order: an approval is never the first, and never
/// there before the whole was to be seen (decision 15). `seen` says that it was opened.
pub fn offers(ask: &AskView, seen: bool, room: Room) -> Vec<Offer> {
    let mut offers: Vec<Offer> = Vec::new();
    let may_allow = seen || fits(ask, room);
    let (yes, no): (Vec<_>, Vec<_>) = ask.options.iter().partition(|option| approves(option.kind));
    let of = |option: &adjutant_protocol::ask::AskOption| Offer {
        title: one_line(&option.name, MAX_TITLE),
        choice: Choice::Option { id: option.option_id.clone(), approves: approves(option.kind) },
    };
    offers.extend(no.into_iter().map(of));
    if whole(ask).is_some() {
        offers.push(Offer { title: SHOW.to_owned(), choice: Choice::Show });
    }
    if may_allow {
        offers.extend(yes.into_iter().map(of));
    }
    distinct(&mut offers);
    offers
}

/// Whether choosing such an option lets something happen.
pub fn approves(kind: OptionKind) -> bool {
    matches!(kind, OptionKind::AllowOnce | OptionKind::AllowAlways)
}

/// Two buttons never look alike: a client that returns the title alone must mean one of them.
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

/// Whether an ask is ever put up as a popup: idle ones are state, not questions (decision 14).
pub fn is_for_popups(ask: &AskView) -> bool {
    ask.group != AskGroup::Idle
}

/// Returns the buttons of a popup.
pub fn buttons(ask: &AskView, seen: bool, room: Room) -> Vec<Offer> {
    let mut offers = offers(ask, seen, room);
    offers.truncate(if ask.kind == AskKind::Followup { MAX_SUGGESTIONS } else { MAX_ACTIONS });
    offers
}

/// Returns what is asked, in words and bounded: the text of a popup and of a diagnostic.
pub fn words(ask: &AskView, room: Room) -> String {
    let mut lines = vec![format!("Agent: {}", one_line(&ask.title, MAX_LINE))];
    let colon = if fits(ask, room) { ":" } else { "" };
    lines.extend(ask.description.as_deref().map(|why| one_line(why, MAX_LINE)));
    match &ask.subject {
        Some(AskSubject::Command { cwd, .. }) => lines.push(format!("in {}{colon}", one_line(cwd, MAX_LINE))),
        Some(AskSubject::Edit { path, new_file, .. }) => {
            let new = if *new_file { " (new file)" } else { "" };
            lines.push(format!("{}{new}{colon}", one_line(path, MAX_LINE)));
        }
        Some(AskSubject::Read { path, reason }) => {
            lines.push(format!("{} ({})", one_line(path, MAX_LINE), one_line(reason, MAX_LINE)));
        }
        None => {}
    }
    lines.extend(whole(ask).filter(|_| fits(ask, room)).map(|whole| whole.text.trim_end().to_owned()));
    lines.join(room.between())
}

/// Returns the text of a popup; `at` is where the whole was opened.
pub fn text(ask: &AskView, at: Option<&str>, room: Room) -> String {
    let mut lines = vec![words(ask, room)];
    match at {
        Some(at) => lines.push(format!("The whole of it is open: {}", one_line(room.place(at), MAX_LINE))),
        None if !fits(ask, room) => lines.push(room.too_long().to_owned()),
        None => {}
    }
    if ask.kind == AskKind::Followup {
        let more: Vec<String> = ask
            .options
            .iter()
            .skip(MAX_SUGGESTIONS)
            .take(MAX_SUGGESTIONS)
            .map(|option| one_line(&option.name, MAX_TITLE))
            .collect();
        if !more.is_empty() {
            lines.push(format!("Or: {}", more.join(" · ")));
        }
        lines.push("The command \"adjutant.respond\" takes an answer in your own words.".to_owned());
    }
    lines.join(room.between())
}

/// Returns the params of the popup; `properties` says that its items come back whole.
pub fn params(text: &str, ask: &AskView, buttons: &[Offer], properties: bool) -> Value {
    let item = |offer: &Offer| {
        let mut item = json!({ "title": offer.title });
        if properties {
            item["askId"] = json!(ask.ask_id);
            item["optionId"] = json!(offer.id());
        }
        item
    };
    let actions: Vec<Value> = buttons.iter().map(item).collect();
    json!({ "type": 3, "message": text, "actions": actions })
}

impl Room {
    /// What to do where the whole does not fit.
    fn too_long(self) -> &'static str {
        match self {
            Room::Lines => "This is too long to be judged here: choose \"Show\" to see the whole of it.",
            Room::Line => "Choose \"Show\" to see the whole of it.",
        }
    }

    /// How a path is named: a line has no room for its folders, and the editor has it open.
    fn place(self, path: &str) -> &str {
        match self {
            Room::Lines => path,
            Room::Line => path.rsplit('/').next().unwrap_or(path),
        }
    }

    /// What stands between two statements.
    fn between(self) -> &'static str {
        match self {
            Room::Lines => "\n",
            Room::Line => " · ",
        }
    }
}

impl Offer {
    /// The name of an offer where an item carries one.
    pub fn id(&self) -> &str {
        match &self.choice {
            Choice::Show => "_show",
            Choice::Option { id, .. } => id,
        }
    }
}

/// Returns which button was pressed; none for everything else, null above all (rule b).
pub fn pressed<'a>(ask: &AskView, buttons: &'a [Offer], reply: &Value) -> Option<&'a Offer> {
    let item = reply.as_object()?;
    let title = item.get("title").and_then(Value::as_str);
    match (item.get("askId"), item.get("optionId")) {
        (None, None) => buttons.iter().find(|offer| Some(offer.title.as_str()) == title),
        (of, id) => {
            let named = of.and_then(Value::as_str) == Some(ask.ask_id.0.as_str());
            let id = id.and_then(Value::as_str);
            buttons.iter().find(|offer| {
                named && id == Some(offer.id()) && title.is_none_or(|title| title == offer.title)
            })
        }
    }
}

#[cfg(test)]
mod tests;
