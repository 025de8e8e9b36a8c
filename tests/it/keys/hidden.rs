//! Adjutant writes no key and no login of a proxy: not in a message, not in the log, not in `Debug`.
//!
//! Collects the log at the finest level, finer than any log that Adjutant writes.

use std::io::Write;
use std::sync::Mutex;

use adjutant_testkit::authority::Authority;
use adjutant_testkit::model::{Offer, TlsFront};
use adjutant_testkit::proxy::{ProxyServer, Rules};
use tracing_subscriber::fmt::MakeWriter;

use super::*;

/// Everything that this thread logs.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Log;

    fn make_writer(&self) -> Log {
        self.clone()
    }
}

const KEY: &str = "kQ7-wholly-unshaped-key";
const PASSWORD: &str = "wQ9@proxy/word";
/// The password as the proxy's address has it, and as the header has it after `ada:`.
const WRITTEN: [&str; 2] = ["wQ9%40proxy%2Fword", "YWRhOndROUBwcm94eS93b3Jk"];

#[tokio::test]
async fn s1_no_text_has_a_key_or_the_login_of_a_proxy() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(log.clone())
        .finish();
    // With only one subscriber, `tracing` asks the thread that first reaches a call site, and keeps its answer.
    // If that is the thread of another test, the call site stays silent. With two subscribers, it asks them all.
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let guard = tracing::subscriber::set_default(subscriber);

    let echo = format!(r#"{{"error":{{"message":"bad key {KEY} by {PASSWORD}"}}}}"#);
    let server = ModelServer::answering(move |request| match request.header("x-refuse") {
        Some(_) => Answer::status(401).body(echo.clone()),
        None => Answer::text("ok"),
    });
    let authority = Authority::new("Work");
    let front = TlsFront::start(&server, &authority, &["models.example"], Offer::Http2);
    let folder = tempfile::tempdir().unwrap();
    let ca_file = folder.path().join("ca.pem");
    std::fs::write(&ca_file, authority.pem()).unwrap();
    let rules = Rules::default().lead("models.example:443", front.address()).login("ada", PASSWORD);
    let proxy = ProxyServer::start(rules);
    let with_login = proxy.url(&format!("ada:{}@", WRITTEN[0]));
    let key_file = folder.path().join("key");
    std::fs::write(&key_file, KEY).unwrap();
    std::fs::set_permissions(&key_file, std::fs::Permissions::from_mode(0o600)).unwrap();

    let models = Models::with_keys(|name| (name == "ACME_KEY").then(|| KEY.to_owned()));
    models.start_key_commands_by(run_own);
    let mut good = provider("https://models.example/v1");
    good.reach.ca_file = Some(ca_file.to_str().unwrap().to_owned());
    good.reach.proxy = Some(with_login.clone());
    let words = |script: &str| Some(KeySource::Command(["sh", "-c", script].map(str::to_owned).to_vec()));
    let mut refused = good.clone();
    refused.headers.insert("X-Refuse".to_owned(), KEY.to_owned());
    let variants = [
        good.clone(),
        refused,
        Provider { key: words(&format!("echo {KEY}")), ..good.clone() },
        Provider { key: words(&format!("echo {KEY}; echo {KEY} >&2; exit 1")), ..good.clone() },
        Provider { key: Some(KeySource::File(key_file.to_str().unwrap().to_owned())), ..good.clone() },
        Provider {
            reach: Reach {
                proxy: Some(format!("http://ada:{}x@127.0.0.1:1", WRITTEN[0])),
                ..good.reach.clone()
            },
            ..good.clone()
        },
        Provider {
            reach: Reach { proxy: Some(with_login.replace("ada:", "ada:x")), ..good.reach.clone() },
            ..good.clone()
        },
        Provider {
            reach: Reach { proxy: Some(format!("socks5{}", &with_login[4..])), ..good.reach.clone() },
            ..good.clone()
        },
        Provider { reach: Reach { ca_file: None, ..good.reach.clone() }, ..good.clone() },
    ];
    let mut texts = Vec::new();
    let limits = ModelLimits { first_byte_ms: 5_000, ..LIMITS };
    for provider in &variants {
        let called = call(&models, provider, &limits).await;
        texts.push(format!("{provider:?}\n{:?}", called));
    }
    drop(guard);
    let went_well = texts.iter().filter(|text| text.contains("Ok(")).count();
    assert_eq!(went_well, 3, "{texts:#?}");
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("call model") && log.contains("TRACE"), "the log was collected: {log}");
    texts.push(log);
    for secret in [KEY, PASSWORD, WRITTEN[0], WRITTEN[1]] {
        for text in &texts {
            let lines: Vec<&str> = text.lines().filter(|line| line.contains(secret)).collect();
            assert!(lines.is_empty(), "{secret}: {lines:#?}");
        }
    }
}
