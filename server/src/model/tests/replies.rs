//! Calls that succeed, whatever the stream does on the way.

use adjutant_core::prompt::{RequestedCall, StopCause, Usage};
use serde_json::json;

use super::*;

#[tokio::test]
async fn s111_a_text_streams_word_by_word_and_is_whole() {
    let server = ModelServer::start([Answer::text("Hello, wörld of 😀!").usage(12, 4)]);
    let called = call_once(&server).await;
    let usage = Usage { input_tokens: 12, output_tokens: 4, ..Usage::default() };
    let expected =
        Reply { text: "Hello, wörld of 😀!".to_owned(), usage: Some(usage), ..Reply::default() };
    assert_eq!(called.reply(), &expected);
    assert_eq!(called.deltas.len(), 4);
    assert_eq!(called.streamed_text(), expected.text);
}

#[tokio::test]
async fn s111_bytes_split_anywhere_give_the_same_reply() {
    let answer = Answer::text("né 😀")
        .and_reasoning("hm, so")
        .and_call("read_file", json!({"path": "ä.rs"}))
        .and_call("list_files", json!({"path": "."}));
    let server = ModelServer::start([]);
    let models = models();
    let mut replies = Vec::new();
    for size in [1, 2, 3, 5, 7, 64, 100_000] {
        server.push(answer.clone().in_pieces_of(size));
        replies.push(call(&models, &provider(&server.base_url()), &LIMITS).await.result.unwrap());
    }
    assert!(replies.iter().all(|reply| reply == &replies[0]));
    let reply = &replies[0];
    assert_eq!(
        (reply.text.as_str(), reply.reasoning.as_str(), reply.stop),
        ("né 😀", "hm, so", StopCause::ToolCalls)
    );
    let expected = RequestedCall {
        id: "call_read_file_0".to_owned(),
        name: "read_file".to_owned(),
        arguments: r#"{"path":"ä.rs"}"#.to_owned(),
    };
    assert_eq!(reply.calls[0], expected);
    assert_eq!(reply.calls.len(), 2);
}

#[tokio::test]
async fn s20_one_call_is_one_request_and_all_go_over_one_connection() {
    const CALLS: usize = 52;
    let server = ModelServer::answering(|_| Answer::text("ok"));
    let (models, provider) = (models(), provider(&server.base_url()));
    for _ in 0..CALLS {
        assert_eq!(call(&models, &provider, &LIMITS).await.reply().text, "ok");
    }
    assert_eq!(server.requests().len(), CALLS);
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn s83_the_connection_survives_a_refusal() {
    let server = ModelServer::start([Answer::status(429).body("{}"), Answer::text("ok")]);
    let (models, provider) = (models(), provider(&server.base_url()));
    assert_eq!(call(&models, &provider, &LIMITS).await.class(), FailureClass::RateLimited);
    assert_eq!(call(&models, &provider, &LIMITS).await.reply().text, "ok");
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn s1_the_key_and_the_headers_go_to_the_provider() {
    let server = ModelServer::start([Answer::text("ok")]);
    let mut provider = provider(&server.base_url());
    provider.headers.insert("X-Team".to_owned(), "blue".to_owned());
    call(&models(), &provider, &LIMITS).await.result.unwrap();
    let sent = &server.requests()[0];
    assert_eq!((sent.method.as_str(), sent.path.as_str()), ("POST", "/v1/chat/completions"));
    assert_eq!(sent.header("authorization"), Some("Bearer topsecret-key"));
    assert_eq!(sent.header("x-team"), Some("blue"));
    assert_eq!(sent.header("content-type"), Some("application/json"));
    assert_eq!(sent.header("accept-encoding"), None, "nothing is unpacked, so nothing packed is asked for");
}

#[tokio::test]
async fn s20_the_request_says_what_the_conversation_is() {
    let server = ModelServer::start([Answer::text("ok")]);
    call_once(&server).await.result.unwrap();
    let expected = json!({
        "model": "m1",
        "stream": true,
        "stream_options": {"include_usage": true},
        "tools": [{"type": "function", "function":
            {"name": "read_file", "description": "Reads.", "parameters": {"type": "object"}}}],
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hello"}],
    });
    assert_eq!(server.requests()[0].json(), expected);
}

#[tokio::test]
async fn s81_a_server_that_does_not_stream_is_understood() {
    let body = json!({"choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
        "role": "assistant", "content": "So:",
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}],
    }}], "usage": {"prompt_tokens": 3, "completion_tokens": 2}});
    let server = ModelServer::start([Answer::status(200).body(body.to_string())]);
    let called = call_once(&server).await;
    assert_eq!(called.reply().text, "So:");
    assert_eq!(called.reply().calls[0].name, "read_file");
    assert_eq!(called.streamed_text(), "So:");
}

