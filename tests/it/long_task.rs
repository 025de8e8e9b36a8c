//! The story of a long task: hundreds of turns in a window that holds a third of them, with everything that happens to a long
//! task meanwhile.
//!
//! Never looks into the server: it judges by the requests that the model got, each of which must be valid on its wire.

use std::sync::{Arc, Mutex};

use adjutant_protocol::SessionId;
use adjutant_protocol::state::State;
use adjutant_testkit::editor::{Editor, Options};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{Dialect, ModelServer, Reply, Request};
use adjutant_testkit::process::{Server, wait_until};
use serde_json::{Value, json};

use crate::rig::{count, facts_named};

const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");
/// Tokens of the window.
const WINDOW: usize = 128_000;
/// Bytes of a token of English at most, for a bound of a request.
const BYTES_OF_A_TOKEN: usize = 6;
/// Tokens of all that the model says in the task: more than twice what fits.
const SAID: usize = 200_000;
const SENTENCE: &str = "The quick brown fox jumps over the lazy dog again. ";
const SENTENCE_TOKENS: usize = 11;
const TASK: &str = "Read all lines of the book, and say what \u{201c}each\u{201d} is about.";
const STEERING: &str = "Note the dates as well.";
const PLAN: &str = "Read every line";
const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;
const REMINDER: &str = "[now, from Adjutant";
const SUMMARY: &str = "## Goal\nRead the book.\n## Done\nHalf of it.\n## Files\n`book.txt`: lines\n## Decisions\nnone\n\
                       ## Open\nnothing\n## Next\nthe other half";

/// What the model has done so far, and what it does next.
#[derive(Default)]
struct Course {
    turns: usize,
    summaries: usize,
    /// Whether the server dies now, in a summary.
    crashing: bool,
}

fn is_summary(request: &Request) -> bool {
    String::from_utf8_lossy(&request.body).contains("The conversation is about to be shortened.")
}

