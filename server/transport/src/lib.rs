//! One connection: turns bytes into calls of a backend, and messages into bytes.
//!
//! A connection has a reader thread, one dispatcher and a writer thread. Messages reach handlers in the
//! order of arrival. Replies and cancellations never wait for handlers. A panic ends only its own call.
//! Never knows what a method means. No other code reads or writes the two streams.

mod backend;
mod calls;
pub mod client;
mod dispatcher;
pub mod envelope;
pub mod framing;
mod intake;
mod limits;
mod lines;
mod out;
mod reader;
mod tap;
mod writer;

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::thread;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

pub use backend::{Answer, Backend, NotificationOutcome, Params, Serving, answer};
pub use envelope::{ErrorBody, RequestId, code};
pub use framing::FrameError;
pub use limits::{ReplyError, SendError};
pub use out::{Out, PendingReply, Sending};
pub use reader::Framing;

/// How long the writer may write the queued messages after the end of the connection.
const DRAIN_LIMIT: Duration = Duration::from_secs(2);

/// How a connection ended.
#[derive(Debug)]
pub enum ConnectionEnd {
    /// The client sent `exit`.
    Exit {
        /// Whether it sent `shutdown` before, as it should.
        after_shutdown: bool,
    },
    /// The input ended without `exit`.
    InputClosed,
    /// The input cannot be cut into messages.
    InputBroken(FrameError),
    /// The output is closed, or the client no longer reads it.
    OutputClosed,
    /// A thread of the connection could not be started.
    NotStarted(io::Error),
}

/// The receiving end of an `Out`, which `serve` needs.
#[derive(Debug)]
pub struct Parts {
    out: Out,
    frames: mpsc::UnboundedReceiver<limits::Frame>,
}

/// Returns the `Out` of a connection before the connection is served, so that the backend can hold it.
/// Messages that are sent before wait in its queue.
pub fn channel() -> (Out, Parts) {
    let (out, frames) = out::queue();
    (out.clone(), Parts { out, frames })
}

/// Serves one connection, framed as in LSP, until it ends.
///
/// Each handler runs up to its first wait in the order of arrival; after that there is no order. A handler
/// whose order matters must post before it waits, with `try_send` or to an unbounded queue. Waiting for
/// room in a bounded queue loses the order.
pub async fn serve(
    backend: impl Backend,
    parts: Parts,
    reader: impl Read + Send + 'static,
    writer: impl Write + Send + 'static,
) -> ConnectionEnd {
    serve_framed(Framing::Headers, backend, parts, reader, writer).await
}

/// Serves one connection with this framing until it ends; see [`serve`].
pub async fn serve_framed(
    framing: Framing,
    backend: impl Backend,
    parts: Parts,
    reader: impl Read + Send + 'static,
    writer: impl Write + Send + 'static,
) -> ConnectionEnd {
    let Parts { out, frames } = parts;
    let stopped = match writer::spawn(framing, writer, frames, out.downgrade(), tap::outgoing) {
        Ok(stopped) => stopped,
        Err(error) => {
            out.close();
            return ConnectionEnd::NotStarted(error);
        }
    };
    let (deliver, inbound) = intake::channel();
    let ended = match reader::spawn(framing, reader, tap::incoming, deliver) {
        Ok(()) => dispatcher::Dispatcher::new(backend, out.clone()).run(inbound).await,
        Err(error) => ConnectionEnd::NotStarted(error),
    };
    out.close();
    if timeout(DRAIN_LIMIT, stopped).await.is_err() {
        tracing::warn!("the client did not read the last messages in time");
    }
    ended
}

/// Returns the standard streams of this process, without the line buffer of `stdout`.
#[cfg(unix)]
pub fn stdio() -> io::Result<(impl Read + Send + 'static, impl Write + Send + 'static)> {
    use std::fs::File;
    use std::os::fd::AsFd;
    let reader = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let writer = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    Ok((reader, writer))
}

/// Returns the standard streams of this process.
#[cfg(not(unix))]
pub fn stdio() -> io::Result<(impl Read + Send + 'static, impl Write + Send + 'static)> {
    Ok((io::stdin(), io::stdout()))
}

/// Returns when the reader of the standard output is gone, also while there is nothing to write.
#[cfg(unix)]
pub async fn output_closed() {
    use rustix::event::{PollFd, PollFlags, poll};
    let (tx, closed) = oneshot::channel();
    // With no events requested, `poll` reports only the end of the other side. The thread ends then or
    // with the process.
    let watched = thread::Builder::new().name("transport-output".to_owned()).spawn(move || {
        let output = io::stdout();
        loop {
            match poll(&mut [PollFd::new(&output, PollFlags::empty())], None) {
                Ok(1..) => {
                    // The send fails if the server has already ended.
                    let _ = tx.send(());
                    return;
                }
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
        }
    });
    if watched.is_err() || closed.await.is_err() {
        // Without the thread, the first failed write ends the connection.
        std::future::pending().await
    }
}

/// Never returns on this system; the first failed write ends the connection.
#[cfg(not(unix))]
pub async fn output_closed() {
    std::future::pending().await
}

/// One end of an in-memory connection.
#[derive(Debug)]
pub struct End {
    /// Reads what the other end writes.
    pub reader: PipeReader,
    /// Writes what the other end reads.
    pub writer: PipeWriter,
}

/// Returns two connected ends. Each direction is a pipe of the system (64 KiB on Linux). Dropping a
/// writer ends the stream at the other end.
pub fn pipe() -> io::Result<(End, End)> {
    let (near_reader, far_writer) = io::pipe()?;
    let (far_reader, near_writer) = io::pipe()?;
    let near = End { reader: near_reader, writer: near_writer };
    let far = End { reader: far_reader, writer: far_writer };
    Ok((near, far))
}

#[cfg(test)]
mod tests;
