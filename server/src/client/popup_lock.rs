//! The one place on the screen where a popup may be: one at a time, blocking
//! asks first, then the oldest (protocol section 7).
//!
//! Never holds its lock while anybody waits.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Who comes first: smaller is earlier. The number tells apart those that are alike.
type Rank = (bool, u64, u64);

/// The slot of one connection; clones share it.
#[derive(Clone, Default)]
pub struct PopupLock {
    shared: Arc<PopupLockState>,
}

#[derive(Default)]
struct PopupLockState {
    line: Mutex<WaitingLine>,
    moved: Notify,
}

#[derive(Default)]
struct WaitingLine {
    taken: bool,
    /// Everybody who waits; as many as there are open asks.
    waiting: BTreeSet<Rank>,
    number: u64,
}

/// The right to show a popup; dropped, it goes to the next.
pub struct PopupGuard(PopupLock);

/// A place in the line; dropped, it is given up.
struct QueuePlace {
    slot: PopupLock,
    rank: Rank,
}

impl PopupLock {
    fn lock(&self) -> MutexGuard<'_, WaitingLine> {
        self.shared.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the slot.
    pub async fn acquire(&self, blocking: bool, opened_at: u64) -> PopupGuard {
        let place = self.join_line(blocking, opened_at);
        loop {
            let moved = self.shared.moved.notified();
            tokio::pin!(moved);
            moved.as_mut().enable();
            if self.is_next(place.rank) {
                return PopupGuard(self.clone());
            }
            moved.await;
        }
    }

    fn join_line(&self, blocking: bool, opened_at: u64) -> QueuePlace {
        let mut line = self.lock();
        line.number += 1;
        let rank = (!blocking, opened_at, line.number);
        line.waiting.insert(rank);
        QueuePlace { slot: self.clone(), rank }
    }

    fn is_next(&self, rank: Rank) -> bool {
        let mut line = self.lock();
        let next = !line.taken && line.waiting.first() == Some(&rank);
        line.taken |= next;
        next
    }
}

impl Drop for QueuePlace {
    fn drop(&mut self) {
        self.slot.lock().waiting.remove(&self.rank);
        self.slot.shared.moved.notify_waiters();
    }
}

impl Drop for PopupGuard {
    fn drop(&mut self) {
        self.0.lock().taken = false;
        self.0.shared.moved.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_at_a_time_blocking_first_then_the_oldest() {
        let slot = PopupLock::default();
        let first = slot.acquire(false, 5).await;
        let (told, mut order) = tokio::sync::mpsc::unbounded_channel();
        for (blocking, at) in [(false, 1), (true, 9), (true, 3)] {
            let (slot, told) = (slot.clone(), told.clone());
            tokio::spawn(async move {
                let _held = slot.acquire(blocking, at).await;
                let _ = told.send((blocking, at));
            });
        }
        while slot.lock().waiting.len() < 3 {
            tokio::task::yield_now().await;
        }
        assert!(order.try_recv().is_err(), "the slot is taken");
        drop(first);
        let mut seen = Vec::new();
        for _ in 0..3 {
            seen.extend(order.recv().await);
        }
        assert_eq!(seen, [(true, 3), (true, 9), (false, 1)]);
    }

    #[tokio::test]
    async fn who_gives_up_holds_nobody_back() {
        let slot = PopupLock::default();
        let held = slot.acquire(true, 1).await;
        let mut impatient = Box::pin(slot.acquire(true, 2));
        tokio::select! {
            biased;
            _ = &mut impatient => panic!("the slot is taken"),
            () = tokio::task::yield_now() => {}
        }
        drop(impatient);
        drop(held);
        drop(slot.acquire(true, 3).await);
        assert!(slot.lock().waiting.is_empty() && !slot.lock().taken);
    }
}
