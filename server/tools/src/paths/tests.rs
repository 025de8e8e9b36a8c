//! Tests of resolving, opening and replacing, on real files.

use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

struct Place {
    directory: tempfile::TempDir,
    roots: Roots,
}

/// A workspace `ws` with `src/main.rs`, and a directory `outside` next to it.
fn place() -> Place {
    let directory = tempfile::tempdir().expect("temp dir");
    let at = directory.path();
    std::fs::create_dir_all(at.join("ws/src")).expect("ws");
    std::fs::create_dir_all(at.join("outside")).expect("outside");
    std::fs::write(at.join("ws/src/main.rs"), "fn main() {}\n").expect("file");
    std::fs::write(at.join("ws/src/a b.rs"), "// a b\n").expect("file");
    std::fs::write(at.join("outside/x"), "outside\n").expect("file");
    let (roots, problems) = Roots::open(&[at.join("ws")]);
    assert!(problems.is_empty(), "{problems:?}");
    Place { directory, roots }
}

impl Place {
    fn ws(&self) -> PathBuf {
        self.directory.path().canonicalize().expect("temp dir").join("ws")
    }

    fn resolve(&self, raw: &str) -> ResolvedPath {
        let raw = raw.replace("{{WS}}", self.ws().to_str().expect("utf-8"));
        resolve(&self.roots, &raw).unwrap_or_else(|error| panic!("{raw}: {error}"))
    }

    fn refused(&self, raw: &str) -> PathRefusal {
        let raw = raw.replace("{{WS}}", self.ws().to_str().expect("utf-8"));
        resolve(&self.roots, &raw).expect_err(&raw)
    }

    fn read(&self, raw: &str) -> Result<String, OpenRefusal> {
        let mut text = String::new();
        open_read(&self.resolve(raw))?.read_to_string(&mut text).expect("utf-8");
        Ok(text)
    }
}

/// The ordinary, traversal and name cases of the path corpus.
#[test]
fn s55_p1_every_spelling_is_grounded_to_one_place() {
    let place = place();
    for raw in [
        "src/main.rs",
        "./src/main.rs",
        "src/../src/main.rs",
        "src//main.rs",
        "{{WS}}/src/main.rs",
        "file://{{WS}}/src/main.rs",
        "FILE://localhost{{WS}}/src/main%2ers",
    ] {
        let at = place.resolve(raw);
        assert_eq!(at.absolute, place.ws().join("src/main.rs"), "{raw}");
        assert_eq!((at.display.as_str(), at.inside, at.root), ("src/main.rs", true, Some(0)), "{raw}");
        assert_eq!(at.kind, Some(PathType::File));
    }
    assert_eq!(place.read("file://{{WS}}/src/a%20b.rs").expect("read"), "// a b\n");
    assert_eq!(place.resolve(".").display, ".");
    // Decoded only once; a percent sign in a plain path is an ordinary character.
    for raw in ["src/%252e%252e/x", "src/%2e%2e/x", "con.txt", "\\\\evil.invalid\\share\\x", "C:\\x"] {
        let at = place.resolve(raw);
        assert!(at.inside && !at.exists(), "{raw}");
        assert_eq!(at.absolute, place.ws().join(raw), "{raw}");
    }
    let odd = place.resolve("new\nline\u{202e}.txt");
    assert_eq!(odd.display, "new\\u{a}line\\u{202e}.txt");
}

#[test]
fn finding_h4_a_path_that_is_shown_leads_to_the_file_that_is_shown() {
    let place = place();
    let names = [
        "\u{301}x.md",
        "a \u{301}b",
        "a\u{200b}b",
        "\\u{301}x.md",
        "\\u{5c}u{301}x.md",
        "\\u{zz}",
        "sub/\u{301}x",
        "two\nlines\tof",
    ];
    let leads_back = |name: &str| {
        let at = place.resolve(name);
        let again = place.resolve(&at.display);
        assert_eq!((again.absolute, &again.display), (at.absolute.clone(), &at.display), "{name:?}");
        at.absolute
    };
    names.iter().for_each(|name| drop(leads_back(name)));
    // An escaped name means the file that is shown so, if no file has that literal name.
    assert_eq!(leads_back(names[3]), place.ws().join(names[0]));
    std::fs::create_dir(place.ws().join("sub")).expect("folder");
    for name in names {
        std::fs::write(place.ws().join(name), name).expect("file");
    }
    // If all files exist, each is found by its shown name.
    for name in names {
        assert_eq!(leads_back(&shown_path(name)), place.ws().join(name), "{name:?}");
    }
}

