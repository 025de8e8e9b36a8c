//! Sends one HTTP request to a provider, after checking its address and headers.
//!
//! Never follows a redirect, never sends a key to another address than the provider's, and never uses plain HTTP to
//! another machine.

mod answer;
mod clients;
mod keys;
mod network;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use adjutant_core::config::{ModelLimits, Provider, Proxy, Wire};
use adjutant_core::machine::retry::{CallFailure, FailureClass};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Request, Response, StatusCode, Url};
use tokio::time::{Instant, timeout_at};

pub(super) use answer::{BodyProgress, HttpAnswer};
pub(super) use clients::Clients;
pub use keys::RunCommand;

use super::failure::{Endpoint, failure};
use super::secret::{Redactor, Secret};
use super::waits::in_words;
use clients::ClientKey;
use keys::{FetchedKey, KeyRequest};
use network::Connection;

/// One request to a provider, without its key, path and body.
pub(super) struct Post<'a> {
    pub provider: &'a Provider,
    pub endpoint: Endpoint<'a>,
    pub redactor: Arc<Redactor>,
    base: Url,
    headers: HeaderMap,
    limits: ModelLimits,
    started: Instant,
    /// The proxy of the request, once it is known.
    proxy: Option<Proxy>,
}

impl<'a> Post<'a> {
    /// Checks the address and the headers of `provider`. It fetches no key and does not connect.
    pub fn to(provider: &'a Provider, limits: &ModelLimits, model: &'a str) -> Result<Post<'a>, CallFailure> {
        let base = checked_address(provider)?;
        let redactor = Redactor::default();
        let headers = checked_headers(provider, &redactor)?;
        Ok(Post {
            provider,
            endpoint: Endpoint { provider: &provider.name, model, key: provider.key.as_ref() },
            redactor: Arc::new(redactor),
            base,
            headers,
            limits: *limits,
            started: Instant::now(),
            proxy: None,
        })
    }

    /// Whether the address belongs to OpenAI or Azure OpenAI.
    pub fn is_openai(&self) -> bool {
        self.base
            .host_str()
            .is_some_and(|host| host == "api.openai.com" || host.ends_with(".openai.azure.com"))
    }

    /// Sends `body` and returns the answer as soon as its headers show that it is a reply.
    ///
    /// If the provider rejects a cached key of a command, runs the command again and resends the request once with
    /// the new key.
    pub async fn send(
        mut self,
        clients: &Clients,
        path: &str,
        body: Vec<u8>,
    ) -> Result<HttpAnswer<'a>, CallFailure> {
        let mut url = self.base.clone();
        url.set_path(&format!("{}/{path}", self.base.path().trim_end_matches('/')));
        let client_key = ClientKey::to(self.provider, &url, &*clients.keys.variables)?;
        self.proxy.clone_from(&client_key.proxy);
        if let Some((_, password)) = client_key.proxy.as_ref().and_then(|proxy| proxy.login.as_ref()) {
            self.redactor.hide(Secret::new(password));
        }
        let mut request = Request::new(Method::POST, url.clone());
        *request.headers_mut() = self.headers.clone();
        *request.body_mut() = Some(body.into());
        let key_request = KeyRequest { provider: self.provider, url: &url, redactor: &self.redactor };
        let key = if self.headers.contains_key(key_header(self.provider.wire).0) {
            // The settings give the key as a header.
            None
        } else {
            self.within_total(clients.keys.find(&key_request)).await?
        };
        let (mut response, mut first_byte) =
            self.send_once(clients, &client_key, &request, key.as_ref()).await?;
        if response.status() == StatusCode::UNAUTHORIZED
            && let Some(refused) = &key
            && let Some(renewed) = self.within_total(clients.keys.renewed(refused, &key_request)).await?
        {
            (response, first_byte) = self.send_once(clients, &client_key, &request, Some(&renewed)).await?;
        }
        let total = self.total_end();
        HttpAnswer { post: self, response, first_byte, total }.checked().await
    }

    /// Sends the request with `key`. Returns the answer, and the deadline for its first content.
    async fn send_once(
        &self,
        clients: &Clients,
        client_key: &ClientKey,
        request: &Request,
        key: Option<&FetchedKey>,
    ) -> Result<(Response, Instant), CallFailure> {
        let mut request = request.try_clone().ok_or_else(|| {
            failure(FailureClass::InvalidRequest, "could not make the request: its body is gone".to_owned())
        })?;
        if let Some(FetchedKey { key, .. }) = key {
            let (name, prefix) = key_header(self.provider.wire);
            let value = HeaderValue::from_str(&format!("{prefix}{}", key.reveal()));
            let mut value = value.map_err(|_| {
                failure(FailureClass::Auth, "the key contains characters that a key cannot have".to_owned())
            })?;
            value.set_sensitive(true);
            request.headers_mut().insert(name, value);
        }
        tracing::debug!(
            provider = self.endpoint.provider,
            model = self.endpoint.model,
            bytes = request.body().and_then(|body| body.as_bytes()).map_or(0, <[u8]>::len),
            proxy = self.proxy.as_ref().map(|proxy| proxy.address.as_str()),
            "call model"
        );
        let first_byte = Instant::now() + Duration::from_millis(self.limits.first_byte_ms);
        let total = self.total_end();
        let sent = async {
            let client = clients.of(client_key).await?;
            client.execute(request).await.map_err(|error| {
                if network::is_untrusted(&error) {
                    clients.forget(client_key);
                }
                self.network_failure(&error)
            })
        };
        match timeout_at(first_byte.min(total), sent).await {
            Ok(response) => Ok((response?, first_byte)),
            Err(_) if first_byte < total => Err(self.first_byte_failure()),
            Err(_) => Err(self.total_failure()),
        }
    }

    /// Waits for `wait`, at most until the total limit of the call.
    async fn within_total<T>(
        &self,
        wait: impl Future<Output = Result<T, CallFailure>>,
    ) -> Result<T, CallFailure> {
        timeout_at(self.total_end(), wait).await.unwrap_or_else(|_| Err(self.total_failure()))
    }

    fn total_end(&self) -> Instant {
        self.started + Duration::from_millis(self.limits.total_ms)
    }

    fn network_failure(&self, error: &reqwest::Error) -> CallFailure {
        let connection = Connection {
            provider: self.endpoint.provider,
            origin: self.base.origin().ascii_serialization(),
            proxy: self.proxy.as_ref(),
            ca_file: self.provider.reach.ca_file.as_deref(),
            redactor: &self.redactor,
        };
        connection.failure_of(error)
    }

    fn first_byte_failure(&self) -> CallFailure {
        let wait = in_words(self.limits.first_byte_ms);
        failure(
            FailureClass::FirstByte,
            format!("provider \"{}\" did not begin to answer within {wait}", self.endpoint.provider),
        )
    }

    fn total_failure(&self) -> CallFailure {
        let wait = in_words(self.limits.total_ms);
        failure(
            FailureClass::Total,
            format!(
                "the call to provider \"{}\" was not finished within the total limit of {wait}",
                self.endpoint.provider
            ),
        )
    }

    fn stalled_failure(&self) -> CallFailure {
        let wait = in_words(self.limits.idle_ms);
        failure(
            FailureClass::Stalled,
            format!(
                "provider \"{}\" stopped sending in the middle of its reply for {wait}",
                self.endpoint.provider
            ),
        )
    }
}

