//! The diff of a run, checked by git, and the text before the changes that wait for a review.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use adjutant_protocol::review::{ReviewBaseResult, ReviewDiffResult};
use adjutant_testkit::fixture::Workspace;

use super::committed::{git, git_at, long_ago};
use super::*;
use crate::rig::refused;

/// Applies a diff with git in a folder that has these files.
#[track_caller]
fn git_apply(before: &[(&str, &[u8])], diff: &str) -> Workspace {
    let folder = Workspace::new("//- /.keep\n");
    for (name, text) in before {
        fs::write(folder.path().join(name), text).expect("a file");
    }
    if !diff.is_empty() {
        git_apply_in(&folder, diff);
    }
    folder
}

/// Applies a diff with git in a folder.
#[track_caller]
fn git_apply_in(folder: &Workspace, diff: &str) {
    let mut git = Command::new("git");
    git.args(["apply", "--whitespace=nowarn", "-"]).current_dir(folder.path());
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    git.env("GIT_CEILING_DIRECTORIES", folder.path().parent().expect("a parent"));
    let mut git = git.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("git runs");
    git.stdin.take().expect("a pipe").write_all(diff.as_bytes()).expect("it reads");
    let output = git.wait_with_output().expect("git ends");
    assert!(output.status.success(), "{}\n{diff}", String::from_utf8_lossy(&output.stderr));
}

impl Reviewed {
    fn diff(&self, params: Value) -> ReviewDiffResult {
        self.rig.call(methods::REVIEW_DIFF, params)
    }

    fn base(&self, name: &str) -> ReviewBaseResult {
        self.rig.call(methods::REVIEW_BASE, json!({"uri": self.workspace.uri(name)}))
    }
}

fn files_of(diff: &str) -> Vec<&str> {
    diff.lines().filter_map(|line| line.strip_prefix("diff --git a/")?.split(' ').next()).collect()
}

#[test]
fn p21_git_applies_the_diff_of_a_run_which_has_nothing_that_was_undone() {
    let reviewed = Reviewed::start();
    let rig = &reviewed.rig;
    rig.replace("a.txt", "3\n", "3 and a half\n");
    rig.type_at("a.txt", 0, "mine\n");
    assert_eq!(reviewed.decide(&reviewed.hunk("2"), "undo").state, HunkState::Undone);
    assert_eq!(reviewed.decide(&reviewed.hunk("1"), "keep").state, HunkState::Kept);
    let result = reviewed.diff(json!({"sessionId": reviewed.session, "runId": reviewed.run}));
    assert!(!result.cut && result.left_out.is_empty(), "{result:?}");
    // The first edit was answered for by a person; it is of the same run.
    assert_eq!(files_of(&result.diff), ["a.txt", "b.txt", "first.txt"]);
    assert!(!result.diff.contains("+2") && !result.diff.contains("+mine"), "{}", result.diff);
    let before = "mine\none\n.\n.\n.\n.\ntwo\n.\n.\n.\n.\nthree\n";
    let files = [("a.txt", before.as_bytes()), ("b.txt", b"four\n"), ("first.txt", b"0\n")];
    let applied = git_apply(&files, &result.diff);
    assert_eq!(applied.read("a.txt"), rig.text_of("a.txt"));
    assert_eq!((applied.read("b.txt"), applied.read("first.txt")), ("4\n".into(), "zero\n".into()));
    // Of one document, of another run, of no session.
    let one = reviewed.diff(json!({"uri": reviewed.workspace.uri("b.txt")}));
    assert_eq!(files_of(&one.diff), ["b.txt"]);
    assert_eq!(reviewed.diff(json!({"runId": "another"})).diff, "");
    let (code, _) = refused(rig.request(methods::REVIEW_DIFF, json!({"sessionId": "s-0000000000000000"})));
    assert_eq!(code, -33001);
    reviewed.rig.end();
}

