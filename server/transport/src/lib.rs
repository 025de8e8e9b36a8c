//! The strict edge: bytes to routed calls, and one writer.
//!
//! A reader thread, one dispatcher, a writer thread. Messages reach handlers in
//! arrival order, replies and cancellations never wait behind work, and a panic
//! ends one call only. Nothing here knows what a method means, and nothing else
//! touches the two streams.

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

/// How long the writer may take to write what is queued at the end.
const DRAIN_LIMIT: Duration = Duration::from_secs(2);

/// How a connection ended.
#[derive(Debug)]
pub enum ConnectionEnd {
    /// The client said `exit`.
    Exit {
        /// Whether it asked for `shutdown` before, as it should.
        after_shutdown: bool,
    },
    /// The client went away without a word.
    InputClosed,
    /// The client sent what cannot be cut into messages.
    InputBroken(FrameError),
    /// The client does not read any more.
    OutputClosed,
    /// The threads of the connection could not be started.
    NotStarted(io::Error),
}

/// What `serve` needs besides the backend: the other end of an `Out`.
#[derive(Debug)]
pub struct Parts {
    out: Out,
    frames: mpsc::UnboundedReceiver<limits::Frame>,
}

/// Makes the `Out` of a connection that is served later, so that the backend
/// can hold it. What is sent before waits in its queue.
pub fn channel() -> (Out, Parts) {
    let (out, frames) = out::queue();
    (out.clone(), Parts { out, frames })
}

/// Serves one connection, framed as in LSP, until it ends.
///
/// What a handler does before it first has to wait happens in arrival order;
/// what it does later does not. A handler whose order matters posts without
/// waiting (`try_send`, an unbounded queue with a receipt to await); to await
/// room in a bounded queue is waiting, and loses the order.
pub async fn serve(
    backend: impl Backend,
    parts: Parts,
    reader: impl Read + Send + 'static,
    writer: impl Write + Send + 'static,
) -> ConnectionEnd {
    serve_framed(Framing::Headers, backend, parts, reader, writer).await
}

/// Serves one connection until it ends, as [`serve`] does.
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

/// Returns the streams of this process, past the line buffer of `stdout`.
#[cfg(unix)]
pub fn stdio() -> io::Result<(impl Read + Send + 'static, impl Write + Send + 'static)> {
    use std::fs::File;
    use std::os::fd::AsFd;
    let reader = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let writer = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    Ok((reader, writer))
}

/// Returns the streams of this process.
#[cfg(not(unix))]
pub fn stdio() -> io::Result<(impl Read + Send + 'static, impl Write + Send + 'static)> {
    Ok((io::stdin(), io::stdout()))
}

/// Comes when nobody can read our standard output any more, also while we have nothing to say.
#[cfg(unix)]
pub async fn unheard() {
    use rustix::event::{PollFd, PollFlags, poll};
    let (tell, gone) = oneshot::channel();
    // Asked for nothing, the system tells of the end of the other side alone. The thread ends with
    // that or with the process.
    let watched = thread::Builder::new().name("transport-unheard".to_owned()).spawn(move || {
        let output = io::stdout();
        loop {
            match poll(&mut [PollFd::new(&output, PollFlags::empty())], None) {
                Ok(1..) => {
                    // A server that has ended already does not listen.
                    let _ = tell.send(());
                    return;
                }
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
        }
    });
    if watched.is_err() || gone.await.is_err() {
        // Then the first write that fails tells.
        std::future::pending().await
    }
}

/// Comes when nobody can read our standard output any more; here the first write tells.
#[cfg(not(unix))]
pub async fn unheard() {
    std::future::pending().await
}

/// One end of an in-memory connection.
#[derive(Debug)]
pub struct End {
    /// What the other end wrote.
    pub reader: PipeReader,
    /// What the other end reads.
    pub writer: PipeWriter,
}

/// Makes two connected ends. Each direction holds what a pipe of the system
/// holds (64 KiB on Linux); dropping a half ends the stream at the other end.
pub fn pipe() -> io::Result<(End, End)> {
    let (near_reader, far_writer) = io::pipe()?;
    let (far_reader, near_writer) = io::pipe()?;
    let near = End { reader: near_reader, writer: near_writer };
    let far = End { reader: far_reader, writer: far_writer };
    Ok((near, far))
}

#[cfg(test)]
mod tests;