#[tokio::test]
async fn s82_what_follows_the_end_is_ignored() {
    let once = Answer::text("once");
    let twice = at_once(&once).body([once.body_bytes(), once.body_bytes()].concat());
    let server = ModelServer::start([twice]);
    let called = call_once(&server).await;
    assert_eq!(called.reply().text, "once");
    assert_eq!(called.streamed_text(), "once");
}

#[tokio::test]
async fn g3_a_reply_that_is_complete_outlives_what_fails_after_it() {
    let answer = at_once(&Answer::text("all said"));
    let end = answer.body_bytes().len() - "data: [DONE]\n\n".len();
    let server = ModelServer::start([
        answer.clone().cut_after(end),
        Answer::text("all said").without_done(),
        answer.hold_after(end),
    ]);
    let (models, provider) = (models(), provider(&server.base_url()));
    let limits = ModelLimits { idle_ms: 1000, ..LIMITS };
    for _ in 0..3 {
        assert_eq!(call(&models, &provider, &limits).await.reply().text, "all said");
    }
}

#[tokio::test]
async fn s111_eight_mebibytes_of_arguments_arrive_whole() {
    let content = "0123456789abcdef".repeat(8 << 16);
    let server = ModelServer::start([
        Answer::call("write_file", json!({"path": "a", "content": content})).in_pieces_of(60_000)
    ]);
    let called = call_once(&server).await;
    let arguments: serde_json::Value = serde_json::from_str(&called.reply().calls[0].arguments).unwrap();
    assert_eq!(arguments["content"].as_str().map(str::len), Some(8 << 20));
}

#[tokio::test]
async fn s82_a_burst_loses_nothing() {
    const WORDS: usize = 10_000;
    let text = (0..WORDS).map(|number| format!("w{number} ")).collect::<String>();
    let server = ModelServer::start([Answer::text(&text)]);
    let called = call_once(&server).await;
    assert_eq!(called.deltas.len(), WORDS);
    assert_eq!(called.reply().text, text);
}

#[tokio::test]
async fn s82_dropping_the_call_closes_the_connection() {
    let server = ModelServer::start([Answer::text("one two three").hold_after(200)]);
    let (models, provider, request) = (models(), provider(&server.base_url()), request("hello"));
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    {
        let call = models.call(&provider, &LIMITS, &request, 1, move |delta| drop(sender.send(delta)));
        tokio::pin!(call);
        let first = tokio::select! {
            _ = &mut call => panic!("the answer holds"),
            first = tokio::time::timeout(DEADLINE, receiver.recv()) => first.expect("a word comes"),
        };
        assert_eq!(first, Some(Delta::Text("one ".to_owned())));
    }
    wait_for_closed(Arc::new(server)).await;
}

#[tokio::test]
async fn s82_dropping_the_call_before_the_headers_closes_the_connection() {
    let server = Arc::new(ModelServer::start([Answer::never()]));
    let (models, provider, request) = (models(), provider(&server.base_url()), request("hello"));
    let asked = tokio::task::spawn_blocking({
        let server = Arc::clone(&server);
        move || server.wait_for_requests(1)
    });
    tokio::select! {
        _ = models.call(&provider, &LIMITS, &request, 1, |_| {}) => panic!("there is no answer"),
        asked = asked => drop(asked.unwrap()),
    }
    wait_for_closed(server).await;
}
