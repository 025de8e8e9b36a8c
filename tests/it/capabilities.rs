//! What a client offers in `initialize`, and which surfaces the server chooses.
//!
//! A golden table next to each recorded file shows the result for that real editor.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use adjutant_testkit::command::Line;
use adjutant_testkit::editor::{Capabilities, Options, Rule};
use adjutant_testkit::fixture::Workspace;
use serde_json::{Value, json};

use crate::rig::Rig;

const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");

fn recorded() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/editors/initialize");
    let files = fs::read_dir(folder).expect("the recorded params are there");
    let mut files: Vec<PathBuf> = files.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "json"));
    files.sort();
    assert!(files.len() >= 4, "{files:?}");
    files
}

/// Returns the server's table of surfaces for these params.
fn answered(params: &Value) -> BTreeMap<String, String> {
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    let rig = Rig::connect(&workspace, Options::new(&workspace).capabilities(Capabilities::bare()));
    let params = json!({
        "processId": null, "clientInfo": params["clientInfo"],
        "capabilities": params["capabilities"], "workspaceFolders": [],
    });
    let answer = rig.request("initialize", params).expect("initialize is answered");
    // The test editor announced less than these params do.
    rig.forgive(Rule::NotOffered);
    rig.end();
    let table = &answer["capabilities"]["experimental"]["agent"]["fallbacks"];
    serde_json::from_value(table.clone()).expect("a table of text")
}

#[test]
fn n19_each_real_editor_has_its_table_and_what_is_printed_is_what_is_used() {
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    for file in recorded() {
        let line = ["capabilities", "--initialize", file.to_str().expect("a name in UTF-8")];
        let ran = Line::new(BINARY, &workspace, &line).run();
        assert!(ran.status.success(), "{}: {}", file.display(), ran.stderr);
        let golden = file.with_extension("surfaces.txt");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&golden, &ran.stdout).expect("the golden table is written");
        }
        let wanted = fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(
            ran.stdout,
            wanted,
            "{}: UPDATE_DOCS=1 writes it again; review the difference",
            golden.display()
        );
        let params: Value =
            serde_json::from_str(&fs::read_to_string(&file).expect("it is readable")).expect("JSON");
        let printed: BTreeMap<String, String> = wanted
            .lines()
            .filter_map(|line| line.split_once("  "))
            .map(|(feature, surface)| (feature.to_owned(), surface.trim().to_owned()))
            .collect();
        assert_eq!(answered(&params), printed, "{}", file.display());
    }
}

/// Returns the server's own offer to a client with this offer, or its error.
fn offer(agent: Value) -> Result<Value, (i64, String)> {
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    let rig = Rig::connect(&workspace, Options::new(&workspace).capabilities(Capabilities::bare()));
    let params = json!({"processId": null, "capabilities": {"experimental": {"agent": agent}}});
    let answer = rig.request("initialize", params);
    if answer.is_ok() {
        rig.end();
    } else {
        rig.die();
    }
    answer
        .map(|answer| answer["capabilities"]["experimental"]["agent"].clone())
        .map_err(|error| (error.code, error.message))
}

#[test]
fn whatever_version_a_client_knows_the_server_answers_the_one_it_uses() {
    for version in
        [json!({"version": 0}), json!({"version": 7}), json!({"version": u32::MAX}), json!({}), json!(null)]
    {
        assert_eq!(offer(version.clone()).map(|answer| answer["version"].clone()), Ok(json!(0)), "{version}");
    }
}

#[test]
fn what_is_unknown_in_an_offer_is_ignored_and_what_is_wrong_is_named() {
    let later = json!({
        "updates": {"chunks": true, "batches": 3}, "holograms": {"depth": 4}, "asks": {"request": true, "voice": "alto"}
    });
    let answer = offer(later).expect("a later client is served");
    assert_eq!(answer["fallbacks"]["updates"], "agent/session/update, text while it streams");
    let wrong = [
        (json!(true), "capabilities.experimental.agent: "),
        (json!({"version": -1}), "capabilities.experimental.agent.version: "),
        (json!({"updates": {"chunks": "yes"}}), "capabilities.experimental.agent.updates.chunks: "),
        (
            json!({"asks": {"request": true}, "updates": {"optOut": [7]}}),
            "capabilities.experimental.agent.updates.optOut: ",
        ),
    ];
    for (agent, path) in wrong {
        let (code, message) = offer(agent.clone()).expect_err("the offer is invalid");
        assert_eq!(code, -32602, "{agent}");
        assert!(message.starts_with(path), "{agent}: {message}");
    }
}
