//! The message log: the sent and received messages in the server's own debug log.
//!
//! Never knows contents, only methods, ids and order: the debug log has no contents.

use std::fs;
use std::path::PathBuf;
use std::time::{Instant, SystemTime};

use serde_json::Value;

use crate::stage::wait_for;

/// The debug logs of the servers of one stage.
pub struct Seen {
    folder: PathBuf,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// `in` from the editor, `out` to the editor.
    pub way: String,
    /// Empty for a response.
    pub method: String,
    /// As JSON; empty for a notification.
    pub id: String,
    /// Whether it is an error response.
    pub refused: bool,
}

impl Seen {
    pub fn new(folder: PathBuf) -> Seen {
        Seen { folder }
    }

    /// Returns the process ids of all servers with a log, the oldest first.
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

    /// Returns the process id of the newest server.
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

    /// Returns the number of messages with this direction and method.
    pub fn count(&self, way: &str, method: &str) -> usize {
        self.messages().iter().filter(|message| message.way == way && message.method == method).count()
    }

    /// Waits until there are `times` messages with this direction and method; returns the time of that moment.
    #[track_caller]
    pub fn wait(&self, way: &str, method: &str, times: usize) -> Instant {
        let what = format!("{times} of {way} {method}");
        let there = || (self.count(way, method) >= times).then(Instant::now);
        crate::stage::wait_or(there).unwrap_or_else(|| panic!("waited for {what} in\n{}", self.shown()))
    }

    /// Waits until each request with this direction and method has a response; returns the responses.
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

    /// Returns the log as lines, for the report of a failed test.
    pub fn shown(&self) -> String {
        let line = |message: Message| {
            let Message { way, method, id, refused } = message;
            format!("{way:>3} {method} {id}{}\n", if refused { " refused" } else { "" })
        };
        self.messages().into_iter().map(line).collect()
    }
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
