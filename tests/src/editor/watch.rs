//! The rules between updates: order, causes, states, sums.
//!
//! Pure: updates in, violations out. It judges the messages on the wire, never the intent of a server.

mod items;

use std::collections::BTreeMap;

use adjutant_protocol::ask::{AskGroup, AskView};
use adjutant_protocol::session::{ReplayFrom, ResumeResult};
use adjutant_protocol::state::{State, StateView, SubState};
use adjutant_protocol::update::{AskChange, RunView, SessionUpdateParams, TurnPhase, Update};
use adjutant_protocol::{AskId, RunId, SessionId};

use self::items::Items;
use super::options::Chunks;
use super::violation::{Rule, Violation};
use crate::fixture::{path_of_uri, uri_of_path};

/// The state of the editor that the rules depend on. Its documents have the names of `plain_uri`.
#[derive(Default)]
pub struct World {
    /// The number of edits that arrived for each document.
    pub edits: BTreeMap<String, u32>,
    /// The open documents.
    pub open: Vec<String>,
    /// The update kinds that this client does not want.
    pub unwanted: Vec<String>,
}

/// All sessions of one connection.
pub struct Watch {
    chunks: Chunks,
    /// Whether the client opted out of kinds, so that numbers may be missing.
    gaps: bool,
    sessions: BTreeMap<SessionId, SessionWatch>,
}

/// One session, folded from its updates.
#[derive(Default)]
struct SessionWatch {
    /// Whether the client saw every update of the session.
    whole: bool,
    /// The replay leaves numbers out up to this one.
    gaps_until: u64,
    seq: Option<u64>,
    sub: Option<u64>,
    runs: BTreeMap<RunId, RunSeen>,
    open_run: Option<RunId>,
    /// Whether a turn is open; unknown before the first turn update.
    turn: Option<bool>,
    asks: BTreeMap<AskId, AskSeen>,
    items: Items,
}

#[derive(Default)]
struct RunSeen {
    ended: bool,
    completed: bool,
}

struct AskSeen {
    group: AskGroup,
    open: bool,
    /// Whether it was opened while the client was attached.
    live: bool,
    resolved: bool,
}

impl Watch {
    /// Returns a watch without sessions. `gaps` is whether the client opted out of some kinds.
    pub fn new(chunks: Chunks, gaps: bool) -> Self {
        Self { chunks, gaps, sessions: BTreeMap::new() }
    }

    /// Handles a new session: the client will see all of its updates.
    pub fn created(&mut self, session: &SessionId) {
        self.sessions.insert(session.clone(), SessionWatch { whole: true, ..SessionWatch::default() });
    }

    /// Handles the resume of a session: its state starts again.
    pub fn resumed(&mut self, session: &SessionId, from: Option<ReplayFrom>, now: &ResumeResult) {
        let whole = from == Some(ReplayFrom::Start);
        let mut watch = SessionWatch { whole, ..SessionWatch::default() };
        watch.items.missed_until = Some(now.seq);
        if let Some(ReplayFrom::Seq { seq }) = from {
            watch.seq = Some(seq);
        }
        if let Some(ReplayFrom::Last { .. }) = from {
            watch.gaps_until = now.seq;
        }
        if from.is_none() {
            watch.seq = Some(now.seq);
            watch.asks = now.asks.iter().map(|ask| (ask.ask_id.clone(), AskSeen::of(ask, false))).collect();
            watch.open_run = now.state.run_id.clone();
        }
        self.sessions.insert(session.clone(), watch);
    }

