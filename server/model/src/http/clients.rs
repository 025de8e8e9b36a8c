//! The HTTP clients: how one is built, and which are kept between calls.
//!
//! Builds none before the first call, and none that checks less than the platform does.

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
/// Longer than a person thinks between two prompts, most of the time.
const POOL_IDLE: Duration = Duration::from_secs(300);
/// How long an open stream may be silent before the other side is endpoint whether it is still there:
/// over HTTP/2 a line that is dead looks like a model that thinks.
const PING_AFTER: Duration = Duration::from_secs(30);
const PING_WAIT: Duration = Duration::from_secs(15);
/// The most clients kept: one for each way that settings ever named; the one unused longest goes.
const MAX_KEPT: usize = 8;

/// What is kept between calls: connections, and the keys that were asked for.
pub(crate) struct Clients {
    pub(crate) keys: Keys,
    /// The one used last stands last.
    kept: Mutex<Vec<Arc<CachedClient>>>,
}

struct CachedClient {
    way: ClientKey,
    client: OnceCell<Client>,
}

/// All that makes one client differ from another.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct ClientKey {
    secure: bool,
    ca_file: Option<String>,
    pub proxy: Option<Proxy>,
}

impl ClientKey {
    /// Returns the way to the address of a provider.
    pub fn to(provider: &Provider, url: &Url, variables: &Variables) -> Result<ClientKey, CallFailure> {
        if url.scheme() != "https" {
            // Plain HTTP stays on this machine.
            return Ok(ClientKey { secure: false, ca_file: None, proxy: None });
        }
        let port = url.port_or_known_default().unwrap_or(443);
        let found = provider.reach.proxy_for(url.host_str().unwrap_or_default(), port, variables);
        let proxy = found.map_err(|why| {
            let message = format!("provider \"{}\" cannot be reached: {why}", provider.name);
            failure(FailureClass::InvalidRequest, message)
        })?;
        Ok(ClientKey { secure: true, ca_file: provider.reach.ca_file.clone(), proxy })
    }
}

impl Clients {
    pub fn new(variables: Box<Variables>) -> Clients {
        Clients { keys: Keys::new(variables), kept: Mutex::default() }
    }

    /// Returns the client for a way, built when it is first needed.
    pub(super) async fn of(&self, way: &ClientKey) -> Result<Client, CallFailure> {
        let kept = self.cached(way);
        let client = kept.client.get_or_try_init(|| async {
            let way = way.clone();
            // Reading the certificates of the platform takes milliseconds of files.
            let built = tokio::task::spawn_blocking(move || build(&way)).await;
            built
                .unwrap_or_else(|error| Err(error.to_string()))
                .map_err(|why| failure(FailureClass::InvalidRequest, format!("could not set up HTTP: {why}")))
        });
        client.await.cloned()
    }

    fn cached(&self, way: &ClientKey) -> Arc<CachedClient> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let one = match kept.iter().position(|one| one.way == *way) {
            Some(at) => kept.remove(at),
            None => Arc::new(CachedClient { way: way.clone(), client: OnceCell::new() }),
        };
        if kept.len() >= MAX_KEPT {
            // Calls that use it have it for themselves and end well.
            kept.remove(0);
        }
        kept.push(Arc::clone(&one));
        one
    }

    /// Forgets the client of a way that did not know a certificate: the file may be mended by now.
    pub(super) fn forget(&self, way: &ClientKey) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).retain(|one| one.way != *way);
    }

    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// Builds a client; an error says what to do.
fn build(way: &ClientKey) -> Result<Client, String> {
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
        .tcp_nodelay(true)
        // What the environment says was judged already.
        .no_proxy();
    let built = if way.secure { secure(builder, way)?.build() } else { plain(builder).build() };
    built.map_err(|error| match &way.ca_file {
        Some(path) => format!("{}; look at `http.ca_file` ({path:?})", innermost(&error)),
        None => format!("{}; `SSL_CERT_FILE` or `http.ca_file` can name certificates", innermost(&error)),
    })
}

fn secure(mut builder: ClientBuilder, way: &ClientKey) -> Result<ClientBuilder, String> {
    builder =
        builder.https_only(true).http2_keep_alive_interval(PING_AFTER).http2_keep_alive_timeout(PING_WAIT);
    if let Some(path) = &way.ca_file {
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
    let Some(proxy) = &way.proxy else { return Ok(builder) };
    let address = Url::parse(&proxy.address)
        .map_err(|error| format!("{} is no address of a proxy: {error}", proxy.named_by))?;
    // A login goes apart from the address, which libraries show in what they log.
    let mut through = reqwest::Proxy::custom(move |_| Some(address.clone()));
    if let Some((user, password)) = &proxy.login {
        through = through.basic_auth(user, password);
    }
    Ok(builder.proxy(through))
}

fn plain(builder: ClientBuilder) -> ClientBuilder {
    // The name is pinned, so that no resolver can send a plain request elsewhere.
    let loopback = [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)];
    let loopback = loopback.map(|address| SocketAddr::new(address, 0));
    builder.tls_certs_only([]).resolve_to_addrs("localhost", &loopback)
}
