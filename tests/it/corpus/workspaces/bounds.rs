//! A workspace that is far too large is opened, listed and searched within bounds.
//!
//! 20 000 files and 500 nested folders by default, 200 000 and 10 000 with `ADJUTANT_SLOW`, 2 000 000 files
//! with `ADJUTANT_HUGE_WORKSPACE`.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::Reply;
use rustix::fs::{Mode, OFlags};
use serde_json::json;

use crate::corpus::canary::Opened;

/// The most memory a server may grow by, in bytes.
const MOST_GROWTH: u64 = 256 << 20;
/// How long one call may take; a search stops by itself after ten seconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// Returns the number of files, and of nested folders.
fn size() -> (usize, usize) {
    match (std::env::var_os("ADJUTANT_HUGE_WORKSPACE"), std::env::var_os("ADJUTANT_SLOW")) {
        (Some(_), _) => (2_000_000, 10_000),
        (None, Some(_)) => (200_000, 10_000),
        (None, None) => (20_000, 500),
    }
}

pub fn a_huge_tree() -> &'static str {
    let (files, depth) = size();
    let workspace = Workspace::new("//- /a.txt\ntext\n");
    for number in 0..files {
        let folder = workspace.path().join(format!("d{}", number / 1_000));
        if number % 1_000 == 0 {
            fs::create_dir(&folder).expect("a folder");
        }
        fs::write(folder.join(format!("f{number}.txt")), "").expect("a file");
    }
    nest(workspace.path(), depth);
    let since = Instant::now();
    let opened = Opened::new(&workspace);
    opened.editor.open("a.txt");
    eprintln!("{files} files and {depth} folders deep: open after {:?}", since.elapsed());
    let before = opened.server.memory().expect("the system reports memory");
    let looks = [
        ("list_files", json!({"path": "."})),
        ("find_files", json!({"pattern": "*"})),
        ("find_files", json!({"pattern": "**/no-such-name"})),
        ("search_text", json!({"pattern": "no such text"})),
        ("list_files", json!({"path": "n"})),
    ];
    for (tool, arguments) in looks {
        let since = Instant::now();
        opened.play([Reply::call(tool, arguments.clone())], "reject");
        let took = since.elapsed();
        let output = opened.outputs().pop().unwrap_or_default();
        eprintln!("{tool} {arguments}: {took:?}, {} bytes", output.len());
        assert!(took < PATIENCE, "{tool} {arguments} took {took:?}");
        assert!(output.len() < 300_000 && !output.is_empty(), "{tool} {arguments}: {} bytes", output.len());
    }
    let peak = opened.server.memory().expect("the system reports memory").peak;
    assert!(peak - before.resident < MOST_GROWTH, "{} MiB more", (peak - before.resident) >> 20);
    opened.editor.shutdown();
    // The standard library removes a tree by recursion; `rm` can remove one of this depth.
    let removed = Command::new("rm").arg("-rf").arg(workspace.path()).status().expect("rm runs");
    assert!(removed.success());
    "bounded"
}

/// Makes nested folders, deeper than any path can name.
fn nest(root: &Path, depth: usize) {
    let open = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    let mut at = rustix::fs::open(root, open, Mode::empty()).expect("the workspace");
    for _ in 0..depth {
        rustix::fs::mkdirat(&at, "n", Mode::from_raw_mode(0o700)).expect("a folder");
        at = rustix::fs::openat(&at, "n", open, Mode::empty()).expect("it is there");
    }
}
