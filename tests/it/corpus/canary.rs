//! A program that leaves a file whenever it runs, and an editor with an open workspace that names the program.
//!
//! The server is the real binary, so that it has its own environment.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use adjutant_protocol::SessionId;
use adjutant_testkit::editor::{Answer, Editor, Options};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use adjutant_testkit::process::Server;
use serde_json::json;

use super::setup::next_to;

const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");
/// Deadline of one run; a search through many files may take ten seconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// The program, and the file that it leaves.
pub struct Canary {
    pub program: PathBuf,
    left: PathBuf,
}

impl Canary {
    /// Writes the program next to the workspace, and checks that it works.
    pub fn of(workspace: &Workspace) -> Canary {
        let (program, left) = (next_to(workspace, "canary"), next_to(workspace, "sang"));
        fs::write(&program, format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\n", left.display()))
            .expect("a program");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it can be run");
        let canary = Canary { program, left };
        canary.sings("itself", |canary| {
            Command::new(&canary.program).status().expect("it runs");
        });
        canary
    }

    /// Checks that `run` starts the program, then removes its file: a trap that cannot close proves nothing.
    pub fn sings(&self, what: &str, run: impl FnOnce(&Canary)) {
        run(self);
        assert!(self.left.exists(), "the trap works: {what} runs the program");
        fs::remove_file(&self.left).expect("its file is removed");
    }

    #[track_caller]
    pub fn is_silent(&self, what: &str) {
        let text = fs::read_to_string(&self.left).unwrap_or_default();
        assert!(!self.left.exists(), "{what} ran what the workspace names: {text}");
    }

    pub fn name(&self) -> String {
        self.program.display().to_string()
    }
}

/// Runs the installed git without the user's settings.
pub fn git(workspace: &Workspace, folder: &str, arguments: &[&str]) -> std::process::Output {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=a", "-c", "user.email=a@b.invalid"]).args(arguments);
    command.current_dir(workspace.path().join(folder)).env("HOME", next_to(workspace, "home"));
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    command.output().expect("git is installed")
}

/// A workspace that is open in an editor.
pub struct Opened {
    // The editor is dropped before the server and the model, so the model outlives the server.
    pub editor: Editor,
    pub server: Server,
    pub model: ModelServer,
    pub session: SessionId,
}

impl Opened {
    pub fn new(workspace: &Workspace) -> Opened {
        let model = ModelServer::start([]);
        workspace.openai(&model.base_url()).add_config("[limits]\nmistakes = 50");
        let mut server = Server::spawn(BINARY, workspace, &["lsp"]);
        let options = Options { deadline: PATIENCE, ..Options::new(workspace) };
        let editor = server.editor(options);
        let session = editor.new_session();
        Opened { editor, server, model, session }
    }

    /// Plays turns of the model; every ask gets this answer.
    pub fn play(&self, turns: impl IntoIterator<Item = Reply>, answer: &'static str) {
        self.editor.on_ask(move |_| Answer::option(answer));
        turns.into_iter().for_each(|turn| self.model.push(turn));
        self.model.push(Reply::text("Done."));
        let run = self.editor.prompt(&self.session, "go on").run_id;
        self.editor.await_run_end(&self.session, &run);
    }

    /// Makes the calls that an agent makes in any workspace, without a command.
    pub fn look_around(&self) {
        let look = [
            Reply::call("list_files", json!({"path": "."})),
            Reply::call("find_files", json!({"pattern": "*"})),
            Reply::call("search_text", json!({"pattern": "e"})),
            Reply::call("read_file", json!({"path": "a.txt"})),
            Reply::call("write_file", json!({"path": "a.txt", "content": "other\n"})),
        ];
        self.play(look, "allow");
        assert!(self.server.marked().is_empty(), "nothing was started: {:?}", self.server.marked());
    }

    /// Returns the tool outputs in the last request to the model.
    pub fn outputs(&self) -> Vec<String> {
        self.model.requests().last().map(crate::rig::tool_outputs).unwrap_or_default()
    }
}
