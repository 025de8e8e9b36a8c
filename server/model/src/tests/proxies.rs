//! Calls through a proxy: settings, environment, logins and failure messages.
//!
//! No name is resolved: the proxy double connects all names to loopback.

use adjutant_testkit::model::{Handshake, Offer};
use adjutant_testkit::proxy::{ProxyServer, Rules};

use super::secure::Secure;
use super::*;

const PLACE: &str = "models.example:443";

fn start(login: bool) -> (Secure, ProxyServer) {
    let secure = Secure::start(ModelServer::answering(|_| Answer::text("ok")), Offer::Http2);
    let mut rules = Rules::default().lead(PLACE, secure.front.address());
    if login {
        rules = rules.login("ada", "pr@xy-Passw0rd");
    }
    (secure, ProxyServer::start(rules))
}

/// A provider that only the proxy can find.
fn far(secure: &Secure, proxy: Option<String>) -> Provider {
    let mut provider = secure.provider();
    provider.base_url = Some("https://models.example/v1".to_owned());
    provider.reach.proxy = proxy;
    provider
}

/// The models in an environment with these variables and a key.
fn models_in(variables: &[(&str, &str)]) -> Models {
    let mut all: BTreeMap<String, String> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    all.insert("ACME_KEY".to_owned(), "topsecret-key".to_owned());
    Models::with_keys(move |name| all.get(name).cloned())
}

#[tokio::test]
async fn d3_an_authenticated_proxy_and_a_private_authority_work_by_settings_alone() {
    let (secure, proxy) = start(true);
    let models = models_in(&[]);
    let mut provider = far(&secure, Some(proxy.url("ada:pr%40xy-Passw0rd@")));
    provider.headers.insert("X-Team".to_owned(), "blue".to_owned());
    for _ in 0..3 {
        assert_eq!(call(&models, &provider, &LIMITS).await.reply().text, "ok");
    }
    let connects = proxy.connects();
    assert_eq!(connects.len(), 1, "one tunnel is kept");
    assert_eq!((connects[0].target.as_str(), connects[0].status), (PLACE, 200));
    // The proxy does not get the headers for the provider.
    assert!(!connects[0].head.contains("topsecret") && !connects[0].head.contains("blue"), "{connects:?}");
    assert_eq!(secure.front.handshakes(), [Handshake::Done(Some("h2".to_owned()))]);
    let sent = &secure.server.requests()[0];
    assert_eq!(sent.header("proxy-authorization"), None);
    assert_eq!(sent.header("authorization"), Some("Bearer topsecret-key"));
    assert_eq!((sent.header("x-team"), sent.path.as_str()), (Some("blue"), "/v1/chat/completions"));
    // Without the authority, no request is sent, with or without a proxy.
    provider.reach.ca_file = None;
    let failed = call(&models, &provider, &LIMITS).await;
    assert!(failed.failure().message.contains("set `http.ca_file`"), "{:?}", failed.failure());
    assert_eq!(secure.server.requests().len(), 3);
}

#[tokio::test]
async fn d3_the_proxy_of_the_environment_is_used_and_the_setting_wins() {
    for name in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        let (secure, proxy) = start(true);
        let url = proxy.url("ada:pr%40xy-Passw0rd@");
        let called = call(&models_in(&[(name, &url)]), &far(&secure, None), &LIMITS).await;
        assert_eq!(called.reply().text, "ok", "{name}");
        assert_eq!(proxy.connects().len(), 1, "{name}");
    }
    let (secure, proxy) = start(false);
    let (_, other) = start(false);
    let models = models_in(&[("HTTPS_PROXY", &other.url(""))]);
    assert_eq!(call(&models, &far(&secure, Some(proxy.url(""))), &LIMITS).await.reply().text, "ok");
    assert_eq!((proxy.connects().len(), other.connects().len()), (1, 0));
}

