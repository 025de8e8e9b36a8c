//! Where a change is once it is in the text: on disk, in a buffer, or in another file.
//!
//! Never saves text that is the user's own.

use std::sync::Arc;

use adjutant_core::record::{EditCheck, FileChange};
use adjutant_core::text::edit::split_bom;

use super::{Now, SessionWorld, found, on_disk};
use crate::aside::aside;
use crate::documents::Text;
use crate::faults::point;
use crate::tools::paths::{ResolvedPath, resolve};
use crate::uri;

/// Where a change is when it has landed.
pub(super) enum LandedIn {
    /// On disk.
    Saved,
    /// In a document the user has open; it is the user's to save.
    Open,
    /// In a buffer that was not saved, for this reason if there is one.
    Unsaved(Option<String>),
    /// Its path leads to this other file by now.
    Elsewhere(String),
    /// Its path cannot be followed any more, for this reason.
    Unknown(String),
}

/// Whether a change is saved once it is there: when nothing of the file was unsaved in the text it is made for,
/// so that only the change is written.
pub(super) fn ours_to_save(at: &ResolvedPath, now: &Now) -> bool {
    if now.open.is_none() || now.blank.is_some() {
        return true;
    }
    on_disk(at).is_ok_and(|disk| disk.exists && same_text(&now.text, &disk.text))
}

/// Whether the document is as it was sent: typing between edit and save makes it the user's to save.
pub(super) fn shows_only(place: &SessionWorld, change: &FileChange, text: &str) -> bool {
    let Ok(at) = resolve(&place.roots, &change.path) else { return false };
    match place.world.documents.text(&at.absolute) {
        Text::Open(snapshot) => same_text(&snapshot.string(), text),
        Text::Unsynced(_) | Text::Closed => false,
    }
}

/// What is left to do for a change that is there.
enum SaveStep {
    Over(LandedIn),
    /// The editor is asked to save the document of this URI.
    Asks(String),
}

/// Saves what is ours to save; says where the change is then.
pub(super) async fn keep(place: &Arc<SessionWorld>, change: &FileChange, saves: bool) -> LandedIn {
    let (here, of) = (place.clone(), change.clone());
    let uri = match aside(move || saving(&here, &of, saves)).await {
        SaveStep::Over(kept) => return kept,
        SaveStep::Asks(uri) => uri,
    };
    let answer = place.world.link.save(&uri, "nothing else in the file was unsaved").await;
    let (here, of) = (place.clone(), change.clone());
    aside(move || {
        let kept = match answer {
            Ok(()) => {
                point("edit-saved");
                saved(&here, &of)
            }
            Err(why) => LandedIn::Unsaved(Some(why.to_string())),
        };
        settled_place(&here, &of, kept)
    })
    .await
}

/// Says where a change is, or that it has to be saved first. Blocks.
fn saving(place: &SessionWorld, change: &FileChange, saves: bool) -> SaveStep {
    let at = match resolve(&place.roots, &change.path) {
        Ok(at) => at,
        Err(why) => return SaveStep::Over(LandedIn::Unknown(why.to_string())),
    };
    let documents = &place.world.documents;
    if !matches!(documents.text(&at.absolute), Text::Open(_)) {
        return SaveStep::Over(settled_place(place, change, LandedIn::Saved));
    }
    if !saves {
        let ours = documents.is_ours(&at.absolute);
        return SaveStep::Over(if ours { LandedIn::Unsaved(None) } else { LandedIn::Open });
    }
    if !place.world.link.surfaces().abilities.save {
        // Some editors save by themselves what a server has changed.
        let kept = match shows_only_disk(place, &at) {
            true => settled_place(place, change, LandedIn::Saved),
            false if change.open => LandedIn::Open,
            false => LandedIn::Unsaved(None),
        };
        return SaveStep::Over(kept);
    }
    SaveStep::Asks(documents.name_of(&at.absolute))
}

/// An editor writes by the name it has, whatever that leads to by then: a file that landed elsewhere is
/// told.
pub(super) fn settled_place(place: &SessionWorld, change: &FileChange, kept: LandedIn) -> LandedIn {
    match resolve(&place.roots, &change.path) {
        Ok(at) if at.inside && uri::of_path(&at.absolute) == change.target => kept,
        Ok(at) => LandedIn::Elsewhere(at.display),
        Err(why) => LandedIn::Unknown(why.to_string()),
    }
}

/// The file decides whether it was saved; one that is kept in another encoding is not compared.
fn saved(place: &SessionWorld, change: &FileChange) -> LandedIn {
    let at = match resolve(&place.roots, &change.path) {
        Ok(at) => at,
        Err(why) => return LandedIn::Unknown(why.to_string()),
    };
    let shows =
        |buffer: &str, disk: &str| same_text(buffer, disk) || found(disk, change) == EditCheck::Landed;
    match (place.world.documents.text(&at.absolute), on_disk(&at)) {
        (Text::Open(buffer), Ok(disk)) if !disk.exists || !shows(&buffer.string(), &disk.text) => {
            LandedIn::Unsaved(Some("the editor said it was saved, but the file does not show it".to_owned()))
        }
        _ => LandedIn::Saved,
    }
}

/// Whether the document is what is on disk.
fn shows_only_disk(place: &SessionWorld, at: &ResolvedPath) -> bool {
    match (place.world.documents.text(&at.absolute), on_disk(at)) {
        (Text::Open(buffer), Ok(disk)) => disk.exists && same_text(&buffer.string(), &disk.text),
        _ => false,
    }
}

/// A byte order mark is no part of the text, and most editors do not show it.
fn same_text(one: &str, other: &str) -> bool {
    split_bom(one).1 == split_bom(other).1
}
