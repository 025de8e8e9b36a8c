//! `adjutant answer`: one answer to one ask, also if another process has its session open.
//!
//! Never decides what an answer does: the process that writes the session judges
//! it, and the printed result is read from its log.

use std::time::{Duration, Instant};

use adjutant_core::policy::ask::from_where;
use adjutant_protocol::ask::{AskRespondParams, AskRespondResult, AskView, Resolution, RespondStatus};
use adjutant_protocol::errors::ErrorName;
use adjutant_protocol::session::{ResumeParams, ResumeResult};
use adjutant_protocol::state::State;
use adjutant_protocol::{AskId, SessionId, methods};
use clap::Args;

use super::Exit;
use super::client::Failure;
use super::conversation::{AllowedFlags, Answers, Conversation, LeaveReason, View, report_leaving};
use super::folder::Folder;
use super::page::{Printer, note};
use super::present::Person;
use super::run::exit_of;
use super::sessions::own_state;
use crate::session::catalog::Catalog;
use crate::session::inbox;
use crate::sessions::reading;
use crate::settings::Sources;

/// How long the process that has a session open may take to judge an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often the inbox is checked meanwhile.
const GLANCE: Duration = Duration::from_millis(15);
/// How often to try if another process opens or closes the session meanwhile.
const TRIES: usize = 3;
/// The least characters of the beginning of an id.
const LEAST_ID: usize = 4;

/// The exit codes, for the help.
pub const EXITS: &str = "Exit codes: 0 the answer was accepted, and the run ended well or waits for another answer; 1 the \
session did not accept the answer, or the run failed; 2 there is no such question or option; 3 the run was not allowed \
something because nobody was present to answer; 4 another answer came first, or the question is closed.";

/// The arguments of `adjutant answer`.
#[derive(Clone, Debug, Args)]
#[command(group(clap::ArgGroup::new("choice").required(true).args(["option", "text"])))]
pub struct AnswerLine {
    /// The id of the question as `adjutant asks` shows it, or its beginning: `ask-daf4` or `daf4`
    ask: String,
    /// The option to choose, as `adjutant asks` shows it
    option: Option<String>,
    /// Answer in your own words, if the question allows it
    #[arg(long)]
    text: Option<String>,
    /// Say why; the model reads it
    #[arg(long, requires = "option")]
    reason: Option<String>,
}

/// The ask that an id on the command line names.
enum IdMeaning {
    Open(Box<AskView>),
    Closed(Resolution),
    Nothing(String),
}

/// Answers an ask.
pub async fn respond(sources: Sources, line: AnswerLine) -> anyhow::Result<Exit> {
    let catalog = reading::catalog(&own_state(&sources)?)?;
    let ask = match find_ask(&catalog, &line.ask)? {
        IdMeaning::Open(ask) => ask,
        IdMeaning::Closed(resolution) => return Ok(late(&resolution)),
        IdMeaning::Nothing(why) => {
            note(&why);
            return Ok(Exit::Usage);
        }
    };
    if let Some(why) = invalid_answer(&ask, &line) {
        note(&why);
        return Ok(Exit::Usage);
    }
    let answer = AskRespondParams {
        ask_id: ask.ask_id.clone(),
        option_id: line.option,
        answer: line.text,
        reason: line.reason,
        unattended: false,
    };
    for _ in 0..TRIES {
        let done = if catalog.is_written(&ask.session_id.0) {
            by_inbox(&catalog, &ask.session_id, &answer).await?
        } else {
            in_this_process(sources.clone(), &ask.session_id, &answer).await?
        };
        if let Some(exit) = done {
            return Ok(exit);
        }
    }
    note("other processes keep opening and closing this session, so nothing was answered; try again");
    Ok(Exit::Failed)
}

/// Finds the ask of a name: an open one, else one that was closed.
fn find_ask(catalog: &Catalog, name: &str) -> anyhow::Result<IdMeaning> {
    let means = |ask: &AskId| {
        let tail = ask.0.strip_prefix("ask-").unwrap_or(&ask.0);
        let wanted = name.strip_suffix('…').unwrap_or(name);
        let wanted = wanted.strip_prefix("ask-").unwrap_or(wanted);
        ask.0 == name || (wanted.len() >= LEAST_ID && tail.starts_with(wanted))
    };
    let mut open = reading::open_asks(catalog, |_| true)?;
    open.retain(|asked| means(&asked.ask.ask_id));
    match (open.len(), open.pop()) {
        (1, Some(asked)) => return Ok(IdMeaning::Open(Box::new(asked.ask))),
        (0, _) => {}
        (many, _) => {
            return Ok(IdMeaning::Nothing(format!(
                "{many} open questions begin with \"{name}\"; type more of the id"
            )));
        }
    }
    let mut closed = reading::closed_asks(catalog, means)?;
    Ok(match (closed.len(), closed.pop()) {
        (1, Some((_, _, resolution))) => IdMeaning::Closed(resolution.into()),
        _ => IdMeaning::Nothing(format!(
            "there is no question \"{name}\"; `adjutant asks` lists the open ones, and {LEAST_ID} characters of an id are enough"
        )),
    })
}

/// Returns why an answer would be refused in any case.
fn invalid_answer(ask: &AskView, line: &AnswerLine) -> Option<String> {
    let options: Vec<&str> = ask.options.iter().map(|option| option.option_id.as_str()).collect();
    match (&line.option, &line.text) {
        (Some(option), _) if !options.contains(&option.as_str()) => {
            Some(format!("this question has no option \"{option}\"; choose one of: {}", options.join(", ")))
        }
        (None, Some(_)) if !ask.free_text => {
            Some(format!("this question accepts no text; choose one of: {}", options.join(", ")))
        }
        (None, Some(text)) if text.trim().is_empty() => Some("the text is empty".to_owned()),
        _ => None,
    }
}

