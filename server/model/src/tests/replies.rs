//! Calls that succeed, on every wire, no matter how the stream is cut.

use adjutant_core::prompt::{RequestedCall, StopCause, Usage};
use serde_json::json;

use super::*;

#[tokio::test]
async fn s111_a_text_streams_word_by_word_and_is_whole() {
    for wire in Dialect::ALL {
        let server = ModelServer::start([Answer::text("Hello, wörld of 😀!").usage(12, 4)]);
        let called = call_once(wire, &server).await;
        let usage = Usage { input_tokens: 12, output_tokens: 4, ..Usage::default() };
        let expected =
            Reply { text: "Hello, wörld of 😀!".to_owned(), usage: Some(usage), ..Reply::default() };
        assert_eq!(called.reply(), &expected, "{wire:?}");
        assert_eq!(called.deltas.len(), 4, "{wire:?}");
        assert_eq!(called.streamed_text(), expected.text, "{wire:?}");
    }
}

#[tokio::test]
async fn s111_bytes_split_anywhere_give_the_same_reply() {
    let answer = Answer::text("né 😀")
        .and_reasoning("hm, so")
        .and_call("read_file", json!({"path": "ä.rs"}))
        .and_call("list_files", json!({"path": "."}));
    for wire in Dialect::ALL {
        let server = ModelServer::start([]);
        let (models, provider) = (models(), provider_on(wire, &server.base_url()));
        let mut replies = Vec::new();
        for size in [1, 2, 3, 5, 7, 64, 100_000] {
            server.push(answer.clone().in_pieces_of(size));
            replies.push(call(&models, &provider, &LIMITS).await.result.unwrap());
        }
        assert!(replies.iter().all(|reply| reply == &replies[0]), "{wire:?}");
        let reply = &replies[0];
        assert_eq!(
            (reply.text.as_str(), reply.reasoning.as_str(), reply.stop),
            ("né 😀", "hm, so", StopCause::ToolCalls),
            "{wire:?}"
        );
        let expected = RequestedCall {
            id: "call_read_file_0".to_owned(),
            name: "read_file".to_owned(),
            arguments: r#"{"path":"ä.rs"}"#.to_owned(),
            free_form: false,
        };
        assert_eq!(reply.calls[0], expected, "{wire:?}");
        assert_eq!(reply.calls.len(), 2, "{wire:?}");
    }
}

#[tokio::test]
async fn s20_one_call_is_one_request_and_all_go_over_one_connection() {
    const CALLS: usize = 52;
    for wire in Dialect::ALL {
        let server = ModelServer::answering(|_| Answer::text("ok"));
        let (models, provider) = (models(), provider_on(wire, &server.base_url()));
        for _ in 0..CALLS {
            assert_eq!(call(&models, &provider, &LIMITS).await.reply().text, "ok");
        }
        assert_eq!(server.requests().len(), CALLS, "{wire:?}");
        assert_eq!(server.connections(), 1, "{wire:?}");
    }
}

#[tokio::test]
async fn s83_the_connection_survives_a_refusal() {
    for wire in Dialect::ALL {
        let server = ModelServer::start([Answer::status(429).body("{}"), Answer::text("ok")]);
        let (models, provider) = (models(), provider_on(wire, &server.base_url()));
        assert_eq!(call(&models, &provider, &LIMITS).await.class(), FailureClass::RateLimited);
        assert_eq!(call(&models, &provider, &LIMITS).await.reply().text, "ok");
        assert_eq!(server.connections(), 1, "{wire:?}");
    }
}

#[tokio::test]
async fn s1_the_key_and_the_headers_go_to_the_provider() {
    for wire in Dialect::ALL {
        let server = ModelServer::start([Answer::text("ok")]);
        let mut provider = provider_on(wire, &server.base_url());
        provider.headers.insert("X-Team".to_owned(), "blue".to_owned());
        call(&models(), &provider, &LIMITS).await.result.unwrap();
        let sent = &server.requests()[0];
        assert_eq!((sent.method.as_str(), sent.path.as_str()), ("POST", &*format!("/v1/{}", wire.path())));
        let (header, before) = wire.key_header();
        assert_eq!(sent.header(header), Some(&*format!("{before}topsecret-key")), "{wire:?}");
        assert_eq!(sent.header("x-team"), Some("blue"));
        assert_eq!(sent.header("content-type"), Some("application/json"));
        assert_eq!(
            sent.header("accept-encoding"),
            None,
            "nothing is unpacked, so nothing packed is asked for"
        );
    }
}

