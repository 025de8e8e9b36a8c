//! Scenes in Neovim about the prompt below the chat: sending, steering, drafts, the prompts of before, and what stands
//! beside it.
//!
//! Never looks into the server.

use adjutant_testkit::model::Reply;
use serde_json::{Value, json};

use super::scenes::{chat, each, press};
use super::{Neovim, VERSIONS};
use crate::editor::Editor;
use crate::scenes;
use crate::stage::{Stage, wait_for};

/// The text of the prompt that is in sight.
const TEXT: &str = "for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do \
    local buffer = vim.api.nvim_win_get_buf(window) \
    if vim.bo[buffer].filetype == 'adjutant-prompt' then \
      return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\\n') end end";

/// What is drawn below that text.
pub(super) const BELOW: &str = "for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do \
    local buffer = vim.api.nvim_win_get_buf(window) \
    if vim.bo[buffer].filetype == 'adjutant-prompt' then \
      local lines = {} \
      local space = vim.api.nvim_get_namespaces()['adjutant.prompt'] \
      for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buffer, space, 0, -1, { details = true })) do \
        for _, line in ipairs(mark[4].virt_lines or {}) do lines[#lines + 1] = line[1][1] end end \
      return table.concat(lines, '\\n') end end";

pub(super) const IN_PROMPT: &str = "return vim.bo.filetype == 'adjutant-prompt'";
const IN_FILE: &str = "return vim.api.nvim_get_current_buf() == File()";

pub(super) fn text(editor: &Neovim<'_>) -> String {
    editor.lua(TEXT).as_str().unwrap_or("no prompt").to_owned()
}

fn wait_text(editor: &Neovim<'_>, wanted: &str) {
    wait_for(&format!("the prompt {wanted:?}, which is {:?}", text(editor)), || {
        (text(editor) == wanted).then_some(())
    });
}

pub(super) fn wait_below(editor: &Neovim<'_>, wanted: &str) {
    let below = || editor.lua(BELOW).as_str().unwrap_or_default().to_owned();
    wait_for(&format!("{wanted:?} below the prompt, where {:?} is", below()), || {
        below().contains(wanted).then_some(())
    });
}

/// Goes to the prompt, and leaves Insert mode.
pub(super) fn go(editor: &Neovim<'_>) {
    editor.lua("vim.cmd('Adjutant prompt') vim.cmd.stopinsert()");
    editor.wait_true("the prompt", IN_PROMPT);
}

/// Writes a text into the prompt and sends it.
pub(super) fn send(editor: &Neovim<'_>, words: &str) {
    go(editor);
    press(editor, &format!("cc{words}<Esc><CR>"));
}

fn talk() -> Stage {
    scenes::stage(["First words.", "Second words.", "Third words.", "Fourth words."].map(Reply::text))
}

pub(super) fn wait_done(editor: &Neovim<'_>, answer: &str) {
    wait_for("the end of the task", || chat(editor).contains(&format!("{answer}\n\n— done")).then_some(()));
}

#[test]
fn s28_the_prompt_below_the_chat_sends_and_steers_and_says_which() {
    let held = || {
        Stage::new(
            "//- /greet.py\nprint(1)\n",
            [Reply::text("First words.").hold_after(3), Reply::text("Second.")],
        )
    };
    each(held, |editor| {
        editor.lua("vim.cmd('Adjutant chat')");
        assert_eq!(editor.lua(IN_FILE), true, "the focus stays");
        wait_below(editor, "<CR> sends, in a new session");
        go(editor);
        editor.lua("vim.api.nvim_input('i')");
        wait_below(editor, "<C-S> sends, in a new session");
        editor.lua("vim.api.nvim_input('<Esc>')");
        wait_below(editor, "<CR> sends");
        press(editor, "ccMend it<CR>all of it<Esc><CR>");
        editor.stage.model.wait_for_holding(1);
        wait_text(editor, "");
        wait_below(editor, "<CR> steers · <C-C> twice stops");
        press(editor, "Aand test it<C-S>");
        wait_for("the steer in the chat", || chat(editor).contains("> and test it").then_some(()));
        wait_text(editor, "");
        editor.stage.model.release();
        let requests = editor.stage.model.wait_for_requests(2);
        assert!(requests[0].json().to_string().contains("Mend it\\nall of it"), "{}", requests[0].json());
        assert!(requests[1].json().to_string().contains("and test it"), "{}", requests[1].json());
        wait_done(editor, "Second.");
        wait_below(editor, "<CR> sends");
        assert_eq!(editor.stage.sessions().len(), 1, "all of it went to one session");
    });
}

