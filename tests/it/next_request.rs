//! What the next request holds is shown as it is sent, and the conversation is compacted when the user wants it.
//!
//! Never trusts the answer of the server alone: each test compares it with a request that the model got.

use std::fs;

use adjutant_protocol::SessionId;
use adjutant_protocol::context::{ContextLifetime, SessionCompactResult, SessionContextResult};
use adjutant_protocol::methods;
use adjutant_protocol::session::PromptResult;
use adjutant_protocol::state::Outcome;
use adjutant_protocol::update::{CompactionKind, CompactionStatus, CompactionView, Update};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{Reply, Request};
use serde_json::{Value, json};

use crate::cli::lines;
use crate::rig::{Rig, refused, tools_offered};
use crate::stage::{Stage, conversation_of};

/// A summary with every heading, which names the open file.
const SUMMARY: &str = "## Goal\nRead a.txt.\n## Done\nIt was read.\n## Files\n`a.txt`: one line\n## Decisions\nnone\n## Open\n\
                       nothing\n## Next\nnothing";

fn context(rig: &Rig, session: &SessionId, texts: bool) -> SessionContextResult {
    rig.call(methods::SESSION_CONTEXT, json!({ "sessionId": session, "texts": texts }))
}

/// Returns the texts of the sections that a system prompt is made of.
fn system(held: &SessionContextResult) -> String {
    let is_system = |name: &str| !["tools", "conversation", "reminder"].contains(&name);
    let texts = held.sections.iter().filter(|section| is_system(&section.name) && !section.off);
    texts.map(|section| section.text.clone().expect("it was asked for")).collect::<Vec<_>>().join("\n\n")
}

fn system_of(request: &Request) -> String {
    conversation_of(request).into_iter().find(|(role, _)| role == "system").expect("a system prompt").1
}

fn offered(held: &SessionContextResult) -> Vec<&str> {
    held.tools.iter().filter(|tool| tool.hidden.is_none()).map(|tool| tool.name.as_str()).collect()
}

const FILES: &str = "
    //- /a.txt
    one
    //- /AGENTS.md
    Be brief.
    //- /AGENTS.memory.md
    The port is 7001.
";

#[test]
fn s57_s58_what_is_shown_of_the_next_request_is_what_is_sent() {
    let stage = Stage::new(FILES);
    stage.rig.open("a.txt");
    let shown = context(&stage.rig, &stage.session, true);
    assert_eq!(shown.model, "local/test");
    let run = stage.send([]);
    stage.finish(&run);
    let request = stage.model.requests().pop().expect("a request");
    assert_eq!(system(&shown), system_of(&request), "before the first prompt");
    assert_eq!(offered(&shown), tools_offered(&request));
    let reminder = shown.sections.iter().find(|section| section.name == "reminder").expect("a file is open");
    assert_eq!(reminder.text, request.reminder());
    assert_eq!(reminder.lifetime, ContextLifetime::Turn);
    let source = |name: &str| {
        let section = shown.sections.iter().find(|section| section.name == name);
        section.map(|section| (section.source.as_str(), section.lifetime))
    };
    assert_eq!(source("instructions"), Some(("AGENTS.md", ContextLifetime::Run)));
    assert_eq!(source("memory"), Some(("AGENTS.memory.md", ContextLifetime::Run)));
    assert_eq!(source("rules").map(|(_, lifetime)| lifetime), Some(ContextLifetime::Version));
    for section in &shown.sections {
        if let Some(text) = &section.text {
            assert_eq!(section.bytes, text.len() as u64, "{}", section.name);
        }
    }

    // The conversation counts, and what changed meanwhile is shown as the next run will have it.
    stage.workspace.write("AGENTS.md", "Be very brief.\n");
    let later = context(&stage.rig, &stage.session, true);
    let conversation = |held: &SessionContextResult| {
        held.sections.iter().find(|section| section.name == "conversation").expect("it has one").bytes
    };
    assert_eq!(conversation(&shown), 0);
    assert!(conversation(&later) > 0);
    let run = stage.send([]);
    stage.finish(&run);
    let request = stage.model.requests().pop().expect("a request");
    assert!(system_of(&request).contains("Be very brief."));
    assert_eq!(system(&later), system_of(&request), "between two runs");
    assert!(context(&stage.rig, &stage.session, false).sections.iter().all(|section| section.text.is_none()));
    stage.rig.shutdown();
}

