//! A scene in Neovim: from no model to a first answer, by `:Adjutant setup`.
//!
//! The service is on loopback; no other service is contacted.

use std::fs;

use adjutant_testkit::model::Reply;

use super::Neovim;
use super::conversation::{go, send, text, wait_below};
use super::scenes::{chat, each, notices};
use crate::editor::Editor;
use crate::scenes;
use crate::stage::{Stage, wait_for};

const KEY: &str = "sk-a-key-that-nobody-may-see";

/// Returns a stage without a model in the settings.
fn bare() -> Stage {
    let stage = scenes::stage([Reply::status(401), Reply::text("ok"), Reply::text("Hello.")]);
    stage.workspace.config("# Mine.\n");
    stage
}

fn wait_noticed(editor: &Neovim<'_>, part: &str) {
    wait_for(&format!("the notice {part:?}"), || notices(editor).contains(part).then_some(()));
}

#[test]
fn p26_setup_leads_from_no_model_to_a_first_answer_and_keeps_no_key() {
    each(bare, |editor| {
        let address = editor.stage.model.base_url();
        editor.lua(&format!(
            "vim.g.asked = {{}} \
             vim.ui.input = function(options, done) \
               vim.g.asked = vim.list_extend(vim.g.asked, {{ options.prompt }}) \
               done(options.prompt:find('^Address') and '{address}' or 'm1') end \
             vim.fn.inputsecret = function() return '{KEY}' end"
        ));
        let describe = || {
            let shown = wait_for("the services", || editor.asked());
            assert!(shown.starts_with("Which service has the model?\nAnthropic\nOpenAI\n"), "{shown}");
            assert!(shown.contains("try it without a key"), "{shown}");
            editor.choose("another service");
            wait_for("the ways to give a key", || {
                editor.asked().filter(|asked| asked.starts_with("Where is"))
            });
            editor.choose("Type the key");
        };
        editor.lua("vim.cmd('Adjutant Say hello')");
        wait_noticed(editor, "no model is configured: begin with :Adjutant setup");
        // Without a model, the list of models is the set-up.
        editor.lua("vim.cmd('Adjutant model')");
        describe();
        wait_noticed(editor, "the key that you typed was refused by provider");
        wait_for("what to do", || editor.asked().filter(|asked| asked.starts_with("It does not work yet:")));
        assert_eq!(fs::read_to_string(editor.stage.workspace.config_file()).unwrap(), "# Mine.\n");
        editor.choose("Try again");
        describe();
        wait_noticed(editor, "service/m1 is the model of new conversations");
        let text = fs::read_to_string(editor.stage.workspace.config_file()).unwrap();
        assert!(text.contains("# Mine.") && text.contains("api_key_file = \"service-"), "{text}");
        editor.lua("vim.cmd('Adjutant Say hello')");
        editor.stage.model.wait_for_requests(3);
        wait_for("the first answer", || chat(editor).contains("Hello.\n\n— done").then_some(()));
        let asked = editor.lua("return table.concat(vim.g.asked, ' | ')");
        assert!(!asked.to_string().contains("Key"), "a key is asked for in no box that shows it: {asked}");
        let kept = editor.lua("return vim.fn.execute('messages') .. vim.fn.execute('history input') .. vim.fn.execute('registers')");
        assert!(!kept.to_string().contains(KEY), "{kept}");
    });
}

#[test]
fn p26_without_the_program_every_command_says_so() {
    let stage = || scenes::stage([]);
    each(stage, |editor| {
        editor.lua("vim.env.PATH = '/nowhere' vim.lsp.stop_client(vim.lsp.get_clients(), true)");
        wait_for("the end of the server", || {
            (editor.lua("return #vim.lsp.get_clients()") == 0).then_some(())
        });
        for command in ["Adjutant fix it", "Adjutant review", "Adjutant undo run"] {
            editor.lua(&format!("vim.cmd('{command}')"));
            wait_noticed(editor, "the program adjutant is not in the PATH of Neovim");
        }
    });
}

