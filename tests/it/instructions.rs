//! Instructions, memory and skills of the user and of the workspace reach the model, as texts and within their bounds.
//!
//! Never trusts a list of files: each test reads the request that the model got.

use std::fs;
use std::os::unix::fs::symlink;

use adjutant_protocol::ask::{AskSubject, EditedFile};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{Reply, Request};
use serde_json::json;

use crate::rig::facts_named;
use crate::stage::{Stage, conversation_of, edit};

fn system(request: &Request) -> String {
    conversation_of(request).into_iter().find(|(role, _)| role == "system").expect("a system prompt").1
}

/// Sends a prompt and returns the system prompt that the model got.
fn told(stage: &Stage) -> String {
    let run = stage.send([]);
    stage.finish(&run);
    system(&stage.model.requests().pop().expect("a request"))
}

/// Writes a file next to the user's settings.
fn users_file(workspace: &Workspace, name: &str, text: &str) {
    let path = workspace.config_file().parent().expect("a folder").join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
    fs::write(path, text).expect("it is written");
}

fn has_in_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let at = rest.find(part).unwrap_or_else(|| panic!("{part:?} is missing or too early in {text}"));
        rest = &rest[at + part.len()..];
    }
}

#[test]
fn s58_the_users_own_instructions_come_before_those_of_the_workspace() {
    let stage = Stage::new("//- /AGENTS.md\nUse tabs.\n//- /CLAUDE.md\nUse blanks.\n");
    users_file(&stage.workspace, "AGENTS.md", "Answer in Latin.\n");
    users_file(&stage.workspace, "memory.md", "The user's name is Ada.\n");
    let system = told(&stage);
    has_in_order(
        &system,
        &["# Instructions", "Answer in Latin.", "## AGENTS.md\nUse tabs.", "# Memory", "Ada"],
    );
    assert!(
        !system.contains("Use blanks."),
        "where there is an AGENTS.md, the files of other agents do not count"
    );
    stage.rig.shutdown();
}

#[test]
fn s58_without_an_agents_file_those_of_other_agents_count() {
    for (file, path) in [
        ("CLAUDE.md", "CLAUDE.md"),
        ("GEMINI.md", "GEMINI.md"),
        (".github/copilot-instructions.md", ".github/copilot-instructions.md"),
        (".cursor/rules/style.mdc", ".cursor/rules/style.mdc"),
    ] {
        let stage = Stage::new(&format!("//- /a.txt\none\n//- /{file}\nUse tabs in {file}.\n"));
        assert!(told(&stage).contains(&format!("## {path}\nUse tabs in {file}.")), "{file}");
        stage.rig.shutdown();
    }
}

#[test]
fn s58_need_28_a_link_out_of_the_workspace_is_no_instruction_and_much_text_is_cut() {
    let outside = tempfile::tempdir().expect("a folder");
    fs::write(outside.path().join("AGENTS.md"), "From outside.\n").expect("it is written");
    let stage = Stage::new("//- /a.txt\none\n");
    symlink(outside.path().join("AGENTS.md"), stage.workspace.path().join("AGENTS.md"))
        .expect("it is linked");
    stage.workspace.write("CLAUDE.md", &"0123456789abcde\n".repeat(4096));
    let system = told(&stage);
    assert!(!system.contains("From outside."), "{system}");
    assert!(
        system.len() < 40 * 1024 && system.contains("[32768 bytes more in the file]"),
        "{}",
        system.len()
    );
    stage.rig.shutdown();
}

#[test]
fn s58_the_instructions_of_a_folder_are_told_once_when_work_enters_it() {
    let stage = Stage::new("//- /a.txt\none\n//- /deep/AGENTS.md\nBe careful here.\n//- /deep/b.txt\ntwo\n");
    stage.play([
        Reply::call("read_file", json!({"path": "a.txt"})),
        Reply::call("read_file", json!({"path": "deep/b.txt"})),
        Reply::call("read_file", json!({"path": "a.txt"})),
    ]);
    let requests = stage.model.requests();
    let holds = |request: &Request| {
        let all: Vec<String> = conversation_of(request).into_iter().map(|(_, text)| text).collect();
        all.join("\n").matches("Be careful here.").count()
    };
    let counts: Vec<usize> = requests.iter().map(holds).collect();
    assert_eq!(counts[..2], [0, 0], "before work enters the folder");
    assert_eq!(counts.last(), Some(&1), "{counts:?}");
    assert!(
        !system(requests.last().expect("some")).contains("Be careful here."),
        "the beginning stays the same"
    );
    stage.play([Reply::call("read_file", json!({"path": "deep/b.txt"}))]);
    assert_eq!(holds(&stage.model.requests().pop().expect("some")), 1, "it is told once");
    assert_eq!(facts_named(&stage.workspace, &stage.session, "instructions_found").len(), 1);
    stage.rig.shutdown();
}

#[test]
fn s47_skills_of_user_and_workspace_are_in_the_prompt_by_name_and_read_when_they_are_used() {
    let stage = Stage::new(
        "//- /.agents/skills/release/SKILL.md\n---\nname: release\ndescription: How a release is made\n---\nTag it first.\n\
         //- /.agents/skills/broken/SKILL.md\nno head\n",
    );
    users_file(
        &stage.workspace,
        "skills/letters/SKILL.md",
        "---\nname: letters\ndescription: How letters are written\n---\nDear Sir,\n",
    );
    let system = told(&stage);
    has_in_order(
        &system,
        &["# Skills", "letters", "How letters are written", "release", "How a release is made"],
    );
    assert!(!system.contains("Tag it first.") && !system.contains("Dear Sir") && !system.contains("no head"));
    stage.rig.shutdown();
}

#[test]
fn s114_memory_grows_by_an_edit_that_is_reviewed_and_the_next_run_has_it() {
    let stage = Stage::new("//- /AGENTS.memory.md\nThe port is 7001.\n").answering("allow");
    assert!(told(&stage).contains("The port is 7001."));
    let change = edit("AGENTS.memory.md", "7001.", "7001.\nThe tests need Docker.");
    let outputs = stage.play([Reply::call("read_file", json!({"path": "AGENTS.memory.md"})), change]);
    assert!(outputs[1].starts_with("Edited "), "{outputs:?}");
    let asks = stage.asks();
    let subject = asks.last().and_then(|ask| ask.subject.as_ref());
    let is_shown = |diff: &str| diff.contains("+The tests need Docker.");
    assert!(
        matches!(subject, Some(AskSubject::Edit(EditedFile { diff, .. })) if is_shown(diff)),
        "adding to it is a reviewed edit: {subject:?}"
    );
    assert!(told(&stage).contains("The tests need Docker."));
    stage.rig.shutdown();
}
