//! Changes whose text is on another branch or in the stash of a real git: they are away, and back with their text.

use adjutant_protocol::review::AwayPlace;

use super::committed::{git, git_at, long_ago};
use super::*;
use crate::rig::facts_named;

impl Reviewed {
    /// Returns a hunk, decided or not, by the line that it inserted.
    fn any(&self, inserted: &str) -> ReviewHunk {
        let all: ReviewListResult = self.rig.call(methods::REVIEW_LIST, json!({"all": true}));
        all.hunks.into_iter().find(|hunk| hunk.inserted.trim_end() == inserted).expect("it is listed")
    }

    /// Returns the state of a hunk, and where its text is.
    fn state(&self, inserted: &str) -> (HunkState, Option<AwayPlace>) {
        let hunk = self.any(inserted);
        (hunk.state, hunk.away)
    }

    /// Whether a hunk is among those that nobody has decided about.
    fn is_left(&self, inserted: &str) -> bool {
        self.hunks().iter().any(|hunk| hunk.inserted.trim_end() == inserted)
    }

    /// Gives the open document the text of the disk, as an editor does that reads it again.
    fn reload(&self, path: &str) {
        let (from, to) = (self.rig.text_of(path), self.workspace.read(path));
        self.rig.replace(path, &from, &to);
    }
}

fn branch(name: &str) -> Option<AwayPlace> {
    Some(AwayPlace::Branch { name: name.to_owned() })
}

#[test]
fn n03_a_change_that_stays_on_its_branch_is_away_and_back_with_it() {
    let replies = vec![edit_call("b.txt", "four\n", "4\nand\n"), Reply::text("Done.")];
    let reviewed = trusting_in(FILES, replies, "", |workspace| {
        long_ago(workspace);
        git(workspace, &["switch", "-qc", "topic"]);
    });
    reviewed.rig.await_run_end(&reviewed.session, &reviewed.run);
    let git = |args: &[&str]| git(&reviewed.workspace, args);
    // The user's own lines inside keep a commit from deciding about it.
    reviewed.workspace.write("b.txt", "4\nand a half\n");
    assert_eq!(reviewed.state("4\nand").0, HunkState::Amended);
    git(&["commit", "-qm", "mine", "b.txt"]);
    git(&["switch", "-q", "main"]);
    assert_eq!(reviewed.state("4\nand"), (HunkState::Away, branch("topic")));
    assert!(reviewed.is_left("4\nand"));
    // The other branch has other lines in its place: they are not the agent's, and nobody changed its lines.
    reviewed.workspace.write("b.txt", "vier\n");
    assert_eq!(reviewed.state("4\nand"), (HunkState::Away, branch("topic")));
    git(&["checkout", "-q", "b.txt"]);
    git(&["switch", "-q", "topic"]);
    assert_eq!(reviewed.state("4\nand"), (HunkState::Amended, None));
    git(&["switch", "-q", "--detach", "main"]);
    assert_eq!(reviewed.state("4\nand"), (HunkState::Away, branch("topic")));
    reviewed.rig.end();
}

/// The user begins a branch with changes of the agent, commits them there, and goes back.
#[test]
fn n03_a_kept_change_is_away_where_its_commit_is_not() {
    let reviewed = Reviewed::start_in(long_ago);
    git(&reviewed.workspace, &["switch", "-qc", "topic"]);
    git(&reviewed.workspace, &["commit", "-qm", "mine", "b.txt"]);
    assert!(!reviewed.is_left("4"), "a commit keeps");
    git(&reviewed.workspace, &["switch", "-q", "main"]);
    assert_eq!(reviewed.state("4"), (HunkState::Away, branch("topic")));
    assert!(!reviewed.is_left("4"), "it is decided");
    git(&reviewed.workspace, &["switch", "-q", "topic"]);
    assert_eq!(reviewed.state("4"), (HunkState::Kept, None));
    // It was made on main, and taken to the branch without a commit.
    git(&reviewed.workspace, &["checkout", "-q", "main", "--", "b.txt"]);
    assert_eq!(reviewed.state("4"), (HunkState::Undone, None));
    reviewed.rig.end();
}

