//! HTTP to a provider: one kept-alive client, three time limits, one request.
//!
//! Follows no redirect, sends a key nowhere but to the provider's own address,
//! and never speaks plain HTTP to another machine.

use std::error::Error as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use adjutant_core::config::{ModelLimits, Provider, Wire};
use adjutant_core::retry::{CallFailure, FailureClass};
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION,
};
use reqwest::{Client, Response, Url};
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout, timeout_at};

use super::failure::{Asked, Complaint, classify, failure, in_words, quote, retry_after_ms};
use super::secret::{Redactor, Secret};

/// The most bytes read of an answer that is an error.
const MAX_ERROR_BYTES: usize = 64 << 10;
/// How long the body of an error may take: its status alone says enough.
const ERROR_BODY_WAIT: Duration = Duration::from_secs(5);
const CONNECT_WAIT: Duration = Duration::from_secs(15);
/// How long the end of a stream is awaited once its last event was read, so
/// that the connection can be used again.
const DRAIN_WAIT: Duration = Duration::from_millis(100);
/// How long a reply that is complete waits for what usually still follows.
const FINISHING_WAIT: Duration = Duration::from_secs(5);
/// Longer than a person thinks between two prompts, most of the time.
const POOL_IDLE: Duration = Duration::from_secs(300);

/// The HTTP clients, built when first needed.
#[derive(Default)]
pub(super) struct Clients {
    /// For loopback: no TLS, no proxy.
    plain: OnceCell<Client>,
    secure: OnceCell<Client>,
}

impl Clients {
    async fn of(&self, url: &Url) -> Result<&Client, CallFailure> {
        let secure = url.scheme() == "https";
        let cell = if secure { &self.secure } else { &self.plain };
        // Reading the certificates of the platform takes milliseconds of files.
        cell.get_or_try_init(|| async move {
            let built = tokio::task::spawn_blocking(move || build_client(secure)).await;
            let said = match built {
                Ok(Ok(client)) => return Ok(client),
                Ok(Err(error)) => innermost(&error),
                Err(error) => error.to_string(),
            };
            Err(failure(FailureClass::InvalidRequest, format!("could not set up HTTP: {said}")))
        })
        .await
    }
}

fn build_client(secure: bool) -> Result<Client, reqwest::Error> {
    // An error only says that a provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .user_agent(concat!("adjutant/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .connect_timeout(CONNECT_WAIT)
        .pool_idle_timeout(POOL_IDLE)
        .tcp_keepalive(Duration::from_secs(30))
        .tcp_nodelay(true);
    if secure {
        return builder.https_only(true).build();
    }
    // The name is pinned, so that no resolver can send a plain request elsewhere.
    let loopback = [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)];
    let loopback = loopback.map(|address| SocketAddr::new(address, 0));
    builder.no_proxy().tls_certs_only([]).resolve_to_addrs("localhost", &loopback).build()
}

/// One request to a provider, ready but for its path and body.
pub(super) struct Post<'a> {
    pub provider: &'a Provider,
    pub asked: Asked<'a>,
    pub redactor: Arc<Redactor>,
    base: Url,
    headers: HeaderMap,
    limits: ModelLimits,
    began: Instant,
}

impl<'a> Post<'a> {
    /// Checks the address, the headers and the key of `provider`; connects to nothing.
    pub fn to(
        provider: &'a Provider,
        limits: &ModelLimits,
        model: &'a str,
        keys: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Post<'a>, CallFailure> {
        let base = checked_address(provider)?;
        let mut redactor = Redactor::default();
        let mut headers = checked_headers(provider, &mut redactor)?;
        let (key_header, before_key) = key_header(provider.wire);
        if let Some(name) = &provider.api_key_env
            && !headers.contains_key(&key_header)
        {
            let key = keys(name).map(|key| key.trim().to_owned()).filter(|key| !key.is_empty());
            let Some(key) = key.as_deref().map(Secret::new) else {
                let message = format!(
                    "provider \"{}\" needs a key and the environment variable {name} has none; set it and start again",
                    provider.name
                );
                return Err(failure(FailureClass::Auth, message));
            };
            let Ok(mut value) = HeaderValue::from_str(&format!("{before_key}{}", key.reveal())) else {
                let message =
                    format!("the key in {name} has characters that no key has; set {name} to a valid key");
                return Err(failure(FailureClass::Auth, message));
            };
            value.set_sensitive(true);
            headers.insert(key_header, value);
            redactor.hide(key);
        }
        let asked = Asked { provider: &provider.name, model, api_key_env: provider.api_key_env.as_deref() };
        Ok(Post {
            provider,
            asked,
            redactor: Arc::new(redactor),
            base,
            headers,
            limits: *limits,
            began: Instant::now(),
        })
    }

    /// Returns whether the address is one of OpenAI's own.
    pub fn is_openai(&self) -> bool {
        self.base
            .host_str()
            .is_some_and(|host| host == "api.openai.com" || host.ends_with(".openai.azure.com"))
    }

