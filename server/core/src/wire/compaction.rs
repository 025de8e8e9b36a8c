//! Compactions of the conversation, as clients see them.
//!
//! Never has the messages that were replaced; clients have them already.

use adjutant_protocol::update::{CacheBreak, CompactionKind, CompactionStatus, CompactionView, Update};

use crate::record::Compaction;
use crate::record::{Event, MessageId, Record};
use crate::session::{Session, compactions};
use crate::text::display::one_line;

/// The most characters of a title.
const MAX_LINE: usize = 200;

/// Returns the updates of an event of a compaction.
pub fn updates(session: &Session, record: &Record) -> Vec<Update> {
    let view = match &record.event {
        Event::TurnStarted { turn, compacts: Some(compaction), .. } => begun(*turn, compaction),
        Event::Compacted { message, compaction, text, by, after, .. } => CompactionView {
            title: String::new(),
            compaction_id: by.as_ref().map_or_else(|| message.clone(), |by| id_of(by.turn)),
            kind: if by.is_some() { CompactionKind::Summary } else { CompactionKind::Cut },
            status: CompactionStatus::Completed,
            before: compaction.before,
            after: Some(*after),
            text: Some(text.to_string()),
            message: None,
        },
        Event::SummaryFailed { turn: number, why, .. } => {
            let turn = session.open_run().and_then(|run| run.turn.as_ref());
            let before = turn.and_then(|turn| turn.compacts.as_ref()).map_or(0, |compacts| compacts.before);
            CompactionView {
                title: String::new(),
                compaction_id: id_of(*number),
                kind: CompactionKind::Summary,
                status: CompactionStatus::Failed,
                before,
                after: None,
                text: None,
                message: Some(why.clone()),
            }
        }
        Event::OutputsCleared { before, after, .. } => CompactionView {
            title: String::new(),
            compaction_id: MessageId(format!("outputs-{}", record.seq)),
            kind: CompactionKind::Outputs,
            status: CompactionStatus::Completed,
            before: *before,
            after: Some(*after),
            text: None,
            message: None,
        },
        _ => return Vec::new(),
    };
    vec![Update::CompactionUpdate(titled(view))]
}

fn titled(view: CompactionView) -> CompactionView {
    CompactionView { title: title(&view), ..view }
}

/// Returns the line of a compaction.
fn title(view: &CompactionView) -> String {
    let before = in_thousands(view.before);
    let from_to = match view.after {
        Some(after) => format!("about {before} → {} tokens", in_thousands(after)),
        None => format!("about {before} tokens"),
    };
    match (view.status, view.kind) {
        (CompactionStatus::InProgress, _) => format!("Compacting the conversation ({from_to})"),
        (CompactionStatus::Completed, CompactionKind::Outputs) => {
            format!("Left out old outputs of steps ({from_to})")
        }
        (CompactionStatus::Completed, CompactionKind::Summary) => {
            format!("Compacted the conversation ({from_to})")
        }
        (CompactionStatus::Completed, CompactionKind::Cut) => {
            format!("Cut the conversation, without a summary of the model ({from_to})")
        }
        (CompactionStatus::Failed, _) => {
            let why = view.message.as_deref().unwrap_or("the model did not answer");
            one_line(&format!("The summary of the conversation failed: {why}"), MAX_LINE)
        }
    }
}

/// Returns a number of tokens for people, such as `9k`: an estimate has no exact digits.
fn in_thousands(tokens: u64) -> String {
    if tokens < 1_000 { tokens.to_string() } else { format!("{}k", (tokens + 500) / 1_000) }
}

fn begun(turn: u32, compaction: &Compaction) -> CompactionView {
    CompactionView {
        title: String::new(),
        compaction_id: id_of(turn),
        kind: CompactionKind::Summary,
        status: CompactionStatus::InProgress,
        before: compaction.before,
        after: None,
        text: None,
        message: None,
    }
}

/// A turn compacts at most once, so its number names the compaction also before its end.
fn id_of(turn: u32) -> MessageId {
    MessageId(format!("compaction-{turn}"))
}

/// Returns the view of a compaction whose turn failed.
pub(super) fn failed(turn: u32, compaction: &Compaction, why: &str) -> CompactionView {
    titled(CompactionView {
        status: CompactionStatus::Failed,
        message: Some(why.to_owned()),
        ..begun(turn, compaction)
    })
}

impl From<compactions::CacheBreak> for CacheBreak {
    fn from(part: compactions::CacheBreak) -> Self {
        match part {
            compactions::CacheBreak::Model => CacheBreak::Model,
            compactions::CacheBreak::Tools => CacheBreak::Tools,
            compactions::CacheBreak::Mode => CacheBreak::Mode,
            compactions::CacheBreak::Instructions => CacheBreak::Instructions,
            compactions::CacheBreak::History => CacheBreak::History,
        }
    }
}