#[test]
fn s55_p1_what_climbs_out_is_outside() {
    let place = place();
    for raw in
        ["../outside/x", "src/../../outside/x", "{{WS}}/../outside/x", "/etc", "/", "missing/../../outside/x"]
    {
        let at = place.resolve(raw);
        assert!(!at.inside && at.root.is_none(), "{raw} -> {at:?}");
        assert_eq!(at.display, at.absolute.display().to_string());
    }
    // A folder whose name only begins like that of the workspace is outside.
    std::fs::create_dir(place.directory.path().join("ws2")).expect("ws2");
    assert!(!place.resolve("../ws2/x").inside);
    for raw in [
        "file://{{WS}}/%2e%2e/%2e%2e/etc/passwd",
        "file://{{WS}}/src%2f..%2fx",
        "file://host/x",
        "file://{{WS}}/%zz",
    ] {
        assert!(matches!(place.refused(raw), PathRefusal::Uri(..)), "{raw}");
    }
}

#[test]
fn s55_p1_impossible_paths_are_refused_with_the_reason() {
    let place = place();
    assert!(matches!(place.refused(""), PathRefusal::Empty));
    assert!(matches!(place.refused("a\0b"), PathRefusal::Nul));
    assert!(matches!(place.refused("file://{{WS}}/a%00b"), PathRefusal::Nul));
    assert!(matches!(place.refused(&"n".repeat(300)), PathRefusal::TooLong));
    assert!(matches!(place.refused(&"n/".repeat(3000)), PathRefusal::TooLong));
    assert!(matches!(place.refused("src/main.rs/x/y"), PathRefusal::NotADirectory(_)));
    assert!(matches!(place.refused("src/main.rs/../x"), PathRefusal::NotADirectory(_)));
    assert!(matches!(place.refused("$HOME/.ssh/id_rsa"), PathRefusal::Unexpanded(_)));
    assert!(matches!(place.refused("~/.ssh/id_rsa"), PathRefusal::Unexpanded(_)));
    let none = resolve(&Roots::default(), "src").expect_err("no base");
    assert!(matches!(none, PathRefusal::NoRoots(_)));
    assert!(resolve(&Roots::default(), "/").expect("absolute").exists());
}

#[test]
fn s55_p1_links_are_followed_to_where_they_lead() {
    let place = place();
    let ws = place.ws();
    symlink("src", ws.join("ok")).expect("link");
    symlink("../outside/x", ws.join("out")).expect("link");
    symlink("../outside", ws.join("d")).expect("link");
    symlink("loop", ws.join("loop")).expect("link");
    symlink(ws.join("src/new.rs"), ws.join("dangling")).expect("link");
    assert_eq!(place.resolve("ok/main.rs").display, "src/main.rs");
    assert!(place.read("ok/main.rs").is_ok());
    let out = place.resolve("out");
    assert!(!out.inside && out.absolute.ends_with("outside/x"));
    assert!(!place.resolve("d/new.txt").inside);
    assert!(!place.resolve("ok/../d/x").inside, "`..` after a link means its target's parent");
    assert_eq!(place.resolve("dangling").display, "src/new.rs");
    assert!(matches!(place.refused("loop"), PathRefusal::Loop(_)));
    // The workspace itself may be reached through a link.
    symlink("ws", place.directory.path().join("linked")).expect("link");
    let (roots, _) = Roots::open(&[place.directory.path().join("linked")]);
    assert_eq!(resolve(&roots, "src/main.rs").expect("grounded").display, "src/main.rs");
}

#[cfg(target_os = "linux")]
#[test]
fn s55_p1_links_of_the_process_file_system_are_refused() {
    let place = place();
    for raw in ["/proc/self/cwd/.git/config", "/proc/self/root/etc", "/dev/fd/0", "/proc/self/exe"] {
        assert!(matches!(place.refused(raw), PathRefusal::Magic(_)), "{raw}");
    }
}