    /// Sends `body` and returns the answer once its headers say that it is a reply.
    pub async fn send(self, clients: &Clients, path: &str, body: Vec<u8>) -> Result<Answer<'a>, CallFailure> {
        let mut url = self.base.clone();
        url.set_path(&format!("{}/{path}", self.base.path().trim_end_matches('/')));
        let first_byte = self.began + Duration::from_millis(self.limits.first_byte_ms);
        let total = self.began + Duration::from_millis(self.limits.total_ms);
        tracing::debug!(
            provider = self.asked.provider,
            model = self.asked.model,
            bytes = body.len(),
            "call model"
        );
        let sent = async {
            let client = clients.of(&url).await?;
            client
                .post(url)
                .headers(self.headers.clone())
                .body(body)
                .send()
                .await
                .map_err(|error| self.network(&error))
        };
        let response = match timeout_at(first_byte.min(total), sent).await {
            Ok(response) => response?,
            Err(_) if first_byte < total => return Err(self.first_byte()),
            Err(_) => return Err(self.total()),
        };
        let answer = Answer { post: self, response, first_byte, total };
        answer.checked().await
    }

    fn network(&self, error: &reqwest::Error) -> CallFailure {
        if error.is_builder() {
            return failure(
                FailureClass::InvalidRequest,
                format!("could not make the request: {}", innermost(error)),
            );
        }
        let place = self.base.origin().ascii_serialization();
        let said = quote(&innermost(error), &self.redactor);
        let name = self.asked.provider;
        // An end in the middle of the body is a broken stream; a reset is the network's.
        if ends_early(error) {
            return failure(
                FailureClass::Broken,
                format!("provider \"{name}\" ended its answer too early: {said}"),
            );
        }
        let what = if error.is_connect() { "could not connect to" } else { "lost the connection to" };
        failure(FailureClass::Network, format!("{what} provider \"{name}\" at {place}: {said}"))
    }

    fn first_byte(&self) -> CallFailure {
        let wait = in_words(self.limits.first_byte_ms);
        failure(
            FailureClass::FirstByte,
            format!("provider \"{}\" did not begin to answer within {wait}", self.asked.provider),
        )
    }

    fn total(&self) -> CallFailure {
        let wait = in_words(self.limits.total_ms);
        failure(
            FailureClass::Total,
            format!(
                "the call to provider \"{}\" was not finished within the total limit of {wait}",
                self.asked.provider
            ),
        )
    }

    fn stalled(&self) -> CallFailure {
        let wait = in_words(self.limits.idle_ms);
        failure(
            FailureClass::Stalled,
            format!(
                "provider \"{}\" stopped sending in the middle of its reply for {wait}",
                self.asked.provider
            ),
        )
    }
}

/// What the reader of a body says of one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Eaten {
    /// It carried content: the idle limit starts anew.
    Progress,
    /// It kept the connection open and no more (G4).
    KeepAlive,
    /// The reply is complete; something less important may follow.
    Finishing,
    /// The last event was read.
    Done,
}

/// An answer that began as a reply.
pub(super) struct Answer<'a> {
    pub post: Post<'a>,
    response: Response,
    first_byte: Instant,
    total: Instant,
}

