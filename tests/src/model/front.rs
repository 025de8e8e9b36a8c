//! TLS before the model double: HTTP/1.1 byte for byte, or HTTP/2 where it is offered and taken.
//!
//! Adds nothing to what the double answers; what is cut or held there is cut or held here.

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

/// What is offered in the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    Http1,
    Http2,
    /// A server that knows nothing of the choice.
    Nothing,
}

/// What came of one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// The protocol that was chosen, if one was.
    Done(Option<String>),
    Failed,
}

/// The front; a provider with https.
pub struct TlsFront {
    side: Side,
    seen: Arc<Mutex<Vec<Handshake>>>,
}

impl TlsFront {
    /// Stands before `server`, known by `names` through `authority`.
    pub fn start(server: &ModelServer, authority: &Authority, names: &[&str], offer: Offer) -> TlsFront {
        let protocols: &[&str] = match offer {
            Offer::Http1 => &["http/1.1"],
            Offer::Http2 => &["h2", "http/1.1"],
            Offer::Nothing => &[],
        };
        let acceptor = authority.acceptor(names, protocols);
        let seen: Arc<Mutex<Vec<Handshake>>> = Arc::default();
        let (behind, noted) = (server.address, Arc::clone(&seen));
        let side = Side::start(move |socket, _| {
            let (acceptor, seen) = (acceptor.clone(), Arc::clone(&noted));
            async move {
                let note = |handshake| seen.lock().unwrap_or_else(PoisonError::into_inner).push(handshake);
                let Ok(mut tls) = acceptor.accept(socket).await else { return note(Handshake::Failed) };
                let chosen =
                    tls.get_ref().1.alpn_protocol().map(|name| String::from_utf8_lossy(name).into_owned());
                note(Handshake::Done(chosen.clone()));
                if chosen.as_deref() == Some("h2") {
                    let service = service_fn(move |request| forward(request, behind));
                    let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                    let _ = server.serve_connection(TokioIo::new(tls), service).await;
                } else if let Ok(mut upstream) = TcpStream::connect(behind).await {
                    let _ = copy_bidirectional(&mut tls, &mut upstream).await;
                }
            }
        });
        TlsFront { side, seen }
    }

    /// Returns the `base_url` for settings, by one of its names.
    pub fn base_url(&self, name: &str) -> String {
        format!("https://{name}:{}/v1", self.side.address.port())
    }

    /// Returns where it listens.
    pub fn address(&self) -> SocketAddr {
        self.side.address
    }

    /// Returns what came of each connection so far.
    pub fn handshakes(&self) -> Vec<Handshake> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Hands one request on over a connection of its own; a stream that is reset closes it.
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
