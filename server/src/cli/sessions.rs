//! `adjutant sessions`: sessions are listed, shown, exported, renamed, forked and deleted.
//!
//! Never opens a session to show it: it reads the log, also while another process
//! writes it.

mod context;
mod table;

pub use table::short_ids;

use std::path::PathBuf;

use adjutant_core::text::display::one_line;
use adjutant_core::wire::transcript::Transcript;
use adjutant_protocol::SessionId;
use adjutant_protocol::context::{SessionContextParams, SessionContextResult};
use adjutant_protocol::methods;
use adjutant_protocol::session::{
    Done, SessionEntry, SessionForkParams, SessionForkResult, SessionListParams, SessionListResult,
    SessionParams, SessionRenameParams,
};
use clap::Subcommand;

use crate::clock::now_ms;
use crate::session::catalog::Catalog;
use crate::sessions::reading;
use crate::settings::Sources;

use super::Exit;
use super::conversation::{Answers, Conversation, LeaveReason, View, report_leaving};
use super::folder::Folder;
use super::page::{Printer, note};

/// Sessions that a list prints; `adjutant sessions show ID` also finds older ones.
const MAX_LISTED: usize = 1_000;
/// Characters of a title in a line.
const MAX_TITLE: usize = 80;

#[derive(Clone, Debug, Subcommand)]
pub enum SessionsAction {
    /// List the sessions, newest first
    List,
    /// Print the conversation of a session
    Show {
        /// The id of the session, or its beginning
        id: String,
    },
    /// Print every update of a session, one JSON object a line
    Export {
        /// The id of the session, or its beginning
        id: String,
        /// Print the conversation as one page of Markdown instead
        #[arg(long)]
        markdown: bool,
    },
    /// Show what the next request to the model holds, part by part
    Context {
        /// The id of the session, or its beginning
        id: String,
        /// Print the texts of the parts, too
        #[arg(long)]
        texts: bool,
    },
    /// Give a session another title
    Rename {
        /// The id of the session, or its beginning
        id: String,
        /// The title: one line of at most 200 characters
        title: String,
    },
    /// Copy a conversation into a new session; the old one stays as it is
    Fork {
        /// The id of the session, or its beginning
        id: String,
    },
    /// Delete a session that has no open run
    Delete {
        /// The id of the session, or its beginning
        id: String,
    },
}

/// Carries out one action on the sessions. An action that only reads needs no server and no lock, so it
/// also works for sessions of other processes.
pub async fn sessions(sources: Sources, action: SessionsAction) -> anyhow::Result<Exit> {
    let catalog = reading::catalog(&own_state(&sources)?)?;
    match action {
        SessionsAction::List => list(&catalog),
        SessionsAction::Show { id } => show(&catalog, &id, View::transcript()),
        SessionsAction::Export { id, markdown: false } => show(&catalog, &id, View::json(false)),
        SessionsAction::Export { id, markdown: true } => export_markdown(&catalog, &id),
        SessionsAction::Context { id, texts } => ask(sources, &id, SessionRequest::Context { texts }).await,
        SessionsAction::Rename { id, title } => ask(sources, &id, SessionRequest::Rename(title)).await,
        SessionsAction::Fork { id } => ask(sources, &id, SessionRequest::Fork).await,
        SessionsAction::Delete { id } => ask(sources, &id, SessionRequest::Delete).await,
    }
}

fn list(catalog: &Catalog) -> anyhow::Result<Exit> {
    let mut entries = reading::entries(catalog)?;
    let older = entries.len().saturating_sub(MAX_LISTED);
    entries.truncate(MAX_LISTED);
    let mut page = Printer::of_stdout();
    if entries.is_empty() {
        page.line("There are no sessions yet.");
        page.written()?;
        return Ok(Exit::Fine);
    }
    let width = page.width();
    for line in table::table(&entries, now_ms(), width) {
        page.line(&line);
    }
    if older > 0 {
        page.line(&format!("({older} older ones are not listed)"));
    }
    page.written()?;
    Ok(Exit::Fine)
}

fn show(catalog: &Catalog, name: &str, mut view: View) -> anyhow::Result<Exit> {
    let Some(session) = on_disk(catalog, name)? else { return Ok(Exit::Usage) };
    let mut pages = view.pages();
    let notices = reading::conversation(catalog, &session, |params| {
        // Print the JSON that a client would get.
        if !pages.is_broken()
            && let Ok(raw) = serde_json::value::to_raw_value(&params)
        {
            view.update(&mut pages, &raw, &params);
        }
    })
    .map_err(anyhow::Error::msg)?;
    view.aside(&mut pages);
    notices.iter().for_each(|notice| note(notice));
    pages.written()?;
    Ok(Exit::Fine)
}

