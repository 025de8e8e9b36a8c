//! The package for VS Code that carries the program: for a host that has nothing else of Adjutant.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::made::{VERSION, adjutant, packages, repository, said};

fn package() -> PathBuf {
    packages().join(format!("adjutant-{VERSION}-linux-x64.vsix"))
}

/// Returns a program of the editors of the tests.
fn of_editors(part: &str) -> PathBuf {
    let editors = std::env::var_os("ADJUTANT_EDITORS")
        .map_or_else(|| repository().join("target/editors"), PathBuf::from);
    let program = editors.join(part);
    assert!(program.is_file(), "{} is missing; run tests/editors/install.sh", program.display());
    program
}

/// Installs the package with the VS Code of the tests and returns the folder of the extension.
fn installed(scratch: &Path) -> PathBuf {
    let program = of_editors("vscode/code-server");
    // The discard port: no program listens on port 9 of this machine.
    let nowhere = "http://127.0.0.1:9";
    let mut command = Command::new(program);
    command.env_clear().env("PATH", std::env::var_os("PATH").expect("a PATH")).env("HOME", scratch).env(
        "EXTENSIONS_GALLERY",
        format!(
            "{{\"serviceUrl\":\"{nowhere}\",\"itemUrl\":\"{nowhere}\",\"resourceUrlTemplate\":\"{nowhere}\"}}"
        ),
    );
    let extensions = scratch.join("extensions");
    command.arg("--user-data-dir").arg(scratch.join("user")).arg("--extensions-dir").arg(&extensions);
    said(command.arg("--install-extension").arg(package()));
    let found = fs::read_dir(extensions).expect("read the extensions").flatten();
    let mut found = found.filter(|one| one.file_name().to_string_lossy().starts_with("adjutant."));
    found.next().expect("the extension").path()
}

#[test]
fn n27_vscode_installs_the_package_that_carries_the_program_and_the_program_runs_there() {
    let scratch = tempfile::tempdir().expect("make a folder");
    let program = installed(scratch.path()).join("bin/adjutant");
    assert_eq!(adjutant(&program, &["--version"]).trim(), format!("adjutant {VERSION}"));
    let bytes = |path: &Path| fs::read(path).expect("read the program");
    assert!(bytes(&program) == bytes(&packages().join("adjutant")), "the program of the packages");
}

#[test]
fn n27_the_package_that_carries_the_program_names_its_platform_and_is_the_same_extension() {
    let scratch = tempfile::tempdir().expect("make a folder");
    let plain = scratch.path().join("plain.vsix");
    adjutant(&packages().join("adjutant"), &["editor", "vscode", "--to", &plain.display().to_string()]);
    let unpack = |package: &Path, name: &str| {
        let to = scratch.path().join(name);
        said(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(package).arg(&to));
        to
    };
    let (plain, carrying) = (unpack(&plain, "plain"), unpack(&package(), "carrying"));
    let description = fs::read_to_string(carrying.join("extension.vsixmanifest")).expect("the description");
    assert!(description.contains("TargetPlatform=\"linux-x64\" Id=\"adjutant\""), "{description}");
    let differs = Command::new("diff").arg("-rq").args([&plain, &carrying]).output().expect("run diff");
    let differs = String::from_utf8_lossy(&differs.stdout).into_owned();
    let lines: Vec<&str> = differs.lines().collect();
    assert_eq!(lines.len(), 2, "{differs}");
    assert!(
        differs.contains("extension.vsixmanifest differ") && differs.contains("/extension: bin"),
        "{differs}"
    );
}

/// The file of the extension that chooses, with a setting that VS Code would give it.
fn chosen(folder: &Path, set: &str) -> String {
    let ask = "console.log(require(process.argv[1]).serverPath())";
    let module = folder.join("src/settings.js");
    said(Command::new("node").args(["-e", ask]).arg(module).env("SET_PATH", set)).trim().to_owned()
}

#[test]
fn n27_the_extension_starts_the_program_that_is_set_or_else_the_carried_one_or_else_that_of_path() {
    let scratch = tempfile::tempdir().expect("make a folder");
    let folder = scratch.path();
    for name in ["src", "node_modules/vscode"] {
        fs::create_dir_all(folder.join(name)).expect("make a folder");
    }
    let mut esbuild = Command::new(of_editors("vscode-extension/node_modules/.bin/esbuild"));
    esbuild.args(["--bundle", "--platform=node", "--external:vscode", "--log-level=warning"]);
    esbuild.arg(format!("--outfile={}", folder.join("src/settings.js").display()));
    said(esbuild.arg("src/settings.ts").current_dir(repository().join("editors/vscode")));
    let settings = "const globalValue = process.env.SET_PATH || undefined;\n\
                    module.exports = { workspace: { getConfiguration: () => ({ inspect: () => ({ globalValue }) }) } };\n";
    fs::write(folder.join("node_modules/vscode/index.js"), settings).expect("write the settings");
    assert_eq!(chosen(folder, ""), "adjutant");
    fs::create_dir(folder.join("bin")).expect("make a folder");
    fs::write(folder.join("bin/adjutant"), "").expect("write a program");
    assert_eq!(chosen(folder, ""), folder.join("bin/adjutant").display().to_string());
    assert_eq!(chosen(folder, "/opt/adjutant"), "/opt/adjutant");
}
