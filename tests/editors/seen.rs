//! The message log: what the server's own debug log says was sent and received.
//!
//! Knows methods, ids and order, never contents: those are not in that log.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;

use crate::stage::wait_for;

/// The debug logs of the servers of one stage.
pub struct Seen {
    folder: PathBuf,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// `in` from the editor, `out` to it.
    pub way: String,
    /// Empty for an answer.
    pub method: String,
    /// As JSON; empty for a notification.
    pub id: String,
    /// Whether it is an answer that says no.
    pub refused: bool,
}

impl Seen {
    pub fn new(folder: PathBuf) -> Seen {
        Seen { folder }
    }

    /// Returns the process ids of the servers that began a log, the oldest first.
    pub fn servers(&self) -> Vec<u32> {
        let mut found: Vec<(SystemTime, u32)> = Vec::new();
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let pid = name.strip_prefix("adjutant-").and_then(|rest| rest.strip_suffix(".jsonl"));
            let since = entry.metadata().and_then(|about| about.created().or_else(|_| about.modified()));
            if let (Some(Ok(pid)), Ok(since)) = (pid.map(str::parse), since) {
                found.push((since, pid));
            }
        }
        found.sort();
        found.into_iter().map(|(_, pid)| pid).collect()
    }

    /// Returns the process id of the server that was started last.
    pub fn newest_server(&self) -> Option<u32> {
        self.servers().pop()
    }

    /// Returns the messages of all servers, one server after the other.
    pub fn messages(&self) -> Vec<Message> {
        self.servers().into_iter().flat_map(|pid| self.of(pid)).collect()
    }

    /// Returns the messages of one server, in order.
    pub fn of(&self, pid: u32) -> Vec<Message> {
        let path = self.folder.join(format!("adjutant-{pid}.jsonl"));
        let text = fs::read_to_string(path).unwrap_or_default();
        text.lines().filter_map(message).collect()
    }

    /// Returns how often a message went one way.
    pub fn count(&self, way: &str, method: &str) -> usize {
        self.messages().iter().filter(|message| message.way == way && message.method == method).count()
    }

    /// Waits until a message went one way so often; says when that was seen.
    #[track_caller]
    pub fn wait(&self, way: &str, method: &str, times: usize) -> Instant {
        let what = format!("{times} of {way} {method}");
        let there = || (self.count(way, method) >= times).then(Instant::now);
        crate::stage::wait_or(there).unwrap_or_else(|| panic!("waited for {what} in\n{}", self.shown()))
    }

    /// Waits until there is an answer to each request of a method that went one way, and returns them.
    #[track_caller]
    pub fn answers(&self, way: &str, method: &str) -> Vec<Message> {
        let back = if way == "out" { "in" } else { "out" };
        wait_for(&format!("answers to {method}"), || {
            let mut found = Vec::new();
            for pid in self.servers() {
                let all = self.of(pid);
                for asked in all.iter().filter(|asked| asked.way == way && asked.method == method) {
                    let answer = |answer: &&Message| {
                        answer.way == back && answer.method.is_empty() && answer.id == asked.id
                    };
                    found.push(all.iter().find(answer)?.clone());
                }
            }
            (!found.is_empty()).then_some(found)
        })
    }

    /// Returns how long a request of a method to the editor, counted from 1, went unanswered, by the
    /// log of the newest server.
    pub fn took(&self, method: &str, which: usize) -> Option<Duration> {
        let path = self.folder.join(format!("adjutant-{}.jsonl", self.newest_server()?));
        let text = fs::read_to_string(path).ok()?;
        let timed: Vec<(Duration, Message)> =
            text.lines().filter_map(|line| Some((time_of_day(line)?, message(line)?))).collect();
        let (sent, asked) =
            timed.iter().filter(|(_, one)| one.way == "out" && one.method == method).nth(which - 1)?;
        let answers = |one: &Message| one.way == "in" && one.method.is_empty() && one.id == asked.id;
        let (back, _) = timed.iter().find(|(_, one)| answers(one))?;
        Some(back.saturating_sub(*sent))
    }

    /// Returns the log as lines, for a test that fails.
    pub fn shown(&self) -> String {
        let line = |message: Message| {
            let Message { way, method, id, refused } = message;
            format!("{way:>3} {method} {id}{}\n", if refused { " refused" } else { "" })
        };
        self.messages().into_iter().map(line).collect()
    }
}

/// Returns when a line was written, from midnight on: `2026-01-31T12:34:56.789Z`.
fn time_of_day(line: &str) -> Option<Duration> {
    let record: Value = serde_json::from_str(line).ok()?;
    let time = record["timestamp"].as_str()?.split_once('T')?.1.trim_end_matches('Z').to_owned();
    let mut parts = time.split(':');
    let mut next = || parts.next()?.parse::<f64>().ok();
    Some(Duration::from_secs_f64(next()? * 3600.0 + next()? * 60.0 + next()?))
}

fn message(line: &str) -> Option<Message> {
    let record: Value = serde_json::from_str(line).ok()?;
    let fields = &record["fields"];
    let text = |name: &str| fields[name].as_str().unwrap_or_default().to_owned();
    (fields["message"] == "message").then(|| Message {
        way: text("way"),
        method: text("method"),
        id: text("id"),
        refused: fields["refused"] == true,
    })
}
