//! Neovim without a screen, driven through its own remote interface.
//!
//! Never uses another client, or another set-up than the shipped file.

mod attached;
pub mod changes;
mod commands;
mod comments;
mod conversation;
mod detail;
mod driver;
mod everyday;
mod files;
mod folding;
mod follow;
mod installed;
mod long;
mod mentions;
mod pages;
mod questions;
mod reading;
mod review;
mod runs;
pub mod scenes;
mod setup;
mod small;
mod terminal;

use serde_json::Value;

use crate::editor::Editor;
use crate::stage::Stage;

pub use driver::{Neovim, VERSIONS, program};

use driver::ATTACHED;

impl Neovim<'_> {
    /// Answers, and types after the server has sent its edit and before Neovim has read it.
    pub fn choose_and_type_once_sent(&self, title: &str, text: &str) {
        let logs = self.stage.workspace.state_dir().join("log/*.jsonl");
        let (title, text) = (Value::from(title), Value::from(text));
        self.lua(&format!(
            "assert(Choose({title})) vim.schedule(function() \
               local function sent() \
                 local log = table.concat(vim.fn.readfile(vim.fn.glob('{}')), ' ') \
                 return log:find('workspace/applyEdit', 1, true) ~= nil \
               end \
               local until_ = vim.uv.now() + 10000 \
               while not sent() and vim.uv.now() < until_ do vim.uv.sleep(5) vim.uv.update_time() end \
               vim.api.nvim_buf_set_lines(File(), 0, 0, false, {{ {text} }}) \
             end)",
            logs.display()
        ));
    }
}

impl Editor for Neovim<'_> {
    fn saves_edits(&self) -> bool {
        true
    }

    fn can_be_asked_to_save(&self) -> bool {
        true
    }

    fn stage(&self) -> &Stage {
        self.stage
    }

    fn command(&self, text: &str) {
        // With `!` each is a session of its own.
        self.lua(&format!(
            "vim.cmd({{ cmd = 'Adjutant', bang = true, args = {{ {} }} }})",
            Value::from(text)
        ));
    }

    fn action(&self, title: &str) {
        // Like the keys `gra`; `vim.ui.select` shows the actions.
        self.lua("vim.lsp.buf.code_action()");
        self.choose(&format!("Adjutant: {title}"));
    }

    fn progress(&self) -> String {
        let lines = self.lua("return vim.g.progress");
        lines
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .fold(String::new(), |all, line| all + line + "\n")
    }

    fn asked(&self) -> Option<String> {
        let asked = self.lua("return Asked()");
        let titles = asked["titles"].as_array()?.iter().filter_map(Value::as_str).collect::<Vec<_>>();
        Some(format!("{}\n{}", asked["prompt"].as_str().unwrap_or_default(), titles.join("\n")))
    }

    fn choose(&self, title: &str) {
        let code = format!("return Choose({})", Value::from(title));
        self.wait_true(&format!("a choice {title:?}, among {:?}", self.lua("return Asked()")), &code);
    }

    fn buffer(&self) -> String {
        let lines =
            self.lua("return table.concat(vim.api.nvim_buf_get_lines(File(), 0, -1, false), '\\n') .. '\\n'");
        lines.as_str().unwrap_or_default().to_owned()
    }

    fn go_to_line(&self, line: usize) {
        self.lua(&format!("vim.api.nvim_win_set_cursor(0, {{ {line}, 0 }})"));
    }

    fn type_at_top(&self, text: &str) {
        self.lua(&format!("vim.api.nvim_buf_set_lines(File(), 0, 0, false, {{ {} }})", Value::from(text)));
    }

    fn choose_and_type_at_top(&self, title: &str, text: &str) {
        self.lua(&format!(
            "assert(Choose({})) vim.api.nvim_buf_set_lines(File(), 0, 0, false, {{ {} }})",
            Value::from(title),
            Value::from(text)
        ));
    }

    fn save(&self) {
        self.lua("vim.cmd('silent write')");
    }

    fn undo(&self) {
        self.lua("vim.cmd('silent undo')");
    }

    fn cancel(&self) {
        self.lua("vim.cmd('Adjutant stop')");
    }

    fn restart(&self) {
        // The question of the old server is still on the screen, and its answer has no effect. The set-up
        // restarts the server by itself.
        self.lua("Dismiss()");
        self.stage.seen().wait("in", "initialized", 2);
        self.wait_true("the server to be attached again", ATTACHED);
    }
}
