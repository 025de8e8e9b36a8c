//! `adjutant editor` through the real binary: what it writes into a home, what it leaves there, and what it says.
//!
//! Never starts an editor: scripts stand for the programs of VS Code's kind, which are not Adjutant's. The real ones are in
//! `tests/editors`.

mod extension;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use adjutant::faults::CLIENT_POINTS;
use adjutant_core::digest_parts;
use adjutant_testkit::nobody::{NOBODY, as_nobody, give};

use super::{DONE, Place, Ran, Running};
use crate::tidy::source::root;

const VERSION: &str = env!("CARGO_PKG_VERSION");
const LIST: &str = "installed-by-adjutant.txt";

impl Place {
    /// Returns a path below the folder for data in this home.
    fn data(&self, path: &str) -> PathBuf {
        self.path("home/.local/share").join(path)
    }

    fn plugin(&self) -> PathBuf {
        self.data("nvim/site/pack/adjutant/start/adjutant")
    }

    /// Runs `adjutant editor` where only the programs in `bin` are found.
    fn editor(&self, arguments: &[&str]) -> Ran {
        Running { child: self.editor_command(arguments).spawn().unwrap() }.ended()
    }

    fn editor_command(&self, arguments: &[&str]) -> Command {
        fs::create_dir_all(self.path("bin")).unwrap();
        let mut command = self.command(&[&["editor"], arguments].concat());
        command.env("PATH", self.path("bin"));
        command
    }

    /// Makes a program that notes how it was called, and then runs a line of shell.
    fn program(&self, name: &str, line: &str) {
        fs::create_dir_all(self.path("bin")).unwrap();
        let path = self.path("bin").join(name);
        let calls = self.path("calls");
        let script = format!("#!/bin/sh\necho {name} \"$@\" >>'{}'\n{line}\n", calls.display());
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Returns how the programs were called, with `HOME` for the home.
    fn calls(&self) -> String {
        let home = self.path("home").display().to_string();
        fs::read_to_string(self.path("calls")).unwrap_or_default().replace(&home, "HOME")
    }
}

/// Returns every file below a folder with its bytes; a link is one too, with its target.
fn files_in(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(&inner).into_iter().flatten().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_symlink() {
                found.insert(name, fs::read_link(path).unwrap().to_str().unwrap().into());
            } else {
                found.insert(name, fs::read(path).unwrap());
            }
        }
    }
    found
}

/// Returns a text with single spaces only, because a terminal wraps it.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns what `adjutant editor nvim` has to write, from the sources of the plugin.
fn plugin_sources() -> BTreeMap<String, Vec<u8>> {
    let nvim = root().join("editors/nvim");
    let mut wanted = BTreeMap::new();
    for folder in ["doc", "lsp", "lua", "plugin"] {
        for (name, bytes) in files_in(&nvim.join(folder)) {
            wanted.insert(format!("{folder}/{name}"), bytes);
        }
    }
    wanted.remove("doc/tags");
    assert!(wanted.len() > 15, "{:?}", wanted.keys());
    wanted.insert("plugin/adjutant_start.lua".to_owned(), fs::read(nvim.join("start.lua")).unwrap());
    wanted
}

/// Asserts that the plugin is whole, with these files of the user.
#[track_caller]
fn assert_whole(place: &Place, users: &[(&str, &str)]) {
    let mut found = files_in(&place.plugin());
    let list = found.remove(LIST).map(|text| String::from_utf8(text).unwrap()).unwrap_or_default();
    assert!(list.starts_with(&format!("Adjutant {VERSION} wrote these files")), "{list}");
    let tags = String::from_utf8(found.remove("doc/tags").unwrap_or_default()).unwrap();
    assert!(tags.lines().any(|line| line == ":Adjutant\tadjutant.txt\t/*:Adjutant*"), "{tags}");
    for (path, text) in users {
        let there = found.remove(*path).map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(there.as_deref(), Some(*text), "{path}");
    }
    let wanted = plugin_sources();
    let missing: Vec<&String> = wanted.keys().filter(|path| !found.contains_key(*path)).collect();
    assert!(
        missing.is_empty(),
        "the binary does not carry these files of editors/nvim; add them to server/src/cli/editor/carried.rs: {missing:?}"
    );
    assert!(found == wanted, "other files: {:?}, wanted {:?}", found.keys(), wanted.keys());
}

