//! Edits from the model's call to the text: what the user sees, what is applied, what the model gets, and that
//! no other byte changes.
//!
//! Never looks into the server: the tests read the buffers, the files and the model's next request.

mod burst;
mod carried;
mod clients;
mod encodings;
mod lies;
mod names;
mod reaching;
mod saving;
mod settling;
mod typing;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use adjutant_protocol::ask::{AskKind, AskSubject, EditedFile};
use adjutant_protocol::update::HunkState;
use adjutant_testkit::editor::{Answer, Capabilities, Encoding, Place};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::Reply;
use serde_json::json;

use super::stage::{Stage, as_read, edit, states, write};

const THREE: &str = "
    //- /a.txt
    one
    two
    three
";

#[test]
fn n05_an_approved_edit_of_a_closed_file_goes_through_the_editor_and_is_saved() {
    let stage = Stage::opening_files(THREE).answering("allow");
    assert_eq!(stage.edit("a.txt", "two", "2"), "Edited a.txt: +1 -1 lines.");
    assert_eq!(stage.workspace.read("a.txt"), "one\n2\nthree\n");
    let applies = stage.rig.applies();
    assert_eq!(applies.len(), 1);
    let document = &applies[0].params["edit"]["documentChanges"][0]["textDocument"];
    assert_eq!(*document, json!({"uri": stage.workspace.uri("a.txt"), "version": null}));
    assert_eq!(stage.rig.saves_asked().len(), 1);
    assert!(!stage.rig.buffer("a.txt").unwrap().dirty);
    assert_eq!(states(&stage.change_set()), [HunkState::Kept]);
    stage.rig.shutdown();
}

#[test]
fn every_file_stays_as_it_was_a_closed_one_is_written_without_being_opened() {
    let stage = Stage::new(THREE).answering("allow");
    assert_eq!(stage.edit("a.txt", "two", "2"), "Edited a.txt: +1 -1 lines.");
    assert_eq!(stage.workspace.read("a.txt"), "one\n2\nthree\n");
    assert!(stage.rig.applies().is_empty() && stage.rig.buffer("a.txt").is_none());
    stage.rig.shutdown();
}

#[test]
fn n05_an_edit_of_an_open_file_stays_in_its_buffer_beside_the_users_text() {
    let stage = Stage::new(THREE).answering("allow");
    stage.rig.open("a.txt");
    stage.rig.type_at("a.txt", Place::End, "mine\n");
    let version = stage.rig.buffer("a.txt").unwrap().version;
    let output = stage.edit("a.txt", "two", "2");
    assert_eq!(output, "Edited a.txt: +1 -1 lines. The file is open in the editor and not saved yet.");
    assert_eq!(stage.rig.text_of("a.txt"), "one\n2\nthree\nmine\n");
    assert_eq!(stage.workspace.read("a.txt"), "one\ntwo\nthree\n");
    assert!(stage.rig.saves_asked().is_empty());
    let applied = &stage.rig.applies()[0].params["edit"]["documentChanges"][0]["textDocument"];
    assert_eq!(applied["version"], version);
    stage.rig.undo("a.txt");
    assert_eq!(stage.rig.text_of("a.txt"), "one\ntwo\nthree\nmine\n", "an edit is one step to undo");
}

#[test]
fn finding_d7_a_new_file_is_on_disk_byte_by_byte() {
    let stage = Stage::new(THREE).answering("allow");
    let outputs = stage.play([write("src/deep/new.txt", "1\n2\n")]);
    assert_eq!(outputs, ["Created src/deep/new.txt: +2 -0 lines."]);
    assert_eq!(stage.workspace.read("src/deep/new.txt"), "1\n2\n");
    assert!(
        stage.rig.applies().is_empty(),
        "editors create new files in different ways, and some not at all"
    );
    let Some(AskSubject::Edit(EditedFile { diff, new_file, .. })) = &stage.asks()[0].subject else {
        panic!("an ask for an edit has its diff");
    };
    assert!(new_file);
    assert_eq!(**diff, *"--- /dev/null\n+++ b/src/deep/new.txt\n@@ -0,0 +1,2 @@\n+1\n+2\n");

    assert_eq!(stage.play([write("empty.txt", "")]), ["Created empty.txt: +0 -0 lines."]);
    assert_eq!(stage.workspace.read("empty.txt"), "");
    // A new file has exactly the bytes that the model wrote.
    stage.play([write("dos.bat", "\u{feff}a\r\nb\r\n")]);
    assert_eq!(stage.workspace.read("dos.bat"), "\u{feff}a\r\nb\r\n");
}

