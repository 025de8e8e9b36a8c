//! A batch that is not whole in the log is ignored, and the run continues from before it.
//!
//! Tears only the last batch of a log, because a process that dies in a batch writes no later one.

use std::fs;

use serde_json::Value;

use super::story::{BINARY, Story, sessions};
use adjutant_testkit::command::Line;

/// Returns the lines of the last batch, each with its line end.
fn last_batch(log: &str) -> Vec<&str> {
    let lines: Vec<&str> = log.split_inclusive('\n').collect();
    let has_more = |line: &&&str| {
        let record: Value = serde_json::from_str(line).unwrap_or_else(|why| panic!("{line}: {why}"));
        record["more"] == true
    };
    let (last, before) = lines.split_last().unwrap_or_else(|| panic!("the log is empty"));
    let more = before.iter().rev().take_while(has_more).count();
    [&before[before.len() - more..], &[*last]].concat()
}

/// Cuts the last batch of the log: `whole` lines and half of the next one stay. Returns the lines that it had.
fn tear(story: &mut Story, whole: impl FnOnce(usize) -> usize) -> usize {
    let log = fs::read_to_string(story.log()).unwrap_or_else(|error| panic!("{error}"));
    let batch = last_batch(&log);
    let whole = whole(batch.len());
    let torn: usize = batch.iter().map(|line| line.len()).sum();
    let kept: usize = batch[..whole].iter().map(|line| line.len()).sum();
    let half = batch[whole].len() / 2;
    let end = log.len() - torn + kept + half;
    fs::write(story.log(), &log[..end]).unwrap_or_else(|error| panic!("{error}"));
    batch.len()
}

#[test]
fn s95_a_run_goes_on_from_before_a_torn_batch() {
    let mut torn = 0;
    for number in (2..).step_by(3) {
        let mut story = Story::new();
        if !story.begin(Some(("facts-written", number))).was_killed() {
            break;
        }
        // Tears at a different line of the batch each time, also at the first and the last.
        let lines = tear(&mut story, |lines| (number / 3) % lines);
        torn += usize::from(lines > 1);
        story.nothing_is_lost();
        story.is_listed();
        let ran = story.go_on(None);
        story.nothing_is_lost();
        assert!(ran.expect(0).stderr.contains("Done · "), "batch {number}: {ran}");
        story.is_done();
        story.is_exported_whole();
    }
    assert!(torn >= 5, "only {torn} batches had more than one record");
}

#[test]
fn s95_a_prompt_that_was_never_whole_leaves_nothing_in_the_way() {
    let mut story = Story::new();
    assert!(story.begin(Some(("facts-written", 1))).was_killed());
    assert!(tear(&mut story, |lines| lines - 1) > 1, "the first batch is more than the prompt");
    let listed = story.listed();
    assert!(!listed.contains("damaged") && !listed.contains("count to four"), "{listed}");
    // There is nothing to continue, and the message says so.
    let ran = story.go_on(None);
    assert!(ran.expect(2).stderr.contains("no session"), "{ran}");
    story.begin(None).expect(0);
    story.came_out_right();
    let listed = story.listed();
    assert_eq!(listed.matches("count to four").count(), 1, "{listed}");
    assert!(!listed.contains("damaged"), "{listed}");
    for id in sessions(story.workspace()) {
        Line::new(BINARY, story.workspace(), &["sessions", "delete", &id]).run().expect(0);
    }
    assert!(story.listed().contains("no sessions"), "{}", story.listed());
}
