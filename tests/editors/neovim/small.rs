//! Scenes in Neovim about small things that users see: the ends of tasks and of questions, and texts that are not taken.
//!
//! Never looks into the server.

use adjutant_testkit::model::Reply;
use serde_json::json;

use super::conversation::{go, text, wait_below, wait_done};
use super::scenes::{chat, each, notices, press};
use super::terminal::{command, key_of, open_sized, read};
use super::{Neovim, VERSIONS, changes};
use crate::editor::Editor;
use crate::scenes;
use crate::stage::{Stage, wait_for};

/// A question about a file of four lines is whole in the smallest usual terminal.
#[test]
fn s15_at_80_by_24_a_question_about_a_small_file_is_whole() {
    for version in VERSIONS {
        let text = format!("//- /{}\n{}# The end.\n", scenes::FILE, scenes::BEFORE);
        let stage = Stage::new(&text, [scenes::edit().hold_after(300), Reply::text("It is mended.")]);
        let screen = open_sized(&stage, version, ("80", "24"));
        command(&screen, ":Adjutant Mend the greeting");
        stage.model.wait_for_holding(1);
        stage.model.release();
        screen.wait("? Edit greet.py");
        command(&screen, ":Adjutant answer");
        let asked = screen.wait("q later");
        assert!(!asked.contains("scroll for more") && asked.contains("Yes, once"), "{asked}");
        // The whole in a tab says how to come back.
        screen.keys(&["s"]);
        screen.wait("q goes back to the question");
        screen.keys(&["q"]);
        let asked = screen.wait("q later");
        read();
        screen.keys(&[&key_of(&asked, "Reject")]);
        screen.wait("done");
    }
}

/// The chat took the rows in which the change would have been: title, reason and answers, but no line of the diff.
#[test]
fn s15_at_80_by_24_a_question_shows_the_first_changed_lines_at_once() {
    let lines = |word: &str| (1..=20).map(|line| format!("{word} = {line}\n")).collect::<String>();
    let before = "def greet(): pass\n# One.\n# Two.\n# Three.\n";
    for (version, chat) in VERSIONS.into_iter().flat_map(|version| [(version, true), (version, false)]) {
        let arguments = json!({"path": scenes::FILE, "old_text": lines("old"), "new_text": lines("new")});
        let edit = Reply::text("I rename all of them.").and_call("edit_file", arguments);
        let text = format!("//- /{}\n{before}{}", scenes::FILE, lines("old"));
        let stage = Stage::new(&text, [edit, Reply::text("It is renamed.")]);
        let screen = open_sized(&stage, version, ("80", "24"));
        command(&screen, ":Adjutant Rename them");
        if chat {
            command(&screen, ":Adjutant chat");
            screen.wait("I rename all of them.");
        }
        screen.wait("? Edit greet.py");
        command(&screen, ":Adjutant answer");
        let asked = screen.wait("q later");
        let title = if chat { "╭ Adjutant asks: Edit greet.py ─" } else { "│Edit greet.py " };
        let parts = [
            title,
            "every edit asks until you allow edits for this session",
            "@@ -2,",
            "-old = 1 ",
            "-old = 2 ",
            "1  Reject",
            "-  Yes, once: first look at the other ",
        ];
        for part in parts {
            assert!(asked.contains(part), "{version}, {part:?} in\n{asked}");
        }
        assert!(!chat || asked.contains("I rename all of them."), "{asked}");
        // What is left out at the head holds no answer up, and the text stays as it is while one reads.
        screen.keys(&["C-f"; 20]);
        let seen = screen.wait_until("all of it seen", |text| !text.contains("first look at"));
        assert!(seen.contains(if chat { title } else { "╭ Adjutant asks ─" }), "{seen}");
        read();
        screen.keys(&[&key_of(&seen, "Yes, once")]);
        wait_for("the edit", || stage.workspace.read(scenes::FILE).contains("new = 20").then_some(()));
    }
}

#[test]
fn s15_at_80_by_24_a_question_about_a_new_file_shows_its_first_lines_at_once() {
    for version in VERSIONS {
        let content: String = (1..=20).map(|line| format!("line {line}\n")).collect();
        let call = Reply::call("write_file", json!({"path": "new.txt", "content": content}));
        let stage = scenes::stage([call, Reply::text("It is there.")]);
        let screen = open_sized(&stage, version, ("80", "24"));
        command(&screen, ":Adjutant Write it");
        command(&screen, ":Adjutant chat");
        screen.wait("? Create new.txt");
        command(&screen, ":Adjutant answer");
        let asked = screen.wait("q later");
        for part in
            ["╭ Adjutant asks: Create new.txt ─", "@@ -0,0 +1,20 @@", "+line 1 ", "+line 5 ", "1  Reject"]
        {
            assert!(asked.contains(part), "{version}, {part:?} in\n{asked}");
        }
        screen.keys(&["C-f"; 20]);
        let seen = screen.wait_until("all of it seen", |text| !text.contains("first look at"));
        read();
        screen.keys(&[&key_of(&seen, "Yes, once")]);
        let path = stage.workspace.path().join("new.txt");
        wait_for("the file", || (std::fs::read_to_string(&path).ok()? == content).then_some(()));
    }
}

