//! The popup lock: one popup at a time, blocking asks first, then the oldest
//! (docs/protocol.md, Asks of a plain client).
//!
//! Never holds its mutex across a wait.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The order in the line: smaller comes first. The last number is unique.
type Rank = (bool, u64, u64);

/// The popup lock of one connection; clones share it.
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
    /// The popups that wait; at most one for each open ask.
    waiting: BTreeSet<Rank>,
    number: u64,
}

/// The right to show a popup. Dropping it passes it to the next.
pub struct PopupGuard(PopupLock);

/// A place in the line. Dropping it gives it up.
struct QueuePlace {
    lock: PopupLock,
    rank: Rank,
}

impl PopupLock {
    fn lock(&self) -> MutexGuard<'_, WaitingLine> {
        self.shared.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the right to show a popup.
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
        QueuePlace { lock: self.clone(), rank }
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
        self.lock.lock().waiting.remove(&self.rank);
        self.lock.shared.moved.notify_waiters();
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
        let lock = PopupLock::default();
        let first = lock.acquire(false, 5).await;
        let (acquired, mut order) = tokio::sync::mpsc::unbounded_channel();
        for (blocking, at) in [(false, 1), (true, 9), (true, 3)] {
            let (lock, acquired) = (lock.clone(), acquired.clone());
            tokio::spawn(async move {
                let _held = lock.acquire(blocking, at).await;
                let _ = acquired.send((blocking, at));
            });
        }
        while lock.lock().waiting.len() < 3 {
            tokio::task::yield_now().await;
        }
        assert!(order.try_recv().is_err(), "the lock is taken");
        drop(first);
        let mut seen = Vec::new();
        for _ in 0..3 {
            seen.extend(order.recv().await);
        }
        assert_eq!(seen, [(true, 3), (true, 9), (false, 1)]);
    }

    #[tokio::test]
    async fn who_gives_up_holds_nobody_back() {
        let lock = PopupLock::default();
        let held = lock.acquire(true, 1).await;
        let mut impatient = Box::pin(lock.acquire(true, 2));
        tokio::select! {
            biased;
            _ = &mut impatient => panic!("the lock is taken"),
            () = tokio::task::yield_now() => {}
        }
        drop(impatient);
        drop(held);
        drop(lock.acquire(true, 3).await);
        assert!(lock.lock().waiting.is_empty() && !lock.lock().taken);
    }
}
