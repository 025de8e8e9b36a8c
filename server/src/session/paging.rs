//! Reads the updates of a page of items from the log.
//!
//! Never splits an item, and keeps only the page in memory.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use adjutant_protocol::SessionId;
use adjutant_protocol::items::ItemsResult;
use adjutant_protocol::update::{SessionUpdateParams, Update};

use super::catalog::Catalog;
use super::replay::replay_range;
use crate::client::backfill::{LastingMessage, UpdateRange};

/// The most bytes of a page, unless its one item is larger.
pub const MAX_PAGE_BYTES: usize = 4 << 20;

/// A page of items whose updates are published.
#[derive(Debug)]
pub struct PublishedPage {
    /// The number of each of their updates, ascending, and its item; a later item has a higher number.
    pub updates: Vec<(u64, u32)>,
    /// If there are older items: the number before which they begin.
    pub before: Option<u64>,
    /// The number of the last published update.
    pub last: u64,
}

/// Returns the updates of a page that the client wants. If it has more than `most` bytes, it has fewer items: the oldest are
/// left for the next page. Blocks.
pub fn read(
    catalog: &Catalog,
    id: &SessionId,
    page: PublishedPage,
    most: usize,
    wants: impl Fn(&Update) -> bool,
) -> Result<ItemsResult, String> {
    let PublishedPage { updates, before, last } = page;
    let Some(((first, _), (end, _))) = updates.first().copied().zip(updates.last().copied()) else {
        return Ok(ItemsResult { updates: Vec::new(), before: None, seq: last });
    };
    let items: HashMap<u64, u32> = updates.into_iter().collect();
    let mut kept = KeptItems { most, ..KeptItems::default() };
    replay_range(catalog, id, UpdateRange::of_updates(first, end), |message| {
        if let LastingMessage::Update(params) = message
            && let Some(item) = items.get(&params.seq)
        {
            let seq = params.seq;
            kept.add(*item, seq, wants(&params.update).then_some(*params));
        }
    })?;
    let before = kept.left_out.or(before);
    let mut updates: Vec<SessionUpdateParams> =
        kept.items.into_values().flat_map(|item| item.updates).collect();
    updates.sort_by_key(|params| params.seq);
    Ok(ItemsResult { updates, before, seq: last })
}

/// The newest items of a page, as far as they fit.
#[derive(Default)]
struct KeptItems {
    items: BTreeMap<u32, KeptItem>,
    bytes: usize,
    most: usize,
    /// If items were left out: where the oldest of the others begins.
    left_out: Option<u64>,
}

/// One item, with the updates of it that the client wants.
#[derive(Default)]
struct KeptItem {
    first: u64,
    updates: Vec<SessionUpdateParams>,
    bytes: usize,
}

impl KeptItems {
    /// Adds the update `seq` of an item, unless the item was left out. Leaves the oldest items out while there is no room.
    fn add(&mut self, item: u32, seq: u64, params: Option<SessionUpdateParams>) {
        let oldest = self.items.first_key_value().map(|(oldest, _)| *oldest);
        if self.left_out.is_some() && oldest.is_some_and(|oldest| item < oldest) {
            return;
        }
        let kept = self.items.entry(item).or_insert_with(|| KeptItem { first: seq, ..KeptItem::default() });
        if let Some(params) = params {
            let bytes = size(&params);
            kept.bytes += bytes;
            self.bytes += bytes;
            kept.updates.push(params);
        }
        while self.bytes > self.most && self.items.len() > 1 {
            let Some((_, oldest)) = self.items.pop_first() else { return };
            self.bytes -= oldest.bytes;
            self.left_out = self.items.first_key_value().map(|(_, item)| item.first);
        }
    }
}

/// Returns how many bytes an update has as JSON.
fn size(params: &SessionUpdateParams) -> usize {
    struct ByteCounter(usize);

    impl Write for ByteCounter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut counted = ByteCounter(0);
    // It is only lost if it cannot be written at all, and then it is not sent either.
    let _ = serde_json::to_writer(&mut counted, params);
    counted.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(seq: u64, bytes: usize) -> Option<SessionUpdateParams> {
        let update = Update::Notice { message: "x".repeat(bytes) };
        Some(SessionUpdateParams { session_id: "s".into(), seq, sub: None, run_id: None, update })
    }

    #[test]
    fn s09_a_page_that_is_too_large_leaves_out_its_oldest_items_whole() {
        let mut kept = KeptItems { most: 2_000, ..KeptItems::default() };
        kept.add(0, 1, params(1, 900));
        kept.add(1, 2, params(2, 100));
        kept.add(2, 3, params(3, 900));
        assert_eq!(kept.left_out, Some(2), "the oldest has no room");
        kept.add(0, 4, params(4, 1));
        kept.add(1, 5, params(5, 1));
        let left: Vec<u64> =
            kept.items.values().flat_map(|item| item.updates.iter().map(|params| params.seq)).collect();
        assert_eq!(left, [2, 5, 3], "a late update of an item that is left out is left out, too");
        kept.add(3, 6, params(6, 9_000));
        assert_eq!((kept.items.len(), kept.left_out), (1, Some(6)), "one item comes whatever its size");
    }
}
