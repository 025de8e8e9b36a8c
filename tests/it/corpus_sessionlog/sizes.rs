//! Logs and lists of extreme size: memory stays bounded, and no intact record is lost.
//!
//! The benchmark has the limits of time; these tests only print times.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::time::{Duration, Instant};

use adjutant::session::catalog::Summary;
use adjutant::session::log::{LogMark, line};
use adjutant::sessions::reading;
use adjutant_protocol::methods;
use adjutant_protocol::session::SessionListResult;
use adjutant_testkit::command::Line;
use adjutant_testkit::editor::Options;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::process::Server;
use serde_json::json;

use super::sound::Sound;

const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");
/// The most memory that a server may grow by, in bytes.
const GROWTH: u64 = 128 << 20;
const SESSIONS: usize = 10_000;

fn slow() -> bool {
    std::env::var_os("ADJUTANT_SLOW").is_some()
}

/// Reads past a line of one gibibyte. Opening keeps a copy, so it uses a smaller line by default.
pub fn line_of_a_gibibyte() -> &'static str {
    let sound = Sound::make();
    let plant = |more: u64| {
        sound.plant(&sound.bytes);
        let log = fs::File::options().write(true).open(sound.dir().join("events.jsonl")).expect("a log");
        log.set_len(sound.bytes.len() as u64 + more).expect("a hole");
    };
    plant(1 << 30);
    let shown = Line::new(BINARY, &sound.workspace, &["sessions", "show", &sound.session.0]).run();
    assert!(shown.expect(0).stdout.contains("Look five times"), "{shown}");
    eprintln!("a line of 1 GiB was read past in {:?}", shown.took);

    plant(if slow() { 1 << 30 } else { 64 << 20 });
    let mut server = Server::spawn(BINARY, &sound.workspace, &["lsp"]);
    let options = Options { deadline: Duration::from_secs(60), ..Options::new(&sound.workspace) };
    let editor = server.editor(options);
    let before = server.memory().expect("its memory is known").peak;
    let now = editor.resume(&sound.session, None);
    assert!(now.notices.iter().any(|notice| notice.contains("never acknowledged")), "{:?}", now.notices);
    let grown = server.memory().expect("its memory is known").peak.saturating_sub(before);
    assert!(grown <= GROWTH, "it grew by {} MiB", grown >> 20);
    editor.run_to_end(&sound.session, "Go on.");
    editor.shutdown();
    assert!(server.wait().success());
    let log = fs::read(sound.dir().join("events.jsonl")).expect("a log");
    assert!(log.starts_with(&sound.bytes) && log.len() < sound.bytes.len() + (1 << 20));
    "resume_drop_tail"
}

pub fn ten_thousand_sessions() -> &'static str {
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    let root = workspace.state_dir().join("sessions");
    let catalog = reading::catalog(&workspace.state_dir()).expect("a catalog");
    for number in 0..SESSIONS {
        let id = format!("s-{number:016x}");
        let dir = root.join(&id);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&dir).expect("a folder");
        let mut log = Vec::new();
        line::put_header(&mut log, &id, 1);
        line::put_epoch(&mut log, &id, 1, 1);
        let event = json!({"type": "session_created", "session": id, "roots": ["/ws"], "title": "t"});
        line::put_record(&mut log, &id, (1, 1, false), &event).expect("a record");
        let mark = LogMark { len: log.len() as u64, last_seq: 1, sum: line::sum_of(&log) };
        let summary = Summary {
            title: format!("title {number}"),
            state: "idle".to_owned(),
            updated_at: number as u64,
            log: mark,
            ..Summary::default()
        };
        fs::write(dir.join("events.jsonl"), &log).expect("a log");
        catalog.write_summary(&id, &summary).expect("a file");
    }
    let mut server = Server::spawn(BINARY, &workspace, &["lsp"]);
    let options = Options { deadline: Duration::from_secs(60), ..Options::new(&workspace) };
    let editor = server.editor(options);
    let before = server.memory().expect("its memory is known").peak;
    let begun = Instant::now();
    let mut page: SessionListResult = editor.call(methods::SESSION_LIST, json!({}));
    eprintln!("{SESSIONS} sessions were listed in {:?}", begun.elapsed());
    assert_eq!(page.sessions[0].title, format!("title {}", SESSIONS - 1));
    assert!(page.sessions.iter().all(|entry| entry.damaged.is_none()));
    let grown = server.memory().expect("its memory is known").peak.saturating_sub(before);
    assert!(grown <= GROWTH, "it grew by {} MiB", grown >> 20);
    // The next page starts where the first one ended.
    let cursor = page.next_cursor.take().expect("there are more");
    page = editor.call(methods::SESSION_LIST, json!({ "cursor": cursor }));
    assert_eq!(page.sessions[0].title, format!("title {}", SESSIONS - 1 - 100));
    editor.shutdown();
    assert!(server.wait().success());
    "list_bounded"
}
