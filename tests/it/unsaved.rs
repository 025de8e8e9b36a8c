//! A command that runs while open documents are not saved: its ask names them on every surface, and the user
//! gets a message after the command has read the older text.
//!
//! Reads in the output for the model whether a command saw the older text, never in the message for the user.

use adjutant_protocol::ask::{AskSubject, AskView, UnsavedDocument};
use adjutant_protocol::update::{ToolStatus, Update};
use adjutant_testkit::command::Line;
use adjutant_testkit::editor::{Options, Place, SaveBehaviour};
use adjutant_testkit::fixture::path_of_uri;
use adjutant_testkit::model::Reply;
use adjutant_testkit::process::wait_until;
use serde_json::{Value, json};

use crate::plain::{INVOKED, Plain, at, title, titles};
use crate::rig::Rig;
use crate::stage::{Stage, without_host};

const FILES: &str =
    "//- /a.txt\none\n//- /src/b.txt\none\n//- /c.txt\none\n//- /d.txt\none\n//- /e.txt\none\n";
const ALL: [&str; 5] = ["a.txt", "src/b.txt", "c.txt", "d.txt", "e.txt"];
const ONE: &str = "Not saved yet: a.txt. The command sees the file as it was saved last.";
const AFTER: &str = "Adjutant: The command \"cat a.txt\" saw a.txt as it was saved last, without what the editor has. \
                     Save it and run the command again.";

fn cat() -> Reply {
    Reply::call("run_command", json!({ "command": "cat a.txt" }))
}

fn typed(rig: &Rig, files: &[&str]) {
    for file in files {
        rig.open(file);
        rig.type_at(file, Place::End, "two\n");
    }
}

fn unsaved(ask: &AskView) -> &[UnsavedDocument] {
    match &ask.subject {
        Some(AskSubject::Command { unsaved, .. }) => unsaved,
        other => panic!("not a command: {other:?}"),
    }
}

/// Returns the summaries of completed calls, as every client gets them.
fn results(stage: &Stage) -> Vec<String> {
    let result = |update| match update {
        Update::ToolCallUpdate(call) if call.status == ToolStatus::Completed => call.summary,
        _ => None,
    };
    stage.rig.updates().into_iter().filter_map(|params| result(params.update)).collect()
}

#[test]
fn n06_finding_d12_a_commands_ask_lists_what_is_not_saved() {
    let stage = Stage::new(FILES);
    // The ask lists no buffer without a file, no file outside the workspace and no saved file.
    let scratch = json!({"uri": "untitled:Untitled-1", "languageId": "plaintext", "version": 1, "text": "x"});
    stage.rig.notify("textDocument/didOpen", json!({ "textDocument": scratch }));
    let outside = tempfile::tempdir().expect("a folder");
    let uri = format!("file://{}/notes.txt", outside.path().display());
    let notes = json!({"uri": uri, "languageId": "plaintext", "version": 1, "text": "x"});
    stage.rig.notify("textDocument/didOpen", json!({ "textDocument": notes }));
    stage.rig.open("c.txt");

    let run = stage.send([cat()]);
    let ask = stage.rig.await_ask();
    assert_eq!(unsaved(&ask), []);
    assert_eq!(ask.description.as_deref().map(without_host).as_deref(), Some("every command asks"));
    stage.rig.answer(&ask.ask_id, "allow");
    stage.finish(&run);

    typed(&stage.rig, &["a.txt"]);
    let run = stage.send([cat()]);
    let ask = stage.rig.await_ask();
    let document = |path: &str| UnsavedDocument { uri: stage.workspace.uri(path), path: path.to_owned() };
    assert_eq!(unsaved(&ask), [document("a.txt")]);
    assert_eq!(
        ask.description.as_deref().map(without_host).as_deref(),
        Some(format!("every command asks. {ONE}").as_str())
    );
    stage.rig.answer(&ask.ask_id, "reject");
    stage.finish(&run);

    typed(&stage.rig, &ALL[1..]);
    let run = stage.send([cat()]);
    let ask = stage.rig.await_ask();
    let mut listed: Vec<&str> = unsaved(&ask).iter().map(|document| document.path.as_str()).collect();
    listed.sort_unstable();
    assert_eq!(listed, ["a.txt", "c.txt", "d.txt", "e.txt", "src/b.txt"]);
    let words = "Not saved yet: a.txt, c.txt, d.txt and 2 more. The command sees these files as they were saved last.";
    assert!(ask.description.as_deref().is_some_and(|why| why.ends_with(words)), "{ask:?}");
    let saves = ask.options.iter().any(|option| option.option_id == "save_and_run");
    assert!(!saves, "nothing is saved that the question does not name: {ask:?}");
    stage.rig.answer(&ask.ask_id, "reject");
    assert_eq!(stage.finish(&run), ["The user rejected this."]);
    assert!(stage.rig.messages().is_empty(), "a rejected command gives no message");
}

