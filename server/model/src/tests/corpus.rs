//! Bad answers of providers as data: each line of `tests/corpus/llm_stream.jsonl`, on every wire it fits.
//!
//! This file gives the lines their meaning. A line without a meaning fails. A line that needs a whole run names
//! the test that plays it.

use std::collections::BTreeMap;

use adjutant_core::machine::retry::{RetryPolicy, Tries, next_attempt};
use adjutant_core::prompt::StopCause;
use adjutant_testkit::corpus::{self, Line};
use serde_json::{Value, json};

use super::*;

const LINES: &str = include_str!("../../../../tests/corpus/llm_stream.jsonl");

/// Lines that need a run or time, and the tests that play them.
const ELSEWHERE: [(&str, &str); 7] = [
    ("llm-041", "s82_no_headers_within_the_first_byte_limit"),
    ("llm-043", "s82_a_call_that_never_ends_meets_the_total_limit"),
    ("llm-047", "f13_s82_a_text_without_end_is_cut_at_its_limit"),
    ("llm-049", "f13_a_flood_of_small_events_is_one_text"),
    ("llm-051", "f13_an_encoding_nobody_asked_for_is_refused_over_http2_too"),
    ("llm-053", "s80_an_outage_of_20_s_is_outlived"),
    ("llm-072", "s26_three_failures_in_a_row_end_the_run_and_continue_takes_it_up_again"),
];

fn lines() -> Vec<Line> {
    corpus::read("llm_stream.jsonl", LINES)
}

fn of_class(class: &str) -> Vec<Line> {
    let lines: Vec<Line> = lines().into_iter().filter(|line| line.class == class).collect();
    assert!(lines.len() >= 7, "{class} has {} lines", lines.len());
    lines
}

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// Whether the call is retried without the user.
fn is_retried(failed: &CallFailure) -> bool {
    failed.class != FailureClass::History
        && next_attempt(failed, &Tries::default(), 0.0, &RetryPolicy::default()).is_some()
}

/// Checks a failed call against `expect`.
fn check_failed(called: &Called, expect: &str, what: &str) {
    let failed = called.failure();
    match expect {
        "retry" => assert!(is_retried(failed), "{what}: {failed:?}"),
        "fail_visible" => assert!(!is_retried(failed), "{what}: {failed:?}"),
        "repair_once" => assert_eq!(failed.class, FailureClass::History, "{what}: {failed:?}"),
        other => panic!("{what}: nobody says what {other:?} means"),
    }
    assert!(failed.message.contains("acme"), "{what} names the provider: {}", failed.message);
    assert!(!failed.message.contains("SECRET"), "{what}: {}", failed.message);
}

#[tokio::test]
async fn f12_corpus_http() {
    for line in of_class("http") {
        for wire in Dialect::ALL {
            let what = format!("{} on {wire:?}", line.id.as_str());
            let status = line.input["status"].as_u64().expect("a status") as u16;
            let mut answer = Answer::status(status).body(text(&line.input, "/body"));
            for (name, value) in line.input["headers"].as_object().into_iter().flatten() {
                answer = answer.header(name, value.as_str().expect("a header is text"));
            }
            let server = ModelServer::start([answer]);
            check_failed(&call_once(wire, &server).await, line.expect.as_str(), &what);
        }
    }
}

/// Applies a line about framing to the bytes of a valid reply. `None` if the line is played unchanged.
fn reframed(id: &str, bytes: &str) -> Option<Vec<u8>> {
    let bytes = match id {
        // A character split over packets: the caller cuts after each byte.
        "llm-024" => bytes.to_owned(),
        "llm-026" => bytes.replace('\n', "\r"),
        "llm-028" => format!("\u{feff}{bytes}"),
        "llm-030" => bytes.replace("data: {", "data: {\ndata: "),
        "llm-032" => bytes.replace("data: ", "data:"),
        _ => return None,
    };
    Some(bytes.into_bytes())
}