#[test]
fn p21_odd_files_are_byte_exact_in_the_diff() {
    let edit = |path: &str, old: &str, new: &str| json!({"path": path, "old_text": old, "new_text": new});
    let odd = "an odd \"name\" é.txt";
    let calls = Reply::call("edit_file", edit("crlf.txt", "one", "1"))
        .and_call("edit_file", edit("mark.txt", "one", "1"))
        .and_call("edit_file", edit("lone.txt", "one", "1"))
        .and_call("edit_file", edit("bare.txt", "one", "1"))
        .and_call("write_file", json!({"path": odd, "content": "new\nfile"}))
        .and_call("write_file", json!({"path": "gone.txt", "content": ""}));
    let model = ModelServer::start([calls, Reply::text("Done.")]);
    let workspace = Workspace::new("//- /a.txt\n");
    workspace.openai(&model.base_url());
    let before: [(&str, &[u8]); 5] = [
        ("crlf.txt", b"one\r\ntwo\r\n"),
        ("mark.txt", b"\xef\xbb\xbfone\ntwo\n"),
        ("lone.txt", b"zero\rone\ntwo\rthree"),
        ("bare.txt", b"zero\none"),
        ("gone.txt", b"some\ntext\n"),
    ];
    for (name, text) in before {
        fs::write(workspace.path().join(name), text).expect("a file");
    }
    let mut options = Options::new(&workspace);
    options.capabilities.agent.as_mut().expect("a rich client").workspace.trusted = true;
    let rig = Rig::start_with(&workspace, options);
    let session = rig.new_session();
    let run = rig.prompt(&session, "make them numbers").run_id;
    rig.await_run_end(&session, &run);
    let reviewed = Reviewed { rig, model, workspace, session, run };
    let result = reviewed.diff(json!({"sessionId": reviewed.session}));
    assert!(result.left_out.is_empty(), "{result:?}");
    let applied = git_apply(&before, &result.diff);
    for name in ["crlf.txt", "mark.txt", "lone.txt", "bare.txt", "gone.txt", odd] {
        let bytes = |workspace: &Workspace| {
            fs::read(workspace.path().join(name))
                .unwrap_or_else(|why| panic!("{name}: {why}\n{}", result.diff))
        };
        let (ours, gits) = (bytes(&reviewed.workspace), bytes(&applied));
        assert_eq!(ours, gits, "{name}: {:?}", String::from_utf8_lossy(&gits));
    }
    reviewed.rig.end();
}

/// Returns every file of a folder with its bytes.
fn all_files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).expect("a folder").flatten() {
            let path = entry.path();
            let name = path.strip_prefix(folder).expect("below it").to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else {
                all.insert(name, fs::read(path).expect("a file"));
            }
        }
    }
    all
}

/// What a reply can do with two files.
const ACTS: [&str; 6] = ["edit a", "delete a", "move a b", "move b a", "write a", "delete b"];

