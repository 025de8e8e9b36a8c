//! What is at work and what needs the user, over all sessions that a client follows, in the words of a status line.
//!
//! Pure. Never has markup, and never says the same twice in a row.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use adjutant_core::text::display::{Surface, display};
use adjutant_protocol::SessionId;
use adjutant_protocol::overview::{Detail, Overview, OverviewKind, OverviewRun};
use adjutant_protocol::state::{State, StateView, SubState};
use adjutant_protocol::update::{ToolStatus, Update};

use super::progress::state_words;
use super::run_progress::OpenRun;

/// The client hears at most this often of steps alone.
const EVERY: Duration = Duration::from_millis(250);
/// Characters of a title.
const MAX_TITLE: usize = 60;
/// Characters of a step.
const MAX_STEP: usize = 80;

/// What waits for the user.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// The session of each open question.
    pub asking: Vec<SessionId>,
    /// How many changes of open documents wait for a decision.
    pub hunks: usize,
}

/// The states of all sessions, and the last overview that the client got.
#[derive(Debug, Default)]
pub struct Overviews {
    sessions: BTreeMap<SessionId, WatchedSession>,
    /// The session whose state changed last, of those that the client saw change.
    last: Option<SessionId>,
    told: Option<(Overview, Instant)>,
    /// How much of a run the user wants to see.
    pub detail: Detail,
}

#[derive(Debug)]
struct WatchedSession {
    state: StateView,
    /// The title of the last tool call that began.
    tool: Option<String>,
}

impl Overviews {
    /// Folds in one update of a session.
    pub fn update(&mut self, session: &SessionId, update: &Update) {
        match update {
            Update::StateUpdate(state) => {
                self.is_now(session, state);
                self.last = Some(session.clone());
            }
            Update::ToolCallUpdate(call) if call.status == ToolStatus::InProgress => {
                if let Some(watched) = self.sessions.get_mut(session) {
                    watched.tool = Some(call.title.clone());
                }
            }
            _ => {}
        }
    }

    /// Sets the state of a session.
    pub fn is_now(&mut self, session: &SessionId, state: &StateView) {
        let tool = self.sessions.remove(session).and_then(|before| before.tool);
        let tool = tool.filter(|_| state.state == State::Running);
        self.sessions.insert(session.clone(), WatchedSession { state: state.clone(), tool });
    }

    /// Forgets a session that was stopped or closed.
    pub fn forget(&mut self, session: &SessionId) {
        self.sessions.remove(session);
    }

    /// Returns the overview if the client has to hear it now. `runs` are in the order in which they began.
    pub fn next(&mut self, runs: &[&OpenRun], needs: &Needs, at: Instant) -> Option<Overview> {
        let now = self.overview(runs, needs);
        let is_due = match &self.told {
            Some((told, _)) if *told == now => false,
            Some((told, since)) => !is_step_alone(told, &now) || at.duration_since(*since) >= EVERY,
            None => {
                now.kind != OverviewKind::Idle || !now.short.is_empty() || now.detail != Detail::default()
            }
        };
        if !is_due {
            return None;
        }
        self.told = Some((now.clone(), at));
        Some(now)
    }

    /// Returns when to look again: a step has changed, and its time has not come.
    pub fn due(&self, runs: &[&OpenRun], needs: &Needs) -> Option<Instant> {
        let (told, since) = self.told.as_ref()?;
        (*told != self.overview(runs, needs)).then(|| *since + EVERY)
    }

    fn overview(&self, runs: &[&OpenRun], needs: &Needs) -> Overview {
        let count = |state: State| self.sessions.values().filter(|one| one.state.state == state).count();
        let kind = match () {
            () if !needs.asking.is_empty() => OverviewKind::Asks,
            () if count(State::Resumable) > 0 => OverviewKind::Interrupted,
            () if count(State::Running) > 0 => OverviewKind::Running,
            () => OverviewKind::Idle,
        };
        let short = match (kind, count(State::Running)) {
            (OverviewKind::Asks, _) => counted(needs.asking.len(), "question"),
            (OverviewKind::Interrupted, _) => "interrupted".to_owned(),
            (OverviewKind::Running, 1) => self.running().map_or("working", one_word).to_owned(),
            (OverviewKind::Running, tasks) => format!("{} at work", counted(tasks, "task")),
            (OverviewKind::Idle, _) => self.ended().unwrap_or_default().to_owned(),
        };
        let runs: Vec<OverviewRun> = runs.iter().filter_map(|run| self.of_run(run, needs)).collect();
        Overview {
            kind,
            short,
            tooltip: runs.iter().map(|run| format!("{} · {}", run.step, run.title)).collect(),
            asks: number(needs.asking.len()),
            hunks: number(needs.hunks),
            runs,
            detail: self.detail,
        }
    }

    fn of_run(&self, run: &OpenRun, needs: &Needs) -> Option<OverviewRun> {
        let watched = self.sessions.get(&run.session_id)?;
        let words = match (&watched.tool, watched.state.state, watched.state.sub) {
            // The update of the state follows that of the ask.
            _ if needs.asking.contains(&run.session_id) => {
                state_words(&StateView { state: State::RequiresAction, ..watched.state.clone() })
            }
            (Some(tool), State::Running, Some(SubState::Tools | SubState::Preparing)) => tool.clone(),
            _ => state_words(&watched.state),
        };
        let line = |text: &str, most| display(text, Surface::Status(most)).text.into_owned();
        Some(OverviewRun {
            session_id: run.session_id.clone(),
            run_id: run.run_id.clone(),
            title: line(&run.title, MAX_TITLE),
            step: line(&words, MAX_STEP),
            since: watched.state.since,
        })
    }

    /// Returns the sub-state of a session that is at work.
    fn running(&self) -> Option<SubState> {
        self.sessions.values().find(|one| one.state.state == State::Running)?.state.sub
    }

    /// Returns how the last run ended, if the user should look.
    fn ended(&self) -> Option<&'static str> {
        match self.sessions.get(self.last.as_ref()?)?.state.sub? {
            SubState::Failed => Some("failed"),
            SubState::Limit => Some("stopped at a limit"),
            SubState::Cancelled => Some("cancelled"),
            _ => None,
        }
    }
}

/// Whether two overviews differ in the steps of their runs alone.
fn is_step_alone(one: &Overview, other: &Overview) -> bool {
    (one.kind, &one.short, one.asks, one.hunks, one.detail)
        == (other.kind, &other.short, other.asks, other.hunks, other.detail)
        && one.runs.iter().map(|run| &run.run_id).eq(other.runs.iter().map(|run| &run.run_id))
}

/// Returns the word for a sub-state where a status line has room for one.
fn one_word(sub: SubState) -> &'static str {
    match sub {
        SubState::Preparing => "looking",
        SubState::Model => "thinking",
        SubState::Stalled => "no answer yet",
        SubState::Streaming => "answering",
        SubState::Retrying => "trying again",
        SubState::Compacting => "compacting",
        _ => "working",
    }
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