#[test]
fn n05_a_file_that_came_meanwhile_is_not_overwritten() {
    let stage = Stage::new(THREE);
    let run = stage.send([write("new.txt", "agent\n")]);
    let ask = stage.rig.await_ask();
    stage.workspace.write("new.txt", "another process\n");
    stage.rig.answer(&ask.ask_id, "allow");
    let outputs = stage.finish(&run);
    assert!(outputs[0].starts_with("The edit of new.txt was not applied: "), "{outputs:?}");
    assert_eq!(stage.workspace.read("new.txt"), "another process\n");
}

#[test]
fn n05_bytes_outside_the_hunk_stay_as_they_are() {
    let cases: [(&str, &str, &str, &str); 9] = [
        ("a\r\nb\r\nc\r\n", "b", "x\ny", "a\r\nx\r\ny\r\nc\r\n"),
        ("a\r\nb\nc\r\nd\n", "b", "x", "a\r\nx\nc\r\nd\n"),
        ("a\nb\r\nc\nd\r\n", "b", "x", "a\nx\r\nc\nd\r\n"),
        ("a\nb", "b", "c", "a\nc"),
        ("a\nb", "b", "b\nc\n", "a\nb\nc\n"),
        ("a\r\nb", "b", "c", "a\r\nc"),
        ("\u{feff}a\nb\n", "a", "x", "\u{feff}x\nb\n"),
        ("\u{feff}a\r\nb", "a", "x", "\u{feff}x\r\nb"),
        ("a\rb\rc\r", "b", "x", "a\rx\rc\r"),
    ];
    let stage = Stage::new("//- /keep.txt\n").answering("allow");
    for open in [false, true] {
        for (index, (before, old, new, after)) in cases.iter().enumerate() {
            let name = format!("{index}-{open}.txt");
            stage.workspace.write(&name, before);
            if open {
                stage.rig.open(&name);
            }
            let output = stage.edit(&name, old, new);
            assert!(output.starts_with("Edited "), "{before:?}: {output}");
            // The byte order mark is not part of the editor's text.
            assert_eq!(stage.rig.text_of(&name), after.trim_start_matches('\u{feff}'), "{before:?}");
            assert!(
                !output.contains("Something else in the file") && !output.contains("not saved"),
                "{before:?}: {output}"
            );
            assert_eq!(stage.workspace.read(&name), *after, "{before:?}");
        }
    }
}

#[test]
fn n05_a_rewritten_file_keeps_its_line_ends_and_mark() {
    let cases: [(&str, &str, &str); 6] = [
        ("a\r\nb\r\n", "a\nc\n", "a\r\nc\r\n"),
        ("\u{feff}a\nb\n", "a\nc\n", "\u{feff}a\nc\n"),
        ("\u{feff}a\r\nb\r\n", "\u{feff}a\r\nc\r\n", "\u{feff}a\r\nc\r\n"),
        ("a\r\nb\nc\r\nd\n", "a\nb\nc\nx\nd\n", "a\r\nb\nc\r\nx\nd\n"),
        ("a\nb", "a\nb\nc", "a\nb\nc"),
        ("a\rb\r", "a\nc\n", "a\rc\r"),
    ];
    let stage = Stage::new("//- /keep.txt\n").answering("allow");
    for (index, (before, content, after)) in cases.iter().enumerate() {
        let name = format!("{index}.txt");
        stage.workspace.write(&name, before);
        let outputs = stage.play([write(&name, content)]);
        assert!(outputs[0].starts_with("Edited "), "{before:?}: {outputs:?}");
        assert_eq!(stage.workspace.read(&name), *after, "{before:?} by {content:?}");
    }
}

