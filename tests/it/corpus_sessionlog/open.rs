//! Opens a damaged log with a real server and continues its session: what was kept, reported, and copied.
//!
//! Checks only the protocol and the files.

use std::fs;

use adjutant::session::log::{Log, Notice};
use adjutant::session::storage::Disk;
use adjutant_protocol::ask::AskKind;
use adjutant_protocol::methods;
use adjutant_protocol::session::{ResumeResult, SessionListResult};
use adjutant_protocol::state::State;
use adjutant_testkit::editor::Answer;
use serde_json::json;

use super::sound::{Sound, Spoiled, records};
use crate::rig::{Rig, assert_paired, refused};

/// A copy next to the log.
pub struct Aside {
    pub name: String,
    pub bytes: Vec<u8>,
}

impl std::fmt::Debug for Aside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} bytes)", self.name, self.bytes.len())
    }
}

/// The result of opening a log.
#[derive(Debug, Default)]
pub struct Opened {
    /// The name and message of the refusal, if the log was not opened.
    pub refused: Option<(String, String)>,
    /// The notices of the log's own reader.
    pub notices: Vec<Notice>,
    /// The notices that the client got.
    pub shown: Vec<String>,
    /// The damage that the list of sessions reported before.
    pub listed: Option<String>,
    /// Records of the sound log that are missing or changed afterwards.
    pub lost: Vec<u64>,
    /// Files kept next to the log.
    pub aside: Vec<Aside>,
    /// Whether the log has exactly the planted bytes.
    pub untouched: bool,
    /// Whether the session continued: a new prompt ran to its end.
    pub went_on: bool,
}

impl Opened {
    /// Whether the client got a notice about damage.
    pub fn flagged(&self) -> bool {
        self.notices.iter().any(Notice::is_damage) && self.is_shown()
    }

    /// Whether there are notices, and the client got all of them.
    pub fn is_shown(&self) -> bool {
        !self.notices.is_empty() && self.notices.iter().all(|notice| self.shown.contains(&notice.to_string()))
    }

    pub fn says(&self, word: &str) -> bool {
        self.shown.iter().any(|notice| notice.contains(word))
    }

    /// Whether the found bytes, or the part cut off their end, are kept next to the log.
    pub fn kept_aside(&self, found: &[u8]) -> bool {
        self.aside.iter().any(|kept| !kept.bytes.is_empty() && found.ends_with(&kept.bytes))
    }

    /// Whether all found bytes are kept next to the log.
    pub fn kept_whole(&self, found: &[u8]) -> bool {
        self.aside.iter().any(|kept| kept.bytes == found)
    }
}

/// Plants a log, lists it, opens it and continues its session.
pub fn open(sound: &Sound, spoiled: &Spoiled) -> Opened {
    sound.plant(&spoiled.bytes);
    let mut opened = Opened::default();
    if let Ok(read) = Log::read(&Disk, &sound.dir(), &sound.session.0) {
        opened.notices = read.notices;
    }
    let rig = Rig::start(&sound.workspace);
    rig.on_ask(|_| Answer::option("allow"));
    let listed = rig.call::<SessionListResult>(methods::SESSION_LIST, json!({})).sessions;
    let listed = listed.into_iter().find(|entry| entry.session_id == sound.session);
    opened.listed = listed.expect("a session is never hidden").damaged;
    let answer = rig.request(methods::SESSION_RESUME, json!({ "sessionId": sound.session }));
    match answer {
        Err(error) => {
            let message = error.message.clone();
            opened.refused = Some((refused::<()>(Err(error)).1, message));
        }
        Ok(now) => {
            let now: ResumeResult = serde_json::from_value(now).expect("a result of resume");
            opened.shown = now.notices.clone();
            opened.went_on = continues(sound, &rig, now);
        }
    }
    rig.end();
    let after = fs::read(sound.dir().join("events.jsonl")).unwrap_or_default();
    opened.untouched = after == spoiled.bytes;
    let now = records(&sound.session, &after);
    let was = records(&sound.session, &sound.bytes);
    let gone = was.iter().filter(|record| !now.contains(record));
    opened.lost = gone.map(|(seq, _)| *seq).collect();
    opened.aside = aside(sound);
    opened
}

/// Continues the session to the end of a new prompt. Asserts that a command from before never runs again.
fn continues(sound: &Sound, rig: &Rig, now: ResumeResult) -> bool {
    let before = sound.model.requests().len();
    if now.state.state == State::Resumable {
        let ask = now.asks.iter().find(|ask| ask.kind == AskKind::ResumeTask).expect("it can be resumed");
        let run = now.state.run_id.expect("an open run");
        rig.answer(&ask.ask_id, "resume");
        rig.await_run_end(&sound.session, &run);
    }
    let run = rig.prompt(&sound.session, "And now?").run_id;
    rig.await_run_end(&sound.session, &run);
    rig.await_state(State::Idle);
    assert_eq!(sound.workspace.read("ledger"), "ran\n", "a command of long ago ran again");
    let requests = sound.model.requests();
    assert!(requests.len() > before, "there was no request to the model");
    requests[before..].iter().for_each(assert_paired);
    true
}

fn aside(sound: &Sound) -> Vec<Aside> {
    let entries = fs::read_dir(sound.dir()).expect("the folder").map(|entry| entry.expect("an entry"));
    let named = entries.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()));
    let copies = named.filter(|(name, _)| name.starts_with("events.jsonl."));
    copies.map(|(name, path)| Aside { name, bytes: fs::read(path).expect("a copy") }).collect()
}
