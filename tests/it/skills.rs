//! The texts of skills: a run reads them as they were when it began, without a question, and nothing beside them.
//!
//! Never changes a file by a sleep: the model double changes it while it answers.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use adjutant_protocol::update::{RunView, ToolStatus, Update};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply, Request};
use serde_json::json;

use crate::rig::{Rig, tool_outputs};
use crate::stage::{Stage, conversation_of};

fn skill_text(name: &str, rest: &str) -> String {
    format!("---\nname: {name}\ndescription: How {name} works\n---\n{rest}\n")
}

/// Returns the path of a file next to the user's settings.
fn users_path(workspace: &Workspace, name: &str) -> PathBuf {
    workspace.config_file().parent().expect("a folder").join(name)
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
    fs::write(path, text).expect("it is written");
}

fn read(path: &str) -> Reply {
    Reply::call("read_file", json!({"path": path}))
}

fn system(request: &Request) -> String {
    conversation_of(request).into_iter().find(|(role, _)| role == "system").expect("a system prompt").1
}

#[test]
fn s47_a_skill_that_changes_in_a_run_is_read_as_it_was_when_the_run_began() {
    let workspace = Workspace::new("//- /a.txt\none\n");
    let of_user = users_path(&workspace, "skills/letters/SKILL.md");
    let of_workspace = workspace.path().join(".agents/skills/release/SKILL.md");
    write(&of_user, &skill_text("letters", "Dear Sir,"));
    write(&of_workspace, &skill_text("release", "Tag it first."));
    let model = ModelServer::answering(move |request| match tool_outputs(request).len() {
        // The run has begun. One skill changes, and the other one is gone.
        0 => {
            write(&of_user, &skill_text("letters", "Hey you,"));
            fs::remove_file(&of_workspace).expect("it is removed");
            read("skill:letters")
        }
        1 => read("skill:release"),
        _ => Reply::text("Done."),
    });
    workspace.openai(&model.base_url());
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    rig.run_to_end(&session, "Write and release.");
    let requests = model.requests();
    let outputs = tool_outputs(requests.last().expect("a request"));
    assert!(outputs[0].contains("Dear Sir,") && !outputs[0].contains("Hey you,"), "{outputs:?}");
    assert!(outputs[1].contains("Tag it first."), "{outputs:?}");
    assert!(
        outputs[1].contains(".agents/skills/release/SKILL.md"),
        "it says where its files are: {outputs:?}"
    );
    assert_eq!(system(&requests[0]), system(&requests[2]), "the prompt of a run stays the same");
    rig.run_to_end(&session, "Once more.");
    let requests = model.requests();
    let next = system(requests.last().expect("a request"));
    assert!(
        next.contains("letters") && !next.contains("release"),
        "the next run knows what is there then: {next}"
    );
    rig.end();
}

#[test]
fn s47_the_next_run_reads_a_skill_as_it_is_then() {
    let stage = Stage::new("//- /a.txt\none\n");
    let path = users_path(&stage.workspace, "skills/letters/SKILL.md");
    for words in ["Dear Sir,", "Hey you,"] {
        write(&path, &skill_text("letters", words));
        let outputs = stage.play([read("skill:letters")]);
        assert!(outputs[0].contains(words), "{outputs:?}");
    }
    stage.rig.shutdown();
}

#[test]
fn s47_a_skill_of_the_user_is_read_without_a_question_and_the_files_beside_it_are_not() {
    let stage = Stage::new("//- /a.txt\none\n").answering("reject");
    let beside = users_path(&stage.workspace, "skills/letters/forms.md");
    write(&users_path(&stage.workspace, "skills/letters/SKILL.md"), &skill_text("letters", "Dear Sir,"));
    write(&beside, "A form.\n");
    let outputs = stage.play([read("skill:letters")]);
    assert!(outputs[0].contains("Dear Sir,"), "{outputs:?}");
    assert!(stage.asks().is_empty(), "{:?}", stage.asks());
    let others = [beside.display().to_string(), "skill:letters/../forms.md".to_owned(), "skill:".to_owned()];
    let outputs = stage.play(others.iter().map(|path| read(path)));
    assert!(outputs.iter().all(|output| !output.contains("A form.")), "{outputs:?}");
    assert_eq!(stage.asks().len(), 1, "the file beside it asks");
    // The user sees which text was read.
    let titles = stage.rig.updates().into_iter().filter_map(|params| match params.update {
        Update::ToolCallUpdate(call) if call.status == ToolStatus::Completed => Some(call.title),
        _ => None,
    });
    assert!(titles.into_iter().any(|title| title == "Read skill:letters"));
    stage.rig.shutdown();
}

