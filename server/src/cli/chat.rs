//! `adjutant` without a command at a terminal: prompt, run, answer, and the next prompt in the same session.
//!
//! Never clears the screen, and never loses a prompt: one that was not accepted is in the next line.

use adjutant_core::policy::detail::Detail;
use adjutant_core::text::display::one_line;
use adjutant_protocol::session::{ContentBlock, Overrides};

use crate::settings::Sources;

use super::Exit;
use super::client::Failure;
use super::conversation::{Answers, Conversation, LeaveReason, View, report_leaving};
use super::folder::Folder;
use super::line::Line;
use super::present::Person;
use super::run::continue_open;
use super::typed::PromptEnd;

/// The most characters of a title.
const MAX_TITLE: usize = 60;

/// What can be typed at the prompt.
const HELP: [&str; 10] = [
    "/new       begin a new session",
    "/continue  continue a run that failed or stopped at a limit",
    "/fork      go back to before your last prompt, in a copy of the session",
    "/detail    how much of a run is printed: /detail brief, /detail normal or /detail full",
    "/help      print this",
    "/NAME      a command from a file: docs/prompts.md says where they are; @PATH mentions a file",
    "Text that you type while a run works is sent to it; output waits until you press Enter.",
    "A backslash at the end continues a prompt on the next line. Up and down bring earlier prompts.",
    "A prompt that begins with a space is not kept in the history.",
    "Ctrl-C stops a run. Ctrl-D, or Ctrl-C twice, leaves.",
];

/// What a line at the prompt asks for.
enum Wish<'a> {
    Prompt(&'a str),
    New,
    Continue,
    Fork,
    /// The word behind it.
    Detail(&'a str),
    Help,
    Nothing,
}

fn read(line: &str) -> Wish<'_> {
    match line.trim() {
        "" => Wish::Nothing,
        "/new" => Wish::New,
        "/continue" => Wish::Continue,
        "/fork" => Wish::Fork,
        "/help" => Wish::Help,
        text if text.split_whitespace().next() == Some("/detail") => {
            Wish::Detail(text["/detail".len()..].trim())
        }
        // The server knows the commands of files, and refuses an unknown one.
        _ => Wish::Prompt(line),
    }
}

/// Starts the terminal of the loop; `None` if no person can type there.
pub fn person(sources: &Sources) -> Option<Person> {
    // Without a state folder nothing works, and the first prompt says why.
    let state = sources.own_state_dir().ok().map(|(folder, _)| folder);
    Line::start(state.as_deref()).map(Person::at_line)
}

/// Runs the loop to its end.
pub async fn chat(sources: Sources, person: Person) -> anyhow::Result<Exit> {
    let folder = Folder::find(None, sources.home.as_deref())?;
    let answers = Answers::Person(person);
    let mut talk = Conversation::start(sources, &folder.workspace(), View::of_loop(), answers).await?;
    talk.remark(&format!("Adjutant in {} · /help · Ctrl-D leaves", folder.root.display()));
    let exit = match converse(&mut talk).await {
        Ok(exit) => Ok(exit),
        Err(left) => report_leaving(left),
    };
    talk.finish().await;
    exit
}

async fn converse(talk: &mut Conversation) -> Result<Exit, LeaveReason> {
    if !talk.learn_models().await? {
        talk.remark("No model is set up yet: leave, and run `adjutant setup`.");
    }
    let mut interrupted = false;
    while let Some(end) = talk.next_line().await? {
        let line = match end {
            PromptEnd::Entered(line) => line,
            PromptEnd::Left => break,
            PromptEnd::Interrupted(text) if text.is_empty() && interrupted => break,
            PromptEnd::Interrupted(_) => {
                interrupted = true;
                talk.remark("Ctrl-C again or Ctrl-D leaves.");
                continue;
            }
        };
        interrupted = false;
        match read(&line) {
            Wish::Nothing => {}
            Wish::Help => HELP.iter().for_each(|line| talk.page().line(line)),
            Wish::New => {
                talk.detach();
                talk.remark("The next prompt begins a new session.");
            }
            Wish::Fork => fork(talk).await?,
            Wish::Detail(word) => match Detail::named(word) {
                Some(detail) => {
                    talk.draw(detail);
                    talk.remark(&format!("From now on: {word}."));
                }
                None => talk.note("write how much: /detail brief, /detail normal or /detail full"),
            },
            Wish::Prompt(text) => {
                let sent = work(talk, Some(text)).await;
                stays(talk, sent, &line)?;
            }
            Wish::Continue => {
                let sent = work(talk, None).await;
                stays(talk, sent, &line)?;
            }
        }
    }
    Ok(Exit::Fine)
}

/// Sends a prompt, or continues the run that is over, and follows the run to its end.
async fn work(talk: &mut Conversation, prompt: Option<&str>) -> Result<(), Trouble> {
    if !talk.is_attached() {
        if prompt.is_none() {
            talk.note("there is no run to continue; type a prompt");
            return Ok(());
        }
        talk.begin_session(None).await.map_err(Trouble::Unsent)?;
    }
    talk.begin_work();
    match prompt {
        Some(text) => {
            let block = ContentBlock::Text { text: text.to_owned() };
            talk.prompt(vec![block], &Overrides::default()).await.map_err(Trouble::Unsent)?;
        }
        None => {
            let asks = talk.open_asks().await.map_err(Trouble::Sent)?;
            if !continue_open(talk, &asks, false).await.map_err(Trouble::Sent)? {
                talk.note("there is no run to continue; type a prompt");
                return Ok(());
            }
        }
    }
    talk.until_over().await.map_err(Trouble::Sent)?;
    if let Some(unmade) = talk.unmade() {
        talk.note(&unmade);
    }
    talk.end_work();
    talk.note_commits().await;
    Ok(())
}

/// Goes on in a copy from before the last prompt, and says what it is called.
async fn fork(talk: &mut Conversation) -> Result<(), LeaveReason> {
    match talk.fork().await {
        Ok(Some(title)) => {
            let title = one_line(&title, MAX_TITLE);
            talk.remark(&format!(
                "You are in a copy of the session now, and the original stays as it was: {title}"
            ));
        }
        Ok(None) => talk.note("nothing was asked here yet, so there is nothing to go back to"),
        Err(LeaveReason::AlreadyPrinted) => {}
        Err(LeaveReason::Failed(Failure::Refused { message, .. })) => talk.note(&message),
        Err(why) => return Err(why),
    }
    Ok(())
}

/// Why a run was not followed to its end.
enum Trouble {
    /// The prompt was not accepted.
    Unsent(LeaveReason),
    Sent(LeaveReason),
}

/// Prints what went wrong, and gives a prompt back that was not accepted. The loop goes on unless the
/// connection is over or the user leaves.
fn stays(talk: &mut Conversation, sent: Result<(), Trouble>, line: &str) -> Result<(), LeaveReason> {
    let (why, is_sent) = match sent {
        Ok(()) => return Ok(()),
        Err(Trouble::Unsent(why)) => (why, false),
        Err(Trouble::Sent(why)) => (why, true),
    };
    talk.end_work();
    match why {
        LeaveReason::AlreadyPrinted => {}
        LeaveReason::Failed(Failure::Refused { message, .. }) => talk.note(&message),
        LeaveReason::GivenUp => talk.note("the server gave the run up; /continue continues it"),
        why => return Err(why),
    }
    if !is_sent {
        talk.give_back(line.to_owned());
    }
    Ok(())
}