fn chunk(chunk: &Value) -> Vec<u8> {
    match (chunk.as_str(), text(chunk, "/b64")) {
        (Some(text), _) => text.as_bytes().to_vec(),
        // The corpus has only these.
        (None, "ZGF0YTogeyJ0ZXh0Ijoiww==") => b"data: {\"text\":\"\xc3".to_vec(),
        (None, "qSJ9Cgo=") => b"\xa9\"}\n\n".to_vec(),
        (None, "ZGF0YTog//76Cgo=") => b"data: \xff\xfe\xfa\n\n".to_vec(),
        (None, other) => panic!("write here what {other:?} is"),
    }
}

#[tokio::test]
async fn f12_corpus_framing() {
    for line in of_class("sse-framing") {
        let (id, expect) = (line.id.as_str(), line.expect.as_str());
        for wire in Dialect::ALL {
            let what = format!("{id} on {wire:?}");
            let stream = |bytes: Vec<u8>| {
                Answer::status(200).header("content-type", "text/event-stream").body(bytes).in_pieces_of(1)
            };
            // The line unchanged is no reply of any wire, so the call fails and is retried.
            let chunks = line.input["chunks"].as_array().expect("a line has chunks");
            let server = ModelServer::start([stream(chunks.iter().flat_map(chunk).collect())]);
            check_failed(&call_once(wire, &server).await, "retry", &what);
            let sound = Answer::text("né 😀").bytes_in(wire);
            let sound = String::from_utf8(sound).expect("replies are UTF-8");
            match (expect, reframed(id, &sound)) {
                ("ok", Some(bytes)) => {
                    let server = ModelServer::start([stream(bytes)]);
                    assert_eq!(call_once(wire, &server).await.reply().text, "né 😀", "{what}");
                }
                ("retry", None) => {}
                other => panic!("{what}: {other:?} is not played"),
            }
        }
    }
}

/// Returns the answer that a line about meaning describes. `None` if the wire cannot express it.
fn meant(id: &str, wire: Dialect) -> Option<Answer> {
    let half = || Answer::text("So.").and_raw_call("read_file", "{\"path\":\"a\"}");
    let twice = |event: Value| Answer::events([event.to_string()]);
    match (id, wire) {
        // In Chat Completions only the reply has an end, not the call.
        ("llm-058", _) => Some(half().unfinished()),
        ("llm-060", Dialect::Messages) => {
            let block = json!({"type": "content_block_start", "index": 0,
                "content_block": {"type": "tool_use", "id": "c1", "name": "x", "input": {}}});
            Some(Answer::events([block.to_string(), block.to_string()]))
        }
        ("llm-060", Dialect::Chat) => Some(twice(json!({"choices": [{"delta": {"tool_calls": [
            {"index": 0, "id": "c1", "function": {"name": "x", "arguments": "{}"}},
            {"index": 1, "id": "c1", "function": {"name": "x", "arguments": "{}"}}]}, "finish_reason": "tool_calls"}]}))),
        ("llm-060", Dialect::Responses) => {
            let call = json!({"type": "function_call", "call_id": "c1", "name": "x", "arguments": "{}"});
            let output = json!({"status": "completed", "output": [call, call]});
            Some(twice(json!({"type": "response.completed", "response": output})))
        }
        ("llm-062", Dialect::Chat) => Some(Answer::events([
            json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "shell", "arguments": ""}}]}}]}).to_string(),
            json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"name": "read_file", "arguments": "{}"}}]}, "finish_reason": "tool_calls"}]}).to_string(),
        ])),
        ("llm-062", Dialect::Responses) => {
            let call = |name: &str| json!({"type": "function_call", "id": "i", "call_id": "c1", "name": name, "arguments": "{}"});
            Some(Answer::events([
                json!({"type": "response.output_item.added", "output_index": 0, "item": call("shell")}).to_string(),
                json!({"type": "response.output_item.done", "output_index": 0, "item": call("read_file")}).to_string(),
            ]))
        }
        // In Messages only the start event has the name of a block.
        ("llm-062", Dialect::Messages) => None,
        ("llm-064", _) => Some(half().finish("length")),
        ("llm-066", _) => Some(Answer::text("")),
        ("llm-068", Dialect::Chat) => Some(
            Answer::text("ok").insert_event(0, &json!({"choices": [], "usage": {"prompt_tokens": -5}}).to_string()),
        ),
        ("llm-068", Dialect::Messages) => Some(Answer::text("ok").insert_event(
            0,
            &json!({"type": "message_delta", "delta": {}, "usage": {"output_tokens": -5}}).to_string(),
        )),
        ("llm-068", Dialect::Responses) => Some(twice(json!({"type": "response.completed", "response": {
            "status": "completed", "usage": {"input_tokens": -5, "output_tokens": -5},
            "output": [{"type": "message", "content": [{"type": "output_text", "text": "ok"}]}]}}))),
        ("llm-070", Dialect::Chat) => Some(Answer::text("ok").insert_event(
            0,
            &json!({"choices": [{"delta": {"role": "system", "content": ""}}]}).to_string(),
        )),
        ("llm-070", Dialect::Messages) => Some(Answer::status(200).body(
            json!({"type": "message", "role": "system", "content": [{"type": "text", "text": "ok"}],
                "stop_reason": "end_turn"})
            .to_string(),
        )),
        ("llm-070", Dialect::Responses) => Some(twice(json!({"type": "response.completed", "response": {
            "status": "completed", "output": [{"type": "message", "role": "system",
                "content": [{"type": "output_text", "text": "ok"}]}]}}))),
        _ => panic!("{id} has no meaning on {wire:?} yet"),
    }
}

