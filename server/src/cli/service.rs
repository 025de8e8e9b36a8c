//! Where the command line starts a server: the only place that connects the two.
//!
//! Never speaks the protocol itself and never reads a setting.

use anyhow::Context;

use crate::lsp::{self, Options};
use crate::model::Models;
use crate::settings::Sources;
use crate::transport::{self, ConnectionEnd, End};

use super::Exit;

/// Starts a server in this process and returns the client's end of the connection.
/// Must be called inside a runtime. The server ends at `exit` or when that end is dropped.
pub fn start_in_process(sources: Sources) -> anyhow::Result<End> {
    let (near, far) = transport::pipe().context("connect to the server")?;
    let options = Options { is_brief: true, ..Options::new(sources, Models::new()) };
    tokio::spawn(async move {
        let ended = lsp::serve(options, far.reader, far.writer).await;
        tracing::debug!(?ended, "the server of this process ended");
    });
    Ok(near)
}

/// Returns when a signal asks this process to end; its children must not outlive it.
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
            tracing::info!(?ended, "the client left without shutdown and exit");
            Ok(Exit::Failed)
        }
    }
}
