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

/// Kills at work at once; the runs wait for the disk more than for a processor.
const WORKERS: usize = 6;
/// The least kills that make a campaign.
const LEAST: usize = 200;
/// No point is passed more often in one run of the story.
const MOST_PASSES: usize = 400;

/// Which passing of which point is next, and which points are through.
#[derive(Default)]
struct Plan {
    next: BTreeMap<&'static str, usize>,
    through: BTreeMap<&'static str, usize>,
    kills: BTreeMap<&'static str, usize>,
    failed: bool,
}

impl Plan {
    /// The least advanced point that is not through.
    fn take(&mut self) -> Option<(&'static str, usize)> {
        if self.failed {
            return None;
        }
        let open = POINTS.into_iter().filter(|point| !self.through.contains_key(point));
        let point = open.min_by_key(|point| self.next.get(point).copied().unwrap_or(0))?;
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
    println!("{kills} kills in {:?}: {:?}", begun.elapsed(), plan.kills);
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

/// Kills a run at one passing of a point, and up to twice more while it is resumed; returns
/// where it died.
fn round(point: &'static str, passing: usize) -> Vec<&'static str> {
    println!("{point}:{passing}");
    let mut story = Story::new();
    let mut killed = Vec::new();
    let mut last = story.begin(Some(&format!("{point}:{passing}")));
    if last.was_killed() {
        killed.push(point);
        story.nothing_is_lost();
        story.is_listed();
        // Looking at a session is an opening of its own, so half of them are resumed unseen.
        if passing.is_multiple_of(2) {
            story.is_exported_whole();
            story.nothing_is_lost();
        }
        for again in more(point, passing) {
            last = story.go_on(Some(&again.to_owned().replacen('@', ":", 1)));
            story.nothing_is_lost();
            if !last.was_killed() {
                break;
            }
            killed.push(POINTS.into_iter().find(|name| again.starts_with(&format!("{name}@"))).unwrap_or(point));
        }
    }
    if last.was_killed() {
        last = story.go_on(None);
        story.nothing_is_lost();
    }
    story.is_done(&last);
    story.is_exported_whole();
    killed
}
/// Where a resumed run is killed again: none, once or twice, at other points in turn.
fn more(point: &'static str, passing: usize) -> Vec<String> {
    let at = POINTS.iter().position(|name| *name == point).unwrap_or(0);
    let other = |step: usize| POINTS[(at + passing * step) % POINTS.len()];
    let kills = [(5, 1), (3, 2)].into_iter().take((at + passing) % 3);
    kills.map(|(step, count)| format!("{}@{count}", other(step))).collect()
}
