//! The form of a patch and the places of its hunks by example, and properties of any text. The corpus of patches is
//! `tests/corpus/patches.jsonl`.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::text::locate::replace;
use crate::text::position::tests::odd_text;
use crate::text::review::hunks as hunks_of;

/// Compares the text after the hunks of one file, or what the model reads.
fn check(text: &str, hunks: &str, expected: Expect) {
    match updated(text, hunks) {
        Ok(text) => expected.assert_eq(&format!("{text:?}")),
        Err(failure) => expected.assert_eq(&failure.to_string()),
    }
}

/// Compares why a patch is refused.
fn refused(patch: &str, expected: Expect) {
    match parse(patch) {
        Ok(files) => panic!("{patch:?} is accepted as {files:?}"),
        Err(bad) => expected.assert_eq(&bad.to_string()),
    }
}

#[test]
fn n24_a_patch_names_files_to_change_add_move_and_delete() {
    let patch = "\n*** Begin Patch \n*** Update File: a.rs\n*** Move to: b.rs\n@@ fn a() {\n-x\n+y\n\n*** Add File: c d.txt\n+one\n+\n\
                 *** Delete File: e\n*** Update File: f\n-1\n+2\n*** End of File\n*** End Patch\n\n";
    let files = parse(patch).unwrap();
    let update = |path, to, hunks| FilePatch { path, act: PatchAct::Update { to, hunks } };
    assert_eq!(
        files,
        [
            update("a.rs", Some("b.rs"), "@@ fn a() {\n-x\n+y\n\n"),
            FilePatch { path: "c d.txt", act: PatchAct::Add { text: "one\n\n".to_owned() } },
            FilePatch { path: "e", act: PatchAct::Delete },
            update("f", None, "-1\n+2\n*** End of File\n"),
        ]
    );
    let files = files_of(patch);
    assert_eq!(files.names, ["a.rs", "b.rs", "c d.txt", "e", "f"]);
    assert!(files.operates);
}

#[test]
fn n24_a_bad_patch_is_refused_with_its_line_and_what_it_should_be() {
    refused(
        "",
        expect![
            "the patch is not in the right form: line 0: a patch begins with the line `*** Begin Patch`. Nothing was changed"
        ],
    );
    refused(
        "*** Begin Patch\n*** Delete File: a\n",
        expect![
            "the patch is not in the right form: line 2: it has no line `*** End Patch`, so it may be cut off. Nothing was changed"
        ],
    );
    refused(
        "*** Begin Patch\n*** Update File: a\n@@\nlost\n*** End Patch",
        expect![
            "the patch is not in the right form: line 4: each line of a hunk begins with a space, `-` or `+`; this one is `lost`. Nothing was changed"
        ],
    );
    refused(
        "*** Begin Patch\n*** Rename File: a\n*** End Patch",
        expect![
            "the patch is not in the right form: line 2: `*** Rename File: a` is no line between two files; expected `*** Update File: PATH`, `*** Add File: PATH`, `*** Delete File: PATH` or `*** End Patch`. Nothing was changed"
        ],
    );
    refused(
        "*** Begin Patch\n*** Update File: a\n@@ fn x\n*** End Patch",
        expect![
            "the patch is not in the right form: line 3: a hunk has a `@@` line and no lines after it. Nothing was changed"
        ],
    );
    refused(
        &format!("*** Begin Patch\n{}*** End Patch", "*** Delete File: a\n".repeat(65)),
        expect![
            "the patch is not in the right form: line 66: it has more than 64 files; make several calls. Nothing was changed"
        ],
    );
}

const TWICE: &str =
    "class A:\n    def f(self):\n        return 1\n\nclass B:\n    def f(self):\n        return 1\n";

#[test]
fn n24_a_head_says_which_of_several_places_is_meant_and_without_one_nothing_is_guessed() {
    let hunk = "-        return 1\n+        return 2\n";
    check(
        TWICE,
        hunk,
        expect![
            "the lines of hunk 1 are in the file several times: at lines 3, 7. Give more lines around the place you mean, or name the class or function before it in a `@@` line."
        ],
    );
    let second = expect![[
        r#""class A:\n    def f(self):\n        return 1\n\nclass B:\n    def f(self):\n        return 2\n""#
    ]];
    check(TWICE, &format!("@@ class B:\n{hunk}"), second);
    let first = expect![[
        r#""class A:\n    def f(self):\n        return 2\n\nclass B:\n    def f(self):\n        return 1\n""#
    ]];
    check(TWICE, &format!("@@ class A\n@@ def f(self):\n{hunk}"), first);
    check(
        TWICE,
        &format!("@@ def f(self):\n{hunk}"),
        expect![
            "the lines of hunk 1 are in the file several times: at lines 3, 7. Give more lines around the place you mean, or name the class or function before it in a `@@` line."
        ],
    );
    // The order of the hunks says it, too.
    let ordered =
        " class B:\n-    def f(self):\n+    def g(self):\n@@\n-        return 1\n+        return 3\n";
    check(
        TWICE,
        ordered,
        expect![[
            r#""class A:\n    def f(self):\n        return 1\n\nclass B:\n    def g(self):\n        return 3\n""#
        ]],
    );
}

