//! Scripts as files: which turn is played, and the messages for invalid scripts.

use std::sync::{Arc, Mutex};

use adjutant_core::machine::retry::MAX_ATTEMPTS;
use adjutant_core::prompt::Usage;

use super::*;
use crate::Models;
use crate::tests::{LIMITS, provider, request};
use adjutant_core::config::Wire;

fn assistant() -> ModelMessage {
    ModelMessage::Assistant { reply: Arc::default() }
}

fn user(text: &str) -> ModelMessage {
    ModelMessage::user(text)
}

fn output(text: &str) -> ModelMessage {
    ModelMessage::Tool { call_id: "c".into(), output: text.into() }
}

struct Played {
    result: Result<Reply, CallFailure>,
    deltas: Vec<Delta>,
}

impl Played {
    fn text(&self) -> &str {
        &self.result.as_ref().expect("the turn succeeds").text
    }
}

/// Writes `script` to a file and plays it after `messages`.
async fn play_attempt(script: &str, messages: &[ModelMessage], attempt: u32) -> Played {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.toml");
    std::fs::write(&path, script).unwrap();
    play_path(path.to_str().unwrap(), &Models::new(), messages, attempt).await
}

async fn play_path(path: &str, models: &Models, messages: &[ModelMessage], attempt: u32) -> Played {
    let provider = Provider { wire: Wire::Scripted, script: Some(path.to_owned()), ..provider("") };
    let mut request = request("hello");
    request.messages.extend_from_slice(messages);
    let deltas = Mutex::new(Vec::new());
    let result =
        models.call(&provider, &LIMITS, &request, attempt, |delta| deltas.lock().unwrap().push(delta)).await;
    Played { result, deltas: deltas.into_inner().unwrap() }
}

async fn played(script: &str, messages: &[ModelMessage]) -> Played {
    play_attempt(script, messages, 1).await
}

const TWO_TURNS: &str = r#"
    name = "two turns"
    [[turn]]
    text = "Let me look."
    reasoning = "I should  look."
    usage = { input = 10, output = 2, cache_read = 4 }
    [[turn.call]]
    tool = "read_file"
    arguments = { path = "src/lib.rs", limit = 5, nested = { list = [1, 2.5, true], day = 2026-01-02 } }
    [[turn.call]]
    tool = "list_files"
    arguments_raw = "{not json"
    [[turn]]
    text = "It says: {{last_output}}"
"#;

#[tokio::test]
async fn s20_a_turn_is_played_in_full() {
    let played = played(TWO_TURNS, &[]).await;
    let reply = played.result.as_ref().unwrap();
    assert_eq!((reply.text.as_str(), reply.stop), ("Let me look.", StopCause::ToolCalls));
    assert_eq!(
        reply.usage,
        Some(Usage { input_tokens: 10, output_tokens: 2, cache_read_tokens: 4, cache_write_tokens: 0 })
    );
    let calls = reply
        .calls
        .iter()
        .map(|call| format!("{} {} {}", call.id, call.name, call.arguments))
        .collect::<Vec<_>>();
    assert_eq!(
        calls,
        [
            r#"call_0_0 read_file {"limit":5,"nested":{"day":"2026-01-02","list":[1,2.5,true]},"path":"src/lib.rs"}"#,
            "call_0_1 list_files {not json",
        ]
    );
    let reasoning = ["I ", "should  ", "look."].map(|word| Delta::Reasoning(word.to_owned()));
    let text = ["Let ", "me ", "look."].map(|word| Delta::Text(word.to_owned()));
    let begun = ["read_file", "list_files"].map(|name| Delta::ToolCall { name: name.to_owned() });
    assert_eq!(played.deltas, [&reasoning[..], &text, &begun].concat());
}

#[tokio::test]
async fn s20_the_conversation_alone_says_which_turn_comes() {
    let messages = [assistant(), output("line one\nline two"), output("second\nx")];
    assert_eq!(played(TWO_TURNS, &messages).await.text(), "It says: second");
    assert_eq!(played(TWO_TURNS, &[assistant(), user("again")]).await.text(), "It says: ");
    let long = "é".repeat(1000);
    assert_eq!(
        played(TWO_TURNS, &[assistant(), output(&long)]).await.text().chars().count(),
        9 + MAX_OUTPUT_CHARS
    );
}

