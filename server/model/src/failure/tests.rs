//! The class of each provider error, and that no key gets into a message.

use std::sync::LazyLock;

use super::*;
use crate::secret::Secret;

static KEY: LazyLock<KeySource> = LazyLock::new(|| KeySource::Variable("ACME_KEY".to_owned()));

fn endpoint() -> Endpoint<'static> {
    Endpoint { provider: "acme", model: "m1", key: Some(&KEY) }
}

fn classified(status: u16, body: &str) -> CallFailure {
    classify(status, &Complaint::from_body(body), endpoint(), &Redactor::default())
}

/// Checks the class of an answer.
fn check(status: u16, body: &str, class: FailureClass) {
    assert_eq!(classified(status, body).class, class, "{status} {body}");
}

#[test]
fn s83_each_status_has_its_class() {
    check(429, "{}", FailureClass::RateLimited);
    check(500, "oops", FailureClass::Overloaded);
    check(503, "", FailureClass::Overloaded);
    check(529, "{}", FailureClass::Overloaded);
    check(408, "", FailureClass::Overloaded);
    check(400, r#"{"error":{"message":"tool_use ids without tool_result"}}"#, FailureClass::History);
    check(
        400,
        r#"{"error":{"message":"messages.1.content.0: Invalid `signature` in `thinking` block"}}"#,
        FailureClass::History,
    );
    check(500, r#"{"error":{"message":"tool_calls"}}"#, FailureClass::Overloaded);
    check(401, "{}", FailureClass::Auth);
    check(403, "{}", FailureClass::Auth);
    check(402, "{}", FailureClass::Quota);
    check(404, r#"{"error":"no such model"}"#, FailureClass::ModelNotFound);
    check(413, "<html>too large</html>", FailureClass::ContextExceeded);
    check(422, "{}", FailureClass::InvalidRequest);
}

#[test]
fn s85_what_is_said_of_images_is_a_class_of_its_own() {
    for (status, message) in [
        (400, "messages.1.content.0.image.source.base64: image exceeds 5 MB maximum: 6 bytes > 5 bytes"),
        (
            400,
            "messages.1.content.0.image.source.base64.data: At least one of the image dimensions exceed max",
        ),
        (400, "Could not process image"),
        (400, "Invalid content type. image_url is only supported by certain models."),
        (422, "unknown variant `image_url`, expected `text`"),
        (400, "You uploaded an unsupported image. Please make sure your image is valid."),
        (404, "No endpoints found that support image input"),
    ] {
        let body = serde_json::json!({"error": {"type": "invalid_request_error", "message": message}});
        check(status, &body.to_string(), FailureClass::Images);
    }
    check(
        404,
        r#"{"error":{"message":"The model `gpt-image` does not exist"}}"#,
        FailureClass::ModelNotFound,
    );
    check(500, r#"{"error":{"message":"could not process image"}}"#, FailureClass::Overloaded);
}

#[test]
fn s83_the_body_tells_more_than_the_status() {
    check(
        400,
        r#"{"error":{"code":"context_length_exceeded","message":"x"}}"#,
        FailureClass::ContextExceeded,
    );
    check(
        400,
        r#"{"error":{"message":"This model's maximum context length is 8192 tokens"}}"#,
        FailureClass::ContextExceeded,
    );
    check(
        500,
        r#"{"error":"the request exceeds the available context size"}"#,
        FailureClass::ContextExceeded,
    );
    check(429, r#"{"error":{"code":"insufficient_quota","message":"x"}}"#, FailureClass::Quota);
    check(400, r#"{"error":{"message":"Your credit balance is too low"}}"#, FailureClass::Quota);
    check(400, r#"{"error":{"code":"model_not_found"}}"#, FailureClass::ModelNotFound);
    check(
        429,
        r#"{"error":{"message":"Request too large for m1 on tokens per min"}}"#,
        FailureClass::ContextExceeded,
    );
    check(429, r#"{"error":"Too many tokens, please wait before trying again"}"#, FailureClass::RateLimited);
    let minute = r#"[{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED"}}]"#;
    check(429, minute, FailureClass::RateLimited);
    check(401, r#"{"error":"too many tokens"}"#, FailureClass::Auth);
}

#[test]
fn s83_the_error_types_of_the_messages_wire_by_status_and_inside_a_stream() {
    use FailureClass::*;
    for (status, kind, message, class) in [
        (400, "invalid_request_error", "messages.3: tool_use ids were found without tool_result", History),
        (
            400,
            "invalid_request_error",
            "max_tokens: 64000 > 8192, the maximum allowed number of output tokens",
            InvalidRequest,
        ),
        (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", ContextExceeded),
        (
            400,
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000",
            ContextExceeded,
        ),
        (400, "invalid_request_error", "Your credit balance is too low to access the API", Quota),
        (400, "invalid_request_error", "You have reached your specified API usage limits", Quota),
        (401, "authentication_error", "invalid x-api-key", Auth),
        (402, "billing_error", "there is a problem with your billing", Quota),
        (403, "permission_error", "your key may not use this", Auth),
        (404, "not_found_error", "model: claude-none", ModelNotFound),
        (413, "request_too_large", "Request exceeds the maximum size", ContextExceeded),
        (
            429,
            "rate_limit_error",
            "This request would exceed your rate limit of 40,000 input tokens per minute",
            RateLimited,
        ),
        (500, "api_error", "Internal server error", Overloaded),
        (504, "timeout_error", "the request timed out", Overloaded),
        (529, "overloaded_error", "Overloaded", Overloaded),
    ] {
        let body = serde_json::json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"});
        check(status, &body.to_string(), class);
        assert_eq!(
            classify_in_stream(&body.to_string(), endpoint(), &Redactor::default()).class,
            class,
            "{body}"
        );
    }
}

#[test]
fn s83_an_error_inside_the_stream_is_classified_by_its_words() {
    let check = |error: &str, class| {
        assert_eq!(classify_in_stream(error, endpoint(), &Redactor::default()).class, class, "{error}");
    };
    check(r#"{"type":"error","error":{"type":"overloaded_error"}}"#, FailureClass::Overloaded);
    check(r#"{"error":{"code":429,"message":"slow down"}}"#, FailureClass::RateLimited);
    check(r#"{"error":{"code":"502","message":"bad gateway"}}"#, FailureClass::Overloaded);
    check(r#"{"error":{"type":"rate_limit_error"}}"#, FailureClass::RateLimited);
    check(r#"{"error":{"code":"context_length_exceeded"}}"#, FailureClass::ContextExceeded);
    check(r#"{"error":{"type":"insufficient_quota"}}"#, FailureClass::Quota);
    check(r#"{"error":"something odd"}"#, FailureClass::Broken);
}

#[test]
fn s80_a_wait_inside_the_stream_is_read_from_its_words() {
    let wait = |code: &str, message: &str| {
        let error = serde_json::json!({"code": code, "message": message});
        classify_in_stream(&error.to_string(), endpoint(), &Redactor::default()).retry_after_ms
    };
    let limited = |message| wait("rate_limit_exceeded", message);
    assert_eq!(limited("Limit 30000, Used 22999. Please try again in 11.054s. Visit a page."), Some(11_054));
    assert_eq!(limited("please try again in 28ms"), Some(28));
    assert_eq!(limited("Try again in 1m2.5s."), Some(62_500));
    assert_eq!(limited("try again in 35 seconds"), Some(35_000));
    for message in
        ["try again in a while", "try again in 3 fortnights", "try again in", "", "try again in ...s"]
    {
        assert_eq!(limited(message), None, "{message}");
    }
    assert_eq!(limited("try again in 99999999999999999999999h"), Some(u64::MAX));
    assert_eq!(wait("server_error", "try again in 3s"), None);
}

#[test]
fn s83_the_codes_of_responses_have_their_class() {
    let check = |code: &str, class| {
        let error = serde_json::json!({"code": code, "message": "x"});
        assert_eq!(
            classify_in_stream(&error.to_string(), endpoint(), &Redactor::default()).class,
            class,
            "{code}"
        );
    };
    check("rate_limit_exceeded", FailureClass::RateLimited);
    check("slow_down", FailureClass::RateLimited);
    check("server_error", FailureClass::Overloaded);
    check("server_is_overloaded", FailureClass::Overloaded);
    check("context_length_exceeded", FailureClass::ContextExceeded);
    check("insufficient_quota", FailureClass::Quota);
    check("invalid_prompt", FailureClass::InvalidRequest);
    check("invalid_encrypted_content", FailureClass::History);
    check("model_not_found", FailureClass::ModelNotFound);
    check("something_new", FailureClass::Broken);
}

#[test]
fn s83_the_sentence_names_the_key_the_user_must_mend() {
    let refused = classified(401, r#"{"error":"bad key sk-live-SECRETSECRET"}"#).message;
    assert_eq!(
        refused,
        "the key in ACME_KEY was refused by provider \"acme\" (401: \"bad key [hidden]\"); set ACME_KEY to a valid key and try again"
    );
    let endpoint = Endpoint { key: None, ..endpoint() };
    let missing = classify(401, &Complaint::default(), endpoint, &Redactor::default()).message;
    assert!(missing.contains("set `api_key_env`"), "{missing}");
}

#[test]
fn s1_quotes_are_bounded_single_lines_without_keys() {
    let redactor = Redactor::default();
    redactor.hide(Secret::new("topsecret"));
    assert_eq!(quote(" a\r\n\tb\u{1b}[31m topsecret ", &redactor), "a b [31m [hidden]");
    let long = quote(&"é".repeat(10_000), &redactor);
    assert_eq!(long.chars().count(), MAX_QUOTE_CHARS + 3);
    assert!(quote(&"word ".repeat(10_000), &redactor).ends_with("..."));
}

#[test]
fn finding_b11_a_page_is_quoted_as_its_text() {
    let redactor = Redactor::default();
    redactor.hide(Secret::new("topsecret"));
    let said = |page: &str| quote(page, &redactor);
    let page = "<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title><style>b{color:red}</style>\
        <script>alert('x < y')</script></head><body bgcolor=\"white\"><!-- <b>no</b> --><center><h1>502 Bad \
        Gateway</h1></center><hr>nginx &amp; co&#46;&nbsp;top<b>secret</b> <a href=\"https://x/?a=1>2\">more</a>\
        </body></html>";
    assert_eq!(said(page), "502 Bad Gateway nginx & co. [hidden] more");
    assert_eq!(said("<html><head><title>Only a title</title></head><body></body></html>"), "Only a title");
    let xml = "<?xml version=\"1.0\"?>\n<Error><Code>AccessDenied</Code><Message>Not you</Message></Error>";
    assert_eq!(said(xml), "AccessDenied Not you");
    assert_eq!(said("<html><script>never ended"), "");
    assert_eq!(said("<html><body>cut <a href=\"x"), "cut");
    assert_eq!(said("&lt;html&gt; stays"), "&lt;html&gt; stays", "no page, so nothing is read as markup");
    assert_eq!(said("a < b and c > d, use <model>"), "a < b and c > d, use <model>");
    assert_eq!(
        said("<html>&lt;script&gt;x &#x41;&#0;&#x110000;&bogus; &amp;lt;"),
        "<script>x A&#0;&#x110000;&bogus; &lt;"
    );
    let long = said(&format!("<html><body>{}</body></html>", "<p>é</p>".repeat(10_000)));
    assert_eq!(long.chars().count(), MAX_QUOTE_CHARS + 3);
}

#[test]
fn finding_b11_a_page_of_many_megabytes_is_read_in_one_pass_and_quoted_by_its_beginning() {
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let page = format!("<html>{}end", "<svg></SVG>".repeat(100_000));
        send.send(text_of(&page).trim().to_owned())
    });
    // Quadratic time would take minutes.
    assert_eq!(receive.recv_timeout(std::time::Duration::from_secs(10)).as_deref(), Ok("end"));
    let page = |markup: usize| format!("<html>{}end", "<p></p>".repeat(markup));
    assert_eq!(quote(&page(1_000), &Redactor::default()), "end");
    assert_eq!(quote(&page(10_000), &Redactor::default()), "", "nothing so far behind is looked at");
}

proptest::proptest! {
    #[test]
    fn no_page_is_a_crash_or_keeps_a_key(parts in proptest::collection::vec("[<>&;#x/a-c!\"' -]{0,12}|<html>|<script>|-->|é", 0..20)) {
        let redactor = Redactor::default();
        redactor.hide(Secret::new("topsecret"));
        let quoted = quote(&format!("<html>{}topsecret{}", parts.concat(), parts.concat()), &redactor);
        proptest::prop_assert!(!quoted.contains("topsecret"));
    }
}
