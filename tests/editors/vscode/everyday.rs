//! Everyday situations in VS Code: a formatter, automatic saving, undo, git, two tasks, many closed files.
//!
//! Never looks into the server: it checks the screen, the bytes on disk and the requests to the model.

use adjutant_testkit::model::Reply;
use serde_json::{Value, json};

use super::Code;
use super::answers::notified;
use super::changes::wait_coloured;
use crate::editor::Editor;
use crate::scenes::FILE;
use crate::scenes::everyday::{
    MANY, ROUNDS, SWITCHED, SWITCHED_FOR_USER, TEXT, Watcher, all_are, closed, found_in_the_text, git,
    last_request, many_files, notes_and_outputs, one_change, one_file, reads_the_other, replace, switched,
    undone_and_redone, with, with_branches,
};
use crate::stage::{Stage, wait_for};

#[track_caller]
fn wait_disk(code: &Code<'_>, file: &str, text: &str) {
    let disk = || code.stage().workspace.read(file);
    let is = crate::stage::wait_or(|| (disk() == text).then_some(()));
    assert!(is.is_some(), "the file is {:?}, not {text:?}; the screen has\n{}", disk(), code.buffer());
}

fn palette(code: &Code<'_>, command: &str) {
    code.do_("palette", json!([format!("Adjutant: {command}")]));
}

/// Waits until the editor has read the file again. It misses a change that comes right after another, as no user's do; so the
/// file gets a new time until it is noticed.
#[track_caller]
fn reload(code: &Code<'_>, text: &str) {
    let path = code.stage().workspace.path().join(FILE);
    wait_for(&format!("{text:?} in the editor"), || {
        if code.buffer() == text {
            return Some(());
        }
        let file = std::fs::File::options().append(true).open(&path).expect("open the file");
        file.set_modified(std::time::SystemTime::now()).expect("give it a new time");
        None
    });
}

/// Goes on in the last task, and returns what the model is told then.
fn go_on(code: &Code<'_>, requests: usize) -> String {
    palette(code, "Go On");
    code.do_("input", json!(["", "on"]));
    code.do_("confirm", json!([]));
    code.stage().model.wait_for_requests(requests);
    last_request(code.stage())
}

/// Returns a stage whose first edit has blanks at the ends of lines, which VS Code takes away when it saves.
fn formatting() -> Stage {
    let stage = one_file(vec![
        replace("b = 2\n", "b = 3  \nc = 4  \n"),
        Reply::text("Done."),
        replace("b = 2\n", "b = 3\n"),
        Reply::text("Done."),
        Reply::text("Seen."),
        Reply::text("Seen."),
    ]);
    stage.workspace.write(FILE, &TEXT.replace("a  = 1\n", "a  = 1  \n"));
    set(&stage, &json!({"files.trimTrailingWhitespace": true}));
    stage
}

/// Writes VS Code's settings of the workspace.
fn set(stage: &Stage, settings: &Value) {
    stage.workspace.write(".vscode/settings.json", &settings.to_string());
}

#[test]
fn n06_a_formatter_and_automatic_saving_leave_a_change_what_it_is() {
    let stage = formatting();
    let code = Code::open(&stage, FILE);
    // The formatter runs when the agent's edit is saved: inside the change, and elsewhere in the file.
    code.command("Format");
    let formatted = with("b = 3\nc = 4\n");
    wait_disk(&code, FILE, &formatted);
    code.wait_buffer(&formatted);
    stage.model.wait_for_requests(2);
    let request = last_request(&stage);
    assert!(
        request.contains("they are now:\\nb = 3\\nc = 4\""),
        "the model gets its own lines only: {request}"
    );
    wait_coloured(&code, &["b = 3", "c = 4"]);
    code.go_to_line(7);
    palette(&code, "Undo Change");
    wait_disk(&code, FILE, TEXT);
    code.wait_buffer(TEXT);
    wait_coloured(&code, &[]);

    // A save by the editor itself is neutral: marks stay.
    set(&stage, &json!({"files.autoSave": "afterDelay", "files.autoSaveDelay": 100}));
    code.command("Save");
    let edited = with("b = 3\n");
    wait_coloured(&code, &["b = 3"]);
    wait_disk(&code, FILE, &edited);
    stage.model.wait_for_requests(4);
    let request = last_request(&stage);
    assert!(request.contains("Edited greet.py: +1 -1 lines.\""), "{}", &request[request.len() - 700..]);

    // One step back for the edit, and one forwards; the model hears of each once.
    code.undo();
    wait_disk(&code, FILE, TEXT);
    wait_coloured(&code, &[]);
    let undone = |request: &str| request.matches("The user undid in the editor").count();
    wait_for("the undo to be understood", || (found_in_the_text(&stage) == 1).then_some(()));
    assert_eq!(undone(&go_on(&code, 5)), 1);
    code.do_("key", json!(["Control+y"]));
    wait_disk(&code, FILE, &edited);
    wait_coloured(&code, &["b = 3"]);
    wait_for("the redo to be understood", || (found_in_the_text(&stage) == 2).then_some(()));
    let request = go_on(&code, 6);
    assert_eq!((undone(&request), request.matches("that was undone is in the file again").count()), (1, 1));
    code.type_at_top("mine");
    wait_disk(&code, FILE, &format!("mine\n{edited}"));
    wait_coloured(&code, &["b = 3"]);
}

