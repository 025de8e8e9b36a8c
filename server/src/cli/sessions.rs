//! `adjutant sessions`: what was done before, listed, shown, exported, deleted.
//!
//! Never reads a session's files itself: all of it comes from the server.

mod table;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use adjutant_protocol::SessionId;
use adjutant_protocol::methods;
use adjutant_protocol::session::{
    Done, ReplayFrom, ResumeParams, ResumeResult, SessionEntry, SessionListParams, SessionListResult,
    SessionParams,
};
use clap::Subcommand;

use crate::settings::Sources;

use super::Exit;
use super::conversation::told;
use super::conversation::{Answers, Conversation, Left, View};
use super::page::note;

/// How long the next update of a replay is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Clone, Debug, Subcommand)]
pub enum Action {
    /// List the sessions, newest first
    List,
    /// Print the conversation of a session
    Show {
        /// The session, or the beginning of its id
        id: String,
    },
    /// Print everything that happened in a session, one JSON object a line
    Export {
        /// The session, or the beginning of its id
        id: String,
    },
    /// Delete a session that has no open run
    Delete {
        /// The session, or the beginning of its id
        id: String,
    },
}

/// Carries out one action on the sessions.
pub async fn sessions(sources: Sources, action: Action) -> anyhow::Result<Exit> {
    let view = match action {
        Action::Export { .. } => View::json(false),
        _ => View::transcript(),
    };
    let folder = std::env::current_dir()?;
    let mut talk = Conversation::start(sources, &folder, view, Answers::Nobody).await?;
    let done = carry_out(&mut talk, &action).await;
    let exit = done.or_else(told);
    talk.finish().await;
    exit
}

async fn carry_out(talk: &mut Conversation, action: &Action) -> Result<Exit, Left> {
    match action {
        Action::List => list(talk).await,
        Action::Show { id } | Action::Export { id } => {
            let Some(session) = named(talk, id).await? else { return Ok(Exit::Usage) };
            replay(talk, session).await
        }
        Action::Delete { id } => {
            let Some(session_id) = named(talk, id).await? else { return Ok(Exit::Usage) };
            let _: Done = talk.request(methods::SESSION_DELETE, &SessionParams { session_id }).await?;
            talk.page().line("deleted");
            Ok(Exit::Fine)
        }
    }
}

async fn list(talk: &mut Conversation) -> Result<Exit, Left> {
    let sessions = all(talk).await?;
    if sessions.is_empty() {
        talk.page().line("There are no sessions yet.");
        return Ok(Exit::Fine);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let page = talk.page();
    let width = page.width();
    for line in table::table(&sessions, u64::try_from(now.as_millis()).unwrap_or(u64::MAX), width) {
        page.line(&line);
    }
    Ok(Exit::Fine)
}

/// Every session, page by page; bounded by what the catalog lists.
async fn all(talk: &mut Conversation) -> Result<Vec<SessionEntry>, Left> {
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

async fn replay(talk: &mut Conversation, session: SessionId) -> Result<Exit, Left> {
    talk.attach(&session);
    let params = ResumeParams { session_id: session, replay_from: Some(ReplayFrom::Start) };
    let found: ResumeResult = talk.request(methods::SESSION_RESUME, &params).await?;
    found.notices.iter().for_each(|notice| note(notice));
    talk.until_seq(found.seq, PATIENCE).await?;
    Ok(Exit::Fine)
}

/// Returns the session of this id, or of the only id that begins so; says so where there is none.
pub async fn named(talk: &mut Conversation, name: &str) -> Result<Option<SessionId>, Left> {
    let sessions = all(talk).await?;
    let ids: Vec<&str> = sessions.iter().map(|entry| entry.session_id.0.as_str()).collect();
    match table::find(&ids, name) {
        Ok(id) => Ok(Some(id.into())),
        Err(why) => {
            note(&why);
            Ok(None)
        }
    }
}
