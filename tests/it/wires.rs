//! Every wire through the whole loop: the tools run, and messages that are sent again have the same bytes.
//!
//! Never checks the formats; the tests next to each wire do.

use adjutant_protocol::state::{Outcome, State};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{Dialect, ModelServer, Reply, Request};
use serde_json::json;

use crate::rig::Rig;

/// The cache mark: the provider caches everything before it. Only these marks move between requests.
const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

/// Returns the body without cache marks and without the brackets that close the conversation.
fn unmarked(request: &Request) -> String {
    let body = String::from_utf8(request.body.clone()).expect("a request is text");
    let bare = body.replace(MARK, "");
    bare.strip_suffix("]}").expect("the conversation comes last").to_owned()
}

#[test]
fn s35_s71_the_beginning_is_the_same_bytes_every_turn_on_every_wire_and_after_a_restart() {
    for wire in Dialect::ALL {
        let read = |path: &str| {
            Reply::text("I look. ")
                .and_reasoning("It may be there.")
                .and_call("read_file", json!({"path": path}))
        };
        let model = ModelServer::start([
            read("a.txt").and_call("list_files", json!({"path": "."})),
            read("nowhere.txt"),
            Reply::text("Found it."),
            Reply::text("Still there."),
        ]);
        let workspace = Workspace::new("//- /a.txt\nhello\n");
        workspace.provider(wire, &model.base_url());
        let rig = Rig::start(&workspace);
        let session = rig.new_session();
        let end = rig.run_to_end(&session, "Find it.");
        assert_eq!((end.outcome, end.summary.as_deref()), (Outcome::Stopped, Some("Found it.")), "{wire:?}");
        rig.await_state(State::Idle);
        rig.end();
        let rig = Rig::start(&workspace);
        rig.resume(&session, None);
        rig.run_to_end(&session, "Is it?");
        rig.await_state(State::Idle);
        rig.end();
        let requests = model.requests();
        assert!(requests.iter().all(|request| request.path.ends_with(wire.path())), "{wire:?}");
        let bodies = requests.iter().map(unmarked).collect::<Vec<_>>();
        for (before, after) in bodies.iter().zip(&bodies[1..]) {
            assert!(after.starts_with(before), "{wire:?}:\n{before}\n{after}");
        }
        assert!(bodies[1].contains("hello") && bodies[2].contains("nowhere.txt"), "{wire:?}: {}", bodies[2]);
    }
}

#[test]
fn s85_signed_reasoning_goes_back_to_its_model_also_after_a_restart_and_to_no_other() {
    let signed = r#"{"type":"thinking","thinking":"It may be there.","signature":"c2lnbmVk+/=="}"#;
    let sealed = r#""encrypted_content":"gAAAAABsealed+/==""#;
    for (wire, reasoning) in [(Dialect::Messages, signed), (Dialect::Responses, sealed)] {
        let model = ModelServer::start([
            Reply::text("").and_reasoning("It may be there.").and_call("read_file", json!({"path": "a.txt"})),
            Reply::text("Found it."),
            Reply::text("Still there."),
            Reply::text("Who knows."),
        ]);
        let workspace = Workspace::new("//- /a.txt\nhello\n");
        workspace.provider(wire, &model.base_url());
        let rig = Rig::start(&workspace);
        let session = rig.new_session();
        rig.run_to_end(&session, "Find it.");
        rig.await_state(State::Idle);
        rig.end();
        let rig = Rig::start(&workspace);
        rig.resume(&session, None);
        rig.run_to_end(&session, "Is it?");
        let run =
            rig.prompt_with(&session, "And you?", json!({"overrides": {"model": "local/other"}})).run_id;
        rig.await_run_end(&session, &run);
        rig.await_state(State::Idle);
        rig.end();
        let sent =
            model.requests().iter().map(|request| unmarked(request).contains(reasoning)).collect::<Vec<_>>();
        assert_eq!(sent, [false, true, true, false], "{wire:?}");
    }
}

#[test]
fn s22_l11_a_model_without_tools_goes_on_where_one_with_tools_was() {
    for wire in Dialect::ALL {
        let model = ModelServer::start([
            Reply::text("I look.").and_call("read_file", json!({"path": "a.txt"})),
            Reply::text("It says hello."),
            Reply::text("As I said: hello."),
        ]);
        let workspace = Workspace::new("//- /a.txt\nhello\n");
        let (url, wire_name) = (model.base_url(), wire.wire());
        workspace.config(&format!(
            "model = \"able/m\"\n[providers.able]\nwire = \"{wire_name}\"\nbase_url = \"{url}\"\ntemperature = 0.5\n\
             [providers.plain]\nwire = \"{wire_name}\"\nbase_url = \"{url}\"\ntools = false\n"
        ));
        let rig = Rig::start(&workspace);
        let session = rig.new_session();
        rig.run_to_end(&session, "What is in a.txt?");
        let overrides = json!({ "overrides": { "model": "plain/m" } });
        let run = rig.prompt_with(&session, "Again?", overrides).run_id;
        let end = rig.await_run_end(&session, &run);
        assert_eq!(end.summary.as_deref(), Some("As I said: hello."), "{wire:?}");
        let [first, _, last] = &model.requests()[..] else { panic!("{wire:?}: three requests") };
        let (first, last) = (first.json(), last.json());
        assert_eq!((&first["temperature"], first.get("tools").is_some()), (&json!(0.5), true), "{wire:?}");
        assert_eq!((last.get("temperature"), last.get("tools")), (None, None), "{wire:?}");
        // The request has the calls of the other model as text, in their order.
        let request = last.to_string();
        let at = |words: &str| {
            request.find(words).unwrap_or_else(|| panic!("{wire:?}: no {words:?} in {request}"))
        };
        assert!(
            at("I look.") < at("[read_file {") && at("[read_file {") < at("[output]"),
            "{wire:?}: {request}"
        );
        assert!(at("hello") < at("It says hello.") && at("You have no tools") > 0, "{wire:?}: {request}");
        assert!(!request.contains("call_id") && !request.contains("tool_use_id"), "{wire:?}: {request}");
        rig.end();
    }
}