#[test]
fn s28_a_prompt_that_is_refused_stays_with_the_reason_and_can_be_sent_again() {
    each(talk, |editor| {
        go(editor);
        editor.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { ('x'):rep(1100000) })");
        press(editor, "<CR>");
        wait_below(editor, "Not sent: ");
        let below = editor.lua(BELOW);
        let below = below.as_str().unwrap_or_default();
        let width = editor.lua("return vim.api.nvim_win_get_width(0)").as_u64().unwrap_or_default();
        let fits = |line: &str| line.chars().count() as u64 <= width;
        assert!(below.lines().all(fits) && below.contains("1048576"), "the reason is whole: {below}");
        assert_eq!(text(editor).len(), 1_100_000, "nothing is lost");
        press(editor, "ccShort<Esc><CR>");
        wait_done(editor, "First words.");
        wait_text(editor, "");
        let below = editor.lua(BELOW);
        assert!(!below.as_str().unwrap_or_default().contains("Not sent"), "{below}");
    });
}

/// However the window or the buffer of the prompt goes, its text comes back.
#[test]
fn s28_a_draft_outlives_every_way_to_close_its_window() {
    const WAYS: [&str; 8] = [
        ":e<CR>",
        ":e!<CR>",
        ":q<CR>",
        "<C-w>c",
        ":bunload<CR>",
        ":bdelete<CR>",
        ":bwipeout<CR>",
        ":edit other.py<CR>",
    ];
    each(talk, |editor| {
        go(editor);
        press(editor, "ccline one<CR>line two<Esc>");
        for keys in WAYS {
            go(editor);
            press(editor, keys);
            go(editor);
            wait_text(editor, "line one\nline two");
            let is = editor.lua(
                "local is = vim.bo return is.buftype == 'nofile' and not is.buflisted and is.modifiable \
                and vim.fn.maparg('<CR>', 'n') ~= '' and vim.fn.maparg('<C-S>', 'i') ~= ''",
            );
            assert_eq!(is, true, "after {keys}");
            editor.lua("vim.cmd('silent! bwipeout other.py') vim.cmd('only') vim.cmd.buffer(File())");
        }
        go(editor);
        press(editor, "A, more<Esc>u");
        wait_text(editor, "line one\nline two");
        press(editor, "<CR>");
        wait_done(editor, "First words.");
    });
}

#[test]
fn s28_each_session_has_its_own_draft_and_a_text_goes_where_it_was_written() {
    each(talk, |editor| {
        send(editor, "Session one");
        wait_done(editor, "First words.");
        press(editor, "ccfor the first<Esc>");
        editor.lua("vim.cmd.wincmd('t') vim.cmd('Adjutant! Session two')");
        wait_done(editor, "Second words.");
        wait_text(editor, "");
        go(editor);
        press(editor, "ccfor the second<Esc>");
        editor.lua("vim.cmd.wincmd('t') vim.cmd('Adjutant sessions')");
        editor.choose("Session one");
        wait_text(editor, "for the first");
        go(editor);
        press(editor, "<CR>");
        let request = editor.stage.model.wait_for_requests(3)[2].json().to_string();
        assert!(request.contains("Session one") && request.contains("for the first"), "{request}");
        wait_text(editor, "");
    });
}

/// A mode that is chosen before the first text counts for it.
#[test]
fn s28_a_draft_goes_to_the_session_that_a_chosen_mode_made() {
    each(talk, |editor| {
        go(editor);
        press(editor, "ccLook at it<Esc>");
        editor.lua("vim.cmd('Adjutant mode ask')");
        wait_below(editor, "<CR> sends");
        editor.wait_true(
            "the session",
            "return require('adjutant.sessions').target() ~= nil \
            and select(2, require('adjutant.sessions').target()) ~= nil",
        );
        press(editor, "<CR>");
        let request = editor.stage.model.wait_for_requests(1)[0].json().to_string();
        assert!(request.contains("Look at it") && !request.contains("\"name\":\"edit_file\""), "{request}");
        wait_text(editor, "");
    });
}