#[test]
fn p1_several_folders_keep_their_files_apart() {
    let place = place();
    let second = place.directory.path().join("outside");
    let (roots, problems) =
        Roots::open(&[place.ws(), second.clone(), place.ws(), place.directory.path().join("none")]);
    assert_eq!((roots.paths().count(), problems.len()), (2, 1));
    let at = resolve(&roots, second.join("x").to_str().expect("utf-8")).expect("grounded");
    assert_eq!((at.inside, at.root), (true, Some(1)));
    // A shown path must mean the same file when the model sends it back.
    assert_eq!(resolve(&roots, &at.display).expect("again").absolute, at.absolute);
}

#[test]
fn p1_only_regular_files_are_opened_and_nothing_blocks() {
    let place = place();
    let fifo = place.ws().join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, Mode::from_raw_mode(0o600), 0)
        .expect("fifo");
    let _socket = std::os::unix::net::UnixListener::bind(place.ws().join("sock")).expect("socket");
    assert!(matches!(place.read("fifo"), Err(OpenRefusal::Special("pipe"))));
    assert!(matches!(place.read("sock"), Err(OpenRefusal::Special("socket"))));
    assert!(matches!(place.read("/dev/null"), Err(OpenRefusal::Special("device"))));
    assert!(matches!(place.read("src"), Err(OpenRefusal::Directory)));
    assert!(matches!(place.read("nothing"), Err(OpenRefusal::Missing)));
}

#[test]
fn p1_what_was_checked_is_what_is_opened() {
    let place = place();
    let at = place.resolve("src/main.rs");
    std::fs::rename(place.ws().join("src"), place.ws().join("was")).expect("rename");
    symlink("../outside", place.ws().join("src")).expect("link");
    std::fs::write(place.directory.path().join("outside/main.rs"), "stolen").expect("file");
    assert!(matches!(open_read(&at), Err(OpenRefusal::Changed)));
    // The fallback for kernels without the call refuses the same.
    let walked = open::walk(std::os::fd::AsFd::as_fd(&at.anchor), &at.relative, OFlags::RDONLY);
    assert!(walked.is_err());
    let fine = open::walk(std::os::fd::AsFd::as_fd(&at.anchor), Path::new("was/main.rs"), OFlags::RDONLY);
    assert!(fine.is_ok());
}

fn hash(text: &str) -> Option<[u8; 32]> {
    Some(hash_of(text.as_bytes()))
}

fn replace_file(
    locks: &WriteLocks,
    at: &ResolvedPath,
    expected: Option<[u8; 32]>,
    bytes: &[u8],
) -> Result<ReplaceOutcome, ReplaceRefusal> {
    let change = PreparedChange::write(locks, at, expected, bytes)?;
    commit_all(vec![((), change)], |()| true).pop().and_then(|((), result)| result).expect("one result")
}

#[test]
fn p2_a_file_is_replaced_whole_and_keeps_its_mode() {
    let place = place();
    let file = place.ws().join("src/main.rs");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o750)).expect("mode");
    let at = place.resolve("src/main.rs");
    replace_file(&WriteLocks::default(), &at, hash("fn main() {}\n"), b"new\r\n").expect("replaced");
    assert_eq!(std::fs::read(&file).expect("read"), b"new\r\n");
    assert_eq!(file.metadata().expect("metadata").permissions().mode() & 0o777, 0o750);
    let names: Vec<_> = std::fs::read_dir(place.ws().join("src")).expect("dir").collect();
    assert_eq!(names.len(), 2, "no temporary file stays: {names:?}");
}

#[test]
fn p2_a_new_file_gets_its_directories_and_never_an_existing_name() {
    let place = place();
    let at = place.resolve("a/b/c/d.txt");
    replace_file(&WriteLocks::default(), &at, None, b"text").expect("created");
    assert_eq!(place.read("a/b/c/d.txt").expect("read"), "text");
    assert!(matches!(
        replace_file(&WriteLocks::default(), &at, None, b"again"),
        Err(ReplaceRefusal::Exists(_))
    ));
    assert_eq!(place.read("a/b/c/d.txt").expect("read"), "text");
}

