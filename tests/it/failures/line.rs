//! A failure as the command line shows it: in a pipe, and to a person at a terminal.
//!
//! Uses the real program; another process lists its asks.

use adjutant_testkit::command::Line;
use adjutant_testkit::process::wait_until;
use adjutant_testkit::terminal::Screen;
use serde_json::Value;

use super::rows::Ends;
use super::{Cell, Seen};

const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");
const ARGS: [&str; 3] = ["run", "-y", "Speak."];

/// Plays a run whose output goes to a pipe.
pub fn play(cell: &Cell) -> Seen {
    let running = Line::new(BINARY, &cell.workspace, &ARGS).start();
    wait_for_silence(cell, || running.stderr());
    let ran = running.wait();
    ran.expect(code(cell));
    read(cell, &(ran.stdout + &ran.stderr))
}

/// Plays a run at a terminal.
pub fn play_at_a_terminal(cell: &Cell) -> Seen {
    // Very wide, because other tests cover line breaks.
    let (screen, far) = Screen::open(1000);
    let line = Line::new(BINARY, &cell.workspace, &ARGS).env("TERM", "xterm-256color");
    let running = line.terminal(&far).start();
    drop(far);
    wait_for_silence(cell, || screen.text());
    running.wait().expect(code(cell));
    wait_until("the last line", || read_lines(&screen.text()).ends > 0);
    read(cell, &screen.text())
}

fn wait_for_silence(cell: &Cell, shown: impl Fn() -> String) {
    if cell.is_silent() {
        wait_until("the silence to be shown", || !read_lines(&shown()).silences.is_empty());
        cell.let_the_model_continue();
    }
}

fn code(cell: &Cell) -> i32 {
    i32::from(matches!(cell.row.ends, Ends::Asks(..)))
}

fn read(cell: &Cell, shown: &str) -> Seen {
    let asked = Line::new(BINARY, &cell.workspace, &["asks", "--all", "--json"]).run();
    let asks: Vec<Value> = asked
        .expect(0)
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|why| panic!("{line}: {why}")))
        .collect();
    assert!(asks.len() < 2, "{asks:?}");
    let ask = asks.first().map(|ask| {
        let options = ask["options"].as_array().into_iter().flatten();
        let ids = options.map(|option| option["optionId"].as_str().unwrap_or_default().to_owned());
        (ask["title"].as_str().unwrap_or_default().to_owned(), ids.collect())
    });
    Seen { ask, ..read_lines(shown) }
}

/// Reads the output as a person does.
fn read_lines(shown: &str) -> Seen {
    let mut seen = Seen::default();
    // Only continued lines of Adjutant itself are indented, never the answer.
    let shown = shown.replace("\n  ", " ");
    let mut lines = shown.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(rest) = line.strip_prefix("… still ") {
            seen.silences.push(rest.to_owned());
        } else if let Some(why) = line.strip_prefix("✗ ").filter(|why| !why.starts_with("write_file")) {
            seen.failures.push(why.to_owned());
        } else if line.starts_with("Done · ") || line.starts_with("Failed: ") {
            seen.ends += 1;
        } else if line == "[the answer broke off; again:]" {
            // The new attempt prints the differing word again, so the part of it that was read is dropped.
            let again: String = lines.peek().map(|next| super::words_of(next)).unwrap_or_default();
            let read = super::words_of(&seen.text);
            let rest = super::words_of(super::rows::ANSWER);
            let point = rest.len().saturating_sub(again.len());
            assert!(rest.ends_with(&again) && read.starts_with(&rest[..point]), "{shown}");
            seen.text = rest[..point].to_owned();
        } else if !line.starts_with(['•', '…', '!', '✗']) && !line.contains("`adjutant run ") {
            seen.text.push_str(&format!("{line}\n"));
        }
    }
    seen
}
