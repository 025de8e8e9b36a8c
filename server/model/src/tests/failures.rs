//! Calls that fail, on every wire: each with one class and one message, within its time limit.

use serde_json::json;

use super::*;

/// Checks that `answer` fails with this class on each wire, always with the same message.
async fn check(answer: Answer, class: FailureClass) -> CallFailure {
    let mut first = None;
    for wire in Dialect::ALL {
        let server = ModelServer::start([answer.clone()]);
        let called = call_once(wire, &server).await;
        let mut failed = called.failure().clone();
        assert_eq!(failed.class, class, "{wire:?}: {failed:?}");
        let address = server.base_url().replace("/v1", "");
        failed.message = failed.message.replace(&address, "http://127.0.0.1:1");
        let first = first.get_or_insert_with(|| failed.clone());
        // The text of the JSON parser may differ.
        let sentence =
            |failed: &CallFailure| failed.message.split("makes no sense").next().map(str::to_owned);
        assert_eq!(sentence(first), sentence(&failed), "{wire:?}");
    }
    first.expect("there is a wire")
}

#[tokio::test]
async fn s80_retry_after_is_read_from_the_answer() {
    let limited =
        check(Answer::status(429).header("Retry-After", "2").body("{}"), FailureClass::RateLimited).await;
    assert_eq!(limited.retry_after_ms, Some(2000));
    assert!(limited.message.ends_with("; it asks to wait 2 s"), "{}", limited.message);
    let far = check(
        Answer::status(429).header("retry-after", "Wed, 21 Oct 2099 07:28:00 GMT"),
        FailureClass::RateLimited,
    )
    .await;
    let policy = adjutant_core::machine::retry::RetryPolicy::default();
    assert_eq!(adjutant_core::machine::retry::next_attempt(&far, &Default::default(), 0.0, &policy), None);
    let garbage = check(Answer::status(429).header("retry-after", "soon"), FailureClass::RateLimited).await;
    assert_eq!(garbage.retry_after_ms, None);
    let overloaded =
        check(Answer::status(503).header("retry-after-ms", "1500"), FailureClass::Overloaded).await;
    assert_eq!(overloaded.retry_after_ms, Some(1500));
}