    /// Judges one update.
    pub fn update(&mut self, params: &SessionUpdateParams, world: &World) -> Vec<Violation> {
        let mut faults = Vec::new();
        let kind = params.update.kind();
        if world.unwanted.iter().any(|unwanted| unwanted == kind) {
            faults.push(Violation::new(Rule::NotOffered, format!("an update of the unwanted kind {kind:?}")));
        }
        let session = self.sessions.entry(params.session_id.clone()).or_default();
        session.number(params, self.gaps, &mut faults);
        session.after_end(params, &mut faults);
        session.items.update(params, session.turn, session.whole, &mut faults);
        session.items.sums(params, self.chunks, &mut faults);
        session.items.change_sets(params, world, &mut faults);
        session.fold(params, &mut faults);
        let place = format!(" (session {}, seq {}, {kind})", params.session_id, params.seq);
        faults.iter_mut().for_each(|fault| fault.what.push_str(&place));
        faults
    }

    /// Judges `agent/ask/resolved`.
    pub fn resolved(&mut self, session: &SessionId, ask: &AskId) -> Option<Violation> {
        let session = self.sessions.entry(session.clone()).or_default();
        match session.asks.get_mut(ask) {
            Some(seen) => {
                seen.resolved = true;
                None
            }
            None if !session.whole => None,
            None => {
                Some(Violation::new(Rule::AskOrder, format!("ask {ask} is resolved and was never opened")))
            }
        }
    }

    /// Judges an ask that arrived as a request.
    pub fn delivered(&self, ask: &AskView) -> Option<Violation> {
        let seen = self.sessions.get(&ask.session_id).and_then(|session| session.asks.get(&ask.ask_id));
        let popup = matches!(ask.group, AskGroup::Interactive | AskGroup::NonBlocking);
        if !popup {
            let what = format!("ask {} is state, but the server asked the user", ask.ask_id);
            return Some(Violation::new(Rule::AskOrder, what));
        }
        seen.is_some_and(|seen| !seen.open).then(|| {
            Violation::new(Rule::AskOrder, format!("ask {} is delivered after it closed", ask.ask_id))
        })
    }

    /// Judges the asks that remain after a normal end of the connection.
    pub fn end(&self) -> Vec<Violation> {
        let unresolved = |(id, seen): (&AskId, &AskSeen)| {
            (seen.live && !seen.open && !seen.resolved)
                .then(|| Violation::new(Rule::ResolutionUntold, format!("ask {id} closed")))
        };
        self.sessions.values().flat_map(|session| session.asks.iter().filter_map(unresolved)).collect()
    }

    /// Whether an ask is known to be closed.
    pub fn is_closed(&self, ask: &AskId) -> bool {
        self.sessions.values().any(|session| session.asks.get(ask).is_some_and(|seen| !seen.open))
    }
}

impl AskSeen {
    fn of(ask: &AskView, live: bool) -> Self {
        Self { group: ask.group, open: true, live, resolved: false }
    }
}

/// Returns the same URI for each spelling of a document's URI.
pub(super) fn plain_uri(uri: &str) -> String {
    path_of_uri(uri).map_or_else(|| uri.to_owned(), |path| uri_of_path(&path))
}

/// Whether the log has updates of this kind.
pub(super) fn is_lasting(kind: &str) -> bool {
    Update::KINDS.iter().any(|(name, lasting)| *name == kind && *lasting)
}

