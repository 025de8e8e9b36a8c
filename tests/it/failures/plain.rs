//! A failure as an editor without a plugin shows it: progress, one message, and the transcript.
//!
//! Uses only commands, as a user of such an editor does.

use adjutant_testkit::editor::Options;
use adjutant_testkit::fixture::path_of_uri;
use adjutant_testkit::process::wait_until;
use serde_json::json;

use super::rows::Ends;
use super::{Cell, Seen};
use crate::plain::capabilities;
use crate::rig::Rig;

pub fn play(cell: &Cell) -> Seen {
    let options = Options::new(&cell.workspace).capabilities(capabilities());
    let rig = Rig::start_with(&cell.workspace, Options { deadline: super::DEADLINE, ..options });
    let command = |name: &str, words: &[&str]| {
        rig.request("workspace/executeCommand", json!({ "command": name, "arguments": words }))
    };
    command("adjutant.start", &["Speak."]).expect("it is started");
    command("adjutant.showTranscript", &[]).expect("it is shown");
    let shown = rig.await_shown(1)["uri"].as_str().and_then(path_of_uri).expect("a file is shown");
    if cell.is_silent() {
        rig.await_progress("the silence", |value| silence(value).is_some());
        cell.let_the_model_continue();
    }
    let is_over = |value: &serde_json::Value| value["kind"] == "end";
    let asks = |value: &serde_json::Value| value["message"] == "waits for your answer";
    rig.await_progress("the end, or a question", |value| is_over(value) || asks(value));
    // An edit that asks was not refused, which this row permits too.
    if !rig.progress().iter().any(is_over) {
        assert!(matches!(cell.row.ends, Ends::RefusesTheCall), "no other row asks");
        rig.press(&rig.await_popup(), Some("Reject"));
    }
    rig.await_progress("the end", |value| value["kind"] == "end");
    let text = || std::fs::read_to_string(&shown).unwrap_or_default();
    wait_until("the transcript to end", || {
        ["out**", "counted**"].iter().any(|end| text().trim_end().ends_with(end))
    });
    let mut seen = read(&text());
    let progress = rig.progress();
    let ends = progress.iter().filter(|value| value["kind"] == "end").count();
    assert_eq!((ends, rig.open_progress()), (seen.ends, 0), "{progress:?}");
    seen.silences = progress.iter().filter_map(silence).collect();
    if matches!(cell.row.ends, Ends::Asks(..)) {
        seen.failures.push(rig.await_message());
        // A wrong answer is refused with the title of the ask and the valid options.
        let refused = command("adjutant.respond", &["as you like"]).expect_err("that is no valid answer");
        let (title, options) = refused.message.rsplit_once(" is answered by ").expect("it names the options");
        seen.ask = Some((title.to_owned(), options.split(", ").map(str::to_owned).collect()));
        assert!(rig.await_message().contains(&refused.message));
    }
    assert_eq!(rig.messages(), Vec::<String>::new(), "there are no other messages");
    rig.end();
    seen
}

/// Returns the duration of a silence if a progress reports one.
fn silence(value: &serde_json::Value) -> Option<String> {
    let said = value["message"].as_str()?;
    said.strip_prefix("the model sends nothing (")?.strip_suffix(" s)").map(str::to_owned)
}

/// Reads a transcript as a person does: the model's words are quoted under its name, and a diff of an ask is
/// between fences.
fn read(transcript: &str) -> Seen {
    let mut seen = Seen::default();
    let (mut in_diff, mut of_the_model) = (false, false);
    for line in transcript.lines() {
        match line {
            "**Model:**" => of_the_model = true,
            "**You:**" => of_the_model = false,
            _ if of_the_model && line.starts_with('>') => {
                seen.text.push_str(&format!("{}\n", line.trim_start_matches("> ").trim_start_matches('>')));
            }
            "```diff" => in_diff = true,
            "```" => in_diff = false,
            _ if in_diff => {}
            _ if line.starts_with("**Done ") || line.starts_with("**Failed: ") => seen.ends += 1,
            "*The answer broke off here.*" => {}
            _ if line.starts_with(['>', '-', '*']) => {}
            _ => seen.text.push_str(&format!("{line}\n")),
        }
    }
    seen
}
