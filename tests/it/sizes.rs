//! Calls with megabytes of arguments: they work from the ask to the written text and are whole after a restart.
//! If they are too large, the error names the limit.
//!
//! Never measures; the bench does.

use std::sync::mpsc::channel;

use adjutant_protocol::ask::{AskKind, AskSubject, AskView, EditedFile};
use adjutant_protocol::methods;
use adjutant_protocol::state::Outcome;
use adjutant_testkit::editor::Answer;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{Dialect, ModelServer, Reply};
use serde_json::{Value, json};

use super::rig::{Rig, refused, tool_outputs};
use super::stage::Stage;

const MIB: usize = 1 << 20;

/// Whether there is time for large texts. Only the bench uses 8 MiB, because it is not a debug build.
fn slow() -> bool {
    std::env::var_os("ADJUTANT_SLOW").is_some()
}

/// Returns the size of the content, in bytes.
fn large() -> usize {
    if slow() { 5 * MIB } else { MIB }
}

/// Returns a text of at least `bytes` bytes, with characters that JSON escapes.
fn text_of(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 100);
    let mut number = 0;
    while text.len() < bytes {
        number += 1;
        text.push_str(&format!("{number}: \"quoted\" \\ and \ttabbed, é and 😀, as code has it\n"));
    }
    text
}

/// Returns the messages of a request in any dialect.
fn messages(body: &Value) -> &[Value] {
    let list = body.get("messages").or_else(|| body.get("input"));
    list.and_then(Value::as_array).expect("a request has messages")
}

#[test]
fn s111_f13_megabytes_of_content_are_written_and_the_history_is_whole_after_a_restart() {
    for wire in Dialect::ALL {
        written_and_kept(wire, &text_of(large()));
    }
}

fn written_and_kept(wire: Dialect, content: &str) {
    let model = ModelServer::start([
        Reply::call("write_file", json!({"path": "large.txt", "content": content})),
        Reply::text("Written."),
    ]);
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.provider(wire, &model.base_url()).roomy();
    let rig = Rig::start(&workspace);
    let (seen, shown) = channel::<AskView>();
    rig.on_ask(move |ask| {
        let _ = seen.send(ask.clone());
        Answer::option("allow")
    });
    let session = rig.new_session();
    let run = rig.prompt(&session, "Write a large file.").run_id;
    assert_eq!(rig.await_run_end(&session, &run).outcome, Outcome::Stopped, "{wire:?}");
    assert!(workspace.read("large.txt") == content, "{wire:?}: the file is what the model wrote");
    let ask = shown.try_recv().expect("an ask");
    let Some(AskSubject::Edit(EditedFile { diff, .. })) = &ask.subject else {
        panic!("{wire:?}: not an edit")
    };
    let inserted = diff.split_inclusive('\n').filter_map(|line| line.strip_prefix('+')).skip(1);
    assert!(inserted.collect::<String>() == content, "{wire:?}: the ask shows what was written");
    rig.end();

    let rig = Rig::start(&workspace);
    rig.resume(&session, None);
    model.push(Reply::text("Still here."));
    let run = rig.prompt(&session, "And now?").run_id;
    assert_eq!(rig.await_run_end(&session, &run).outcome, Outcome::Stopped, "{wire:?}");
    let requests = model.requests();
    assert!(requests[2].size > content.len(), "{wire:?}");
    let history = |at: usize| unmarked(messages(&requests[at].json()));
    let (before, after) = (history(1), history(2));
    assert!(after.len() > before.len() && after.starts_with(&before), "{wire:?}: the history is unchanged");
    rig.end();
}

#[test]
fn f13_a_run_outlives_whatever_its_provider_floods_it_with() {
    let stream = || Reply::status(200).header("content-type", "text/event-stream");
    let floods = [
        ("a line", stream().body("data: \"").endless(b"x"), "longer than 33554432 bytes"),
        ("a head", Reply::text("never").endless_head(b"x-more: and more\r\n"), "more headers than"),
        ("a bomb", stream().header("content-encoding", "gzip").endless(b"\x1f\x8b"), "not asked for"),
        ("an error", Reply::status(400).endless(b"x"), "400"),
        ("a redirect", Reply::status(307).header("location", "/again").endless(b"x"), "not followed"),
    ];
    let stage =
        Stage::configured(Workspace::new("//- /a.txt\nhello\n"), "[retry]\nattempts = 1", |options| options);
    for (what, flood, says) in floods {
        stage.model.push(flood);
        let run = stage.rig.prompt(&stage.session, what).run_id;
        let end = stage.rig.await_run_end(&stage.session, &run);
        assert_eq!(end.outcome, Outcome::Failed, "{what}: {end:?}");
        assert!(end.summary.as_deref().unwrap_or_default().contains(says), "{what}: {end:?}");
        stage.model.push(Reply::text("Here I am."));
        let run = stage.rig.prompt(&stage.session, "Are you there?").run_id;
        assert_eq!(stage.rig.await_run_end(&stage.session, &run).outcome, Outcome::Stopped, "{what}");
    }
    stage.rig.shutdown();
}