#[tokio::test]
async fn f12_corpus_meaning() {
    let elsewhere = BTreeMap::from(ELSEWHERE);
    for line in of_class("semantic-stream") {
        let (id, expect) = (line.id.as_str(), line.expect.as_str());
        if elsewhere.contains_key(id) {
            continue;
        }
        for wire in Dialect::ALL {
            let what = format!("{id} on {wire:?}");
            let Some(answer) = meant(id, wire) else { continue };
            let server = ModelServer::start([answer]);
            let called = call_once(wire, &server).await;
            match expect {
                "fail_turn" => check_failed(&called, "retry", &what),
                "reject_call" => assert_eq!(called.reply().stop, StopCause::MaxTokens, "{what}"),
                "ok" => {
                    assert_eq!(called.reply().text, "ok", "{what}");
                    let usage = called.reply().usage.unwrap_or_default();
                    assert!(usage.input_tokens < 100 && usage.output_tokens < 100, "{what}: {usage:?}");
                }
                other => panic!("{what}: nobody says what {other:?} means"),
            }
        }
    }
}

#[tokio::test]
async fn f12_corpus_timing() {
    let elsewhere = BTreeMap::from(ELSEWHERE);
    for line in of_class("timing-chaos") {
        let id = line.id.as_str();
        if elsewhere.contains_key(id) {
            continue;
        }
        for wire in Dialect::ALL {
            let what = format!("{id} on {wire:?}");
            match id {
                "llm-045" => {
                    let call = Answer::call("run_command", json!({"command": "rm -rf everything"}));
                    let server = ModelServer::start([call.cut_behind("command")]);
                    check_failed(&call_once(wire, &server).await, "retry", &what);
                }
                "llm-055" => {
                    let once = Answer::text("once").bytes_in(wire);
                    let twice = at_once(wire, &Answer::text("once")).body([once.clone(), once].concat());
                    let server = ModelServer::start([twice]);
                    let called = call_once(wire, &server).await;
                    assert_eq!(
                        (called.reply().text.as_str(), called.streamed_text().as_str()),
                        ("once", "once")
                    );
                }
                _ => panic!("{id} is played nowhere"),
            }
        }
    }
}

#[tokio::test]
async fn f13_a_flood_of_small_events_is_one_text() {
    const WORDS: usize = 100_000;
    let text = "w ".repeat(WORDS);
    for wire in Dialect::ALL {
        let server = ModelServer::start([at_once(wire, &Answer::text(&text))]);
        assert_eq!(call_once(wire, &server).await.reply().text.len(), text.len(), "{wire:?}");
    }
}

#[test]
fn f12_every_line_of_the_corpus_is_played_somewhere() {
    let here = lines().into_iter().map(|line| line.class);
    let known = ["http", "sse-framing", "timing-chaos", "semantic-stream"];
    assert!(here.into_iter().all(|class| known.contains(&class.as_str())));
    assert_eq!(lines().len(), 36);
    let ids: Vec<String> = lines().iter().map(|line| line.id.clone()).collect();
    assert!(ELSEWHERE.iter().all(|(id, _)| ids.iter().any(|known| known == id)));
}