/// A model that reads a book in `turns` turns. It holds at a quarter of them, and it never ends its second summary.
fn reader(turns: usize, course: Arc<Mutex<Course>>) -> ModelServer {
    let text = SENTENCE.repeat(SAID / turns / SENTENCE_TOKENS);
    ModelServer::answering(move |request| {
        let mut course = course.lock().unwrap();
        if is_summary(request) {
            course.summaries += 1;
            if course.summaries == 2 {
                course.crashing = true;
                return Reply::never();
            }
            return Reply::text(SUMMARY);
        }
        let is_first_model = String::from_utf8_lossy(&request.body).contains(r#""model":"test""#);
        if course.turns >= turns / 2 && is_first_model {
            return Reply::status(503);
        }
        course.turns += 1;
        let turn = course.turns;
        let line = json!({"path": "book.txt", "offset": turn, "limit": 1});
        let reply = Reply::text(&text).and_call("read_file", line).at_once();
        match turn {
            1 => {
                let steps = json!({"plan": [{"step": PLAN, "status": "in_progress"}]});
                Reply::call("update_plan", steps)
            }
            _ if turn == turns / 4 => Reply::text(&text)
                .and_call("read_file", json!({"path": "book.txt", "offset": turn, "limit": 1}))
                .hold_after(200),
            _ if turn >= turns => Reply::text("The book is read."),
            _ => reply,
        }
    })
}

fn served(workspace: &Workspace) -> (Server, Editor) {
    let mut server = Server::spawn(BINARY, workspace, &["lsp"]);
    let editor = server.editor(Options::new(workspace));
    (server, editor)
}

#[test]
fn s66_s71_l08_need_18_a_task_of_four_hundred_turns_ends() {
    told(Dialect::Chat, 400);
}

#[test]
fn s66_s71_l08_need_18_a_long_task_ends_on_the_wire_of_anthropic() {
    told(Dialect::Messages, 80);
}

#[test]
fn s66_s71_l08_need_18_a_long_task_ends_on_the_responses_wire() {
    told(Dialect::Responses, 80);
}

/// Tells the story on one wire.
fn told(wire: Dialect, turns: usize) {
    // A book, a window that holds a third of what will be said about it, and a second model in reserve.
    let lines: String = (1..=turns).map(|line| format!("line {line} of the book\n")).collect();
    let workspace = Workspace::new(&format!("//- /AGENTS.md\nAnswer in Latin.\n//- /book.txt\n{lines}"));
    let course = Arc::new(Mutex::new(Course::default()));
    let model = reader(turns, course.clone());
    workspace
        .provider(wire, &model.base_url())
        .add_config(&format!("context_window = {WINDOW}\n[retry]\nbase_ms = 10\ncap_ms = 20\nattempts = 2"));
    let settings = std::fs::read_to_string(workspace.config_file()).expect("they are written");
    workspace.config(&format!("fallback_models = [\"local/other\"]\n{settings}"));

    // The user gives the task, and says something more while the model answers.
    let (mut server, editor) = served(&workspace);
    let session = editor.new_session();
    editor.prompt(&session, TASK);
    model.wait_for_holding(1);
    editor.prompt_with(&session, STEERING, json!({"delivery": "steer"}));
    model.release();

    // The first summary is written, the first model fails and the other takes over, and the server dies in the second summary.
    while !course.lock().unwrap().crashing {
        goes_on(&course);
    }
    editor.expect_loss();
    server.kill();
    drop(editor);

    // The next server goes on from there, and the task ends.
    let (mut server, editor) = served(&workspace);
    let asks = editor.resume(&session, None).asks;
    let [ask] = &asks[..] else { panic!("{wire:?}: {asks:?}") };
    editor.respond(&ask.ask_id, "resume");
    while course.lock().unwrap().turns < turns {
        goes_on(&course);
    }
    editor.await_state(State::Idle);
    let ended = facts_named(&workspace, &session, "run_ended").pop().expect("it ended");
    assert_eq!(ended["outcome"], "stopped", "{wire:?}: {ended}");
    editor.shutdown();
    server.wait();
    is_sound(wire, &workspace, &session, &model.requests());
}

/// Waits for the next turn or summary, which must come soon.
fn goes_on(course: &Mutex<Course>) {
    let now = || {
        let course = course.lock().unwrap();
        (course.turns, course.summaries)
    };
    let before = now();
    wait_until("the next turn", || now() != before);
}

/// Checks the requests of a whole task.
fn is_sound(wire: Dialect, workspace: &Workspace, session: &SessionId, requests: &[Request]) {
    let compactions = count(workspace, session, "compacted");
    assert!(compactions >= 2, "{wire:?}: {compactions} compactions");
    assert_eq!(count(workspace, session, "summary_failed"), 0, "{wire:?}");
    for request in requests {
        assert!(request.size <= WINDOW * BYTES_OF_A_TOKEN, "{wire:?}: {} bytes", request.size);
        is_valid(wire, &request.json());
    }
    // Each request begins with the one before it, but after a compaction and where the other model took over.
    let bodies: Vec<String> = requests.iter().map(unmarked).collect();
    let is_longer = |pair: &&[String]| !pair[1].starts_with(&pair[0]);
    let breaks = bodies.windows(2).filter(is_longer).count();
    assert!(breaks <= compactions + 1, "{wire:?}: {breaks} breaks for {compactions} compactions");

    // What the user said, the project's words and the plan are still there word for word.
    let last = requests.last().expect("some");
    let all = last.json().to_string();
    let quoted = |text: &str| serde_json::to_string(text).expect("a text").trim_matches('"').to_owned();
    for words in [TASK, STEERING, "Answer in Latin.", "the other half"] {
        assert!(all.contains(&quoted(words)), "{wire:?}: {words:?} is lost");
    }
    assert!(last.reminder().is_some_and(|reminder| reminder.contains(PLAN)), "{wire:?}: the plan is lost");
    assert_eq!(all.matches(&quoted(TASK)).count(), 1, "{wire:?}: the task stands there once");
}

/// Returns the body without cache marks, without the reminder and without the brackets that close the conversation.
fn unmarked(request: &Request) -> String {
    let body = String::from_utf8(request.body.clone()).expect("a request is text").replace(MARK, "");
    let body = body.strip_suffix("]}").expect("the conversation comes last");
    let reminder = request.reminder().and_then(|_| body.rfind(REMINDER));
    let start = reminder.and_then(|at| {
        let begins = [r#",{"role":"user""#, r#",{"type":"message""#];
        begins.iter().filter_map(|begin| body[..at].rfind(begin)).max()
    });
    body[..start.unwrap_or(body.len())].to_owned()
}

/// Checks what a strict provider checks: every call has exactly one output, after it and before the model speaks again.
fn is_valid(wire: Dialect, body: &Value) {
    let list =
        body[if wire == Dialect::Responses { "input" } else { "messages" }].as_array().expect("a list");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut open: Vec<String> = Vec::new();
    for message in list {
        let parts = message["content"].as_array().cloned().unwrap_or_default();
        let of_type =
            |kind: &str| parts.iter().filter(move |part| part["type"] == kind).cloned().collect::<Vec<_>>();
        let (outputs, calls): (Vec<String>, Vec<String>) = match wire {
            Dialect::Chat => {
                let output = (message["role"] == "tool").then(|| text(&message["tool_call_id"]));
                let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
                (output.into_iter().collect(), calls.iter().map(|call| text(&call["id"])).collect())
            }
            Dialect::Messages => (
                of_type("tool_result").iter().map(|part| text(&part["tool_use_id"])).collect(),
                of_type("tool_use").iter().map(|part| text(&part["id"])).collect(),
            ),
            Dialect::Responses => {
                let is = |kind: &str| (message["type"] == kind).then(|| text(&message["call_id"]));
                (is("function_call_output").into_iter().collect(), is("function_call").into_iter().collect())
            }
        };
        for output in outputs {
            let at = open.iter().position(|call| *call == output);
            open.remove(at.unwrap_or_else(|| panic!("{wire:?}: an output of no open call {output:?}")));
        }
        let speaks = message["role"] == "assistant" && wire != Dialect::Responses;
        assert!(!speaks || open.is_empty(), "{wire:?}: {open:?} have no output");
        open.extend(calls);
    }
    assert!(open.is_empty(), "{wire:?}: {open:?} have no output");
}