#[tokio::test]
async fn s20_an_exhausted_script_ends_the_run() {
    for messages in [vec![assistant(), assistant()], vec![assistant(); 9]] {
        let played = played(TWO_TURNS, &messages).await;
        let reply = played.result.unwrap();
        assert_eq!((reply.text.as_str(), reply.stop, reply.calls.len()), (EXHAUSTED, StopCause::EndTurn, 0));
    }
    assert_eq!(played("", &[]).await.text(), EXHAUSTED);
}

#[tokio::test]
async fn s20_a_turn_is_repeated_while_its_output_says_so() {
    let script = r#"
        [[turn]]
        text = "first"
        repeat_on = ["interrupted", "try again"]
        [[turn]]
        text = "second"
    "#;
    let interrupted = [assistant(), output("fine"), output("was interrupted by a restart")];
    let after = |more: &[ModelMessage]| [&interrupted[..], more].concat();
    assert_eq!(played(script, &interrupted).await.text(), "first");
    assert_eq!(played(script, &after(&[assistant(), output("please try again")])).await.text(), "first");
    assert_eq!(played(script, &after(&[assistant(), output("done")])).await.text(), "second");
    // Texts of the user and outputs of other turns repeat nothing.
    assert_eq!(played(script, &[assistant(), user("interrupted")]).await.text(), "second");
    assert_eq!(played(script, &[assistant(), assistant(), output("interrupted")]).await.text(), EXHAUSTED);
}

#[tokio::test]
async fn s80_an_attempt_fails_as_written_and_the_next_does_not() {
    let script = r#"
        [[turn]]
        text = "one two three four"
        [[turn.fail]]
        attempt = 1
        class = "rate_limited"
        after_words = 3
        retry_after_ms = 40
        [[turn.fail]]
        attempt = 2
        class = "auth"
        message = "no such key"
        after_words = 99
    "#;
    let first = play_attempt(script, &[], 1).await;
    let failed = first.result.unwrap_err();
    assert_eq!((failed.class, failed.retry_after_ms), (FailureClass::RateLimited, Some(40)));
    assert_eq!(first.deltas.len(), 3);
    let second = play_attempt(script, &[], 2).await;
    let failed = second.result.unwrap_err();
    assert_eq!((failed.class, failed.message.as_str()), (FailureClass::Auth, "no such key"));
    assert_eq!(second.deltas.len(), 4, "a turn shorter than `after_words` fails at its end");
    assert_eq!(play_attempt(script, &[], 3).await.text(), "one two three four");
    let always = "[[turn]]\n[[turn.fail]]\nclass = \"overloaded\"";
    for attempt in 1..=MAX_ATTEMPTS {
        assert_eq!(
            play_attempt(always, &[], attempt).await.result.unwrap_err().class,
            FailureClass::Overloaded
        );
    }
}

#[tokio::test(flavor = "current_thread")]
async fn s82_words_come_at_their_pace() {
    let script = "pace_ms = 20\n[[turn]]\ntext = \"a b c\"\n[[turn]]\ntext = \"a b c\"\npace_ms = 0";
    let begun = std::time::Instant::now();
    assert_eq!(played(script, &[]).await.text(), "a b c");
    assert!(begun.elapsed() >= Duration::from_millis(60));
    assert_eq!(played(script, &[assistant()]).await.text(), "a b c");
}

#[tokio::test]
async fn s82_a_slow_script_meets_the_total_limit_and_can_be_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("slow.toml");
    std::fs::write(&path, "pace_ms = 3600000\n[[turn]]\ntext = \"a b\"").unwrap();
    let path = path.to_str().unwrap();
    let limits = ModelLimits { total_ms: 20, ..LIMITS };
    let failed = call(path, &limits, &request("x"), 1, |_| {}).await.unwrap_err();
    assert_eq!(failed.class, FailureClass::Total);
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let request = request("x");
    tokio::select! {
        _ = call(path, &LIMITS, &request, 1, move |delta| drop(sender.send(delta))) => panic!("the second word is an hour away"),
        word = receiver.recv() => assert_eq!(word, Some(Delta::Text("a ".to_owned()))),
    }
    assert_eq!(receiver.recv().await, None, "nothing is left that could still speak");
}

