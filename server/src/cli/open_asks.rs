//! `adjutant asks`: the open questions of all sessions, each whole, with the ids
//! that answer it.
//!
//! Never answers and never opens a session; it only reads the logs.

use adjutant_core::record::{AskGroup, AskKind};
use adjutant_protocol::ask::AskView;
use clap::Args;

use super::Exit;
use super::asks::put_whole;
use super::page::{Ink, Printer};
use super::sessions::{on_disk, own_state, short_ids};
use crate::sessions::reading::{self, ListedAsk};
use crate::settings::Sources;

/// The arguments of `adjutant asks`.
#[derive(Clone, Debug, Args)]
pub struct AsksLine {
    /// Only the questions of this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Also what could come next after a run that is over
    #[arg(long)]
    all: bool,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

/// Lists open asks.
pub fn asks(sources: &Sources, line: &AsksLine) -> anyhow::Result<Exit> {
    let catalog = reading::catalog(&own_state(sources)?)?;
    let session = match &line.session {
        Some(name) => match on_disk(&catalog, name)? {
            Some(id) => Some(id),
            None => return Ok(Exit::Usage),
        },
        None => None,
    };
    let mut asked = reading::open_asks(&catalog, |kind| line.all || waits(kind))?;
    asked.retain(|asked| session.as_ref().is_none_or(|id| asked.ask.session_id == *id));
    let mut page = Printer::of_stdout();
    if line.json {
        for asked in &asked {
            page.json(&serde_json::to_string(&asked.ask)?);
        }
    } else if asked.is_empty() {
        page.line("Nothing is asked.");
    } else {
        let ids: Vec<&str> = asked.iter().map(|asked| asked.ask.ask_id.0.as_str()).collect();
        for (asked, short) in asked.iter().zip(short_ids(&ids)) {
            show(&mut page, asked, &short);
        }
    }
    page.written()?;
    Ok(Exit::Fine)
}

/// Whether a run waits for the answer. Asks after the end of a run do not block anything.
fn waits(kind: AskKind) -> bool {
    kind.group() != AskGroup::Idle
}

fn show(page: &mut Printer, asked: &ListedAsk, short: &str) {
    let ListedAsk { title, ask } = asked;
    let session = short_ids(&[&ask.session_id.0]).concat();
    page.line_in(Ink::Dim, &format!("ask-{short} · session {session} · {title}"));
    put_whole(page, ask);
    put_ways(page, ask, short);
    page.line("");
}

/// Prints how to answer, with the ids that `adjutant answer` accepts.
fn put_ways(page: &mut Printer, ask: &AskView, short: &str) {
    page.line(&format!("adjutant answer ask-{short} OPTION"));
    for option in &ask.options {
        page.line(&format!("  {} = {}", option.option_id, option.name));
    }
    if ask.free_text {
        page.line("  --text TEXT = answer in your own words");
    }
}