#[tokio::test]
async fn s83_each_refusal_has_its_class() {
    check(Answer::status(500).body("oops"), FailureClass::Overloaded).await;
    check(Answer::status(529), FailureClass::Overloaded).await;
    check(Answer::status(402), FailureClass::Quota).await;
    check(Answer::status(404).body(r#"{"error":"no such model"}"#), FailureClass::ModelNotFound).await;
    check(
        Answer::status(400).body(r#"{"error":{"code":"context_length_exceeded"}}"#),
        FailureClass::ContextExceeded,
    )
    .await;
    check(Answer::status(400).body(r#"{"error":{"message":"bad tool"}}"#), FailureClass::InvalidRequest)
        .await;
    let inside = json!({"type": "error", "error": {"code": 429, "message": "slow down"}}).to_string();
    check(Answer::text("one two").insert_event(1, &inside), FailureClass::RateLimited).await;
}

#[tokio::test]
async fn s22_a_model_that_takes_no_tools_is_told_apart_and_what_to_set_is_said() {
    for (status, words) in [
        (400, "registry/library/gemma:2b does not support tools"),
        (404, "No endpoints found that support tool use"),
    ] {
        let body = json!({"error": {"message": words}}).to_string();
        let refused = check(Answer::status(status).body(body), FailureClass::InvalidRequest).await;
        assert!(
            refused.message.contains("does not support tools") && refused.message.contains("`tools = false`"),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn s1_a_refused_key_is_named_and_not_shown() {
    let echo =
        r#"{"error":{"message":"Incorrect API key provided: topsecret-key (or sk-live-SECRETSECRET)"}}"#;
    let refused = check(Answer::status(401).body(echo), FailureClass::Auth).await;
    assert_eq!(
        refused.message,
        "the key in ACME_KEY was refused by provider \"acme\" (401: \"Incorrect API key provided: [hidden] (or [hidden])\"); \
         set ACME_KEY to a valid key and try again"
    );
}

#[tokio::test]
async fn s1_a_missing_key_asks_nobody() {
    for wire in Dialect::ALL {
        let server = ModelServer::start([]);
        let models = Models::with_keys(|_| Some("  ".to_owned()));
        let called = call(&models, &provider_on(wire, &server.base_url()), &LIMITS).await;
        assert_eq!(called.class(), FailureClass::Auth, "{wire:?}");
        assert!(called.failure().message.contains("ACME_KEY"), "{:?}", called.failure());
        assert_eq!(server.connections(), 0);
    }
}

#[tokio::test]
async fn s83_a_huge_error_body_is_read_and_quoted_within_bounds() {
    let failed = check(Answer::status(500).body("x ".repeat(4 << 20)), FailureClass::Overloaded).await;
    assert!(failed.message.len() < 500, "{}", failed.message.len());
}

#[tokio::test]
async fn s83_an_error_whose_body_never_ends_keeps_the_total_limit() {
    let limits = ModelLimits { total_ms: 300, ..LIMITS };
    for wire in Dialect::ALL {
        let server = ModelServer::start([Answer::status(500).body("so it ends here").hold_behind("so it")]);
        let (models, provider) = (models(), provider_on(wire, &server.base_url()));
        // With only the limit for the body of an error, this would take longer.
        let called = tokio::time::timeout(Duration::from_secs(4), call(&models, &provider, &limits)).await;
        assert_eq!(called.expect("the call ends in time").class(), FailureClass::Overloaded, "{wire:?}");
        server.release();
    }
}

#[tokio::test]
async fn s83_a_redirect_is_not_followed() {
    let server = ModelServer::start([Answer::text("lured")]);
    let answer = Answer::status(307).header("location", &format!("{}/elsewhere?key=1", server.base_url()));
    let redirected = check(answer, FailureClass::InvalidRequest).await;
    assert!(redirected.message.contains("set `base_url` to the final address"), "{}", redirected.message);
    assert!(!redirected.message.contains("key=1"), "{}", redirected.message);
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn s83_a_login_page_is_not_a_reply() {
    let page = Answer::status(200)
        .header("content-type", "text/html; charset=utf-8")
        .body("<html>captive portal</html>");
    let failed = check(page, FailureClass::InvalidRequest).await;
    assert!(failed.message.contains("web page"), "{}", failed.message);
}

#[tokio::test]
async fn finding_f7_a_body_in_another_character_set_than_utf_8_is_refused() {
    for kind in [
        "text/event-stream; charset=iso-8859-1",
        "text/event-stream; Charset=\"UTF-16\"",
        "application/json;charset=windows-1252",
        "text/event-stream; boundary=x; charset=shift_jis",
    ] {
        // Bytes with another meaning in UTF-8.
        let answer = Answer::status(200).header("content-type", kind).body("data: {\"a\":\"caf\u{e9}\"}\n\n");
        let failed = check(answer, FailureClass::InvalidRequest).await;
        assert!(
            failed.message.contains("in the character set \"")
                && failed.message.ends_with("only UTF-8 is read")
        );
    }
    // The same body as UTF-8 is read. It fails for another reason: it is not a reply.
    for kind in
        ["text/event-stream; charset=UTF-8", "text/event-stream;charset=\"utf8\"", "text/event-stream"]
    {
        let answer = Answer::status(200).header("content-type", kind).body("data: {\"a\":1}\n\n");
        let server = ModelServer::start([answer]);
        let called = call_once(Dialect::ALL[0], &server).await;
        assert!(!called.failure().message.contains("character set"), "{kind}: {:?}", called.failure());
    }
}

#[tokio::test]
async fn s83_an_encoding_nobody_asked_for_is_refused() {
    check(Answer::text("x").header("content-encoding", "gzip"), FailureClass::Broken).await;
}

#[tokio::test]
async fn s83_plain_http_goes_to_this_machine_only() {
    for (address, allowed) in [
        ("http://127.0.0.1:1/v1", true),
        ("http://[::1]:1/v1", true),
        ("http://localhost:1/v1", true),
        ("https://127.0.0.1:1/v1", true),
        ("http://192.168.0.1:1/v1", false),
        ("http://localhost.example.com/v1", false),
        ("http://user:pass@127.0.0.1:1/v1", false),
        ("ftp://127.0.0.1/v1", false),
        ("nonsense", false),
    ] {
        let called = call(&models(), &provider(address), &LIMITS).await;
        let expected = if allowed { FailureClass::Network } else { FailureClass::InvalidRequest };
        assert_eq!(called.class(), expected, "{address}: {:?}", called.failure());
    }
}

#[tokio::test]
async fn s83_headers_that_cannot_be_sent_are_named_without_their_value() {
    for (name, value) in [("Host", "elsewhere"), ("X-Bad", "line\nbreak"), ("sp ace", "broken")] {
        let mut provider = provider("http://127.0.0.1:1");
        provider.headers.insert(name.to_owned(), value.to_owned());
        let called = call(&models(), &provider, &LIMITS).await;
        assert_eq!(called.class(), FailureClass::InvalidRequest);
        let message = &called.failure().message;
        assert!(message.contains(name) && !message.contains(value), "{message}");
    }
}

#[tokio::test]
async fn s80_a_connection_dropped_in_mid_word_is_broken_or_lost() {
    for wire in Dialect::ALL {
        let whole = Answer::text("one two three");
        // Inside the event after the first word.
        let at = whole.end_of(wire, "one ") + 20;
        let server = ModelServer::start([whole.cut_after(at)]);
        let called = call_once(wire, &server).await;
        let expected = [FailureClass::Broken, FailureClass::Network];
        assert!(expected.contains(&called.class()), "{wire:?}: {:?}", called.failure());
        assert_eq!(called.streamed_text(), "one ", "{wire:?}");
    }
}

#[tokio::test]
async fn s80_no_answer_at_all_is_a_network_failure() {
    let failed = check(Answer::hang_up(), FailureClass::Network).await;
    assert!(
        failed.message.contains("lost the connection to provider \"acme\" at http://127.0.0.1:1:"),
        "{}",
        failed.message
    );
}

#[tokio::test]
async fn s80_a_body_without_its_final_event_is_broken() {
    check(Answer::text("half a").unfinished(), FailureClass::Broken).await;
    check(Answer::call("read_file", json!({})).unfinished(), FailureClass::Broken).await;
    check(Answer::events(["<html>proxy error</html>"]).without_done(), FailureClass::Broken).await;
}

#[tokio::test]
async fn s80_one_malformed_event_is_broken() {
    check(Answer::text("one two").insert_event(1, "{\"type\": [{"), FailureClass::Broken).await;
    check(Answer::text("one two").insert_event(1, "[]"), FailureClass::Broken).await;
    let bytes = b"data: \xff\xfe\n\n".to_vec();
    check(Answer::status(200).header("content-type", "text/event-stream").body(bytes), FailureClass::Broken)
        .await;
}

#[tokio::test]
async fn s80_an_empty_reply_is_broken() {
    check(Answer::text(""), FailureClass::Broken).await;
    check(Answer::status(200).header("content-type", "text/event-stream"), FailureClass::Broken).await;
    check(Answer::status(204).header("content-type", "text/event-stream"), FailureClass::Broken).await;
}

#[tokio::test]
async fn s82_no_headers_within_the_first_byte_limit() {
    for wire in Dialect::ALL {
        let server = ModelServer::start([Answer::never()]);
        let limits = ModelLimits { first_byte_ms: 200, ..LIMITS };
        let called = call(&models(), &provider_on(wire, &server.base_url()), &limits).await;
        assert_eq!(called.class(), FailureClass::FirstByte, "{wire:?}");
        wait_for_closed(Arc::new(server)).await;
    }
}

#[tokio::test]
async fn s82_a_stall_in_mid_stream_ends_at_the_idle_limit() {
    for wire in Dialect::ALL {
        let answer = at_once(wire, &Answer::text("one two three")).hold_behind("one ");
        let server = ModelServer::start([answer]);
        let limits = ModelLimits { idle_ms: 50, ..LIMITS };
        let called = call(&models(), &provider_on(wire, &server.base_url()), &limits).await;
        assert_eq!(called.class(), FailureClass::Stalled, "{wire:?}");
        assert_eq!(called.streamed_text(), "one ", "{wire:?}");
        wait_for_closed(Arc::new(server)).await;
    }
}

#[tokio::test]
async fn s82_a_call_that_never_ends_meets_the_total_limit() {
    let limits = ModelLimits { total_ms: 50, ..LIMITS };
    for wire in Dialect::ALL {
        let answers = [Answer::text("one two three").hold_behind("one "), Answer::never()];
        let server = ModelServer::start(answers);
        let (models, provider) = (models(), provider_on(wire, &server.base_url()));
        for _ in 0..2 {
            assert_eq!(call(&models, &provider, &limits).await.class(), FailureClass::Total, "{wire:?}");
        }
    }
}

#[tokio::test]
async fn g4_keep_alives_do_not_hide_a_stall() {
    // At the same time, because each call waits for its limit.
    let calls = Dialect::ALL.map(async |wire| {
        // The rest would come only after many times the idle limit.
        let answer =
            Answer::text("one ").and_keep_alives(100).and_text("two").paced(Duration::from_millis(20));
        // The same with each event in pieces.
        for answer in [answer.clone(), answer.in_pieces_of(40)] {
            let server = ModelServer::start([answer]);
            let limits = ModelLimits { idle_ms: 300, ..LIMITS };
            let called = call(&models(), &provider_on(wire, &server.base_url()), &limits).await;
            assert!(called.result.is_err(), "{wire:?}: the stall was not seen");
            assert_eq!(called.class(), FailureClass::Stalled, "{wire:?}");
        }
    });
    futures_util::future::join_all(calls).await;
}

#[tokio::test]
async fn s82_l11_a_slow_first_word_is_not_cut_by_the_idle_limit() {
    for wire in Dialect::ALL {
        let answer = at_once(wire, &Answer::text("at last")).hold_after(0);
        let server = Arc::new(ModelServer::start([answer]));
        // Without any idle time, only the first-byte limit applies.
        let limits = ModelLimits { idle_ms: 0, ..LIMITS };
        let waiter = tokio::task::spawn_blocking({
            let server = Arc::clone(&server);
            move || {
                server.wait_for_holding(1);
                server.release();
            }
        });
        let called = call(&models(), &provider_on(wire, &server.base_url()), &limits).await;
        waiter.await.unwrap();
        assert_eq!(called.reply().text, "at last", "{wire:?}");
    }
}
