//! Saves open documents before a command, because the user chose *Save and run*.
//!
//! Never believes the editor: a file counts as saved if the disk shows it. Nothing runs unless all of them are.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use adjutant_core::digest_parts;
use adjutant_core::policy::cause::{Cause, Reason};
use adjutant_core::session::Call;
use adjutant_core::text::display::shown;

use crate::aside::aside;
use crate::session::SessionWorld;
use crate::tools::paths::resolve;
use crate::uri;

/// The reason that `agent/document/save` gives to the editor.
const REASON: &str = "you chose to save it before a command runs";

/// Saves the documents that the user wants saved before this call, one after the other.
pub(super) async fn save_first(place: &Arc<SessionWorld>, call: &Call) -> Result<(), Reason> {
    let mut saved: Vec<String> = Vec::new();
    for uri in &call.saves {
        match save(place, uri).await {
            Ok(path) => saved.extend(path.map(|path| shown(&path).into_owned())),
            Err((path, why)) => {
                let others = match saved.is_empty() {
                    true => String::new(),
                    false => format!(" (saved before that: {})", saved.join(", ")),
                };
                let path = shown(&path).into_owned();
                let text =
                    format!("nothing was run, because \"{path}\" could not be saved first: {why}{others}");
                return Err(Reason::new(Cause::NotSaved, text));
            }
        }
    }
    Ok(())
}

/// A document of which the disk has another text than the editor.
struct Differing {
    /// As the workspace names it.
    path: String,
    absolute: PathBuf,
    disk: Option<String>,
}

/// Saves one document and returns its path; `None` if it was saved before. The error has its path, too.
async fn save(place: &Arc<SessionWorld>, uri: &str) -> Result<Option<String>, (String, String)> {
    let (here, name) = (place.clone(), uri.to_owned());
    let before = match aside(move || differing(&here, &name)).await {
        Ok(Some(before)) => before,
        Ok(None) => return Ok(None),
        Err(unknown) => return Err(unknown),
    };
    // An edit in between would be saved, too.
    let _turn = place.world.edit_turns.turn(&before.absolute).await;
    if let Err(why) = place.world.link.save(uri, REASON).await {
        return Err((before.path, why.to_string()));
    }
    let (here, name) = (place.clone(), uri.to_owned());
    let after = aside(move || differing(&here, &name)).await;
    match after {
        // What is typed after the save is not a part of it.
        Ok(after) if after.as_ref().is_none_or(|after| after.disk.is_some() && after.disk != before.disk) => {
            Ok(Some(before.path))
        }
        Ok(_) => Err((before.path, "the editor said so, but the file does not show it".to_owned())),
        Err((_, why)) => Err((before.path, why)),
    }
}

/// Looks at a document; `None` if it is saved. One that is not open has no text that could be saved: it was closed, or its editor has
/// not said yet that it has it. Blocks.
fn differing(place: &SessionWorld, uri: &str) -> Result<Option<Differing>, (String, String)> {
    let path = uri::to_path(uri).map_err(|why| (uri.to_owned(), why.to_string()))?;
    let name = path.display().to_string();
    let at = resolve(&place.roots, &name).map_err(|why| (name.clone(), why.to_string()))?;
    if !at.inside {
        return Err((name, "its path leads out of the workspace now".to_owned()));
    }
    let buffers = place.world.documents.buffers();
    if buffers.get(&at.absolute).is_none() {
        return Err((at.display, "no editor has it open now".to_owned()));
    }
    if buffers.is_on_disk(&at.absolute) {
        return Ok(None);
    }
    Ok(Some(Differing { path: at.display, disk: on_disk(&at.absolute), absolute: at.absolute }))
}

/// Returns the SHA-256 of a file; `None` if it is not there or cannot be read. Blocks.
fn on_disk(path: &Path) -> Option<String> {
    std::fs::read(path).ok().map(|bytes| digest_parts(&[&bytes]))
}