#[test]
fn s28_a_task_that_no_model_takes_is_kept_in_the_prompt() {
    let bare = || {
        let stage = scenes::stage([Reply::text("First words.")]);
        stage.workspace.config("# Mine.\n");
        stage
    };
    each(bare, |editor| {
        editor.lua("vim.cmd('Adjutant Say hello, and\tmore')");
        wait_for("the notice", || {
            notices(editor).contains("The text is kept: :Adjutant prompt").then_some(())
        });
        assert_eq!(editor.lua("return #vim.tbl_filter(function(window) return vim.api.nvim_win_get_config(window).relative == '' end, vim.api.nvim_list_wins())"), 1, "nothing opens by itself");
        editor.lua("vim.cmd('Adjutant Say goodbye')");
        go(editor);
        wait_for("both texts", || (text(editor) == "Say hello, and\tmore\n\nSay goodbye").then_some(()));
        let settings = "the settings";
        editor.stage.workspace.openai(&editor.stage.model.base_url());
        wait_for(settings, || {
            press(editor, "<CR>");
            (text(editor).is_empty()).then_some(())
        });
        wait_done(editor, "First words.");
        let request = editor.stage.model.wait_for_requests(1)[0].json().to_string();
        assert!(request.contains("Say goodbye"), "{request}");
    });
}

/// Without the program nothing can be sent, and the cure is to start Neovim again.
#[test]
fn p26_a_text_that_was_not_sent_is_there_in_the_next_neovim_until_it_is_sent() {
    for version in VERSIONS {
        let stage = scenes::stage([Reply::text("First words.")]);
        let open = || Neovim::open(&stage, version, scenes::FILE);
        let words = "Say hello\n\nand more";
        let first = open();
        go(&first);
        first.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'Say hello', '', 'and more' })");
        drop(first);
        let second = open();
        go(&second);
        assert_eq!(text(&second), words, "{version}");
        press(&second, "<CR>");
        wait_done(&second, "First words.");
        drop(second);
        let third = open();
        third.lua("vim.cmd('Adjutant! ')");
        go(&third);
        assert_eq!(text(&third), "", "{version}");
    }
}

/// A task that the model ends by its tool says its summary once, whether or not the model has said the same before.
#[test]
fn s105_the_chat_says_the_end_of_a_task_once() {
    let ends = || {
        let end = |summary: &str| ("task_complete", json!({ "summary": summary }));
        let (same, other) = (end("It is mended."), end("All of it is mended."));
        scenes::stage([Reply::text("It is mended.").and_call(same.0, same.1), Reply::call(other.0, other.1)])
    };
    each(ends, |editor| {
        editor.command("Look");
        wait_done(editor, "It is mended.");
        assert_eq!(chat(editor), "# Look\n\nIt is mended.\n\n— done");
        editor.command("Look again");
        wait_done(editor, "All of it is mended.");
        assert_eq!(chat(editor), "# Look again\n\nAll of it is mended.\n\n— done");
    });
}

#[test]
fn s15_a_question_that_is_rejected_says_so() {
    each(scenes::one_edit, |editor| {
        editor.command("Mend the greeting");
        editor.stage.model.wait_for_holding(1);
        editor.stage.model.release();
        editor.wait_asked("Edit greet.py");
        editor.choose("Reject");
        changes::wait_told(editor, "Adjutant: rejected: Edit greet.py");
        editor.wait_end("done");
    });
}

#[test]
fn p02_the_whole_of_a_change_says_how_to_leave_it() {
    each(changes::three, |editor| {
        changes::run(editor);
        changes::wait_drawn(editor, &changes::all_three(""));
        press(editor, "gg");
        editor.lua("vim.cmd('Adjutant show')");
        editor.wait_true(
            "the tab",
            "return vim.fn.tabpagenr('$') == 2 and vim.wo.winbar == 'q closes this tab'",
        );
        press(editor, "q");
        editor.wait_true("the file", "return vim.fn.tabpagenr('$') == 1 and vim.wo.winbar == ''");
    });
}

/// A line `@image:PATH` of the prompt is sent as an image; one that names none keeps the text.
#[test]
fn s85_an_image_is_named_in_the_prompt() {
    let sees = || {
        let stage = scenes::stage([Reply::text("First words."), Reply::text("Second words.")]);
        stage.workspace.openai(&stage.model.base_url()).add_config("images = true\n");
        let bytes = [b"\x89PNG\r\n\x1a\n".as_slice(), &[7; 40]].concat();
        std::fs::write(stage.workspace.path().join("a shot.png"), bytes).expect("write the image");
        stage
    };
    each(sees, |editor| {
        go(editor);
        press(editor, "ccWhat is this?<CR>@image:greet.py<Esc><CR>");
        wait_below(editor, "Not sent: greet.py is no PNG, JPEG, GIF or WebP image");
        assert_eq!(text(editor), "What is this?\n@image:greet.py", "nothing is lost");
        press(editor, "cc@image:none.png<Esc><CR>");
        wait_below(editor, "Not sent: there is no image none.png");
        for (number, answer) in [(1, "First words."), (2, "Second words.")] {
            press(editor, "ggcGWhat is this?<CR>@image:a shot.png<Esc><CR>");
            wait_done(editor, answer);
            assert_eq!(text(editor), "");
            let request = editor.stage.model.wait_for_requests(number)[number - 1].json().to_string();
            assert_eq!(
                request.matches("data:image/png;base64,iVBORw0KGgoHBwcH").count(),
                number,
                "{request}"
            );
        }
        assert_eq!(editor.stage.sessions().len(), 1);
    });
}
