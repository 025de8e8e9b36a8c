//! Where the command line meets the server: the one seam between the two.
//!
//! Never speaks the protocol itself and never reads a setting.

use crate::settings::Sources;
use crate::transport::End;

use super::Exit;

/// Starts a server of its own for this process and returns the client's end of
/// the connection. Called inside a runtime; the server ends when it is told
/// `exit` or when that end is dropped.
pub fn start_in_process(_sources: Sources) -> anyhow::Result<End> {
    anyhow::bail!("start the server: this build has none")
}

/// Serves an editor on standard input and output until it leaves.
pub fn serve_stdio(_sources: Sources) -> anyhow::Result<Exit> {
    anyhow::bail!("start the server: this build has none")
}