/// Makes the installed plugin look like that of an older version, which had one more file.
fn make_older(place: &Place) {
    let list = place.plugin().join(LIST);
    let old = "-- of an older version\n";
    fs::create_dir_all(place.plugin().join("lua/adjutant/old")).unwrap();
    let mut text = fs::read_to_string(&list).unwrap().replacen(VERSION, "0.0.9", 1);
    for path in ["lua/adjutant/asks.lua", "lua/adjutant/old/gone.lua"] {
        fs::write(place.plugin().join(path), old).unwrap();
        let line = |text: &str| text.lines().find(|line| line.ends_with(path)).map(str::to_owned);
        if let Some(line) = line(&text) {
            text = text.replace(&format!("{line}\n"), "");
        }
        text += &format!("{}  {path}\n", digest_parts(&[old.as_bytes()]));
    }
    fs::write(&list, text).unwrap();
}

/// Returns what is next to the folder of the plugin.
fn beside_the_plugin(place: &Place) -> Vec<String> {
    let entries = fs::read_dir(place.data("nvim/site/pack/adjutant")).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    names.filter(|name| name != "start").collect()
}

#[test]
fn n27_the_plugin_for_neovim_is_written_updated_and_removed() {
    let place = Place::new(DONE);
    let said = flat(&place.editor(&["nvim"]).exits(0).out());
    let folder = place.plugin().display().to_string();
    for text in [&format!("✓ Adjutant for Neovim {VERSION} is installed: {folder}"), "type `:Adjutant`"] {
        assert!(said.contains(text), "{text:?} is missing in {said}");
    }
    assert!(
        said.contains("Editors look for `adjutant` on PATH, and it is not there: add the folder "),
        "{said}"
    );
    assert_whole(&place, &[]);
    assert!(!place.path("home/.config").exists(), "the user's settings are not touched");
    make_older(&place);
    let said = flat(&place.editor(&["nvim"]).exits(0).out());
    assert!(said.contains(&format!("✓ Adjutant for Neovim {VERSION} replaces version 0.0.9: ")), "{said}");
    assert_whole(&place, &[]);
    assert!(flat(&place.editor(&["nvim"]).exits(0).out()).contains("is installed again: "));
    assert_whole(&place, &[]);
    let said = flat(&place.editor(&["nvim", "--remove"]).exits(0).out());
    assert_eq!(said, format!("✓ Adjutant for Neovim is removed: {folder}"));
    assert!(!place.data("nvim/site/pack/adjutant").exists() && place.data("nvim/site/pack").exists());
    let said = flat(&place.editor(&["nvim", "--remove"]).exits(0).out());
    assert!(said.starts_with("There is nothing to remove: "), "{said}");
}