/// Checks that the error has the path of the script, then `expected`.
async fn check_bad(script: &str, expected: &str) {
    let failed = played(script, &[]).await.result.unwrap_err();
    assert_eq!(failed.class, FailureClass::InvalidRequest);
    assert!(failed.message.starts_with("script \""), "{}", failed.message);
    assert!(failed.message.contains(&format!("script.toml\", {expected}")), "{}", failed.message);
}

#[tokio::test]
async fn s83_a_bad_script_is_named_by_file_line_and_key() {
    check_bad("name = \"x\"\n[[turn]]\ntxt = \"a\"", "line 3: unknown field `txt`").await;
    check_bad("[[turn]]\ntext = 7", "line 2: invalid type: integer `7`, expected a string").await;
    check_bad("[[turn]]\ntext = \"a", "line 2: ").await;
    check_bad("[[turn]]\ntext = \"a\"\n\n[[turn]]\nreasoning = \"only\"", "line 4: a turn needs `text`")
        .await;
    check_bad("[[turn]]\n[[turn.call]]\narguments = {}", "line 2: missing field `tool`").await;
    check_bad(
        "[[turn]]\n[[turn.call]]\ntool = \"a\"\n[[turn.call]]\ntool = \"b\"\narguments = {}\narguments_raw = \"\"",
        "line 4: a call has `arguments` or `arguments_raw`, not both",
    )
    .await;
    check_bad("[[turn]]\ntext = \"a\"\n[[turn.fail]]\nclass = \"tired\"", "line 4: unknown variant `tired`")
        .await;
    check_bad("[[turn]]\ntext = \"a\"\nrepeat_on = [\"\"]", "line 1: an empty text in `repeat_on`").await;
    check_bad("[[turn]]\ntext = \"a\"\nwhen = \"\"", "line 1: an empty text in `when`").await;
}

#[tokio::test]
async fn s83_a_missing_script_is_named() {
    let failed = play_path("/nowhere/script.toml", &Models::new(), &[], 1).await.result.unwrap_err();
    assert_eq!(failed.class, FailureClass::InvalidRequest);
    assert_eq!(failed.message, "the script \"/nowhere/script.toml\" does not exist");
}

#[tokio::test]
async fn n25_turns_for_other_first_prompts_are_left_out() {
    let script = r#"
        [[turn]]
        when = "other"
        text = "For another task."
        [[turn]]
        when = "hello"
        text = "For this one."
        [[turn]]
        text = "For every task."
    "#;
    assert_eq!(played(script, &[]).await.text(), "For this one.");
    // Only the first prompt chooses.
    assert_eq!(played(script, &[assistant(), user("other")]).await.text(), "For every task.");
    assert_eq!(played(script, &[assistant(), assistant()]).await.text(), EXHAUSTED);
}

#[tokio::test]
async fn s83_a_script_that_is_no_file_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let failed = play_path(pipe.to_str().unwrap(), &Models::new(), &[], 1).await.result.unwrap_err();
    assert_eq!(failed.message, format!("the script {pipe:?} is no regular file"));
}

/// Returns the examples of the document. Each is a complete script.
fn documented() -> Vec<&'static str> {
    let document = include_str!("../../../../docs/scripted-model.md");
    let blocks = document.split("```toml\n").skip(1).filter_map(|block| block.split("```").next());
    blocks.filter(|block| block.contains("[[turn]]")).collect()
}

#[test]
fn s20_every_example_of_the_document_is_a_script() {
    let examples = documented();
    assert!(examples.len() >= 3);
    for example in examples {
        let script = Script::parse("docs", example).unwrap();
        assert!(!script.turns.is_empty());
    }
}

proptest::proptest! {
    #[test]
    fn s82_words_joined_are_the_text(text in "[ a-zé\\n\\t]{0,60}") {
        proptest::prop_assert_eq!(words(&text).collect::<String>(), text);
    }
}