/// What the server says of a missing model is written for a terminal.
#[test]
fn p26_every_place_that_says_what_is_missing_names_the_cure_of_neovim() {
    const HEALTH: &str = "vim.cmd('checkhealth adjutant') \
        local page = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), ' ') vim.cmd('bwipeout') return page";
    let for_a_shell = |shown: &str| {
        ["`adjutant", "--model", "-33010"].into_iter().find(|words| shown.contains(words)).map(str::to_owned)
    };
    each(bare, |editor| {
        let no_model = "no model is configured: begin with :Adjutant setup";
        editor.action("Do what this comment says");
        wait_noticed(editor, no_model);
        send(editor, "Say hello");
        wait_below(editor, &format!("Not sent: {no_model}"));
        let shown = notices(editor);
        assert_eq!(for_a_shell(&shown), None, "{shown}");
        let page = editor.lua(HEALTH).to_string();
        assert!(page.contains("model: no model is configured: begin with :Adjutant setup"), "{page}");
        assert_eq!(for_a_shell(&page), None, "{page}");
        // A provider whose key is missing.
        editor.stage.workspace.config(
            "model = \"lab/m1\"\n[providers.lab]\nwire = \"openai_chat\"\nbase_url = \"http://127.0.0.1:9/v1\"\n\
             api_key_env = \"LAB_KEY\"\n",
        );
        let no_key = "begin with :Adjutant setup; the provider \"lab\" has no key: set the environment variable LAB_KEY where \
                      Neovim is started";
        editor.lua("vim.cmd('Adjutant Say hello')");
        wait_noticed(editor, no_key);
        editor.stage.workspace.config("model = \n");
        editor.lua("vim.cmd('Adjutant Say hello')");
        wait_noticed(editor, ":checkhealth adjutant checks it");
        let shown = notices(editor);
        let last = shown.rsplit("Adjutant: ").next().unwrap_or_default();
        assert!(!last.contains("begin with :Adjutant setup"), "a set-up writes into no broken file: {shown}");
    });
}

/// A message that something is missing stayed after it was there.
#[test]
fn p26_what_says_that_something_is_missing_goes_when_it_is_there() {
    const ANSWERS: &str = "vim.ui.input = function(options, done) \
        done(options.prompt:find('^Address') and 'ADDRESS' or 'm1') end \
        vim.fn.inputsecret = function() return 'sk-1' end";
    let stage = || {
        let stage = scenes::stage([Reply::text("ok"), Reply::text("Hello.")]);
        stage.workspace.config("# Mine.\n");
        stage
    };
    each(stage, |editor| {
        send(editor, "Say hello");
        wait_below(editor, "Not sent: no model is configured");
        editor.lua("vim.cmd('Adjutant! Say goodbye')");
        wait_noticed(editor, "no model is configured");
        editor.lua(&ANSWERS.replace("ADDRESS", &editor.stage.model.base_url()));
        editor.lua("vim.cmd('Adjutant setup')");
        wait_for("the services", || editor.asked());
        editor.choose("another service");
        wait_for("the ways to give a key", || editor.asked().filter(|asked| asked.starts_with("Where is")));
        editor.choose("Type the key");
        wait_noticed(editor, "service/m1 is the model of new conversations");
        let shown = notices(editor);
        assert!(!shown.contains("no model is configured"), "{shown}");
        go(editor);
        assert_eq!(
            editor.lua(super::conversation::BELOW).as_str().map(|below| below.contains("Not sent")),
            Some(false)
        );
        assert!(text(editor).starts_with("Say hello"), "it waits to be sent");
    });
    // The program is gone, and comes back.
    each(
        || scenes::stage([]),
        |editor| {
            editor.lua("Path = vim.env.PATH vim.env.PATH = '/nowhere' vim.lsp.stop_client(vim.lsp.get_clients(), true)");
            editor.wait_true("the end of the server", "return #vim.lsp.get_clients() == 0");
            editor.lua("vim.cmd('Adjutant fix it')");
            wait_noticed(editor, "the program adjutant is not in the PATH of Neovim");
            go(editor);
            wait_below(editor, "Not sent: no server runs here");
            editor.lua("vim.env.PATH = Path vim.cmd('wincmd t') vim.cmd('edit other.py')");
            editor.wait_true("a server", "return #vim.lsp.get_clients({ name = 'adjutant' }) > 0");
            wait_for("the end of the notice", || {
                (!notices(editor).contains("not in the PATH")).then_some(())
            });
            go(editor);
            wait_below(editor, "sends");
            assert_eq!(
                editor.lua(super::conversation::BELOW).as_str().map(|below| below.contains("Not sent")),
                Some(false)
            );
        },
    );
}