#[test]
fn s38_l12_each_tool_that_the_model_does_not_get_says_why() {
    let stage = Stage::configured(
        Workspace::new("//- /a.txt\none\n"),
        "[providers.plain]\nwire = \"openai_chat\"\nbase_url = \"http://127.0.0.1:9\"\ntools = false\n\
         api_key_env = \"ADJUTANT_TEST_KEY\"",
        |options| options,
    );
    let hidden = || {
        let held = context(&stage.rig, &stage.session, false);
        let tools = held.tools.into_iter();
        tools.filter_map(|tool| Some((tool.name, tool.hidden?))).collect::<Vec<_>>()
    };
    let of = |hidden: &[(String, String)], name: &str| {
        hidden.iter().find(|(tool, _)| tool == name).map(|(_, why)| why.clone())
    };
    let by_model = hidden();
    assert_eq!(
        of(&by_model, "apply_patch").as_deref(),
        Some("the model edits with edit_file"),
        "{by_model:?}"
    );
    assert_eq!(of(&by_model, "edit_file"), None);

    let choose = |id: &str, value: &str| {
        let params = json!({ "sessionId": stage.session, "configId": id, "value": value });
        stage.rig.call::<Value>(methods::SESSION_SET_CONFIG_OPTION, params);
    };
    choose("mode", "ask");
    let by_mode = hidden();
    let why = of(&by_mode, "run_command");
    assert_eq!(why.as_deref(), Some("the mode ask has only tools that read and ask"), "{by_mode:?}");
    choose("mode", "code");
    choose("model", "plain/small");
    let all = hidden();
    assert_eq!(
        of(&all, "read_file").as_deref(),
        Some("the settings say that plain/small takes no tools"),
        "{all:?}"
    );
    assert!(offered(&context(&stage.rig, &stage.session, false)).is_empty());
    stage.rig.shutdown();
}

#[test]
fn p24_a_section_that_is_switched_off_is_shown_so_and_not_sent() {
    let config = "[prompt]\noff = [\"memory\", \"AGENTS.md\"]";
    let stage = Stage::configured(Workspace::new(FILES), config, |options| options);
    let shown = context(&stage.rig, &stage.session, true);
    let off: Vec<&str> =
        shown.sections.iter().filter(|section| section.off).map(|section| section.name.as_str()).collect();
    assert_eq!(off, ["memory", "AGENTS.md"]);
    let run = stage.send([]);
    stage.finish(&run);
    let sent = system_of(&stage.model.requests().pop().expect("a request"));
    assert!(!sent.contains("Be brief.") && !sent.contains("7001"), "{sent}");
    assert_eq!(system(&shown), sent);
    stage.rig.shutdown();
}

fn compactions(rig: &Rig) -> Vec<CompactionView> {
    let updates = rig.updates().into_iter();
    updates
        .filter_map(|params| match params.update {
            Update::CompactionUpdate(view) => Some(view),
            _ => None,
        })
        .collect()
}

/// A conversation of two prompts, in which a file of some size was read.
fn talked() -> Stage {
    let stage = Stage::new("//- /a.txt\none\n");
    stage.workspace.write("a.txt", &"a line of the file\n".repeat(300));
    stage.play([Reply::call("read_file", json!({"path": "a.txt"}))]);
    stage.play([]);
    stage
}