/// All ways to do three of these, one after the other, each in a folder of its own, with files that git must reproduce byte for
/// byte. A call that cannot be carried out is one that the model was told of.
#[test]
fn p21_git_reproduces_deleted_and_moved_files_with_the_edits_around_them() {
    let texts: [&[u8]; 2] = [b"\xef\xbb\xbfone\r\n.\r\n.\r\n.\r\n.\r\ntwo", b"uno\n"];
    let workspace = Workspace::new("//- /.keep\n");
    let call = |folder: &str, act: &str| {
        let path = |name: &str| format!("{folder}/{name} é");
        let mut words = act.split(' ');
        let (verb, name) = (words.next().expect("a verb"), path(words.next().expect("a name")));
        match verb {
            "edit" => ("edit_file", json!({"path": name, "old_text": "one", "new_text": "1"})),
            "write" => ("write_file", json!({"path": name, "content": "made\n"})),
            "move" => ("move_file", json!({"from": name, "to": path(words.next().expect("a name"))})),
            _ => ("delete_file", json!({"path": name})),
        }
    };
    let mut replies = Vec::new();
    for number in 0..ACTS.len().pow(3) {
        let folder = format!("{number:03}");
        fs::create_dir(workspace.path().join(&folder)).expect("a folder");
        for (name, text) in ["a é", "b é"].into_iter().zip(texts) {
            // In every second folder the second name is free.
            if name == "a é" || number % 2 == 0 {
                fs::write(workspace.path().join(&folder).join(name), text).expect("a file");
            }
        }
        let acts = [number / 36, number / 6 % 6, number % 6].map(|act| call(&folder, ACTS[act]));
        let calls = acts
            .into_iter()
            .fold(Reply::text("So."), |reply, (tool, arguments)| reply.and_call(tool, arguments));
        replies.push(calls);
    }
    replies.push(Reply::text("Done."));
    let model = ModelServer::start(replies);
    workspace.openai(&model.base_url());
    let before = all_files(workspace.path());
    let rig = Rig::start(&workspace);
    rig.on_ask(|_| adjutant_testkit::editor::Answer::option("allow"));
    let session = rig.new_session();
    let run = rig.prompt(&session, "tidy up").run_id;
    rig.await_run_end(&session, &run);
    let reviewed = Reviewed { rig, model, workspace, session, run };
    let result = reviewed.diff(json!({"sessionId": reviewed.session}));
    assert_eq!(result.left_out, []);
    let applied = git_apply(&[], "");
    for (name, bytes) in &before {
        let path = applied.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, bytes).expect("a file");
    }
    git_apply_in(&applied, &result.diff);
    let (ours, gits) = (all_files(reviewed.workspace.path()), all_files(applied.path()));
    for number in 0..ACTS.len().pow(3) {
        let of = |all: &BTreeMap<String, Vec<u8>>| -> BTreeMap<String, String> {
            let texts = all.range(format!("{number:03}/")..format!("{number:03}0"));
            texts.map(|(name, bytes)| (name.clone(), String::from_utf8_lossy(bytes).into_owned())).collect()
        };
        let acts = [number / 36, number / 6 % 6, number % 6].map(|act| ACTS[act]);
        assert_eq!(of(&gits), of(&ours), "after {acts:?}");
    }
    assert_eq!(gits, ours);
    for part in ["deleted file mode 100644", "rename from ", "new file mode 100644"] {
        assert!(result.diff.contains(part), "no {part:?}");
    }
    reviewed.rig.end();
}

#[test]
fn p21_files_without_text_move_in_the_diff_and_what_was_undone_is_not_in_it() {
    let moving = |from: &str, to: &str| json!({"from": from, "to": to});
    let delete = |path: &str| json!({"path": path});
    let calls = Reply::call("move_file", moving("logo.bin", "art/\"logo\".bin"))
        .and_call("delete_file", delete("run.sh"))
        .and_call("delete_file", delete("empty.txt"))
        .and_call("move_file", moving("b.txt", "c.txt"))
        .and_call("delete_file", delete("a.txt"));
    let model = ModelServer::start([calls, Reply::text("Done.")]);
    let workspace = Workspace::new(FILES);
    workspace.openai(&model.base_url());
    for (name, bytes) in [("logo.bin", &b"\xff\xfe\0\n"[..]), ("run.sh", b"ls\n"), ("empty.txt", b"")] {
        fs::write(workspace.path().join(name), bytes).expect("a file");
    }
    fs::set_permissions(workspace.path().join("run.sh"), fs::Permissions::from_mode(0o755))
        .expect("its mode");
    let before = all_files(workspace.path());
    let rig = Rig::start(&workspace);
    rig.on_ask(|_| adjutant_testkit::editor::Answer::option("allow"));
    let session = rig.new_session();
    let run = rig.prompt(&session, "tidy up").run_id;
    rig.await_run_end(&session, &run);
    let reviewed = Reviewed { rig, model, workspace, session, run };
    let listed: ReviewListResult = reviewed.rig.call(methods::REVIEW_LIST, json!({"all": true}));
    for hunk in listed.hunks.iter().filter(|hunk| ["a.txt", "b.txt"].contains(&hunk.path.as_str())) {
        assert_eq!(reviewed.decide(hunk, "undo").why, None);
    }
    let result = reviewed.diff(json!({"runId": reviewed.run}));
    assert_eq!(result.left_out, []);
    assert!(result.diff.contains("deleted file mode 100755"), "{}", result.diff);
    let applied = git_apply(&[], "");
    fs::remove_file(applied.path().join(".keep")).expect("an empty folder");
    for (name, bytes) in &before {
        fs::write(applied.path().join(name), bytes).expect("a file");
    }
    fs::set_permissions(applied.path().join("run.sh"), fs::Permissions::from_mode(0o755)).expect("its mode");
    git_apply_in(&applied, &result.diff);
    assert_eq!(all_files(applied.path()), all_files(reviewed.workspace.path()), "{}", result.diff);
    reviewed.rig.end();
}

