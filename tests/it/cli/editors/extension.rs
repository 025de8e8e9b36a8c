//! `adjutant editor vscode`: which program it gives the extension to, and the package as a file.
//!
//! Never starts an editor: scripts stand for the programs.

use std::fs;
use std::process::Command;

use adjutant_testkit::process::{is_running, wait_until};

use super::{VERSION, flat};
use crate::cli::{DONE, Place, Running};
use crate::tidy::source::root;

/// Says which version it has, as `code --list-extensions --show-versions` does.
const LISTS: &str = "case $1 in --list-extensions) echo other.one@2.0.0; echo adjutant.adjutant@0.1.0;; esac";

#[test]
fn n27_the_extension_is_installed_by_the_first_program_or_the_named_one() {
    let place = Place::new(DONE);
    for name in ["code-server", "cursor", "codium"] {
        place.program(name, LISTS);
    }
    let said = flat(&place.editor(&["vscode"]).exits(0).out());
    assert!(said.contains(&format!("✓ Adjutant {VERSION} is installed in VSCodium")), "{said}");
    assert!(
        said.contains("Also on PATH: cursor, code-server. `adjutant editor vscode --with cursor`"),
        "{said}"
    );
    place.editor(&["vscode", "--with", "code-server"]).exits(0);
    let named = place.path("bin/cursor");
    place.editor(&["vscode", "--with", named.to_str().unwrap()]).exits(0);
    let package = "HOME/.local/share/adjutant/editors/vscode/adjutant.vsix";
    let install = format!("--install-extension {package} --force\n");
    assert_eq!(
        place.calls(),
        ["codium ", "code-server ", "cursor "].map(|name| format!("{name}{install}")).concat()
    );
    let said = flat(&place.editor(&["vscode", "--remove"]).exits(0).out());
    assert!(said.contains("✓ Adjutant 0.1.0 is removed from VSCodium"), "{said}");
    assert!(place.calls().ends_with(
        "codium --list-extensions --show-versions\ncodium --uninstall-extension adjutant.adjutant\n"
    ));
    assert!(!place.data("adjutant/editors").exists());
    let ran = place.editor(&["vscode", "--with", "no-such"]).exits(2);
    assert!(ran.err().contains("there is no program \"no-such\""), "{}", ran.err());
    place.program("codium", "echo no.such@1.0.0");
    let said = flat(&place.editor(&["vscode", "--remove"]).exits(0).out());
    assert!(said.contains("There is nothing to remove: VSCodium does not have the extension"), "{said}");
}

#[test]
fn n27_a_program_that_is_missing_or_fails_is_said_with_the_place_of_the_package() {
    let place = Place::new(DONE);
    let ran = place.editor(&["vscode"]).exits(1);
    let package = place.data("adjutant/editors/vscode/adjutant.vsix");
    let said = flat(&ran.err());
    assert!(said.contains("none of code, codium, cursor, code-server is on PATH"), "{said}");
    assert!(said.contains(&format!("The extension is in {}. Install it", package.display())), "{said}");
    assert!(package.is_file());
    let said = flat(&place.editor(&["vscode", "--remove"]).exits(1).err());
    assert!(said.contains("so the extension itself was not removed"), "{said}");
    assert!(!package.exists());
    place.program("code", "printf 'no room\\033[2J\\n'; echo really >&2; exit 7");
    let said = place.editor(&["vscode"]).exits(1).err();
    assert!(said.contains("/bin/code failed. It printed:\nno room") && said.contains("\nreally\n"), "{said}");
    assert!(!said.contains('\u{1b}') && package.is_file(), "{said}");
    assert!(flat(&said).contains("Correct what code says, then run this again."), "{said}");
    place.program("code", "exit 7");
    assert!(place.editor(&["vscode", "--remove"]).exits(1).err().contains("failed and printed nothing"));
}

#[test]
fn n27_an_interrupt_ends_the_program_of_the_editor_and_all_that_it_started() {
    let place = Place::new(DONE);
    let (fifo, pid) = (place.path("fifo"), place.path("pid"));
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let line = format!("/bin/sh -c 'read line <\"{}\"' & echo $! >'{}'; wait", fifo.display(), pid.display());
    place.program("code", &line);
    for arguments in [&["vscode"][..], &["vscode", "--remove"], &[]] {
        let _ = fs::remove_file(&pid);
        let running = Running { child: place.editor_command(arguments).spawn().unwrap() };
        let started = || fs::read_to_string(&pid).ok()?.trim().parse::<u32>().ok();
        wait_until("the program of the editor", || started().is_some());
        running.signal(rustix::process::Signal::INT);
        running.ended().exits(130);
        wait_until("the end of what it started", || started().is_some_and(|pid| !is_running(pid)));
    }
}

#[test]
fn n27_the_package_can_be_written_to_a_file_and_overwrites_only_another_package() {
    let place = Place::new(DONE);
    let to = |name: &str| place.editor(&["vscode", "--to", place.path(name).to_str().unwrap()]);
    let said = flat(&to("a.vsix").exits(0).out());
    assert!(said.contains("✓ Adjutant ") && said.contains("Next: where VS Code is"), "{said}");
    let package = fs::read(place.path("a.vsix")).unwrap();
    fs::write(place.path("a.vsix"), [&package[..100], b"of another version"].concat()).unwrap();
    to("a.vsix").exits(0);
    assert!(fs::read(place.path("a.vsix")).unwrap() == package, "equal packages are equal files");
    fs::write(place.path("notes"), "notes").unwrap();
    assert!(to("notes").exits(1).err().contains("another file is there; name a new one"));
    assert_eq!(fs::read_to_string(place.path("notes")).unwrap(), "notes");
    assert!(to("workspace").exits(1).err().contains("it is a folder; name a file in it"));
    assert!(to("no/such/a.vsix").exits(1).err().contains("could not write"));
    place.editor(&["vscode", "--to", "x", "--with", "code"]).exits(2);
    assert!(!place.path("home").exists(), "only the file was written");
    for (name, source) in [
        ("extension/package.json", "package.json"),
        ("extension/README.md", "README.md"),
        ("extension/dist/licences.txt", "dist/licences.txt"),
    ] {
        let source = fs::read(root().join("editors/vscode").join(source)).unwrap();
        let whole = [name.as_bytes(), &source].concat();
        let has = package.windows(whole.len()).any(|window| window == whole);
        assert!(has, "{name} is not in the package as it is in the repository");
    }
}

#[test]
fn n27_the_extension_has_the_version_of_the_server() {
    let package = fs::read_to_string(root().join("editors/vscode/package.json")).unwrap();
    let package: serde_json::Value = serde_json::from_str(&package).unwrap();
    assert_eq!(package["version"], VERSION, "editors/vscode/package.json");
}
