//! The items of one output while they stream: which piece belongs to which.
//!
//! Never takes one mark of an item for all: some servers number every item
//! zero, others give one item a new id with each piece.

use adjutant_core::machine::retry::CallFailure;

use super::super::draft::Draft;

/// The most items of one reply.
const MAX_ITEMS: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Message,
    Reasoning,
    Call,
    /// A tool of the provider's own, or what may come one day.
    Other,
}

/// By what an event names its item.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ItemKey<'a> {
    pub id: Option<&'a str>,
    pub index: Option<i64>,
    pub call_id: Option<&'a str>,
}

pub(super) struct Item {
    pub sort: Sort,
    id: String,
    index: Option<i64>,
    call_id: String,
    announced: bool,
    ended: bool,
    /// Its place in the final output, if that has it.
    place: Option<usize>,
    /// Of a tool call, its place among the calls of the draft.
    pub call: Option<usize>,
    /// What was told of its text.
    pub told: String,
    /// The part of the text that is told now, and where it begins in `told`.
    pub part: Option<(ItemPart, usize)>,
    /// It ended in the middle.
    pub cut: bool,
    /// As the provider wrote it, once it is complete.
    pub json: Option<String>,
    /// It has what a reply does not say, so that it has to come back as it is.
    pub irreplaceable: bool,
}

/// One part of the text of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ItemPart {
    pub voice: TextSource,
    pub index: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextSource {
    Said,
    /// What is told of the reasoning.
    Summary,
    /// The reasoning itself.
    Thought,
}

impl TextSource {
    /// The sort of item that speaks so.
    pub fn sort(self) -> Sort {
        match self {
            TextSource::Said => Sort::Message,
            TextSource::Summary | TextSource::Thought => Sort::Reasoning,
        }
    }
}

/// All items of one output, in the order they came.
#[derive(Default)]
pub(super) struct Items {
    pub all: Vec<Item>,
}

impl Items {
    /// Begins an item.
    pub fn begin(
        &mut self,
        sort: Sort,
        mark: ItemKey<'_>,
        draft: &mut Draft<'_>,
    ) -> Result<usize, CallFailure> {
        if self.all.len() == MAX_ITEMS {
            return Err(draft.too_much("items", MAX_ITEMS, "of them"));
        }
        let call = if sort == Sort::Call { Some(draft.open_call()?) } else { None };
        let mut item = Item {
            sort,
            id: String::new(),
            index: None,
            call_id: String::new(),
            announced: false,
            ended: false,
            place: None,
            call,
            told: String::new(),
            part: None,
            cut: false,
            json: None,
            irreplaceable: false,
        };
        item.add_rest(mark, draft)?;
        self.all.push(item);
        Ok(self.all.len() - 1)
    }

    /// Finds the item a piece belongs to; the latest is looked at first, so that long ones stay cheap.
    pub fn of_piece(&self, sort: Sort, mark: ItemKey<'_>) -> Option<usize> {
        let open = |item: &Item| item.sort == sort && !item.ended;
        if mark.id.is_none() && mark.index.is_none() {
            return self.last(open);
        }
        self.last(|item| open(item) && item.is(mark))
            .or_else(|| self.last(|item| open(item) && item.at(mark)))
    }

    /// Returns whether a piece comes for an item that has ended, and for no open one.
    pub fn is_over(&self, sort: Sort, mark: ItemKey<'_>) -> bool {
        let named = |item: &Item| if mark.id.is_some() { item.is(mark) } else { item.at(mark) };
        self.of_piece(sort, mark).is_none()
            && self.last(|item| item.sort == sort && item.ended && named(item)).is_some()
    }

    /// Finds the item that is announced, if a piece of it came before.
    pub fn of_announced(&self, sort: Sort, mark: ItemKey<'_>) -> Option<usize> {
        let fresh = |item: &Item| item.sort == sort && !item.announced && !item.ended;
        self.last(|item| fresh(item) && (item.is(mark) || item.at(mark)))
    }