#[test]
fn n07_positions_hold_in_every_encoding() {
    let text = "let s = \"😀 e\u{301} 👩‍👩‍👧 ß\"; // a𝄞b\nzwei 𝕏\n😀😀 drei\nvier\nfünf\nsechs 😀 ende";
    for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
        let workspace = Workspace::new("//- /keep.txt\n");
        workspace.write("ü 😀.txt", text);
        let stage = Stage::with(workspace, |options| {
            options.capabilities(Capabilities::full().with_encodings(&[encoding]))
        })
        .answering("allow");
        let name = "ü 😀.txt";
        stage.rig.open(name);
        stage.rig.type_at(name, Place::after("a𝄞"), "😀e\u{301}");
        stage.rig.type_at(name, Place::after("sechs 😀 "), "𝄞𝄞");
        stage.rig.replace(name, "👩‍👩‍👧", "👨‍👩‍👧‍👦");
        let outputs = stage.play([
            edit(name, "sechs 😀 𝄞𝄞ende", "sieben 🦀\nacht 𝄞"),
            edit(name, "let s", "let 𝒔"),
            Reply::call("read_file", json!({"path": name})),
        ]);
        let wanted = text
            .replace("let s", "let 𝒔")
            .replace("a𝄞", "a𝄞😀e\u{301}")
            .replace("👩‍👩‍👧", "👨‍👩‍👧‍👦")
            .replace("sechs 😀 ende", "sieben 🦀\nacht 𝄞");
        assert_eq!(stage.rig.text_of(name), wanted, "{}: {outputs:?}", encoding.name());
        assert_eq!(outputs[2], as_read(&wanted), "{}", encoding.name());
    }
}

#[test]
fn s55_a_quotation_is_found_by_a_ladder_that_never_guesses() {
    let text = "fn one() {\n    body();  \n}\n\nfn two() {\n    body();\n}\n\nsay(“hi”);\n";
    let stage = Stage::new("//- /keep.txt\n").answering("allow");
    stage.workspace.write("a.rs", text);
    let no_ask = |output: &str| assert!(stage.asks().is_empty(), "there is an ask: {output}");

    let output = stage.edit("a.rs", "body();", "other();");
    assert!(output.contains("occurs 2 times, on lines 2 and 6"), "{output}");
    assert!(output.contains("replace_all"), "{output}");
    no_ask(&output);
    let output = stage.edit("a.rs", "fn three() {\n    body();\n", "x");
    assert!(output.contains("is not in the file. The place most like it, on line"), "{output}");
    assert!(output.contains("body();") && output.contains("Nothing was changed"), "{output}");
    no_ask(&output);
    let output = stage.edit("a.rs", "nothing of the kind at all", "x");
    assert!(output.contains("is not in the file"), "{output}");
    let output = stage.edit("b.rs", "a", "b");
    assert!(output.contains("\"b.rs\" does not exist"), "{output}");
    no_ask(&output);
    assert_eq!(stage.workspace.read("a.rs"), text);
    assert!(stage.rig.applies().is_empty());

    // Trailing space, indentation, typography.
    let output = stage.edit("a.rs", "fn one() {\n    body();\n}\n", "fn one() {\n    first();\n}\n");
    assert!(output.starts_with("Edited "), "{output}");
    let output = stage.edit("a.rs", "fn two() {\nbody();\n}\n", "fn two() {\nsecond();\n}\n");
    assert!(!output.starts_with("Edited "), "one line of three has another indentation: {output}");
    let output = stage.edit("a.rs", "say(\"hi\");", "say(\"ho\");");
    assert!(output.starts_with("Edited "), "{output}");
    assert_eq!(
        stage.workspace.read("a.rs"),
        "fn one() {\n    first();\n}\n\nfn two() {\n    body();\n}\n\nsay(\"ho\");\n"
    );
    let output = stage.edit("a.rs", "say(\"hi\");", "say(\"ho\");");
    assert!(output.contains("this edit seems to have been made before"), "{output}");
    let output = stage.play([Reply::call(
        "edit_file",
        json!({"path": "a.rs", "old_text": "fn ", "new_text": "pub fn ", "replace_all": true}),
    )]);
    assert!(output[0].starts_with("Edited a.rs: +2 -2 lines"), "{output:?}");
}

