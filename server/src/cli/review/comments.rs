//! `adjutant review comment` and `adjutant review send`: comments on changes, collected, then sent to the agent together.
//!
//! Never sends a comment by itself.

use std::collections::BTreeMap;

use adjutant_protocol::review::{
    ReviewAction, ReviewCommentParams, ReviewCommentResult, ReviewHunk, ReviewListParams, ReviewListResult,
    ReviewSendParams,
};
use adjutant_protocol::session::{PromptResult, ResumeParams, ResumeResult};
use adjutant_protocol::{SessionId, methods};

use super::deciding::interrupted;
use super::{chosen, comments as counted};
use crate::cli::Exit;
use crate::cli::client::Client;
use crate::cli::conversation::{AllowedFlags, Answers, Conversation, LeaveReason, View, report_leaving};
use crate::cli::folder::Folder;
use crate::cli::page::{Printer, note};
use crate::cli::present::Person;
use crate::cli::run::exit_of;
use crate::cli::signals::Signals;
use crate::settings::Sources;

/// Writes the comment on the change at a place; an empty text takes it back.
pub async fn comment(
    folder: &Folder,
    client: &Client,
    hunks: &[ReviewHunk],
    place: String,
    text: String,
) -> anyhow::Result<Exit> {
    let Some(here) = chosen(folder, hunks, std::slice::from_ref(&place), ReviewAction::Keep) else {
        return Ok(Exit::Usage);
    };
    // Of several at one line the newest is on top.
    let is_line = here.windows(2).all(|pair| pair[0].line == pair[1].line);
    let newest = here.iter().max_by_key(|hunk| hunk.made_by.as_ref().map(|made| made.at));
    let Some(hunk) = newest.filter(|_| is_line) else {
        note(match here.len() {
            0 => "there is no change to comment on there",
            _ => "there are several changes; name one as FILE:LINE, as `adjutant review` lists them",
        });
        return Ok(Exit::Usage);
    };
    let ReviewHunk { session_id, change_set_id, hunk_id, .. } = (*hunk).clone();
    let params = ReviewCommentParams { session_id, change_set_id, hunk_id, text };
    let mut signals = Signals::new()?;
    let written = client.request_unless(&mut signals, methods::REVIEW_COMMENT, &params).await;
    let result: ReviewCommentResult = match written {
        Ok(result) => result?,
        Err(signal) => return Ok(interrupted(signal)),
    };
    let mut page = Printer::of_stdout();
    page.line(&format!("{} to send with `adjutant review send`", counted(result.waiting as usize)));
    page.written()?;
    Ok(Exit::Fine)
}

/// Sends the comments of one session, and follows the run to its end.
pub async fn send(sources: Sources, session: Option<String>, text: Option<String>) -> anyhow::Result<Exit> {
    let folder = Folder::find(None, sources.home.as_deref())?;
    let answers = Person::at_terminal(false, false).map_or(Answers::Nobody, Answers::Person);
    let view = View::text(false, matches!(answers, Answers::Person(_)));
    let mut talk = Conversation::start(sources, &folder.workspace(), view, answers).await?;
    let exit = match carry_out(&mut talk, session, text).await {
        Ok(exit) => Ok(exit),
        Err(left) => report_leaving(left),
    };
    talk.finish().await;
    exit
}

async fn carry_out(
    talk: &mut Conversation,
    session: Option<String>,
    text: Option<String>,
) -> Result<Exit, LeaveReason> {
    let listed: ReviewListResult = talk.request(methods::REVIEW_LIST, &ReviewListParams::default()).await?;
    let Some(session_id) = commented(&listed.hunks, session.as_deref()) else { return Ok(Exit::Usage) };
    talk.attach(&session_id);
    let params = ResumeParams { session_id: session_id.clone(), replay_from: None, unattended: false };
    let found: ResumeResult = talk.request(methods::SESSION_RESUME, &params).await?;
    found.notices.iter().for_each(|notice| note(notice));
    let params = ReviewSendParams { session_id, text };
    let sent: PromptResult = talk.request(methods::REVIEW_SEND, &params).await?;
    talk.follow(Some(sent.run_id));
    let end = talk.until_over().await?;
    exit_of(talk, &end, AllowedFlags { edits: false, commands: false }).await
}

/// Returns the session whose comments are meant. Prints a note if there is not exactly one.
fn commented(hunks: &[ReviewHunk], name: Option<&str>) -> Option<SessionId> {
    let mut sessions: BTreeMap<&SessionId, usize> = BTreeMap::new();
    let is_named = |hunk: &&ReviewHunk| name.is_none_or(|name| hunk.session_id.0.starts_with(name));
    for hunk in hunks.iter().filter(|hunk| hunk.comment.is_some()).filter(is_named) {
        *sessions.entry(&hunk.session_id).or_default() += 1;
    }
    if sessions.is_empty() {
        note("no comment waits; write one with `adjutant review comment FILE:LINE TEXT`");
        return None;
    }
    if sessions.len() > 1 {
        note("comments wait in several sessions; name one with `--session`:");
        sessions.iter().for_each(|(id, count)| note(&format!("  {id}  {}", counted(*count))));
        return None;
    }
    sessions.into_keys().next().cloned()
}
