//! A rig with a workspace, a model double and one session. Tests play edits and tools on it and read the outputs
//! that the model gets.
//!
//! Asserts only one thing by itself: the user gets a message for each allowed edit that failed.

use adjutant_protocol::ask::AskView;
use adjutant_protocol::update::{AskChange, ChangeSetView, HunkState, ToolCallView, ToolStatus, Update};
use adjutant_protocol::{RunId, SessionId};
use adjutant_testkit::editor::{Answer, Options};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply, Request};
use serde_json::{Value, json};

use super::rig::Rig;

/// The text of every prompt. The messages after its last occurrence belong to the present run.
const PROMPT: &str = "go on";

/// Parts of the outputs for an allowed edit that failed.
const MISSED: [&str; 11] = [
    "is open in the editor; choose another name",
    "was not applied: ",
    "was not done: ",
    "that is not saved; save it",
    "files for Adjutant; close it",
    "has to be done by hand",
    "applied only in part",
    "did not save it",
    "path leads elsewhere since",
    "where it is now is not known",
    "accepts no edits from",
];

/// A server with its editor and its model.
pub struct Stage {
    // Dropped first, so that the model lives as long as the server.
    pub rig: Rig,
    pub model: ModelServer,
    pub session: SessionId,
    pub workspace: Workspace,
}

impl Stage {
    /// Returns a stage with a rich editor, in a workspace made from a fixture.
    pub fn new(fixture: &str) -> Stage {
        Stage::with(Workspace::new(fixture), |options| options)
    }

    /// Returns a stage with changed editor options.
    pub fn with(workspace: Workspace, adapt: impl FnOnce(Options) -> Options) -> Stage {
        // No test here is about compaction.
        Stage::configured(workspace, "context_window = 100000000\n[limits]\nmistakes = 50", adapt)
    }

    /// Like `with`, with these tables in the settings instead of a higher limit on mistakes.
    pub fn configured(workspace: Workspace, config: &str, adapt: impl FnOnce(Options) -> Options) -> Stage {
        let model = ModelServer::start([]);
        workspace.openai(&model.base_url()).add_config(config);
        let rig = Rig::start_with(&workspace, adapt(Options::new(&workspace)));
        let session = rig.new_session();
        Stage { rig, model, session, workspace }
    }

    /// Returns a stage with an editor that does not say that it sends every open document, so that it opens a file for an edit.
    pub fn opening_files(fixture: &str) -> Stage {
        Stage::with(Workspace::new(fixture), |mut options| {
            options.capabilities.agent.as_mut().expect("a rich client").documents.complete = false;
            options
        })
    }

    /// Answers every ask with this option from now on.
    pub fn answering(self, option: &'static str) -> Stage {
        self.rig.on_ask(move |_| Answer::option(option));
        self
    }

    /// Starts a run whose model gives these replies and then "Done.".
    pub fn send(&self, turns: impl IntoIterator<Item = Reply>) -> RunId {
        self.send_with(turns, json!({}))
    }

    /// Like `send`, with more params of the prompt.
    pub fn send_with(&self, turns: impl IntoIterator<Item = Reply>, params: Value) -> RunId {
        turns.into_iter().for_each(|turn| self.model.push(turn));
        self.model.push(Reply::text("Done."));
        self.rig.prompt_with(&self.session, PROMPT, params).run_id
    }

    /// Waits for the end of a run and returns the outputs of its tools. Checks that the user got one message for
    /// each allowed edit that failed.
    pub fn finish(&self, run: &RunId) -> Vec<String> {
        self.rig.await_run_end(&self.session, run);
        let outputs = self.told();
        for output in outputs.iter().filter(|output| MISSED.iter().any(|missed| output.contains(missed))) {
            let message = self.rig.await_message();
            let is_of_it = |update| match update {
                Update::ToolCallUpdate(ToolCallView { title, summary: Some(summary), .. }) => {
                    message.starts_with(format!("Adjutant: {title}: {summary}").trim_end_matches('…'))
                }
                _ => false,
            };
            let known = self.rig.updates().into_iter().any(|params| is_of_it(params.update));
            let for_the_model =
                ["the user", "read the file", "Read the file"].iter().any(|part| message.contains(part));
            assert!(known && !for_the_model, "{message:?} for {output:?}");
        }
        outputs
    }

