//! What every client sees of a run: progress, and a transcript that grows.
//!
//! Checks received messages, and never a clock alone.

use std::time::{Duration, Instant};

use adjutant_protocol::session::ReplayFrom;
use adjutant_protocol::state::Outcome;
use adjutant_testkit::command::Line;
use adjutant_testkit::editor::{Capabilities, Options, Tokens};
use adjutant_testkit::model::Reply;
use adjutant_testkit::process::{wait_for_text, wait_until};
use serde_json::{Value, json};

use crate::plain::Plain;

const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");

const FILE: &str = "//- /a.txt\nhello\n";

fn start(plain: &Plain) -> Value {
    plain.command("adjutant.start", json!(["look", "around"])).expect("it is started")
}

fn read(path: &str) -> Reply {
    Reply::call("read_file", json!({ "path": path }))
}

fn kinds(plain: &Plain) -> Vec<String> {
    let text = |value: &Value| value["kind"].as_str().unwrap_or_default().to_owned();
    plain.rig.progress().iter().map(text).collect()
}

#[test]
fn n08_a_run_is_a_progress_with_its_title_its_step_and_its_end() {
    let plain = Plain::new(FILE, [Reply::never()]);
    let started = start(&plain);
    let begin = plain.rig.await_progress("its beginning", |value| value["kind"] == "begin");
    assert_eq!(begin["title"], "Adjutant: look around");
    assert_eq!(begin["cancellable"], true);
    plain.model.wait_for_requests(1);
    plain.rig.await_progress("the step", |value| value["message"] == "waiting for the model");
    plain.rig.cancel_progress();
    assert_eq!(plain.finish(&started).outcome, Outcome::Cancelled);
    plain.rig.await_progress("its end", |value| value["kind"] == "end" && value["message"] == "cancelled");
    assert_eq!(plain.rig.open_progress(), 0);
    plain.rig.end();
}

#[test]
fn d16_progress_is_told_at_most_once_a_second() {
    let turns = (0..25).map(|_| read("a.txt")).chain([Reply::text("Done.")]);
    let plain = Plain::new(FILE, turns);
    let began = Instant::now();
    let started = start(&plain);
    plain.finish(&started);
    let seconds = began.elapsed().as_secs();
    plain.rig.await_progress("its end", |value| value["kind"] == "end");
    let reports = kinds(&plain).iter().filter(|kind| *kind == "report").count() as u64;
    assert!(reports <= seconds + 1, "{reports} reports in {seconds} s");
    plain.rig.end();
}

#[test]
fn d16_the_last_step_is_told_when_its_second_has_come() {
    let plain = Plain::new(FILE, [read("a.txt"), Reply::never()]);
    start(&plain);
    plain.model.wait_for_requests(2);
    // No further event happens, and the pending report still arrives.
    plain.rig.await_progress("a report", |value| {
        value["kind"] == "report" && value["message"] == "waiting for the model"
    });
    plain.rig.cancel_progress();
    plain.rig.await_progress("its end", |value| value["kind"] == "end");
    plain.rig.end();
}

#[test]
fn finding_d4_n08_a_token_is_not_used_before_it_is_created_and_holds_nothing_up() {
    let without_token = |options| Options { tokens: Tokens::NeverAnswered, ..options };
    let plain = Plain::human(FILE, [read("a.txt"), Reply::text("Done.")], Duration::ZERO, without_token);
    let started = start(&plain);
    assert_eq!(plain.finish(&started).outcome, Outcome::Stopped);
    assert!(plain.rig.progress().is_empty(), "no progress is sent for a token that does not exist");
    plain.rig.die();
}

