//! The streams of a session that each client gets: reasoning apart from replies, and no kind that it opted out of.
//!
//! Never trusts only the double to find an update of such a kind; also checks the updates.

use adjutant_protocol::state::State;
use adjutant_protocol::update::Update;
use adjutant_testkit::command::Line;
use adjutant_testkit::editor::{Capabilities, Options};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{Dialect, ModelServer, Reply};

use adjutant_testkit::process::wait_until;

use crate::rig::{Rig, facts_named, lasting};

const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");
const THOUGHT: &str = "It may be a greeting.";

fn workspace_for(wire: Dialect, model: &ModelServer) -> Workspace {
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.provider(wire, &model.base_url());
    workspace
}

#[test]
fn finding_f1_text_before_a_stall_is_in_the_log_while_the_stall_lasts() {
    let model = ModelServer::start([Reply::text("Begun, and over").hold_behind("Begun")]);
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.openai(&model.base_url());
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Begin.").run_id;
    let partial = || facts_named(&workspace, &session, "reply_partial");
    wait_until("the text to be in the log", || !partial().is_empty());
    assert!(partial()[0]["text"].as_str().is_some_and(|text| text.starts_with("Begun")), "{:?}", partial());
    model.release();
    rig.await_run_end(&session, &run);
    rig.await_state(State::Idle);
    rig.end();
}

/// Tests each dialect in which a provider sends the reasoning of its model.
#[test]
fn s100_reasoning_is_a_stream_of_its_own_and_no_part_of_a_reply_or_of_a_plain_text() {
    for wire in Dialect::ALL {
        let model = ModelServer::start([
            Reply::text("It says hello.").and_reasoning(THOUGHT),
            Reply::text("Hello it is.").and_reasoning(THOUGHT),
        ]);
        let workspace = workspace_for(wire, &model);
        let rig = Rig::start(&workspace);
        let session = rig.new_session();
        rig.run_to_end(&session, "What is in a.txt?");
        rig.await_state(State::Idle);
        let (mut thoughts, mut replies, mut chunks) = (Vec::new(), Vec::new(), String::new());
        for update in rig.updates() {
            match update.update {
                Update::AgentThought { text, .. } => thoughts.push(text),
                Update::AgentMessage { text, .. } => replies.push(text),
                Update::AgentMessageChunk { text, .. } => chunks += &text,
                _ => {}
            }
        }
        assert_eq!(
            (thoughts, replies),
            (vec![THOUGHT.to_owned()], vec!["It says hello.".to_owned()]),
            "{wire:?}"
        );
        assert!(!chunks.contains(THOUGHT), "{wire:?}: {chunks}");
        rig.end();
        for (words, reply) in [
            (&["run", "--continue", "Sure?"][..], "Hello it is."),
            (&["sessions", "show", &session.to_string()], "It says hello."),
        ] {
            let ran = Line::new(BINARY, &workspace, words).run();
            ran.expect(0);
            assert!(ran.stdout.contains(reply), "{wire:?}, {words:?}: {}", ran.stdout);
            assert!(
                !format!("{}{}", ran.stdout, ran.stderr).contains(THOUGHT),
                "{wire:?}, {words:?}: {}",
                ran.stdout
            );
        }
    }
}

#[test]
fn p28_a_kind_that_is_opted_out_is_never_sent_and_leaves_its_number_out() {
    let model = ModelServer::start([
        Reply::text("I look.")
            .and_reasoning(THOUGHT)
            .and_call("read_file", serde_json::json!({"path": "a.txt"})),
        Reply::text("It says hello."),
    ]);
    let workspace = workspace_for(Dialect::Chat, &model);
    let mut capabilities = Capabilities::full();
    let agent = capabilities.agent.as_mut().expect("a client with an Adjutant plugin");
    agent.updates.opt_out = vec!["agent_thought".to_owned(), "tool_call_update".to_owned()];
    let rig = Rig::start_with(&workspace, Options::new(&workspace).capabilities(capabilities));
    let session = rig.new_session();
    rig.run_to_end(&session, "What is in a.txt?");
    rig.await_state(State::Idle);
    let published = lasting(&rig.updates());
    let numbers: Vec<u64> = published.iter().map(|update| update.seq).collect();
    let is_opted_out =
        |update: &Update| matches!(update, Update::AgentThought { .. } | Update::ToolCallUpdate(_));
    assert!(!rig.updates().iter().any(|update| is_opted_out(&update.update)));
    assert!(published.iter().any(|update| matches!(update.update, Update::AgentMessage { .. })));
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
    assert!(
        numbers.len() < *numbers.last().expect("an update") as usize,
        "some numbers are missing: {numbers:?}"
    );
    rig.end();
}