#[test]
fn n06_git_and_two_tasks_say_what_became_of_a_change() {
    let stage = with_branches(one_file(vec![
        replace("b = 2\n", "b = 3\n"),
        Reply::text("Done."),
        replace("b = 3\n", "b = 4\n"),
        Reply::text("Done."),
    ]));
    let code = Code::open(&stage, FILE);
    code.command("First task");
    let first = with("b = 3\n");
    wait_coloured(&code, &["b = 3"]);
    wait_disk(&code, FILE, &first);

    // Away to another branch and back.
    git(&stage, "stash -q");
    git(&stage, "checkout -q other");
    reload(&code, "x\ny\n");
    wait_coloured(&code, &[]);
    git(&stage, "checkout -q main");
    git(&stage, "stash pop -q");
    reload(&code, &first);
    wait_coloured(&code, &["b = 3"]);
    // Taken back by git, and brought back.
    git(&stage, "checkout -q -- greet.py");
    reload(&code, TEXT);
    wait_coloured(&code, &[]);
    stage.workspace.write(FILE, &first);
    reload(&code, &first);
    wait_coloured(&code, &["b = 3"]);

    // Two tasks on one line: the earlier change cannot go from under the later one, so both go.
    code.command("Second task");
    let second = with("b = 4\n");
    code.wait_buffer(&second);
    wait_disk(&code, FILE, &second);
    wait_coloured(&code, &["b = 4"]);
    // Until the second change is known, its line counts as the user's.
    let are_known = |row: &Value| {
        row["labels"].as_str().is_some_and(|row| row.matches("Undo |").count() == 2 && !row.contains("your"))
    };
    let lenses = || code.do_("lenses", json!([])).as_array().cloned().unwrap_or_default();
    wait_for("both changes", || lenses().iter().any(are_known).then_some(()));
    code.do_("pressTitle", json!(["Undo All"]));
    code.wait_buffer(TEXT);
    wait_disk(&code, FILE, TEXT);
    palette(&code, "Restore Change");
    code.wait_buffer(&second);
    wait_disk(&code, FILE, &second);

    // What is committed counts as kept.
    wait_coloured(&code, &["b = 4"]);
    git(&stage, "commit -qam mine");
    wait_coloured(&code, &[]);
}

#[test]
fn n06_a_change_in_a_file_that_is_closed_without_saving_is_applied_again() {
    let stage = one_file(vec![replace("b = 2\n", "b = 3\n"), Reply::text("Done."), Reply::text("Seen.")]);
    let code = Code::open(&stage, FILE);
    code.type_at_top("mine");
    code.command("Task");
    wait_coloured(&code, &["b = 3"]);
    assert_eq!(stage.workspace.read(FILE), TEXT, "it has text of the user");
    code.do_("closeTab", json!([FILE]));
    wait_for("the dialog", || code.do_("dialog", json!([])).to_string().contains("Save").then_some(()));
    code.do_("pressDialog", json!(["Don't Save"]));
    notified(&code, "1 change in greet.py not applied: closed without saving");
    assert_eq!((stage.workspace.read(FILE).as_str(), found_in_the_text(&stage)), (TEXT, 1));
    code.picture("closed");
    let told = go_on(&code, 3);
    assert_eq!(told.matches("which the user closed without saving").count(), 1, "{told}");
    assert_eq!(told.matches("undid in the editor").count(), 0, "{told}");
    code.choose("Apply Again");
    wait_disk(&code, FILE, &with("b = 3\n"));
}