/// A deletion is in the diff only where the file is gone.
#[test]
fn p21_a_deletion_that_was_committed_on_another_branch_is_not_in_the_diff() {
    // The file is as it was deleted, or an older text of it.
    for changed in [false, true] {
        let delete = Reply::call("delete_file", json!({"path": "b.txt"}));
        let model = ModelServer::start([delete, Reply::text("Done.")]);
        let workspace = Workspace::new(FILES);
        workspace.openai(&model.base_url());
        long_ago(&workspace);
        git(&workspace, &["switch", "-qc", "topic"]);
        if changed {
            workspace.write("b.txt", "fourteen\n");
            git_at(workspace.path(), Some("1700000001 +0000"), &["commit", "-qam", "second"]);
        }
        let rig = Rig::start(&workspace);
        rig.on_ask(|_| adjutant_testkit::editor::Answer::option("allow"));
        let session = rig.new_session();
        let run = rig.prompt(&session, "tidy up").run_id;
        rig.await_run_end(&session, &run);
        let reviewed = Reviewed { rig, model, workspace, session, run };
        let git = |args: &[&str]| git(&reviewed.workspace, args);
        let has_it = || reviewed.diff(json!({})).diff.contains("deleted file mode");
        assert!(has_it(), "before the commit");
        git(&["commit", "-qam", "tidy"]);
        assert!(has_it(), "on its branch");
        git(&["switch", "-q", "main"]);
        assert!(!has_it(), "on another branch, changed before: {changed}");
        // A branch that goes on from there has it, and the user's new file is another file.
        git(&["switch", "-qc", "later", "topic"]);
        assert!(has_it(), "on a later branch");
        reviewed.workspace.write("b.txt", "mine\n");
        git(&["add", "b.txt"]);
        git(&["commit", "-qm", "mine"]);
        assert!(has_it(), "with a new file in its place");
        reviewed.rig.end();
    }
}

#[test]
fn p21_the_diff_of_a_session_is_there_after_a_restart_and_leaves_out_what_a_rule_denies() {
    let reviewed = Reviewed::start();
    let whole = reviewed.diff(json!({"sessionId": reviewed.session})).diff;
    let Reviewed { rig, model, workspace, session, run } = reviewed;
    rig.save("a.txt");
    rig.end();
    workspace.add_config("[permissions]\ndeny = [\"read_file(b.txt)\"]\n");
    let rig = Rig::start(&workspace);
    let reviewed = Reviewed { rig, model, workspace, session, run };
    let result = reviewed.diff(json!({"sessionId": reviewed.session}));
    assert_eq!(files_of(&result.diff), ["a.txt", "first.txt"]);
    assert!(whole.starts_with(&result.diff[..result.diff.find("diff --git a/first").expect("two files")]));
    assert_eq!(result.left_out[0].path, "b.txt");
    assert!(result.left_out[0].why.contains("read_file(b.txt)"), "{result:?}");
    let base = json!({"uri": reviewed.workspace.uri("b.txt")});
    let refused = reviewed.rig.request(methods::REVIEW_BASE, base).expect_err("a rule denies it");
    assert!(refused.message.contains("read_file(b.txt)"), "{refused}");
    reviewed.rig.end();
}