/// Leaves the answer for the process that writes the session, and waits until it was judged. Returns `None`
/// if no process writes the session any more and the answer was withdrawn.
async fn by_inbox(
    catalog: &Catalog,
    session: &SessionId,
    answer: &AskRespondParams,
) -> anyhow::Result<Option<Exit>> {
    let left = inbox::leave(&catalog.place(&session.0)?, answer)
        .map_err(|error| anyhow::anyhow!("leave the answer for the session: {error}"))?;
    let until = Instant::now() + PATIENCE;
    loop {
        let is_there = left.is_there();
        if is_there && Instant::now() < until {
            tokio::time::sleep(GLANCE).await;
            continue;
        }
        // After the check: an answer that is gone was judged, so the log has the result.
        let resolution = reading::resolution(catalog, session, &answer.ask_id).map_err(anyhow::Error::msg)?;
        if is_there && !left.withdraw()? {
            continue;
        }
        return Ok(match resolution {
            Some(resolution) => Some(judged(&resolution.into(), answer)),
            None if !is_there => {
                note("the session did not accept the answer; `adjutant asks` shows its open questions");
                Some(Exit::Failed)
            }
            None if !catalog.is_written(&session.0) => None,
            None => {
                note(&format!(
                    "the process that has the session open did not confirm the answer within {} s, so the answer \
                     was withdrawn; try again",
                    PATIENCE.as_secs()
                ));
                Some(Exit::Failed)
            }
        });
    }
}

/// Prints how an ask was closed: by this answer or by another one.
fn judged(resolution: &Resolution, answer: &AskRespondParams) -> Exit {
    let by_this_answer = match resolution {
        Resolution::Selected { option_id, text, surface } => {
            surface == inbox::SURFACE
                && Some(option_id) == answer.option_id.as_ref()
                && *text == answer.reason
        }
        Resolution::Answered { text, surface } => {
            surface == inbox::SURFACE && Some(text) == answer.answer.as_ref()
        }
        Resolution::Decided | Resolution::Cancelled | Resolution::Superseded | Resolution::Withdrawn => false,
    };
    if !by_this_answer {
        return late(resolution);
    }
    Printer::of_stdout().line("accepted");
    Exit::Fine
}

/// Prints how the ask was closed before this answer came.
fn late(resolution: &Resolution) -> Exit {
    let from = |surface: &str| from_where(surface).unwrap_or("where its session is open");
    let what = match resolution {
        Resolution::Selected { option_id, text: None, surface } => {
            format!("already answered: {option_id}, {}", from(surface))
        }
        Resolution::Selected { option_id, text: Some(text), surface } => {
            format!("already answered: {option_id} ({text}), {}", from(surface))
        }
        Resolution::Answered { text, surface } => format!("already answered: \"{text}\", {}", from(surface)),
        Resolution::Decided => "already answered, change by change".to_owned(),
        Resolution::Cancelled => "already closed: the run was cancelled or is over".to_owned(),
        Resolution::Superseded => {
            "already closed: what it asked about has changed, or the environment it would run in; `adjutant asks` \
             shows what is asked now"
                .to_owned()
        }
        Resolution::Withdrawn => "already closed: what it asked about ended by itself".to_owned(),
    };
    Printer::of_stdout().line(&what);
    Exit::Late
}

/// Opens the session in this process, answers, and continues its run. Returns `None` if another
/// process has opened it meanwhile.
async fn in_this_process(
    sources: Sources,
    session: &SessionId,
    answer: &AskRespondParams,
) -> anyhow::Result<Option<Exit>> {
    // As `run` does: with the settings and the deny rules of the repository.
    let folder = Folder::find(None, sources.home.as_deref())?;
    let answers = Person::at_terminal(false, false).map_or(Answers::Elsewhere, Answers::Person);
    let view = View::text(false, matches!(answers, Answers::Person(_)));
    let mut talk = Conversation::start(sources, &folder.workspace(), view, answers).await?;
    let exit = match continue_run(&mut talk, session, answer).await {
        Ok(exit) => Ok(exit),
        Err(left) => report_leaving(left).map(Some),
    };
    talk.finish().await;
    exit
}

async fn continue_run(
    talk: &mut Conversation,
    session: &SessionId,
    answer: &AskRespondParams,
) -> Result<Option<Exit>, LeaveReason> {
    let resume = ResumeParams { session_id: session.clone(), replay_from: None, unattended: false };
    let resumed = talk.request::<ResumeResult>(methods::SESSION_RESUME, &resume).await;
    let found = match resumed {
        Err(LeaveReason::Failed(Failure::Refused { code, .. }))
            if code == ErrorName::SessionLocked.code() =>
        {
            return Ok(None);
        }
        resumed => resumed?,
    };
    found.notices.iter().for_each(|notice| note(notice));
    let answered: AskRespondResult = talk.request(methods::ASK_RESPOND, answer).await?;
    if answered.status == RespondStatus::AlreadyResolved {
        return Ok(Some(late(&answered.resolution)));
    }
    talk.page().line("accepted");
    // Only now, so that the answered ask is not printed again.
    talk.attach(session);
    let now: ResumeResult = talk.request(methods::SESSION_RESUME, &resume).await?;
    match now.state.state {
        State::Running | State::RequiresAction => {
            talk.follow(now.state.run_id.clone());
            talk.now(now.state.state);
            let end = talk.until_over().await?;
            Ok(Some(exit_of(talk, &end, AllowedFlags::default()).await?))
        }
        State::None | State::Idle | State::Resumable => Ok(Some(Exit::Fine)),
    }
}