#[test]
fn s53_a_rejected_edit_leaves_everything_alone_and_its_reason_reaches_the_model() {
    let stage = Stage::new(THREE);
    stage.rig.open("a.txt");
    let before = stage.rig.buffer("a.txt").unwrap();
    stage.rig.answer_next(Answer::OptionWithText("reject".to_owned(), "use roman numbers".to_owned()));
    stage.rig.answer_next(Answer::option("reject"));
    let outputs = stage.play([edit("a.txt", "two", "2"), edit("a.txt", "two", "II")]);
    assert_eq!(outputs, ["The user rejected this and says: use roman numbers", "The user rejected this."]);
    let after = stage.rig.buffer("a.txt").unwrap();
    assert_eq!((after.version, &after.text, after.dirty), (before.version, &before.text, false));
    assert_eq!(stage.workspace.read("a.txt"), "one\ntwo\nthree\n");
    assert!(stage.rig.applies().is_empty());
    assert_eq!(states(&stage.change_set()), [HunkState::Rejected]);
}

#[test]
fn s54_an_ask_shows_the_whole_change() {
    let lines: Vec<String> = (0..400).map(|line| format!("line {line:03} {}\n", "x".repeat(80))).collect();
    let stage = Stage::new("//- /keep.txt\n").answering("reject");
    stage.workspace.write("long.txt", &lines.concat());
    let new: Vec<String> = (0..400).map(|line| format!("neue {line:03} \u{202e}\n")).collect();
    let content: String = lines[..3].iter().chain(&new[3..390]).chain(&lines[390..]).cloned().collect();
    stage.play([write("long.txt", &content)]);
    let ask = stage.asks().remove(0);
    assert_eq!((ask.kind, ask.title.as_str()), (AskKind::Tool, "Edit long.txt"));
    let Some(AskSubject::Edit(EditedFile { diff, path, uri, new_file, .. })) = ask.subject else {
        panic!("{:?}", ask.subject)
    };
    assert_eq!((path.as_str(), new_file), ("long.txt", false));
    assert_eq!(uri, stage.workspace.uri("long.txt"));
    for (old, new) in lines[3..390].iter().zip(&new[3..390]) {
        assert!(diff.contains(&format!("-{old}")) && diff.contains(&format!("+{new}")), "{old} and {new}");
    }
    let header = "--- a/long.txt\n+++ b/long.txt\n@@ -1,393 +1,393 @@\n";
    assert!(diff.starts_with(header), "{}", &diff[..80]);
    let ids: Vec<&str> = ask.options.iter().map(|option| option.option_id.as_str()).collect();
    assert_eq!(ids, ["allow", "allow_always", "reject"]);
}

#[test]
fn s52_always_means_the_edits_of_this_session() {
    let stage = Stage::new(THREE);
    stage.workspace.write("b.txt", "b\n");
    stage.rig.answer_next(Answer::option("allow_always"));
    let outputs = stage.play([edit("a.txt", "two", "2"), edit("b.txt", "b", "c"), write("c.txt", "new\n")]);
    assert!(
        outputs.iter().all(|output| output.starts_with("Edited ") || output.starts_with("Created ")),
        "{outputs:?}"
    );
    assert_eq!(stage.asks().len(), 1);
    assert!(stage.rig.update_kinds().contains(&"_rule"));
    let other = Stage { session: stage.rig.new_session(), ..stage };
    let run = other.send([edit("a.txt", "2", "two")]);
    let ask = other.rig.await_ask();
    assert_eq!(ask.session_id, other.session, "another session asks again");
    other.rig.answer(&ask.ask_id, "reject");
    other.finish(&run);
    assert_eq!(other.workspace.read("a.txt"), "one\n2\nthree\n");
}