/// Prints the text that the transcript of the session has.
fn export_markdown(catalog: &Catalog, name: &str) -> anyhow::Result<Exit> {
    let Some(session) = on_disk(catalog, name)? else { return Ok(Exit::Usage) };
    let (mut page, mut transcript) = (Printer::of_stdout(), Transcript::default());
    let notices = reading::conversation(catalog, &session, |params| {
        if let Some(block) = transcript.block(&params.update) {
            page.blocks(&block);
        }
    })
    .map_err(anyhow::Error::msg)?;
    transcript.rest().iter().for_each(|block| page.blocks(block));
    notices.iter().for_each(|notice| note(notice));
    page.written()?;
    Ok(Exit::Fine)
}

/// Returns the session on disk with this id, or with the only id that begins so. Prints a note if there
/// is none.
pub fn on_disk(catalog: &Catalog, name: &str) -> anyhow::Result<Option<SessionId>> {
    Ok(find(&reading::entries(catalog)?, name))
}

fn find(entries: &[SessionEntry], name: &str) -> Option<SessionId> {
    let ids: Vec<&str> = entries.iter().map(|entry| entry.session_id.0.as_str()).collect();
    match table::find(&ids, name) {
        Ok(id) => Some(id.into()),
        Err(why) => {
            note(&why);
            None
        }
    }
}

/// What a server is asked for.
enum SessionRequest {
    Context { texts: bool },
    Rename(String),
    Fork,
    Delete,
}

async fn ask(sources: Sources, id: &str, request: SessionRequest) -> anyhow::Result<Exit> {
    let folders = Folder::find(None, sources.home.as_deref())?.workspace();
    let mut talk = Conversation::start(sources, &folders, View::transcript(), Answers::Nobody).await?;
    let done = ask_about(&mut talk, id, request).await;
    let exit = done.or_else(report_leaving);
    talk.finish().await;
    exit
}

async fn ask_about(talk: &mut Conversation, id: &str, request: SessionRequest) -> Result<Exit, LeaveReason> {
    let Some(session_id) = named(talk, id).await? else { return Ok(Exit::Usage) };
    let done = match request {
        SessionRequest::Context { texts } => {
            let params = SessionContextParams { session_id, texts };
            let held: SessionContextResult = talk.request(methods::SESSION_CONTEXT, &params).await?;
            context::print(talk.page(), &held);
            return Ok(Exit::Fine);
        }
        SessionRequest::Rename(title) => {
            let params = SessionRenameParams { session_id, title };
            let _: Done = talk.request(methods::SESSION_RENAME, &params).await?;
            "renamed".to_owned()
        }
        SessionRequest::Fork => {
            let params = SessionForkParams { session_id, at_message_id: None };
            let forked: SessionForkResult = talk.request(methods::SESSION_FORK, &params).await?;
            forked.notices.iter().for_each(|notice| note(notice));
            // Its id is what the next command needs.
            format!("forked: {}  {}", forked.session_id, one_line(&forked.title, MAX_TITLE))
        }
        SessionRequest::Delete => {
            let _: Done = talk.request(methods::SESSION_DELETE, &SessionParams { session_id }).await?;
            "deleted".to_owned()
        }
    };
    talk.page().line(&done);
    Ok(Exit::Fine)
}

/// Returns every session, page by page; the catalog bounds how many there are.
async fn all(talk: &mut Conversation) -> Result<Vec<SessionEntry>, LeaveReason> {
    let mut params = SessionListParams::default();
    let mut sessions = Vec::new();
    loop {
        let page: SessionListResult = talk.request(methods::SESSION_LIST, &params).await?;
        sessions.extend(page.sessions);
        params.cursor = page.next_cursor;
        if params.cursor.is_none() {
            return Ok(sessions);
        }
    }
}

/// Returns the session with this id, or with the only id that begins so. Prints a note if there is none.
pub async fn named(talk: &mut Conversation, name: &str) -> Result<Option<SessionId>, LeaveReason> {
    Ok(find(&all(talk).await?, name))
}

/// Returns the state directory for reads without a server. Prints a note for what was made private in it.
pub(super) fn own_state(sources: &Sources) -> anyhow::Result<PathBuf> {
    let (state, corrections) = sources.own_state_dir()?;
    corrections.iter().for_each(|correction| note(correction));
    Ok(state)
}
