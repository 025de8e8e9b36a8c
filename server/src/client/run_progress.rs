//! The progress of the runs at one client: a token for each open run.
//!
//! Never uses a token before its client has created it, and nothing waits for that.
//! If a client refuses a token, it gets no progress of that run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use adjutant_core::text::display::{Surface, display};
use adjutant_protocol::origin::Origin;
use adjutant_protocol::update::Update;
use adjutant_protocol::{RunId, SessionId};
use tokio::sync::oneshot;

use super::face::{Face, Note, Step};
use super::outbound::OutboundQueue;
use super::progress::Progress;

/// Characters of a title. Editors put it before the step, which must stay visible.
const MAX_TITLE: usize = 30;
/// How long a client may take to create the token of a run that has ended.
const LATE: Duration = Duration::from_secs(10);

/// A run that has not ended, with what its client shows of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenRun {
    pub session_id: SessionId,
    pub run_id: RunId,
    pub title: String,
    pub origin: Option<Origin>,
}

/// Where a step is sent: the face of the client, and its queue.
#[derive(Clone)]
pub struct ProgressOutput {
    pub face: Arc<dyn Face>,
    pub outbound: OutboundQueue,
}

/// The progress of every open run.
pub struct RunProgress {
    output: ProgressOutput,
    /// Whether the client shows progress at all.
    shown: bool,
    open: BTreeMap<SessionId, RunMeter>,
    /// Counts tokens: none is used twice.
    count: u64,
}

struct RunMeter {
    token: String,
    progress: Progress,
    state: Arc<Mutex<Token>>,
    /// Dropping it reports that the run has ended.
    _over: oneshot::Sender<()>,
}

/// The state of a token.
enum Token {
    /// Not created yet, with the steps to send then: the beginning, the last report, the end.
    Requested(Vec<Step>),
    Created,
    Refused,
}

impl RunProgress {
    pub fn new(output: ProgressOutput, shown: bool) -> Self {
        Self { output, shown, open: BTreeMap::new(), count: 0 }
    }

    /// Begins the progress of a run.
    pub fn begin(&mut self, run: &OpenRun, message: &str) {
        if !self.shown {
            return;
        }
        self.end(&run.session_id, "ended");
        self.count += 1;
        // Some editors show the token: Helix puts it before the title.
        let token = format!("adjutant {}", self.count);
        let (over, ended) = oneshot::channel();
        let state = create(&token, &self.output, ended);
        let progress = Progress::begin(message, Instant::now());
        let title = format!("Adjutant: {}", display(&run.title, Surface::Status(MAX_TITLE)).text);
        let step = Step::Begin { title, message: progress.message().to_owned() };
        let meter = RunMeter { token, progress, state, _over: over };
        meter.send_step(step, &self.output);
        self.open.insert(run.session_id.clone(), meter);
    }

    /// Folds in one update of a session.
    pub fn update(&mut self, session: &SessionId, update: &Update, now_ms: u64) {
        if let Some(meter) = self.open.get_mut(session) {
            meter.progress.update(update, Instant::now(), now_ms);
        }
    }

    /// Sends the reports that are due.
    pub fn say(&mut self, now: Instant) {
        for meter in self.open.values_mut() {
            if let Some(text) = meter.progress.next_message(now) {
                let message = text.to_owned();
                meter.send_step(Step::Report { message }, &self.output);
            }
        }
    }

    /// Returns when the next report is due.
    pub fn due(&self) -> Option<Instant> {
        self.open.values().filter_map(|meter| meter.progress.due()).min()
    }

    /// Ends the progress of a session's run, if there is one.
    pub fn end(&mut self, session: &SessionId, message: &str) {
        if let Some(meter) = self.open.remove(session) {
            meter.send_step(Step::End { message: message.to_owned() }, &self.output);
        }
    }

    /// Returns the session whose run has this token.
    pub fn session_of(&self, token: &str) -> Option<&SessionId> {
        self.open.iter().find(|(_, meter)| meter.token == token).map(|(session, _)| session)
    }
}

impl RunMeter {
    fn send_step(&self, step: Step, output: &ProgressOutput) {
        match &mut *lock(&self.state) {
            Token::Created => output.say(&self.token, &step),
            Token::Refused => {}
            Token::Requested(waiting) => {
                waiting.retain(|before| !matches!(before, Step::Report { .. }));
                waiting.push(step);
            }
        }
    }
}

impl ProgressOutput {
    fn say(&self, token: &str, step: &Step) {
        let Some(Note { method, params }) = self.face.step(token, step) else { return };
        // A lost report is followed by another one, so only the beginning and the end must arrive.
        if matches!(step, Step::Report { .. }) {
            self.outbound.hint(method, &params);
        } else {
            self.outbound.notify(method, &params);
        }
    }
}

fn lock(state: &Mutex<Token>) -> MutexGuard<'_, Token> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Requests a token without waiting for it. Sends the waiting steps once it is created.
fn create(token: &str, output: &ProgressOutput, ended: oneshot::Receiver<()>) -> Arc<Mutex<Token>> {
    let state = Arc::new(Mutex::new(Token::Requested(Vec::new())));
    let Some(sent) = output.face.progress(token).and_then(|request| output.outbound.post(request)) else {
        return state;
    };
    let (shared, token, output) = (state.clone(), token.to_owned(), output.clone());
    tokio::spawn(async move {
        let Ok(reply) = sent.await else { return };
        // The wait for a client that never answers ends soon after the run.
        let late = async {
            let _ = ended.await;
            tokio::time::sleep(LATE).await;
        };
        let created = tokio::select! {
            reply = reply => reply.is_ok(),
            () = late => false,
        };
        let mut state = lock(&shared);
        let next = if created { Token::Created } else { Token::Refused };
        if let (Token::Requested(waiting), true) = (std::mem::replace(&mut *state, next), created) {
            waiting.iter().for_each(|step| output.say(&token, step));
        }
    });
    state
}
