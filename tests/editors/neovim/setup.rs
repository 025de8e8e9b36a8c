//! A scene in Neovim: from no model to a first answer, by `:Adjutant setup`.
//!
//! The service is on loopback; no other service is contacted.

use std::fs;

use adjutant_testkit::model::Reply;

use super::Neovim;
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
        wait_noticed(editor, "begin with :Adjutant setup; no model is configured");
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
