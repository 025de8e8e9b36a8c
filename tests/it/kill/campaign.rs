//! The kill campaign: kills a run at every passing of every named point, and kills it again while it is resumed.
//!
//! Never picks a moment by time: a kill is at the n-th passing of a point.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use adjutant::faults::POINTS;

use super::story::Story;
use adjutant_testkit::command::Ran;

/// The number of parallel rounds. They wait for the disk more than for a processor.
const WORKERS: usize = 6;
/// The fewest kills of a campaign.
const LEAST: usize = 200;
/// The most passings of one point in one run of the story.
const MOST_PASSES: usize = 400;
/// The most extra rounds to reach `LEAST`, needed when a slow disk merged many syncs.
const MOST_EXTRA: usize = 60;

/// The next passing of each point, and the points that are finished.
#[derive(Default)]
struct Plan {
    next: BTreeMap<&'static str, usize>,
    through: BTreeMap<&'static str, usize>,
    kills: BTreeMap<&'static str, usize>,
    extra: usize,
    failed: bool,
}

impl Plan {
    /// Returns the next passing of the least advanced open point; after the last point, extra rounds if needed.
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
        assert!(*passing <= MOST_PASSES, "{point} is passed without end");
        Some((point, *passing))
    }
}

#[test]
fn s05_s95_s96_l15_a_run_killed_anywhere_is_finished_once() {
    let started = Instant::now();
    let plan = Mutex::new(Plan::default());
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| work(&plan));
        }
    });
    let plan = plan.into_inner().unwrap_or_else(PoisonError::into_inner);
    let kills: usize = plan.kills.values().sum();
    eprintln!("{kills} kills in {:?}: {:?}", started.elapsed(), plan.kills);
    assert_eq!(plan.through.len(), POINTS.len(), "a worker failed");
    for point in POINTS {
        assert!(plan.kills.contains_key(point), "no process was killed at {point}");
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

/// Kills a run at one passing of a point, and up to three more times while it is resumed.
/// Returns the points of the kills.
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
        // An export opens the session too, so half of the sessions are resumed without one.
        if passing.is_multiple_of(2) {
            story.is_exported_whole();
            story.nothing_is_lost();
        }
        let over = story.is_over();
        fault = faults.next();
        ran = story.go_on(fault);
        story.nothing_is_lost();
        let done = |ran: &Ran| match over {
            // The kill came after the end of the run: there is nothing to continue, and the message says so.
            true => ran.expect(2).stderr.contains("this session has nothing left to continue"),
            false => ran.expect(0).stderr.contains("Done · "),
        };
        assert!(ran.was_killed() || done(&ran), "{ran}");
    }
    story.is_done();
    story.is_exported_whole();
    killed
}

/// Returns where a resumed run is killed again: one to three kills, each at another point.
fn more(point: &'static str, passing: usize) -> Vec<(&'static str, usize)> {
    let at = POINTS.iter().position(|name| *name == point).unwrap_or(0);
    let other = |step: usize| POINTS[(at + passing * step) % POINTS.len()];
    let kills = [(other(5), 1), (other(3), 2), (other(7), 1)];
    kills.into_iter().take(1 + (at + passing) % 3).collect()
}