#[test]
fn p21_a_hunk_under_a_later_change_stays_and_is_named() {
    let edit = |path: &str, old: &str, new: &str| json!({"path": path, "old_text": old, "new_text": new});
    let two = Reply::call("edit_file", edit("a.txt", "two\n", "2\n"))
        .and_call("edit_file", edit("b.txt", "four\n", "4\n"));
    let again = edit_call("a.txt", "2\n", "2.0\n");
    let reviewed = trusting(FILES, vec![two, Reply::text("Done."), again, Reply::text("Done.")], "");
    reviewed.rig.await_run_end(&reviewed.session, &reviewed.run);
    let later = reviewed.rig.prompt(&reviewed.session, "with a point").run_id;
    reviewed.rig.await_run_end(&reviewed.session, &later);
    let first = reviewed.diff(json!({"runId": reviewed.run}));
    assert_eq!(files_of(&first.diff), ["b.txt"]);
    let left: Vec<_> = first.left_out.iter().map(|file| (file.path.as_str(), file.why.as_str())).collect();
    assert_eq!(left, [("a.txt", "later changes stand on 1 of its changes")]);
    let second = reviewed.diff(json!({"runId": later}));
    assert!(second.diff.contains("-2\n+2.0\n") && second.left_out.is_empty(), "{second:?}");
    let both = reviewed.diff(json!({"sessionId": reviewed.session}));
    assert!(both.diff.contains("-two\n+2.0\n") && both.left_out.is_empty(), "{both:?}");
    reviewed.rig.end();
}

#[test]
fn n03_the_text_before_the_unreviewed_changes_has_what_was_kept_and_what_was_typed() {
    let reviewed = Reviewed::start();
    let rig = &reviewed.rig;
    let before = reviewed.base("a.txt");
    assert_eq!(before.text, "one\n.\n.\n.\n.\ntwo\n.\n.\n.\n.\nthree\n");
    reviewed.decide(&reviewed.hunk("1"), "keep");
    rig.replace("a.txt", "3\n", "3\nmine\n");
    let version = rig.buffer("a.txt").expect("it is open").version;
    let now = reviewed.base("a.txt");
    assert_eq!(now.text, "1\n.\n.\n.\n.\ntwo\n.\n.\n.\n.\nthree\nmine\n");
    assert_eq!((now.version.map(i64::from), now.left_out), (Some(version), 0));
    assert_eq!(
        reviewed.base("b.txt"),
        ReviewBaseResult { text: "four\n".into(), version: None, left_out: 0 }
    );
    let unknown = json!({"uri": reviewed.workspace.uri("other.txt")});
    let refused = rig.request(methods::REVIEW_BASE, unknown).expect_err("it is unknown");
    assert!(refused.message.contains("no change of this document"), "{refused}");
    reviewed.rig.end();
}

/// An editor that shows texts of a server (LSP 3.18) opens the text before as a document of its own.
#[test]
fn n03_the_text_before_is_a_document_for_editors_that_can_show_one() {
    let model = ModelServer::start([edit_call("b.txt", "four\n", "4\n"), Reply::text("Done.")]);
    let workspace = Workspace::new(FILES);
    workspace.openai(&model.base_url());
    let mut options = Options::new(&workspace);
    options.capabilities.agent.as_mut().expect("a rich client").workspace.trusted = true;
    options.capabilities.extra =
        json!({"workspace": {"textDocumentContent": {"dynamicRegistration": false}}});
    let rig = Rig::start_with(&workspace, options);
    let schemes = &rig.initialize_result()["capabilities"]["workspace"]["textDocumentContent"]["schemes"];
    assert_eq!(schemes, &json!(["agent-base"]));
    rig.open("b.txt");
    let session = rig.new_session();
    let run = rig.prompt(&session, "number it").run_id;
    rig.await_run_end(&session, &run);
    rig.await_hunks_of_now("b.txt");
    let uri = workspace.uri("b.txt").replacen("file:", "agent-base:", 1);
    let content = |uri: &str| rig.request("workspace/textDocumentContent", json!({"uri": uri}));
    assert_eq!(content(&uri), Ok(json!({"text": "four\n"})));
    assert!(content(&workspace.uri("b.txt")).is_err(), "only this scheme");
    // Who reads it is told when it is another text.
    rig.type_at("b.txt", 0, "mine\n");
    rig.await_refresh(&format!("workspace/textDocumentContent/refresh {uri}"));
    assert_eq!(content(&uri), Ok(json!({"text": "mine\nfour\n"})));
    rig.end();
    drop(model);
}
