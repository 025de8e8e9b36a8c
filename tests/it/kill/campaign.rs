//! The campaign: every named point, every time it is passed, and more kills
//! on the way back.
//!
//! Never picks a moment by time: a kill is at the n-th passing of a point.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use adjutant::faults::POINTS;

use super::story::Story;
use adjutant_testkit::command::Ran;

/// Kills at work at once; the runs wait for the disk more than for a processor.
const WORKERS: usize = 6;
/// The least kills that make a campaign.
const LEAST: usize = 200;
/// No point is passed more often in one run of the story.
const MOST_PASSES: usize = 400;
/// Rounds that make up what is missing to the least, when a slow disk merged many syncs.
const MOST_EXTRA: usize = 60;

/// Which passing of which point is next, and which points are through.
#[derive(Default)]
struct Plan {
    next: BTreeMap<&'static str, usize>,
    through: BTreeMap<&'static str, usize>,
    kills: BTreeMap<&'static str, usize>,
    extra: usize,
    failed: bool,
}

impl Plan {
    /// The least advanced point that is not through; then a few once more, if it takes them.
    fn take(&mut self) -> Option<(&'static str, usize)> {
        if self.failed {
            return None;
        }
        let open = POINTS.into_iter().filter(|point| !self.through.contains_key(point));
        let Some(point) = open.min_by_key(|point| self.next.get(point).copied().unwrap_or(0)) else {
            self.extra += 1;
            let more = self.kills.values().sum::<usize>() < LEAST && self.extra <= MOST_EXTRA;
            return more.then_some(("facts-written", self.extra));
        };
        let passing = self.next.entry(point).or_insert(0);
        *passing += 1;
        assert!(*passing <= MOST_PASSES, "{point} is passed for ever");
        Some((point, *passing))
    }
}

#[test]
fn s05_s95_s96_l15_a_run_killed_anywhere_is_finished_once() {
    let begun = Instant::now();
    let plan = Mutex::new(Plan::default());
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| work(&plan));
        }
    });
    let plan = plan.into_inner().unwrap_or_else(PoisonError::into_inner);
    let kills: usize = plan.kills.values().sum();
    eprintln!("{kills} kills in {:?}: {:?}", begun.elapsed(), plan.kills);
    assert_eq!(plan.through.len(), POINTS.len(), "a worker failed");
    for point in POINTS {
        assert!(plan.kills.contains_key(point), "nothing was ever killed at {point}");
    }
    assert!(kills >= LEAST, "{kills} kills are too few to mean anything");
}

fn work(plan: &Mutex<Plan>) {
    let lock = || plan.lock().unwrap_or_else(PoisonError::into_inner);
    /// Stops the other workers when a check fails here.
    struct Alarm<'a>(&'a Mutex<Plan>);
    impl Drop for Alarm<'_> {
        fn drop(&mut self) {
            if thread::panicking() {
                self.0.lock().unwrap_or_else(PoisonError::into_inner).failed = true;
            }
        }
    }
    let _alarm = Alarm(plan);
    loop {
        let Some((point, passing)) = lock().take() else { return };
        let killed = round(point, passing);
        let mut plan = lock();
        for killed_at in &killed {
            *plan.kills.entry(killed_at).or_insert(0) += 1;
        }
        if killed.is_empty() {
            plan.through.insert(point, passing);
        }
    }
}

/// Kills a run at one passing of a point, and up to three times more while it is resumed;
/// returns where it died.
fn round(point: &'static str, passing: usize) -> Vec<&'static str> {
    let mut story = Story::new();
    let mut killed = Vec::new();
    let mut faults = more(point, passing).into_iter();
    let mut fault = Some((point, passing));
    let mut ran = story.begin(fault);
    while ran.was_killed() {
        killed.extend(fault.map(|(point, _)| point));
        story.nothing_is_lost();
        story.is_listed();
        // Looking at a session is an opening of its own, so half of them are resumed unseen.
        if passing.is_multiple_of(2) {
            story.is_exported_whole();
            story.nothing_is_lost();
        }
        let over = story.is_over();
        fault = faults.next();
        ran = story.go_on(fault);
        story.nothing_is_lost();
        let done = |ran: &Ran| match over {
            // It was killed when all was done: there is nothing to go on with, and it says so.
            true => ran.expect(2).stderr.contains("this session has nothing left to continue"),
            false => ran.expect(0).stderr.contains("Done · "),
        };
        assert!(ran.was_killed() || done(&ran), "{ran}");
    }
    story.is_done();
    story.is_exported_whole();
    killed
}

/// Where a resumed run is killed again: once to three times, at other points in turn.
fn more(point: &'static str, passing: usize) -> Vec<(&'static str, usize)> {
    let at = POINTS.iter().position(|name| *name == point).unwrap_or(0);
    let other = |step: usize| POINTS[(at + passing * step) % POINTS.len()];
    let kills = [(other(5), 1), (other(3), 2), (other(7), 1)];
    kills.into_iter().take(1 + (at + passing) % 3).collect()
}
