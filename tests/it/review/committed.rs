//! Applied changes that a real git stages and commits: a commit keeps them, and they can still be undone.

use std::path::Path;
use std::process::{Command, Stdio};

use adjutant_protocol::review::KeptBy;
use adjutant_testkit::editor::Capabilities;

use super::*;
use crate::rig::facts_named;

/// Runs git in a folder, with a time for its commits if it is not the present one.
pub fn git_at(folder: &Path, time: Option<&str>, args: &[&str]) {
    let mut git = Command::new("git");
    git.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", folder);
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    for role in ["AUTHOR", "COMMITTER"] {
        git.env(format!("GIT_{role}_NAME"), "A").env(format!("GIT_{role}_EMAIL"), "a@example.org");
        time.map(|time| git.env(format!("GIT_{role}_DATE"), time));
    }
    let output = git.args(args).current_dir(folder).stdin(Stdio::null()).output();
    let output = output.expect("git is installed: tests/run installs it");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

pub fn git(workspace: &Workspace, args: &[&str]) {
    git_at(workspace.path(), None, args);
}

/// Commits all files of the workspace, long before any change of the agent.
pub fn long_ago(workspace: &Workspace) {
    git(workspace, &["init", "-q", "-b", "main"]);
    git(workspace, &["add", "-A"]);
    git_at(workspace.path(), Some("1700000000 +0000"), &["commit", "-qm", "first"]);
}

impl Reviewed {
    fn inserted(&self) -> Vec<String> {
        let mut all: Vec<String> =
            self.hunks().iter().map(|hunk| hunk.inserted.trim_end().to_owned()).collect();
        all.sort();
        all
    }

    /// Returns why a hunk counts as kept.
    fn kept_by(&self, inserted: &str) -> Option<KeptBy> {
        let all: ReviewListResult = self.rig.call(methods::REVIEW_LIST, json!({"all": true}));
        all.hunks.into_iter().find(|hunk| hunk.inserted.trim_end() == inserted).expect("it is listed").kept_by
    }

    /// Returns how many hunks the log says to be committed.
    fn recorded(&self) -> usize {
        let reviewed = facts_named(&self.workspace, &self.session, "reviewed");
        let by_commit = reviewed.iter().filter(|event| event["by"] == "commit");
        by_commit.map(|event| event["hunks"].as_array().map_or(0, Vec::len)).sum()
    }

    /// Ends the server and starts another one.
    pub fn restarted(self) -> Self {
        let Reviewed { rig, model, workspace, session, run } = self;
        rig.end();
        let rig = Rig::start(&workspace);
        Reviewed { rig, model, workspace, session, run }
    }
}

#[test]
fn p03_a_committed_change_counts_as_kept_and_can_still_be_undone() {
    let reviewed = Reviewed::start_in(long_ago);
    let rig = &reviewed.rig;
    assert_eq!(reviewed.inserted(), ["1", "2", "3", "4"]);
    assert_eq!(rig.await_hunks_of_now("a.txt"), 3);
    let two = reviewed.hunk("2");
    rig.save("a.txt");
    git(&reviewed.workspace, &["commit", "-qm", "mine", "a.txt"]);
    assert_eq!(reviewed.inserted(), ["4"], "b.txt is not committed");
    rig.await_hunks("a.txt", |hunks| hunks.is_empty());
    assert_eq!((reviewed.kept_by("2"), reviewed.kept_by("4")), (Some(KeptBy::Commit), None));
    assert_eq!(reviewed.recorded(), 3);
    // It was kept once, so it stays kept, also if the commit is taken back.
    let reviewed = reviewed.restarted();
    git(&reviewed.workspace, &["reset", "-q", "--soft", "HEAD~1"]);
    assert_eq!(reviewed.inserted(), ["4"]);
    assert_eq!(reviewed.kept_by("2"), Some(KeptBy::Commit));
    assert_eq!(reviewed.decide(&two, "undo").state, HunkState::Undone);
    assert_eq!(reviewed.workspace.read("a.txt"), EDITED.replace("2\n", "two\n"));
    assert_eq!(reviewed.decide(&two, "restore").state, HunkState::Applied);
    assert_eq!(reviewed.inserted(), ["2", "4"]);
    reviewed.rig.end();
}

#[test]
fn p03_only_the_hunks_that_the_commit_has_are_kept() {
    let reviewed = Reviewed::start_in(long_ago);
    // The user commits another text than the one in the editor.
    reviewed.workspace.write("a.txt", &EDITED.replace("2\n", "two\n"));
    git(&reviewed.workspace, &["commit", "-qm", "without one", "a.txt"]);
    assert_eq!(reviewed.inserted(), ["2", "4"]);
    reviewed.rig.end();
}

#[test]
fn p03_a_session_that_is_not_open_records_it_when_it_is() {
    let reviewed = Reviewed::start_in(long_ago);
    let four = reviewed.hunk("4");
    let reviewed = reviewed.restarted();
    git(&reviewed.workspace, &["commit", "-qm", "b", "b.txt"]);
    assert!(!reviewed.inserted().contains(&"4".to_owned()));
    assert_eq!((reviewed.kept_by("4"), reviewed.recorded()), (Some(KeptBy::Commit), 0));
    // A decision opens the session.
    assert_eq!(reviewed.decide(&four, "undo").state, HunkState::Undone);
    assert_eq!(reviewed.decide(&four, "restore").state, HunkState::Applied);
    assert_eq!(reviewed.workspace.read("b.txt"), "4\n");
    reviewed.inserted();
    reviewed.inserted();
    assert_eq!(reviewed.recorded(), 1);
    reviewed.rig.end();
}

/// The agent may bring back a text that the user had committed and then changed: nobody has looked at that.
#[test]
fn p03_a_text_that_was_committed_before_the_change_keeps_nothing() {
    let reviewed = Reviewed::start_in(|workspace| {
        workspace.write("b.txt", "4\n");
        long_ago(workspace);
        workspace.write("b.txt", "four\n");
    });
    assert_eq!(reviewed.workspace.read("b.txt"), "4\n");
    reviewed.workspace.write("first.txt", "a later commit\n");
    git(&reviewed.workspace, &["commit", "-qm", "other", "first.txt"]);
    assert_eq!(reviewed.inserted(), ["1", "2", "3", "4"]);
    reviewed.rig.end();
}

/// Git reads objects of another repository, and Adjutant does not.
#[test]
fn p03_a_repository_that_cannot_be_read_keeps_nothing() {
    let reviewed = Reviewed::start_in(|workspace| {
        long_ago(workspace);
        workspace.write(".git/objects/info/alternates", &format!("{}\n", workspace.path().display()));
    });
    reviewed.rig.save("a.txt");
    git(&reviewed.workspace, &["commit", "-qm", "mine", "a.txt"]);
    assert_eq!(reviewed.inserted(), ["1", "2", "3", "4"]);
    std::fs::remove_file(reviewed.workspace.path().join(".git/objects/info/alternates"))
        .expect("it is there");
    assert_eq!(reviewed.inserted(), ["4"]);
    reviewed.rig.end();
}

/// Returns an editor with these folders that tells of every open file.
fn with_folders(workspace: &Workspace, folders: &[&str]) -> Rig {
    let bare = Capabilities { agent: Capabilities::full().agent, ..Capabilities::bare() };
    let rig = Rig::connect(workspace, Options::new(workspace).capabilities(bare));
    let folder = |name: &&str| json!({"uri": workspace.uri(name), "name": name});
    let folders: Vec<Value> = folders.iter().map(folder).collect();
    let agent =
        json!({"updates": {"chunks": true}, "asks": {"request": true}, "documents": {"complete": true}});
    let capabilities = json!({"workspace": {"workspaceFolders": true}, "experimental": {"agent": agent}});
    let params = json!({"processId": null, "capabilities": capabilities, "workspaceFolders": folders});
    rig.request("initialize", params).expect("initialize is answered");
    rig.notify("initialized", json!({}));
    rig
}

/// The session began in one folder, and only the second one is open when its changes are staged.
#[test]
fn n30_what_is_staged_is_found_from_each_folder_of_its_session() {
    let files = "//- /one/a.txt\none\n//- /two/b.txt\nfour\n";
    let workspace = Workspace::new(files);
    let edit = |path: &str, old: &str, new: &str| {
        let path = workspace.path().join(path).canonicalize().expect("a file");
        Reply::call("edit_file", json!({"path": path, "old_text": old, "new_text": new}))
    };
    let replies =
        [edit("one/a.txt", "one\n", "1\n"), edit("two/b.txt", "four\n", "4\n"), Reply::text("Done.")];
    let model = ModelServer::start(replies);
    workspace.openai(&model.base_url()).add_config("[edits]\nmode = \"review\"\n");
    let rig = with_folders(&workspace, &["one", "two"]);
    let session = rig.new_session();
    let run = rig.prompt(&session, "make them numbers").run_id;
    rig.await_run_end(&session, &run);
    rig.end();
    assert_eq!(workspace.read("two/b.txt"), "4\n");
    let top = workspace.path().join("two");
    for args in [&["init", "-q"][..], &["add", "b.txt"]] {
        git_at(&top, None, args);
    }
    let rig = with_folders(&workspace, &["two"]);
    let staged = |params: Value| -> Vec<String> {
        let listed: ReviewListResult = rig.call(methods::REVIEW_LIST, json!({"staged": params}));
        listed.hunks.into_iter().map(|hunk| hunk.inserted).collect()
    };
    assert_eq!(staged(json!({})), ["4\n"]);
    assert_eq!(staged(json!({"index": ".git/index"})), ["4\n"]);
    assert_eq!(staged(json!({"index": ".git/no-index"})), [""; 0]);
    rig.end();
}