#[test]
fn s65_the_user_has_the_conversation_compacted_now() {
    let stage = talked();
    stage.model.push(Reply::text(SUMMARY));
    let params = json!({ "sessionId": stage.session });
    let compact: SessionCompactResult = stage.rig.call(methods::SESSION_COMPACT, params.clone());
    let end = stage.rig.await_run_end(&stage.session, &compact.run_id);
    assert_eq!(
        (end.outcome, end.summary.as_deref()),
        (Outcome::Stopped, Some("The conversation is compacted."))
    );
    let told = compactions(&stage.rig);
    let states: Vec<_> = told.iter().map(|view| (view.kind, view.status)).collect();
    let both = [CompactionStatus::InProgress, CompactionStatus::Completed];
    assert_eq!(states, both.map(|status| (CompactionKind::Summary, status)));
    let (before, after) = (told[1].before, told[1].after.expect("it is known"));
    assert!(after < before, "{before} -> {after}");

    let run = stage.send([]);
    stage.finish(&run);
    let words = conversation_of(&stage.model.requests().pop().expect("a request"));
    let text = words.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n");
    assert!(text.contains("`a.txt`: one line") && !text.contains("a line of the file"), "{text}");
    assert!(words[1].1.starts_with("[from Adjutant: this replaces an earlier part"), "{words:?}");
    stage.rig.shutdown();
}

#[test]
fn s76_a_summary_that_is_cancelled_is_told_as_failed() {
    let stage = talked();
    stage.model.push(Reply::never());
    let seen = stage.model.requests().len();
    let params = json!({ "sessionId": stage.session });
    let compact: SessionCompactResult = stage.rig.call(methods::SESSION_COMPACT, params.clone());
    stage.model.wait_for_requests(seen + 1);
    stage.rig.notify(methods::SESSION_CANCEL, params);
    stage.rig.await_run_end(&stage.session, &compact.run_id);
    let told = compactions(&stage.rig).pop().expect("it was told");
    assert_eq!(told.status, CompactionStatus::Failed);
    assert!(told.title.contains("the run ended before"), "{}", told.title);
    stage.rig.shutdown();
}

#[test]
fn s65_p19_a_prompt_that_is_the_command_compacts_and_is_no_message() {
    let stage = talked();
    stage.model.push(Reply::text(SUMMARY));
    let params =
        |text: &str| json!({ "sessionId": stage.session, "prompt": [{ "type": "text", "text": text }] });
    let (_, name) = refused(stage.rig.request(methods::SESSION_PROMPT, params("/compact and go on")));
    assert_eq!(name, "PromptInvalid");
    let folder = stage.workspace.config_file().parent().expect("a folder").join("commands");
    fs::create_dir_all(&folder).expect("it is made");
    fs::write(folder.join("compact.md"), "Say hello.\n").expect("it is written");
    let compact: PromptResult = stage.rig.call(methods::SESSION_PROMPT, params("/compact"));
    stage.rig.await_run_end(&stage.session, &compact.run_id);
    let told: Vec<_> = compactions(&stage.rig).into_iter().map(|view| view.status).collect();
    assert_eq!(told, [CompactionStatus::InProgress, CompactionStatus::Completed]);
    let said = stage
        .model
        .requests()
        .iter()
        .any(|request| String::from_utf8_lossy(&request.body).contains("/compact"));
    assert!(!said, "the model is not told of the command, and no file replaces it");
    stage.rig.shutdown();
}

#[test]
fn s65_without_a_conversation_there_is_nothing_to_compact() {
    let stage = Stage::new("//- /a.txt\none\n");
    let answer = stage.rig.request(methods::SESSION_COMPACT, json!({ "sessionId": stage.session }));
    let error = answer.expect_err("it is empty");
    assert!(error.message.contains("send a prompt first"), "{error:?}");
    stage.rig.shutdown();
}

#[test]
fn s58_a_terminal_shows_the_next_request_also_of_a_session_that_an_editor_has_open() {
    let stage = Stage::new(FILES);
    let run = stage.send([]);
    stage.finish(&run);
    let id = stage.session.0.as_str();
    let ran = lines::run(&stage.workspace, &["sessions", "context", id]);
    assert_eq!(ran.code(), Some(0), "{}", ran.stderr);
    let text = ran.stdout;
    for part in [
        "The next request to local/test",
        "instructions",
        "AGENTS.md",
        "Tools: list_files",
        "Not offered: apply_patch",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    assert!(!text.contains("Be brief."), "{text}");
    let ran = lines::run(&stage.workspace, &["sessions", "context", id, "--texts"]);
    assert!(ran.stdout.contains("Be brief."), "{}", ran.stdout);
    stage.rig.shutdown();
}
