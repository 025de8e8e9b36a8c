//! The items of one output while it streams: finds the item that each event belongs to.
//!
//! Never relies on one identifier alone: some servers give each item the index zero, others send a new id with each
//! event of the same item.

use adjutant_core::machine::retry::CallFailure;

use super::super::draft::Draft;

/// The maximum number of items in one reply.
const MAX_ITEMS: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemKind {
    Message,
    Reasoning,
    Call,
    /// A tool that the provider runs itself, or an unknown type.
    Other,
}

/// The identifiers by which an event names its item. Each may be missing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ItemKey<'a> {
    pub id: Option<&'a str>,
    pub index: Option<i64>,
    pub call_id: Option<&'a str>,
}

pub(super) struct Item {
    pub kind: ItemKind,
    id: String,
    index: Option<i64>,
    call_id: String,
    announced: bool,
    ended: bool,
    /// Its index in the final output, once that is known.
    final_index: Option<usize>,
    /// For a tool call: its index in the calls of the draft.
    pub call: Option<usize>,
    /// The text that was streamed to the client.
    pub streamed: String,
    /// The part that streams now, and where it begins in `streamed`, in bytes.
    pub part: Option<(ItemPart, usize)>,
    /// The provider reports that it stopped inside this item.
    pub cut: bool,
    /// The complete item as the provider wrote it.
    pub json: Option<String>,
    /// Whether it has content that a `Reply` cannot express, so that it must be sent back unchanged.
    pub irreplaceable: bool,
}

/// One part of the text of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ItemPart {
    pub source: TextSource,
    pub index: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextSource {
    Answer,
    /// A summary of the reasoning.
    Summary,
    /// The full reasoning.
    Reasoning,
}

impl TextSource {
    /// Returns the kind of item that has this text.
    pub fn item_kind(self) -> ItemKind {
        match self {
            TextSource::Answer => ItemKind::Message,
            TextSource::Summary | TextSource::Reasoning => ItemKind::Reasoning,
        }
    }
}

/// All items of one output, in the order of their first events.
#[derive(Default)]
pub(super) struct Items {
    pub all: Vec<Item>,
}

impl Items {
    /// Adds an item and returns its position.
    pub fn begin(
        &mut self,
        kind: ItemKind,
        key: ItemKey<'_>,
        draft: &mut Draft<'_>,
    ) -> Result<usize, CallFailure> {
        if self.all.len() == MAX_ITEMS {
            return Err(draft.too_much("items", MAX_ITEMS, "of them"));
        }
        let call = if kind == ItemKind::Call { Some(draft.open_call()?) } else { None };
        let mut item = Item {
            kind,
            id: String::new(),
            index: None,
            call_id: String::new(),
            announced: false,
            ended: false,
            final_index: None,
            call,
            streamed: String::new(),
            part: None,
            cut: false,
            json: None,
            irreplaceable: false,
        };
        item.fill_ids(key, draft)?;
        self.all.push(item);
        Ok(self.all.len() - 1)
    }

    /// Finds the open item that a delta belongs to.
    ///
    /// Searches from the end, because most deltas belong to the latest item.
    pub fn find_open(&self, kind: ItemKind, key: ItemKey<'_>) -> Option<usize> {
        let open = |item: &Item| item.kind == kind && !item.ended;
        if key.id.is_none() && key.index.is_none() {
            return self.last(open);
        }
        self.last(|item| open(item) && item.has_id(key))
            .or_else(|| self.last(|item| open(item) && item.has_index(key)))
    }

    /// Whether an event belongs to an item that has ended, and to no open item.
    pub fn has_ended(&self, kind: ItemKind, key: ItemKey<'_>) -> bool {
        let named = |item: &Item| if key.id.is_some() { item.has_id(key) } else { item.has_index(key) };
        self.find_open(kind, key).is_none()
            && self.last(|item| item.kind == kind && item.ended && named(item)).is_some()
    }

    /// Finds the item of an `added` event, if a delta of it came first.
    pub fn find_announced(&self, kind: ItemKind, key: ItemKey<'_>) -> Option<usize> {
        let fresh = |item: &Item| item.kind == kind && !item.announced && !item.ended;
        self.last(|item| fresh(item) && (item.has_id(key) || item.has_index(key)))
    }