#[test]
fn n05_a_file_that_a_client_without_edits_has_closed_is_replaced_whole() {
    let stage = bare(true).answering("allow");
    let path = stage.workspace.path().join("a.txt");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    assert_eq!(stage.edit("a.txt", "two", "2"), "Edited a.txt: +1 -1 lines.");
    assert_eq!(stage.workspace.read("a.txt"), "one\n2\nthree\n");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);
    assert_eq!(stage.play([write("new.txt", "1\n")]), ["Created new.txt: +1 -0 lines."]);
    let mut names: Vec<_> =
        fs::read_dir(stage.workspace.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["a.txt", "new.txt"], "no other file is left in the folder");

    // The approved hunk is located in the current file, and shown again if it replaces no line of its own.
    let stage = bare(true);
    let run = stage.send([edit("a.txt", "two", "two\n2")]);
    let ask = stage.rig.await_ask();
    stage.workspace.write("a.txt", "ONE\ntwo\nthree\n");
    stage.rig.answer(&ask.ask_id, "allow");
    let ask = stage.rig.await_ask();
    assert!(json!(ask.subject)["diff"].as_str().unwrap().contains(" ONE\n two\n+2\n three\n"), "{ask:?}");
    stage.rig.answer(&ask.ask_id, "reject");
    assert_eq!(stage.finish(&run), ["The user rejected this."]);
    assert_eq!(stage.workspace.read("a.txt"), "ONE\ntwo\nthree\n");
    let run = stage.send([edit("a.txt", "two", "2")]);
    let ask = stage.rig.await_ask();
    // The file gets a second name while the question is open; the next edit finds it already there.
    fs::hard_link(stage.workspace.path().join("a.txt"), stage.workspace.path().join("twin.txt")).unwrap();
    stage.rig.answer(&ask.ask_id, "allow");
    let outputs = stage.finish(&run);
    assert!(outputs[0].contains("other names (hard links) since it was shown"), "{outputs:?}");
    let output = stage.edit("a.txt", "two", "2");
    assert!(output.starts_with("Denied: ") && output.contains("other names (hard links)"), "{output:?}");
    assert_eq!(stage.workspace.read("twin.txt"), "ONE\ntwo\nthree\n");
}

#[test]
fn n05_a_file_that_may_be_open_is_never_written_behind_the_editor() {
    for complete in [false, true] {
        let stage = bare(complete).answering("allow");
        stage.rig.open("a.txt");
        stage.rig.type_at("a.txt", Place::End, "mine\n");
        // The edit is sent although the client announced no support: many clients accept it.
        let output = stage.edit("a.txt", "two", "2");
        assert_eq!(output, "Edited a.txt: +1 -1 lines. The file is open in the editor and not saved yet.");
        assert_eq!(stage.workspace.read("a.txt"), "one\ntwo\nthree\n");
        assert_eq!(stage.rig.text_of("a.txt"), "one\n2\nthree\nmine\n");
    }
}