fn checked_address(provider: &Provider) -> Result<Url, CallFailure> {
    let name = &provider.name;
    let refuse =
        |reason: String| failure(FailureClass::InvalidRequest, format!("provider \"{name}\": {reason}"));
    let Some(text) = provider.base_url.as_deref() else {
        return Err(refuse("`base_url` is not set; set it to the address of its API".to_owned()));
    };
    usable_address(text).map_err(refuse)
}

/// Returns an address to which a call may go, or why none may.
pub fn usable_address(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("`base_url` is not an address: {error}"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "`base_url` contains a user or password; name the key's variable in `api_key_env` instead"
                .to_owned(),
        );
    }
    let host = url.host_str().unwrap_or_default();
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_loopback(host) => Ok(url),
        "http" => {
            Err(format!("plain http to \"{host}\" would show the key and the code to the network; use https"))
        }
        other => Err(format!("`base_url` begins with \"{other}\"; use https, or http on this machine")),
    }
}

/// Returns the header that carries the key, and the text before the key in it.
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

fn checked_headers(provider: &Provider, redactor: &Redactor) -> Result<HeaderMap, CallFailure> {
    const RESERVED: [&str; 5] = ["host", "content-length", "content-type", "transfer-encoding", "connection"];
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    if provider.wire == Wire::AnthropicMessages {
        // The version of the events that `anthropic::event` parses. The settings can replace this header.
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
    }
    for (name, value) in &provider.headers {
        redactor.hide(Secret::new(value));
        // The value may be a key, so the message has only the name.
        let refused = || {
            failure(
                FailureClass::InvalidRequest,
                format!("provider \"{}\": header \"{name}\" cannot be sent", provider.name),
            )
        };
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refused())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| refused())?;
        if RESERVED.contains(&name.as_str()) {
            return Err(refused());
        }
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}
