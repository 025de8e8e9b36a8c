//! Which calls ask and which do not: unattended runs, rules, modes, standing answers.
//!
//! Never judges by messages alone: a command that runs leaves a file or a line.

use adjutant_protocol::ask::{AskKind, AskSubject};
use adjutant_protocol::state::State;
use adjutant_protocol::update::Update;
use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::json;

use super::{command, workspace_with};
use crate::rig::{Rig, count, tool_outputs, tools_offered};

#[test]
fn s13_l03_unattended_edits_are_made_and_commands_outside_and_denied_things_are_not() {
    let model = ModelServer::start([
        Reply::call("write_file", json!({"path": "b.txt", "content": "b\n"})),
        Reply::call("write_file", json!({"path": "locked.lock", "content": "x\n"})),
        Reply::call("write_file", json!({"path": "../outside.txt", "content": "x\n"})),
        command("touch ran"),
        Reply::text("Done."),
    ]);
    let workspace = workspace_with(&model);
    workspace.add_config("[permissions]\ndeny = [\"write_file(*.lock)\"]\n");
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt_with(&session, "Write.", json!({"overrides": {"unattended": true}})).run_id;
    // Only the command asks, because no category allows it.
    let ask = rig.await_ask();
    assert_eq!(ask.kind, AskKind::Command);
    rig.answer(&ask.ask_id, "reject");
    rig.await_run_end(&session, &run);
    let outputs = tool_outputs(&model.requests()[4]);
    assert!(outputs[1].contains("write_file(*.lock)"), "the rule is named: {outputs:?}");
    assert_eq!(rig.text_of("b.txt"), "b\n");
    for missing in ["locked.lock", "../outside.txt", "ran"] {
        assert!(!workspace.exists(missing), "{missing}");
    }
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s13_unattended_commands_run_only_where_the_settings_allow_them_and_denials_win() {
    let model = ModelServer::start([command("touch ran"), command("sudo rm -rf ran"), Reply::text("Done.")]);
    let workspace = workspace_with(&model);
    workspace.add_config("[unattended]\ncommand = true\n[permissions]\ndeny = [\"run_command(rm *)\"]\n");
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt_with(&session, "Go.", json!({"overrides": {"unattended": true}})).run_id;
    rig.await_run_end(&session, &run);
    assert!(workspace.exists("ran"));
    assert_eq!(count(&workspace, &session, "ask_opened"), 0);
    assert!(tool_outputs(&model.requests()[2])[1].contains("run_command(rm *)"));
    // The next run is attended again: the override does not leak (S84).
    model.push(command("touch again"));
    model.push(Reply::text("Done."));
    let run = rig.prompt(&session, "And now?").run_id;
    let ask = rig.await_ask_of(AskKind::Command);
    rig.answer(&ask.ask_id, "reject");
    rig.await_run_end(&session, &run);
    assert!(!workspace.exists("again"));
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn always_allows_exactly_that_line_in_this_session_and_says_so() {
    let model = ModelServer::start([
        command("echo x >> ledger"),
        command("echo x >> ledger"),
        command("echo x  >> ledger"),
        Reply::text("Done."),
    ]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Run it twice.").run_id;
    let ask = rig.await_ask_of(AskKind::Command);
    rig.answer(&ask.ask_id, "allow_always");
    let rule = rig.await_update(|update| matches!(update.update, Update::Rule { .. }));
    assert!(matches!(&rule.update, Update::Rule { text } if text.contains("echo x >> ledger")), "{rule:?}");
    // The second command ran without an ask; the third differs by a space.
    let ask = rig.await_ask_of(AskKind::Command);
    assert_eq!(workspace.read("ledger"), "x\nx\n");
    rig.answer(&ask.ask_id, "reject");
    rig.await_run_end(&session, &run);
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s39_ask_mode_hides_what_changes_anything_and_refuses_it_all_the_same() {
    let model = ModelServer::start([
        Reply::call("write_file", json!({"path": "b.txt", "content": "b"})),
        command("touch ran"),
        Reply::text("I cannot change files here."),
    ]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt_with(&session, "Write it.", json!({"overrides": {"mode": "ask"}})).run_id;
    rig.await_run_end(&session, &run);
    let requests = model.requests();
    let offered = tools_offered(&requests[0]);
    assert!(offered.contains(&"read_file".to_owned()), "{offered:?}");
    for hidden in ["write_file", "edit_file", "run_command"] {
        assert!(!offered.contains(&hidden.to_owned()), "{offered:?}");
    }
    let outputs = tool_outputs(&requests[2]);
    assert_eq!(outputs.len(), 2, "each call has its output: {outputs:?}");
    assert!(!workspace.exists("b.txt") && !workspace.exists("ran"));
    assert_eq!(count(&workspace, &session, "ask_opened"), 0);
    // The next run has all tools again.
    model.push(Reply::text("Now I can."));
    rig.run_to_end(&session, "And now?");
    assert!(tools_offered(&model.requests()[3]).contains(&"write_file".to_owned()));
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s50_denied_and_asked_reads() {
    let model = ModelServer::start([
        Reply::call("read_file", json!({"path": "secret.txt"})),
        Reply::call("read_file", json!({"path": "../home/diary.txt"})),
        Reply::text("Done."),
    ]);
    let workspace = workspace_with(&model);
    workspace.write("secret.txt", "hush\n");
    workspace.write("../home/diary.txt", "dear diary\n");
    workspace.add_config("[permissions]\ndeny = [\"read_file(secret.txt)\"]\n");
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Read both.").run_id;
    let ask = rig.await_ask_of(AskKind::Tool);
    assert!(matches!(&ask.subject, Some(AskSubject::Read { .. })), "{ask:?}");
    rig.answer(&ask.ask_id, "allow");
    rig.await_run_end(&session, &run);
    let outputs = tool_outputs(&model.requests()[2]);
    assert!(outputs[0].contains("read_file(secret.txt)") && !outputs[0].contains("hush"), "{outputs:?}");
    assert!(outputs[1].contains("dear diary"), "{outputs:?}");
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s53_a_rule_with_the_whole_path_denies_what_lies_there_however_it_is_named() {
    let model = ModelServer::start([
        Reply::call("read_file", json!({"path": "secret/key.txt"})),
        Reply::call("read_file", json!({"path": "other.txt"})),
        Reply::text("I may not."),
    ]);
    let workspace = workspace_with(&model);
    workspace.write("secret/key.txt", "sesame");
    workspace.write("other.txt", "plain words");
    let root = workspace.path().canonicalize().expect("the workspace is there");
    let (folder, name) = (root.join("secret"), root.file_name().expect("it has a name").to_string_lossy());
    // The location of the workspace does not affect a rule about paths inside it.
    let rules = format!("\"read_file({})\", \"read_file(**/{name}/**)\"", folder.display());
    workspace.add_config(&format!("[permissions]\ndeny = [{rules}]\n"));
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    rig.run_to_end(&session, "What is it?");
    let outputs = tool_outputs(&model.requests()[2]);
    assert!(outputs[0].contains("forbids it") && !outputs[0].contains("sesame"), "{outputs:?}");
    assert!(outputs[1].contains("plain words"), "{outputs:?}");
    rig.await_state(State::Idle);
    rig.end();
}
