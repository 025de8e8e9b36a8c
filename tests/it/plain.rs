//! A rig whose editor has no Adjutant plugin: it has only code actions and commands.
//!
//! Never uses an `agent/` method. Reads the results in the buffers and at the model.

use std::time::Duration;

use adjutant_testkit::editor::{Capabilities, Encoding, Options, RpcError};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use adjutant_testkit::process::wait_until;
use serde_json::{Value, json};

use crate::rig::Rig;
use crate::stage::conversation_of;

/// An editor without a plugin, and the model of its server.
pub struct Plain {
    // Dropped first, so that the model lives as long as the server.
    pub rig: Rig,
    pub model: ModelServer,
    pub workspace: Workspace,
}

/// The trigger kinds of a request for code actions.
pub const INVOKED: u64 = 1;
pub const AUTOMATIC: u64 = 2;

/// Returns the capabilities of an editor without a plugin.
pub fn capabilities() -> Capabilities {
    let kinds = json!({ "codeActionKind": { "valueSet": ["", "quickfix", "refactor", "source"] } });
    let actions = json!({ "codeAction": { "codeActionLiteralSupport": kinds, "dataSupport": true } });
    Capabilities { extra: json!({ "textDocument": actions }), ..Capabilities::plain() }
}

impl Plain {
    /// Returns an editor in a workspace made from a fixture, with a model that gives these replies.
    pub fn new(fixture: &str, turns: impl IntoIterator<Item = Reply>) -> Plain {
        Plain::with(fixture, turns, capabilities())
    }

    /// Like `new`, with this position encoding.
    pub fn counting(fixture: &str, turns: impl IntoIterator<Item = Reply>, encoding: Encoding) -> Plain {
        Plain::with(fixture, turns, capabilities().with_encodings(&[encoding]))
    }

    /// Like `new`, with these capabilities.
    pub fn with(fixture: &str, turns: impl IntoIterator<Item = Reply>, capabilities: Capabilities) -> Plain {
        Plain::human(fixture, turns, Duration::ZERO, |options| options.capabilities(capabilities))
    }

    /// Like `new`, with changed options. The server ignores an approval that comes within `reaction` of its popup.
    pub fn human(
        fixture: &str,
        turns: impl IntoIterator<Item = Reply>,
        reaction: Duration,
        adapt: impl FnOnce(Options) -> Options,
    ) -> Plain {
        let model = ModelServer::start(turns);
        let workspace = Workspace::new(fixture);
        // The settings say that the editor shows 12 lines of a popup.
        workspace.openai(&model.base_url()).add_config("[asks]\npopup_lines = 12\n");
        let options = adapt(Options::new(&workspace).capabilities(capabilities()));
        let rig = Rig::connect_human(&workspace, options, reaction);
        if let Err(error) = rig.initialize() {
            panic!("initialize: {error}");
        }
        Plain { rig, model, workspace }
    }

    /// Returns the same editor after its server was killed and started again.
    pub fn again(self) -> Plain {
        let Plain { rig, model, workspace } = self;
        rig.die();
        let rig = Rig::start_with(&workspace, Options::new(&workspace).capabilities(capabilities()));
        Plain { rig, model, workspace }
    }

    /// Returns the code actions at a range; `context` may have `diagnostics`, `only` and `triggerKind`.
    pub fn actions(&self, file: &str, range: Value, context: Value) -> Vec<Value> {
        let mut context = context;
        if context["diagnostics"].is_null() {
            context["diagnostics"] = json!([]);
        }
        let params = json!({
            "textDocument": { "uri": self.workspace.uri(file) }, "range": range, "context": context,
        });
        let actions = self.rig.request("textDocument/codeAction", params).expect("code actions are answered");
        actions.as_array().cloned().unwrap_or_default()
    }

    /// Returns the titles of the code actions that a user gets on request.
    pub fn titles(&self, file: &str, range: Value) -> Vec<String> {
        titles(&self.actions(file, range, json!({ "triggerKind": INVOKED })))
    }

    /// Waits for a code action whose title starts with `begins`.
    #[track_caller]
    pub fn await_action(&self, file: &str, begins: &str) -> Value {
        let mut found = None;
        let mut seen = Vec::new();
        wait_until(&format!("a code action {begins:?}"), || {
            let actions = self.actions(file, at(0, 0), json!({ "triggerKind": INVOKED }));
            seen = titles(&actions);
            found = actions.into_iter().find(|action| title(action).starts_with(begins));
            found.is_some()
        });
        found.unwrap_or_else(|| panic!("{begins:?} is not among {seen:?}"))
    }

    /// Executes a code action, as an editor does when the user picks it.
    pub fn pick(&self, action: &Value) -> Result<Value, RpcError> {
        let command = if action["command"].is_object() { &action["command"] } else { action };
        let params = json!({ "command": command["command"], "arguments": command["arguments"] });
        self.rig.request("workspace/executeCommand", params)
    }

    /// Executes a command.
    pub fn command(&self, name: &str, arguments: Value) -> Result<Value, RpcError> {
        self.rig.request("workspace/executeCommand", json!({ "command": name, "arguments": arguments }))
    }

    /// Executes a command that must fail. Checks that the user sees the error, and returns its message.
    #[track_caller]
    pub fn refused(&self, name: &str, arguments: Value) -> String {
        let error = self.command(name, arguments).expect_err("this must be refused");
        let shown = self.rig.await_message();
        assert!(shown.contains(&error.message), "the user sees {shown:?} for {error}");
        error.message
    }

    /// Waits for the end of the run that a command started.
    pub fn finish(&self, started: &Value) -> adjutant_protocol::session::RunEnd {
        let id = |name: &str| started[name].as_str().unwrap_or_default().to_owned();
        self.rig.await_run_end(&id("sessionId").as_str().into(), &id("runId").as_str().into())
    }

    /// Waits for this request to the model and returns the last message of the user in it.
    pub fn told(&self, request: usize) -> String {
        let requests = self.model.wait_for_requests(request + 1);
        let conversation = conversation_of(&requests[request]);
        let last = conversation.into_iter().rev().find(|(role, _)| role == "user");
        last.map(|(_, text)| text).unwrap_or_default()
    }
}

pub fn title(action: &Value) -> &str {
    action["title"].as_str().unwrap_or_default()
}

pub fn titles(actions: &[Value]) -> Vec<String> {
    actions.iter().map(|action| title(action).to_owned()).collect()
}

/// Returns the empty range at a position.
pub fn at(line: u32, character: u32) -> Value {
    range((line, character), (line, character))
}

pub fn range(from: (u32, u32), to: (u32, u32)) -> Value {
    json!({ "start": { "line": from.0, "character": from.1 }, "end": { "line": to.0, "character": to.1 } })
}

/// Returns a diagnostic of another server.
pub fn problem(range: Value, message: &str) -> Value {
    json!({ "range": range, "severity": 1, "source": "rustc", "code": "E0001", "message": message })
}
