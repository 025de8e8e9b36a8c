//! The cost of a long history: opens logs of ten thousand and of a million records, and lists ten
//! thousand sessions (finding F5).
//!
//! Nothing is synced to disk.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

use adjutant::session::catalog::Summary;
use adjutant::session::log::{LogMark, line};
use adjutant::sessions::reading;
use serde_json::json;

use super::client::Client;
use super::figures::Bench;
use super::past::Past;
use super::process::memory;
use super::samples::{Samples, ms};

const SESSIONS: usize = 10_000;
const ID: &str = "s-0123456789abcdef";

/// Opens a log of ten thousand records.
pub fn opening(bench: &Bench, samples: &mut Samples) {
    let (took, peak) = open(bench, 10_000);
    samples.add("opening 10k", vec![took]);
    samples.add("opening 10k MB", vec![peak]);
}

/// Opens a log of a million records.
pub fn opening_long(bench: &Bench, samples: &mut Samples) {
    let (took, peak) = open(bench, 1_000_000);
    samples.add("opening 1M", vec![took / 1e3]);
    samples.add("opening 1M MiB", vec![peak * 1e6 / f64::from(1 << 20)]);
}

/// Lists ten thousand sessions whose summaries match their logs.
pub fn listing(bench: &Bench, samples: &mut Samples) {
    let home = home(bench);
    let catalog = reading::catalog(&home.path().join("state")).expect("a catalog");
    for number in 0..SESSIONS {
        let id = format!("s-{number:016x}");
        let dir = folder(home.path(), &id);
        let mut log = Vec::new();
        line::put_header(&mut log, &id, 1);
        line::put_epoch(&mut log, &id, 1, 1);
        let event = json!({"type": "session_created", "session": id, "roots": ["/ws"], "title": "t"});
        line::put_record(&mut log, &id, (1, 1, false), &event).expect("a record");
        let mark = LogMark { len: log.len() as u64, last_seq: 1, sum: line::sum_of(&log) };
        let title = format!("title {number}");
        let known = Summary { title, state: "idle".to_owned(), log: mark, ..Summary::default() };
        write(&dir.join("events.jsonl"), &log);
        catalog.write_summary(&id, &known).expect("a summary");
    }
    let (mut client, _) = Client::start(bench.program, home.path(), &bench.workspace.root);
    let sent = Instant::now();
    let listed = client.request("agent/session/list", &json!({}));
    samples.add("listing 10k", vec![ms(listed.at - sent)]);
    let page = listed.body["result"]["sessions"].as_array().expect("a page").len();
    assert!(page == 100 && listed.body["result"]["nextCursor"].is_string(), "{page} were listed");
    let (mut last, mut paged) = (listed, page);
    while let Some(cursor) = last.body["result"]["nextCursor"].as_str() {
        let next = json!({"cursor": cursor});
        last = client.request("agent/session/list", &next);
        paged += last.body["result"]["sessions"].as_array().expect("a page").len();
    }
    samples.add("paging 10k", vec![ms(last.at - sent)]);
    assert_eq!(paged, SESSIONS);
}

/// Returns the milliseconds to open a log, and the peak memory of the server in megabytes.
fn open(bench: &Bench, records: u64) -> (f64, f64) {
    let home = home(bench);
    write(&folder(home.path(), ID).join("events.jsonl"), &log_of(records, &bench.workspace.root));
    let (mut client, _) = Client::start(bench.program, home.path(), &bench.workspace.root);
    let sent = Instant::now();
    let resumed = client.request("agent/session/resume", &json!({"sessionId": ID}));
    let took = ms(resumed.at - sent);
    let result = &resumed.body["result"];
    assert!(result["seq"].as_u64().is_some_and(|seq| seq > records / 4), "not opened: {}", resumed.body);
    assert_eq!(result["notices"].as_array().map_or(0, Vec::len), 0, "{result}");
    (took, memory(client.pid()).1)
}

fn home(bench: &Bench) -> tempfile::TempDir {
    let home = tempfile::TempDir::new_in(bench.directory).expect("the directory can be written");
    let settings = "model = \"bench/scripted\"\n[providers.bench]\nbase_url = \"http://127.0.0.1:9\"\n";
    fs::write(home.path().join("config.toml"), settings).expect("the settings can be written");
    home
}

fn folder(home: &Path, id: &str) -> PathBuf {
    let dir = home.join("state/sessions").join(id);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&dir).expect("a folder");
    dir
}

fn write(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).expect("a file");
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("for its owner");
}

fn log_of(records: u64, root: &Path) -> Vec<u8> {
    let mut past = Past::new(ID, root);
    while past.session.seq < records {
        past.run();
    }
    past.log
}
