//! The measured scenes of Neovim 0.12: what the drawing of the client costs its one thread, and the memory of a long session.
//!
//! Never compares a figure with its bar.

use std::time::Instant;

use adjutant_testkit::model::ModelServer;
use adjutant_testkit::process::memory_of;
use serde_json::Value;

use super::nvim::Neovim;
use super::samples::Samples;
use super::stage::Stage;
use super::vscode::{FILE, PATIENCE, REPLIES, long_past, streaming};

const VERSION: &str = "nvim-0.12";
/// Notes how long each change of a page takes, in milliseconds: the longest, and how many there were.
const NOTE: &str = "Longest, Changes = 0, 0
    local page = require('adjutant.page')
    for _, name in ipairs({ 'append', 'write' }) do
      local change = page[name]
      page[name] = function(...)
        local began = vim.uv.hrtime()
        local given = change(...)
        Longest, Changes = math.max(Longest, (vim.uv.hrtime() - began) / 1e6), Changes + 1
        return given
      end
    end";
/// Whether the page in sight has this text.
const SHOWS: &str = "if Chat() < 0 then return false end
    local lines = vim.api.nvim_buf_get_lines(Chat(), 0, -1, false)
    return table.concat(lines, '\\n'):find('TEXT', 1, true) ~= nil";

fn megabytes(editor: &Neovim<'_>) -> f64 {
    let pid = editor.lua("return vim.fn.getpid()").as_u64().and_then(|pid| u32::try_from(pid).ok());
    let memory = pid.and_then(memory_of).expect("the memory of Neovim can be read");
    memory.resident as f64 / 1e6
}

fn wait_shown(editor: &Neovim<'_>, text: &str) {
    let until = Instant::now() + PATIENCE;
    while editor.lua(&SHOWS.replace("TEXT", text)) != Value::Bool(true) {
        assert!(Instant::now() < until, "the page does not show {text:?}");
    }
}

/// Measures a minute of five hundred deltas a second.
pub fn stream(server: &str, samples: &mut Samples) {
    let mut stage = Stage::new("//- /greet.py\nprint(1)\n", []);
    stage.model = ModelServer::answering(streaming(REPLIES));
    let stage = stage.without_edits_mode();
    stage.server_is(&format!("exec '{server}' \"$@\""));
    let editor = Neovim::open(&stage, VERSION, FILE);
    editor.lua(NOTE);
    samples.add("nvim before", vec![megabytes(&editor)]);
    editor.lua("vim.cmd({ cmd = 'Adjutant', bang = true, args = { 'Say very much' } })");
    wait_shown(&editor, "— done");
    let changes = editor.lua("return Changes").as_u64().expect("a number");
    assert!(changes > 1_000, "only {changes} changes were drawn");
    samples.add("nvim longest", vec![editor.lua("return Longest").as_f64().expect("a time")]);
    samples.add("nvim after", vec![megabytes(&editor)]);
}

/// Measures a session of ten thousand items, from the user's choice until its end is on the page.
pub fn opening(server: &str, samples: &mut Samples) {
    let stage = Stage::new("//- /greet.py\nprint(1)\n", []);
    long_past(&stage);
    stage.server_is(&format!("exec '{server}' \"$@\""));
    let editor = Neovim::open(&stage, VERSION, FILE);
    editor.lua("vim.cmd('Adjutant sessions')");
    editor.wait_true("the list of sessions", "return Asked() ~= nil");
    let begun = Instant::now();
    editor.lua("assert(Choose('Look at it'))");
    wait_shown(&editor, "I read it.");
    samples.add("nvim opening", vec![begun.elapsed().as_secs_f64() * 1e3]);
    samples.add("nvim opened", vec![megabytes(&editor)]);
}
