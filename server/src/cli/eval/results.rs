//! The results of an output folder: one line for each attempt, synced as it comes, checked when it is read.
//!
//! Never changes a whole line, and never has two writers.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use adjutant_protocol::session::UsageView;
use anyhow::Context;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::plan::AttemptKey;

/// The file of the results in an output folder.
pub const RESULTS: &str = "results.jsonl";
/// The most bytes of it that are read.
const MAX_BYTES: u64 = 512 << 20;

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptOutcome {
    /// The check exited with 0.
    Passed,
    /// The check exited with another code.
    Failed,
    /// The run did not come to its end, or the check gave no answer.
    NotFinished,
}

impl AttemptOutcome {
    /// Returns the word for a line of text.
    pub fn word(self) -> &'static str {
        match self {
            AttemptOutcome::Passed => "passed",
            AttemptOutcome::Failed => "failed",
            AttemptOutcome::NotFinished => "not finished",
        }
    }
}

/// Tokens as the provider counted them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenCounts {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

impl From<UsageView> for TokenCounts {
    fn from(usage: UsageView) -> Self {
        TokenCounts {
            input: usage.input_tokens,
            output: usage.output_tokens,
            cache_read: usage.cache_read_tokens,
            cache_write: usage.cache_write_tokens,
        }
    }
}

impl TokenCounts {
    /// Returns the sum. It saturates, because a provider may report any number.
    pub fn and(self, more: Self) -> Self {
        TokenCounts {
            input: self.input.saturating_add(more.input),
            output: self.output.saturating_add(more.output),
            cache_read: self.cache_read.saturating_add(more.cache_read),
            cache_write: self.cache_write.saturating_add(more.cache_write),
        }
    }

    /// Returns all tokens. The input has those of the cache.
    pub fn all(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

/// What is known of one attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptRecord {
    #[serde(flatten)]
    pub key: AttemptKey,
    pub outcome: AttemptOutcome,
    /// Why it is not finished, or how the check failed.
    pub reason: Option<String>,
    /// The reason lies in the set-up, so the same command makes this attempt again.
    pub again: bool,
    pub turns: u32,
    pub tokens: TokenCounts,
    /// Absent while the settings have no prices.
    pub cost: Option<f64>,
    /// The time of the run, in milliseconds.
    pub time_ms: u64,
    /// The time of the check, in milliseconds.
    pub check_ms: u64,
    /// The end of the check's output.
    pub check_output: String,
    /// The questions that Adjutant answered with no, because an eval has no user who could answer.
    pub denied: Vec<String>,
    /// The folder with the session, below `state` of the output folder.
    pub state: String,
    pub session: Option<String>,
    /// The version of Adjutant.
    pub version: String,
    /// Milliseconds since the Unix epoch.
    pub ended_at: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ResultLine<'a> {
    /// The CRC-32 of the bytes of `result`, in hexadecimal.
    crc: String,
    #[serde(borrow)]
    result: &'a RawValue,
}

/// The newest result of each attempt.
pub type AttemptRecords = BTreeMap<AttemptKey, AttemptRecord>;

/// An output folder's results, open for one writer.
pub struct ResultsFile {
    file: File,
    path: String,
    pub records: AttemptRecords,
    /// What was wrong with the end of the file, if anything.
    pub repaired: Option<String>,
}

impl ResultsFile {
    /// Opens the results of an output folder, and creates them if they are missing. A line that was cut short at the
    /// end is removed. Fails if another process writes them, or if another line is damaged.
    pub fn open(out: &Path) -> anyhow::Result<Self> {
        let path = out.join(RESULTS);
        let context = || format!("write \"{}\"", path.display());
        let mut options = OpenOptions::new();
        let mut file =
            options.read(true).append(true).create(true).mode(0o600).open(&path).with_context(context)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                anyhow::bail!("{}: another `adjutant eval` is writing it; give each its own --out", context())
            }
            Err(TryLockError::Error(error)) => return Err(error).with_context(context),
        }
        let bytes = all_of(&mut file).with_context(context)?;
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let records = parse(&bytes[..end]).with_context(context)?;
        let mut repaired = None;
        if end < bytes.len() {
            file.set_len(end as u64).and_then(|()| file.sync_all()).with_context(context)?;
            repaired = Some(format!(
                "note: the last line of \"{}\" was cut short and is removed; its attempt is made again",
                path.display()
            ));
        }
        // The name of a new file is as durable as its lines.
        File::open(out).and_then(|folder| folder.sync_all()).with_context(context)?;
        Ok(ResultsFile { file, path: path.display().to_string(), records, repaired })
    }

    /// Adds a result. It is on disk when this returns.
    pub fn append(&mut self, record: AttemptRecord) -> anyhow::Result<()> {
        let context = || format!("write \"{}\"", self.path);
        let result = serde_json::value::to_raw_value(&record).with_context(context)?;
        let crc = crc_of(&result);
        let mut line = serde_json::to_vec(&ResultLine { crc, result: &result }).with_context(context)?;
        line.push(b'\n');
        self.file.write_all(&line).and_then(|()| self.file.sync_data()).with_context(context)?;
        self.records.insert(record.key.clone(), record);
        Ok(())
    }
}