/// The user goes back to the file before the server has answered.
#[test]
fn s28_a_prompt_that_one_leaves_while_it_is_sent_stays_the_one_of_its_session() {
    each(talk, |editor| {
        go(editor);
        editor.lua("vim.api.nvim_feedkeys(vim.keycode('ccOne<Esc><CR>'), 'mx', false) vim.cmd.wincmd('t')");
        assert_eq!(editor.lua(IN_FILE), true);
        wait_done(editor, "First words.");
        wait_text(editor, "");
        send(editor, "Two");
        let request = editor.stage.model.wait_for_requests(2)[1].json().to_string();
        assert!(request.contains("First words.") && request.contains("Two"), "{request}");
        wait_text(editor, "");
        assert_eq!(editor.stage.sessions().len(), 1);
    });
}

#[test]
fn s28_a_text_for_a_session_that_is_gone_stays_and_begins_one_at_the_next_try() {
    const DELETE: &str = "local client = vim.lsp.get_clients({ name = 'adjutant' })[1] \
        local params = { sessionId = select(2, require('adjutant.sessions').target()) } \
        local function done(err) vim.g.deleted = err == nil end \
        if vim.fn.has('nvim-0.11') == 1 then client:request('agent/session/delete', params, done) \
        else client.request('agent/session/delete', params, done) end";
    each(talk, |editor| {
        send(editor, "One");
        wait_done(editor, "First words.");
        wait_text(editor, "");
        editor.lua(DELETE);
        editor.wait_true("the session is gone", "return vim.g.deleted == true");
        press(editor, "ccTwo<Esc><CR>");
        wait_below(editor, "Not sent: ");
        wait_below(editor, "<CR> sends, in a new session");
        assert_eq!(text(editor), "Two");
        press(editor, "<CR>");
        let request = editor.stage.model.wait_for_requests(2)[1].json().to_string();
        assert!(request.contains("Two") && !request.contains("First words."), "{request}");
        wait_text(editor, "");
    });
}

#[test]
fn s90_ctrl_c_twice_stops_the_task_only_in_the_prompt_of_its_session() {
    let endless = || scenes::stage([Reply::never(), Reply::text("Second.")]);
    each(endless, |editor| {
        send(editor, "Look");
        editor.stage.model.wait_for_holding(1);
        wait_below(editor, "<C-C> twice stops");
        press(editor, "<C-w>t<C-c><C-c>");
        go(editor);
        wait_below(editor, "<C-C> twice stops");
        press(editor, "A a thought<C-c>");
        wait_below(editor, "<C-C> again stops the task");
        editor.wait_true("Normal mode", "return vim.api.nvim_get_mode().mode == 'n'");
        // One press alone is soon forgotten.
        wait_below(editor, "<C-C> twice stops");
        assert!(!chat(editor).contains("cancelled"), "{}", chat(editor));
        press(editor, "<C-c><C-c>");
        wait_for("the end", || chat(editor).contains("— cancelled").then_some(()));
        wait_text(editor, " a thought");
    });
}

#[test]
fn p27_up_on_the_first_line_walks_through_the_prompts_of_before_and_down_comes_back() {
    each(talk, |editor| {
        send(editor, "one");
        wait_done(editor, "First words.");
        wait_text(editor, "");
        send(editor, "two<CR>lines");
        wait_done(editor, "Second words.");
        wait_text(editor, "");
        press(editor, "ccmy own<Esc><Up>");
        wait_text(editor, "two\nlines");
        press(editor, "<Up>");
        wait_text(editor, "one");
        press(editor, "<Up>");
        press(editor, "<Down>");
        wait_text(editor, "two\nlines");
        // In a prompt of several lines the key moves the cursor first.
        press(editor, "gg<Down>");
        wait_text(editor, "two\nlines");
        press(editor, "<Down>");
        wait_text(editor, "my own");
        press(editor, "u");
        wait_text(editor, "two\nlines");
        press(editor, "<C-r>");
        wait_text(editor, "my own");
        press(editor, "A<Up>");
        wait_text(editor, "two\nlines");
        press(editor, "ggAX<Esc><CR>");
        let request = editor.stage.model.wait_for_requests(3)[2].json().to_string();
        assert!(request.contains("twoX\\nlines"), "{request}");
    });
}

