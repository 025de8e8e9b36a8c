//! The tarball, unpacked as a user does; and the completions and pages of the manual in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::made::{VERSION, adjutant, packages, said};

/// Unpacks the tarball and returns its only folder.
fn unpacked(scratch: &Path) -> PathBuf {
    let name = format!("adjutant-{VERSION}-x86_64-linux");
    said(
        Command::new("tar").arg("-xf").arg(packages().join(format!("{name}.tar.gz"))).arg("-C").arg(scratch),
    );
    let found: Vec<_> =
        fs::read_dir(scratch).expect("read the folder").flatten().map(|one| one.file_name()).collect();
    assert_eq!(found, [name.as_str()], "everything is in one folder");
    scratch.join(name)
}

/// Returns the words of every command that `--help` names, also of commands below commands.
fn commands(program: &Path, before: &[String], found: &mut Vec<Vec<String>>) {
    let mut arguments: Vec<&str> = before.iter().map(String::as_str).collect();
    arguments.push("--help");
    let help = adjutant(program, &arguments);
    let lines =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // Further lines of a description stand deeper.
    for line in lines.filter(|line| line.starts_with("  ") && !line.starts_with("   ")) {
        let word = line.split_whitespace().next().expect("a command");
        if word == "help" {
            continue;
        }
        let path: Vec<String> = before.iter().cloned().chain([word.to_owned()]).collect();
        found.push(path.clone());
        commands(program, &path, found);
    }
}

/// Returns what bash offers after these words.
fn offered(script: &Path, words: &[String]) -> Vec<String> {
    let line = format!("adjutant {}", words.join(" "));
    let ask = "source \"$1\"; COMP_WORDS=($2 ''); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); \
               _adjutant adjutant '' \"${COMP_WORDS[-2]}\"; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let said = said(Command::new("bash").args(["-c", ask, "bash"]).arg(script).arg(line));
    said.lines().map(str::to_owned).collect()
}

#[test]
fn n27_the_tarball_has_the_program_with_completions_and_manual_for_every_command() {
    let scratch = tempfile::tempdir().expect("make a folder");
    let folder = unpacked(scratch.path());
    let program = folder.join("bin/adjutant");
    assert_eq!(adjutant(&program, &["--version"]).trim(), format!("adjutant {VERSION}"));
    for name in ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "CHANGELOG.md"] {
        assert!(folder.join("share/doc/adjutant").join(name).is_file(), "{name}");
    }
    let bash = folder.join("share/bash-completion/completions/adjutant");
    let text =
        |path: &str| fs::read_to_string(folder.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let zsh = text("share/zsh/vendor-completions/_adjutant");
    let fish = text("share/fish/vendor_completions.d/adjutant.fish");
    assert!(zsh.starts_with("#compdef adjutant\n"), "{zsh}");

    let mut all = Vec::new();
    commands(&program, &[], &mut all);
    assert!(all.len() > 20, "only {all:?} were found");
    let mut wrong = Vec::new();
    for path in &all {
        let (word, before) = path.split_last().expect("a command");
        let page = folder.join(format!("share/man/man1/adjutant-{}.1.gz", path.join("-")));
        let checks = [
            ("bash", offered(&bash, before).contains(word)),
            ("zsh", zsh.contains(&format!("({word})"))),
            ("fish", fish.contains(&format!("-a \"{word}\""))),
            ("man", page.is_file()),
        ];
        let missing = checks.iter().filter(|(_, is_there)| !is_there);
        wrong.extend(missing.map(|(place, _)| format!("{place}: {}", path.join(" "))));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let page = said(Command::new("gzip").arg("-dc").arg(folder.join("share/man/man1/adjutant.1.gz")));
    assert!(page.contains(".TH adjutant 1"), "{page}");
}

/// The files are those that the command prints, so that both ways give the same.
#[test]
fn n27_the_completions_of_a_package_are_those_of_the_command() {
    let scratch = tempfile::tempdir().expect("make a folder");
    let folder = unpacked(scratch.path());
    for (shell, file) in [
        ("bash", "share/bash-completion/completions/adjutant"),
        ("zsh", "share/zsh/vendor-completions/_adjutant"),
        ("fish", "share/fish/vendor_completions.d/adjutant.fish"),
    ] {
        let printed = adjutant(&folder.join("bin/adjutant"), &["completions", shell]);
        assert_eq!(fs::read_to_string(folder.join(file)).expect(file), printed);
    }
    said(Command::new("bash").arg("-n").arg(folder.join("share/bash-completion/completions/adjutant")));
}