#[test]
fn p2_what_changed_or_has_two_names_or_lies_outside_is_not_written() {
    let place = place();
    let ws = place.ws();
    let at = place.resolve("src/main.rs");
    assert!(matches!(
        replace_file(&WriteLocks::default(), &at, hash("other"), b"x"),
        Err(ReplaceRefusal::Changed(_))
    ));
    assert!(matches!(
        replace_file(&WriteLocks::default(), &place.resolve("gone"), hash("x"), b"x"),
        Err(ReplaceRefusal::Changed(_))
    ));
    std::fs::hard_link(place.directory.path().join("outside/x"), ws.join("h")).expect("link");
    assert!(matches!(
        replace_file(&WriteLocks::default(), &place.resolve("h"), hash("outside\n"), b"x"),
        Err(ReplaceRefusal::Links(_))
    ));
    assert!(matches!(
        replace_file(&WriteLocks::default(), &place.resolve("src"), hash(""), b"x"),
        Err(ReplaceRefusal::NotAFile(_))
    ));
    symlink("../outside", ws.join("d")).expect("link");
    for raw in ["d/new.txt", "src/../../outside.txt", "/new-file-at-the-top"] {
        assert!(
            matches!(
                replace_file(&WriteLocks::default(), &place.resolve(raw), None, b"x"),
                Err(ReplaceRefusal::Outside(_))
            ),
            "{raw}"
        );
    }
    // A link that appeared after resolving is not followed.
    let late = place.resolve("late.txt");
    symlink("../outside/x", ws.join("late.txt")).expect("link");
    assert!(replace_file(&WriteLocks::default(), &late, None, b"x").is_err());
    assert!(replace_file(&WriteLocks::default(), &late, hash("outside\n"), b"x").is_err());
    assert_eq!(std::fs::read_to_string(place.directory.path().join("outside/x")).expect("read"), "outside\n");
}

#[test]
fn p2_swapping_directories_for_links_never_lets_a_write_or_read_escape() {
    let place = place();
    let ws = place.ws();
    std::fs::create_dir(ws.join("swap")).expect("dir");
    std::fs::write(place.directory.path().join("outside/f"), "secret").expect("file");
    let at = place.resolve("swap/f");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let _ = std::fs::rename(ws.join("swap"), ws.join("kept"));
                let _ = symlink("../outside", ws.join("swap"));
                let _ = std::fs::remove_file(ws.join("swap"));
                let _ = std::fs::rename(ws.join("kept"), ws.join("swap"));
            }
        });
        let mut landed = 0;
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        for n in 0_u32.. {
            // On a busy machine the folder may be missing at each attempt; then the test takes longer.
            if n >= 2000 && (landed > 0 || std::time::Instant::now() > deadline) {
                break;
            }
            let before = std::fs::read(ws.join("swap/f")).ok().map(|bytes| hash_of(&bytes));
            if replace_file(&WriteLocks::default(), &at, before, format!("mine {n}").as_bytes()).is_ok() {
                landed += 1;
            }
            if let Ok(mut file) = open_read(&at) {
                let mut text = String::new();
                file.read_to_string(&mut text).expect("utf-8");
                assert!(text.starts_with("mine"), "read {text:?}");
            }
        }
        stop.store(true, Ordering::Relaxed);
        assert!(landed > 0, "the race never let a write through");
    });
    let outside: Vec<_> = std::fs::read_dir(place.directory.path().join("outside"))
        .expect("dir")
        .map(|entry| entry.expect("entry").file_name())
        .collect();
    assert_eq!(outside.len(), 2, "{outside:?}");
    assert_eq!(std::fs::read_to_string(place.directory.path().join("outside/f")).expect("read"), "secret");
}

