//! Where the command line meets the server: the one seam between the two.
//!
//! Never speaks the protocol itself and never reads a setting.

use anyhow::Context;

use crate::lsp::{self, Options};
use crate::model::Models;
use crate::settings::Sources;
use crate::transport::{self, ConnectionEnd, End};

use super::Exit;

/// Starts a server of its own for this process and returns the client's end of
/// the connection. Called inside a runtime; the server ends when it is told
/// `exit` or when that end is dropped.
pub fn start_in_process(sources: Sources) -> anyhow::Result<End> {
    let (near, far) = transport::pipe().context("connect to the server")?;
    let options = Options::new(sources, Models::new());
    tokio::spawn(async move {
        let ended = lsp::serve(options, far.reader, far.writer).await;
        tracing::debug!(?ended, "the server of this process ended");
    });
    Ok(near)
}

/// Comes when somebody asks this process to end: children must not outlive it.
async fn terminated() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut term), Ok(mut hang_up), Ok(mut interrupt)) =
        (signal(SignalKind::terminate()), signal(SignalKind::hangup()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = hang_up.recv() => {}
        _ = interrupt.recv() => {}
    }
}

/// Serves an editor on standard input and output until it leaves.
pub async fn serve_stdio(sources: Sources) -> anyhow::Result<Exit> {
    let (reader, writer) = transport::stdio().context("open standard input and output")?;
    let options = Options::new(sources, Models::new());
    let over = async {
        tokio::select! {
            () = terminated() => {}
            () = transport::output_closed() => {}
        }
    };
    match lsp::serve_until(options, reader, writer, over).await {
        ConnectionEnd::Exit { after_shutdown: true } => Ok(Exit::Fine),
        ended => {
            tracing::info!(?ended, "the client left without a farewell");
            Ok(Exit::Failed)
        }
    }
}
