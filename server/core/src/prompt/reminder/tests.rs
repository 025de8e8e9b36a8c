//! What a reminder says, word for word.
//!
//! Never calls a model.

use super::*;
use crate::record::ContextKind;

fn around(text: &str) -> ContextText {
    ContextText {
        kind: ContextKind::Surroundings,
        source: "this machine".to_owned(),
        text: text.into(),
        name: String::new(),
        summary: String::new(),
        left_out: 0,
    }
}

#[test]
fn s59_nothing_to_say_is_no_reminder() {
    let same = EditorNow { surroundings: Some(around("Git: main.")), ..EditorNow::default() };
    let session = SessionNow { first: Some(around("Git: main.")), ..SessionNow::default() };
    assert_eq!(reminder(&session, &same), None);
}

#[test]
fn s57_s59_s119_the_reminder_has_what_is_open_what_changed_the_plan_and_what_is_left() {
    let step = |text: &str, status| PlanStep { text: text.to_owned(), status };
    let session = SessionNow {
        plan: vec![step("Find it", StepStatus::Completed), step("Fix\nit", StepStatus::InProgress)],
        first: Some(around("Date: Friday.\nGit: main; no changes.")),
        left: Some("This is one of the last requests: 2 of 50 are left after it.".to_owned()),
        is_off: false,
    };
    let open = (0..14).map(|n| OpenDocument { path: format!("f{n}.rs"), unsaved: n == 1 }).collect();
    let editor = EditorNow {
        open,
        cursor: Some("The cursor is in f0.rs, line 3".to_owned()),
        surroundings: Some(around("Date: Friday.\nGit: fix; changed: f1.rs.")),
    };
    let expected = "\
[now, from Adjutant and not from the user]
Open in the editor: f0.rs, f1.rs (unsaved), f2.rs, f3.rs, f4.rs, f5.rs, f6.rs, f7.rs, f8.rs, f9.rs, f10.rs, f11.rs and 2 more.
The cursor is in f0.rs, line 3.
Changed since the beginning:
Git: fix; changed: f1.rs.
The plan:
[x] Find it
[>] Fix it
This is one of the last requests: 2 of 50 are left after it.";
    assert_eq!(reminder(&session, &editor).as_deref(), Some(expected));
    assert_eq!(
        reminder(&SessionNow { is_off: true, ..session }, &editor),
        None,
        "P24: it can be switched off"
    );
}