    /// Finds the item that is said to be complete.
    pub fn of_ended(&self, sort: Sort, mark: ItemKey<'_>) -> Option<usize> {
        let known = |item: &Item| item.sort == sort && !item.is_other_call(mark);
        let open = |item: &Item| known(item) && !item.ended;
        self.last(|item| known(item) && (item.is_call(mark) || item.is(mark)))
            .or_else(|| self.last(|item| open(item) && item.at(mark)))
            .or_else(|| self.first(|item| open(item) && !item.is_elsewhere(mark)))
    }

    /// Gives the item that stands here in the final output its place, if its own marks tell it; before
    /// all others, so that no other takes it.
    pub fn place(&mut self, sort: Sort, mark: ItemKey<'_>, place: usize) {
        let named = |item: &Item| item.is_left(sort, mark) && (item.is_call(mark) || item.is(mark));
        if let Some(at) = self.first(named) {
            self.all[at].place = Some(place);
        }
    }

    /// Finds the item that stands at this place of the final output.
    pub fn of_final(&self, sort: Sort, mark: ItemKey<'_>, place: usize) -> Option<usize> {
        let here = ItemKey { index: i64::try_from(place).ok(), ..mark };
        self.first(|item| item.place == Some(place))
            .or_else(|| self.first(|item| item.is_left(sort, mark) && item.at(here)))
            .or_else(|| self.first(|item| item.is_left(sort, mark)))
    }

    /// Puts the items in the order the provider gave them.
    pub fn sort(&mut self) {
        self.all.sort_by_key(|item| match item.place {
            Some(place) => (0, i64::try_from(place).unwrap_or(i64::MAX)),
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
    pub fn announce(&mut self, mark: ItemKey<'_>, draft: &mut Draft<'_>) -> Result<(), CallFailure> {
        self.announced = true;
        self.add_rest(mark, draft)
    }

    /// Ends the item: by its own event, or by its place in the final output.
    pub fn end(
        &mut self,
        mark: ItemKey<'_>,
        place: Option<usize>,
        draft: &mut Draft<'_>,
    ) -> Result<(), CallFailure> {
        self.ended = true;
        self.place = place.or(self.place);
        self.add_rest(mark, draft)
    }

    /// Takes up what the pieces of the item did not say before.
    fn add_rest(&mut self, mark: ItemKey<'_>, draft: &mut Draft<'_>) -> Result<(), CallFailure> {
        self.index = self.index.or(mark.index);
        for (known, said) in [(&mut self.id, mark.id), (&mut self.call_id, mark.call_id)] {
            if known.is_empty() {
                let said = said.unwrap_or_default();
                draft.keep("ids", said.len())?;
                said.clone_into(known);
            }
        }
        Ok(())
    }

    /// The id its output is paired by.
    pub fn call_id(&self) -> &str {
        &self.call_id
    }

    fn is(&self, mark: ItemKey<'_>) -> bool {
        mark.id.is_some_and(|id| !id.is_empty() && id == self.id)
    }

    fn at(&self, mark: ItemKey<'_>) -> bool {
        mark.index.is_some() && self.index == mark.index
    }

    fn is_call(&self, mark: ItemKey<'_>) -> bool {
        mark.call_id.is_some_and(|id| !id.is_empty() && id == self.call_id)
    }

    /// Whether the two are known to stand at different places.
    fn is_elsewhere(&self, mark: ItemKey<'_>) -> bool {
        mark.index.is_some() && self.index.is_some() && self.index != mark.index
    }

    /// Whether the item has no place in the final output yet, and may be what stands there.
    fn is_left(&self, sort: Sort, mark: ItemKey<'_>) -> bool {
        self.sort == sort && self.place.is_none() && !self.is_other_call(mark)
    }

    fn is_other_call(&self, mark: ItemKey<'_>) -> bool {
        let call_id = mark.call_id.unwrap_or_default();
        !call_id.is_empty() && !self.call_id.is_empty() && call_id != self.call_id
    }
}