#[test]
fn n02_a_question_that_was_left_is_brought_back_and_of_several_the_chosen_one() {
    let run = |line: &str| Reply::call("run_command", json!({ "command": line }));
    let stage = move || {
        let turns = [run("echo one"), run("echo two"), Reply::text("Seen."), Reply::text("Seen.")];
        Stage::new("//- /greet.py\nprint(1)\n", turns)
    };
    each(stage, |editor| {
        editor.command("First");
        editor.wait_asked("echo one");
        press(editor, "q");
        editor.command("Second");
        editor.wait_true("both", "return require('adjutant.asks').count() == 2");
        editor.lua("vim.cmd('Adjutant ask')");
        editor.lua("assert(Choose('Run echo two'))");
        let shown = "return table.concat(Question() or {}, '\\n')";
        wait_for("the chosen one", || editor.lua(shown).as_str()?.contains("echo two").then_some(()));
        editor.choose("Reject");
        editor.wait_true("one", "return require('adjutant.asks').count() == 1");
        editor.lua("vim.cmd.wincmd('t') vim.cmd('Adjutant ask')");
        wait_for("the other", || editor.lua(shown).as_str()?.contains("echo one").then_some(()));
        editor.choose("Reject");
    });
}

/// The question comes while the user types: every key is in the prompt, and nothing covers it.
#[test]
fn finding_d6_at_80_by_24_what_is_typed_in_the_prompt_answers_nothing_and_stays_in_sight() {
    for version in VERSIONS {
        let stage = scenes::one_edit();
        let screen = super::terminal::open_sized(&stage, version, ("80", "24"));
        super::terminal::command(&screen, ":Adjutant prompt");
        screen.wait("<C-S> sends");
        screen.text_in("Mend the greeting");
        screen.keys(&["C-s"]);
        screen.wait("# Mend the greeting");
        stage.model.wait_for_holding(1);
        screen.wait("<C-S> steers");
        screen.text_in("before ");
        stage.model.release();
        screen.wait("? Edit greet.py");
        for line in ["1", "2 yes", "3"] {
            screen.text_in(line);
            screen.keys(&["Enter"]);
        }
        screen.text_in("after");
        let shown = screen.wait_until("all that was typed", |text| {
            ["before 1", "2 yes", "3", "after"].iter().all(|line| text.contains(line))
        });
        for part in ["? Edit greet.py", "def greet", "# Mend the greeting"] {
            assert!(shown.contains(part), "{part:?} in\n{shown}");
        }
        assert_eq!(stage.seen().count("out", "workspace/applyEdit"), 0, "{}", stage.seen().shown());
        assert!(!shown.contains("Press ENTER"), "{shown}");
        screen.keys(&["Escape"]);
        super::terminal::command(&screen, ":Adjutant answer");
        screen.wait("q later");
        screen.keys(&["1"]);
        screen.wait("It is mended.");
    }
}

/// The user has moved the prompt to where the line of a question would be.
#[test]
fn s15_the_line_of_a_question_makes_way_for_the_prompt_wherever_it_is() {
    const COVERED: &str = "local prompt = vim.api.nvim_get_current_win() \
        local top = vim.api.nvim_win_get_position(prompt)[1] \
        for _, window in ipairs(vim.api.nvim_list_wins()) do \
          local config = vim.api.nvim_win_get_config(window) \
          if config.zindex == 60 then \
            local row = vim.api.nvim_win_get_position(window)[1] \
            return row + config.height > top and row < top + vim.api.nvim_win_get_height(prompt) end end";
    let asks = || {
        let command = Reply::call("run_command", json!({ "command": "echo one" }));
        Stage::new("//- /greet.py\nprint(1)\n", [command, Reply::text("Seen.")])
    };
    each(asks, |editor| {
        editor.lua("vim.o.lines = 16 vim.o.columns = 140");
        go(editor);
        editor.lua("vim.cmd.wincmd('J')");
        press(editor, "ccLook<Esc><CR>");
        editor.wait_true("a question", "return require('adjutant.asks').count() == 1");
        assert_eq!(editor.lua(IN_PROMPT), true);
        assert_eq!(editor.lua(COVERED), false);
        press(editor, "A1<CR>2<Esc>");
        wait_text(editor, "1\n2");
        assert_eq!(editor.lua("return require('adjutant.asks').count()"), 1, "nothing was answered");
    });
}

