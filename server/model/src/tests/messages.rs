//! Tests of Anthropic Messages only: the version header.

use super::*;

#[tokio::test]
async fn s85_the_version_of_the_events_is_named_unless_the_settings_name_another() {
    let server = ModelServer::start([Answer::text("ok"), Answer::text("ok")]);
    let mut provider = provider_on(Dialect::Messages, &server.base_url());
    call(&models(), &provider, &LIMITS).await.result.unwrap();
    provider.headers.insert("Anthropic-Version".to_owned(), "2031-01-01".to_owned());
    call(&models(), &provider, &LIMITS).await.result.unwrap();
    let versions =
        server.requests().into_iter().map(|sent| sent.header("anthropic-version").map(str::to_owned));
    assert_eq!(versions.collect::<Vec<_>>(), [Some("2023-06-01".to_owned()), Some("2031-01-01".to_owned())]);
}