#[test]
fn n27_files_that_the_user_changed_or_added_stay_and_are_named() {
    let place = Place::new(DONE);
    place.editor(&["nvim"]).exits(0);
    let plugin = place.plugin();
    fs::write(plugin.join("lua/adjutant/asks.lua"), "changed").unwrap();
    fs::write(plugin.join("lua/mine.lua"), "mine").unwrap();
    fs::create_dir(plugin.join("after")).unwrap();
    fs::write(plugin.join("after/it.lua"), "after").unwrap();
    symlink("/no/such/place", plugin.join("link")).unwrap();
    let said = flat(&place.editor(&["nvim"]).exits(0).out());
    let renamed = "You changed lua/adjutant/asks.lua. Your text is in lua/adjutant/asks.lua.yours now.";
    assert!(said.contains(renamed), "{said}");
    let users = [
        ("lua/adjutant/asks.lua.yours", "changed"),
        ("lua/mine.lua", "mine"),
        ("after/it.lua", "after"),
        ("link", "/no/such/place"),
    ];
    assert_whole(&place, &users);
    assert_eq!(beside_the_plugin(&place), [""; 0]);
    // A second change gets a name of its own.
    fs::write(plugin.join("lua/adjutant/asks.lua"), "changed again").unwrap();
    place.editor(&["nvim"]).exits(0);
    assert_whole(&place, &[&users[..], &[("lua/adjutant/asks.lua.yours-2", "changed again")]].concat());
    fs::write(plugin.join("plugin/adjutant.lua"), "left").unwrap();
    let said = flat(&place.editor(&["nvim", "--remove"]).exits(0).out());
    let left = files_in(&plugin);
    let names: Vec<&str> = left.keys().map(String::as_str).collect();
    let expected = [
        "after/it.lua",
        "link",
        "lua/adjutant/asks.lua.yours",
        "lua/adjutant/asks.lua.yours-2",
        "lua/mine.lua",
        "plugin/adjutant.lua",
    ];
    assert_eq!(names, expected);
    // What was added as a whole folder is named as one.
    for name in ["after", "link", "lua/adjutant/asks.lua.yours", "lua/mine.lua", "plugin/adjutant.lua"] {
        assert!(said.contains(&format!("You added or changed {name}. It is left there.")), "{name}: {said}");
    }
    // A file of the user in the place of one of the plugin is in the way, and is not overwritten.
    let said = flat(&place.editor(&["nvim"]).exits(1).err());
    assert!(
        said.contains("Adjutant did not write the files in it, such as plugin/adjutant.lua; move"),
        "{said}"
    );
    assert_eq!(files_in(&plugin), left);
    fs::remove_file(plugin.join("plugin/adjutant.lua")).unwrap();
    place.editor(&["nvim"]).exits(0);
    assert_whole(&place, &[&users[..], &[("lua/adjutant/asks.lua.yours-2", "changed again")]].concat());
}

#[test]
fn n27_a_kill_leaves_the_old_client_or_the_new_one_and_the_next_run_finishes() {
    for point in CLIENT_POINTS {
        let place = Place::new(DONE);
        place.editor(&["nvim"]).exits(0);
        make_older(&place);
        fs::write(place.plugin().join("lua/adjutant/mine.lua"), "mine").unwrap();
        let (old, removes) = (files_in(&place.plugin()), point == "client-aside");
        let mut command = place.editor_command(if removes { &["nvim", "--remove"] } else { &["nvim"] });
        command.env("ADJUTANT_FAULT", format!("{point}:1"));
        let killed = Running { child: command.spawn().unwrap() }.ended();
        assert_eq!(killed.code(), None, "{point}: {}", killed.err());
        match point {
            "client-exchanged" => assert_whole(&place, &[]),
            "client-aside" => assert!(!place.plugin().exists(), "nothing is half there"),
            _ => assert!(files_in(&place.plugin()) == old, "{point}: the old client is not whole"),
        }
        if removes {
            place.editor(&["nvim", "--remove"]).exits(0);
            let left = files_in(&place.plugin());
            assert_eq!(left.keys().collect::<Vec<_>>(), ["lua/adjutant/mine.lua"]);
        }
        place.editor(&["nvim"]).exits(0);
        assert_whole(&place, &[("lua/adjutant/mine.lua", "mine")]);
        assert_eq!(beside_the_plugin(&place), [""; 0], "{point}");
    }
}

#[test]
fn n27_a_kill_of_the_first_installation_leaves_no_part_of_the_client() {
    let place = Place::new(DONE);
    let mut command = place.editor_command(&["nvim"]);
    command.env("ADJUTANT_FAULT", "client-written:1");
    assert_eq!(Running { child: command.spawn().unwrap() }.ended().code(), None);
    assert!(!place.plugin().exists());
    assert_eq!(beside_the_plugin(&place), [".nvim.new"]);
    place.editor(&["nvim"]).exits(0);
    assert_whole(&place, &[]);
    assert_eq!(beside_the_plugin(&place), [""; 0]);
}

