//! Tests of Chat Completions only: its request, and invalid chunks.

use serde_json::json;

use super::*;

#[tokio::test]
async fn s20_the_chat_request_says_what_the_conversation_is() {
    let server = ModelServer::start([Answer::text("ok")]);
    call_once(Dialect::Chat, &server).await.result.unwrap();
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
async fn s80_a_chunk_of_the_wrong_kind_is_broken() {
    let server = ModelServer::start([Answer::events([r#"{"choices":[{"delta":{"content":7}}]}"#])]);
    assert_eq!(call_once(Dialect::Chat, &server).await.class(), FailureClass::Broken);
}
