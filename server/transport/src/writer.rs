//! The one thread that owns the outgoing stream.
//!
//! It takes what is queued, writes up to 256 frames at once and flushes
//! once. It never waits for anything but the queue and the stream itself.

use std::io::{self, Write};
use std::thread;

use tokio::sync::{mpsc, oneshot};

use super::framing::push_header;
use super::limits::{Frame, Permit};
use super::out::WeakOut;
use super::reader::Framing;
use super::tap::MessageTap;

/// Most frames in one write.
const BATCH_FRAMES: usize = 256;
/// Size of a write after which no more frames join it.
const BATCH_BYTES: usize = 256 * 1024;

/// Starts the writer; the receiver resolves when it has stopped.
pub(super) fn spawn(
    framing: Framing,
    writer: impl Write + Send + 'static,
    frames: mpsc::UnboundedReceiver<Frame>,
    out: WeakOut,
    seen: MessageTap,
) -> io::Result<oneshot::Receiver<()>> {
    let (stopped, done) = oneshot::channel();
    let name = "transport-writer".to_owned();
    thread::Builder::new().name(name).spawn(move || {
        if let Err(error) = run(framing, writer, frames, &out, seen) {
            tracing::warn!(%error, "could not write to the client");
        }
        out.gauge.close();
        // Nobody listens when the connection was dropped without its end.
        let _ = stopped.send(());
    })?;
    Ok(done)
}

/// Writes until it is told to stop, all senders are gone, or the stream fails.
fn run(
    framing: Framing,
    mut writer: impl Write,
    mut frames: mpsc::UnboundedReceiver<Frame>,
    out: &WeakOut,
    seen: MessageTap,
) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(BATCH_BYTES / 4);
    let mut tolls = Vec::with_capacity(BATCH_FRAMES);
    let mut open = true;
    while open {
        let Some(first) = frames.blocking_recv() else {
            break;
        };
        let (mut next, mut large) = (Some(first), None);
        while let Some(frame) = next {
            if matches!(frame.toll, Permit::Close) {
                open = false;
                break;
            }
            seen(&frame.body);
            if framing == Framing::Headers {
                push_header(&mut bytes, frame.body.len());
            }
            tolls.push((frame.body.len(), frame.toll));
            let mut body = frame.body;
            if framing == Framing::Lines {
                // No message has a line end of its own: the JSON is compact, and strings escape theirs.
                body.reserve_exact(1);
                body.push(b'\n');
            }
            if body.len() >= BATCH_BYTES {
                // It is a write of its own, and its memory is not taken twice.
                large = Some(body);
                break;
            }
            bytes.extend_from_slice(&body);
            let full = tolls.len() >= BATCH_FRAMES || bytes.len() >= BATCH_BYTES;
            next = if full { None } else { frames.try_recv().ok() };
        }
        let whole = writer.write_all(&bytes).and_then(|()| writer.write_all(&large.unwrap_or_default()));
        let written = whole.and_then(|()| writer.flush());
        out.gauge.release(tolls.drain(..));
        written?;
        bytes.clear();
    }
    Ok(())
}