/// A link in the place of what is not finished yet leads to files of the user.
#[test]
fn n27_a_link_beside_the_plugin_is_named_and_neither_followed_nor_removed() {
    let place = Place::new(DONE);
    place.editor(&["nvim"]).exits(0);
    let own = place.path("own");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("text"), "mine").unwrap();
    let workshop = place.plugin().parent().unwrap().parent().unwrap().to_owned();
    for name in [".nvim.swap", ".nvim.old", ".nvim.new"] {
        let link = workshop.join(name);
        symlink(&own, &link).unwrap();
        for more in [None, Some("--remove")] {
            let arguments: Vec<&str> = ["nvim"].into_iter().chain(more).collect();
            let said = flat(&place.editor(&arguments).exits(1).err());
            let wanted =
                format!("{name}\": Adjutant did not make what is there; move it away, then run this again");
            assert!(said.contains(&wanted), "{said}");
        }
        assert_eq!(fs::read_to_string(own.join("text")).unwrap(), "mine");
        fs::remove_file(&link).unwrap();
    }
    place.editor(&["nvim"]).exits(0);
    assert_whole(&place, &[]);
}

#[test]
fn n27_a_folder_of_the_user_beside_the_plugin_is_named_and_stays() {
    let place = Place::new(DONE);
    place.editor(&["nvim"]).exits(0);
    let own = place.plugin().parent().unwrap().parent().unwrap().join(".nvim.new");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("text"), "mine").unwrap();
    for more in [None, Some("--remove")] {
        let arguments: Vec<&str> = ["nvim"].into_iter().chain(more).collect();
        let said = flat(&place.editor(&arguments).exits(1).err());
        let wanted = ".nvim.new\": Adjutant did not make what is there; move it away, then run this again";
        assert!(said.contains(wanted), "{said}");
        assert_eq!(fs::read_to_string(own.join("text")).unwrap(), "mine");
    }
    fs::remove_dir_all(&own).unwrap();
    // What a kill has left of the first file is no folder of the user.
    fs::create_dir(&own).unwrap();
    fs::write(own.join("installed-by-adjutant.txt"), "").unwrap();
    place.editor(&["nvim"]).exits(0);
    assert_whole(&place, &[]);
}

/// Each refusal is one sentence with what to do, and nothing is changed.
#[test]
fn n27_what_is_in_the_way_is_named_and_stays() {
    let place = Place::new(DONE);
    let refused = |place: &Place, expected: &str| {
        let ran = place.editor(&["nvim"]).exits(1);
        assert_eq!(ran.out(), "");
        assert!(flat(&ran.err()).contains(expected), "{expected:?} is missing in {}", ran.err());
        assert_eq!(beside_the_plugin(place), [""; 0]);
    };
    let plugin = place.plugin();
    fs::create_dir_all(plugin.parent().unwrap()).unwrap();
    let elsewhere = place.path("clone");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, &plugin).unwrap();
    refused(&place, "it is a link to ");
    refused(&place, "which Adjutant did not make; remove the link, then run this again");
    assert_eq!(fs::read_link(&plugin).unwrap(), elsewhere);
    assert!(flat(&place.editor(&["nvim", "--remove"]).exits(1).err()).contains("it is a link to "));
    fs::remove_file(&plugin).unwrap();
    fs::write(&plugin, "a file").unwrap();
    refused(&place, "it is a file; move it away, then run this again");
    fs::remove_file(&plugin).unwrap();
    fs::create_dir_all(plugin.join("plugin")).unwrap();
    fs::write(plugin.join("plugin/adjutant.lua"), "of a clone").unwrap();
    refused(
        &place,
        "Adjutant did not write the files in it, such as plugin/adjutant.lua; move the folder away",
    );
    assert_eq!(fs::read_to_string(plugin.join("plugin/adjutant.lua")).unwrap(), "of a clone");
    let said = flat(&place.editor(&["nvim", "--remove"]).exits(0).out());
    assert!(said.starts_with("There is nothing to remove: "), "{said}");

    let place = Place::new(DONE);
    fs::create_dir_all(place.path("home/.local")).unwrap();
    fs::write(place.data(""), "a file").unwrap_err();
    fs::write(place.path("home/.local/share"), "a file").unwrap();
    let said = flat(&place.editor(&["nvim"]).exits(1).err());
    assert!(said.contains("a part of this path is a file; move it away"), "{said}");
}

