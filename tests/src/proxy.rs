//! A proxy double that speaks CONNECT, can require a login, and connects names to loopback addresses.
//!
//! Never asks a resolver: a name without a rule does not exist.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy_bidirectional};
use tokio::net::TcpStream;

use crate::authority::Authority;
use crate::side::Side;

/// One CONNECT as it arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connect {
    /// Name and port.
    pub target: String,
    /// The value of `Proxy-Authorization`.
    pub login: Option<String>,
    /// The status of the answer.
    pub status: u16,
    /// The whole head of the request.
    pub head: String,
}

/// The behaviour of a proxy.
#[derive(Clone, Default)]
pub struct Rules {
    places: BTreeMap<String, SocketAddr>,
    login: Option<String>,
    status: Option<u16>,
}

impl Rules {
    /// Connects `target`, a name and a port, to an address.
    pub fn lead(mut self, target: &str, to: SocketAddr) -> Rules {
        self.places.insert(target.to_owned(), to);
        self
    }

    /// Requires this login.
    pub fn login(mut self, user: &str, password: &str) -> Rules {
        self.login = Some(format!("Basic {}", base64(format!("{user}:{password}").as_bytes())));
        self
    }

    /// Answers every request with this status.
    pub fn refuse(mut self, status: u16) -> Rules {
        self.status = Some(status);
        self
    }
}

/// The double. Dropping it ends every tunnel.
pub struct ProxyServer {
    side: Side,
    seen: Arc<Mutex<Vec<Connect>>>,
}

impl ProxyServer {
    /// Starts a proxy without TLS.
    pub fn start(rules: Rules) -> ProxyServer {
        ProxyServer::with(rules, None)
    }

    /// Starts a proxy with TLS, under the name `localhost`.
    pub fn start_with_tls(rules: Rules, authority: &Authority) -> ProxyServer {
        ProxyServer::with(rules, Some(authority))
    }

    fn with(rules: Rules, authority: Option<&Authority>) -> ProxyServer {
        let acceptor = authority.map(|authority| authority.acceptor(&["localhost"], &[]));
        let seen: Arc<Mutex<Vec<Connect>>> = Arc::default();
        let noted = Arc::clone(&seen);
        let side = Side::start(move |socket, _| {
            let (rules, seen, acceptor) = (rules.clone(), Arc::clone(&noted), acceptor.clone());
            async move {
                match acceptor {
                    None => serve(socket, &rules, &seen).await,
                    Some(acceptor) => {
                        if let Ok(tls) = acceptor.accept(socket).await {
                            serve(tls, &rules, &seen).await;
                        }
                    }
                }
            }
        });
        ProxyServer { side, seen }
    }

    /// Returns its URL; `login`, which is `user:password@` or empty, goes before the address.
    pub fn url(&self, login: &str) -> String {
        format!("http://{login}{}", self.side.address)
    }

    /// Returns the port it listens on.
    pub fn port(&self) -> u16 {
        self.side.address.port()
    }

    /// Returns the requests so far.
    pub fn connects(&self) -> Vec<Connect> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn serve(mut client: impl AsyncRead + AsyncWrite + Unpin, rules: &Rules, seen: &Mutex<Vec<Connect>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match client.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let login = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("proxy-authorization").then(|| value.to_owned())
    });
    let upstream = match rules.places.get(&target) {
        Some(to) => TcpStream::connect(to).await.ok(),
        None => None,
    };
    let status = match &upstream {
        _ if rules.login.is_some() && rules.login != login => 407,
        _ if rules.status.is_some() => rules.status.unwrap_or_default(),
        None => 502,
        Some(_) => 200,
    };
    let connect = Connect { target, login, status, head };
    seen.lock().unwrap_or_else(PoisonError::into_inner).push(connect);
    let more = if status == 407 { "Proxy-Authenticate: Basic realm=\"work\"\r\n" } else { "" };
    let answer = format!("HTTP/1.1 {status} Said\r\n{more}\r\n");
    if client.write_all(answer.as_bytes()).await.is_err() || status != 200 {
        let _ = client.shutdown().await;
        return;
    }
    if let Some(mut upstream) = upstream {
        let _ = copy_bidirectional(&mut client, &mut upstream).await;
    }
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits =
            three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place)) as usize & 63] as char;
            text.push(if place > three.len() { '=' } else { letter });
        }
    }
    text
}
