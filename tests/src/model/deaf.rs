//! A provider over HTTP/2 that stops taking part: it opens no window, answers no ping, or ends no head.
//!
//! Writes frames by hand, for no library misbehaves like this; never answers a request.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::authority::Authority;
use crate::side::Side;

/// What it does once the connection is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deaf {
    /// Lets no byte of a request's body through.
    NoWindow,
    /// Reads everything and answers nothing, no ping either.
    NoAnswer,
    /// Reads nothing any more.
    NoReading,
    /// Begins an answer of status 200 and says nothing more.
    NoBody,
    /// Sends a head without end.
    EndlessHead,
}

/// The double; a provider with https.
pub struct DeafHttp2 {
    side: Side,
}

const DATA_WINDOW: u8 = 4;

impl DeafHttp2 {
    /// Listens, known by `names` through `authority`.
    pub fn start(authority: &Authority, names: &[&str], deaf: Deaf) -> DeafHttp2 {
        let acceptor = authority.acceptor(names, &["h2"]);
        let side = Side::start(move |socket, _| {
            let acceptor = acceptor.clone();
            async move {
                let Ok(mut tls) = acceptor.accept(socket).await else { return };
                let window = if deaf == Deaf::NoWindow { 0_u32 } else { 1 << 20 };
                let setting = [&[0, DATA_WINDOW][..], &window.to_be_bytes()].concat();
                let mut greeting = frame(4, 0, 0, &setting);
                // The settings of the client are taken, so that it goes on.
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
                    // A header that is not indexed, named "x", with a value of 16 000 bytes.
                    let field = [&[0, 1, b'x', 0x7f, 0x81, 0x7c][..], &[b'y'; 16_000]].concat();
                    while tls.write_all(&frame(9, 0, 1, &field)).await.is_ok() {}
                    return;
                }
                while tls.read(&mut bytes).await.is_ok_and(|read| read > 0) {}
            }
        });
        DeafHttp2 { side }
    }

    /// Returns the `base_url` for settings, by one of its names.
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