impl<'a> Answer<'a> {
    async fn checked(mut self) -> Result<Answer<'a>, CallFailure> {
        let status = self.response.status();
        if status.is_redirection() {
            return Err(self.redirected());
        }
        if !status.is_success() {
            return Err(self.refused(status.as_u16()).await);
        }
        let name = self.post.asked.provider;
        if let Some(encoding) = self.header(CONTENT_ENCODING).filter(|encoding| *encoding != "identity") {
            let message = format!(
                "provider \"{name}\" answered in encoding \"{}\", which was not asked for",
                quote(encoding, &self.post.redactor)
            );
            return Err(failure(FailureClass::Broken, message));
        }
        if self.header(CONTENT_TYPE).is_some_and(|kind| kind.trim_start().starts_with("text/html")) {
            let message = format!(
                "provider \"{name}\" answered with a web page in place of a reply; \
                 check `base_url`, and whether this network wants a login"
            );
            return Err(failure(FailureClass::InvalidRequest, message));
        }
        Ok(self)
    }

    /// Returns whether the provider answered with one JSON object although a stream was asked for.
    pub fn is_whole(&self) -> bool {
        self.header(CONTENT_TYPE).is_some_and(|kind| kind.trim_start().starts_with("application/json"))
    }

    fn header(&self, name: impl reqwest::header::AsHeaderName) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    fn redirected(&self) -> CallFailure {
        let target = self.header(LOCATION).and_then(|location| Url::parse(location).ok());
        let target = target.map_or_else(
            || "elsewhere".to_owned(),
            |url| format!("to {}", url.origin().ascii_serialization()),
        );
        let name = self.post.asked.provider;
        let message = format!(
            "provider \"{name}\" redirects {target}, which is not followed; set `base_url` to the final address"
        );
        failure(FailureClass::InvalidRequest, message)
    }

    async fn refused(&mut self, status: u16) -> CallFailure {
        let wait =
            retry_after_ms(self.header("retry-after-ms"), self.header("retry-after"), SystemTime::now());
        let mut body = Vec::new();
        let read = async {
            while let Ok(Some(piece)) = self.response.chunk().await {
                let room = MAX_ERROR_BYTES - body.len();
                body.extend_from_slice(&piece[..piece.len().min(room)]);
                if body.len() == MAX_ERROR_BYTES {
                    break;
                }
            }
        };
        // What has come by then is enough.
        let _ = timeout(ERROR_BODY_WAIT, read).await;
        let complaint = Complaint::from_body(&String::from_utf8_lossy(&body));
        let mut failed = classify(status, &complaint, self.post.asked, &self.post.redactor);
        if failed.class.is_passing()
            && let Some(wait) = wait
        {
            failed.message.push_str(&format!("; it asks to wait {}", in_words(wait)));
            failed.retry_after_ms = Some(wait);
        }
        failed
    }

    /// Feeds the body to `eat`, piece by piece, within the limits, until it is
    /// done or the body ends.
    pub async fn pump(
        &mut self,
        mut eat: impl FnMut(&[u8]) -> Result<Eaten, CallFailure>,
    ) -> Result<(), CallFailure> {
        let idle = Duration::from_millis(self.post.limits.idle_ms);
        // Many servers send headers at once and then read a long prompt: until
        // the first content the longer of the two limits holds.
        let mut until = self.first_byte.max(Instant::now() + idle);
        let mut finishing = false;
        loop {
            let piece = match timeout_at(until.min(self.total), self.response.chunk()).await {
                Ok(Ok(Some(piece))) => piece,
                Ok(Ok(None)) => return Ok(()),
                Ok(Err(error)) => return Err(self.post.network(&error)),
                Err(_) if self.total <= until => return Err(self.post.total()),
                Err(_) => return Err(self.post.stalled()),
            };
            let eaten = eat(&piece)?;
            let now = Instant::now();
            // A body that always has more never reaches the timer above.
            if now >= self.total {
                return Err(self.post.total());
            }
            match eaten {
                Eaten::Progress => until = now + idle,
                Eaten::KeepAlive => {}
                Eaten::Finishing if finishing => {}
                Eaten::Finishing => {
                    finishing = true;
                    until = now + idle.min(FINISHING_WAIT);
                }
                Eaten::Done => {
                    self.drain().await;
                    return Ok(());
                }
            }
        }
    }

    async fn drain(&mut self) {
        let mut left = MAX_ERROR_BYTES;
        let rest = async {
            while let Ok(Some(piece)) = self.response.chunk().await {
                left = left.saturating_sub(piece.len());
                if left == 0 {
                    break;
                }
            }
        };
        let _ = timeout(DRAIN_WAIT, rest).await;
    }
}

fn checked_address(provider: &Provider) -> Result<Url, CallFailure> {
    let name = &provider.name;
    let refuse = |why: String| failure(FailureClass::InvalidRequest, format!("provider \"{name}\": {why}"));
    let Some(text) = provider.base_url.as_deref() else {
        return Err(refuse("`base_url` is not set; set it to the address of its API".to_owned()));
    };
    let url = Url::parse(text).map_err(|error| refuse(format!("`base_url` is not an address: {error}")))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refuse(
            "`base_url` contains a user or password; name the key's variable in `api_key_env` instead"
                .to_owned(),
        ));
    }
    let host = url.host_str().unwrap_or_default();
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_loopback(host) => Ok(url),
        "http" => Err(refuse(format!(
            "plain http to \"{host}\" would show the key and the code to the network; use https"
        ))),
        other => {
            Err(refuse(format!("`base_url` begins with \"{other}\"; use https, or http on this machine")))
        }
    }
}

/// Where a wire has its key, and what stands before it.
fn key_header(wire: Wire) -> (HeaderName, &'static str) {
    match wire {
        Wire::AnthropicMessages => (HeaderName::from_static("x-api-key"), ""),
        Wire::OpenaiChat | Wire::OpenaiResponses | Wire::Scripted => (AUTHORIZATION, "Bearer "),
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

fn checked_headers(provider: &Provider, redactor: &mut Redactor) -> Result<HeaderMap, CallFailure> {
    const OURS: [&str; 5] = ["host", "content-length", "content-type", "transfer-encoding", "connection"];
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    if provider.wire == Wire::AnthropicMessages {
        // The version whose events we read; a header of the settings comes after it and wins.
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
    }
    for (name, value) in &provider.headers {
        redactor.hide(Secret::new(value));
        // The value may be a key, so that only the name is shown.
        let refused = || {
            failure(
                FailureClass::InvalidRequest,
                format!("provider \"{}\": header \"{name}\" cannot be sent", provider.name),
            )
        };
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refused())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| refused())?;
        if OURS.contains(&name.as_str()) {
            return Err(refused());
        }
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// Returns the text of the first cause, which is the one that says something.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

/// Tells whether the answer ended before it was whole, as opposed to a reset.
fn ends_early(error: &reqwest::Error) -> bool {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<std::io::Error>()
            && error.kind() == std::io::ErrorKind::UnexpectedEof
        {
            return true;
        }
        cause = error.source();
    }
    false
}