#[test]
fn n06_finding_d12_after_it_ran_on_older_text_the_user_is_told_once_a_run_and_at_each_result() {
    let stage = Stage::new(FILES).answering("allow");
    typed(&stage.rig, &["a.txt"]);
    let outputs = stage.play([cat(), cat()]);
    assert!(outputs.iter().all(|output| output.contains("older text on disk: a.txt]")), "{outputs:?}");
    let result =
        |line: &String| line.starts_with("exit code 0") && line.ends_with("; it saw a.txt as last saved");
    assert!(results(&stage).iter().all(result) && results(&stage).len() == 2, "{:?}", results(&stage));
    assert_eq!(stage.rig.await_message(), AFTER);
    assert!(stage.rig.messages().is_empty(), "one message for each file: {:?}", stage.rig.messages());
    // Another unsaved file gives a new message.
    typed(&stage.rig, &["c.txt"]);
    stage.play([cat()]);
    assert!(stage.rig.await_message().contains("saw a.txt, c.txt as they were saved last"));
    for file in ["a.txt", "c.txt"] {
        stage.rig.save(file);
    }
    stage.play([cat()]);
    assert!(!results(&stage).last().expect("a result").contains("saved"), "{:?}", results(&stage));
}

#[test]
fn n06_finding_d12_who_is_not_asked_is_told_as_well() {
    let stage = Stage::new(FILES);
    let run = stage.send([cat()]);
    let ask = stage.rig.await_ask();
    stage.rig.answer(&ask.ask_id, "allow_always");
    stage.finish(&run);
    typed(&stage.rig, &["a.txt"]);
    stage.play([cat()]);
    assert_eq!(stage.asks().len(), 1, "a rule of the session allows the command");
    assert_eq!(stage.rig.await_message(), AFTER);
    assert!(results(&stage)[1].ends_with("; it saw a.txt as last saved"), "{:?}", results(&stage));
}

#[test]
fn n06_finding_d12_every_door_of_a_plain_editor_says_what_is_not_saved() {
    let plain = Plain::new(FILES, [cat(), Reply::text("Done.")]);
    typed(&plain.rig, &["a.txt"]);
    let uri = plain.workspace.uri("a.txt");
    let task = json!({ "text": "go", "uri": uri, "range": at(0, 0) });
    let started = plain.command("adjutant.start", json!([task])).expect("the run starts");
    let popup = plain.rig.await_popup();
    assert!(popup.message.contains(ONE), "{}", popup.message);
    assert_eq!(popup.actions[..3], ["Reject", "Show", "Yes, once"], "unsaved files do not hide the approval");
    let diagnostics = plain.rig.await_diagnostics(&uri, 1);
    assert!(diagnostics[0]["message"].as_str().is_some_and(|text| text.contains(ONE)), "{diagnostics:?}");
    let actions = plain.actions("a.txt", at(0, 0), json!({ "triggerKind": INVOKED }));
    let named =
        |action: &Value| title(action).ends_with("run `cat a.txt`, at most 120 s (not saved yet: a.txt)");
    assert!(actions.iter().filter(|action| named(action)).count() >= 3, "{:?}", titles(&actions));
    // The page with the whole text.
    plain.rig.press(&popup, Some("Show"));
    let popup = plain.rig.await_popup();
    let page = shown(&plain, 1);
    assert!(page.starts_with(&format!("{ONE}\nIn ")) && page.ends_with(":\n\ncat a.txt"), "{page}");
    // The command line.
    let asks = Line::new(env!("CARGO_BIN_EXE_adjutant"), &plain.workspace, &["asks"]).run();
    let words: Vec<&str> = asks.expect(0).stdout.split_whitespace().collect();
    assert!(words.join(" ").contains(ONE), "{}", asks.stdout);
    plain.rig.press(&popup, Some("Yes, once"));
    plain.finish(&started);
    assert_eq!(plain.rig.await_message(), AFTER);
    plain.command("adjutant.showTranscript", json!([])).expect("the transcript is shown");
    wait_until("the end in the transcript", || shown(&plain, 2).trim_end().ends_with("**"));
    let transcript = shown(&plain, 2);
    assert!(transcript.contains(ONE), "{transcript}");
    assert!(transcript.contains("; it saw a.txt as last saved`"), "{transcript}");
    plain.rig.end();
}

