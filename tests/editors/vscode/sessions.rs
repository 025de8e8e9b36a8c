//! Scenes of the list of conversations: what waits for the user is on top, and a press opens it in the chat.
//!
//! Never waits for a time, only for what the list and the chat show.

use std::fs;
use std::os::unix::fs::DirBuilderExt;

use adjutant::session::log::line;
use adjutant_protocol::SessionId;
use adjutant_testkit::editor::Options;
use adjutant_testkit::model::Reply;
use adjutant_testkit::process::Server;
use serde_json::{Value, json};

use super::Code;
use crate::editor::Editor;
use crate::scenes;
use crate::stage::{SERVER, Stage, wait_for, wait_or};

const FILES: &str = "//- /greet.py\nprint(1)\n";
const LOOKED: [&str; 3] = ["prompt: Look at it Sent with it", "reply: Seen.", "end: Done"];

impl Code<'_> {
    fn sessions(&self) -> Vec<String> {
        let rows = self.do_("sessionRows", json!([]));
        rows.as_array()
            .cloned()
            .unwrap_or_default()
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    }

    /// Waits until the rows of the list begin so.
    #[track_caller]
    fn wait_sessions(&self, wanted: &[&str]) {
        let mut last = Vec::new();
        let shows = || {
            last = self.sessions();
            let same = |(row, begin): (&String, &&str)| row.starts_with(begin);
            (last.len() == wanted.len() && last.iter().zip(wanted).all(same)).then_some(())
        };
        wait_or(shows).unwrap_or_else(|| panic!("the list shows {last:#?}\nnot {wanted:#?}"));
    }

    /// Opens the list of a folder in which nothing was asked yet.
    #[track_caller]
    fn open_empty_list(&self) {
        self.do_("sessionsOpen", json!([]));
        wait_for("the words of an empty list", || {
            self.sessions().first()?.starts_with("There is no conversation in this folder yet.").then_some(())
        });
    }

    fn wait_dialog(&self) -> Value {
        wait_for("the dialog", || Some(self.do_("dialog", json!([]))).filter(|dialog| !dialog.is_null()))
    }
}

#[test]
fn p27_what_a_row_of_the_list_of_conversations_says() {
    super::node_finds_nothing("sessions.mjs", "editors/vscode/src/session.ts");
}

#[test]
fn p27_what_the_chat_says_of_a_conversation_that_another_window_has() {
    super::node_finds_nothing("held.mjs", "editors/vscode/src/chat/held.ts");
}

/// A second window says who has a conversation, and offers to take it over once that process is gone.
#[test]
fn p27_a_conversation_of_another_window_is_taken_over_once_its_process_is_gone() {
    let stage = Stage::new(FILES, [Reply::text("Seen."), Reply::text("Here.")]);
    let mut first = Server::spawn_with(SERVER, &stage.workspace, &["lsp"], |_| {});
    let window = first.editor(Options::new(&stage.workspace));
    let session = window.new_session();
    let run = window.prompt(&session, "Look at it").run_id;
    window.await_run_end(&session, &run);
    let code = Code::open(&stage, scenes::FILE);
    code.do_("sessionsOpen", json!([]));
    code.wait_sessions(&["Today", "Look at it | open in another window · just now"]);
    code.do_("sessionClick", json!(["Look at it"]));
    let says = |part: &str| {
        let shown = || code.chat()["items"][0].as_str()?.contains(part).then_some(());
        wait_or(shown).unwrap_or_else(|| panic!("the chat does not say {part:?}: {}", code.chat()));
    };
    says(&format!("open in another window (process {})", first.pid()));
    code.picture("held");
    window.expect_loss();
    first.kill();
    says("has let it go.");
    code.wait_sessions(&["Today", "Look at it | "]);
    code.picture("take-over");
    code.do_("chatPress", json!(["Take Over"]));
    wait_for("the conversation", || (code.chat()["items"][1] == "reply: Seen.").then_some(()));
    code.say_in_chat("Go on");
    wait_for("its answer", || code.chat().to_string().contains("reply: Here.").then_some(()));
}

