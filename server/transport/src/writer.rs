//! The thread that owns the outgoing stream.
//!
//! It writes up to 256 queued frames at once and flushes once. Never waits for anything except the queue
//! and the stream.

use std::io::{self, Write};
use std::thread;

use tokio::sync::{mpsc, oneshot};

use super::framing::push_header;
use super::limits::{Frame, Permit};
use super::out::WeakOut;
use super::reader::Framing;
use super::tap::MessageTap;

/// The most frames in one write.
const BATCH_FRAMES: usize = 256;
/// A write of this many bytes gets no further frames.
const BATCH_BYTES: usize = 256 * 1024;

/// Starts the writer. The receiver resolves when the writer has stopped.
pub(super) fn spawn(
    framing: Framing,
    writer: impl Write + Send + 'static,
    frames: mpsc::UnboundedReceiver<Frame>,
    out: WeakOut,
    tap: MessageTap,
) -> io::Result<oneshot::Receiver<()>> {
    let (stopped, done) = oneshot::channel();
    let name = "transport-writer".to_owned();
    thread::Builder::new().name(name).spawn(move || {
        if let Err(error) = run(framing, writer, frames, &out, tap) {
            tracing::warn!(%error, "could not write to the client");
        }
        out.limits.close();
        // The receiver is gone if the connection was dropped before its end.
        let _ = stopped.send(());
    })?;
    Ok(done)
}

/// Writes until a frame says to stop, all senders are dropped, or the stream fails.
fn run(
    framing: Framing,
    mut writer: impl Write,
    mut frames: mpsc::UnboundedReceiver<Frame>,
    out: &WeakOut,
    tap: MessageTap,
) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(BATCH_BYTES / 4);
    let mut permits = Vec::with_capacity(BATCH_FRAMES);
    let mut open = true;
    while open {
        let Some(first) = frames.blocking_recv() else {
            break;
        };
        let (mut next, mut large) = (Some(first), None);
        while let Some(frame) = next {
            if matches!(frame.permit, Permit::Close) {
                open = false;
                break;
            }
            tap(&frame.body);
            if framing == Framing::Headers {
                push_header(&mut bytes, frame.body.len());
            }
            permits.push((frame.body.len(), frame.permit));
            let mut body = frame.body;
            if framing == Framing::Lines {
                // A message contains no line end: the JSON is compact, and strings escape theirs.
                body.reserve_exact(1);
                body.push(b'\n');
            }
            if body.len() >= BATCH_BYTES {
                // A large frame is a separate write, so that its memory is not copied.
                large = Some(body);
                break;
            }
            bytes.extend_from_slice(&body);
            let full = permits.len() >= BATCH_FRAMES || bytes.len() >= BATCH_BYTES;
            next = if full { None } else { frames.try_recv().ok() };
        }
        let whole = writer.write_all(&bytes).and_then(|()| writer.write_all(&large.unwrap_or_default()));
        let written = whole.and_then(|()| writer.flush());
        out.limits.release(permits.drain(..));
        written?;
        bytes.clear();
    }
    Ok(())
}
