//! Shares blocking work on many items among the processors.
//!
//! Never starts a thread for a few items, because the start costs more than it saves.

use std::thread;

/// The most threads for one piece of work.
const MAX_THREADS: usize = 8;

/// Calls `work` for parts of a list, of at least `least` items each but for the last, on as many threads as there are processors.
/// Returns the results in the order of the list. A panic of a part continues in the caller. Blocks.
pub fn in_parts<T: Sync, R: Send>(items: &[T], least: usize, work: impl Fn(&[T]) -> R + Sync) -> Vec<R> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    let share = items.len().div_ceil(threads).max(least).max(1);
    thread::scope(|scope| {
        let work = &work;
        // This thread does the first part, and each part for which no other thread can be started.
        let mut parts = items.chunks(share);
        let first = parts.next();
        let spawn = |part| (part, thread::Builder::new().spawn_scoped(scope, move || work(part)).ok());
        let started: Vec<_> = parts.map(spawn).collect();
        let mut results: Vec<R> = first.map(work).into_iter().collect();
        results.extend(started.into_iter().map(|(part, thread)| match thread {
            Some(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            None => work(part),
        }));
        results
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_are_the_whole_list_in_its_order() {
        for (items, least) in [(0, 1), (1, 1), (7, 1), (7, 3), (7, 100), (1_000, 0)] {
            let list: Vec<usize> = (0..items).collect();
            let parts = in_parts(&list, least, |part| part.to_vec());
            assert!(parts.iter().rev().skip(1).all(|part| part.len() >= least.min(items)), "{items} {least}");
            assert_eq!(parts.concat(), list, "{items} {least}");
        }
    }
}