/// Returns what completes a typed command line.
fn completed(editor: &Neovim<'_>, typed: &str) -> Value {
    editor.lua(&format!("return table.concat(vim.fn.getcompletion('{typed}', 'cmdline'), ' ')"))
}

#[test]
fn p26_the_values_of_a_sub_command_complete_with_what_the_server_says() {
    each(talk, |editor| {
        assert_eq!(completed(editor, "Adjutant mode "), "code ask");
        assert_eq!(completed(editor, "Adjutant mode a"), "ask");
        assert_eq!(completed(editor, "Adjutant model "), "local/test");
        assert_eq!(completed(editor, "Adjutant model the"), "");
        assert_eq!(completed(editor, "Adjutant sessions "), "");
        editor.lua("vim.cmd('Adjutant Mend the receipt')");
        wait_done(editor, "First words.");
        assert_eq!(completed(editor, "Adjutant sessions r"), "receipt");
        editor.lua("vim.cmd('Adjutant! Another thing')");
        wait_done(editor, "Second words.");
        editor.lua("vim.cmd('Adjutant sessions receipt')");
        wait_for("the session that is named", || {
            let text = chat(editor);
            (text.contains("First words.") && !text.contains("Second words.")).then_some(())
        });
    });
}

#[test]
fn s73_the_bar_above_the_chat_has_the_title_the_mode_the_model_how_full_the_context_is_and_the_cost() {
    let counted = || {
        let replies = ["First words.", "Second words."].map(|words| Reply::text(words).usage(2_500, 500));
        let stage = scenes::stage(replies);
        let file = stage.workspace.config_file();
        let settings = std::fs::read_to_string(&file).expect("the settings");
        let with_window = settings.replace("api_key_env", "context_window = 10000\napi_key_env");
        let with_price = with_window + "\n[prices.\"local/test\"]\ninput = 10\noutput = 50\n";
        std::fs::write(&file, with_price).expect("write the settings");
        stage
    };
    each(counted, |editor| {
        let bar = |wanted: &str| {
            let code = "local window = vim.fn.bufwinid(Chat()) \
                return vim.api.nvim_eval_statusline(vim.wo[window].winbar, { winid = window, use_winbar = true }).str";
            let shown = || editor.lua(code).as_str().unwrap_or_default().to_owned();
            wait_for(&format!("the bar {wanted:?}, which is {:?}", shown()), || {
                (shown() == wanted).then_some(())
            });
        };
        editor.lua("vim.o.lines = 40 vim.o.columns = 170 vim.cmd('Adjutant chat')");
        bar("a new session");
        send(editor, "Mend 100% %{v:count} of it");
        bar("Mend 100% %{v:count} of it · local/test · context 30 % · 0.0500 USD");
        editor.lua("vim.cmd('Adjutant mode ask')");
        bar("Mend 100% %{v:count… · ask · local/test · context 30 % · 0.0500 USD");
        editor.lua("vim.api.nvim_win_set_width(vim.fn.bufwinid(Chat()), 57)");
        bar("Mend 100%… · ask · local/test · context 30 % · 0.0500 USD");
        editor.lua("vim.cmd('only')");
        editor.lua("vim.o.lines = 24 vim.cmd('Adjutant chat')");
        let none = "return vim.wo[vim.fn.bufwinid(Chat())].winbar";
        assert_eq!(editor.lua(none), "", "in few lines there is none");
    });
}

#[test]
fn p27_the_log_is_the_page_of_the_session_else_what_neovim_notes() {
    each(talk, |editor| {
        editor.lua("vim.cmd('Adjutant log')");
        editor.wait_true(
            "a log or none",
            "return vim.api.nvim_buf_get_name(0):find('lsp.log', 1, true) ~= nil \
            or table.concat(vim.g.told, ' '):find('there is no log yet', 1, true) ~= nil",
        );
        editor.lua("vim.cmd('silent! only') vim.cmd.buffer(File()) vim.cmd('Adjutant Look at it')");
        wait_done(editor, "First words.");
        editor.lua("vim.cmd('Adjutant log')");
        editor.wait_true("the page", "for _, buffer in ipairs(vim.api.nvim_list_bufs()) do \
            if vim.endswith(vim.api.nvim_buf_get_name(buffer), 'transcript.md') then return true end end return false");
    });
}