impl SessionWatch {
    fn number(&mut self, params: &SessionUpdateParams, gaps: bool, faults: &mut Vec<Violation>) {
        let mut fault = |rule, what: String| faults.push(Violation::new(rule, what));
        // Two states have no number, because no log has them: a passing state, and the last state of a
        // session whose log accepts nothing more.
        let passes = |view: &StateView| {
            view.state == State::Resumable
                || view.state == State::Running
                    && matches!(view.sub, Some(SubState::Streaming | SubState::Stalled))
        };
        let passes =
            matches!(&params.update, Update::StateUpdate(view) if passes(view)) && params.sub.is_some();
        let gaps =
            gaps || self.seq.is_some_and(|last| last < self.gaps_until && params.seq <= self.gaps_until + 1);
        let (seq, lasting) = (params.seq, is_lasting(params.update.kind()) && !passes);
        if lasting == params.sub.is_some() {
            let is = if lasting { "lasting" } else { "ephemeral" };
            fault(Rule::EphemeralMark, format!("sub is {:?} of an update that is {is}", params.sub));
        }
        match self.seq {
            Some(last) if lasting && seq <= last => {
                fault(Rule::Sequence, format!("{seq} comes after {last}"));
            }
            Some(last) if lasting && seq > last + 1 && !gaps => {
                fault(Rule::Sequence, format!("{seq} comes after {last} and leaves a gap"));
            }
            Some(last) if !lasting && seq != last && !gaps => {
                fault(Rule::Sequence, format!("an ephemeral update carries {seq}, the last is {last}"));
            }
            Some(last) if !lasting && seq < last => {
                fault(Rule::Sequence, format!("an ephemeral update carries {seq} after {last}"));
            }
            _ => {}
        }
        if !lasting && self.seq == Some(seq) && self.sub.is_some() && params.sub <= self.sub {
            fault(Rule::Sequence, format!("sub {:?} comes after {:?}", params.sub, self.sub));
        }
        self.seq = Some(self.seq.unwrap_or(seq).max(seq));
        self.sub = if lasting { None } else { params.sub };
    }

    /// Judges an update of an ended run. Only its state, idle asks, notices and change sets may still come.
    fn after_end(&self, params: &SessionUpdateParams, faults: &mut Vec<Violation>) {
        let Some(run) = &params.run_id else { return };
        if !self.runs.get(run).is_some_and(|seen| seen.ended) {
            return;
        }
        let allowed = match &params.update {
            Update::StateUpdate(_) | Update::ChangeSet(_) | Update::Notice { .. } => true,
            Update::Ask(AskChange::Opened { ask }) => ask.group == AskGroup::Idle,
            Update::Ask(AskChange::Closed { ask_id, .. }) => {
                self.asks.get(ask_id).is_none_or(|seen| seen.group == AskGroup::Idle)
            }
            // Judged by `run`.
            Update::Run(_) => true,
            _ => false,
        };
        if !allowed {
            let kind = params.update.kind();
            faults.push(Violation::new(Rule::AfterRunEnd, format!("{kind} of run {run}, which has ended")));
        }
    }

    fn fold(&mut self, params: &SessionUpdateParams, faults: &mut Vec<Violation>) {
        match &params.update {
            Update::Run(view) => self.run(view, params.seq, faults),
            Update::Turn(view) => self.turn(view.phase, params.seq, faults),
            Update::Ask(change) => self.ask(change, params, faults),
            Update::StateUpdate(view) => self.state(view, faults),
            Update::Complete { .. } => {
                let run = params.run_id.as_ref().or(self.open_run.as_ref()).cloned();
                let Some(seen) = run.as_ref().and_then(|run| self.runs.get_mut(run)) else { return };
                if std::mem::replace(&mut seen.completed, true) {
                    faults
                        .push(Violation::new(Rule::SecondCompletion, format!("run {run:?} completes again")));
                }
            }
            _ => {}
        }
    }

    fn run(&mut self, view: &RunView, seq: u64, faults: &mut Vec<Violation>) {
        let mut fault = |what: String| faults.push(Violation::new(Rule::RunOrder, what));
        match view {
            RunView::Started { run_id, .. } => {
                if let Some(open) = &self.open_run {
                    fault(format!("run {run_id} starts while run {open} is open"));
                }
                if self.runs.insert(run_id.clone(), RunSeen::default()).is_some() {
                    fault(format!("run {run_id} starts again"));
                }
                self.open_run = Some(run_id.clone());
            }
            RunView::Ended { run_id, .. } => {
                match self.runs.get(run_id) {
                    Some(seen) if seen.ended => fault(format!("run {run_id} ends again")),
                    None if self.whole => fault(format!("run {run_id} ends and never started")),
                    _ => {}
                }
                self.runs.entry(run_id.clone()).or_default().ended = true;
                self.open_run = None;
                self.turn = Some(false);
                self.items.run_ended(seq, faults);
                let open = self.asks.iter().filter(|(_, seen)| seen.open && seen.group != AskGroup::Idle);
                for (ask, _) in open {
                    let what = format!("run {run_id} ends while ask {ask} is open");
                    faults.push(Violation::new(Rule::AskOrder, what));
                }
            }
        }
    }

