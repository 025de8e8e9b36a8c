//! The transcript of the README equals the output of the demo, line by line.
//!
//! `UPDATE_DOCS=1` writes it again. Times, token counts and the name of the scratch folder may differ.

use adjutant_testkit::command::Line;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::process::wait_until;
use adjutant_testkit::terminal::Screen;

use crate::stage::without_host;
use crate::tidy::source::{read, root};

const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");
/// Wide enough that no line depends on where the scratch folder is.
const COLUMNS: u16 = 200;
const EARLY: &str = "> y\nthat was typed before the question could be read; please answer again\n";

/// Plays the demo at a terminal, answers yes to every question, and returns the text of the screen.
fn played() -> String {
    let workspace = Workspace::new("");
    let (mut screen, far) = Screen::open(COLUMNS);
    let line = Line::new(BINARY, &workspace, &["demo"]).env("TERM", "xterm-256color");
    let running = line.terminal(&far).start();
    drop(far);
    let over = "\nThe test after (";
    let mut answered = 0;
    loop {
        // One look at the screen for both counts, because it changes meanwhile.
        let prompts = |screen: &Screen| {
            let text = screen.text();
            text.matches("\n> ").count() - asked_for(&text)
        };
        wait_until("a question or the end", || prompts(&screen) > answered || screen.text().contains(over));
        if screen.text().contains(over) {
            break;
        }
        answered = prompts(&screen);
        screen.types(b"y\n");
    }
    running.wait().expect(0);
    let text = screen.text().replace(EARLY, "");
    // The machine that runs the tests may be a container, whose name is in each question about a command.
    let lines: Vec<String> = text.trim().lines().map(without_host).collect();
    format!("{}\n", lines.join("\n"))
}

/// Counts the lines that show the task itself: they look like typed input.
fn asked_for(text: &str) -> usize {
    text.matches("\n> The test of this project").count()
}

/// Replaces the parts that differ between two plays.
fn steady(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let line = match line.split_once("adjutant-demo-") {
            Some((before, after)) => {
                let start = before.rfind(' ').map_or(0, |at| at + 1);
                let rest = after.split_once('/').map_or("", |(_, rest)| rest);
                format!("{}/tmp/adjutant-demo/{rest}", &before[..start])
            }
            None => line.to_owned(),
        };
        let counted = line.contains(" tokens in, ") || line.contains("exit code");
        let digits = |c: char| if counted && c.is_ascii_digit() { '0' } else { c };
        let mut line: String = line.chars().map(digits).collect();
        while line.contains("00") {
            line = line.replace("00", "0");
        }
        line
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn finding_e11_the_transcript_of_the_readme_is_what_the_demo_shows() {
    let (begin, end) = ("```text\nAdjutant demo. ", "```\n");
    let page = read("README.md");
    let at = page.find(begin).expect("the README has the transcript") + "```text\n".len();
    let length = page[at..].find(end).expect("the transcript ends");
    let played = played();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let folder = steady(&played);
        let shown: Vec<&str> = played.lines().collect();
        // The numbers of this play, and a folder name that does not depend on the machine.
        let lines = folder.lines().zip(shown);
        let lines =
            lines.map(|(steady, shown)| if shown.contains("adjutant-demo-") { steady } else { shown });
        let text = lines.collect::<Vec<_>>().join("\n") + "\n";
        let page = format!("{}{text}{}", &page[..at], &page[at + length..]);
        std::fs::write(root().join("README.md"), page).expect("the README is written");
        return;
    }
    assert_eq!(
        steady(&page[at..at + length]),
        steady(&played),
        "the README shows another demo; UPDATE_DOCS=1 writes it again"
    );
}
