//! `adjutant asks`: what is asked in every session, each ask whole, with the
//! ids it can be answered by.
//!
//! Never answers and never opens a session; the logs are read as they stand.

use adjutant_protocol::ask::{AskKind, AskView};
use clap::Args;

use crate::sessions::reading::{self, Asked};
use crate::settings::Sources;

use super::Exit;
use super::asks::put_whole;
use super::page::{Ink, Page};
use super::sessions::{on_disk, own_state};

/// What `adjutant asks` takes.
#[derive(Clone, Debug, Args)]
pub struct AsksLine {
    /// Only the asks of this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Also those of finished tasks, which wait for nothing
    #[arg(long)]
    all: bool,
    /// Print one JSON object a line: the ask as `agent/ask/list` gives it
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
    let mut page = Page::of_stdout();
    if line.json {
        for asked in &asked {
            page.json(&serde_json::to_string(&asked.ask)?);
        }
    } else if asked.is_empty() {
        page.line("Nothing is asked.");
    } else {
        asked.iter().for_each(|asked| show(&mut page, asked));
    }
    Ok(Exit::Fine)
}

/// Whether a kind of ask waits for somebody; a finished task only says that it is finished.
fn waits(kind: AskKind) -> bool {
    !matches!(kind, AskKind::CompletionResult | AskKind::ResumeCompletedTask)
}

fn show(page: &mut Page, asked: &Asked) {
    let Asked { title, ask } = asked;
    page.line_in(Ink::Dim, &format!("{} · session {} · {title}", ask.ask_id, ask.session_id));
    put_whole(page, ask);
    put_ways(page, ask);
    page.line("");
}

/// Puts the ways to answer with the ids that `adjutant answer` takes.
fn put_ways(page: &mut Page, ask: &AskView) {
    for option in &ask.options {
        page.line(&format!("  {} = {}", option.option_id, option.name));
    }
    if ask.free_text {
        page.line("  --text TEXT = an answer of your own");
    }
}
