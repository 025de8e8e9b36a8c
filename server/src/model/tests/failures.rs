//! Calls that fail: each in one class, with one sentence, within its limit.

use serde_json::json;

use super::*;

/// Checks the class that `answer` gives.
async fn check(answer: Answer, class: FailureClass) -> CallFailure {
    let server = ModelServer::start([answer]);
    let called = call_once(&server).await;
    assert_eq!(called.class(), class, "{:?}", called.failure());
    called.failure().clone()
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
    let policy = adjutant_core::retry::RetryPolicy::default();
    assert_eq!(adjutant_core::retry::next_attempt(&far, &Default::default(), 0.0, &policy), None);
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
    let inside = json!({"error": {"code": 429, "message": "slow down"}}).to_string();
    check(Answer::text("one two").insert_event(1, &inside), FailureClass::RateLimited).await;
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
    let server = ModelServer::start([]);
    let called =
        call(&Models::with_keys(|_| Some("  ".to_owned())), &provider(&server.base_url()), &LIMITS).await;
    assert_eq!(called.class(), FailureClass::Auth);
    assert!(called.failure().message.contains("ACME_KEY"), "{:?}", called.failure());
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn s83_a_huge_error_body_is_read_and_quoted_within_bounds() {
    let failed = check(Answer::status(500).body("x ".repeat(4 << 20)), FailureClass::Overloaded).await;
    assert!(failed.message.len() < 500, "{}", failed.message.len());
}

#[tokio::test]
async fn s83_a_redirect_is_not_followed() {
    let server = ModelServer::start([Answer::text("lured")]);
    let answer =
        Answer::status(307).header("location", &format!("{}/chat/completions?key=1", server.base_url()));
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
    let server = ModelServer::start([Answer::text("one two three").cut_after(200)]);
    let called = call_once(&server).await;
    assert!(matches!(called.class(), FailureClass::Broken | FailureClass::Network), "{:?}", called.failure());
    assert_eq!(called.streamed_text(), "one ");
}

#[tokio::test]
async fn s80_no_answer_at_all_is_a_network_failure() {
    let failed = check(Answer::hang_up(), FailureClass::Network).await;
    assert!(
        failed.message.contains("lost the connection to provider \"acme\" at http://127.0.0.1:"),
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
    check(Answer::text("one two").insert_event(1, "{\"choices\": [{"), FailureClass::Broken).await;
    check(Answer::events([r#"{"choices":[{"delta":{"content":7}}]}"#]), FailureClass::Broken).await;
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
    let server = ModelServer::start([Answer::never()]);
    let limits = ModelLimits { first_byte_ms: 200, ..LIMITS };
    let called = call(&models(), &provider(&server.base_url()), &limits).await;
    assert_eq!(called.class(), FailureClass::FirstByte);
    wait_for_closed(Arc::new(server)).await;
}

#[tokio::test]
async fn s82_a_stall_in_mid_stream_ends_at_the_idle_limit() {
    let server = ModelServer::start([at_once(&Answer::text("one two three")).hold_after(200)]);
    let limits = ModelLimits { idle_ms: 50, ..LIMITS };
    let called = call(&models(), &provider(&server.base_url()), &limits).await;
    assert_eq!(called.class(), FailureClass::Stalled);
    assert_eq!(called.streamed_text(), "one ");
    wait_for_closed(Arc::new(server)).await;
}

#[tokio::test]
async fn s82_a_call_that_never_ends_meets_the_total_limit() {
    let limits = ModelLimits { total_ms: 50, ..LIMITS };
    let server = ModelServer::start([Answer::text("one two three").hold_after(200), Answer::never()]);
    let (models, provider) = (models(), provider(&server.base_url()));
    assert_eq!(call(&models, &provider, &limits).await.class(), FailureClass::Total);
    assert_eq!(call(&models, &provider, &limits).await.class(), FailureClass::Total);
}

#[tokio::test]
async fn g4_keep_alives_do_not_hide_a_stall() {
    let body = [b"data: {}\n\n".to_vec(), b": keep-alive\n\n".repeat(50)].concat();
    let stream = Answer::status(200).header("content-type", "text/event-stream").body(body);
    // Whatever else it sends, it never comes to an end.
    let server = ModelServer::start([stream.in_pieces_of(14).hold_after(600)]);
    let limits = ModelLimits { idle_ms: 50, ..LIMITS };
    assert_eq!(call(&models(), &provider(&server.base_url()), &limits).await.class(), FailureClass::Stalled);
}

#[tokio::test]
async fn s82_a_slow_first_word_is_not_cut_by_the_idle_limit() {
    let server = Arc::new(ModelServer::start([at_once(&Answer::text("at last")).hold_after(0)]));
    // With no idle time at all, only the first-byte limit lets it wait.
    let limits = ModelLimits { idle_ms: 0, ..LIMITS };
    let waiter = tokio::task::spawn_blocking({
        let server = Arc::clone(&server);
        move || {
            server.wait_for_holding(1);
            server.release();
        }
    });
    let called = call(&models(), &provider(&server.base_url()), &limits).await;
    waiter.await.unwrap();
    assert_eq!(called.reply().text, "at last");
}

#[tokio::test]
async fn s111_arguments_beyond_the_limit_are_refused_by_name() {
    let huge = "x".repeat(17 << 20);
    let failed = check(Answer::call("write_file", json!({"content": huge})), FailureClass::Total).await;
    assert!(failed.message.contains("tool arguments than the limit of 16 MiB"), "{}", failed.message);
}

#[tokio::test]
async fn s82_endless_text_is_cut_at_its_limit() {
    let word = format!("{} ", "x".repeat(1 << 20));
    let failed = check(Answer::text(&word.repeat(17)), FailureClass::Total).await;
    assert!(failed.message.contains("text than the limit of 16 MiB"), "{}", failed.message);
}