/// Returns the messages without their cache marks, which move with each turn.
fn unmarked(messages: &[Value]) -> Vec<Value> {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.remove("cache_control");
                fields.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut messages = messages.to_vec();
    messages.iter_mut().for_each(strip);
    messages
}

#[test]
fn s111_f13_an_open_document_takes_megabytes_and_gives_them_back() {
    let content = text_of(large());
    let stage = Stage::new("//- /a.txt\nhello\n").answering("allow");
    stage.rig.open("a.txt");
    let output = stage.call("write_file", json!({"path": "a.txt", "content": content}));
    assert!(output.starts_with("Edited a.txt: +"), "{output}");
    assert!(stage.rig.text_of("a.txt") == content, "the document is what the model wrote");
    let output = stage.call("write_file", json!({"path": "a.txt", "content": "small again\n"}));
    assert!(output.starts_with("Edited a.txt: +1 -"), "{output}");
    assert_eq!(stage.rig.text_of("a.txt"), "small again\n");
    assert_eq!(
        stage.workspace.read("a.txt"),
        "small again\n",
        "the document had no unsaved text of the user"
    );
    stage.rig.shutdown();
}

#[test]
fn s111_arguments_beyond_the_limit_are_refused_to_the_model_and_the_run_goes_on() {
    let stage = Stage::new("//- /a.txt\nhello\n").answering("allow");
    let output = stage.call("write_file", json!({"path": "b.txt", "content": "words ".repeat(13 * MIB / 6)}));
    assert!(output.contains("may have 12582912"), "{output}");
    assert!(!stage.workspace.exists("b.txt"));
    stage.rig.shutdown();
}

#[test]
fn s111_a_change_that_fits_no_review_is_refused_by_name() {
    let stage = Stage::new("//- /a.txt\nhello\n").answering("allow");
    let output = stage.call("write_file", json!({"path": "b.txt", "content": "\n".repeat(500_001)}));
    assert!(output.contains("has 500001 lines; at most 500000 fit one review, so split it"), "{output}");
    if slow() {
        // Each character has six bytes in a record.
        stage.workspace.write("odd.txt", &"\u{1}".repeat(7 * MIB));
        let output = stage.call("write_file", json!({"path": "odd.txt", "content": "small\n"}));
        assert!(
            output.contains("larger than the 40 MiB that one record of the session may have"),
            "{output}"
        );
        assert_eq!(stage.workspace.read("odd.txt").len(), 7 * MIB);
    }
    stage.rig.shutdown();
}

#[test]
fn an_answer_larger_than_a_prompt_may_be_is_refused_and_the_ask_stays_open() {
    let model = ModelServer::start([
        Reply::call("ask_user", json!({"question": "Which one?", "options": ["red", "green"]})),
        Reply::text("Done."),
    ]);
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.openai(&model.base_url());
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Ask me.").run_id;
    let ask = rig.await_ask_of(AskKind::Followup);
    let large = "blue ".repeat(MIB / 5 + 1);
    let option = ask.options[0].option_id.clone();
    let answers = [
        json!({"askId": ask.ask_id, "answer": large}),
        json!({"askId": ask.ask_id, "optionId": option, "reason": large}),
    ];
    for answer in answers {
        let answered = rig.request(methods::ASK_RESPOND, answer);
        assert!(answered.as_ref().is_err_and(|error| error.message.contains("1048576 bytes")));
        assert_eq!(refused(answered).1, "AnswerInvalid");
    }
    rig.answer_with(&ask.ask_id, Answer::Text("blue".to_owned()));
    rig.await_run_end(&session, &run);
    let outputs = tool_outputs(&model.requests()[1]);
    assert!(outputs[0].ends_with("blue"), "{} bytes", outputs[0].len());
    rig.end();
}
