//! Which item each lasting update of a session belongs to, and the pages of these items.
//!
//! An item is what a client draws as one thing. It has the place of its first update. Never keeps the content of an update.

use std::collections::HashMap;

use adjutant_protocol::RunId;
use adjutant_protocol::update::{AskChange, RunView, Update};

/// Marks an update of no item: a state, which the next one replaces.
const NO_ITEM: u32 = u32::MAX;

/// The items of a session, by the numbers of their updates.
#[derive(Clone, Debug, Default)]
pub struct Items {
    items: Vec<Item>,
    /// Which item the update with each number belongs to. The first entry is that of the number 1.
    item_of: Vec<u32>,
    known: HashMap<ItemKey, u32>,
    /// The number of the newest state.
    last_state: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Item {
    /// The number of its first update.
    first: u64,
    /// Whether a client draws it. Others go with the next one that is drawn.
    is_drawn: bool,
}

/// What is the same for all updates of an item.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum ItemKey {
    Prompt(String),
    Message(String),
    Thought(String),
    Call(String),
    Change(String),
    Ask(String),
    PlanOf(Option<String>),
    CompletionOf(Option<String>),
    RunStart(String),
    RunEnd(String),
    Turn(u32),
}

/// A page of items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemPage {
    /// The numbers of all their updates, ascending.
    pub updates: Vec<u64>,
    /// If there are older items: the number before which they begin.
    pub before: Option<u64>,
}

impl Items {
    /// Adds the update after the last one.
    pub fn add(&mut self, run: Option<&RunId>, update: &Update) {
        let seq = self.item_of.len() as u64 + 1;
        if let Update::StateUpdate(_) = update {
            self.last_state = Some(seq);
            self.item_of.push(NO_ITEM);
            return;
        }
        let (items, is_drawn) = (&mut self.items, is_drawn(update));
        let mut begin = || {
            items.push(Item { first: seq, is_drawn });
            u32::try_from(items.len() - 1).unwrap_or(NO_ITEM)
        };
        let item = match key(run, update) {
            Some(key) => *self.known.entry(key).or_insert_with(begin),
            None => begin(),
        };
        self.item_of.push(item);
    }

    /// Returns the number of the last update.
    pub fn last(&self) -> u64 {
        self.item_of.len() as u64
    }

    /// Returns the number of the newest state.
    pub fn last_state(&self) -> Option<u64> {
        self.last_state
    }

    /// Returns the item that an update belongs to, unless it is a state.
    pub fn item_of(&self, seq: u64) -> Option<u32> {
        let at = usize::try_from(seq.checked_sub(1)?).ok()?;
        self.item_of.get(at).copied().filter(|item| *item != NO_ITEM)
    }

    /// Returns the newest `limit` items of those that begin before the update `before`, without updates after `last`.
    pub fn page(&self, before: u64, limit: usize, last: u64) -> ItemPage {
        let end = self.items.partition_point(|item| item.first < before.min(last + 1));
        let (mut start, mut left) = (end, limit);
        while let Some(next) = start.checked_sub(1) {
            let is_drawn = self.items[next].is_drawn;
            if is_drawn && left == 0 {
                break;
            }
            left -= usize::from(is_drawn);
            start = next;
        }
        let Some(first) = self.items.get(start).filter(|_| start < end).map(|item| item.first) else {
            return ItemPage::default();
        };
        let is_in = |item: u32| item != NO_ITEM && (start..end).contains(&(item as usize));
        let numbers = (first..=last).zip(self.item_of.iter().skip(usize::try_from(first - 1).unwrap_or(0)));
        ItemPage {
            updates: numbers.filter(|(_, item)| is_in(**item)).map(|(seq, _)| seq).collect(),
            before: (start > 0).then_some(first),
        }
    }
}