    /// Plays a whole run and returns the outputs of its tools.
    pub fn play(&self, turns: impl IntoIterator<Item = Reply>) -> Vec<String> {
        let run = self.send(turns);
        self.finish(&run)
    }

    /// Plays a run with one call and returns the output of the call.
    #[track_caller]
    pub fn call(&self, tool: &str, arguments: Value) -> String {
        match self.play([Reply::call(tool, arguments)]).as_slice() {
            [one] => one.clone(),
            other => panic!("one call has one output, not {other:?}"),
        }
    }

    /// Plays a run with one `edit_file` and returns its output.
    #[track_caller]
    pub fn edit(&self, path: &str, old: &str, new: &str) -> String {
        self.call("edit_file", edit_arguments(path, old, new))
    }

    /// Returns the tool outputs of the present run in the last request to the model.
    pub fn told(&self) -> Vec<String> {
        self.messages("tool")
    }

    /// Returns the notes of Adjutant to the model since the last prompt.
    pub fn notes(&self) -> Vec<String> {
        self.messages("user")
    }

    fn messages(&self, role: &str) -> Vec<String> {
        let messages = self.conversation();
        let start = messages.iter().rposition(|(role, text)| role == "user" && text == PROMPT);
        let run = messages.into_iter().skip(start.map_or(0, |start| start + 1));
        run.filter(|(of, _)| of == role).map(|(_, text)| text).collect()
    }

    /// Returns all messages of the last request to the model, each with its role.
    pub fn conversation(&self) -> Vec<(String, String)> {
        self.model.requests().last().map(conversation_of).unwrap_or_default()
    }

    /// Returns every ask of this connection, in order.
    pub fn asks(&self) -> Vec<AskView> {
        let opened = |update| match update {
            Update::Ask(AskChange::Opened { ask }) => Some(*ask),
            _ => None,
        };
        self.rig.updates().into_iter().filter_map(|params| opened(params.update)).collect()
    }

    /// Returns the change set that was published last.
    #[track_caller]
    pub fn change_set(&self) -> ChangeSetView {
        let last = self.rig.updates().into_iter().rev().find_map(|params| match params.update {
            Update::ChangeSet(view) => Some(view),
            _ => None,
        });
        last.expect("a change set was published")
    }

    /// Waits for a change set with all hunks in this state.
    pub fn await_hunks(&self, state: HunkState) {
        self.rig.await_update(|params| match &params.update {
            Update::ChangeSet(view) => view.hunks.iter().all(|hunk| hunk.state == state),
            _ => false,
        });
    }

    /// Returns the last status of the last call.
    pub fn status(&self) -> Option<ToolStatus> {
        self.rig.updates().into_iter().rev().find_map(|params| match params.update {
            Update::ToolCallUpdate(view) => Some(view.status),
            _ => None,
        })
    }
}

/// Returns all messages of a request to the model, each with its role.
pub fn conversation_of(request: &Request) -> Vec<(String, String)> {
    let body = request.json();
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    messages.iter().map(|message| (text(&message["role"]), text(&message["content"]))).collect()
}

/// Returns the states of the hunks of a change set, in order.
pub fn states(change: &ChangeSetView) -> Vec<HunkState> {
    change.hunks.iter().map(|hunk| hunk.state).collect()
}

/// Returns the arguments of `edit_file`.
pub fn edit_arguments(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "old_text": old, "new_text": new})
}

/// Returns a reply with one `edit_file`.
pub fn edit(path: &str, old: &str, new: &str) -> Reply {
    Reply::call("edit_file", edit_arguments(path, old, new))
}

/// Returns a reply with one `write_file`.
pub fn write(path: &str, content: &str) -> Reply {
    Reply::call("write_file", json!({"path": path, "content": content}))
}

/// Returns the description of a question about a command without the host, which differs between the machines that run the tests.
pub fn without_host(description: &str) -> String {
    let Some((before, after)) = description.split_once(". It runs on ") else {
        return description.to_owned();
    };
    let rest = after.split_once(". ").map(|(_, rest)| format!(". {rest}"));
    format!("{before}{}", rest.unwrap_or_default())
}

/// Returns a text as `read_file` shows it.
pub fn as_read(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n").replace('\r', "\n");
    let lines = text.split_inclusive('\n').map(|line| line.strip_suffix('\n').unwrap_or(line));
    lines.map(|line| format!("{line}\n")).collect()
}
