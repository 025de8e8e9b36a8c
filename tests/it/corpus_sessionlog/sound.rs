//! The log that is spoiled: written by a real session of at least fifty facts, and what each
//! mutation does to it.
//!
//! Never opens anything; what a server makes of the bytes is seen elsewhere.

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

/// The least facts the log has; a mutation that says "record 50" means the last.
pub const LEAST: u64 = 50;

/// A workspace whose one session is over, and the bytes of its log.
pub struct Sound {
    pub workspace: Workspace,
    pub model: ModelServer,
    pub session: SessionId,
    pub bytes: Vec<u8>,
    /// What the session itself wrote for lists.
    summary: Vec<u8>,
    pub last: u64,
}

/// A spoiled log, and the records the mutation itself hit.
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

    /// Puts a log where the session's is, with the summary of the sound one beside it, and nothing else of
    /// the session.
    pub fn plant(&self, bytes: &[u8]) {
        let dir = self.dir();
        // It is not there when the test before it deleted it.
        let _ = fs::remove_dir_all(&dir);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&dir).expect("a folder");
        let log = dir.join("events.jsonl");
        fs::write(&log, bytes).expect("a log");
        fs::set_permissions(&log, fs::Permissions::from_mode(0o600)).expect("for its owner");
        // The clock of a file system may be too coarse for a test.
        let now = std::time::SystemTime::now();
        fs::File::options().append(true).open(&log).and_then(|file| file.set_modified(now)).expect("a time");
        fs::write(dir.join("summary.json"), &self.summary).expect("a summary");
        self.workspace.write("ledger", "ran\n");
    }

    /// The lines of the log, each with its end; record N is not at N: there are a head and epochs.
    fn lines(&self) -> Vec<Vec<u8>> {
        self.bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
    }

    /// Where the line of a record is.
    fn place(&self, lines: &[Vec<u8>], record: u64) -> usize {
        let record = if record == LEAST { self.last } else { record };
        let found = lines.iter().position(|line| seq_of(&self.session, line) == Some(record));
        found.unwrap_or_else(|| panic!("there is no record {record}"))
    }

    /// Does to the log what a line of the corpus says.
    pub fn spoiled(&self, mutations: &Value) -> Spoiled {
        let mut lines = self.lines();
        let mut hit = Vec::new();
        for mutation in mutations.as_array().expect("mutations are a list") {
            self.mutate(&mut lines, mutation, &mut hit);
        }
        // A batch counts whole or not at all: what is cut of the last one takes all of it along.
        let cut = mutations[0]["op"].as_str().is_some_and(|op| op.starts_with("cut_tail"));
        if cut || hit.contains(&self.last) {
            hit.extend(self.last_batch());
        }
        Spoiled { bytes: lines.concat(), hit }
    }

    /// The records of the last batch.
    pub fn last_batch(&self) -> std::ops::RangeInclusive<u64> {
        let goes_on = |line: &&[u8]| match line::parse(&self.session.0, line) {
            Some(LogLine::Record(record)) => record.more,
            _ => false,
        };
        let body = self.bytes.strip_suffix(b"\n").expect("a whole line");
        let more = body.rsplit(|byte| *byte == b'\n').skip(1).take_while(goes_on).count();
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
                // Between records: what follows is whole behind it.
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
            ("set_seq", Some(at)) => self.seal_anew(&mut lines[at], Some(number("to")), None, None),
            ("set_time", Some(at)) => {
                // The time is no part of what a record says.
                hit.clear();
                self.seal_anew(&mut lines[at], None, Some(moment(text("to"))), None);
            }
            ("set_times", None) => {
                for line in lines.iter_mut().filter(|line| seq_of(&self.session, line).is_some()) {
                    self.seal_anew(line, None, Some(moment(text("to"))), None);
                }
            }
            ("set_event", Some(at)) => self.seal_anew(&mut lines[at], None, None, Some(&mutation["to"])),
            ("nest_event", Some(at)) => {
                // Deeper than this reader of the corpus could read it.
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
            _ => panic!("nobody knows the mutation {mutation}"),
        }
    }

    /// A line with a checksum that fits, whatever it says.
    fn sealed(&self, body: &str) -> Vec<u8> {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(self.session.0.as_bytes());
        hasher.update(body.as_bytes());
        format!("{body},\"sum\":\"{:08x}\"}}\n", hasher.finalize()).into_bytes()
    }

    fn seal_anew(&self, line: &mut Vec<u8>, seq: Option<u64>, at: Option<u64>, event: Option<&Value>) {
        let body = line.strip_suffix(b"\n").expect("an end");
        let Some(LogLine::Record(record)) = line::parse(&self.session.0, body) else { panic!("no record") };
        let event = match event {
            Some(event) => event.to_string(),
            None => String::from_utf8(record.event.to_vec()).expect("text"),
        };
        let event = RawValue::from_string(event).expect("JSON");
        let stamp = (seq.unwrap_or(record.seq), at.unwrap_or(record.at_ms), record.more);
        let mut anew = Vec::new();
        line::put_record(&mut anew, &self.session.0, stamp, &event).expect("it fits a line");
        *line = anew;
    }
}

/// The number and the content of each whole record in these bytes.
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

/// Milliseconds since 1970 of the moments the corpus names.
fn moment(text: &str) -> u64 {
    match text {
        "9999-12-31T23:59:59Z" => 253_402_300_799_000,
        "1970-01-01T00:00:00Z" => 0,
        "the largest number" => u64::MAX,
        other => panic!("nobody knows when {other:?} is"),
    }
}

fn decoded(text: &str) -> Vec<u8> {
    assert!(
        text.bytes().all(|byte| byte == b'A') && text.len().is_multiple_of(4),
        "only zeros are used: {text}"
    );
    vec![0; text.len() / 4 * 3]
}