/// Reads the results of an output folder without changing it. A line that was cut short at the end does not count.
pub fn read_results(out: &Path) -> anyhow::Result<AttemptRecords> {
    let path = out.join(RESULTS);
    let context = || format!("read \"{}\"", path.display());
    let mut file = File::open(&path).with_context(context)?;
    let bytes = all_of(&mut file).with_context(context)?;
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    parse(&bytes[..end]).with_context(context)
}

fn all_of(file: &mut File) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        anyhow::bail!("it is larger than {} MiB", MAX_BYTES >> 20);
    }
    Ok(bytes)
}

fn parse(bytes: &[u8]) -> anyhow::Result<AttemptRecords> {
    let mut records = AttemptRecords::new();
    for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty()) {
        let damaged = || format!("line {} is damaged; remove it, and its attempt is made again", at + 1);
        let line: ResultLine = serde_json::from_slice(line).with_context(damaged)?;
        if line.crc != crc_of(line.result) {
            anyhow::bail!("{}", damaged());
        }
        let record: AttemptRecord = serde_json::from_str(line.result.get()).with_context(damaged)?;
        records.insert(record.key.clone(), record);
    }
    Ok(records)
}

fn crc_of(result: &RawValue) -> String {
    format!("{:08x}", crc32fast::hash(result.get().as_bytes()))
}

#[cfg(test)]
pub(super) mod tests {
    use std::fs;

    use super::*;

    /// Returns a result of this attempt of a task.
    pub fn record(task: &str, model: &str, attempt: u32, outcome: AttemptOutcome) -> AttemptRecord {
        AttemptRecord {
            key: AttemptKey {
                task: task.to_owned(),
                model: model.to_owned(),
                attempt,
                commands: false,
                digest: "d".to_owned(),
            },
            outcome,
            reason: None,
            again: false,
            turns: 3,
            tokens: TokenCounts { input: 900, output: 100, ..TokenCounts::default() },
            cost: None,
            time_ms: 1500,
            check_ms: 20,
            check_output: String::new(),
            denied: Vec::new(),
            state: "state".to_owned(),
            session: None,
            version: "0".to_owned(),
            ended_at: 7,
        }
    }

    #[test]
    fn n25_a_line_cut_anywhere_is_removed_and_the_lines_before_it_stay() {
        let place = tempfile::tempdir().expect("a folder");
        let path = place.path().join(RESULTS);
        let first = record("a", "m/m", 1, AttemptOutcome::Passed);
        let mut results = ResultsFile::open(place.path()).expect("it opens");
        results.append(first.clone()).expect("it is written");
        let whole = fs::read(&path).expect("it is there").len();
        results.append(record("b", "m/m", 1, AttemptOutcome::Failed)).expect("it is written");
        drop(results);
        let both = fs::read(&path).expect("it is there");
        for end in whole + 1..both.len() {
            fs::write(&path, &both[..end]).expect("it is written");
            assert_eq!(read_results(place.path()).expect("it is read").len(), 1);
            let results = ResultsFile::open(place.path()).expect("it opens");
            assert!(results.repaired.is_some(), "cut at {end}");
            assert_eq!(results.records.values().collect::<Vec<_>>(), [&first]);
            assert_eq!(fs::read(&path).expect("it is there"), &both[..whole]);
        }
    }

    #[test]
    fn n25_every_changed_byte_of_a_line_is_noticed() {
        let place = tempfile::tempdir().expect("a folder");
        let path = place.path().join(RESULTS);
        let mut results = ResultsFile::open(place.path()).expect("it opens");
        results.append(record("a", "m/m", 1, AttemptOutcome::Passed)).expect("it is written");
        drop(results);
        let whole = fs::read(&path).expect("it is there");
        for at in 0..whole.len() - 1 {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            fs::write(&path, &bytes).expect("it is written");
            assert!(read_results(place.path()).is_err(), "byte {at} of {}", String::from_utf8_lossy(&whole));
        }
    }

    #[test]
    fn n25_an_output_folder_has_one_writer() {
        let place = tempfile::tempdir().expect("a folder");
        let first = ResultsFile::open(place.path()).expect("it opens");
        let why = ResultsFile::open(place.path()).err().expect("it is refused").to_string();
        assert!(why.contains("another `adjutant eval` is writing it"), "{why}");
        drop(first);
        ResultsFile::open(place.path()).expect("it opens");
    }
}
