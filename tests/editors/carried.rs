//! The extension that `adjutant editor` installs, in the real VS Code; and the built extension in the repository, which the program
//! carries. The scenes of Neovim are in `neovim/installed.rs`.
//!
//! Never installs into a folder that other tests use.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::scenes;
use crate::stage::{SERVER, Stage, installed, shipped};

/// Runs `adjutant editor` in the home of a stage.
pub fn editor(stage: &Stage, arguments: &[&str]) -> Output {
    let mut command = Command::new(SERVER);
    command.arg("editor").args(arguments).env_clear().envs(stage.env());
    // The discard port: no program listens on port 9 of this machine.
    let nowhere = "http://127.0.0.1:9";
    command.env(
        "EXTENSIONS_GALLERY",
        format!(
            "{{\"serviceUrl\":\"{nowhere}\",\"itemUrl\":\"{nowhere}\",\"resourceUrlTemplate\":\"{nowhere}\"}}"
        ),
    );
    let output = command.current_dir(stage.workspace.path()).output().expect("run adjutant");
    let all = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{arguments:?}: {}{}", all(&output.stdout), all(&output.stderr));
    output
}

/// Returns a text with single spaces only.
fn flat(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a path below the folder for data of a stage.
pub fn data(stage: &Stage, path: &str) -> PathBuf {
    let home = stage.env().into_iter().find(|(name, _)| name == "XDG_DATA_HOME").expect("a folder for data");
    Path::new(&home.1).join(path)
}

#[test]
fn n27_vscode_installs_lists_and_removes_the_package_of_the_command() {
    let stage = scenes::silence();
    let program = installed("vscode").join("code-server").display().to_string();
    let with = ["vscode", "--with", &program];
    for _ in 0..2 {
        let said = flat(&editor(&stage, &with));
        assert!(
            said.contains(&format!("✓ Adjutant {} is installed in ", env!("CARGO_PKG_VERSION"))),
            "{said}"
        );
    }
    // VS Code does not look at the checksums; other readers do.
    let package = data(&stage, "adjutant/editors/vscode/adjutant.vsix");
    let sound = Command::new("python3").args(["-m", "zipfile", "-t"]).arg(package).output();
    assert_eq!(flat(&sound.expect("run Python")), "Done testing");
    let extensions = data(&stage, "code-server/extensions");
    let folder = extensions.join(format!("adjutant.adjutant-{}", env!("CARGO_PKG_VERSION")));
    for file in ["dist/extension.js", "dist/chat.js", "dist/chat.css", "dist/licences.txt", "README.md"] {
        let there = fs::read(folder.join(file)).unwrap_or_else(|error| panic!("read {file}: {error}"));
        assert!(there == fs::read(shipped("editors/vscode").join(file)).expect("a shipped file"), "{file}");
    }
    let list = |stage: &Stage| {
        let mut command = Command::new(&program);
        command.args(["--list-extensions", "--show-versions"]).env_clear().envs(stage.env());
        flat(&command.output().expect("run code-server"))
    };
    assert_eq!(list(&stage), format!("adjutant.adjutant@{}", env!("CARGO_PKG_VERSION")));
    let said = flat(&editor(&stage, &["vscode", "--remove", "--with", &program]));
    assert!(said.contains("is removed from "), "{said}");
    assert_eq!(list(&stage), "");
}

/// Returns the files of a folder by name.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let file = |entry: fs::DirEntry| {
        let text = fs::read_to_string(entry.path()).expect("a built file is text");
        (entry.file_name().to_string_lossy().into_owned(), text)
    };
    entries.map(file).collect()
}

/// The types of the wire are those that the server generates, and a wrong one is found.
#[test]
fn n27_the_sources_of_the_extension_fit_their_types_and_those_of_the_wire() {
    let place = tempfile::tempdir().expect("a folder");
    let scratch = place.path().join("editors/vscode");
    let types = place.path().join("docs/protocol");
    for folder in [&scratch, &types] {
        fs::create_dir_all(folder).expect("make a folder");
    }
    let copied = ["package.json", "tsconfig.json", "src", "page"];
    let copied = copied.map(|name| shipped("editors/vscode").join(name));
    let done = Command::new("cp").arg("-r").args(copied).arg(&scratch).status().expect("run cp");
    assert!(done.success(), "the sources could not be copied");
    fs::copy(shipped("docs/protocol/protocol.d.ts"), types.join("protocol.d.ts")).expect("copy the types");
    symlink(installed("vscode-extension/node_modules"), scratch.join("node_modules"))
        .expect("link the packages");
    let check = || {
        let mut tsc = Command::new(scratch.join("node_modules/.bin/tsc"));
        let said = tsc.args(["-p", "."]).current_dir(&scratch).output().expect("run tsc");
        (said.status.success(), String::from_utf8_lossy(&said.stdout).into_owned())
    };
    assert_eq!(check(), (true, String::new()));
    // A field that the server does not send.
    let wrong =
        "import type { ReviewHunk } from './wire';\nexport const of = (hunk: ReviewHunk) => hunk.author;\n";
    fs::write(scratch.join("src/wrong.ts"), wrong).expect("write a wrong source");
    let (fits, said) = check();
    assert!(!fits && said.contains("src/wrong.ts") && said.contains("'author'"), "{said}");
}

/// `cargo build` needs no Node, because the built extension is in the repository. `UPDATE_DOCS` builds it again.
#[test]
fn n27_the_bundle_in_the_repository_is_built_from_its_sources() {
    let place = tempfile::tempdir().expect("a folder");
    let (sources, scratch) = (shipped("editors/vscode"), place.path());
    // Copies, because esbuild looks for packages above the real place of a source.
    let copied = ["package.json", "bundle.mjs", "src", "page"].map(|name| sources.join(name));
    let done = Command::new("cp").arg("-r").args(copied).arg(scratch).status().expect("run cp");
    assert!(done.success(), "the sources could not be copied");
    symlink(installed("vscode-extension/node_modules"), scratch.join("node_modules"))
        .expect("link the packages");
    let output = Command::new("node").arg("bundle.mjs").current_dir(scratch).output();
    let output = output.expect("run Node");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (built, kept) = (files(&scratch.join("dist")), sources.join("dist"));
    assert_eq!(built.len(), 4, "{:?}", built.keys());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let _ = fs::remove_dir_all(&kept);
        fs::create_dir(&kept).expect("make the folder");
        for (name, text) in &built {
            fs::write(kept.join(name), text).expect("write a built file");
        }
    }
    let kept = files(&kept);
    let mut other: Vec<&String> =
        built.keys().chain(kept.keys()).filter(|name| built.get(*name) != kept.get(*name)).collect();
    other.dedup();
    assert!(
        other.is_empty(),
        "{other:?} of editors/vscode/dist differ from what their sources make; build them again with \
         `UPDATE_DOCS=1 cargo test -p adjutant --test editors -- bundle`"
    );
}
