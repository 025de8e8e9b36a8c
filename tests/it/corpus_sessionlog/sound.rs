//! The log to damage, written by a real session with at least fifty events, and the effect of each mutation.
//!
//! Never opens the result; `open.rs` does.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::PathBuf;

use adjutant::session::log::line::{self, LogLine};
use adjutant_protocol::SessionId;
use adjutant_protocol::state::State;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::rig::{Rig, session_dir};

/// The least number of records; a mutation of "record 50" means the last one.
pub const LEAST: u64 = 50;

/// A workspace with one ended session, and the bytes of its log.
pub struct Sound {
    pub workspace: Workspace,
    pub model: ModelServer,
    pub session: SessionId,
    pub bytes: Vec<u8>,
    /// The summary file that the session wrote for lists.
    summary: Vec<u8>,
    pub last: u64,
}

/// A damaged log, and the records that the mutation hit.
pub struct Spoiled {
    pub bytes: Vec<u8>,
    pub hit: Vec<u64>,
}

impl Sound {
    pub fn make() -> Sound {
        let mut asked = 0;
        let model = ModelServer::answering(move |_| {
            asked += 1;
            match asked {
                1..=5 => Reply::call("read_file", json!({"path": "a.txt"})),
                6 => Reply::call("run_command", json!({"command": "echo ran >> ledger"})),
                _ => Reply::text("Done."),
            }
        });
        let workspace = Workspace::new("//- /a.txt\nhello\n");
        workspace.openai(&model.base_url());
        let rig = Rig::start(&workspace);
        rig.on_ask(|_| adjutant_testkit::editor::Answer::option("allow"));
        let session = rig.new_session();
        rig.run_to_end(&session, "Look five times, and note it.");
        rig.await_state(State::Idle);
        rig.end();
        let bytes = fs::read(session_dir(&workspace, &session).join("events.jsonl")).expect("a log");
        let summary = fs::read(session_dir(&workspace, &session).join("summary.json")).expect("a summary");
        let last = records(&session, &bytes).len() as u64;
        assert!(last >= LEAST, "the log has {last} records only");
        assert_eq!(workspace.read("ledger"), "ran\n");
        Sound { workspace, model, session, bytes, summary, last }
    }

    pub fn dir(&self) -> PathBuf {
        session_dir(&self.workspace, &self.session)
    }

