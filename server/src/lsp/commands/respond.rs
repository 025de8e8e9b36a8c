//! `adjutant.respond`: an answer to an ask, in a person's words.
//!
//! Never approves an ask that the answer does not name. Without the id of an ask, only
//! a rejection or a text counts, and only if one ask is open.

use std::sync::Arc;

use adjutant_core::machine::input::Choice;
use adjutant_core::policy::ask::{REJECT, RESUME, from_where};
use adjutant_core::text::display::one_line;
use adjutant_core::wire::ask::label;
use adjutant_protocol::AskId;
use adjutant_protocol::ask::{AskGroup, AskKind, AskOption, AskView, Resolution, RespondStatus};
use adjutant_protocol::commands::RespondArguments;
use adjutant_protocol::errors::ErrorName;
use serde_json::{Value, json};

use super::arguments::{CommandArguments, read};
use super::say;
use crate::agent::{Agent, Result};
use crate::client::{self, Level};
use crate::session::SURFACE_OF_COMMANDS;
use crate::session::mailbox::ClientError;
use crate::transport::ErrorBody;

/// Asks in one message.
const MAX_NAMED: usize = 5;
/// Characters of a title in a message.
const MAX_TITLE: usize = 120;

/// Serves `adjutant.respond`.
pub(super) async fn respond_command(agent: &Agent, given: CommandArguments) -> Result<Option<Value>> {
    let (named, given) = named_in_words(given);
    let words = matches!(given, CommandArguments::Text(_));
    let arguments: RespondArguments = read(given, "text")?;
    let named = named.or(arguments.ask_id);
    let unnamed = named.is_none();
    let ask_id = the_ask(agent, named)?;
    // An ask that closed meanwhile is answered anyway: the session returns the earlier answer.
    let ask = open(agent).into_iter().find(|ask| ask.ask_id == ask_id);
    let choice = match (arguments.option_id, arguments.text) {
        (Some(id), text) => Choice::Option { id, text },
        (None, Some(text)) if words => by_words(ask.as_deref(), text)?,
        (None, Some(text)) => Choice::Text(text),
        (None, None) => return Err(ErrorBody::invalid_params(how(ask.as_deref()))),
    };
    if let Some(ask) = ask.as_deref().filter(|ask| unnamed && approves(ask, &choice)) {
        return Err(ErrorBody::invalid_params(unnamed_approval(ask)));
    }
    let answered = agent.post_answer(ask_id, choice, SURFACE_OF_COMMANDS).await?;
    if answered.status == RespondStatus::AlreadyResolved && !agent.sessions.world().link.surfaces().updates {
        say(agent, Level::Info, &already(&answered.resolution));
    }
    Ok(Some(json!(answered)))
}

/// Returns the named ask, else the only open one.
pub(super) fn the_ask(agent: &Agent, named: Option<AskId>) -> Result<AskId> {
    if let Some(id) = named {
        return Ok(id);
    }
    let (idle, pressing): (Vec<_>, Vec<_>) =
        open(agent).into_iter().partition(|ask| ask.group == AskGroup::Idle);
    // Asks that block a run come before asks that would start another.
    let asks = if pressing.is_empty() { idle } else { pressing };
    match asks.as_slice() {
        [one] => Ok(one.ask_id.clone()),
        [] => Err(ClientError::new(ErrorName::AskNotFound, "nothing is asked").into()),
        many => {
            let list: Vec<String> = many
                .iter()
                .take(MAX_NAMED)
                .map(|ask| format!("{} ({})", one_line(&ask.title, MAX_TITLE), ask.ask_id))
                .collect();
            Err(ErrorBody::invalid_params(format!(
                "{} questions are open; name one by `askId`: {}",
                many.len(),
                list.join("; ")
            )))
        }
    }
}

fn open(agent: &Agent) -> Vec<Arc<AskView>> {
    agent.sessions.world().link.items().open_asks()
}