#[test]
fn n08_a_token_that_is_refused_is_not_told_of_any_more() {
    let without_token = |options| Options { tokens: Tokens::Refused, ..options };
    let plain = Plain::human(FILE, [Reply::never()], Duration::ZERO, without_token);
    let started = start(&plain);
    plain.model.wait_for_requests(1);
    wait_until("the token is refused", || plain.rig.seen().contains("no more progress here"));
    // The server reads messages in order: the refusal comes before this request.
    plain
        .rig
        .request(
            "textDocument/codeAction",
            json!({
                "textDocument": { "uri": "untitled:1" },
                "range": crate::plain::at(0, 0),
                "context": { "diagnostics": [] },
            }),
        )
        .expect("it is answered");
    plain.command("adjutant.cancel", json!([])).expect("it is cancelled");
    plain.finish(&started);
    assert!(!kinds(&plain).contains(&"end".to_owned()), "{:?}", kinds(&plain));
    plain.rig.end();
}

#[test]
fn n19_a_client_without_progress_is_told_of_none() {
    let capabilities = Capabilities { progress: false, ..crate::plain::capabilities() };
    let plain = Plain::with(FILE, [Reply::text("Done.")], capabilities);
    let started = start(&plain);
    plain.finish(&started);
    assert!(plain.rig.progress().is_empty());
    plain.rig.end();
}

#[test]
fn n08_a_run_that_is_open_after_a_restart_is_a_progress_again() {
    let plain = Plain::new(FILE, [Reply::text("First."), Reply::never()]);
    let first = start(&plain);
    plain.finish(&first);
    let session = json!({ "sessionId": first["sessionId"], "text": "and now this" });
    plain.command("adjutant.prompt", json!([session])).expect("it is started");
    plain.model.wait_for_requests(2);
    let plain = plain.again();
    let begin = plain.rig.await_progress("its beginning", |value| value["kind"] == "begin");
    assert_eq!(begin["title"], "Adjutant: and now this");
    assert_eq!(begin["message"], "was interrupted: resume it or discard it");
    let popup = plain.rig.await_popup();
    plain.rig.press(&popup, Some("Discard"));
    plain.rig.await_progress("its end", |value| value["kind"] == "end");
    assert_eq!(kinds(&plain), ["begin", "end"], "the ended run has no progress");
    plain.rig.end();
}

#[test]
fn n08_a_replay_shows_nothing_that_is_over() {
    let turns = [crate::stage::edit("a.txt", "hello", "bye"), Reply::text("Done."), Reply::text("Again.")];
    let plain = Plain::new(FILE, turns);
    let first = start(&plain);
    let popup = plain.rig.await_popup();
    plain.rig.press(&popup, Some("Yes, once"));
    plain.finish(&first);
    let plain = plain.again();
    let session = first["sessionId"].as_str().unwrap_or_default().into();
    let now = plain.rig.resume(&session, Some(ReplayFrom::Start));
    assert!(
        now.seq > 10 && plain.rig.updates().is_empty(),
        "a plain client gets no update of Adjutant's protocol"
    );
    let run = plain.rig.prompt(&session, "once more").run_id;
    plain.rig.await_run_end(&session, &run);
    // The edit was in a buffer that was never saved.
    let lost = "Adjutant: 1 file changed since the agent read it: a.txt. The agent is told.";
    assert_eq!(plain.rig.await_message(), lost);
    plain.rig.await_progress("its end", |value| value["kind"] == "end");
    let begun: Vec<Value> =
        plain.rig.progress().into_iter().filter(|value| value["kind"] == "begin").collect();
    assert_eq!(begun.len(), 1, "{begun:?}");
    assert_eq!(begun[0]["title"], "Adjutant: once more");
    assert!(plain.rig.popups().is_empty());
    assert_eq!(plain.rig.diagnostics(&plain.workspace.uri("a.txt")), Value::Null);
    plain.rig.end();
}

