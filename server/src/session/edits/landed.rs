//! Saves a change that is in the text, and finds out where it is: on disk, in a buffer, or in another file.
//!
//! Never saves unsaved text of the user, unless the setting `edits.save` says so.

use std::sync::Arc;

use adjutant_core::machine::input::{EditLocation, EditOutcome};
use adjutant_core::policy::cause::Cause;
use adjutant_core::policy::saving::{DocumentLeft, SaveAfter};
use adjutant_core::record::{EditCheck, FileChange};
use adjutant_core::text::edit::{BOM, split_bom};
use adjutant_core::text::trace::{Formatting, formatting};

use super::{CurrentFile, SessionWorld, check_text, on_disk};
use crate::aside::aside;
use crate::documents::Text;
use crate::faults::point;
use crate::tools::paths::{ResolvedPath, resolve};
use crate::uri;

/// Returns whether the file is saved after a change that is made now. Blocks.
pub(super) fn save_after(place: &SessionWorld, at: &ResolvedPath, now: &CurrentFile) -> SaveAfter {
    let is_saved = || {
        // An open document without a text of the user has nothing to save, also if it has no file yet.
        now.blank.is_some()
            || may_be_on_disk(at, &now.text)
                && on_disk(at).is_ok_and(|disk| disk.exists && same_text(&now.text, &disk.text))
    };
    let left = match now.open {
        None => DocumentLeft::Closed,
        Some(_) if !is_saved() => DocumentLeft::Unsaved,
        // The user has not opened it: an editor did, for an earlier edit.
        Some(_) if place.world.documents.is_opened_by_edit(&at.absolute) => DocumentLeft::Closed,
        Some(_) => DocumentLeft::Saved,
    };
    place.world.settings().edits_save.after(left)
}

/// Whether the file is as long as this text, but for a byte order mark in one of them: a long file is not read in vain. Blocks.
fn may_be_on_disk(at: &ResolvedPath, text: &str) -> bool {
    let found = std::fs::symlink_metadata(&at.absolute);
    found.is_ok_and(|found| found.len().abs_diff(text.len() as u64) <= BOM.len_utf8() as u64)
}

/// Saves a change that is in the text if it is to be saved. Returns where it is then, and what a formatter made of it.
/// `text` is the whole expected text, if the editor made the edit.
pub(super) async fn settled(
    place: &Arc<SessionWorld>,
    change: &FileChange,
    exact: bool,
    text: Option<Arc<str>>,
    saves: SaveAfter,
) -> EditOutcome {
    let by_editor = text.is_some();
    let (here, owned) = (place.clone(), change.clone());
    let untouched = move || text.is_none_or(|text| has_exactly(&here, &owned, &text));
    let saves = match saves {
        SaveAfter::No => false,
        SaveAfter::IfUntouched => exact && aside(untouched).await,
        SaveAfter::Yes => true,
    };
    let location = save(place, change, saves).await;
    let (here, owned) = (place.clone(), change.clone());
    // An editor that saves on its own formats, too.
    let is_formatted = by_editor && location == EditLocation::Saved;
    let formatted =
        if is_formatted { aside(move || formatting_now(&here, &owned)).await } else { Formatting::default() };
    EditOutcome::Landed { location, exact, formatted }
}

/// Whether the document is exactly `text`. If the user typed since the edit, only the user may save it.
fn has_exactly(place: &SessionWorld, change: &FileChange, text: &str) -> bool {
    let Ok(at) = resolve(&place.roots, &change.path) else { return false };
    match place.world.documents.text(&at.absolute) {
        Text::Open(snapshot) => same_text(&snapshot.string(), text),
        Text::Unsynced(_) | Text::Closed => false,
    }
}

/// Returns what a formatter changed while the editor saved a change. Blocks.
fn formatting_now(place: &SessionWorld, change: &FileChange) -> Formatting {
    let Ok(at) = resolve(&place.roots, &change.path) else { return Formatting::default() };
    let Text::Open(now) = place.world.documents.text(&at.absolute) else { return Formatting::default() };
    let Some(before) = before_text(place, change) else { return Formatting::default() };
    formatting(split_bom(&before).1, &change.hunks, split_bom(&now.string()).1)
}

