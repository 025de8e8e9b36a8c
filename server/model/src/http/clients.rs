//! Builds HTTP clients and caches them between calls.
//!
//! Never builds one before the first call, and never checks a certificate less strictly than the platform.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use adjutant_core::config::{Provider, Proxy};
use adjutant_core::machine::retry::{CallFailure, FailureClass};
use reqwest::{Certificate, Client, ClientBuilder, Url};
use tokio::sync::OnceCell;

use super::keys::{Keys, Variables};
use super::network::innermost;
use crate::failure::failure;
use adjutant_host::settings::own_files;

const CONNECT_WAIT: Duration = Duration::from_secs(15);
/// Longer than the usual pause between two prompts.
const POOL_IDLE: Duration = Duration::from_secs(300);
/// How long a stream may be silent before a ping is sent. Without it, a dead HTTP/2 connection looks like a model that
/// thinks.
const PING_AFTER: Duration = Duration::from_secs(30);
const PING_WAIT: Duration = Duration::from_secs(15);
/// The number of cached clients. The least recently used one is removed first.
const MAX_CLIENTS: usize = 8;

/// The clients with their connections, and the keys, which calls share.
pub(crate) struct Clients {
    pub(crate) keys: Keys,
    /// In order of use, the latest last.
    cached: Mutex<Vec<Arc<CachedClient>>>,
}

struct CachedClient {
    key: ClientKey,
    client: OnceCell<Client>,
}

/// The properties of a client. Calls with the same properties share a client.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct ClientKey {
    secure: bool,
    ca_file: Option<String>,
    pub proxy: Option<Proxy>,
}

impl ClientKey {
    /// Returns the properties for requests to `url`.
    pub fn to(provider: &Provider, url: &Url, variables: &Variables) -> Result<ClientKey, CallFailure> {
        if url.scheme() != "https" {
            // Plain HTTP goes only to this machine.
            return Ok(ClientKey { secure: false, ca_file: None, proxy: None });
        }
        let port = url.port_or_known_default().unwrap_or(443);
        let found = provider.reach.proxy_for(url.host_str().unwrap_or_default(), port, variables);
        let proxy = found.map_err(|reason| {
            let message = format!("provider \"{}\" cannot be reached: {reason}", provider.name);
            failure(FailureClass::InvalidRequest, message)
        })?;
        Ok(ClientKey { secure: true, ca_file: provider.reach.ca_file.clone(), proxy })
    }
}

impl Clients {
    pub fn new(variables: Box<Variables>) -> Clients {
        Clients { keys: Keys::new(variables), cached: Mutex::default() }
    }

    /// Returns the client with these properties; builds it at the first use.
    pub(super) async fn of(&self, key: &ClientKey) -> Result<Client, CallFailure> {
        let cached = self.find_or_insert(key);
        let client = cached.client.get_or_try_init(|| async {
            let key = key.clone();
            // Reading the certificates of the platform blocks for milliseconds.
            let built = tokio::task::spawn_blocking(move || build(&key)).await;
            built
                .unwrap_or_else(|error| Err(error.to_string()))
                .map_err(|why| failure(FailureClass::InvalidRequest, format!("could not set up HTTP: {why}")))
        });
        client.await.cloned()
    }

    fn find_or_insert(&self, key: &ClientKey) -> Arc<CachedClient> {
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        let one = match cached.iter().position(|one| one.key == *key) {
            Some(at) => cached.remove(at),
            None => Arc::new(CachedClient { key: key.clone(), client: OnceCell::new() }),
        };
        if cached.len() >= MAX_CLIENTS {
            // Running calls hold their own reference to the removed client.
            cached.remove(0);
        }
        cached.push(Arc::clone(&one));
        one
    }

    /// Removes the client that did not trust a certificate: the user may fix the file before the next call.
    pub(super) fn forget(&self, key: &ClientKey) {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner).retain(|one| one.key != *key);
    }

    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// Builds a client. The error names a setting to correct.
fn build(key: &ClientKey) -> Result<Client, String> {
    // It fails only if a crypto provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .user_agent(concat!("adjutant/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .connect_timeout(CONNECT_WAIT)
        .pool_idle_timeout(POOL_IDLE)
        .tcp_keepalive(Duration::from_secs(30))
        .tcp_nodelay(true)
        // `ClientKey` has the proxy of the environment already.
        .no_proxy();
    let built = if key.secure { secure(builder, key)?.build() } else { plain(builder).build() };
    built.map_err(|error| match &key.ca_file {
        Some(path) => format!("{}; look at `http.ca_file` ({path:?})", innermost(&error)),
        None => format!("{}; `SSL_CERT_FILE` or `http.ca_file` can name certificates", innermost(&error)),
    })
}

fn secure(mut builder: ClientBuilder, key: &ClientKey) -> Result<ClientBuilder, String> {
    builder =
        builder.https_only(true).http2_keep_alive_interval(PING_AFTER).http2_keep_alive_timeout(PING_WAIT);
    if let Some(path) = &key.ca_file {
        let pem =
            own_files::certificates(path).map_err(|why| format!("the file {why}; correct `http.ca_file`"))?;
        let bad = |error: reqwest::Error| {
            format!(
                "the file {path:?} holds a certificate that cannot be read ({}); correct `http.ca_file`",
                innermost(&error)
            )
        };
        builder = builder.tls_certs_merge(Certificate::from_pem_bundle(&pem).map_err(bad)?);
    }
    let Some(proxy) = &key.proxy else { return Ok(builder) };
    let address = Url::parse(&proxy.address)
        .map_err(|error| format!("{} is no address of a proxy: {error}", proxy.named_by))?;
    // The login is not part of the address, because libraries log the address.
    let mut proxy_of_all = reqwest::Proxy::custom(move |_| Some(address.clone()));
    if let Some((user, password)) = &proxy.login {
        proxy_of_all = proxy_of_all.basic_auth(user, password);
    }
    Ok(builder.proxy(proxy_of_all))
}

fn plain(builder: ClientBuilder) -> ClientBuilder {
    // `localhost` always resolves to this machine, so that no resolver can send a plain request elsewhere.
    let loopback = [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)];
    let loopback = loopback.map(|address| SocketAddr::new(address, 0));
    builder.tls_certs_only([]).resolve_to_addrs("localhost", &loopback)
}
