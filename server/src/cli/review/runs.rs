//! `adjutant review undo --run`: shows what it means to undo a whole run, asks, and does exactly that.
//!
//! Never decides without a yes: a typed one, or `--yes`.

use std::collections::BTreeSet;

use adjutant_protocol::review::{ReviewAction, ReviewDecideResult, ReviewHunk};
use adjutant_protocol::rewind::{PreviewParams, RewindChoice, RewindParams, RewindPreview};
use adjutant_protocol::{RunId, SessionId, methods};
use clap::Args;

use super::deciding::{interrupted, put_decided};
use crate::cli::Exit;
use crate::cli::client::Client;
use crate::cli::page::{Printer, note};
use crate::cli::setup::questions::QuestionDesk;
use crate::cli::signals::Signals;

/// The run that is undone or restored, and how.
#[derive(Clone, Debug, Args)]
pub struct RunChoice {
    /// The changes of a whole run: its id, the beginning of it, or `last`
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = LAST)]
    pub run: Option<String>,
    /// With `--run`: also everything after it in its session
    #[arg(long, requires = "run")]
    since: bool,
    /// Also the lines that you wrote into the changes
    #[arg(long)]
    pub mine: bool,
    /// With `--run`: do not ask
    #[arg(long, requires = "run")]
    yes: bool,
}

/// Names the run that changed something last.
pub const LAST: &str = "last";

/// Undoes or restores a whole run. `all`: the changes of the workspace, also those that somebody has decided about.
pub async fn rewind(
    client: &Client,
    all: &[ReviewHunk],
    run: &str,
    choice: &RunChoice,
    restore: bool,
) -> anyhow::Result<Exit> {
    let Some((session_id, run_id)) = named(all, run) else { return Ok(Exit::Usage) };
    let RunChoice { since: later, mine, yes, .. } = *choice;
    let params = PreviewParams { session_id, run_id: Some(run_id), later, restore };
    let preview: RewindPreview = client.request(methods::REVIEW_PREVIEW, &params).await?;
    let mut page = Printer::of_stdout();
    preview.lines.iter().for_each(|line| page.line(line));
    page.written()?;
    let Some(chosen) = preview.choices.iter().rev().find(|choice| mine || !choice.user_lines) else {
        if !preview.choices.is_empty() {
            note("only changes that you wrote into are left; look at them, then give --mine as well");
        }
        return Ok(Exit::Usage);
    };
    if !yes && !is_confirmed(chosen).await? {
        return Ok(Exit::Usage);
    }
    let params = RewindParams {
        session_id: preview.session_id.clone(),
        run_id: preview.run_id.clone(),
        later,
        restore,
        expect: preview.expect.clone(),
        user_lines: chosen.user_lines,
        reason: None,
    };
    let mut signals = Signals::new()?;
    let decided = client.request_unless(&mut signals, methods::REVIEW_REWIND, &params).await;
    let decided: ReviewDecideResult = match decided {
        Ok(result) => result?,
        Err(signal) => return Ok(interrupted(signal)),
    };
    let action = if restore { ReviewAction::Restore } else { ReviewAction::Undo };
    put_decided(&decided.hunks, all, action)
}

/// Returns the run that was last changed something in, or whose id begins so. Prints a note if there is not exactly one.
fn named(all: &[ReviewHunk], run: &str) -> Option<(SessionId, RunId)> {
    let made_at = |hunk: &&ReviewHunk| hunk.made_by.as_ref().map(|made| made.at);
    let name = |hunk: &ReviewHunk| (hunk.session_id.clone(), hunk.run_id.clone());
    if run == LAST {
        let last = all.iter().filter(|hunk| hunk.made_by.is_some()).max_by_key(made_at).map(name);
        if last.is_none() {
            note("no run has changed anything in this workspace");
        }
        return last;
    }
    let is_it = |hunk: &&ReviewHunk| hunk.made_by.is_some() && hunk.run_id.0.starts_with(run);
    let mut found: BTreeSet<(SessionId, RunId)> = all.iter().filter(is_it).map(name).collect();
    match found.len() {
        1 => found.pop_first(),
        0 => {
            note(&format!("no run \"{run}\" has changed anything here; `adjutant review` lists the runs"));
            None
        }
        _ => {
            note(&format!("several runs begin with \"{run}\"; give more of the id"));
            None
        }
    }
}

/// Asks at the terminal. Nothing but a clear yes is one.
async fn is_confirmed(choice: &RewindChoice) -> anyhow::Result<bool> {
    let Some(mut desk) = QuestionDesk::at_terminal()? else {
        note("nothing was done; without a terminal, give --yes as well");
        return Ok(false);
    };
    let answer = desk.ask(&format!("{}? y/n", choice.title), Some("n")).await;
    Ok(matches!(answer.as_deref(), Ok("y" | "yes")))
}