#[test]
fn n24_lines_are_whole_and_keep_the_ends_and_the_indentation_of_the_file() {
    // `b` in the middle of a line is no line.
    check(
        "a b\n",
        "-b\n+c\n",
        expect![
            "the lines of hunk 1 are not in the file, nor anything much like them. Read the file again and copy its lines exactly."
        ],
    );
    check(
        "let ab = 1;\n",
        "-let ab = 2;\n+c\n",
        expect![[r#"
        the lines of hunk 1 are not in the file. The place most like them, on line 1:
            1| let ab = 1;
        Read the file again there and copy its lines exactly."#]],
    );
    check("a\r\nb\r\nc\r\n", " a\n-b\n+x\n+y\n c\n", expect![[r#""a\r\nx\r\ny\r\nc\r\n""#]]);
    check("\u{feff}a\nb", "-a\n+x\n b\n", expect![[r#""\u{feff}x\nb""#]]);
    check("  f(a)\n  g(b)\n", "-f(a)\n+h(a)\n g(b)\n", expect![[r#""  h(a)\n  g(b)\n""#]]);
    check(
        "say \u{201c}hi\u{201d} \u{2014} now  \nend\n",
        " say \"hi\" - now\n-end\n+stop\n",
        expect![[r#""say “hi” — now  \nstop\n""#]],
    );
}

#[test]
fn n24_lines_without_old_ones_are_added_after_their_head_or_at_the_end() {
    check("a {\n}\n", "@@ a {\n+  b\n", expect![[r#""a {\n  b\n}\n""#]]);
    check("a", "+b\n", expect![[r#""a\nb""#]]);
    check("", "+b\n", expect![[r#""b\n""#]]);
    check(
        "a\n",
        "@@ nowhere\n+b\n",
        expect![[
            "hunk 1 only adds lines, and the file does not have the line \"nowhere\" of its `@@`. Give a line of the file before or after what is added."
        ]],
    );
    check("x\ny\nx\ny\n\n", " x\n-y\n+z\n*** End of File\n", expect![[r#""x\ny\nx\nz\n\n""#]]);
    check(
        "a\nb\n",
        "-a\n+b\n-b\n+a\n@@\n-b\n+c\n",
        expect!["hunk 2 changes lines that another hunk changes. Join the two."],
    );
    check(
        "a new line\n",
        "-an old line\n+a new line\n",
        expect![
            "the old lines of hunk 1 are not in the file, but its new lines are, on line 1: it seems to have been applied before. Read the file again before the next edit."
        ],
    );
}

#[test]
fn n24_the_same_task_by_both_shapes_gives_the_same_hunks() {
    let text = "fn a() {\n    one();\n    two();\n}\n\nfn b() {\n    two();\n}\n";
    let by_patch = updated(text, "@@ fn b() {\n-    two();\n+    three();\n").unwrap();
    let by_quote = replace(text, "fn b() {\n    two();\n", "fn b() {\n    three();\n", false).unwrap();
    assert_eq!(hunks_of(text, &by_patch), hunks_of(text, &by_quote));
    assert_eq!(hunks_of(text, &by_patch).len(), 1);
}

proptest! {
    #[test]
    fn n24_no_text_breaks_the_parser_or_the_locator(text in odd_text(40), patch in "(\\*\\*\\* [A-Z][a-z ]*: a\n|@@ ?[a-c]*\n|[ +-][a-c]{0,2}\r?\n|\n|\\*\\*\\* End of File\n){0,12}") {
        let _ = updated(&text, &patch);
        let _ = updated(&patch, &patch);
        let whole = format!("*** Begin Patch\n*** Update File: a\n{patch}*** End Patch\n");
        if let Ok(files) = parse(&whole) {
            prop_assert!(!files.is_empty());
        }
        let _ = parse(&text);
    }

    #[test]
    fn n24_a_patch_of_whole_lines_does_what_a_quotation_does(lines in proptest::collection::vec("[a-z]{1,3}", 2..12), at in 0usize..12) {
        let at = at % lines.len();
        let text = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let old = &lines[at];
        let patch = format!("-{old}\n+NEW\n");
        let count = lines.iter().filter(|line| *line == old).count();
        match updated(&text, &patch) {
            Ok(after) => {
                prop_assert_eq!(count, 1);
                let mut wanted = lines.clone();
                wanted[at] = "NEW".to_owned();
                prop_assert_eq!(after, wanted.iter().map(|line| format!("{line}\n")).collect::<String>());
            }
            Err(why) => prop_assert!(count > 1, "{}", why),
        }
    }
}
