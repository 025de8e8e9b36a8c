//! One attempt: a fresh copy of the task's files, an unattended run in it, and the check.
//!
//! Never changes the task, and never runs the check while the run works.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use adjutant_core::config::{Flag, Settings};
use adjutant_core::digest_parts;
use adjutant_protocol::errors::ErrorName;
use adjutant_protocol::methods;
use adjutant_protocol::session::{
    ContentBlock, Overrides, ResumeParams, ResumeResult, RunEnd, SessionListParams, SessionListResult,
};
use adjutant_protocol::state::{Outcome, StopReason};
use adjutant_protocol::update::FailureKind;
use anyhow::Context;
use tokio::time::timeout;

use crate::cli::client::Failure;
use crate::cli::conversation::{Answers, Conversation, LeaveReason, View};
use crate::clock::now_ms;
use crate::settings::{Sources, private_dir};
use crate::uri;

use super::check::{CheckPlace, CheckVerdict, end_left_check, run_check};
use super::copy::AttemptFolder;
use super::plan::AttemptKey;
use super::results::{AttemptOutcome, AttemptRecord};
use super::task::EvalTask;

/// The most characters of a name in the name of a state folder.
const MAX_NAME: usize = 60;

/// What all attempts of a process have in common.
pub struct AttemptSetting<'a> {
    pub sources: &'a Sources,
    pub settings: &'a Settings,
    pub out: &'a Path,
}

/// How a run ended, for its result.
struct RunReport {
    /// Why there is no point in a check, and whether the attempt is to be made again.
    unfinished: Option<(String, bool)>,
    end: Option<RunEnd>,
    took: Duration,
}

/// Makes one attempt and returns its result; `None` if a signal stopped it.
pub async fn attempt(
    setting: &AttemptSetting<'_>,
    task: &EvalTask,
    key: &AttemptKey,
) -> anyhow::Result<Option<AttemptRecord>> {
    let name = name_of(key);
    let state = setting.out.join("state").join(&name);
    // The start of an attempt that a kill ended is no part of this one.
    let check_name = check_name_of(&name, setting.out);
    end_left_check(&check_name);
    if state.symlink_metadata().is_ok() {
        end_left_run(sources_of(setting.sources, key, &state)).await?;
        fs::remove_dir_all(&state).with_context(|| format!("remove \"{}\"", state.display()))?;
    }
    private_dir(&state)?;
    let folder = AttemptFolder::make(&setting.out.join("copies"), &name)?;
    let workspace = folder.make_inner("workspace")?;
    task.copy_files(&workspace)?;
    let sources = sources_of(setting.sources, key, &state);
    let folders = std::slice::from_ref(&workspace);
    let mut talk = Conversation::start(sources, folders, View::unseen(), Answers::Nobody).await?;
    let ran = run(&mut talk, task, key, &workspace).await;
    let denied = talk.denied().titles().to_vec();
    let session = talk.session().map(|session| session.0.clone());
    talk.finish().await;
    let Some(ran) = ran? else { return Ok(None) };
    let mut record = AttemptRecord {
        key: key.clone(),
        outcome: AttemptOutcome::NotFinished,
        reason: None,
        again: false,
        turns: ran.end.as_ref().map_or(0, |end| end.turns),
        tokens: ran.end.as_ref().map(|end| end.usage.into()).unwrap_or_default(),
        cost: ran.end.as_ref().and_then(cost_of),
        time_ms: in_ms(ran.took),
        check_ms: 0,
        check_output: String::new(),
        denied,
        state: name,
        session,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ended_at: 0,
    };
    if let Some((reason, again)) = ran.unfinished {
        (record.reason, record.again) = (Some(reason), again);
    } else {
        task.copy_check(&workspace)?;
        let place = CheckPlace {
            line: &task.check,
            workspace: &workspace,
            scratch: &folder.make_inner("scratch")?,
            name: check_name,
            limit: task.check_limit,
            settings: setting.settings,
        };
        let check = run_check(place).await?;
        (record.outcome, record.reason, record.again) = match check.verdict {
            CheckVerdict::Passed => (AttemptOutcome::Passed, None, false),
            CheckVerdict::Failed(how) => (AttemptOutcome::Failed, Some(how), false),
            CheckVerdict::NoAnswer(why) => (AttemptOutcome::NotFinished, Some(why), true),
        };
        (record.check_ms, record.check_output) = (in_ms(check.took), check.output);
    }
    record.ended_at = now_ms();
    Ok(Some(record))
}

/// Ends the commands of the model that an earlier start of the attempt left running when it was killed: the next
/// server that opens their session does so.
async fn end_left_run(sources: Sources) -> anyhow::Result<()> {
    let mut talk = Conversation::start(sources, &[], View::unseen(), Answers::Nobody).await?;
    let listed = talk.request(methods::SESSION_LIST, &SessionListParams::default()).await;
    let sessions = listed.map(|list: SessionListResult| list.sessions).unwrap_or_default();
    for session in sessions {
        let params = ResumeParams { session_id: session.session_id, replay_from: None, unattended: false };
        let opened: Result<ResumeResult, _> = talk.request(methods::SESSION_RESUME, &params).await;
        if let Err(why) = opened {
            tracing::warn!(%why, "the session of an earlier start could not be opened");
        }
    }
    talk.finish().await;
    Ok(())
}

