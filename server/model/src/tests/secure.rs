//! Calls over TLS: trusted authorities, one shared connection, HTTP/2 if it is offered.
//!
//! Each certificate is from an authority that the test creates.

use adjutant_testkit::authority::Authority;
use adjutant_testkit::model::{Handshake, Offer, TlsFront};
use tempfile::TempDir;

use super::*;

/// A provider with TLS, and a file with its authority.
pub(super) struct Secure {
    pub server: Arc<ModelServer>,
    pub front: TlsFront,
    pub authority: Authority,
    pub folder: TempDir,
    pub ca_file: String,
}

pub(super) const NAMES: [&str; 4] = ["localhost", "127.0.0.1", "0.0.0.0", "models.example"];

impl Secure {
    pub fn start(server: ModelServer, offer: Offer) -> Secure {
        let authority = Authority::new("Work");
        let front = TlsFront::start(&server, &authority, &NAMES, offer);
        let folder = tempfile::tempdir().unwrap();
        let ca_file = folder.path().join("ca.pem");
        std::fs::write(&ca_file, authority.pem()).unwrap();
        let ca_file = ca_file.to_str().unwrap().to_owned();
        Secure { server: Arc::new(server), front, authority, folder, ca_file }
    }

    /// Returns the provider as the settings define it, with its authority.
    pub fn provider(&self) -> Provider {
        let mut provider = provider(&self.front.base_url("localhost"));
        provider.reach.ca_file = Some(self.ca_file.clone());
        provider
    }

    fn chosen(&self) -> Vec<Handshake> {
        self.front.handshakes()
    }
}

fn done(protocol: &str) -> Handshake {
    Handshake::Done(Some(protocol.to_owned()))
}

#[tokio::test]
async fn s20_all_calls_go_over_one_tls_connection_whatever_is_spoken_on_it() {
    const CALLS: usize = 52;
    for (offer, expected) in [
        (Offer::Http1, done("http/1.1")),
        (Offer::Nothing, Handshake::Done(None)),
        (Offer::Http2, done("h2")),
    ] {
        let secure = Secure::start(ModelServer::answering(|_| Answer::text("ok")), offer);
        let (models, provider) = (models(), secure.provider());
        for _ in 0..CALLS {
            assert_eq!(call(&models, &provider, &LIMITS).await.reply().text, "ok", "{offer:?}");
        }
        assert_eq!(secure.server.requests().len(), CALLS);
        assert_eq!(secure.chosen(), [expected]);
    }
}

#[tokio::test]
async fn s20_calls_at_once_share_one_http2_connection() {
    let server = ModelServer::answering(|_| Answer::text("ok").hold_after(0));
    let secure = Secure::start(server, Offer::Http2);
    let (models, provider) = (models(), secure.provider());
    // The first call opens the connection. The others reuse it.
    secure.server.release();
    call(&models, &provider, &LIMITS).await.result.unwrap();
    let server = Arc::clone(&secure.server);
    let waiter = tokio::task::spawn_blocking(move || {
        server.wait_for_holding(3);
        (0..3).for_each(|_| server.release());
    });
    let one = || call(&models, &provider, &LIMITS);
    let (a, b, c) = tokio::join!(one(), one(), one());
    waiter.await.unwrap();
    for called in [a, b, c] {
        assert_eq!(called.reply().text, "ok");
    }
    assert_eq!(secure.chosen(), [done("h2")]);
}

#[tokio::test]
async fn s82_a_dropped_call_resets_its_stream_and_the_connection_lives() {
    let server = ModelServer::start([
        Answer::text("one two three").hold_after(200),
        Answer::never(),
        Answer::text("ok"),
    ]);
    let secure = Secure::start(server, Offer::Http2);
    let (models, provider, request) = (models(), secure.provider(), request("hello"));
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    {
        let call = models.call(&provider, &LIMITS, &request, 1, move |delta| drop(sender.send(delta)));
        tokio::pin!(call);
        tokio::select! {
            _ = &mut call => panic!("the answer holds"),
            first = tokio::time::timeout(DEADLINE, receiver.recv()) => assert!(first.unwrap().is_some()),
        }
    }
    // The TLS front closes its connection when a stream is reset.
    wait_for_closed(Arc::clone(&secure.server)).await;
    let asked = tokio::task::spawn_blocking({
        let server = Arc::clone(&secure.server);
        move || server.wait_for_requests(2)
    });
    tokio::select! {
        _ = models.call(&provider, &LIMITS, &request, 1, |_| {}) => panic!("there is no answer"),
        asked = asked => drop(asked.unwrap()),
    }
    let server = Arc::clone(&secure.server);
    tokio::task::spawn_blocking(move || server.wait_for_closed(2)).await.unwrap();
    assert_eq!(call(&models, &provider, &LIMITS).await.reply().text, "ok");
    assert_eq!(secure.chosen(), [done("h2")]);
}

