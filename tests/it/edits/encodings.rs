//! The same texts in every position encoding: reads, typing and edits mean the same characters (N07).
//!
//! Never compares positions, only texts.

use adjutant_testkit::editor::{Capabilities, Encoding, Place};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::Reply;
use serde_json::json;

use super::super::stage::{Stage, as_read, edit, write};

fn stage(encoding: Encoding) -> Stage {
    let can = Capabilities::full().with_encodings(&[encoding]);
    Stage::with(Workspace::new("//- /keep.txt\n"), |options| options.capabilities(can)).answering("allow")
}

fn read(path: &str) -> Reply {
    Reply::call("read_file", json!({"path": path}))
}

#[test]
fn n07_odd_texts_read_and_edited_alike_in_three_encodings() {
    // The text, the place after which the user types, the typed text, and the edit.
    let cases: [(&str, &str, &str, (&str, &str)); 7] = [
        ("", "", "𝄞x", ("𝄞x", "𝄞y")),
        ("no end", "no", "😀", ("end", "𝕖nd")),
        ("a\r\nb😀\r\nc", "b😀", "e\u{301}", ("c", "ç")),
        ("a\rb\r", "a", "🦀", ("b", "B")),
        ("\u{feff}mark\n", "mark", "👩‍👩‍👧", ("mark", "Mark")),
        ("e\u{301}e\u{301}\nש̂\n", "e\u{301}e\u{301}", "n\u{303}", ("ש̂", "𝔰")),
        ("mixed\nends\r\nhere 𝒳", "here ", "😀\r\n", ("ends", "𝔈nds")),
    ];
    for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
        let stage = stage(encoding);
        for (index, (text, after, typed, (old, new))) in cases.iter().enumerate() {
            let name = format!("{index}.txt");
            stage.workspace.write(&name, text);
            stage.rig.open(&name);
            let place = if after.is_empty() { Place::Start } else { Place::after(after) };
            stage.rig.type_at(&name, place, typed);
            let buffer = stage.rig.text_of(&name);
            let outputs = stage.play([read(&name), edit(&name, old, new), read(&name)]);
            let label = format!("{} {index}: {outputs:?}", encoding.name());
            assert_eq!(outputs[0], as_read(&buffer), "{label}");
            assert!(outputs[1].starts_with("Edited "), "{label}");
            let wanted = buffer.replacen(old, new, 1);
            assert_eq!(stage.rig.text_of(&name), wanted, "{label}");
            assert_eq!(outputs[2], as_read(&wanted), "{label}");
            assert_eq!(stage.workspace.read(&name), *text, "{label}");
        }
    }
}

#[test]
fn n07_an_empty_document_is_filled_and_emptied_in_three_encodings() {
    for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
        let stage = stage(encoding);
        stage.workspace.write("a.txt", "");
        stage.rig.open("a.txt");
        let outputs = stage.play([write("a.txt", "😀\n𝄞"), read("a.txt"), write("a.txt", ""), read("a.txt")]);
        assert_eq!(outputs[1], as_read("😀\n𝄞"), "{outputs:?}");
        assert!(outputs[3].contains("the file is empty"), "{outputs:?}");
        assert_eq!(stage.rig.text_of("a.txt"), "");
    }
}

#[test]
fn n07_a_document_without_a_file_yet_is_read_by_its_name_and_one_without_a_name_is_refused() {
    let stage = stage(Encoding::Utf16);
    let uri = stage.workspace.uri("new.txt");
    let open = |uri: &str| json!({"textDocument": {"uri": uri, "languageId": "plaintext", "version": 1, "text": "never saved\n"}});
    stage.rig.notify("textDocument/didOpen", open(&uri));
    stage.rig.notify("textDocument/didOpen", open("untitled:Untitled-1"));
    let outputs =
        stage.play([read("new.txt"), read("untitled:Untitled-1"), write("untitled:Untitled-1", "x")]);
    assert_eq!(outputs[0], as_read("never saved\n"));
    assert!(
        outputs[1..].iter().all(|output| output.contains("has no file") && output.contains("save it")),
        "{outputs:?}"
    );
    assert!(stage.rig.applies().is_empty() && stage.asks().is_empty());
}