    /// Puts these bytes in place of the session's log, next to the sound log's summary, and removes every other
    /// file of the session.
    pub fn plant(&self, bytes: &[u8]) {
        let dir = self.dir();
        // The folder is missing if an earlier step deleted it.
        let _ = fs::remove_dir_all(&dir);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&dir).expect("a folder");
        let log = dir.join("events.jsonl");
        fs::write(&log, bytes).expect("a log");
        fs::set_permissions(&log, fs::Permissions::from_mode(0o600)).expect("for its owner");
        // A file system's clock may be too coarse for a test.
        let now = std::time::SystemTime::now();
        fs::File::options().append(true).open(&log).and_then(|file| file.set_modified(now)).expect("a time");
        fs::write(dir.join("summary.json"), &self.summary).expect("a summary");
        self.workspace.write("ledger", "ran\n");
    }

    /// Returns the lines of the log, each with its end. Record N is not at index N, because of the head and the
    /// epochs.
    fn lines(&self) -> Vec<Vec<u8>> {
        self.bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
    }

    /// Returns the index of a record's line.
    fn place(&self, lines: &[Vec<u8>], record: u64) -> usize {
        let record = if record == LEAST { self.last } else { record };
        let found = lines.iter().position(|line| seq_of(&self.session, line) == Some(record));
        found.unwrap_or_else(|| panic!("there is no record {record}"))
    }

    /// Applies the mutations of a corpus line to the log.
    pub fn spoiled(&self, mutations: &Value) -> Spoiled {
        let mut lines = self.lines();
        let mut hit = Vec::new();
        for mutation in mutations.as_array().expect("mutations are a list") {
            self.mutate(&mut lines, mutation, &mut hit);
        }
        // A batch counts whole or not at all: a cut in the last one removes all of it.
        let cut = mutations[0]["op"].as_str().is_some_and(|op| op.starts_with("cut_tail"));
        if cut || hit.contains(&self.last) {
            hit.extend(self.last_batch());
        }
        Spoiled { bytes: lines.concat(), hit }
    }

    /// Returns the numbers of the last batch's records.
    pub fn last_batch(&self) -> std::ops::RangeInclusive<u64> {
        let has_more = |line: &&[u8]| match line::parse(&self.session.0, line) {
            Some(LogLine::Record(record)) => record.more,
            _ => false,
        };
        let body = self.bytes.strip_suffix(b"\n").expect("a whole line");
        let more = body.rsplit(|byte| *byte == b'\n').skip(1).take_while(has_more).count();
        self.last - more as u64..=self.last
    }

    fn mutate(&self, lines: &mut Vec<Vec<u8>>, mutation: &Value, hit: &mut Vec<u64>) {
        let text = |name: &str| mutation[name].as_str().unwrap_or_default();
        let number = |name: &str| mutation[name].as_u64().unwrap_or_else(|| panic!("{name} in {mutation}"));
        let op = text("op");
        let at = mutation["record"].as_u64().map(|record| self.place(lines, record));
        hit.extend(at.and_then(|at| seq_of(&self.session, &lines[at])));
        let all = lines.concat();
        match (op, at) {
            ("cut_tail_bytes", None) => *lines = vec![all[..all.len() - number("n") as usize].to_vec()],
            ("cut_tail", None) => {
                let last = lines.last_mut().expect("a line");
                hit.extend(seq_of(&self.session, last));
                last.truncate(1);
            }
            ("cut_to", None) => *lines = vec![all[..number("n") as usize].to_vec()],
            ("cut_inside_header", None) => *lines = vec![all[..20].to_vec()],
            ("append_bytes", None) => lines.push(decoded(text("b64"))),
            ("append_text", None) => lines.push(text("t").as_bytes().to_vec()),
            ("append_line", None) => lines.push(vec![b'x'; number("n") as usize]),
            ("flip_bit", Some(at)) => flip(&mut lines[at], mutation["at"].as_u64().unwrap_or(40)),
            ("flip_bit", None) => {
                assert_eq!(text("where"), "file header");
                flip(&mut lines[0], mutation["at"].as_u64().unwrap_or(3));
            }
            ("replace_record", Some(at)) => lines[at] = format!("{}\n", text("with")).into_bytes(),
            ("insert_bytes", Some(at)) => {
                // The bytes are between records: the record after them is still intact.
                hit.clear();
                lines[at].splice(0..0, decoded(text("b64")));
            }
            ("crlf_convert", None) => lines.iter_mut().for_each(|line| {
                line.splice(line.len() - 1.., *b"\r\n");
            }),
            ("reverse_file", None) => *lines = vec![all.into_iter().rev().collect()],
            ("duplicate_record", Some(at)) => {
                hit.clear();
                lines.insert(at, lines[at].clone());
            }
            ("swap_records", None) => {
                let (a, b) = (self.place(lines, number("a")), self.place(lines, number("b")));
                lines.swap(a, b);
            }
            ("duplicate_block", None) => {
                let (from, to) = (self.place(lines, number("from")), self.place(lines, number("to")));
                let block = lines[from..=to].to_vec();
                lines.splice(to + 1..to + 1, block);
            }
            ("duplicate_file", None) => lines.extend(self.lines()),
            ("remove_record", Some(at)) => drop(lines.remove(at)),
            ("set_seq", Some(at)) => self.seal_again(&mut lines[at], Some(number("to")), None, None),
            ("set_time", Some(at)) => {
                // The time is not part of a record's content.
                hit.clear();
                self.seal_again(&mut lines[at], None, Some(moment(text("to"))), None);
            }
            ("set_times", None) => {
                for line in lines.iter_mut().filter(|line| seq_of(&self.session, line).is_some()) {
                    self.seal_again(line, None, Some(moment(text("to"))), None);
                }
            }
            ("set_event", Some(at)) => self.seal_again(&mut lines[at], None, None, Some(&mutation["to"])),
            ("nest_event", Some(at)) => {
                // Too deep for the JSON reader of the corpus, so the text is built here.
                let (open, close) =
                    ("[".repeat(number("depth") as usize), "]".repeat(number("depth") as usize));
                let seq = hit.last().expect("a record");
                let event = format!("{{\"type\":\"prompted\",\"text\":{open}{close}}}");
                lines[at] = self.sealed(&format!("{{\"seq\":{seq},\"at\":1,\"event\":{event}"));
            }
            ("set_parent", Some(at)) => {
                let seq = hit.last().expect("a record");
                lines[at] = self.sealed(&format!("{{\"seq\":{seq},\"parent\":{seq},\"at\":1,\"event\":{{}}"));
            }
            ("missing_required_field", Some(at)) => {
                let seq = hit.last().expect("a record");
                lines[at] = self.sealed(&format!("{{\"seq\":{seq},\"event\":{{\"type\":\"prompted\"}}"));
            }
            ("change_session_id_in_header", None) => {
                let head = String::from_utf8(lines[0].clone()).expect("text");
                lines[0] = head.replace(&self.session.0, "s-0000000000000000").into_bytes();
            }
            ("set_version", None) => {
                let head = format!(
                    "{{\"adjutant_log\":{},\"session\":\"{}\",\"created_at\":1",
                    number("to"),
                    self.session
                );
                lines[0] = self.sealed(&head);
            }
            _ => panic!("unknown mutation {mutation}"),
        }
    }

    /// Returns a line with a valid checksum, whatever its content.
    fn sealed(&self, body: &str) -> Vec<u8> {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(self.session.0.as_bytes());
        hasher.update(body.as_bytes());
        format!("{body},\"sum\":\"{:08x}\"}}\n", hasher.finalize()).into_bytes()
    }

    fn seal_again(&self, line: &mut Vec<u8>, seq: Option<u64>, at: Option<u64>, event: Option<&Value>) {
        let body = line.strip_suffix(b"\n").expect("an end");
        let Some(LogLine::Record(record)) = line::parse(&self.session.0, body) else { panic!("no record") };
        let event = match event {
            Some(event) => event.to_string(),
            None => String::from_utf8(record.event.to_vec()).expect("text"),
        };
        let event = RawValue::from_string(event).expect("JSON");
        let stamp = (seq.unwrap_or(record.seq), at.unwrap_or(record.at_ms), record.more);
        let mut sealed = Vec::new();
        line::put_record(&mut sealed, &self.session.0, stamp, &event).expect("it fits a line");
        *line = sealed;
    }
}