#[test]
fn n03_a_stashed_change_is_away_and_a_discarded_one_is_undone() {
    let reviewed = Reviewed::start_in(|workspace| {
        long_ago(workspace);
        // An entry from before the change explains nothing.
        workspace.write("b.txt", "4\n");
        git_at(workspace.path(), Some("1700000001 +0000"), &["stash", "-q"]);
    });
    let git = |args: &[&str]| git(&reviewed.workspace, args);
    git(&["stash", "push", "-q", "b.txt"]);
    assert_eq!(reviewed.state("4"), (HunkState::Away, Some(AwayPlace::Stash)));
    git(&["stash", "pop", "-q"]);
    assert_eq!(reviewed.state("4"), (HunkState::Applied, None));
    git(&["checkout", "-q", "b.txt"]);
    assert_eq!(reviewed.state("4"), (HunkState::Undone, None));
    reviewed.rig.end();
}

#[test]
fn n03_an_open_file_whose_changes_are_stashed_was_not_undone_by_the_user() {
    let reviewed = Reviewed::start_in(long_ago);
    let rig = &reviewed.rig;
    rig.open("b.txt");
    assert_eq!((rig.await_hunks_of_now("a.txt"), rig.await_hunks_of_now("b.txt")), (3, 1));
    rig.save("a.txt");
    git(&reviewed.workspace, &["stash", "push", "-q", "a.txt"]);
    reviewed.reload("a.txt");
    rig.await_hunks("a.txt", |hunks| hunks.is_empty());
    // An undo in the editor is told when it has rested, and so would have been that of the other file.
    rig.replace("b.txt", "4\n", "four\n");
    rig.await_update(|params| match &params.update {
        Update::ChangeSet(view) => view.path == "b.txt" && view.hunks[0].state == HunkState::Undone,
        _ => false,
    });
    let undone = facts_named(&reviewed.workspace, &reviewed.session, "reviewed");
    assert_eq!(undone.len(), 1, "{undone:#?}");
    for inserted in ["1", "2", "3"] {
        assert_eq!(reviewed.state(inserted), (HunkState::Away, Some(AwayPlace::Stash)));
    }
    git(&reviewed.workspace, &["stash", "pop", "-q"]);
    reviewed.reload("a.txt");
    assert_eq!(rig.await_hunks_of_now("a.txt"), 3);
    assert_eq!(reviewed.state("1"), (HunkState::Applied, None));
    reviewed.rig.end();
}

#[test]
fn n03_a_new_file_in_the_stash_is_away() {
    let new = Reply::call("write_file", json!({"path": "new.txt", "content": "new\n"}));
    let reviewed = trusting(FILES, vec![new, Reply::text("Done.")], "");
    reviewed.rig.await_run_end(&reviewed.session, &reviewed.run);
    git(&reviewed.workspace, &["init", "-q", "-b", "main"]);
    git(&reviewed.workspace, &["add", "a.txt"]);
    git(&reviewed.workspace, &["commit", "-qm", "first"]);
    git(&reviewed.workspace, &["stash", "push", "-qu", "new.txt"]);
    assert!(!reviewed.workspace.path().join("new.txt").exists());
    assert_eq!(reviewed.state("new"), (HunkState::Away, Some(AwayPlace::Stash)));
    git(&reviewed.workspace, &["stash", "drop", "-q"]);
    assert_eq!(reviewed.state("new"), (HunkState::Undone, None));
    reviewed.rig.end();
}

/// Git reads objects of another repository, and Adjutant does not.
#[test]
fn n03_a_repository_that_cannot_be_read_explains_nothing() {
    let reviewed = Reviewed::start_in(long_ago);
    git(&reviewed.workspace, &["stash", "push", "-q", "b.txt"]);
    let borrowed = reviewed.workspace.path().join(".git/objects/info/alternates");
    std::fs::write(&borrowed, "/nowhere\n").expect("it is written");
    assert_eq!(reviewed.state("4"), (HunkState::Undone, None));
    std::fs::remove_file(borrowed).expect("it is there");
    assert_eq!(reviewed.state("4"), (HunkState::Away, Some(AwayPlace::Stash)));
    reviewed.rig.end();
}

/// Returns the state that a decision gave, and why it was not carried out.
fn refused_as(decided: DecidedHunk) -> (HunkState, String) {
    (decided.state, decided.why.unwrap_or_default())
}

