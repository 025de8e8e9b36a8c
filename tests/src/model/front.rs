//! TLS in front of the model double: HTTP/1.1 byte for byte, or HTTP/2 if both sides choose it.
//!
//! Never adds to the answers of the double; a cut or a hold there is a cut or a hold here.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use hyper::body::Incoming;
use hyper::header::{HOST, HeaderValue, TRANSFER_ENCODING};
use hyper::service::service_fn;
use hyper::{Request, Response, Uri};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::copy_bidirectional;
use tokio::net::TcpStream;

use super::ModelServer;
use crate::authority::Authority;
use crate::side::Side;

/// The protocols that the handshake offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    Http1,
    Http2,
    /// A server without ALPN.
    Nothing,
}

/// The result of one handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// The chosen protocol; none without ALPN.
    Done(Option<String>),
    Failed,
}

/// The front: a provider with https.
pub struct TlsFront {
    side: Side,
    seen: Arc<Mutex<Vec<Handshake>>>,
}

impl TlsFront {
    /// Starts a front for `server`, with a certificate of `authority` for `names`.
    pub fn start(server: &ModelServer, authority: &Authority, names: &[&str], offer: Offer) -> TlsFront {
        let protocols: &[&str] = match offer {
            Offer::Http1 => &["http/1.1"],
            Offer::Http2 => &["h2", "http/1.1"],
            Offer::Nothing => &[],
        };
        let acceptor = authority.acceptor(names, protocols);
        let seen: Arc<Mutex<Vec<Handshake>>> = Arc::default();
        let (upstream, noted) = (server.address, Arc::clone(&seen));
        let side = Side::start(move |socket, _| {
            let (acceptor, seen) = (acceptor.clone(), Arc::clone(&noted));
            async move {
                let note = |handshake| seen.lock().unwrap_or_else(PoisonError::into_inner).push(handshake);
                let Ok(mut tls) = acceptor.accept(socket).await else { return note(Handshake::Failed) };
                let chosen =
                    tls.get_ref().1.alpn_protocol().map(|name| String::from_utf8_lossy(name).into_owned());
                note(Handshake::Done(chosen.clone()));
                if chosen.as_deref() == Some("h2") {
                    let service = service_fn(move |request| forward(request, upstream));
                    let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                    let _ = server.serve_connection(TokioIo::new(tls), service).await;
                } else if let Ok(mut upstream) = TcpStream::connect(upstream).await {
                    let _ = copy_bidirectional(&mut tls, &mut upstream).await;
                }
            }
        });
        TlsFront { side, seen }
    }

    /// Returns the `base_url` for settings, with one of its names.
    pub fn base_url(&self, name: &str) -> String {
        format!("https://{name}:{}/v1", self.side.address.port())
    }

    /// Returns the address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.side.address
    }

    /// Returns the handshakes so far.
    pub fn handshakes(&self) -> Vec<Handshake> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Forwards one request over its own connection; a reset of the stream closes that connection.
async fn forward(
    mut request: Request<Incoming>,
    to: SocketAddr,
) -> Result<Response<Incoming>, Box<dyn std::error::Error + Send + Sync>> {
    let socket = TcpStream::connect(to).await?;
    socket.set_nodelay(true)?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(socket)).await?;
    tokio::spawn(connection);
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str()).parse::<Uri>()?;
    *request.uri_mut() = path;
    request.headers_mut().insert(HOST, HeaderValue::from_str(&to.to_string())?);
    let mut response = sender.send_request(request).await?;
    response.headers_mut().remove(TRANSFER_ENCODING);
    Ok(response)
}
