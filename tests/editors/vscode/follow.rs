//! Scenes of a user who follows the agent and goes on to work.
//!
//! Never looks into the server: it checks the screen.

use adjutant_testkit::model::Reply;
use serde_json::{Value, json};

use super::Code;
use crate::editor::Editor;
use crate::stage::{Stage, wait_for};

const MINE: &str = "mine.py";

fn group<'a>(groups: &'a Value, tab: &str) -> Option<&'a Value> {
    groups.as_array()?.iter().find(|group| group["tab"] == tab)
}

/// Waits until a group that the user is not in shows a file at a line, which is marked.
#[track_caller]
fn wait_followed(code: &Code<'_>, tab: &str, line: &str) {
    let mut last = Value::Null;
    let shows = || {
        last = code.do_("groups", json!([]));
        let group = group(&last, tab)?;
        let lines = group["lines"].as_array()?;
        let is_there = lines.iter().any(|one| one == line) && group["marked"].as_u64()? > 0;
        (is_there && group["active"] == false).then_some(())
    };
    crate::stage::wait_or(shows).unwrap_or_else(|| panic!("{line:?} of {tab} is not followed: {last:#}"));
}

/// The newest place only, at most once a second, and not while the user types.
#[test]
fn p20_what_is_shown_next_is_the_newest_place_and_never_while_the_user_types() {
    super::node_finds_nothing("newest.mjs", "editors/vscode/src/newest.ts");
}

#[test]
fn p20_the_agent_is_followed_beside_the_file_in_which_the_user_types() {
    let far: String = (1..=200).map(|line| format!("far = {line}\n")).collect();
    let files = format!("//- /{MINE}\nmine = 1\n//- /far.py\n{far}//- /other.py\nother = 1\n");
    let read = |path: &str, from: u64| {
        let lines = json!({"path": path, "offset": from, "limit": 5});
        Reply::call("read_file", lines)
    };
    let waits = || Reply::call("run_command", json!({"command": "true"}));
    let rounds = [
        [read("far.py", 150), waits()],
        [read("other.py", 1), waits()],
        [read("far.py", 10), Reply::text("Seen.")],
    ];
    let stage = Stage::new(&files, rounds.into_iter().flatten());
    let code = Code::open(&stage, MINE);
    code.do_("palette", json!(["Adjutant: Follow the Agent"]));
    code.command("Look far away");
    wait_followed(&code, "far.py", "far = 152");
    code.picture("follow");
    code.do_("palette", json!(["Adjutant: Cancel"]));
    code.wait_end("cancelled");
    let groups = code.do_("groups", json!([]));
    let answer = group(&groups, "Answer.txt").unwrap_or_else(|| panic!("the answer is back: {groups:#}"));
    assert_eq!(answer["active"], false, "{groups:#}");

    // The user writes on while it looks elsewhere.
    code.command("Look at the other");
    for word in ["# one", " two", " three"] {
        code.do_("type", json!([word]));
    }
    wait_for("other.py beside", || {
        group(&code.do_("groups", json!([])), "other.py").filter(|group| group["active"] == false).map(drop)
    });
    let groups = code.do_("groups", json!([]));
    let own = group(&groups, MINE).unwrap_or_else(|| panic!("the user's file: {groups:#}"));
    assert_eq!(own["active"], true, "{groups:#}");
    assert_eq!(own["lines"][0], "# one two threemine = 1", "{groups:#}");
    assert_eq!(groups.as_array().map(Vec::len), Some(2), "one group beside is enough: {groups:#}");
    code.do_("palette", json!(["Adjutant: Cancel"]));
    code.wait_end("cancelled");

    // Who no longer follows is led nowhere.
    code.do_("palette", json!(["Adjutant: Stop Following the Agent"]));
    code.command("Look once more");
    stage.model.wait_for_requests(6);
    code.wait_end("done");
    let groups = code.do_("groups", json!([]));
    assert!(group(&groups, "far.py").is_none(), "{groups:#}");
}

#[test]
fn p20_what_the_user_reads_beside_stays_and_to_close_what_is_shown_ends_the_following() {
    let files = format!(
        "//- /{MINE}\nmine = 1\n//- /other.py\nother = 1\n//- /far.py\nfar = 1\n//- /last.py\nlast = 1\n"
    );
    let rounds = ["far.py", "last.py"].map(|path| {
        [Reply::call("read_file", json!({ "path": path })), Reply::text("All seen.").hold_after(1)]
    });
    let stage = Stage::new(&files, rounds.into_iter().flatten());
    let code = Code::open(&stage, MINE);
    code.do_("key", json!(["Control+Backslash"]));
    code.do_("openFile", json!(["other.py"]));
    code.do_("key", json!(["Control+1"]));
    code.do_("chatOpen", json!([]));
    code.do_("palette", json!(["Adjutant: Follow the Agent"]));
    code.say_in_chat("Look far away");
    wait_for("far.py", || group(&code.do_("groups", json!([])), "far.py").map(drop));
    let tabs = |code: &Code<'_>| -> Vec<String> {
        let groups = code.do_("groups", json!([]));
        let all = groups.as_array().into_iter().flatten();
        all.map(|group| group["tab"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(tabs(&code), [MINE, "other.py", "far.py"]);
    stage.model.release();
    wait_for("the end", || code.chat()["items"].to_string().contains("end: Done").then_some(()));
    code.do_("closeTab", json!(["far.py"]));
    wait_for("the note", || {
        code.do_("status", json!([])).to_string().contains("No longer follows").then_some(())
    });
    code.say_in_chat("Look once more");
    stage.model.wait_for_requests(4);
    stage.model.release();
    wait_for("the second end", || {
        (code.chat()["items"].to_string().matches("end: Done").count() == 2).then_some(())
    });
    assert_eq!(tabs(&code), [MINE, "other.py"]);
}