    /// Finds the item of a `done` event.
    pub fn find_ended(&self, kind: ItemKind, key: ItemKey<'_>) -> Option<usize> {
        let known = |item: &Item| item.kind == kind && !item.has_other_call_id(key);
        let open = |item: &Item| known(item) && !item.ended;
        self.last(|item| known(item) && (item.has_call_id(key) || item.has_id(key)))
            .or_else(|| self.last(|item| open(item) && item.has_index(key)))
            .or_else(|| self.first(|item| open(item) && !item.has_other_index(key)))
    }

    /// Gives an item its index in the final output, if an id identifies it.
    ///
    /// This runs for the whole output first, so that no item gets an index that belongs to another by id.
    pub fn assign_final_index(&mut self, kind: ItemKind, key: ItemKey<'_>, final_index: usize) {
        let named =
            |item: &Item| item.is_unassigned(kind, key) && (item.has_call_id(key) || item.has_id(key));
        if let Some(at) = self.first(named) {
            self.all[at].final_index = Some(final_index);
        }
    }

    /// Finds the item at this index of the final output.
    ///
    /// It is the item with this final index, else one with this `output_index`, else the first without a final index.
    pub fn find_final(&self, kind: ItemKind, key: ItemKey<'_>, final_index: usize) -> Option<usize> {
        let here = ItemKey { index: i64::try_from(final_index).ok(), ..key };
        self.first(|item| item.final_index == Some(final_index))
            .or_else(|| self.first(|item| item.is_unassigned(kind, key) && item.has_index(here)))
            .or_else(|| self.first(|item| item.is_unassigned(kind, key)))
    }

    /// Sorts the items into the order of the final output.
    pub fn sort(&mut self) {
        self.all.sort_by_key(|item| match item.final_index {
            Some(final_index) => (0, i64::try_from(final_index).unwrap_or(i64::MAX)),
            None => (1, item.index.unwrap_or(i64::MAX)),
        });
    }

    fn last(&self, is: impl Fn(&Item) -> bool) -> Option<usize> {
        self.all.iter().rposition(is)
    }

    fn first(&self, is: impl Fn(&Item) -> bool) -> Option<usize> {
        self.all.iter().position(is)
    }
}

impl Item {
    pub fn announce(&mut self, key: ItemKey<'_>, draft: &mut Draft<'_>) -> Result<(), CallFailure> {
        self.announced = true;
        self.fill_ids(key, draft)
    }

    /// Marks the item as ended, and sets its index in the final output if that is known.
    pub fn end(
        &mut self,
        key: ItemKey<'_>,
        final_index: Option<usize>,
        draft: &mut Draft<'_>,
    ) -> Result<(), CallFailure> {
        self.ended = true;
        self.final_index = final_index.or(self.final_index);
        self.fill_ids(key, draft)
    }

    /// Sets the identifiers that earlier events did not have.
    fn fill_ids(&mut self, key: ItemKey<'_>, draft: &mut Draft<'_>) -> Result<(), CallFailure> {
        self.index = self.index.or(key.index);
        for (known, new) in [(&mut self.id, key.id), (&mut self.call_id, key.call_id)] {
            if known.is_empty() {
                let new = new.unwrap_or_default();
                draft.count_stored("ids", new.len())?;
                new.clone_into(known);
            }
        }
        Ok(())
    }

    /// Returns the id that pairs the call with its output.
    pub fn call_id(&self) -> &str {
        &self.call_id
    }

    fn has_id(&self, key: ItemKey<'_>) -> bool {
        key.id.is_some_and(|id| !id.is_empty() && id == self.id)
    }

    fn has_index(&self, key: ItemKey<'_>) -> bool {
        key.index.is_some() && self.index == key.index
    }

    fn has_call_id(&self, key: ItemKey<'_>) -> bool {
        key.call_id.is_some_and(|id| !id.is_empty() && id == self.call_id)
    }

    /// Whether both have an index and the two differ.
    fn has_other_index(&self, key: ItemKey<'_>) -> bool {
        key.index.is_some() && self.index.is_some() && self.index != key.index
    }

    /// Whether the item has no index in the final output yet, and may be the item of `key`.
    fn is_unassigned(&self, kind: ItemKind, key: ItemKey<'_>) -> bool {
        self.kind == kind && self.final_index.is_none() && !self.has_other_call_id(key)
    }

    fn has_other_call_id(&self, key: ItemKey<'_>) -> bool {
        let call_id = key.call_id.unwrap_or_default();
        !call_id.is_empty() && !self.call_id.is_empty() && call_id != self.call_id
    }
}
