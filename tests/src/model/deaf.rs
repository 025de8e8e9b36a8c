//! A provider over HTTP/2 that stops cooperating: it opens no window, answers no ping, or never ends a head.
//!
//! Never answers a request. It writes frames by hand, because no library misbehaves like this.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::authority::Authority;
use crate::side::Side;

/// The misbehaviour after the connection is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deaf {
    /// Accepts no byte of a request's body.
    NoWindow,
    /// Reads everything and answers nothing, not even a ping.
    NoAnswer,
    /// Reads nothing any more.
    NoReading,
    /// Sends status 200 and then nothing more.
    NoBody,
    /// Sends an endless head.
    EndlessHead,
}

/// The double: a provider with https.
pub struct DeafHttp2 {
    side: Side,
}

const DATA_WINDOW: u8 = 4;

impl DeafHttp2 {
    /// Listens with a certificate of `authority` for `names`.
    pub fn start(authority: &Authority, names: &[&str], deaf: Deaf) -> DeafHttp2 {
        let acceptor = authority.acceptor(names, &["h2"]);
        let side = Side::start(move |socket, _| {
            let acceptor = acceptor.clone();
            async move {
                let Ok(mut tls) = acceptor.accept(socket).await else { return };
                let window = if deaf == Deaf::NoWindow { 0_u32 } else { 1 << 20 };
                let setting = [&[0, DATA_WINDOW][..], &window.to_be_bytes()].concat();
                let mut greeting = frame(4, 0, 0, &setting);
                // Acknowledge the client's settings, so that it continues.
                greeting.extend(frame(4, 1, 0, &[]));
                if tls.write_all(&greeting).await.is_err() {
                    return;
                }
                if deaf == Deaf::NoReading {
                    return std::future::pending().await;
                }
                // The request comes in one or two reads: preface, settings and headers.
                let mut bytes = vec![0; 64 << 10];
                let mut read = 0;
                while read < 100 {
                    match tls.read(&mut bytes).await {
                        Ok(0) | Err(_) => return,
                        Ok(more) => read += more,
                    }
                }
                let begun = match deaf {
                    // 0x88 is ":status: 200".
                    Deaf::NoBody => frame(1, 4, 1, &[0x88]),
                    Deaf::EndlessHead => frame(1, 0, 1, &[0x88]),
                    _ => Vec::new(),
                };
                let _ = tls.write_all(&begun).await;
                if deaf == Deaf::EndlessHead {
                    // A header without index: the name "x" and a value of 16 000 bytes.
                    let field = [&[0, 1, b'x', 0x7f, 0x81, 0x7c][..], &[b'y'; 16_000]].concat();
                    while tls.write_all(&frame(9, 0, 1, &field)).await.is_ok() {}
                    return;
                }
                while tls.read(&mut bytes).await.is_ok_and(|read| read > 0) {}
            }
        });
        DeafHttp2 { side }
    }

    /// Returns the `base_url` for settings, with one of its names.
    pub fn base_url(&self, name: &str) -> String {
        format!("https://{name}:{}/v1", self.side.address.port())
    }
}

/// One frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}