#[test]
fn n05_a_file_that_may_be_open_unannounced_is_written_after_the_user_was_told_to_save_it() {
    let stage = bare(false);
    let warning = "if this file is open with unsaved changes, save it first";
    // No standing answer covers this case: the user has to check each time.
    for (old, new) in [("two", "2"), ("2", "II")] {
        let run = stage.send([edit("a.txt", old, new)]);
        let ask = stage.rig.await_ask();
        assert!(ask.description.as_deref().unwrap().contains(warning), "{ask:?}");
        stage.rig.answer(&ask.ask_id, "allow_always");
        assert_eq!(stage.finish(&run), ["Edited a.txt: +1 -1 lines."]);
    }
    assert_eq!(stage.workspace.read("a.txt"), "one\nII\nthree\n");
    // A new file cannot be open.
    assert_eq!(stage.play([write("new.txt", "1\n")]), ["Created new.txt: +1 -0 lines."]);
    assert_eq!(stage.asks().len(), 2, "the standing answer covers a new file");
    // Another process writes the file meanwhile, so the approval is void.
    let run = stage.send([edit("a.txt", "II", "II\n2")]);
    let ask = stage.rig.await_ask();
    stage.workspace.write("a.txt", "ONE\nII\nthree\n");
    stage.rig.answer(&ask.ask_id, "allow");
    let ask = stage.rig.await_ask();
    let why = ask.description.unwrap();
    assert!(why.contains("the edit as it would be made now") && why.contains(warning), "{why}");
    stage.rig.answer(&ask.ask_id, "allow");
    stage.finish(&run);
    assert_eq!(stage.workspace.read("a.txt"), "ONE\nII\n2\nthree\n");
}

/// Returns a stage with a client that announces no edits. `complete`: whether it announces every open document.
fn bare(complete: bool) -> Stage {
    Stage::with(Workspace::new(THREE), |options| {
        let mut can = Capabilities { apply_edit: false, file_operations: false, ..Capabilities::full() };
        if let Some(agent) = &mut can.agent {
            agent.documents.complete = complete;
        }
        options.capabilities(can)
    })
}