/// Returns the text of the last of `count` files that the user sees.
fn shown(plain: &Plain, count: usize) -> String {
    let params = plain.rig.await_shown(count);
    let path = path_of_uri(params["uri"].as_str().unwrap_or_default()).expect("a file is shown");
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Starts `cat a.txt` while `a.txt` and `c.txt` are not saved, and returns its ask.
fn asked_while_unsaved(stage: &Stage) -> (AskView, adjutant_protocol::RunId) {
    typed(&stage.rig, &["a.txt", "c.txt"]);
    let run = stage.send([cat()]);
    (stage.rig.await_ask(), run)
}

#[test]
fn n06_save_and_run_saves_what_the_question_names_and_nothing_else() {
    let stage = Stage::new(FILES);
    let (ask, run) = asked_while_unsaved(&stage);
    let options: Vec<(&str, Option<&str>)> =
        ask.options.iter().map(|option| (option.option_id.as_str(), option.label.as_deref())).collect();
    let expected = [("save_and_run", "Save and run"), ("allow", "Run as saved"), ("reject", "Reject")];
    assert_eq!(options, expected.map(|(id, label)| (id, Some(label))));
    // It becomes unsaved while the question waits.
    typed(&stage.rig, &["d.txt"]);
    stage.rig.type_at("a.txt", Place::End, "three\n");
    stage.rig.answer(&ask.ask_id, "save_and_run");
    let outputs = stage.finish(&run);
    assert!(
        outputs[0].contains("one\ntwo\nthree\n") && outputs[0].contains("older text on disk: d.txt]"),
        "{outputs:?}"
    );
    assert_eq!(stage.workspace.read("c.txt"), "one\ntwo\n");
    assert_eq!(stage.workspace.read("d.txt"), "one\n", "the question did not name it");
    assert!(stage.rig.await_message().contains("saw d.txt as it was saved last"));
    let reason = stage.rig.saves_asked()[0]["reason"].clone();
    assert_eq!(reason, "you chose to save it before a command runs");
}

#[test]
fn n06_run_as_saved_saves_nothing() {
    let stage = Stage::new(FILES);
    let (ask, run) = asked_while_unsaved(&stage);
    stage.rig.answer(&ask.ask_id, "allow");
    let outputs = stage.finish(&run);
    assert!(outputs[0].contains("older text on disk: a.txt, c.txt]"), "{outputs:?}");
    assert!(stage.rig.await_message().contains("saw a.txt, c.txt as they were saved last"));
    assert!(stage.rig.saves_asked().is_empty());
    assert_eq!(stage.workspace.read("a.txt"), "one\n");
}

#[test]
fn n06_nothing_runs_when_a_file_could_not_be_saved() {
    let refuse = SaveBehaviour::Refuse("No space left on device".to_owned());
    let lies = "the editor said so, but the file does not show it";
    for (save, why) in [(refuse, "No space left on device"), (SaveBehaviour::SaySavedDoNothing, lies)] {
        let stage = Stage::new(FILES);
        stage.rig.set_save(save);
        typed(&stage.rig, &["a.txt"]);
        let run = stage.send([Reply::call("run_command", json!({ "command": "touch ran" }))]);
        let ask = stage.rig.await_ask();
        stage.rig.answer(&ask.ask_id, "save_and_run");
        let outputs = stage.finish(&run);
        assert!(outputs[0].contains("nothing was run") && outputs[0].contains(why), "{outputs:?}");
        let told = stage.rig.await_message();
        assert!(told.contains("\"a.txt\" could not be saved first") && told.contains(why), "{told}");
        assert!(!stage.workspace.path().join("ran").exists());
        assert_eq!(stage.rig.text_of("a.txt"), "one\ntwo\n");
    }
}

#[test]
fn n06_what_a_formatter_makes_of_a_file_at_save_and_run_is_what_the_command_sees() {
    let stage = Stage::new(FILES);
    stage.rig.set_save(SaveBehaviour::Format("two".to_owned(), "2".to_owned()));
    let (ask, run) = asked_while_unsaved(&stage);
    stage.rig.answer(&ask.ask_id, "save_and_run");
    let outputs = stage.finish(&run);
    assert!(outputs[0].contains("one\n2\n") && !outputs[0].contains("older text"), "{outputs:?}");
}

/// A file that is saved by then needs nothing. One that is closed cannot be saved, so nothing runs.
#[test]
fn n06_save_and_run_asks_for_no_save_of_what_is_saved_or_closed_by_then() {
    let stage = Stage::new(FILES);
    let (ask, run) = asked_while_unsaved(&stage);
    stage.rig.save("a.txt");
    stage.rig.save("c.txt");
    stage.rig.answer(&ask.ask_id, "save_and_run");
    let outputs = stage.finish(&run);
    assert!(outputs[0].contains("one\ntwo\n") && !outputs[0].contains("older text"), "{outputs:?}");
    assert!(stage.rig.saves_asked().is_empty());
    stage.rig.close("a.txt");
    stage.rig.close("c.txt");

    let (ask, run) = asked_while_unsaved(&stage);
    stage.rig.close("c.txt");
    stage.rig.answer(&ask.ask_id, "save_and_run");
    let outputs = stage.finish(&run);
    assert!(
        outputs[0].contains("\"c.txt\" could not be saved first: no editor has it open now"),
        "{outputs:?}"
    );
    assert!(outputs[0].contains("(saved before that: a.txt)"), "{outputs:?}");
    assert!(stage.rig.await_message().contains("no editor has it open now"));
    assert_eq!(stage.workspace.read("c.txt"), "one\ntwo\n", "what was closed without saving stays so");
}

/// A server that was started again does not know what the editor of before had.
#[test]
fn n06_save_and_run_runs_nothing_while_no_editor_has_the_files() {
    let stage = Stage::new(FILES);
    let (ask, run) = asked_while_unsaved(&stage);
    let Stage { rig, model, session, workspace } = stage;
    rig.die();
    let rig = Rig::start_with(&workspace, Options::new(&workspace));
    rig.resume(&session, None);
    let again = rig.await_ask();
    assert_eq!(again.ask_id, ask.ask_id);
    rig.answer(&again.ask_id, "save_and_run");
    rig.await_run_end(&session, &run);
    assert!(rig.await_message().contains("\"a.txt\" could not be saved first: no editor has it open now"));
    assert_eq!(workspace.read("a.txt"), "one\n");
    drop(rig);
    drop(model);
}

/// An editor that cannot be asked to save gets the usual answers; another terminal may save by the editor's session.
#[test]
fn n06_save_and_run_is_there_for_whom_the_editor_can_save() {
    let plain = Plain::new(FILES, [cat(), Reply::text("Done.")]);
    typed(&plain.rig, &["a.txt"]);
    let started = plain.command("adjutant.start", json!(["go"])).expect("the run starts");
    let popup = plain.rig.await_popup();
    assert_eq!(popup.actions, ["Reject", "Show", "Yes, once", "Yes, always…"]);
    plain.rig.press(&popup, Some("Reject"));
    plain.finish(&started);
    plain.rig.end();

    let stage = Stage::new(FILES);
    let (ask, run) = asked_while_unsaved(&stage);
    let program = env!("CARGO_BIN_EXE_adjutant");
    let asks = Line::new(program, &stage.workspace, &["asks"]).run().expect(0).stdout.clone();
    assert!(asks.contains("save_and_run"), "{asks}");
    Line::new(program, &stage.workspace, &["answer", &ask.ask_id.0, "save_and_run"]).run().expect(0);
    let outputs = stage.finish(&run);
    assert!(outputs[0].contains("one\ntwo\n"), "{outputs:?}");
    assert_eq!(stage.workspace.read("a.txt"), "one\ntwo\n");
}

/// The list of unsaved files in an ask is not part of the approval.
#[test]
fn n06_finding_d12_an_ask_outlives_its_server_whatever_is_saved_by_then() {
    let stage = Stage::new(FILES);
    typed(&stage.rig, &["a.txt"]);
    let run = stage.send([cat()]);
    let ask = stage.rig.await_ask();
    let Stage { rig, model, session, workspace } = stage;
    rig.die();
    let rig = Rig::start_with(&workspace, Options::new(&workspace));
    rig.resume(&session, None);
    let again = rig.await_ask();
    assert_eq!((&again.ask_id, unsaved(&again).len()), (&ask.ask_id, 1), "{again:?}");
    rig.answer(&ask.ask_id, "allow");
    rig.await_run_end(&session, &run);
    assert!(rig.messages().is_empty(), "no document is open any more, so the command saw the whole text");
    drop(rig);
    drop(model);
}