/// Writes the log of a conversation without a prompt, of a time long ago.
fn plant(stage: &Stage, number: u64) {
    let id = SessionId(format!("s-{number:016x}"));
    let dir = stage.workspace.state_dir().join("sessions").join(&id.0);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&dir).expect("make the folder of a session");
    let root = stage.workspace.path().canonicalize().expect("the workspace");
    let created = json!({ "type": "session_created", "session": id, "roots": [root], "title": format!("Old {number}") });
    let mut log = Vec::new();
    line::put_header(&mut log, &id.0, 1);
    line::put_epoch(&mut log, &id.0, 1, 1);
    line::put_record(&mut log, &id.0, (1, number * 1_000, false), &created).expect("a record");
    fs::write(dir.join("events.jsonl"), log).expect("write the log");
}

#[test]
fn p27_of_more_than_a_hundred_conversations_the_rest_is_loaded_by_the_last_row() {
    let stage = Stage::new(FILES, []);
    (1..=103).for_each(|number| plant(&stage, number));
    let code = Code::open(&stage, scenes::FILE);
    code.do_("sessionsOpen", json!([]));
    wait_for("the first row", || (code.sessions().first()? == "Earlier").then_some(()));
    code.do_("sessionsOpen", json!([]));
    let shows = |with: &str| code.sessions().iter().any(|row| row.starts_with(with)).then_some(());
    code.do_("pageKey", json!(["End"]));
    wait_for("the way to the rest", || shows("Load more…"));
    code.picture("sessions-more");
    code.do_("pageKey", json!(["Enter"]));
    wait_for("the rest", || {
        code.do_("pageKey", json!(["End"]));
        shows("Old 1 | ")
    });
}

#[test]
fn p27_conversations_are_listed_by_what_they_need_opened_in_the_chat_and_deleted() {
    let run = Reply::call("run_command", json!({ "command": "echo one" }));
    let stage = Stage::new(FILES, [Reply::text("Seen."), run, Reply::text("Done so.")]);
    let code = Code::open(&stage, scenes::FILE);
    code.open_empty_list();
    // What happens here comes into the list by itself.
    code.command("Look at it");
    code.wait_end("done");
    code.wait_sessions(&["Today", "Look at it | just now"]);
    code.command("Try it");
    code.wait_sessions(&["Needs you", "Try it | Run echo one · just now", "Today", "Look at it | "]);
    code.picture("sessions");
    code.do_("sessionClick", json!(["Look at it"]));
    code.wait_chat(&LOOKED);
    let menu = code.do_("sessionMenu", json!(["Try it"]));
    assert_eq!(
        menu,
        json!(["Open Conversation", "Show Transcript", "Rename Conversation…", "Fork Conversation"]),
        "one that is open cannot be deleted"
    );
    code.do_("pressMenu", json!(["Open Conversation"]));
    wait_for("the question in the chat", || code.card());
    code.do_("sessionClick", json!(["Look at it"]));
    code.wait_chat(&LOOKED);
    // The menu of the row comes by the keyboard, too.
    code.do_("sessionsOpen", json!([]));
    code.do_("pageKey", json!(["End"]));
    code.do_("pageKey", json!(["Shift+F10"]));
    code.do_("menuKey", json!(["End"]));
    code.do_("menuKey", json!(["Enter"]));
    let dialog = code.wait_dialog();
    code.picture("sessions-delete");
    assert_eq!(dialog["message"], "Delete “Look at it”?");
    let detail = dialog["detail"].as_str().unwrap_or_default();
    assert!(detail.starts_with("The conversation (1 turn) is gone for good."), "{detail}");
    // Enter, which may have been typed before the dialog came, deletes nothing.
    code.do_("pageKey", json!(["Enter"]));
    wait_for("the end of the dialog", || code.do_("dialog", json!([])).is_null().then_some(()));
    assert_eq!(stage.seen().count("in", "agent/session/delete"), 0);
    code.do_("sessionMenu", json!(["Look at it"]));
    code.do_("pressMenu", json!(["Delete Conversation…"]));
    code.wait_dialog();
    code.do_("pressDialog", json!(["Delete"]));
    code.wait_sessions(&["Needs you", "Try it | "]);
    wait_for("an empty chat", || {
        code.chat()["items"][0].as_str().is_some_and(|one| one.starts_with("empty:")).then_some(())
    });
    assert_eq!(stage.seen().count("in", "agent/session/delete"), 1, "{}", stage.seen().shown());
}