#[test]
fn n07_a_document_whose_text_is_not_known_is_neither_read_nor_edited() {
    let stage = Stage::new(THREE).answering("allow");
    stage.rig.open("a.txt");
    let uri = stage.workspace.uri("a.txt");
    // The version goes back, so a change in between is unknown.
    let change = json!({"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}, "text": "x"});
    stage.rig.notify(
        "textDocument/didChange",
        json!({"textDocument": {"uri": uri, "version": 0}, "contentChanges": [change]}),
    );
    let why = "version 0 came after version 1";
    let outputs = stage.play([
        Reply::call("read_file", json!({"path": "a.txt"})),
        edit("a.txt", "two", "2"),
        write("a.txt", "all new\n"),
        Reply::call("search_text", json!({"pattern": "three"})),
    ]);
    assert!(outputs.iter().all(|output| output.contains(why)), "{outputs:#?}");
    assert!(outputs[3].contains("[not searched: a.txt"), "{outputs:#?}");
    assert!(stage.rig.applies().is_empty() && stage.asks().is_empty());
    assert_eq!(stage.rig.text_of("a.txt"), "one\ntwo\nthree\n");

    stage.rig.edit(|buffers| buffers.tell_again("a.txt"));
    assert!(stage.edit("a.txt", "two", "2").starts_with("Edited "));
    assert_eq!(stage.rig.text_of("a.txt"), "one\n2\nthree\n");
}

#[test]
fn n05_an_edit_too_large_to_review_is_refused_before_anybody_is_asked() {
    let stage = Stage::new(THREE).answering("allow");
    let outputs = stage.play([write("big.txt", &"0\n".repeat(500_001))]);
    assert!(outputs[0].contains("split it"), "{outputs:?}");
    assert!(!stage.workspace.exists("big.txt") && stage.asks().is_empty());
    stage.workspace.write("dir/x", "");
    let mut bytes = b"caf\xe9\n".to_vec();
    fs::write(stage.workspace.path().join("latin.txt"), &bytes).unwrap();
    let outputs = stage.play([
        edit("dir", "x", "y"),
        edit("latin.txt", "caf", "tea"),
        write("latin.txt", "tea\n"),
        edit("a.txt", "two", "two "),
        write("a.txt", "one\ntwo \nthree\n"),
    ]);
    assert!(outputs[0].contains("is a directory"), "{outputs:?}");
    assert!(outputs[1].contains("not UTF-8") && outputs[2].contains("not UTF-8"), "{outputs:?}");
    assert!(outputs[3].starts_with("Edited "), "{outputs:?}");
    assert!(outputs[4].contains("has this content already"), "{outputs:?}");
    bytes.clear();
    fs::File::open(stage.workspace.path().join("latin.txt"))
        .and_then(|mut file| std::io::Read::read_to_end(&mut file, &mut bytes))
        .unwrap();
    assert_eq!(bytes, b"caf\xe9\n");
}

#[test]
fn s54_a_diff_is_of_what_is_applied_when_several_calls_come_at_once() {
    let stage = Stage::new(THREE).answering("allow");
    stage.rig.open("a.txt");
    let arguments = |old: &str, new: &str| json!({"path": "a.txt", "old_text": old, "new_text": new});
    let reply = Reply::call("edit_file", arguments("one", "1"))
        .and_call("edit_file", arguments("two", "2"))
        .and_call("edit_file", arguments("1", "I"));
    let outputs = stage.play([reply]);
    assert_eq!(outputs.len(), 3);
    assert!(outputs.iter().all(|output| output.starts_with("Edited ")), "{outputs:?}");
    assert_eq!(stage.rig.text_of("a.txt"), "I\n2\nthree\n");
    let asks = stage.asks();
    let [ask] = asks.as_slice() else { panic!("one ask is for all: {asks:?}") };
    let Some(AskSubject::Edit(EditedFile { diff, .. })) = &ask.subject else { panic!("{ask:?}") };
    assert!(diff.contains("-one\n-two\n+I\n+2\n three\n"), "{diff}");
    assert_eq!(ask.tool_call_ids.len(), 3);
    let undo = stage.rig.applies();
    assert_eq!(undo.len(), 1, "one edit of the text: {undo:?}");
}

/// Edits of several files, open and closed, are one question and one decision.
#[test]
fn one_answer_is_for_all_files_of_a_turn() {
    let stage = Stage::new("//- /a.txt\none\ntwo\n//- /b.txt\nthree\n//- /c/d.txt\nfour\n");
    stage.rig.open("b.txt");
    let arguments =
        |path: &str, old: &str, new: &str| json!({"path": path, "old_text": old, "new_text": new});
    let reply = Reply::call("edit_file", arguments("a.txt", "two", "2"))
        .and_call("edit_file", arguments("b.txt", "three", "3"))
        .and_call("edit_file", arguments("missing.txt", "x", "y"))
        .and_call("write_file", json!({"path": "e.txt", "content": "new\n"}))
        .and_call("edit_file", arguments("a.txt", "one", "1"))
        .and_call("edit_file", arguments("e.txt", "new", "newer"));
    let stage = stage.answering("allow");
    let outputs = stage.play([reply]);
    assert_eq!(
        outputs,
        [
            "Edited a.txt: +2 -2 lines, with other edits of this turn.",
            "Edited b.txt: +1 -1 lines.",
            "\"missing.txt\" does not exist; write_file creates it",
            "Created e.txt: +1 -0 lines, with other edits of this turn.",
            "Edited a.txt: +2 -2 lines, with other edits of this turn.",
            "Edited e.txt: +1 -0 lines, with other edits of this turn.",
        ]
    );
    let asks = stage.asks();
    let [ask] = asks.as_slice() else { panic!("one ask is for all: {asks:?}") };
    assert_eq!(ask.title, "Edit 3 files: a.txt, b.txt, e.txt");
    let Some(AskSubject::Edits { files }) = &ask.subject else { panic!("{ask:?}") };
    let names: Vec<(&str, bool)> = files.iter().map(|file| (file.path.as_str(), file.new_file)).collect();
    assert_eq!(names, [("a.txt", false), ("b.txt", false), ("e.txt", true)]);
    assert_eq!(stage.workspace.read("a.txt"), "1\n2\n");
    assert_eq!(stage.rig.text_of("b.txt"), "3\n");
    assert_eq!(stage.workspace.read("e.txt"), "newer\n");
}
