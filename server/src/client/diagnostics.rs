//! Open asks beside the lines of documents, for a client without our methods: where
//! each is shown, and which documents have to be told again.
//!
//! Names only documents that have marks of ours, and an empty list takes them back.

use std::collections::BTreeMap;

use adjutant_core::text::document::Snapshot;
use adjutant_protocol::AskId;
use adjutant_protocol::ask::{AskGroup, AskSubject, AskView};

use super::face::{AskDiagnostic, MarkedDocument};
use super::popup::{self, SurfaceRoom};
use crate::documents::{Documents, Text};

/// How far the line of an ask is looked for when the text around it has changed.
const MAX_SEARCH: usize = 200;

/// All marks of one connection.
#[derive(Default)]
pub struct Diagnostics {
    /// The client wants to know which version of a document they belong to.
    versions: bool,
    places: BTreeMap<AskId, Option<AskLine>>,
    published: BTreeMap<String, PublishedDiagnostics>,
}

/// What a document was told last.
struct PublishedDiagnostics {
    marks: Vec<AskDiagnostic>,
    version: Option<i32>,
    /// How many versions later it is told again, though nothing changed.
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

    /// Returns the documents whose marks have changed, each with all that it has now.
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

    /// A document that moved on is told again when that changes a mark; its editor moves them
    /// with the text. One that drops what is older than its text is told the same again, ever more
    /// rarely: not at each keystroke.
    fn publish(&mut self, now: BTreeMap<String, (Option<i32>, Vec<AskDiagnostic>)>) -> Vec<MarkedDocument> {
        let mut told = BTreeMap::new();
        let mut changed = Vec::new();
        for (uri, (version, marks)) in now {
            let version = version.filter(|_| self.versions);
            let before = self.published.remove(&uri);
            let same = before.filter(|before| before.marks == marks);
            let fresh = PublishedDiagnostics { marks, version, again_after: 1 };
            let entry = match same {
                Some(same) if same.version.is_some() != version.is_some() => fresh,
                Some(same) if !same.is_old_at(version) => {
                    told.insert(uri, same);
                    continue;
                }
                Some(same) => {
                    PublishedDiagnostics { again_after: same.again_after.saturating_mul(2), ..fresh }
                }
                None => fresh,
            };
            changed.push(MarkedDocument { uri: uri.clone(), version, marks: entry.marks.clone() });
            told.insert(uri, entry);
        }
        let left = std::mem::replace(&mut self.published, told);
        changed.extend(left.into_keys().map(|uri| MarkedDocument { uri, version: None, marks: Vec::new() }));
        changed
    }
}

impl PublishedDiagnostics {
    fn is_old_at(&self, now: Option<i32>) -> bool {
        let (Some(then), Some(now)) = (self.version, now) else { return false };
        now < then || now.saturating_sub(then) >= self.again_after
    }
}

/// Whether an ask has a place in a document where it is shown.
pub fn has_place(ask: &AskView) -> bool {
    place_of(ask).is_some()
}

/// Where an ask is shown: where its run was started from, else at the first line it would change.
/// One that holds nothing up is shown nowhere.
fn place_of(ask: &AskView) -> Option<AskLine> {
    if ask.group == AskGroup::Idle {
        return None;
    }
    if let Some(origin) = &ask.origin {
        let line = origin.range.map_or(0, |range| range.start.line);
        return Some(AskLine { uri: origin.uri.clone(), line, text: None });
    }
    match ask.subject.as_ref()? {
        AskSubject::Edit { uri, diff, new_file: false, .. } => {
            Some(AskLine { uri: uri.clone(), line: first_line(diff), text: None })
        }
        AskSubject::Edit { .. } | AskSubject::Command { .. } | AskSubject::Read { .. } => None,
    }
}

/// The first line of the old text that a unified diff changes, from zero.
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
    /// Goes with its line when the text above it grows or shrinks.
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
