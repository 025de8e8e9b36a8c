//! Neovim without a screen, driven through its own remote interface.
//!
//! Never uses another client, or another set-up than the shipped file.

mod attached;
pub mod changes;
mod commands;
mod comments;
mod conversation;
mod detail;
mod everyday;
mod files;
mod folding;
mod follow;
mod installed;
mod pages;
mod questions;
mod reading;
mod review;
mod runs;
pub mod scenes;
mod setup;
mod small;
mod terminal;

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::editor::Editor;
use crate::stage::{DEADLINE, Stage, installed, shipped, wait_for, wait_or};

/// The tested versions; each name is the folder of its installation.
pub const VERSIONS: [&str; 2] = ["nvim-0.10", "nvim-0.12"];

/// A Neovim that a test started.
pub struct Neovim<'a> {
    pub stage: &'a Stage,
    child: Child,
    program: PathBuf,
    socket: PathBuf,
}

/// Returns the program of a version and the folder of its runtime files.
pub fn program(version: &str) -> (PathBuf, PathBuf) {
    (installed(&format!("{version}/usr/bin/nvim")), installed(&format!("{version}/usr/share/nvim/runtime")))
}

impl<'a> Neovim<'a> {
    /// Opens a file of the workspace and waits until the server is attached.
    pub fn open(stage: &'a Stage, version: &str, file: &str) -> Neovim<'a> {
        let (program, runtime) = program(version);
        let socket = stage.beside("nvim.sock");
        // A killed Neovim leaves its socket.
        let _ = std::fs::remove_file(&socket);
        let mut command = Command::new(&program);
        command
            .args(["--headless", "--listen"])
            .arg(&socket)
            .arg("-u")
            .arg(shipped("tests/editors/neovim.lua"));
        command.arg(file).current_dir(stage.workspace.path()).env_clear().envs(stage.env());
        command.env("VIMRUNTIME", &runtime).env("ADJUTANT_NVIM", shipped("editors/nvim"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap_or_else(|error| panic!("start {program:?}: {error}"));
        let editor = Neovim { stage, child, program, socket };
        wait_for("Neovim to listen", || editor.socket.exists().then_some(()));
        editor.wait_true("the server to be attached", ATTACHED);
        editor
    }

    /// Runs Lua code and returns its value.
    pub fn lua(&self, code: &str) -> Value {
        self.try_lua(code).unwrap_or_else(|why| panic!("Neovim could not run {code:?}: {why}"))
    }

    fn try_lua(&self, code: &str) -> Result<Value, String> {
        let code = code.replace('\'', "''").replace('\n', " ");
        let expression = format!(
            "luaeval('(function() local value = assert(load(_A))() if value == nil then value = vim.NIL end \
             return vim.json.encode(value) end)()', '{code}')"
        );
        let mut command = Command::new(&self.program);
        command.arg("--server").arg(&self.socket).args(["--headless", "--remote-expr", &expression]);
        command.env_clear().envs(self.stage.env()).stdin(Stdio::null());
        let output = command.output().map_err(|error| error.to_string())?;
        serde_json::from_slice(&output.stdout).map_err(|_| {
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
        })
    }

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

    /// Waits until Lua code returns true.
    #[track_caller]
    pub fn wait_true(&self, what: &str, code: &str) {
        let held = wait_or(|| (self.try_lua(code) == Ok(Value::Bool(true))).then_some(()));
        held.unwrap_or_else(|| {
            panic!("waited {DEADLINE:?} for {what}; the messages were\n{}", self.stage.seen().shown())
        });
    }
}

const ATTACHED: &str = "local client = vim.lsp.get_clients({ name = 'adjutant', bufnr = 0 })[1]
    return client ~= nil and client.initialized == true";

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

impl Drop for Neovim<'_> {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.try_lua("vim.schedule(function() vim.cmd('qall!') end) return true");
        let ended = wait_or(|| matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)).then_some(()));
        if ended.is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
