//! A rig with a workspace, a model double and one session: where edits and
//! tools are played, and what the model is told of them is read.
//!
//! Asserts nothing by itself but that nobody is left in the dark about an edit.

use adjutant_protocol::ask::AskView;
use adjutant_protocol::update::{AskChange, ChangeSetView, HunkState, ToolCallView, ToolStatus, Update};
use adjutant_protocol::{RunId, SessionId};
use adjutant_testkit::editor::{Answer, Options};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply, Request};
use serde_json::{Value, json};

use super::rig::Rig;

/// What every prompt says; what follows its last occurrence is of the present run.
const PROMPT: &str = "go on";

/// What is said of an allowed edit that is not where it should be.
const MISSED: [&str; 6] = [
    "was not applied: ",
    "applied only in part",
    "did not save it",
    "path leads elsewhere since",
    "where it is now is not known",
    "accepts no edits from",
];

/// A server with an editor before it and a model behind it.
pub struct Stage {
    // Dropped first, so that the model is there as long as the server.
    pub rig: Rig,
    pub model: ModelServer,
    pub session: SessionId,
    pub workspace: Workspace,
}

impl Stage {
    /// A rich editor in a workspace made from a fixture.
    pub fn new(fixture: &str) -> Stage {
        Stage::with(Workspace::new(fixture), |options| options)
    }

    /// An editor of the test's choice in a workspace.
    pub fn with(workspace: Workspace, adapt: impl FnOnce(Options) -> Options) -> Stage {
        Stage::configured(workspace, "[limits]\nmistakes = 50", adapt)
    }

    /// The same with tables added to the settings.
    pub fn configured(workspace: Workspace, config: &str, adapt: impl FnOnce(Options) -> Options) -> Stage {
        let model = ModelServer::start([]);
        workspace.openai(&model.base_url()).add_config(config);
        let rig = Rig::start_with(&workspace, adapt(Options::new(&workspace)));
        let session = rig.new_session();
        Stage { rig, model, session, workspace }
    }

    /// Answers every ask with this option from now on.
    pub fn answering(self, option: &'static str) -> Stage {
        self.rig.on_ask(move |_| Answer::option(option));
        self
    }

    /// Starts a run whose model says these turns, and then that it is done.
    pub fn send(&self, turns: impl IntoIterator<Item = Reply>) -> RunId {
        self.send_with(turns, json!({}))
    }

    /// The same with further params of the prompt.
    pub fn send_with(&self, turns: impl IntoIterator<Item = Reply>, params: Value) -> RunId {
        turns.into_iter().for_each(|turn| self.model.push(turn));
        self.model.push(Reply::text("Done."));
        self.rig.prompt_with(&self.session, PROMPT, params).run_id
    }

    /// Waits for the end of a run and returns what its tools told the model. What they told of an
    /// allowed edit that is not where it should be, the user was told, too, once.
    pub fn finish(&self, run: &RunId) -> Vec<String> {
        self.rig.await_run_end(&self.session, run);
        let told = self.told();
        for told in told.iter().filter(|told| MISSED.iter().any(|missed| told.contains(missed))) {
            let said = self.rig.await_message();
            let is_of_it = |update| match update {
                Update::ToolCallUpdate(ToolCallView { title, summary: Some(summary), .. }) => {
                    said.starts_with(format!("Adjutant: {title}: {summary}").trim_end_matches('…'))
                }
                _ => false,
            };
            let known = self.rig.updates().into_iter().any(|params| is_of_it(params.update));
            let for_the_model =
                ["the user", "read the file", "Look at"].iter().any(|part| said.contains(part));
            assert!(known && !for_the_model, "{said:?} of {told:?}");
        }
        told
    }

    /// Plays a run from its start to its end.
    pub fn play(&self, turns: impl IntoIterator<Item = Reply>) -> Vec<String> {
        let run = self.send(turns);
        self.finish(&run)
    }

    /// Plays a run of one call and returns what the model was told of it.
    #[track_caller]
    pub fn call(&self, tool: &str, arguments: Value) -> String {
        match self.play([Reply::call(tool, arguments)]).as_slice() {
            [one] => one.clone(),
            other => panic!("one call has one output, not {other:?}"),
        }
    }

    /// Plays a run of one `edit_file`.
    #[track_caller]
    pub fn edit(&self, path: &str, old: &str, new: &str) -> String {
        self.call("edit_file", edit_arguments(path, old, new))
    }

    /// What the tools of the present run told the model, as its last request has it.
    pub fn told(&self) -> Vec<String> {
        self.messages("tool")
    }

    /// What the model was told by us, not by a tool, since the last prompt.
    pub fn notes(&self) -> Vec<String> {
        self.messages("user")
    }

    fn messages(&self, role: &str) -> Vec<String> {
        let messages = self.conversation();
        let start = messages.iter().rposition(|(role, text)| role == "user" && text == PROMPT);
        let run = messages.into_iter().skip(start.map_or(0, |start| start + 1));
        run.filter(|(of, _)| of == role).map(|(_, text)| text).collect()
    }

    /// Everything the last request to the model had, by role.
    pub fn conversation(&self) -> Vec<(String, String)> {
        self.model.requests().last().map(conversation_of).unwrap_or_default()
    }

    /// Every ask of this connection, in order.
    pub fn asks(&self) -> Vec<AskView> {
        let opened = |update| match update {
            Update::Ask(AskChange::Opened { ask }) => Some(*ask),
            _ => None,
        };
        self.rig.updates().into_iter().filter_map(|params| opened(params.update)).collect()
    }

    /// The change set that was told last.
    #[track_caller]
    pub fn change_set(&self) -> ChangeSetView {
        let told = self.rig.updates().into_iter().rev().find_map(|params| match params.update {
            Update::ChangeSet(view) => Some(view),
            _ => None,
        });
        told.expect("a change set was told")
    }

    /// Waits until all hunks of a change set are told to be in this state.
    pub fn await_hunks(&self, state: HunkState) {
        self.rig.await_update(|params| match &params.update {
            Update::ChangeSet(view) => view.hunks.iter().all(|hunk| hunk.state == state),
            _ => false,
        });
    }

    /// How the last call ended.
    pub fn status(&self) -> Option<ToolStatus> {
        self.rig.updates().into_iter().rev().find_map(|params| match params.update {
            Update::ToolCallUpdate(view) => Some(view.status),
            _ => None,
        })
    }
}

/// Everything a request to the model had, by role.
pub fn conversation_of(request: &Request) -> Vec<(String, String)> {
    let body = request.json();
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    messages.iter().map(|message| (text(&message["role"]), text(&message["content"]))).collect()
}

/// The states of the hunks of a change set, in order.
pub fn states(change: &ChangeSetView) -> Vec<HunkState> {
    change.hunks.iter().map(|hunk| hunk.state).collect()
}

/// The arguments of `edit_file`.
pub fn edit_arguments(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "old_text": old, "new_text": new})
}

/// A turn of one `edit_file`.
pub fn edit(path: &str, old: &str, new: &str) -> Reply {
    Reply::call("edit_file", edit_arguments(path, old, new))
}

/// A turn of one `write_file`.
pub fn write(path: &str, content: &str) -> Reply {
    Reply::call("write_file", json!({"path": path, "content": content}))
}

/// A text as `read_file` shows it.
pub fn numbered(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n").replace('\r', "\n");
    let lines = text.split_inclusive('\n').map(|line| line.strip_suffix('\n').unwrap_or(line));
    lines.enumerate().map(|(index, line)| format!("{:>6}\t{line}\n", index + 1)).collect()
}