/// Returns the number and the content of each intact record in these bytes.
pub fn records(session: &SessionId, bytes: &[u8]) -> Vec<(u64, String)> {
    let whole = |line: &[u8]| match line::parse(&session.0, line.strip_suffix(b"\r").unwrap_or(line)) {
        Some(LogLine::Record(record)) => {
            Some((record.seq, String::from_utf8_lossy(record.event).into_owned()))
        }
        _ => None,
    };
    bytes.split(|byte| *byte == b'\n').filter_map(whole).collect()
}

fn seq_of(session: &SessionId, line: &[u8]) -> Option<u64> {
    match line::parse(&session.0, line.strip_suffix(b"\n")?) {
        Some(LogLine::Record(record)) => Some(record.seq),
        _ => None,
    }
}

fn flip(line: &mut [u8], at: u64) {
    line[at as usize] ^= 1;
}

/// Returns the milliseconds since 1970 for a moment that the corpus names.
fn moment(text: &str) -> u64 {
    match text {
        "9999-12-31T23:59:59Z" => 253_402_300_799_000,
        "1970-01-01T00:00:00Z" => 0,
        "the largest number" => u64::MAX,
        other => panic!("unknown moment {other:?}"),
    }
}

fn decoded(text: &str) -> Vec<u8> {
    assert!(
        text.bytes().all(|byte| byte == b'A') && text.len().is_multiple_of(4),
        "only zeros are used: {text}"
    );
    vec![0; text.len() / 4 * 3]
}