#[test]
fn n03_a_decision_about_a_change_that_is_away_is_refused_and_says_where_it_is() {
    let new = Reply::call("write_file", json!({"path": "new.txt", "content": "new\n"}));
    let replies = vec![edit_call("b.txt", "four\n", "4\n"), new, Reply::text("Done.")];
    let reviewed = trusting_in(FILES, replies, "", long_ago);
    reviewed.rig.await_run_end(&reviewed.session, &reviewed.run);
    let (four, new) = (reviewed.hunk("4"), reviewed.hunk("new"));
    let git = |args: &[&str]| git(&reviewed.workspace, args);
    git(&["stash", "push", "-qu", "b.txt", "new.txt"]);
    let in_stash = (HunkState::Away, "its text is in the stash".to_owned());
    for action in ["undo", "restore", "keep"] {
        assert_eq!(refused_as(reviewed.decide(&four, action)), in_stash, "{action}");
    }
    assert_eq!(refused_as(reviewed.decide(&new, "undo")), in_stash);
    // Of all at once, too.
    let targets = [&four, &new].map(|hunk| json!({"changeSetId": hunk.change_set_id}));
    let params = json!({"sessionId": reviewed.session, "targets": targets, "action": "undo"});
    let all: ReviewDecideResult = reviewed.rig.call(methods::REVIEW_DECIDE, params);
    assert!(all.hunks.into_iter().all(|hunk| refused_as(hunk) == in_stash));
    git(&["stash", "pop", "-q"]);
    assert_eq!(facts_named(&reviewed.workspace, &reviewed.session, "reviewed"), Vec::<Value>::new());
    assert_eq!(reviewed.state("4"), (HunkState::Applied, None));
    assert_eq!(reviewed.decide(&new, "undo").state, HunkState::Undone);

    git(&["switch", "-qc", "topic"]);
    git(&["commit", "-qm", "mine", "b.txt"]);
    assert!(!reviewed.is_left("4"), "a commit keeps");
    git(&["switch", "-q", "main"]);
    let on_topic = "its text is on branch topic; check it out first".to_owned();
    for action in ["undo", "restore", "keep"] {
        let refused = refused_as(reviewed.decide(&four, action));
        assert_eq!(refused, (HunkState::Away, on_topic.clone()), "{action}");
    }
    assert_eq!(reviewed.workspace.read("b.txt"), "four\n");
    reviewed.rig.end();
}

#[test]
fn n03_a_stopped_rebase_with_an_autostash_undoes_nothing() {
    let reviewed = Reviewed::start_in(|workspace| {
        long_ago(workspace);
        workspace.write("other.txt", "0\n");
        git(workspace, &["add", "other.txt"]);
        git_at(workspace.path(), Some("1700000001 +0000"), &["commit", "-qm", "second"]);
    });
    let four = reviewed.hunk("4");
    assert_eq!(reviewed.decide(&four, "keep").state, HunkState::Kept);
    let stop = ["-c", "sequence.editor=sed -i s/^pick/edit/", "rebase", "-q", "-i", "--autostash", "HEAD~1"];
    git(&reviewed.workspace, &stop);
    assert_eq!(reviewed.workspace.read("b.txt"), "four\n");
    assert_eq!(reviewed.state("4"), (HunkState::Away, Some(AwayPlace::Stash)));
    for action in ["undo", "restore", "keep"] {
        assert_eq!(reviewed.decide(&four, action).state, HunkState::Away, "{action}");
    }
    let decided = facts_named(&reviewed.workspace, &reviewed.session, "reviewed");
    assert_eq!(decided.len(), 1, "{decided:#?}");
    git(&reviewed.workspace, &["rebase", "--continue"]);
    assert_eq!(reviewed.state("4"), (HunkState::Kept, None));
    reviewed.rig.end();
}

#[test]
fn n03_no_decision_concludes_anything_while_git_writes_the_files() {
    let reviewed = Reviewed::start_in(long_ago);
    let four = reviewed.hunk("4");
    reviewed.workspace.write("b.txt", "four\n");
    reviewed.workspace.write(".git/index.lock", "");
    for action in ["undo", "restore", "keep"] {
        let (state, why) = refused_as(reviewed.decide(&four, action));
        assert_eq!(state, HunkState::Applied, "{action}");
        assert!(why.contains("git is at work"), "{action}: {why}");
    }
    assert_eq!(facts_named(&reviewed.workspace, &reviewed.session, "reviewed"), Vec::<Value>::new());
    std::fs::remove_file(reviewed.workspace.path().join(".git/index.lock")).expect("it is there");
    assert_eq!(reviewed.decide(&four, "restore").state, HunkState::Applied);
    assert_eq!(reviewed.workspace.read("b.txt"), "4\n");
    reviewed.rig.end();
}
