//! Answers from the terminal to a session that is open in an editor's server: real processes on both sides.
//!
//! Never trusts either side's report of an answer: the ledger that a command writes, the buffer and the log
//! show the effect.

mod asks;
mod crashes;
mod junk;
mod races;

use std::process::Command;

use adjutant_protocol::ask::{AskKind, AskView};
use adjutant_protocol::{RunId, SessionId};
use adjutant_testkit::command::{Line, Ran};
use adjutant_testkit::editor::{Editor, Options};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use adjutant_testkit::process::{MARK, Server};
use serde_json::json;

const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");

/// A session with an open ask, in the server of an editor.
struct Held {
    // Dropped first: the editor before its server, the server before its model.
    editor: Editor,
    server: Server,
    model: ModelServer,
    workspace: Workspace,
    session: SessionId,
    run: RunId,
    ask: AskView,
}

impl Held {
    /// Starts a run whose model plays these turns, and waits for the first ask.
    fn at_ask(turns: impl IntoIterator<Item = Reply>, kind: AskKind) -> Held {
        Held::starting(serve, turns, kind)
    }

    fn starting(
        serve: impl FnOnce(&Workspace) -> (Server, Editor),
        turns: impl IntoIterator<Item = Reply>,
        kind: AskKind,
    ) -> Held {
        let model = ModelServer::start(turns.into_iter().chain([Reply::text("Done.")]));
        let workspace = Workspace::new("//- /a.txt\nhello\n");
        workspace.openai(&model.base_url());
        let (server, editor) = serve(&workspace);
        let session = editor.new_session();
        let run = editor.prompt(&session, "go on").run_id;
        let ask = editor.await_ask_of(kind);
        Held { editor, server, model, workspace, session, run, ask }
    }

    /// Starts a run with a command that writes a line into the ledger each time it runs.
    fn at_command() -> Held {
        Held::at_ask([command("echo ran >> ledger")], AskKind::Command)
    }

    fn answer(&self, args: &[&str]) -> Ran {
        let ask = self.ask.ask_id.0.clone();
        let args: Vec<&str> = ["answer", &ask].into_iter().chain(args.iter().copied()).collect();
        run(&self.workspace, &args)
    }

    /// Returns how often the command ran.
    fn ledger(&self) -> usize {
        ledger(&self.workspace)
    }

    fn end(mut self) {
        self.editor.shutdown();
        self.server.wait();
    }
}

fn command(line: &str) -> Reply {
    Reply::call("run_command", json!({"command": line}))
}

fn ledger(workspace: &Workspace) -> usize {
    if workspace.exists("ledger") { workspace.read("ledger").lines().count() } else { 0 }
}

fn run(workspace: &Workspace, args: &[&str]) -> Ran {
    line(workspace, args).run()
}

/// An approval is bound to the environment, so all processes of these tests have the same mark.
fn line(workspace: &Workspace, args: &[&str]) -> Line {
    Line::new(BINARY, workspace, args).env(MARK, "inbox")
}

fn serve(workspace: &Workspace) -> (Server, Editor) {
    serve_with(workspace, |_| {})
}

fn serve_with(workspace: &Workspace, adjust: impl FnOnce(&mut Command)) -> (Server, Editor) {
    let mut server = Server::spawn_with(BINARY, workspace, &["lsp"], |command| {
        command.env(MARK, "inbox");
        adjust(command);
    });
    let editor = server.editor(Options::new(workspace));
    (server, editor)
}

/// Returns the names of the files in an inbox.
fn letters(workspace: &Workspace, session: &SessionId) -> Vec<String> {
    let folder = adjutant_testkit::inbox::folder(workspace, session);
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}