#[test]
fn finding_c1b_n04_what_comes_between_the_comparison_and_the_exchange_is_not_overwritten() {
    let place = place();
    let (at, file) = (place.resolve("src/main.rs"), place.ws().join("src/main.rs"));
    let read = || std::fs::read_to_string(&file).expect("read");
    let stop = AtomicBool::new(false);
    let landed = std::thread::scope(|scope| {
        let ours = scope.spawn(|| {
            let mut landed = 0;
            while !stop.load(Ordering::Relaxed) {
                let text = read();
                if text.starts_with("other") {
                    let new = format!("mine after {text}");
                    match replace_file(&WriteLocks::default(), &at, hash(&text), new.as_bytes()) {
                        Ok(_) => landed += 1,
                        Err(ReplaceRefusal::Changed(_)) => {}
                        Err(why) => panic!("{why}"),
                    }
                }
            }
            landed
        });
        let temporary = place.ws().join("src/other.tmp");
        for n in 0..2000 {
            let text = format!("other {n}");
            std::fs::write(&temporary, &text).expect("write");
            std::fs::rename(&temporary, &file).expect("rename");
            // A reader may briefly see a file that is put back; the final text was made from this one.
            let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
            loop {
                let found = read();
                // Sometimes it waits for the other writer, so that both get a chance.
                let ours = found == format!("mine after {text}");
                if ours || found == text && n % 50 != 0 {
                    break;
                }
                if std::time::Instant::now() > deadline {
                    stop.store(true, Ordering::Relaxed);
                    panic!("\"{text}\" was overwritten, or never edited: \"{found}\" is there");
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
        ours.join().expect("our writer")
    });
    assert!(landed > 0, "no write of ours went through");
    let names: Vec<_> = std::fs::read_dir(place.ws().join("src")).expect("dir").collect();
    assert_eq!(names.len(), 2, "no temporary file is left: {names:?}");
}

#[test]
fn finding_c1b_servers_take_turns_at_a_file_and_a_turn_ends_with_its_holder() {
    let place = place();
    let state = tempfile::tempdir().expect("state");
    let locks = WriteLocks::in_state(state.path());
    let at = place.resolve("src/main.rs");
    let held = locks.acquire(&at.absolute).expect("the first lock");
    let landed = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            replace_file(&locks, &at, hash("fn main() {}\n"), b"new").expect("replaced after the other");
            landed.store(true, Ordering::Release);
        });
        // The other file is not locked.
        replace_file(&locks, &place.resolve("other"), None, b"x").expect("written at once");
        assert!(!landed.load(Ordering::Acquire), "written without the lock");
        drop(held);
    });
    assert!(landed.load(Ordering::Acquire));
    let left: Vec<_> = std::fs::read_dir(state.path().join("writing")).expect("locks").collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn finding_c6_what_a_killed_server_left_is_removed_and_nothing_else() {
    let place = place();
    let state = tempfile::tempdir().expect("state");
    let locks = WriteLocks::in_state(state.path());
    let write = |name: &str| {
        let path = place.ws().join(name);
        std::fs::write(&path, "left").expect("write");
        path
    };
    let (left, held) = (write(".adjutant-0123456789abcdef.tmp"), write(".adjutant-1123456789abcdef.tmp"));
    let (foreign, theirs) = (write(".adjutant-2123456789abcdef.tmp"), write("mine.tmp"));
    // Lock files of servers that ended: the kernel released their locks.
    std::fs::create_dir(state.path().join("writing")).expect("folder");
    for (name, path) in [("a", &left), ("b", &theirs)] {
        std::fs::write(state.path().join("writing").join(name), path.as_os_str().as_bytes()).expect("lock");
    }
    let holder = locks.acquire(Path::new("/held")).expect("a lock");
    holder.note_temporary(&held);
    locks.sweep();
    assert!(!left.exists(), "it stays for good");
    assert!(held.exists(), "it is being written");
    assert!(foreign.exists() && theirs.exists(), "no lock names it, or it has another kind of name");
    drop(holder);
    let rest: Vec<_> = std::fs::read_dir(state.path().join("writing")).expect("locks").collect();
    assert!(rest.is_empty(), "{rest:?}");
}

