//! The params of `initialize` of each real editor, stored in `initialize/`.
//!
//! Other tests choose surfaces for these files. Never stores process ids, paths or names of this machine.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::emacs::Emacs;
use crate::helix::{self, Helix};
use crate::kakoune::{self, Kakoune};
use crate::lsp_mode::LspMode;
use crate::neovim::{self, Neovim};
use crate::stage::{Stage, shipped, wait_for};
use crate::vim_ale::Ale;

/// The members below `capabilities` that the server's decisions depend on.
const READ: [&str; 12] = [
    "/experimental",
    "/general/positionEncodings",
    "/window/showMessage",
    "/window/showDocument",
    "/window/workDoneProgress",
    "/workspace/applyEdit",
    "/workspace/workspaceEdit/documentChanges",
    "/workspace/workspaceEdit/resourceOperations",
    "/workspace/configuration",
    "/textDocument/codeAction",
    "/textDocument/publishDiagnostics",
    "/textDocument/synchronization",
];

fn stage() -> Stage {
    Stage::new("//- /greet.py\nprint(1)\n", [])
}

/// Returns the params of the first message in the recorded input.
pub fn params(sent: &Path) -> Value {
    wait_for("the whole initialize request", || {
        let bytes = fs::read(sent).ok()?;
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
        let length =
            head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok())?;
        let body: Value = serde_json::from_slice(bytes[end + 4..].get(..length)?).ok()?;
        (body["method"] == "initialize").then(|| body["params"].clone())
    })
}

/// Replaces the process id and the paths of this machine.
pub fn scrubbed(mut params: Value, stage: &Stage) -> Value {
    params["processId"] = json!(1);
    let root = stage.workspace.path().display().to_string();
    scrub(&mut params, &root);
    params
}

fn scrub(value: &mut Value, root: &str) {
    match value {
        Value::String(text) => *text = text.replace(root, "/home/user/project"),
        Value::Array(items) => items.iter_mut().for_each(|item| scrub(item, root)),
        Value::Object(fields) => fields.values_mut().for_each(|field| scrub(field, root)),
        _ => {}
    }
}

/// Compares the params with the stored file. Another version of the editor may differ, but not in the members
/// of `READ`.
pub fn check(name: &str, params: &Value) {
    let path = shipped("tests/editors/initialize").join(format!("{name}.json"));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let text = serde_json::to_string_pretty(params).expect("JSON is text") + "\n";
        fs::write(&path, text).expect("store the params");
    }
    let kept: Value = serde_json::from_slice(&fs::read(&path).expect("the params are stored")).expect("JSON");
    if kept["clientInfo"] == params["clientInfo"] {
        assert_eq!(kept, *params, "{name} sends other params: UPDATE_DOCS=1 stores them");
    }
    for pointer in READ {
        let of = |params: &Value| params["capabilities"].pointer(pointer).cloned();
        assert_eq!(of(&kept), of(params), "{name} differs at {pointer}: UPDATE_DOCS=1 stores the new params");
    }
    let text = params.to_string();
    assert!(!text.contains("adjutant-test-"), "a path of this machine is in {name}: {text}");
}

#[test]
fn n19_neovim_says_what_is_kept() {
    for version in neovim::VERSIONS {
        let stage = stage();
        let sent = stage.record_input();
        let _editor = Neovim::open(&stage, version, "greet.py");
        check(version, &scrubbed(params(&sent), &stage));
    }
}

#[test]
fn n19_emacs_says_what_is_kept() {
    let stage = stage();
    let sent = stage.record_input();
    let _editor = Emacs::open(&stage, "greet.py");
    check("emacs-30", &scrubbed(params(&sent), &stage));
}

#[test]
fn n19_lsp_mode_says_what_is_kept() {
    let stage = stage();
    let sent = stage.record_input();
    let _editor = LspMode::open(&stage, "greet.py");
    check("emacs-lsp-mode-9", &scrubbed(params(&sent), &stage));
}

#[test]
fn n19_kakoune_says_what_is_kept() {
    let stage = stage();
    let sent = stage.record_input();
    let _editor = Kakoune::open(&stage, "greet.py");
    let mut said = scrubbed(params(&sent), &stage);
    // Kakoune sends these names in a different order each time.
    for kind in ["tokenTypes", "tokenModifiers"] {
        let names = said["capabilities"]["textDocument"]["semanticTokens"][kind].as_array_mut();
        names.expect("a list of names").sort_by_key(Value::to_string);
    }
    check(kakoune::VERSION, &said);
}

#[test]
fn n19_ale_says_what_is_kept() {
    let stage = stage();
    let sent = stage.record_input();
    let _editor = Ale::open(&stage, "greet.py");
    check("vim-ale-4", &scrubbed(params(&sent), &stage));
}

#[test]
fn n19_helix_says_what_is_kept() {
    let stage = stage();
    let sent = stage.record_input();
    let _editor = Helix::open(&stage, "greet.py");
    check(helix::VERSION, &scrubbed(params(&sent), &stage));
}