/// Gives the task to the model and follows its run, within the time limit. `None` if a signal stopped it.
async fn run(
    talk: &mut Conversation,
    task: &EvalTask,
    key: &AttemptKey,
    workspace: &Path,
) -> anyhow::Result<Option<RunReport>> {
    let begun = Instant::now();
    let followed = timeout(task.run_limit, follow(talk, task, key, workspace)).await;
    let took = begun.elapsed();
    let report = |unfinished, end| Ok(Some(RunReport { unfinished, end, took }));
    match followed {
        Ok(Ok(end)) if end.outcome == Outcome::Cancelled => Ok(None),
        Ok(Ok(end)) => report(unfinished(&end, talk), Some(end)),
        Ok(Err(LeaveReason::Interrupted | LeaveReason::Terminated)) => Ok(None),
        Ok(Err(left)) if is_without_model(&left) => Err(left.into()),
        Ok(Err(left)) => report(Some((left.to_string(), true)), None),
        Err(_) => {
            let end = talk.cut_short().await;
            report(Some((format!("the run did not end within {} s", task.run_limit.as_secs()), false)), end)
        }
    }
}

async fn follow(
    talk: &mut Conversation,
    task: &EvalTask,
    key: &AttemptKey,
    workspace: &Path,
) -> Result<RunEnd, LeaveReason> {
    talk.begin_session(Some(uri::of_path(workspace))).await?;
    let words = vec![ContentBlock::Text { text: task.prompt.clone() }];
    let model = Some(key.model.clone());
    talk.prompt(words, &Overrides { model, unattended: true, ..Overrides::default() }).await?;
    talk.until_ended().await
}

/// Returns why a run that ended is not finished, and whether the reason lies in the set-up.
fn unfinished(end: &RunEnd, talk: &Conversation) -> Option<(String, bool)> {
    match (end.outcome, end.stop_reason) {
        (Outcome::Limit, StopReason::Mistakes) => {
            Some(("the model made too many mistakes in a row".to_owned(), false))
        }
        (Outcome::Limit, _) => Some((format!("the run reached its limit after {} turns", end.turns), false)),
        // The check judges what a model that gave up has left.
        (Outcome::Failed, StopReason::GaveUp) => None,
        (Outcome::Failed, _) => {
            let why = talk.failure_words().unwrap_or("the model did not answer").to_owned();
            let own = matches!(talk.failure(), Some(FailureKind::ContextExceeded));
            Some((why, !own))
        }
        (Outcome::Completed | Outcome::Stopped | Outcome::Cancelled, _) => None,
    }
}

fn is_without_model(left: &LeaveReason) -> bool {
    let unavailable = ErrorName::ProviderUnavailable.code();
    matches!(left, LeaveReason::Failed(Failure::Refused { code, .. }) if *code == unavailable)
}

/// Returns the settings of one attempt: the user's, with the model and a state folder of its own.
fn sources_of(sources: &Sources, key: &AttemptKey, state: &Path) -> Sources {
    let mut sources = sources.clone().with_model_flag(Some(&key.model));
    let state = state.to_string_lossy().into_owned();
    sources.environment.insert("ADJUTANT_STATE_DIR".to_owned(), state);
    // Always set, because the user's settings may allow commands for runs in other places.
    let flag = if key.commands { "--allow-commands" } else { "adjutant eval" };
    let (flag, name) = (flag.to_owned(), "unattended.command".to_owned());
    sources.flags.push(Flag { flag, key: name, value: key.commands.to_string() });
    sources
}

/// Returns the name of an attempt's folders: readable, and of this attempt alone.
fn name_of(key: &AttemptKey) -> String {
    let plain = |text: &str| -> String {
        let safe = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '_' };
        text.chars().map(safe).take(MAX_NAME).collect()
    };
    let number = key.attempt.to_string();
    let commands: &[u8] = if key.commands { b"commands" } else { b"edits" };
    let parts =
        [key.task.as_bytes(), key.model.as_bytes(), number.as_bytes(), key.digest.as_bytes(), commands];
    let digest: String = digest_parts(&parts).chars().take(8).collect();
    format!("{}.{}.{number}.{digest}", plain(&key.task), plain(&key.model))
}

/// Returns the name of a check for the system. Another output folder may make the same attempt at the same time.
fn check_name_of(name: &str, out: &Path) -> String {
    let digest = digest_parts(&[name.as_bytes(), out.as_os_str().as_encoded_bytes()]);
    format!("eval-{digest}")
}

/// Returns what a run cost, in the currency of the settings; `None` if a model of it has no price.
fn cost_of(end: &RunEnd) -> Option<f64> {
    let cost = end.cost.as_ref().filter(|cost| !cost.partial)?;
    Some(cost.micros as f64 / 1e6)
}

fn in_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