    fn turn(&mut self, phase: TurnPhase, seq: u64, faults: &mut Vec<Violation>) {
        let starts = phase == TurnPhase::Started;
        // Before the first turn update, a turn may be open already.
        let known = self.turn.or(self.whole.then_some(false));
        if known.is_some_and(|open| open == starts) {
            let is = if starts { "is" } else { "is not" };
            faults.push(Violation::new(Rule::TurnOrder, format!("{phase:?} while a turn {is} open")));
        }
        if starts && self.whole && self.open_run.is_none() {
            faults.push(Violation::new(Rule::TurnOrder, "a turn starts outside of a run"));
        }
        self.turn =
            Some(matches!(phase, TurnPhase::Started | TurnPhase::AttemptFailed | TurnPhase::ModelReplaced));
        self.items.attempt(seq);
    }

    fn ask(&mut self, change: &AskChange, params: &SessionUpdateParams, faults: &mut Vec<Violation>) {
        let mut fault = |what: String| faults.push(Violation::new(Rule::AskOrder, what));
        match change {
            AskChange::Opened { ask } => {
                let live = self.items.missed_until.is_none_or(|missed| params.seq > missed);
                if self.asks.insert(ask.ask_id.clone(), AskSeen::of(ask, live)).is_some() {
                    fault(format!("ask {} opens again", ask.ask_id));
                }
                if ask.group != ask.kind.group() {
                    fault(format!("{:?} claims the group {:?}", ask.kind, ask.group));
                }
            }
            AskChange::Changed { ask } => {
                if self.whole && !self.asks.get(&ask.ask_id).is_some_and(|seen| seen.open) {
                    fault(format!("ask {} changes and is not open", ask.ask_id));
                }
            }
            AskChange::Closed { ask_id, .. } => match self.asks.get_mut(ask_id) {
                Some(seen) if !seen.open => fault(format!("ask {ask_id} closes again")),
                Some(seen) => seen.open = false,
                None if self.whole => fault(format!("ask {ask_id} closes and was never opened")),
                None => {}
            },
        }
    }

    fn state(&self, view: &StateView, faults: &mut Vec<Violation>) {
        let mut fault = |rule, what: String| faults.push(Violation::new(rule, what));
        for ask in &view.asks {
            match self.asks.get(ask) {
                Some(seen) if !seen.open => {
                    fault(Rule::AskOrder, format!("the state names the closed ask {ask}"))
                }
                None if self.whole => {
                    fault(Rule::AskOrder, format!("the state names ask {ask} before it opened"))
                }
                _ => {}
            }
        }
        let needs_run = matches!(view.state, State::Running | State::RequiresAction | State::Resumable);
        match &self.open_run {
            Some(run) if !needs_run => {
                fault(Rule::StateOrder, format!("{:?} while run {run} is open", view.state));
            }
            None if needs_run && self.whole => {
                fault(Rule::StateOrder, format!("{:?} without an open run", view.state));
            }
            _ => {}
        }
        if !matches!(view.state, State::Running | State::RequiresAction) {
            return;
        }
        let blocking = self.asks.values().any(|seen| seen.open && seen.group == AskGroup::Interactive);
        let named = view.asks.iter().any(|ask| {
            self.asks.get(ask).is_none_or(|seen| seen.open && seen.group == AskGroup::Interactive)
        });
        let requires = view.state == State::RequiresAction;
        if requires && !named {
            fault(Rule::StateOrder, "RequiresAction names no blocking ask".to_owned());
        }
        if !requires && blocking {
            fault(Rule::StateOrder, "Running while a blocking ask is open".to_owned());
        }
    }
}

#[cfg(test)]
mod tests;
