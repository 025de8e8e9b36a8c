//! Decisions that come before the log says what the user did in the editor: they are about what the text shows.

use super::*;
use crate::rig::refused;

#[test]
fn n13_what_the_user_redid_is_kept_or_undone_at_once() {
    let reviewed = Reviewed::start();
    let rig = &reviewed.rig;
    for inserted in ["1", "2"] {
        assert_eq!(reviewed.decide(&reviewed.hunk(inserted), "undo").state, HunkState::Undone);
    }
    rig.replace("a.txt", "one\n", "1\n");
    rig.replace("a.txt", "two\n", "2\n");
    let (one, two) = (reviewed.hunk("1"), reviewed.hunk("2"));
    assert_eq!((one.state, two.state), (HunkState::Applied, HunkState::Applied), "so it is drawn");
    assert_eq!(reviewed.decide(&one, "keep").state, HunkState::Kept);
    assert_eq!(reviewed.decide(&two, "undo").state, HunkState::Undone);
    assert_eq!(rig.text_of("a.txt"), EDITED.replace("2\n", "two\n"));
    reviewed.rig.end();
}

#[test]
fn n13_what_the_user_undid_in_the_editor_is_restored_at_once_and_never_kept() {
    let reviewed = Reviewed::start();
    let rig = &reviewed.rig;
    let (one, two) = (reviewed.hunk("1"), reviewed.hunk("2"));
    rig.replace("a.txt", "2\n", "two\n");
    assert_eq!(reviewed.decide(&two, "restore").state, HunkState::Applied);
    assert_eq!(rig.text_of("a.txt"), EDITED);
    rig.replace("a.txt", "1\n", "one\n");
    let target = json!({"changeSetId": one.change_set_id, "hunkIds": [one.hunk_id]});
    let params = json!({"sessionId": one.session_id, "targets": [target], "action": "keep"});
    let (_, name) = refused(rig.request(methods::REVIEW_DECIDE, params));
    assert_eq!(name, "AnswerInvalid");
    // A change that was kept and that the user took back counts as undone.
    assert_eq!(reviewed.decide(&two, "keep").state, HunkState::Kept);
    rig.replace("a.txt", "2\n", "two\n");
    assert_eq!(reviewed.decide(&two, "restore").state, HunkState::Applied);
    assert_eq!(rig.text_of("a.txt"), EDITED.replace("1\n", "one\n"));
    reviewed.rig.end();
}