#[tokio::test]
async fn d3_this_machine_and_what_no_proxy_names_are_reached_directly() {
    let (secure, proxy) = start(false);
    let url = proxy.url("");
    // An address of this machine outside the loopback range.
    let mut near = secure.provider();
    near.base_url = Some(secure.front.base_url("0.0.0.0"));
    let failed = call(&models_in(&[("HTTPS_PROXY", &url)]), &near, &LIMITS).await;
    assert_eq!(failed.class(), FailureClass::Network);
    assert_eq!(proxy.connects().len(), 1, "without an exception it takes the proxy");
    for list in ["0.0.0.0", "other.example, 0.0.0.0/8", "*"] {
        let models = models_in(&[("HTTPS_PROXY", &url), ("NO_PROXY", list)]);
        assert_eq!(call(&models, &near, &LIMITS).await.reply().text, "ok", "{list}");
    }
    near.reach.no_proxy = Some("0.0.0.0".to_owned());
    assert_eq!(call(&models_in(&[("HTTPS_PROXY", &url)]), &near, &LIMITS).await.reply().text, "ok");
    near.reach.no_proxy = None;
    near.reach.proxy = Some("none".to_owned());
    assert_eq!(call(&models_in(&[("HTTPS_PROXY", &url)]), &near, &LIMITS).await.reply().text, "ok");
    // Loopback needs no exception, with or without TLS.
    let models = models_in(&[("HTTPS_PROXY", &url), ("ALL_PROXY", &url), ("HTTP_PROXY", &url)]);
    assert_eq!(call(&models, &secure.provider(), &LIMITS).await.reply().text, "ok");
    assert_eq!(call(&models, &provider(&secure.server.base_url()), &LIMITS).await.reply().text, "ok");
    assert_eq!(proxy.connects().len(), 1);
}

#[tokio::test]
async fn d3_a_proxy_that_refuses_is_named_without_its_password() {
    let (secure, proxy) = start(true);
    let shown = proxy.url("");
    for (login, expected) in [
        ("", "wants a login (407); put one into its address, \"http://USER:PASSWORD@HOST:PORT\""),
        ("ada:wrong-Passw0rd@", "refused the login in its address (407); correct it and try again"),
    ] {
        let failed = call(&models_in(&[]), &far(&secure, Some(proxy.url(login))), &LIMITS).await;
        assert_eq!(failed.class(), FailureClass::Auth, "{:?}", failed.failure());
        assert_eq!(failed.failure().message, format!("the proxy {shown} (set by http.proxy) {expected}"));
    }
    let closed = ProxyServer::start(Rules::default().refuse(403));
    let url = closed.url("ada:hidden-Passw0rd@");
    let failed = call(&models_in(&[("HTTPS_PROXY", &url)]), &far(&secure, None), &LIMITS).await;
    assert_eq!(failed.class(), FailureClass::Network);
    let expected = format!(
        "the proxy {} (set by HTTPS_PROXY) did not connect to provider \"acme\" at https://models.example: ",
        closed.url("")
    );
    assert!(failed.failure().message.starts_with(&expected), "{:?}", failed.failure());
    assert!(secure.server.requests().is_empty());
}

#[tokio::test]
async fn d3_a_proxy_that_is_not_there_is_named_without_its_password() {
    let (secure, proxy) = start(false);
    let (address, url) = (proxy.url(""), proxy.url("ada:hidden-Passw0rd@"));
    drop(proxy);
    let failed = call(&models_in(&[]), &far(&secure, Some(url)), &LIMITS).await;
    assert_eq!(failed.class(), FailureClass::Network);
    let message = &failed.failure().message;
    let expected = format!(
        "could not connect to the proxy {address} (set by http.proxy) for provider \"acme\" at https://models.example: "
    );
    assert!(message.starts_with(&expected) && !message.contains("Passw0rd"), "{message}");
}

#[tokio::test]
async fn d3_a_proxy_address_that_makes_no_sense_is_one_sentence() {
    let (secure, _) = start(false);
    for bad in
        ["socks5://ada:hidden-Passw0rd@127.0.0.1:1", "http://ada:hidden-Passw0rd@:1", "ftp://127.0.0.1:1"]
    {
        let failed = call(&models_in(&[("ALL_PROXY", bad)]), &far(&secure, None), &LIMITS).await;
        assert_eq!(failed.class(), FailureClass::InvalidRequest, "{bad}");
        let message = &failed.failure().message;
        let begins = "provider \"acme\" cannot be reached: ALL_PROXY ";
        assert!(message.starts_with(begins) && !message.contains("Passw0rd"), "{message}");
    }
}

#[tokio::test]
async fn d3_a_proxy_may_be_spoken_to_over_tls_and_is_checked_like_any_other() {
    let (secure, _) = start(false);
    let rules = Rules::default().lead(PLACE, secure.front.address()).login("ada", "pr@xy-Passw0rd");
    let proxy = ProxyServer::start_with_tls(rules, &secure.authority);
    let url = format!("https://ada:pr%40xy-Passw0rd@localhost:{}", proxy.port());
    let mut provider = far(&secure, Some(url));
    assert_eq!(call(&models_in(&[]), &provider, &LIMITS).await.reply().text, "ok");
    provider.reach.ca_file = None;
    let failed = call(&models_in(&[]), &provider, &LIMITS).await;
    let expected = format!("the certificate of the proxy https://localhost:{} is from", proxy.port());
    assert!(failed.failure().message.starts_with(&expected), "{:?}", failed.failure());
}
