//! Completion of mentions in a workspace of a hundred thousand files: the first answer that has all names, and each one after it.
//!
//! Asserts that the file that is meant comes first.

use std::fs;
use std::time::Instant;

use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::{Value, json};

use super::figures::{Bench, Stage};
use super::samples::{Samples, ms};
use super::workspace::Workspace;

const FILES: usize = 100_000;
const FILES_OF_FOLDER: usize = 100;
/// Each is typed letter by letter, so many times.
const TIMES: usize = 5;
/// What is typed, and what comes first then.
const TYPED: [(&str, &str); 4] = [
    ("@cart99950", "packages/part_99/module_999/cart_99950.ts"),
    ("@module_7/", "packages/part_0/module_7/cart_700.ts"),
    ("@pm5cart_513", "packages/part_0/module_5/cart_513.ts"),
    ("@zzznothing", ""),
];

/// Measures completion in a tree of a hundred thousand files.
pub fn mentions(bench: &Bench, samples: &mut Samples) {
    let folder = tempfile::TempDir::new_in(bench.directory).expect("the directory can be written");
    let root = folder.path().join("many");
    for module in 0..FILES / FILES_OF_FOLDER {
        let inside = root.join(format!("packages/part_{}/module_{module}", module / 10));
        fs::create_dir_all(&inside).expect("the workspace can be made");
        for file in 0..FILES_OF_FOLDER {
            let name = format!("cart_{}.ts", module * FILES_OF_FOLDER + file);
            fs::write(inside.join(name), "").expect("the workspace can be written");
        }
    }
    let workspace = Workspace { root, read: Vec::new(), edited: String::new() };
    let bench = Bench { program: bench.program, directory: bench.directory, workspace: &workspace };
    let mut stage = bench.stage(ModelServer::answering(|_| Reply::text("Done.").at_once()));
    let begin = Instant::now();
    let first = complete(&mut stage, TYPED[0].0).1;
    while complete(&mut stage, TYPED[0].0).0 != TYPED[0].1 {}
    samples.add("mention names", vec![ms(begin.elapsed())]);
    let mut all = vec![first];
    for _ in 0..TIMES {
        for (typed, best) in TYPED {
            for end in 1..=typed.len() {
                let (label, took) = complete(&mut stage, &typed[..end]);
                all.push(took);
                assert!(end < typed.len() || label == best, "{typed}: {label}");
            }
        }
    }
    samples.add("mention", all);
}

/// Completes a prompt at its end; returns the first label, and the milliseconds until the answer.
fn complete(stage: &mut Stage, text: &str) -> (String, f64) {
    let sent = Instant::now();
    let answer =
        stage.client.request("agent/prompt/complete", &json!({ "text": text, "offset": text.len() }));
    let took = ms(answer.at.saturating_duration_since(sent));
    let label = answer.body.pointer("/result/items/0/label").and_then(Value::as_str);
    (label.unwrap_or_default().to_owned(), took)
}
