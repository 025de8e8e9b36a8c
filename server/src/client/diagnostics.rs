//! Open asks as diagnostics, for a client without the `agent/*` methods: where each
//! is shown, and which documents need to be published again.
//!
//! Never names a document without Adjutant's diagnostics, except once with an empty
//! list that removes them.

use std::collections::BTreeMap;

use adjutant_core::text::display::one_line;
use adjutant_core::text::document::Snapshot;
use adjutant_protocol::AskId;
use adjutant_protocol::ask::{AskGroup, AskView};
use adjutant_protocol::review::{ReviewHunk, ReviewUpdateParams};
use adjutant_protocol::update::HunkState;

use super::face::{AskDiagnostic, HunkDiagnostic, MarkedDocument};
use super::popup::{self, SurfaceRoom};
use crate::documents::{Documents, Text};

/// How many lines up and down the line of an ask is searched when the text around it has changed.
const MAX_SEARCH: usize = 200;

/// All diagnostics of one connection.
#[derive(Default)]
pub struct Diagnostics {
    /// The client wants the version of the document that they belong to.
    versions: bool,
    places: BTreeMap<AskId, Option<AskLine>>,
    published: BTreeMap<String, PublishedDiagnostics>,
}

/// What was published last for a document.
struct PublishedDiagnostics {
    diagnostics: DocumentMarks,
    version: Option<i32>,
    /// After how many versions it is published again without a change.
    again_after: i32,
}

/// What is marked in one document: open asks and applied hunks.
type DocumentMarks = (Vec<AskDiagnostic>, Vec<HunkDiagnostic>);

/// Where an ask is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
struct AskLine {
    uri: String,
    line: u32,
    /// The text of that line when the ask was first shown, to find it again.
    text: Option<String>,
}

impl Diagnostics {
    pub fn new(versions: bool) -> Self {
        Self { versions, ..Self::default() }
    }

    /// Returns the documents whose diagnostics have changed, each with all of its current ones.
    pub fn changed<'a>(
        &mut self,
        asks: impl Iterator<Item = (&'a AskView, bool)>,
        hunks: impl Iterator<Item = &'a ReviewUpdateParams>,
        documents: &Documents,
        room: SurfaceRoom,
    ) -> Vec<MarkedDocument> {
        let mut now: BTreeMap<String, (Option<i32>, DocumentMarks)> = BTreeMap::new();
        let mut places = BTreeMap::new();
        for (ask, seen) in asks {
            let place = self.places.remove(&ask.ask_id).unwrap_or_else(|| place_of(ask));
            let place = place.map(|mut place| {
                let entry = now.entry(place.uri.clone()).or_default();
                if let Text::Open(open) = documents.under(&place.uri) {
                    place.follow(&open);
                    entry.0 = open.version;
                }
                entry.1.0.push(diagnostic_of(ask, &place, seen, room));
                place
            });
            places.insert(ask.ask_id.clone(), place);
        }
        for update in hunks.filter(|update| !update.hunks.is_empty()) {
            let entry = now.entry(update.uri.clone()).or_default();
            // The lines are of this version, which may be older than the one that an ask is shown in.
            entry.0 = update.version.or(entry.0);
            entry.1.1.extend(update.hunks.iter().filter_map(hunk_diagnostic));
        }
        self.places = places;
        self.publish(now)
    }

    /// Returns the documents to publish. Editors move diagnostics with the text, so an edited document is
    /// published again only if a diagnostic changed. Some editors drop diagnostics of an older version: for a
    /// client that gets versions the same ones are published again, at doubling distances.
    fn publish(&mut self, now: BTreeMap<String, (Option<i32>, DocumentMarks)>) -> Vec<MarkedDocument> {
        let mut published = BTreeMap::new();
        let mut changed = Vec::new();
        for (uri, (version, diagnostics)) in now {
            let version = version.filter(|_| self.versions);
            let before = self.published.remove(&uri);
            let same = before.filter(|before| before.diagnostics == diagnostics);
            let fresh = PublishedDiagnostics { diagnostics, version, again_after: 1 };
            let entry = match same {
                Some(same) if same.version.is_some() != version.is_some() => fresh,
                Some(same) if !same.is_old_at(version) => {
                    published.insert(uri, same);
                    continue;
                }
                Some(same) => {
                    PublishedDiagnostics { again_after: same.again_after.saturating_mul(2), ..fresh }
                }
                None => fresh,
            };
            changed.push(MarkedDocument {
                uri: uri.clone(),
                version,
                diagnostics: entry.diagnostics.0.clone(),
                hunks: entry.diagnostics.1.clone(),
            });
            published.insert(uri, entry);
        }
        let left = std::mem::replace(&mut self.published, published);
        changed.extend(left.into_keys().map(|uri| MarkedDocument {
            uri,
            version: None,
            diagnostics: Vec::new(),
            hunks: Vec::new(),
        }));
        changed
    }
}