#[tokio::test]
async fn s81_a_server_that_does_not_stream_is_understood() {
    for wire in Dialect::ALL {
        let answer = Answer::text("So: ok").and_call("read_file", json!({"path": "a"})).usage(3, 2);
        let server = ModelServer::start([answer.clone(), answer.whole()]);
        let (models, provider) = (models(), provider_on(wire, &server.base_url()));
        let streamed = call(&models, &provider, &LIMITS).await;
        let whole = call(&models, &provider, &LIMITS).await;
        assert_eq!(whole.reply(), streamed.reply(), "{wire:?}");
        assert_eq!(whole.streamed_text(), "So: ok", "{wire:?}");
        assert_eq!(whole.reply().calls[0].arguments, r#"{"path":"a"}"#, "{wire:?}");
    }
}

#[tokio::test]
async fn s81_a_request_for_the_whole_answer_asks_for_no_stream() {
    for wire in Dialect::ALL {
        let server = ModelServer::start([Answer::text("all at once").whole()]);
        let mut request = request("hello");
        request.whole = true;
        let provider = provider_on(wire, &server.base_url());
        let reply = models().call(&provider, &LIMITS, &request, 1, |_| {}).await.unwrap();
        assert_eq!(reply.text, "all at once", "{wire:?}");
        assert_eq!(server.requests()[0].json()["stream"], false, "{wire:?}");
    }
}

#[tokio::test]
async fn s82_what_follows_the_end_is_ignored() {
    for wire in Dialect::ALL {
        let once = Answer::text("once");
        let twice = at_once(wire, &once).body([once.bytes_in(wire), once.bytes_in(wire)].concat());
        let server = ModelServer::start([twice]);
        let called = call_once(wire, &server).await;
        assert_eq!(called.reply().text, "once", "{wire:?}");
        assert_eq!(called.streamed_text(), "once", "{wire:?}");
    }
}

#[tokio::test]
async fn g3_a_reply_that_is_complete_outlives_what_fails_after_it() {
    // On the Responses wire only the last event completes the reply.
    for wire in [Dialect::Chat, Dialect::Messages] {
        let said = Answer::text("all said");
        let answer = at_once(wire, &said);
        let end = said.clone().without_done().bytes_in(wire).len();
        let server =
            ModelServer::start([answer.clone().cut_after(end), said.without_done(), answer.hold_after(end)]);
        let (models, provider) = (models(), provider_on(wire, &server.base_url()));
        let limits = ModelLimits { idle_ms: 1000, ..LIMITS };
        for _ in 0..3 {
            assert_eq!(call(&models, &provider, &limits).await.reply().text, "all said", "{wire:?}");
        }
    }
}

#[tokio::test]
async fn s111_eight_mebibytes_of_arguments_arrive_whole() {
    let content = "0123456789abcdef".repeat(8 << 16);
    let answer = Answer::call("write_file", json!({"path": "a", "content": content})).in_pieces_of(60_000);
    for wire in Dialect::ALL {
        let server = ModelServer::start([answer.clone()]);
        let called = call_once(wire, &server).await;
        let arguments: serde_json::Value = serde_json::from_str(&called.reply().calls[0].arguments).unwrap();
        assert_eq!(arguments["content"].as_str().map(str::len), Some(8 << 20), "{wire:?}");
    }
}

#[tokio::test]
async fn s82_a_burst_loses_nothing() {
    const WORDS: usize = 10_000;
    let text = (0..WORDS).map(|number| format!("w{number} ")).collect::<String>();
    for wire in Dialect::ALL {
        let server = ModelServer::start([Answer::text(&text)]);
        let called = call_once(wire, &server).await;
        assert_eq!(called.deltas.len(), WORDS, "{wire:?}");
        assert_eq!(called.reply().text, text, "{wire:?}");
    }
}

#[tokio::test]
async fn s82_dropping_the_call_closes_the_connection() {
    for wire in Dialect::ALL {
        let server = ModelServer::start([Answer::text("one two three").hold_behind("one ")]);
        let (models, provider) = (models(), provider_on(wire, &server.base_url()));
        let request = request("hello");
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        {
            let call = models.call(&provider, &LIMITS, &request, 1, move |delta| drop(sender.send(delta)));
            tokio::pin!(call);
            let first = tokio::select! {
                _ = &mut call => panic!("the answer holds"),
                first = tokio::time::timeout(DEADLINE, receiver.recv()) => first.expect("a word comes"),
            };
            assert_eq!(first, Some(Delta::Text("one ".to_owned())), "{wire:?}");
        }
        wait_for_closed(Arc::new(server)).await;
    }
}

#[tokio::test]
async fn s82_dropping_the_call_before_the_headers_closes_the_connection() {
    for wire in Dialect::ALL {
        let server = Arc::new(ModelServer::start([Answer::never()]));
        let (models, provider) = (models(), provider_on(wire, &server.base_url()));
        let request = request("hello");
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
}