/// Returns the key of an update's item; `None` if the update is an item by itself.
fn key(run: Option<&RunId>, update: &Update) -> Option<ItemKey> {
    let run = run.map(|run| run.0.clone());
    Some(match update {
        Update::UserMessage { message_id, .. } => ItemKey::Prompt(message_id.0.clone()),
        Update::AgentMessage { message_id, .. } | Update::AgentMessageChunk { message_id, .. } => {
            ItemKey::Message(message_id.0.clone())
        }
        Update::AgentThought { message_id, .. } | Update::AgentThoughtChunk { message_id, .. } => {
            ItemKey::Thought(message_id.0.clone())
        }
        Update::ToolCallUpdate(call) => ItemKey::Call(call.tool_call_id.0.clone()),
        Update::ToolCallContentChunk { tool_call_id, .. } => ItemKey::Call(tool_call_id.0.clone()),
        Update::ChangeSet(change) => ItemKey::Change(change.change_set_id.0.clone()),
        Update::Ask(AskChange::Opened { ask } | AskChange::Changed { ask }) => {
            ItemKey::Ask(ask.ask_id.0.clone())
        }
        Update::Ask(AskChange::Closed { ask_id, .. }) => ItemKey::Ask(ask_id.0.clone()),
        Update::CompactionUpdate(view) => ItemKey::Message(view.compaction_id.0.clone()),
        Update::PlanUpdate { .. } => ItemKey::PlanOf(run),
        Update::Complete { .. } => ItemKey::CompletionOf(run),
        Update::Run(RunView::Started { run_id, .. }) => ItemKey::RunStart(run_id.0.clone()),
        Update::Run(RunView::Ended { run_id, .. }) => ItemKey::RunEnd(run_id.0.clone()),
        Update::Turn(turn) => ItemKey::Turn(turn.turn),
        Update::ConfigOptionUpdate { .. }
        | Update::Rule { .. }
        | Update::Notice { .. }
        | Update::UsageUpdate(_)
        | Update::StateUpdate(_) => return None,
    })
}

/// Whether a client draws the item of this update. The beginning of a run or a turn is drawn with what follows it.
fn is_drawn(update: &Update) -> bool {
    !matches!(update, Update::Run(RunView::Started { .. }) | Update::Turn(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjutant_protocol::update::{TurnPhase, TurnView};

    fn message(id: &str) -> Update {
        Update::AgentMessage { message_id: id.into(), text: String::new(), interrupted: false }
    }

    fn turn(turn: u32) -> Update {
        Update::Turn(TurnView {
            turn,
            phase: TurnPhase::Started,
            attempt: 1,
            usage: None,
            cost: None,
            failure: None,
            message: None,
            model: None,
            retry_at: None,
            cache_break: None,
            compacts: false,
        })
    }

    fn items(updates: &[Update]) -> Items {
        let mut items = Items::default();
        updates.iter().for_each(|update| items.add(None, update));
        items
    }

    #[test]
    fn s09_pages_have_whole_items_and_every_one_once() {
        // The turn 2 begins before the message b, and the message a gets one more update at the end.
        let rows =
            [message("a"), turn(1), message("b"), turn(2), message("b"), turn(1), message("c"), message("a")];
        let items = items(&rows);
        let page = |before, limit| items.page(before, limit, items.last());
        assert_eq!(page(9, 1), ItemPage { updates: vec![4, 7], before: Some(4) });
        assert_eq!(page(4, 1), ItemPage { updates: vec![2, 3, 5, 6], before: Some(2) });
        assert_eq!(page(2, 1), ItemPage { updates: vec![1, 8], before: None });
        assert_eq!(page(1, 1), ItemPage::default());
        assert_eq!(page(9, 2), ItemPage { updates: vec![2, 3, 4, 5, 6, 7], before: Some(2) });
        assert_eq!(page(u64::MAX, 9).updates, (1..=8).collect::<Vec<_>>());
        assert_eq!(items.page(9, 9, 5).updates, [1, 2, 3, 4, 5], "no update that is not published");
    }
}
