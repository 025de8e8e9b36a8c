//! Work-done progress at one client: a token for each open run.
//!
//! Never uses a token before its client has created it, and holds nothing up for
//! that; a client that refuses one is not told of that run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use adjutant_core::display::{Surface, display};
use adjutant_protocol::origin::Origin;
use adjutant_protocol::update::Update;
use adjutant_protocol::{RunId, SessionId};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::outlet::Outlet;
use super::progress::Progress;

/// Characters of a title: editors put it before the step, which must stay in sight.
const MAX_TITLE: usize = 30;
/// How long a client may take to create the token of a run that has ended.
const LATE: Duration = Duration::from_secs(10);

/// A run that has not ended, as its client knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenRun {
    pub session_id: SessionId,
    pub run_id: RunId,
    pub title: String,
    pub origin: Option<Origin>,
}

/// The progress of every open run.
pub struct Meters {
    /// Whether the client shows progress at all.
    shown: bool,
    open: BTreeMap<SessionId, Meter>,
    /// Counts tokens: none is used twice.
    count: u64,
}

struct Meter {
    token: String,
    progress: Progress,
    state: Arc<Mutex<Token>>,
    /// Dropped, it says that the run has ended.
    _over: oneshot::Sender<()>,
}

/// What became of a token.
enum Token {
    /// Not created yet; what is to be said once it is: the beginning, the last report, the end.
    Asked(Vec<Value>),
    Created,
    Refused,
}

impl Meters {
    pub fn new(shown: bool) -> Self {
        Self { shown, open: BTreeMap::new(), count: 0 }
    }

    /// Begins the progress of a run.
    pub fn begin(&mut self, run: &OpenRun, message: &str, outlet: &Outlet) {
        if !self.shown {
            return;
        }
        self.end(&run.session_id, "ended", outlet);
        self.count += 1;
        // Some editors show it: Helix puts it before the title.
        let token = format!("adjutant {}", self.count);
        let (over, ended) = oneshot::channel();
        let state = create(&token, outlet, ended);
        let progress = Progress::begin(message, Instant::now());
        let value = json!({
            "kind": "begin",
            "title": format!("Adjutant: {}", display(&run.title, Surface::Status(MAX_TITLE)).text),
            "cancellable": true,
            "message": progress.message(),
        });
        let meter = Meter { token, progress, state, _over: over };
        meter.tell(&value, outlet);
        self.open.insert(run.session_id.clone(), meter);
    }

    /// Folds in one update of a session.
    pub fn told(&mut self, session: &SessionId, update: &Update, now_ms: u64) {
        if let Some(meter) = self.open.get_mut(session) {
            meter.progress.told(update, Instant::now(), now_ms);
        }
    }

    /// Says whatever may be said by now.
    pub fn say(&mut self, now: Instant, outlet: &Outlet) {
        for meter in self.open.values_mut() {
            let said = meter.progress.take(now).map(|text| json!({ "kind": "report", "message": text }));
            if let Some(value) = said {
                meter.tell(&value, outlet);
            }
        }
    }

    /// When something that waits may be said.
    pub fn due(&self) -> Option<Instant> {
        self.open.values().filter_map(|meter| meter.progress.due()).min()
    }

    /// Ends the progress of a session's run, if there is one.
    pub fn end(&mut self, session: &SessionId, message: &str, outlet: &Outlet) {
        if let Some(meter) = self.open.remove(session) {
            meter.tell(&json!({ "kind": "end", "message": message }), outlet);
        }
    }

    /// The session whose run has this token.
    pub fn session_of(&self, token: &str) -> Option<&SessionId> {
        self.open.iter().find(|(_, meter)| meter.token == token).map(|(session, _)| session)
    }
}

impl Meter {
    fn tell(&self, value: &Value, outlet: &Outlet) {
        match &mut *lock(&self.state) {
            Token::Created => say(&self.token, value, outlet),
            Token::Refused => {}
            Token::Asked(waiting) => {
                waiting.retain(|before| before["kind"] != "report");
                waiting.push(value.clone());
            }
        }
    }
}

fn say(token: &str, value: &Value, outlet: &Outlet) {
    let params = json!({ "token": token, "value": value });
    // A report that is lost is followed by another one; beginning and end are not.
    if value["kind"] == "report" {
        outlet.hint("$/progress", &params);
    } else {
        outlet.notify("$/progress", &params);
    }
}

fn lock(state: &Mutex<Token>) -> MutexGuard<'_, Token> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Asks for a token and goes on; says what waited for it once it is created.
fn create(token: &str, outlet: &Outlet, ended: oneshot::Receiver<()>) -> Arc<Mutex<Token>> {
    let state = Arc::new(Mutex::new(Token::Asked(Vec::new())));
    let Some(sent) = outlet.post("window/workDoneProgress/create", json!({ "token": token })) else {
        return state;
    };
    let (told, token, outlet) = (state.clone(), token.to_owned(), outlet.clone());
    tokio::spawn(async move {
        let Ok(reply) = sent.await else { return };
        // A client that never answers costs nothing for longer than the run.
        let late = async {
            let _ = ended.await;
            tokio::time::sleep(LATE).await;
        };
        let created = tokio::select! {
            reply = reply => reply.is_ok(),
            () = late => false,
        };
        let mut state = lock(&told);
        let next = if created { Token::Created } else { Token::Refused };
        if let (Token::Asked(waiting), true) = (std::mem::replace(&mut *state, next), created) {
            waiting.iter().for_each(|value| say(&token, value, &outlet));
        }
    });
    state
}
