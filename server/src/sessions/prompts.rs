//! The prompts that the user wrote in a folder, newest first, read from the logs.
//!
//! Never locks a session and never waits for one: a log that another process writes is read as it is. Never reads more
//! than the newest logs of the folder.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

use adjutant_core::wire::history::own_words;
use adjutant_protocol::SessionId;
use adjutant_protocol::history::{PastPrompt, PromptHistoryResult};

use crate::session::catalog::{Catalog, CatalogError};
use crate::session::log::{Log, RecordRaw};
use crate::session::{replay, summaries};
use crate::uri;

/// Logs of a folder that are read, the last written first.
const MAX_LOGS: usize = 256;
/// Bytes of logs that are read for one page.
const MAX_LOG_BYTES: u64 = 64 << 20;
/// Bytes of the prompts of a page, unless it has only one.
const MAX_PAGE_BYTES: usize = 256 << 10;

/// The place of a prompt among all: the newest is the least.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PromptPlace {
    at: Reverse<u64>,
    session: String,
    seq: Reverse<u64>,
}

impl PromptPlace {
    fn text(&self) -> String {
        format!("{}.{}.{}", self.at.0, self.seq.0, self.session)
    }

    /// Parses the `before` of a page.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '.');
        let mut number = || parts.next()?.parse().ok().map(Reverse);
        let (at, seq) = (number()?, number()?);
        Some(Self { at, session: parts.next()?.to_owned(), seq })
    }
}

/// Which prompts a page has.
#[derive(Clone, Debug)]
pub struct PromptFilter {
    /// The URI of the first folder of their sessions.
    pub root: String,
    pub limit: usize,
    /// Only prompts older than this one.
    pub before: Option<PromptPlace>,
}

/// Returns a page of prompts. Blocks.
pub fn page(catalog: &Catalog, wanted: &PromptFilter) -> Result<PromptHistoryResult, CatalogError> {
    let mut logs = logs_of(catalog, &wanted.root)?.into_iter().peekable();
    let mut read: BTreeMap<PromptPlace, String> = BTreeMap::new();
    let mut page = PromptPage { limit: wanted.limit, ..PromptPage::default() };
    loop {
        let newest = read.first_key_value().map(|(place, _)| place.at.0);
        // A log that was written after the newest prompt so far may have a newer one.
        if let Some(log) = logs.next_if(|log| newest.is_none_or(|at| log.written / 1_000_000 >= at)) {
            read_log(catalog, &log.id, wanted.before.as_ref(), &mut read);
        } else if let Some((place, text)) = read.pop_first() {
            if !page.add(place, text) {
                break;
            }
        } else {
            break;
        }
    }
    Ok(page.result())
}

struct PromptLog {
    id: String,
    /// In nanoseconds since 1970.
    written: u64,
    bytes: u64,
}

/// Returns the logs of a folder that are read, the last written first.
fn logs_of(catalog: &Catalog, root: &str) -> Result<Vec<PromptLog>, CatalogError> {
    let is_of_folder = |folder: &String| uri::of_path(Path::new(folder)) == root;
    let mut logs = Vec::new();
    for listed in catalog.list()? {
        let Some(log) = listed.log else { continue };
        // The folders of a session never change, so an old summary knows them too.
        let folders = match listed.summary {
            Some(summary) => summary.roots,
            None => match summaries::rebuilt(catalog, &listed.id) {
                Ok(summary) => summary.roots,
                Err(error) if error.is_scarce() => return Err(error),
                // The list of sessions reports a log that cannot be read.
                Err(_) => continue,
            },
        };
        if folders.first().is_some_and(is_of_folder) {
            logs.push(PromptLog { id: listed.id, written: log.written, bytes: log.len });
        }
    }
    logs.sort_by(|one, other| (Reverse(one.written), &one.id).cmp(&(Reverse(other.written), &other.id)));
    let mut bytes = 0;
    logs.retain(|log| {
        let fits = bytes + log.bytes <= MAX_LOG_BYTES;
        bytes += if fits { log.bytes } else { 0 };
        fits
    });
    logs.truncate(MAX_LOGS);
    Ok(logs)
}

/// Adds the wanted prompts of a log.
fn read_log(
    catalog: &Catalog,
    id: &str,
    before: Option<&PromptPlace>,
    read: &mut BTreeMap<PromptPlace, String>,
) {
    let Ok(place) = catalog.place(id) else { return };
    let mut sink = |record: RecordRaw| {
        // Most records are no prompts, and parsing them would take the most time.
        if !record.event.get().contains("\"prompted\"") {
            return;
        }
        let Ok(Some(parsed)) = replay::read_record(&record) else { return };
        let Some(words) = own_words(&parsed.event) else { return };
        let at = PromptPlace { at: Reverse(record.at_ms), session: id.to_owned(), seq: Reverse(record.seq) };
        if before.is_none_or(|before| *before < at) {
            read.insert(at, words.to_owned());
        }
    };
    if let Err(error) = Log::read_each(&*place.storage, &place.dir, id, &mut sink) {
        tracing::debug!(%error, session = id, "the prompts of this log are left out");
    }
}

/// A page that is being made.
#[derive(Default)]
struct PromptPage {
    limit: usize,
    prompts: Vec<PastPrompt>,
    bytes: usize,
    /// The oldest prompt that the page stands for.
    last: Option<PromptPlace>,
    is_full: bool,
}

impl PromptPage {
    /// Adds the next older prompt, unless it equals the one before. Returns `false` if there is no room for it.
    fn add(&mut self, place: PromptPlace, text: String) -> bool {
        let is_repeated = self.prompts.last().is_some_and(|last| last.text == text);
        if !is_repeated {
            let is_large = !self.prompts.is_empty() && self.bytes + text.len() > MAX_PAGE_BYTES;
            self.is_full = is_large || self.prompts.len() == self.limit;
            if self.is_full {
                return false;
            }
            self.bytes += text.len();
            let session_id = SessionId(place.session.clone());
            self.prompts.push(PastPrompt { text, session_id, at: place.at.0 });
        }
        self.last = Some(place);
        true
    }

    fn result(self) -> PromptHistoryResult {
        let before = self.last.filter(|_| self.is_full).map(|last| last.text());
        PromptHistoryResult { prompts: self.prompts, before }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(at: u64) -> PromptPlace {
        PromptPlace { at: Reverse(at), session: "s-1".to_owned(), seq: Reverse(at) }
    }

    #[test]
    fn p27_a_page_of_prompts_ends_before_it_is_too_large() {
        let mut page = PromptPage { limit: 9, ..PromptPage::default() };
        assert!(page.add(place(9), "x".repeat(MAX_PAGE_BYTES + 1)), "the first comes whatever its size");
        assert!(page.add(place(8), "x".repeat(MAX_PAGE_BYTES + 1)), "an equal one needs no room");
        assert!(!page.add(place(7), "y".to_owned()));
        let result = page.result();
        assert_eq!(result.prompts.len(), 1);
        assert_eq!(result.before.as_deref().and_then(PromptPlace::parse), Some(place(8)));
    }

    #[test]
    fn p27_only_what_a_page_returned_is_the_place_of_a_prompt() {
        assert_eq!(PromptPlace::parse(&place(5).text()), Some(place(5)));
        for wrong in ["", "5", "5.5", "x.5.s-1", "5.-1.s-1"] {
            assert_eq!(PromptPlace::parse(wrong), None, "{wrong:?}");
        }
    }
}