impl PublishedDiagnostics {
    fn is_old_at(&self, now: Option<i32>) -> bool {
        let (Some(then), Some(now)) = (self.version, now) else { return false };
        now < then || now.saturating_sub(then) >= self.again_after
    }
}

/// Whether an ask has a line in a document where it is shown.
pub fn has_place(ask: &AskView) -> bool {
    place_of(ask).is_some()
}

/// Returns where an ask is shown: where its run was started, else at the first line it would change.
/// An idle ask is shown nowhere.
fn place_of(ask: &AskView) -> Option<AskLine> {
    if ask.group == AskGroup::Idle {
        return None;
    }
    if let Some(origin) = &ask.origin {
        let line = origin.range.map_or(0, |range| range.start.line);
        return Some(AskLine { uri: origin.uri.clone(), line, text: None });
    }
    let existing = ask.files().iter().find(|file| !file.new_file)?;
    Some(AskLine { uri: existing.uri.clone(), line: first_line(&existing.diff), text: None })
}

/// Returns the first line of the old text that a unified diff changes, from zero.
fn first_line(diff: &str) -> u32 {
    let mut lines = diff.lines().skip_while(|line| !line.starts_with("@@ -"));
    let start = lines.next().and_then(|line| {
        let digits = line.strip_prefix("@@ -")?;
        digits.split([',', ' ']).next()?.parse::<u32>().ok()
    });
    let context = lines.take_while(|line| line.starts_with(' ')).count();
    let context = u32::try_from(context).unwrap_or(0);
    start.unwrap_or(1).saturating_sub(1).saturating_add(context)
}

impl AskLine {
    /// Moves to where its line is now, after the text above it grew or shrank.
    fn follow(&mut self, document: &Snapshot) {
        let line = |at: usize| document.text.get_line(at).map(|line| line.to_string());
        let at = usize::try_from(self.line).unwrap_or(usize::MAX);
        let Some(wanted) = &self.text else {
            self.text = line(at);
            return;
        };
        let near = (0..=MAX_SEARCH).flat_map(|far| [at.checked_sub(far), at.checked_add(far)]);
        if let Some(found) = near.flatten().find(|at| line(*at).as_ref() == Some(wanted)) {
            self.line = u32::try_from(found).unwrap_or(self.line);
        }
    }
}

fn diagnostic_of(ask: &AskView, place: &AskLine, seen: bool, room: SurfaceRoom) -> AskDiagnostic {
    let offers: Vec<String> = popup::offers(ask, seen, room).into_iter().map(|offer| offer.title).collect();
    let how = match offers.as_slice() {
        [] => "Answer with the command \"adjutant.respond\".".to_owned(),
        offers => format!("Use a code action here: {}.", offers.join(" · ")),
    };
    let message = format!("{}\n{how}", popup::words(ask, room));
    AskDiagnostic { ask: ask.ask_id.clone(), line: place.line, message }
}

/// Lines of a hunk in a diagnostic; more are cut.
const HUNK_LINES: usize = 20;

/// Returns the mark of an applied hunk; `None` for a hunk that waits for an answer, which its ask shows.
fn hunk_diagnostic(hunk: &ReviewHunk) -> Option<HunkDiagnostic> {
    let made = hunk.made_by.as_ref()?;
    let changed: Vec<&str> = hunk.diff.lines().skip(3).filter(|line| !line.starts_with(' ')).collect();
    let mut text = format!("Changed by Adjutant for \u{201c}{}\u{201d}:\n", one_line(&made.task, 80));
    text.push_str(&changed.iter().take(HUNK_LINES).copied().collect::<Vec<_>>().join("\n"));
    if let Some(more) = changed.len().checked_sub(HUNK_LINES).filter(|more| *more > 0) {
        text.push_str(&format!("\n({more} more lines)"));
    }
    text.push_str(match hunk.state {
        HunkState::Amended => "\nYou changed it since. Keep or undo it with a code action here.",
        _ => "\nKeep or undo it with a code action here.",
    });
    let (change_set, hunk_id) = (hunk.change_set_id.clone(), hunk.hunk_id.clone());
    Some(HunkDiagnostic { change_set, hunk: hunk_id, line: hunk.line, message: text })
}

#[cfg(test)]
mod tests;
