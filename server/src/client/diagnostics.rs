//! Open asks as diagnostics, for a client without the `agent/*` methods: where each
//! is shown, and which documents need to be published again.
//!
//! Never names a document without Adjutant's diagnostics, except once with an empty
//! list that removes them.

use std::collections::BTreeMap;

use adjutant_core::text::document::Snapshot;
use adjutant_protocol::AskId;
use adjutant_protocol::ask::{AskGroup, AskView};

use super::face::{AskDiagnostic, MarkedDocument};
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
    diagnostics: Vec<AskDiagnostic>,
    version: Option<i32>,
    /// After how many versions it is published again without a change.
    again_after: i32,
}

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
        documents: &Documents,
        room: SurfaceRoom,
    ) -> Vec<MarkedDocument> {
        let mut now: BTreeMap<String, (Option<i32>, Vec<AskDiagnostic>)> = BTreeMap::new();
        let mut places = BTreeMap::new();
        for (ask, seen) in asks {
            let place = self.places.remove(&ask.ask_id).unwrap_or_else(|| place_of(ask));
            let place = place.map(|mut place| {
                let entry = now.entry(place.uri.clone()).or_default();
                if let Text::Open(open) = documents.under(&place.uri) {
                    place.follow(&open);
                    entry.0 = open.version;
                }
                entry.1.push(diagnostic_of(ask, &place, seen, room));
                place
            });
            places.insert(ask.ask_id.clone(), place);
        }
        self.places = places;
        self.publish(now)
    }

    /// Returns the documents to publish. Editors move diagnostics with the text, so an edited document is
    /// published again only if a diagnostic changed. Some editors drop diagnostics of an older version: for a
    /// client that gets versions the same ones are published again, at doubling distances.
    fn publish(&mut self, now: BTreeMap<String, (Option<i32>, Vec<AskDiagnostic>)>) -> Vec<MarkedDocument> {
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
                diagnostics: entry.diagnostics.clone(),
            });
            published.insert(uri, entry);
        }
        let left = std::mem::replace(&mut self.published, published);
        changed.extend(left.into_keys().map(|uri| MarkedDocument {
            uri,
            version: None,
            diagnostics: Vec::new(),
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

#[cfg(test)]
mod tests;