/// The copy has what was said before the prompt, whose words are in its box; the original stays as it is.
#[test]
fn p05_a_conversation_is_forked_at_a_prompt_from_the_list_and_by_the_palette() {
    let stage = Stage::new(FILES, ["Seen.", "Again.", "Otherwise."].map(Reply::text));
    let code = Code::open(&stage, scenes::FILE);
    code.open_empty_list();
    code.command("Look at it");
    code.wait_end("done");
    code.do_("sessionClick", json!(["Look at it"]));
    code.wait_chat(&LOOKED);
    code.say_in_chat("And now?");
    let again = ["prompt: And now?", "reply: Again.", "end: Done"];
    code.wait_chat(&[&LOOKED[..], &again].concat());
    code.do_("chatType", json!(["not sent yet"]));
    code.do_("chatFork", json!(["And now?"]));
    assert_eq!(code.wait_chat(&LOOKED)["draft"], "And now?", "its words wait in the box");
    code.picture("chat-fork");
    code.wait_sessions(&["Today", "Look at it (fork) | ", "Look at it | "]);
    code.do_("chatKey", json!(["Enter"]));
    let otherwise = ["prompt: And now?", "reply: Otherwise.", "end: Done"];
    code.wait_chat(&[&LOOKED[..], &otherwise].concat());
    let requests = stage.model.requests();
    let request = requests.last().expect("a request").json().to_string();
    assert!(request.contains("Seen.") && !request.contains("Again."), "{request}");
    // The original, with what was typed for it.
    code.do_("sessionsOpen", json!([]));
    code.do_("pageKey", json!(["End"]));
    code.do_("pageKey", json!(["Shift+F10"]));
    code.do_("menuKey", json!(["Home"]));
    code.do_("menuKey", json!(["Enter"]));
    assert_eq!(code.wait_chat(&[&LOOKED[..], &again].concat())["draft"], "not sent yet");
    code.do_("sessionMenu", json!(["Look at it (fork)"]));
    code.do_("pressMenu", json!(["Fork Conversation"]));
    code.wait_chat(&[&LOOKED[..], &otherwise].concat());
    code.wait_sessions(&["Today", "Look at it (fork 2) | ", "Look at it (fork) | ", "Look at it | "]);
    code.do_("palette", json!(["Adjutant: Fork Conversation"]));
    code.wait_sessions(&[
        "Today",
        "Look at it (fork 3) | ",
        "Look at it (fork 2) | ",
        "Look at it (fork) | ",
        "Look at it | ",
    ]);
}

#[test]
fn p27_a_conversation_is_renamed_and_the_list_follows_without_being_asked() {
    let stage = Stage::new(FILES, [Reply::text("Seen.")]);
    let code = Code::open(&stage, scenes::FILE);
    code.open_empty_list();
    code.command("Look at it");
    code.wait_end("done");
    code.wait_sessions(&["Today", "Look at it | just now"]);
    let lists = stage.seen().count("in", "agent/session/list");
    code.do_("sessionMenu", json!(["Look at it"]));
    code.do_("pressMenu", json!(["Rename Conversation…"]));
    // The old title is there, and chosen: what is typed takes its place.
    code.do_("input", json!(["Rename Conversation", "Größe der Kopfzeile"]));
    code.picture("sessions-rename");
    code.do_("pageKey", json!(["Enter"]));
    code.wait_sessions(&["Today", "Größe der Kopfzeile | "]);
    wait_for("the title above the chat", || {
        (code.do_("viewTitles", json!([]))[0] == "Größe der Kopfzeile").then_some(())
    });
    assert_eq!(stage.seen().count("in", "agent/session/list"), lists, "{}", stage.seen().shown());
}
