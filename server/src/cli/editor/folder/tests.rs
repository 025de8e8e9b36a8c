//! What file systems differ in: some cannot exchange two names.

use std::fs;

use rustix::io::Errno;

use super::*;

fn folder(place: &Path) -> InstallFolder {
    InstallFolder { editor: "nvim", path: place.join("start/adjutant"), workshop: place.to_owned() }
}

fn files(text: &'static str) -> Vec<ClientFile> {
    [("plugin/a.lua", text), ("lua/b.lua", text)]
        .map(|(path, text)| ClientFile { path, bytes: text.as_bytes().into() })
        .to_vec()
}

fn read(folder: &InstallFolder, path: &str) -> Option<String> {
    fs::read_to_string(folder.path.join(path)).ok()
}

/// Returns the names in the workshop, except the folder of the client.
fn workshop(folder: &InstallFolder) -> Vec<String> {
    let names = fs::read_dir(&folder.workshop).unwrap().map(|entry| entry.unwrap().file_name());
    names.map(|name| name.into_string().unwrap()).filter(|name| name != "start").collect()
}

#[test]
fn n27_where_names_cannot_be_exchanged_the_new_client_comes_by_two_renames() {
    for refusal in [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP] {
        let place = tempfile::tempdir().unwrap();
        let folder = folder(place.path());
        folder.install(&files("old")).unwrap();
        fs::write(folder.path.join("mine.lua"), "mine").unwrap();
        folder.write_all(&folder.beside("new"), &files("new")).unwrap();
        let users = folder.replace_by(|_, _| Err(refusal)).unwrap();
        assert_eq!(users.kept, ["mine.lua"]);
        assert_eq!(read(&folder, "lua/b.lua").as_deref(), Some("new"));
        assert_eq!(read(&folder, "mine.lua").as_deref(), Some("mine"));
        assert_eq!(workshop(&folder), [""; 0]);
    }
}

#[test]
fn n27_an_exchange_that_fails_leaves_the_old_client_and_the_next_run_clears_up() {
    let place = tempfile::tempdir().unwrap();
    let folder = folder(place.path());
    folder.install(&files("old")).unwrap();
    folder.write_all(&folder.beside("new"), &files("new")).unwrap();
    let error = folder.replace_by(|_, _| Err(Errno::ACCESS)).unwrap_err().to_string();
    assert!(error.contains("you have no right to write there"), "{error}");
    assert_eq!(read(&folder, "lua/b.lua").as_deref(), Some("old"));
    folder.install(&files("newest")).unwrap();
    assert_eq!(read(&folder, "lua/b.lua").as_deref(), Some("newest"));
    assert_eq!(workshop(&folder), [""; 0]);
}

#[test]
fn n27_a_kill_between_the_two_renames_brings_the_old_client_back_and_then_the_new_one() {
    let place = tempfile::tempdir().unwrap();
    let folder = folder(place.path());
    folder.install(&files("old")).unwrap();
    fs::write(folder.path.join("lua/b.lua"), "changed").unwrap();
    folder.write_all(&folder.beside("swap"), &files("new")).unwrap();
    fs::rename(&folder.path, folder.beside("old")).unwrap();
    let done = folder.install(&files("new")).unwrap();
    assert_eq!(done.users.renamed, [("lua/b.lua".to_owned(), "lua/b.lua.yours".to_owned())]);
    assert_eq!(read(&folder, "lua/b.lua").as_deref(), Some("new"));
    assert_eq!(read(&folder, "lua/b.lua.yours").as_deref(), Some("changed"));
    assert_eq!(workshop(&folder), [""; 0]);
}

#[test]
fn n27_a_second_installation_at_the_same_time_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let folder = folder(place.path());
    let _lock = folder.lock().unwrap();
    let error = folder.install(&files("new")).unwrap_err().to_string();
    assert!(error.contains("another `adjutant editor` is at work"), "{error}");
    assert!(folder.remove().unwrap_err().to_string().contains("is at work"));
}
