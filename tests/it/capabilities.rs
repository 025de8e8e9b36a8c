//! What a client says in `initialize`, and what the server makes of it.
//!
//! The golden tables beside the recorded params say it for each real editor.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use adjutant_testkit::command::Run;
use adjutant_testkit::editor::{Capabilities, Options};
use adjutant_testkit::fixture::Workspace;
use serde_json::{Value, json};

use crate::rig::Rig;

fn recorded() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/editors/initialize");
    let files = fs::read_dir(folder).expect("the recorded params are there");
    let mut files: Vec<PathBuf> = files.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "json"));
    files.sort();
    assert!(files.len() >= 4, "{files:?}");
    files
}

/// What a server answers to these params, as its table of surfaces.
fn answered(params: &Value) -> BTreeMap<String, String> {
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    let rig = Rig::connect(&workspace, Options::new(&workspace).capabilities(Capabilities::bare()));
    let params = json!({"processId": null, "capabilities": params["capabilities"], "workspaceFolders": []});
    let answer = rig.request("initialize", params).expect("initialize is answered");
    rig.end();
    let table = &answer["capabilities"]["experimental"]["agent"]["fallbacks"];
    serde_json::from_value(table.clone()).expect("a table of text")
}