#[tokio::test]
async fn s83_an_unknown_authority_is_refused_and_the_sentence_says_what_to_set() {
    let secure = Secure::start(ModelServer::start([Answer::text("ok")]), Offer::Http2);
    let models = models();
    let mut provider = secure.provider();
    provider.reach.ca_file = None;
    let failed = call(&models, &provider, &LIMITS).await;
    assert_eq!(failed.class(), FailureClass::InvalidRequest, "{:?}", failed.failure());
    let place = secure.front.base_url("localhost").replace("/v1", "");
    assert_eq!(
        failed.failure().message,
        format!(
            "the certificate of provider \"acme\" at {place} is from an authority that is not known here; \
             set `http.ca_file` to a PEM file with the certificate of that authority"
        )
    );
    let other = secure.folder.path().join("other.pem");
    std::fs::write(&other, Authority::new("Other").pem()).unwrap();
    provider.reach.ca_file = Some(other.to_str().unwrap().to_owned());
    let failed = call(&models, &provider, &LIMITS).await;
    assert!(failed.failure().message.contains("nor in \""), "{:?}", failed.failure());
    assert!(secure.server.requests().is_empty());
    // After the file is fixed, the next attempt uses it. It may still have the other authority.
    std::fs::write(&other, format!("{}\n{}", Authority::new("Other").pem(), secure.authority.pem())).unwrap();
    assert_eq!(call(&models, &provider, &LIMITS).await.reply().text, "ok");
}

#[tokio::test]
async fn s83_a_certificate_for_another_name_is_refused() {
    let authority = Authority::new("Work");
    let server = ModelServer::start([]);
    let mut secure = Secure::start(server, Offer::Http1);
    std::fs::write(&secure.ca_file, authority.pem()).unwrap();
    secure.front = TlsFront::start(&secure.server, &authority, &["elsewhere.example"], Offer::Http1);
    let failed = call(&models(), &secure.provider(), &LIMITS).await;
    assert_eq!(failed.class(), FailureClass::InvalidRequest, "{:?}", failed.failure());
    assert!(failed.failure().message.contains("is not valid: "), "{:?}", failed.failure());
    assert!(!failed.failure().message.contains("http.ca_file"), "{:?}", failed.failure());
}

#[tokio::test]
async fn s83_a_file_of_certificates_that_is_none_is_one_sentence() {
    let secure = Secure::start(ModelServer::start([]), Offer::Http1);
    let at = |name: &str| secure.folder.path().join(name).to_str().unwrap().to_owned();
    let truncated = secure.authority.pem().replace("-----END", "!!!-----END");
    std::fs::write(at("text.pem"), "not a certificate").unwrap();
    std::fs::write(at("broken.pem"), truncated).unwrap();
    std::fs::create_dir(at("folder")).unwrap();
    for (name, why) in [
        ("missing.pem", "missing.pem\" does not exist; correct `http.ca_file`"),
        ("text.pem", "text.pem\" holds no certificate in PEM form; correct `http.ca_file`"),
        ("broken.pem", "correct `http.ca_file`"),
        ("folder", "folder\" is no regular file; correct `http.ca_file`"),
    ] {
        let mut provider = secure.provider();
        provider.reach.ca_file = Some(at(name));
        let failed = call(&models(), &provider, &LIMITS).await;
        assert_eq!(failed.class(), FailureClass::InvalidRequest, "{name}: {:?}", failed.failure());
        assert!(failed.failure().message.ends_with(why), "{name}: {:?}", failed.failure());
    }
    assert_eq!(secure.front.handshakes(), []);
}

#[tokio::test]
async fn f13_an_encoding_nobody_asked_for_is_refused_over_http2_too() {
    let bomb = Answer::text("x").header("content-encoding", "gzip");
    let secure = Secure::start(ModelServer::start([bomb]), Offer::Http2);
    let failed = call(&models(), &secure.provider(), &LIMITS).await;
    assert_eq!(failed.class(), FailureClass::Broken);
    assert!(failed.failure().message.contains("encoding \"gzip\""), "{:?}", failed.failure());
    assert_eq!(secure.server.requests()[0].header("accept-encoding"), None);
}

#[tokio::test]
async fn s80_a_stream_cut_over_http2_is_tried_again_by_its_class() {
    let answers = [Answer::text("one two three").cut_after(200), Answer::hang_up(), Answer::text("ok")];
    let secure = Secure::start(ModelServer::start(answers), Offer::Http2);
    let (models, provider) = (models(), secure.provider());
    for expected in ["one ", ""] {
        let called = call(&models, &provider, &LIMITS).await;
        assert!(called.class().is_passing(), "{:?}", called.failure());
        assert_eq!(called.streamed_text(), expected);
    }
    assert_eq!(call(&models, &provider, &LIMITS).await.reply().text, "ok");
}

#[tokio::test]
async fn s83_a_redirect_over_tls_takes_no_key_along() {
    let lure = ModelServer::start([Answer::text("lured")]);
    let answer = Answer::status(307).header("location", &lure.base_url());
    let secure = Secure::start(ModelServer::start([answer]), Offer::Http2);
    let failed = call(&models(), &secure.provider(), &LIMITS).await;
    assert!(
        failed.failure().message.contains("set `base_url` to the final address"),
        "{:?}",
        failed.failure()
    );
    assert_eq!(lure.connections(), 0);
}

#[tokio::test]
async fn s20_changed_settings_build_a_client_and_few_are_kept() {
    let secure = Secure::start(ModelServer::answering(|_| Answer::text("ok")), Offer::Http1);
    let models = models();
    let mut provider = secure.provider();
    for number in 0..12 {
        let path = secure.folder.path().join(format!("{number}.pem"));
        std::fs::write(&path, secure.authority.pem()).unwrap();
        provider.reach.ca_file = Some(path.to_str().unwrap().to_owned());
        call(&models, &provider, &LIMITS).await.result.unwrap();
    }
    assert_eq!(secure.chosen().len(), 12, "each has its own connections");
    assert_eq!(models.inner.clients.count(), 8);
    call(&models, &provider, &LIMITS).await.result.unwrap();
    assert_eq!(secure.chosen().len(), 12, "the last one is still kept");
}