#[test]
fn finding_c6_what_another_program_wrote_in_the_last_moment_survives_a_kill_in_the_exchange() {
    let place = place();
    let state = tempfile::tempdir().expect("state");
    let locks = WriteLocks::in_state(state.path());
    let target = place.ws().join("src/main.rs");
    let temporary = place.ws().join("src/.adjutant-0123456789abcdef.tmp");
    let id = |path: &Path| {
        let about = std::fs::metadata(path).expect("metadata");
        (std::os::unix::fs::MetadataExt::dev(&about), std::os::unix::fs::MetadataExt::ino(&about))
    };
    // A server that was killed after the exchange: the file has the new content, the temporary file has `out`.
    let killed = |out: &str| {
        std::fs::write(&target, "new").expect("write");
        std::fs::write(&temporary, out).expect("write");
        let lock = locks.acquire(&target).expect("a lock");
        lock.note_temporary(&temporary);
        lock.note_exchange(&target, id(&target), hash_of(b"new"), Some(hash_of(b"old")));
        let notes = std::fs::read_dir(state.path().join("writing")).expect("locks").flatten();
        let notes: Vec<_> =
            notes.map(|note| (note.path(), std::fs::read(note.path()).expect("read"))).collect();
        drop(lock);
        notes.iter().for_each(|(path, note)| std::fs::write(path, note).expect("write"));
    };
    let read = || std::fs::read_to_string(&target).expect("read");
    // Cleaned up by the next start, or by the next write of the file.
    for start in [true, false] {
        let next = || if start { locks.sweep() } else { drop(locks.acquire(&target).expect("a lock")) };
        killed("old");
        next();
        assert_eq!((read().as_str(), temporary.exists()), ("new", false));
        killed("of another program");
        next();
        assert_eq!((read().as_str(), temporary.exists()), ("of another program", false));
        // If that program has written again since, both of its texts stay.
        killed("of another program");
        std::fs::remove_file(&target).and_then(|()| std::fs::write(&target, "and again")).expect("write");
        next();
        assert_eq!((read().as_str(), temporary.exists()), ("and again", true));
        std::fs::remove_file(&temporary).expect("remove");
    }
}

/// Runs a test of this binary again as an unprivileged user if the current user is root.
fn as_nobody(test: &str) -> bool {
    if !rustix::process::geteuid().is_root() {
        return true;
    }
    let own = std::env::current_exe().expect("this program");
    let copy = tempfile::tempdir().expect("temp dir");
    let program = copy.path().join("tests");
    std::fs::copy(own, &program).expect("copy");
    for path in [copy.path(), &program] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("mode");
    }
    let mut command = std::process::Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program);
    let output = command.args(["--exact", test]).output().expect("run setpriv");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    false
}

#[test]
fn finding_c1_a_read_only_file_or_folder_is_not_written() {
    if !as_nobody("paths::tests::finding_c1_a_read_only_file_or_folder_is_not_written") {
        return;
    }
    let place = place();
    let at = place.resolve("src/main.rs");
    let set = |path: &str, mode| {
        std::fs::set_permissions(place.ws().join(path), std::fs::Permissions::from_mode(mode)).expect("mode");
    };
    set("src/main.rs", 0o444);
    let refused = replace_file(&WriteLocks::default(), &at, hash("fn main() {}\n"), b"x");
    assert!(matches!(refused, Err(ReplaceRefusal::ReadOnly(_))), "{refused:?}");
    set("src/main.rs", 0o644);
    set("src", 0o555);
    for (name, expected) in [("src/main.rs", hash("fn main() {}\n")), ("src/new.rs", None)] {
        let refused = replace_file(&WriteLocks::default(), &place.resolve(name), expected, b"x");
        let why = refused.expect_err("a folder that takes no file").to_string();
        assert!(why.contains("Permission denied"), "{why}");
    }
    set("src", 0o755);
    assert_eq!(place.read("src/main.rs").expect("read"), "fn main() {}\n");
}

#[test]
fn finding_b11_a_read_only_file_is_not_replaced() {
    let place = place();
    let file = place.ws().join("src/main.rs");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o444)).expect("mode");
    let at = place.resolve("src/main.rs");
    let refused = replace_file(&WriteLocks::default(), &at, hash("fn main() {}\n"), b"new");
    assert!(matches!(refused, Err(ReplaceRefusal::ReadOnly(_))), "{refused:?}");
    assert_eq!(std::fs::read_to_string(&file).expect("read"), "fn main() {}\n");
}

#[test]
fn finding_b11_a_path_that_fails_outside_says_only_that_it_is_outside() {
    let place = place();
    symlink("loop", place.directory.path().join("outside/loop")).expect("link");
    for raw in ["../outside/x/y", "../outside/loop", "../outside/x/../z"] {
        let refused = place.refused(raw);
        assert_eq!(refused.to_string(), format!("\"{raw}\" is outside the workspace"));
        assert!(!matches!(refused.revealed(), PathRefusal::Outside { .. }), "{raw}");
    }
}
