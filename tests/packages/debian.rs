//! The package for Debian, installed and removed by the real dpkg in a folder of its own.
//!
//! Never touches the packages of this machine, which may have Adjutant installed.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::made::{VERSION, adjutant, packages, said};

/// dpkg with a system that is a folder.
fn dpkg(system: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("dpkg");
    // dpkg looks for tools of an administrator, which the PATH of a user lacks.
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").expect("a PATH"));
    command.env("PATH", path).arg(format!("--root={}", system.display()));
    said(command.arg("--force-not-root").arg("--log=/dev/null").args(arguments))
}

/// Returns all files and folders of the system but those of dpkg itself.
fn below(system: &Path) -> BTreeSet<String> {
    let said = said(
        Command::new("find").arg(".").args(["-path", "./var", "-prune", "-o", "-print"]).current_dir(system),
    );
    said.lines().map(str::to_owned).collect()
}

/// Makes a system that has the C library of this machine and nothing else, so that dependencies are checked.
fn system(folder: &Path) {
    let state = folder.join("var/lib/dpkg");
    for name in ["info", "updates", "triggers"] {
        fs::create_dir_all(state.join(name)).expect("make the folders of dpkg");
    }
    let library = said(Command::new("dpkg-query").args([
        "--show",
        "--showformat=Package: libc6\nStatus: install ok installed\nMaintainer: none\nArchitecture: amd64\nMulti-Arch: same\nVersion: ${Version}\nDescription: -\n\n",
        "libc6:amd64",
    ]));
    fs::write(state.join("status"), library).expect("write the list of packages");
    fs::write(state.join("info/format"), "1\n").expect("write the format");
    fs::write(state.join("info/libc6:amd64.list"), "").expect("write the files of the C library");
}

#[test]
fn n27_the_debian_package_is_installed_runs_and_leaves_nothing_behind() {
    let scratch = tempfile::tempdir().expect("make a folder");
    let root = scratch.path();
    system(root);
    let before = below(root);
    let package = packages().join(format!("adjutant_{VERSION}_amd64.deb"));
    dpkg(root, &["--install", &package.display().to_string()]);

    assert_eq!(
        adjutant(&root.join("usr/bin/adjutant"), &["--version"]).trim(),
        format!("adjutant {VERSION}")
    );
    let status = dpkg(root, &["--status", "adjutant"]);
    assert!(
        status.contains("Status: install ok installed") && status.contains("Depends: libc6 (>= 2.28)"),
        "{status}"
    );
    let files = dpkg(root, &["--listfiles", "adjutant"]);
    for file in [
        "/usr/share/man/man1/adjutant-run.1.gz",
        "/usr/share/bash-completion/completions/adjutant",
        "/usr/share/zsh/vendor-completions/_adjutant",
        "/usr/share/fish/vendor_completions.d/adjutant.fish",
        "/usr/share/doc/adjutant/copyright",
    ] {
        assert!(files.lines().any(|line| line == file), "{file} in {files}");
        assert!(root.join(&file[1..]).is_file(), "{file}");
    }
    assert_eq!(dpkg(root, &["--verify", "adjutant"]), "", "the checksums of the files");

    dpkg(root, &["--purge", "adjutant"]);
    assert_eq!(below(root), before, "what stays after the removal");
}
