//! The asks that were delivered: one is on the desk, the others wait.
//!
//! Never answers by itself and never loses a delivery: each is answered,
//! withdrawn, or returned when the desk is cleared.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use adjutant_protocol::AskId;
use adjutant_protocol::ask::{AskGroup, AskView};

use crate::transport::RequestId;

/// An answer counts only if the ask has been shown for this long.
pub const READING_TIME: Duration = Duration::from_millis(400);
/// Deliveries that may wait; a session has few open asks.
const ROOM: usize = 64;

/// One ask, and the request that waits for its answer; an ask that a run left open has none.
#[derive(Clone, Debug)]
pub struct PendingAsk {
    pub request: Option<RequestId>,
    pub ask: AskView,
}

#[derive(Debug, Default)]
pub struct AskDesk {
    shown: Option<(PendingAsk, Instant)>,
    waiting: VecDeque<PendingAsk>,
}

impl AskDesk {
    /// Whether there is room for another delivery.
    pub fn has_room(&self) -> bool {
        self.waiting.len() < ROOM
    }

    /// Adds a delivery to those that wait.
    pub fn add(&mut self, delivery: PendingAsk) {
        self.waiting.push_back(delivery);
    }

    /// Puts the next ask on the desk and returns it, if the desk is free. An ask that does not block
    /// its run makes room for one that does.
    pub fn next(&mut self, now: Instant) -> Option<&AskView> {
        let blocking = |delivery: &PendingAsk| delivery.ask.group != AskGroup::NonBlocking;
        let first = self.waiting.iter().position(blocking);
        if let Some((present, _)) = &self.shown {
            if blocking(present) || first.is_none() {
                return None;
            }
            let (present, _) = self.shown.take()?;
            self.waiting.push_back(present);
        }
        let next = self.waiting.remove(first.unwrap_or(0))?;
        Some(&self.shown.insert((next, now)).0.ask)
    }

    /// Returns the ask on the desk.
    pub fn current(&self) -> Option<&AskView> {
        self.shown.as_ref().map(|(delivery, _)| &delivery.ask)
    }

    /// Replaces an ask by what is left of it.
    pub fn replace(&mut self, ask: &AskView) {
        let shown = self.shown.iter_mut().map(|(delivery, _)| delivery);
        for delivery in shown.chain(&mut self.waiting).filter(|delivery| delivery.ask.ask_id == ask.ask_id) {
            delivery.ask = ask.clone();
        }
    }

    /// Whether an ask is on the desk or waits.
    pub fn holds(&self, ask: &AskId) -> bool {
        let shown = self.shown.iter().map(|(delivery, _)| delivery);
        shown.chain(&self.waiting).any(|delivery| delivery.ask.ask_id == *ask)
    }

    /// Whether the ask on the desk was shown long enough at this moment.
    pub fn was_read(&self, at: Instant) -> bool {
        self.shown.as_ref().is_some_and(|(_, since)| at.saturating_duration_since(*since) >= READING_TIME)
    }

    /// Removes and returns the ask on the desk, to answer it.
    pub fn answered(&mut self) -> Option<PendingAsk> {
        self.shown.take().map(|(delivery, _)| delivery)
    }

    /// Removes the deliveries of a closed ask. Returns them, and whether one was on the desk.
    pub fn closed(&mut self, ask: &AskId) -> (Vec<PendingAsk>, bool) {
        self.remove(|delivery| delivery.ask.ask_id == *ask)
    }

    /// Removes the delivery of a withdrawn request, as `closed` does.
    pub fn withdrawn(&mut self, request: &str) -> (Vec<PendingAsk>, bool) {
        self.remove(|delivery| delivery.request.as_ref().is_some_and(|id| id.token() == request))
    }

    /// Removes and returns every delivery.
    pub fn clear(&mut self) -> Vec<PendingAsk> {
        self.remove(|_| true).0
    }

    fn remove(&mut self, which: impl Fn(&PendingAsk) -> bool) -> (Vec<PendingAsk>, bool) {
        let present = match &self.shown {
            Some((delivery, _)) if which(delivery) => self.answered(),
            _ => None,
        };
        let was_shown = present.is_some();
        let (gone, left): (VecDeque<PendingAsk>, _) =
            std::mem::take(&mut self.waiting).into_iter().partition(which);
        self.waiting = left;
        let mut gone = Vec::from(gone);
        gone.extend(present);
        (gone, was_shown)
    }
}