#[test]
fn n27_without_a_home_or_with_an_odd_name_it_says_what_to_set() {
    let place = Place::new(DONE);
    let with = |name: &str, value: &str| {
        let mut command = place.editor_command(&["nvim"]);
        command.env(name, value);
        flat(&Running { child: command.spawn().unwrap() }.ended().exits(1).err())
    };
    assert!(with("HOME", ".").contains("set HOME to your home folder, or XDG_DATA_HOME"));
    assert!(
        with("NVIM_APPNAME", "../x").contains("of NVIM_APPNAME, which Neovim does not take either; unset it")
    );
    assert!(!place.path("home").exists() && !place.workspace().join("nvim").exists());
    // Both variables move the place.
    let mut command = place.editor_command(&["nvim"]);
    command.env("XDG_DATA_HOME", place.path("elsewhere")).env("NVIM_APPNAME", "trial/nvim");
    Running { child: command.spawn().unwrap() }.ended().exits(0);
    let folder = place.path("elsewhere/trial/nvim/site/pack/adjutant/start/adjutant");
    assert!(folder.join("plugin/adjutant.lua").is_file() && !place.path("home").exists());
}

#[test]
fn n27_a_folder_that_cannot_be_written_keeps_the_old_client_whole() {
    let place = Place::new(DONE);
    place.editor(&["nvim"]).exits(0);
    make_older(&place);
    let (old, package) = (files_in(&place.plugin()), place.data("nvim/site/pack/adjutant"));
    give(place.directory.path(), NOBODY);
    fs::set_permissions(&package, fs::Permissions::from_mode(0o555)).unwrap();
    for arguments in [&["nvim"][..], &["nvim", "--remove"]] {
        let mut command = place.editor_command(arguments);
        as_nobody(&mut command);
        let said = flat(&Running { child: command.spawn().unwrap() }.ended().exits(1).err());
        assert!(said.contains("you have no right to write there; make the folder your own"), "{said}");
        assert!(files_in(&place.plugin()) == old, "the old client is whole");
    }
    fs::set_permissions(&package, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn n27_a_full_disk_keeps_the_old_client_whole() {
    let place = Place::new(DONE);
    let script = "mkdir -p \"$XDG_DATA_HOME\" && mount -t tmpfs -o size=400k none \"$XDG_DATA_HOME\" || exit 99
        \"$0\" editor nvim >&2 || exit 98
        cd \"$XDG_DATA_HOME/nvim/site/pack/adjutant\" && rm start/adjutant/doc/tags && find . -type f | sort >\"$HOME/before\"
        head -c 400000 /dev/zero >fill; ls -A >>\"$HOME/before\"
        \"$0\" editor nvim; code=$?
        find . -type f ! -name fill | sort >\"$HOME/after\"; ls -A >>\"$HOME/after\"; exit $code";
    fs::create_dir(place.path("home")).unwrap();
    let mut command = Command::new("unshare");
    command.args(["-rm", "--", "sh", "-c", script, env!("CARGO_BIN_EXE_adjutant")]);
    command.env("XDG_DATA_HOME", place.path("data")).env("HOME", place.path("home"));
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let ran = Running { child: command.spawn().unwrap() }.ended().exits(1);
    assert!(flat(&ran.err()).contains("the disk is full; make room, then run this again"), "{}", ran.err());
    let read = |name: &str| fs::read_to_string(place.path("home").join(name)).unwrap();
    assert!(read("before").contains("./start/adjutant/plugin/adjutant.lua\n"), "{}", read("before"));
    assert_eq!(read("after"), read("before"));
}

#[test]
fn n27_the_set_up_for_emacs_and_helix_is_written_and_its_lines_are_printed() {
    let place = Place::new(DONE);
    let out = place.editor(&["emacs"]).exits(0).out();
    for (file, source) in
        [("adjutant.el", "emacs/adjutant.el"), ("adjutant-lsp-mode.el", "lsp-mode/adjutant-lsp-mode.el")]
    {
        let path = place.data("adjutant/editors/emacs").join(file);
        assert!(out.contains(&format!("  (load \"{}\")\n", path.display())), "{out}");
        assert_eq!(fs::read(path).unwrap(), fs::read(root().join("editors").join(source)).unwrap());
    }
    let out = place.editor(&["emacs", "--remove"]).exits(0).out();
    assert!(out.contains("adjutant/editors/emacs/adjutant.el\")\n"), "the line to remove is there: {out}");
    assert!(!place.data("adjutant/editors/emacs").exists());
    let out = place.editor(&["helix"]).exits(0).out();
    for file in ["languages.toml", "config.toml"] {
        let source = fs::read_to_string(root().join("editors/helix").join(file)).unwrap();
        let path = place.data("adjutant/editors/helix").join(file);
        assert_eq!(fs::read_to_string(path).unwrap(), source);
        for line in source.lines().filter(|line| !line.starts_with('#')) {
            assert!(out.contains(&format!("{line}\n")), "{line:?} is missing in\n{out}");
        }
    }
    let out = place.editor(&["helix", "--remove"]).exits(0).out();
    assert!(out.contains("[language-server.adjutant]\n"), "{out}");
    let config = fs::read_to_string(root().join("editors/helix/config.toml")).unwrap();
    for line in config.lines().filter(|line| !line.starts_with('#')) {
        assert!(out.contains(&format!("{line}\n")), "{line:?} of config.toml is not named in\n{out}");
    }
    assert!(!place.data("adjutant/editors").exists() && !place.path("home/.config").exists());
}

#[test]
fn n27_the_list_says_what_is_found_and_which_version_is_installed() {
    let place = Place::new(DONE);
    let list = |place: &Place| place.editor(&[]).exits(0).out();
    let nothing = "VS Code      not on PATH\nVSCodium     not on PATH\nCursor       not on PATH\n\
                   code-server  not on PATH\nNeovim       not on PATH\nEmacs        not on PATH\nHelix        not on PATH\n";
    assert_eq!(list(&place), nothing);
    for name in ["nvim", "emacs", "hx"] {
        place.program(name, "exit 9");
    }
    place.program("code", "echo adjutant.adjutant@0.0.9");
    place.program("codium", "echo no.such@1.0.0");
    place.program("cursor", "echo broken; exit 1");
    place.program("code-server", &format!("echo Adjutant.adjutant@{VERSION}"));
    place.editor(&["nvim"]).exits(0);
    place.editor(&["emacs"]).exits(0);
    fs::write(place.data("adjutant/editors/helix"), "a file").unwrap();
    let out = list(&place);
    let cursor = place.path("bin/cursor").display().to_string();
    let expected = format!(
        "VS Code      Adjutant 0.0.9; this program has {VERSION}: adjutant editor vscode\n\
         VSCodium     no client yet: adjutant editor vscode --with codium\n\
         Cursor       {cursor} failed. It printed: broken\n\
         code-server  Adjutant {VERSION}\n\
         Neovim       Adjutant {VERSION}\n\
         Emacs        Adjutant {VERSION}\n\
         Helix        could not use \"{}\": it is a file; move it away, then run this again\n",
        place.data("adjutant/editors/helix").display()
    );
    assert_eq!(flat(&out), flat(&expected), "{out}");
    make_older(&place);
    let older = format!("Neovim Adjutant 0.0.9; this program has {VERSION}: adjutant editor nvim");
    assert!(flat(&list(&place)).contains(&older), "{}", list(&place));
    let changed = fs::read_to_string(place.plugin().join(LIST)).unwrap().replacen("0.0.9", VERSION, 1);
    fs::write(place.plugin().join(LIST), changed).unwrap();
    let other = "with other files than this program has: adjutant editor nvim";
    assert!(flat(&list(&place)).contains(other), "{}", list(&place));
    assert!(!place.calls().contains("nvim") && !place.calls().contains("emacs"), "no such editor is started");
}