/// Returns the text before a change; empty if there was no file, and `None` if it is not kept. Blocks.
pub(super) fn before_text(place: &SessionWorld, change: &FileChange) -> Option<String> {
    let Some(hash) = change.before.as_deref() else { return Some(String::new()) };
    String::from_utf8(place.blobs.get(hash).ok()?).ok()
}

/// What is left to do for a change that is in the text.
enum SaveStep {
    Over(EditLocation),
    /// Asks the editor to save the document with this URI.
    Ask(String),
}

/// Saves the change if `saves`, and returns where it is then.
pub(super) async fn save(place: &Arc<SessionWorld>, change: &FileChange, saves: bool) -> EditLocation {
    let (here, owned) = (place.clone(), change.clone());
    let uri = match aside(move || save_step(&here, &owned, saves)).await {
        SaveStep::Over(location) => return location,
        SaveStep::Ask(uri) => uri,
    };
    let answer = place.world.link.save(&uri, place.world.settings().edits_save.reason()).await;
    let (here, owned) = (place.clone(), change.clone());
    aside(move || {
        let location = match answer {
            Ok(()) => {
                point("edit-saved");
                check_saved(&here, &owned)
            }
            Err(why) => EditLocation::Unsaved(Some(why.to_string())),
        };
        check_location(&here, &owned, location)
    })
    .await
}

/// Returns where a change is, or that the editor must save it first. Blocks.
fn save_step(place: &SessionWorld, change: &FileChange, saves: bool) -> SaveStep {
    let at = match resolve(&place.roots, &change.path) {
        Ok(at) => at,
        Err(why) => return SaveStep::Over(EditLocation::Unknown(why.to_string())),
    };
    let documents = &place.world.documents;
    if !matches!(documents.text(&at.absolute), Text::Open(_)) {
        return SaveStep::Over(check_location(place, change, EditLocation::Saved));
    }
    if saves && place.world.link.surfaces().abilities.save {
        return SaveStep::Ask(documents.name_of(&at.absolute));
    }
    // Some editors save on their own after an edit of a server.
    SaveStep::Over(if matches_disk(place, &at) {
        check_location(place, change, EditLocation::Saved)
    } else if documents.is_opened_by_edit(&at.absolute) {
        EditLocation::Unsaved(None)
    } else {
        EditLocation::Open
    })
}

/// Returns `location` if the path still leads to the approved file. An editor writes by name, so a link that
/// changed meanwhile can lead the write to another file.
pub(super) fn check_location(
    place: &SessionWorld,
    change: &FileChange,
    location: EditLocation,
) -> EditLocation {
    match resolve(&place.roots, &change.path) {
        Ok(at) if at.inside && uri::of_path(&at.absolute) == change.target => location,
        Ok(at) => EditLocation::Elsewhere(at.display),
        Err(why) => EditLocation::Unknown(why.to_string()),
    }
}

/// Checks on disk whether the document was saved. A file in another encoding than UTF-8 counts as saved, because
/// the editor chooses how it writes.
fn check_saved(place: &SessionWorld, change: &FileChange) -> EditLocation {
    let at = match resolve(&place.roots, &change.path) {
        Ok(at) => at,
        Err(why) => return EditLocation::Unknown(why.to_string()),
    };
    let shows =
        |buffer: &str, disk: &str| same_text(buffer, disk) || check_text(disk, change) == EditCheck::Landed;
    let Text::Open(buffer) = place.world.documents.text(&at.absolute) else { return EditLocation::Saved };
    let problem = match on_disk(&at) {
        Ok(disk) if disk.exists && shows(&buffer.string(), &disk.text) => return EditLocation::Saved,
        Ok(_) => "the file does not show it".to_owned(),
        Err(why) if why.cause == Cause::NotText => return EditLocation::Saved,
        Err(why) => format!("the file could not be checked: {}", why.text),
    };
    EditLocation::Unsaved(Some(format!("the editor said it was saved, but {problem}")))
}

/// Whether the open document has the same text as the disk.
fn matches_disk(place: &SessionWorld, at: &ResolvedPath) -> bool {
    match (place.world.documents.text(&at.absolute), on_disk(at)) {
        (Text::Open(buffer), Ok(disk)) => disk.exists && same_text(&buffer.string(), &disk.text),
        _ => false,
    }
}

/// Whether two texts are equal without their byte order marks, which most editors do not show.
fn same_text(one: &str, other: &str) -> bool {
    split_bom(one).1 == split_bom(other).1
}