#[test]
fn n06_forty_closed_files_are_changed_on_disk_and_nothing_opens() {
    let stage = many_files();
    let code = Code::open(&stage, FILE);
    let watcher = Watcher::start(&stage);
    // VS Code itself may open and close files while it starts.
    let opened = || stage.seen().count("in", "textDocument/didOpen");
    let before = opened();
    code.command("Rename them");
    stage.model.wait_for_requests(2);
    assert!(all_are(&stage, "1\n.\n.\n"));
    assert_eq!(stage.seen().count("out", "workspace/applyEdit"), 0, "{}", stage.seen().shown());
    assert_eq!(opened(), before, "{}", stage.seen().shown());
    // A dev server sees the files, and others that it can ignore by their name.
    let names = watcher.names();
    let (files, others): (Vec<&String>, Vec<&String>) = names.iter().partition(|name| !name.starts_with('.'));
    let wanted: Vec<String> = (0..MANY).map(|number| closed(number).replace("parts/", "")).collect();
    assert_eq!(files, wanted.iter().collect::<Vec<_>>());
    let is_temporary = |name: &&&String| name.starts_with(".adjutant-") && name.ends_with(".swp");
    assert_eq!(others.iter().filter(is_temporary).count(), others.len(), "{others:?}");

    // One line says it, and the user chooses what comes next.
    let line = format!("Adjutant changed {MANY} files +{MANY} −{MANY}");
    notified(&code, &line);
    assert_eq!(code.buttons(), ["Review", "Undo Run"]);
    code.picture("many-files");
    code.do_("resize", json!([480, 700]));
    code.picture("many-files-narrow");
    code.do_("resize", json!([1100, 700]));
    code.choose("Review");
    // The chat keeps most of the room, and a row that is not in sight is not drawn.
    code.do_("viewPress", json!([0]));
    let list = || code.do_("list", json!([]));
    wait_for("the number of changes", || (list()["badge"] == json!(MANY.to_string())).then_some(()));
    let drawn = || list()["rows"].as_array().filter(|rows| rows.len() > 6).cloned();
    let rows: Vec<Value> = wait_for("the list", drawn);
    let files: Vec<&str> =
        rows.iter().filter_map(Value::as_str).filter(|row| row.contains("change")).collect();
    assert!(files.is_sorted() && files[0].starts_with("f00.py"), "{files:?}");
    // A closed file is decided about in the list, and stays closed.
    code.do_("pressRow", json!(["f01.py", "Undo"]));
    wait_disk(&code, &closed(1), "one\n.\n.\n");
    wait_for("one change less", || (list()["badge"] == json!((MANY - 1).to_string())).then_some(()));
    assert_eq!(opened(), before, "{}", stage.seen().shown());
    // What the user wrote into needs a look, so its file is the first of the list.
    stage.workspace.write(&closed(30), "1 and mine\n.\n.\n");
    let first = || list()["rows"][0].as_str().is_some_and(|row| row.starts_with("f30.py"));
    code.do_("pressRow", json!(["f02.py", "Undo"]));
    wait_for("the amended file to be the first", || first().then_some(()));
    palette(&code, "Keep All Changes");
    wait_for("an empty list", || (list()["badge"] == json!("")).then_some(()));
    notified(&code, &format!("{} changes kept", MANY - 2));
    assert!(stage.workspace.read(&closed(30)).starts_with("1 and mine"));
    let told = last_request(&stage);
    assert!(told.contains("Rename them"), "{told}");
}

#[test]
fn p04_undo_run_in_the_line_about_many_files_takes_all_of_them_back() {
    let stage = many_files();
    let code = Code::open(&stage, FILE);
    code.command("Rename them");
    notified(&code, &format!("{MANY} files"));
    code.choose("Undo Run");
    wait_for("the dialog", || {
        code.do_("dialog", json!([])).to_string().contains(&format!("undo {MANY} changes")).then_some(())
    });
    code.do_("pressDialog", json!(["Undo"]));
    wait_for("the files as they were", || all_are(&stage, "one\n.\n.\n").then_some(()));
}

/// After each step back and forwards the text, what is drawn and what is listed are those of the step. The model hears only of
/// what is left of it.
#[test]
fn n13_a_change_is_undone_and_redone_fifty_times() {
    let stage = one_change();
    let code = Code::open(&stage, FILE);
    code.command("Change it");
    stage.model.wait_for_requests(2);
    code.wait_end("done");
    palette(&code, "Review Changes");
    let edited = with("b = 3\n");
    let (before, after) = (json!([TEXT, [], 0]), json!([edited, ["b = 3"], 2]));
    let steps = json!([ROUNDS, ["Control+z", before], ["Control+y", after]]);
    assert_eq!(code.do_("backAndForth", steps), json!("all"));
    assert_eq!(undone_and_redone(&go_on(&code, 3)), [0, 0], "nothing is left of them");
    let found = found_in_the_text(&stage);
    code.undo();
    wait_for("the undo to be understood", || (found_in_the_text(&stage) > found).then_some(()));
    assert_eq!(undone_and_redone(&go_on(&code, 4)), [1, 0]);
    assert_eq!(undone_and_redone(&go_on(&code, 5)), [1, 0], "once");
}

#[test]
fn n17_a_branch_switch_while_the_agent_works_is_told_once_to_both() {
    let stage = switched();
    let code = Code::open(&stage, FILE);
    code.command("Change it");
    stage.model.wait_for_holding(1);
    git(&stage, "checkout -q other");
    reload(&code, "x\ny\n");
    stage.model.release();
    stage.model.wait_for_requests(4);
    code.wait_end("done");
    let (notes, outputs) = notes_and_outputs(&stage);
    assert_eq!(notes, [SWITCHED]);
    assert!(reads_the_other(&outputs), "it read the file again: {outputs:?}");
    code.wait_buffer("x\ny\n");
    code.picture("switched");
    // The lines of the answer are wrapped.
    let shown = code.all_text().split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(shown.matches(SWITCHED_FOR_USER).count(), 1, "{shown}");
}
