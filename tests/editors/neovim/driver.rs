//! One Neovim without a screen, with the set-up of a user, driven through its own remote interface.
//!
//! Never uses another client, or another set-up than the shipped file.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

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

    /// Waits until Lua code returns true.
    #[track_caller]
    pub fn wait_true(&self, what: &str, code: &str) {
        let held = wait_or(|| (self.try_lua(code) == Ok(Value::Bool(true))).then_some(()));
        held.unwrap_or_else(|| {
            panic!("waited {DEADLINE:?} for {what}; the messages were\n{}", self.stage.seen().shown())
        });
    }
}

/// Whether the server is attached to the file.
pub const ATTACHED: &str = "local client = vim.lsp.get_clients({ name = 'adjutant', bufnr = 0 })[1]
    return client ~= nil and client.initialized == true";

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