/// Reads plain words: the id, the name or the button of an option, else an answer in the user's own words.
fn by_words(ask: Option<&AskView>, text: String) -> Result<Choice> {
    let Some(ask) = ask else { return Ok(Choice::Text(text)) };
    let is = |words: &str| words.eq_ignore_ascii_case(text.trim());
    let named = |option: &&AskOption| is(&option.option_id) || is(&option.name);
    // The dots of a button that asks for more may be left out.
    let shown = |option: &&AskOption| is(&label(option)) || is(label(option).trim_end_matches('…'));
    let mut labelled = ask.options.iter().filter(shown);
    // Buttons of long options may have the same label, which then means none of them.
    let labelled = labelled.next().filter(|_| labelled.next().is_none());
    match ask.options.iter().find(named).or(labelled) {
        Some(option) => Ok(Choice::Option { id: option.option_id.clone(), text: None }),
        None if ask.free_text => Ok(Choice::Text(text)),
        None => Err(ErrorBody::invalid_params(how(Some(ask)))),
    }
}

fn approves(ask: &AskView, choice: &Choice) -> bool {
    let Choice::Option { id, .. } = choice else { return false };
    let chosen = ask.options.iter().find(|option| option.option_id == *id);
    chosen.is_some_and(|option| client::approves(option.kind))
}

/// Returns the error of an approval that names no ask: another one may be open when it comes.
fn unnamed_approval(ask: &AskView) -> String {
    format!(
        "an approval has to name its question, because another one may be open by now; \"{}\" is `askId` {}",
        one_line(&ask.title, MAX_TITLE),
        ask.ask_id
    )
}

/// Splits off the id of an ask at the beginning of plain words, because some editors send only words.
fn named_in_words(given: CommandArguments) -> (Option<AskId>, CommandArguments) {
    let CommandArguments::Text(text) = &given else { return (None, given) };
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    if !is_an_id(first) {
        return (None, given);
    }
    let rest = rest.trim();
    let left =
        if rest.is_empty() { CommandArguments::Nothing } else { CommandArguments::Text(rest.to_owned()) };
    (Some(first.into()), left)
}

/// Whether a word looks like the id of an ask.
fn is_an_id(word: &str) -> bool {
    word.strip_prefix("ask-")
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Returns how an ask can be answered.
fn how(ask: Option<&AskView>) -> String {
    let Some(ask) = ask else { return "give an `optionId` or a `text`".to_owned() };
    let options: Vec<&str> = ask.options.iter().map(|option| option.option_id.as_str()).collect();
    let or = if ask.free_text { ", or a `text`" } else { "" };
    format!("\"{}\" is answered by {}{or}", one_line(&ask.title, MAX_TITLE), options.join(", "))
}

/// Returns how an ask was resolved before.
fn already(resolution: &Resolution) -> String {
    let from = |surface: &str| from_where(surface).map(|from| format!(", {from}")).unwrap_or_default();
    match resolution {
        Resolution::Selected { option_id, surface, .. } => {
            let what = if option_id == REJECT { "rejected" } else { option_id };
            format!("this was answered before{}: {what}", from(surface))
        }
        Resolution::Answered { text, surface } => {
            format!("this was answered before{}: {}", from(surface), one_line(text, MAX_TITLE))
        }
        Resolution::Decided => "this was answered before, change by change".to_owned(),
        Resolution::Cancelled => "this question is closed: its run was cancelled".to_owned(),
        Resolution::Superseded => "this question is closed: another one took its place".to_owned(),
        Resolution::Withdrawn => "this question is closed: its answer is no longer needed".to_owned(),
    }
}

/// Whether an ask is the one that resumes a run.
pub(super) fn resumes(ask: &AskView) -> bool {
    ask.kind == AskKind::ResumeTask
}

/// Returns the answer that resumes.
pub(super) fn resume() -> Choice {
    Choice::Option { id: RESUME.to_owned(), text: None }
}
