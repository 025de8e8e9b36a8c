//! Changes that nobody has looked at for two weeks: they count as kept, and can still be undone.

use std::fs;

use adjutant::session::log::line::{self, LogLine};
use adjutant_protocol::review::KeptBy;
use serde_json::value::RawValue;

use super::*;
use crate::rig::session_dir;

const DAY_MS: u64 = 86_400_000;

/// Writes the log of a session as it would be if all of it had happened so many days earlier.
fn made_earlier(workspace: &Workspace, session: &SessionId, days: u64) {
    let path = session_dir(workspace, session).join("events.jsonl");
    let (bytes, mut log) = (fs::read(&path).expect("a log"), Vec::new());
    line::put_header(&mut log, &session.0, 1);
    line::put_epoch(&mut log, &session.0, 1, 1);
    let mut number = 0;
    for line in bytes.split(|byte| *byte == b'\n') {
        let Some(LogLine::Record(record)) = line::parse(&session.0, line) else { continue };
        let event: Box<RawValue> = serde_json::from_slice(record.event).expect("JSON");
        number += 1;
        let stamp = (number, record.at_ms - days * DAY_MS, record.more);
        line::put_record(&mut log, &session.0, stamp, &event).expect("a record");
    }
    fs::write(&path, log).expect("it is written");
}

impl Reviewed {
    /// Ends the server, and starts another one so many days later.
    fn later(self, days: u64) -> Self {
        let Reviewed { rig, model, workspace, session, run } = self;
        rig.end();
        made_earlier(&workspace, &session, days);
        let rig = Rig::start(&workspace);
        Reviewed { rig, model, workspace, session, run }
    }
}

#[test]
fn n03_what_nobody_looked_at_for_two_weeks_counts_as_kept_and_can_be_undone() {
    let reviewed = Reviewed::start();
    let four = reviewed.hunk("4");
    let reviewed = reviewed.later(13);
    assert!(reviewed.hunks().iter().any(|hunk| hunk.inserted == "4\n"));
    let reviewed = reviewed.later(1);
    assert_eq!(reviewed.hunks(), []);
    let all: ReviewListResult = reviewed.rig.call(methods::REVIEW_LIST, json!({"all": true}));
    let kept = all.hunks.iter().find(|hunk| hunk.inserted == "4\n").expect("it is listed");
    assert_eq!((kept.state, kept.kept_by), (HunkState::Kept, Some(KeptBy::Age)));
    assert_eq!(reviewed.decide(&four, "undo").state, HunkState::Undone);
    assert_eq!(reviewed.workspace.read("b.txt"), "four\n");
    // Its two weeks begin again.
    assert_eq!(reviewed.decide(&four, "restore").state, HunkState::Applied);
    assert_eq!(reviewed.hunks().len(), 1);
    reviewed.rig.end();
}
