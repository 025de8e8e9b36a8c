//! `adjutant capabilities`: which surface an editor gets for each feature.
//!
//! Never decides anything: the table comes from the client link.

use std::path::Path;

use anyhow::Context;

use crate::client::surfaces::Surfaces;

use super::Exit;
use super::page::Printer;

/// Prints the table for the editor whose `initialize` message, params or capabilities are in `file`.
pub fn capabilities(file: &Path) -> anyhow::Result<Exit> {
    let text = if file == Path::new("-") {
        std::io::read_to_string(std::io::stdin()).context("read standard input")?
    } else {
        std::fs::read_to_string(file).with_context(|| format!("read \"{}\"", file.display()))?
    };
    let json: serde_json::Value =
        serde_json::from_str(&text).with_context(|| format!("read \"{}\" as JSON", file.display()))?;
    // A whole message, its params, or only the capabilities.
    let params = json.get("params").unwrap_or(&json);
    let client = params.get("capabilities").unwrap_or(params);
    let text = |path: &str| params.pointer(path).and_then(serde_json::Value::as_str);
    let surfaces = Surfaces::of(client, text("/clientInfo/name"), text("/clientInfo/version"))
        .map_err(|why| anyhow::anyhow!("read the capabilities: {why}"))?;
    let mut page = Printer::of_stdout();
    page.block(&surfaces.text());
    page.written()?;
    Ok(Exit::Fine)
}
