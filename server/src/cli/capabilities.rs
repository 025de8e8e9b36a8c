//! `adjutant capabilities`: what an editor can do, and which surface stands for what it cannot.
//!
//! Decides nothing: what stands for what is said by the doors.

use std::path::Path;

use anyhow::Context;

use crate::client::surfaces::Surfaces;

use super::Exit;
use super::page::Printer;

/// Prints which surface stands for what at the editor that says this in `initialize`.
pub fn capabilities(file: &Path) -> anyhow::Result<Exit> {
    let text = if file == Path::new("-") {
        std::io::read_to_string(std::io::stdin()).context("read standard input")?
    } else {
        std::fs::read_to_string(file).with_context(|| format!("read \"{}\"", file.display()))?
    };
    let said: serde_json::Value =
        serde_json::from_str(&text).with_context(|| format!("read \"{}\" as JSON", file.display()))?;
    // A whole message, its params, or the capabilities alone: whatever was at hand.
    let params = said.get("params").unwrap_or(&said);
    let client = params.get("capabilities").unwrap_or(params);
    let name = params.pointer("/clientInfo/name").and_then(serde_json::Value::as_str);
    let surfaces =
        Surfaces::of(client, name).map_err(|why| anyhow::anyhow!("take the capabilities: {why}"))?;
    let mut page = Printer::of_stdout();
    page.block(&surfaces.text());
    page.written()?;
    Ok(Exit::Fine)
}