/// Who watches the transcript reads an answer while it comes.
#[test]
fn s101_the_transcript_has_the_whole_lines_of_a_text_that_streams() {
    let answer = "The first line.\nThe second is being written.";
    let plain = Plain::new(FILE, [Reply::text(answer).hold_behind("second"), Reply::text("Well.")]);
    let started = start(&plain);
    plain.model.wait_for_holding(1);
    plain.command("adjutant.showTranscript", json!([])).expect("it is shown");
    let params = plain.rig.await_shown(1);
    let path = adjutant_testkit::fixture::path_of_uri(params["uri"].as_str().unwrap_or_default());
    let path = path.expect("a file is shown");
    let text = || std::fs::read_to_string(&path).unwrap_or_default();
    wait_for_text("**Model:**\n\n> The first line.\n", text);
    assert!(!text().contains("The second"), "{}", text());
    plain.model.release();
    plain.finish(&started);
    wait_for_text("\n**Done", text);
    let whole = "**Model:**\n\n> The first line.\n> The second is being written.\n\n";
    assert_eq!(text().matches(whole).count(), 1, "{}", text());
    plain.rig.end();
}

/// A plain client draws no answer: one message at the end says how it begins, and which command opens all of it.
#[test]
fn s101_the_end_of_a_task_is_one_message_with_the_beginning_of_the_answer() {
    let answer =
        "\n\n# The greeting\u{1b}[2J is mended\n\nIt greets the world [again](https://example.invalid).";
    let plain = Plain::new(FILE, [Reply::text(answer), Reply::text("Nothing to do."), Reply::never()]);
    let started = start(&plain);
    plain.finish(&started);
    let first = plain.rig.await_answers(1);
    assert_eq!(first, ["Adjutant: done. The answer begins: “The greeting\\u{1b}[2J is mended”"]);
    let again = |text: &str| json!({ "sessionId": started["sessionId"], "text": text });
    let second = plain.command("adjutant.prompt", json!([again("go on")])).expect("it is started");
    plain.finish(&second);
    assert_eq!(plain.rig.await_answers(2)[1], "Adjutant: done. The answer begins: “Nothing to do.”");
    let third = plain.command("adjutant.prompt", json!([again("and on")])).expect("it is started");
    plain.model.wait_for_requests(3);
    plain.command("adjutant.cancel", json!([])).expect("it is cancelled");
    assert_eq!(plain.finish(&third).outcome, Outcome::Cancelled);
    assert_eq!(plain.rig.answers().len(), 2, "who cancels knows it");
    plain.rig.end();
}

#[test]
fn p27_s101_l16_the_transcript_is_shown_on_request_grows_by_whole_blocks_and_is_exported() {
    let open = "Look:\n\n```rust\nfn main() {";
    let plain = Plain::new(FILE, [Reply::text(open), read("a.txt"), Reply::text("All is well.")]);
    let started = start(&plain);
    plain.finish(&started);
    plain.command("adjutant.showTranscript", json!([])).expect("it is shown");
    let params = plain.rig.await_shown(1);
    assert_eq!(params["takeFocus"], true, "the user asked for it");
    let path = adjutant_testkit::fixture::path_of_uri(params["uri"].as_str().unwrap_or_default());
    let path = path.expect("a file is shown");
    let text = || std::fs::read_to_string(&path).unwrap_or_default();
    wait_until("the end of the run, its last block", || text().trim_end().ends_with("**"));
    let first = text();
    assert!(first.contains("> look around\n\n") && first.contains("> fn main() {\n\n"), "{first}");
    let mode = std::fs::metadata(&path).expect("it is there").permissions();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o600);

    let again = json!({ "sessionId": started["sessionId"], "text": "go on" });
    let second = plain.command("adjutant.prompt", json!([again])).expect("it is started");
    plain.finish(&second);
    wait_until("the transcript has the second run", || text().matches("**Done").count() == 2);
    let whole = text();
    assert!(whole.starts_with(&first), "it only grows");
    assert!(whole[first.len()..].contains("- `Read a.txt`"), "{whole}");
    assert!(whole.contains("All is well.\n\n"), "{whole}");
    let id = started["sessionId"].as_str().expect("the session");
    let line = |args: &[&str]| Line::new(BINARY, &plain.workspace, args).run();
    let exported = line(&["sessions", "export", id, "--markdown"]);
    assert_eq!(exported.expect(0).stdout, whole, "P27: the command line prints the same page");
    assert!(line(&["sessions", "export", "nobody", "--markdown"]).expect(2).stderr.contains("nobody"));
    plain.rig.end();
}