#[test]
fn s47_a_deny_rule_wins_over_a_skill() {
    let workspace = Workspace::new("//- /a.txt\none\n");
    let of_user = users_path(&workspace, "skills/letters/SKILL.md");
    write(&of_user, &skill_text("letters", "Dear Sir,"));
    write(&workspace.path().join(".agents/skills/secret/SKILL.md"), &skill_text("secret", "Whisper."));
    write(&workspace.path().join(".agents/skills/plain/SKILL.md"), &skill_text("plain", "Speak."));
    let folder = of_user.parent().expect("a folder").canonicalize().expect("it is there");
    let deny = format!(
        "context_window = 100000000\n[permissions]\ndeny = [\"read_file(.agents/skills/secret/**)\", \"read_file({}/**)\"]",
        folder.display()
    );
    let stage = Stage::configured(workspace, &deny, |options| options);
    let outputs = stage.play(["skill:secret", "skill:letters", "skill:plain"].map(read));
    assert!(!outputs[0].contains("Whisper."), "{outputs:?}");
    assert!(!outputs[1].contains("Dear Sir,"), "{outputs:?}");
    assert!(outputs[2].contains("Speak."), "{outputs:?}");
    let system = system(&stage.model.requests()[0]);
    assert!(!system.contains("secret") && !system.contains("letters"), "they are not even named: {system}");
    stage.rig.shutdown();
}

#[test]
fn s47_need_28_a_skill_is_bounded_shows_what_people_cannot_see_and_is_no_link_out_of_the_workspace() {
    let outside = tempfile::tempdir().expect("a folder");
    write(&outside.path().join("SKILL.md"), &skill_text("stranger", "From outside."));
    let workspace = Workspace::new("//- /a.txt\none\n");
    let skills = workspace.path().join(".agents/skills");
    write(&skills.join("odd/SKILL.md"), &skill_text("odd", "Be\u{200b}gone."));
    write(&skills.join("long/SKILL.md"), &skill_text("long", &"0123456789abcde\n".repeat(5000)));
    symlink(outside.path(), skills.join("stranger")).expect("it is linked");
    write(&workspace.path().join(".env"), &skill_text("key", "hunter2"));
    fs::create_dir_all(skills.join("key")).expect("it is made");
    symlink("../../../.env", skills.join("key/SKILL.md")).expect("it is linked");
    symlink(".env", workspace.path().join("AGENTS.md")).expect("it is linked");
    let stage = Stage::with(workspace, |options| options);
    let odd = stage.play([read("skill:odd")]).remove(0);
    assert!(odd.contains("Be\\u{200b}gone."), "{odd}");
    let long =
        stage.play([Reply::call("read_file", json!({"path": "skill:long", "offset": 4000}))]).remove(0);
    assert!(long.contains("bytes more in the file") && long.len() < 8 << 10, "{}: {long}", long.len());
    let stranger = stage.play([read("skill:stranger")]).remove(0);
    assert!(!stranger.contains("From outside."), "{stranger}");
    let key = stage.play([read("skill:key")]).remove(0);
    let all = format!("{}{key}", system(&stage.model.requests()[0]));
    assert!(
        !all.contains("hunter2"),
        "what looks like a secret is neither a skill nor an instruction: {all}"
    );
    stage.rig.shutdown();
}

#[test]
fn s47_after_a_restart_the_run_reads_the_same_text() {
    let workspace = Workspace::new("//- /a.txt\none\n");
    let path = users_path(&workspace, "skills/letters/SKILL.md");
    write(&path, &skill_text("letters", "Dear Sir,"));
    let model = ModelServer::start([Reply::never()]);
    workspace.openai(&model.base_url());
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    rig.prompt(&session, "Write.");
    model.wait_for_requests(1);
    rig.shutdown();
    write(&path, &skill_text("letters", "Hey you,"));
    model.push(read("skill:letters"));
    model.push(Reply::text("Done."));
    let rig = Rig::start(&workspace);
    rig.resume(&session, None);
    let ask = rig.await_ask_of(adjutant_protocol::ask::AskKind::ResumeTask);
    rig.answer(&ask.ask_id, "resume");
    rig.await_update(|update| matches!(&update.update, Update::Run(RunView::Ended { .. })));
    let outputs = tool_outputs(&model.requests().pop().expect("a request"));
    assert!(outputs[0].contains("Dear Sir,"), "{outputs:?}");
    rig.end();
}
