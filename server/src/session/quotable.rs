//! Finds a file of the workspace by its URI, and the text that may be quoted from it without a question.
//!
//! Never quotes a file that the user would have to allow first.

use std::io::Read;
use std::path::PathBuf;

use adjutant_core::text::document::Snapshot;

use super::{World, read_denied};
use crate::documents::Text;
use crate::tools::paths::{ResolvedPath, Roots, open_read, resolve};
use crate::tools::protected::held_by;

/// The largest file on disk that lines are quoted from, in bytes.
const MAX_FILE: u64 = 4 * 1024 * 1024;

/// Why nothing can be quoted from a document.
pub const NO_FOLDER: &str = "no workspace folder is open; open the folder of this file first";
pub const NO_FILE: &str = "this document is not a file on disk; save it in the workspace first";
pub const OUTSIDE: &str = "this file is outside the workspace folders; open its folder first";

/// A file of the workspace.
pub struct QuotableFile {
    /// The path as tools accept it.
    pub display: String,
    /// `None` if no lines of it may be quoted.
    pub text: Option<Snapshot>,
}

/// Finds the file of a URI in these folders, and its text: `open` if it is open, else the disk's. Blocks. An error is a sentence
/// for the user.
pub fn find(folders: &[PathBuf], world: &World, uri: &str, open: Text) -> Result<QuotableFile, String> {
    let at = inside(folders, uri)?;
    let (roots, _) = Roots::open(folders);
    let text = text_of(world, &roots, &at, open)?;
    Ok(QuotableFile { display: at.display, text })
}

/// Returns the text of a file of these folders: `open` if it is open, else the disk's; `None` if no lines of it may be quoted.
/// Blocks. An error is a sentence for the user.
pub fn text_of(
    world: &World,
    roots: &Roots,
    at: &ResolvedPath,
    open: Text,
) -> Result<Option<Snapshot>, String> {
    let open = if let Text::Closed = open { world.documents.text(&at.absolute) } else { open };
    let withheld = is_withheld(world, roots, at);
    match open {
        Text::Unsynced(reason) => Err(format!(
            "the text of \"{}\" in the editor is not known ({reason}); close it and open it again",
            at.display
        )),
        _ if withheld => Ok(None),
        Text::Open(snapshot) => Ok(Some(snapshot)),
        Text::Closed => on_disk(at),
    }
}

/// Whether the text of a file may be sent only after the user has allowed a read of it. Blocks.
fn is_withheld(world: &World, roots: &Roots, at: &ResolvedPath) -> bool {
    held_by(at, &world.own(roots)).is_some() || read_denied(world, roots, at).is_some()
}

fn inside(folders: &[PathBuf], uri: &str) -> Result<ResolvedPath, String> {
    if !uri.starts_with("file:") {
        return Err(NO_FILE.to_owned());
    }
    let (roots, _) = Roots::open(folders);
    let at = resolve(&roots, uri).map_err(|refusal| refusal.to_string())?;
    if at.inside {
        return Ok(at);
    }
    if roots.is_empty() {
        return Err(NO_FOLDER.to_owned());
    }
    Err(format!("\"{}\" is outside the workspace folders; open its folder first", at.display))
}

/// Returns the text of a file that is not open; `None` if it is too large or not UTF-8. The model can still read
/// it with its tools.
fn on_disk(at: &ResolvedPath) -> Result<Option<Snapshot>, String> {
    let failed = |why: String| format!("\"{}\" cannot be read: {why}", at.display);
    let mut file = open_read(at).map_err(|refusal| failed(refusal.to_string()))?.take(MAX_FILE + 1);
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|error| failed(error.to_string()))?;
    if bytes.len() as u64 > MAX_FILE {
        return Ok(None);
    }
    Ok(String::from_utf8(bytes).ok().map(|text| Snapshot::of_file(&at.display, &text)))
}
