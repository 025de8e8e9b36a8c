//! Kills a real process while it writes a log to the real disk.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use super::*;

const DIR_VARIABLE: &str = "ADJUTANT_TEST_LOG_DIR";
const NAME: &str = "log::tests::kills::f1_killed_at_any_time_nothing_acknowledged_is_lost";

/// Appends until it is killed; prints the last durable sequence number after each sync.
fn write_for_ever(dir: &Path) {
    let mut log = match Log::open(real_place(dir), 2) {
        Ok(opened) => opened.log,
        Err(OpenError::Missing { .. }) => Log::create(real_place(dir), 1),
        Err(error) => panic!("{error}"),
    };
    loop {
        let next = log.last_seq() + 1;
        let batch: Vec<_> = (next..next + next % 7 + 1)
            .map(|seq| prompted(&format!("{seq} {}", "x".repeat((seq * 37 % 3000) as usize))))
            .collect();
        log.append(next, &batch, true).unwrap();
        log.request_sync(|outcome| {
            let line = format!("durable {}\n", outcome.unwrap());
            std::io::stdout().write_all(line.as_bytes()).unwrap();
        });
    }
}

#[test]
fn f1_killed_at_any_time_nothing_acknowledged_is_lost() {
    if let Some(dir) = env::var_os(DIR_VARIABLE) {
        write_for_ever(Path::new(&dir));
    }
    let dir = tempfile::tempdir().unwrap();
    let mut durable = 0;
    for kill in 0..25 {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", NAME, "--nocapture"])
            .env(DIR_VARIABLE, dir.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        let acknowledged = output
            .map_while(Result::ok)
            .filter_map(|line| line.strip_prefix("durable ").and_then(|seq| seq.parse::<u64>().ok()));
        for (number, seq) in acknowledged.enumerate() {
            durable = durable.max(seq);
            if number == kill * 7 % 12 {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        let here = real_place(dir.path());
        let read = Log::read(&*here.storage, &here.dir, ID).unwrap();
        let last = read.records.len() as u64;
        assert_eq!(seqs(&read.records), (1..=last).collect::<Vec<_>>());
        assert!(last >= durable, "kill {kill}: {durable} were durable, {last} are there");
        let damage: Vec<_> = read.notices.iter().filter(|notice| notice.is_damage()).collect();
        assert!(damage.is_empty(), "kill {kill}: {damage:?}");
    }
    assert!(durable > 25);
}
