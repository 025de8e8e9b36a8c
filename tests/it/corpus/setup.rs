//! What a line needs before its call: files, links and folders.
//!
//! Everything is in the test's own directory; the words are those of the lines.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use adjutant_testkit::corpus::{Line, filled};
use adjutant_testkit::fixture::Workspace;
use rustix::fs::{CWD, Mode, mkfifoat};

/// The files of every workspace of a path.
const FILES: &str = "
    //- /src/main.rs
    fn main() {}
    //- /src/a b.rs
    // spaced
    //- /src/%2e%2e/x
    odd
    //- /src/%252e%252e/x
    odder
";

/// A workspace, and the folder that the editor opens.
pub struct Place {
    pub workspace: Workspace,
    pub root: PathBuf,
}

/// Makes the workspace of a line.
pub fn place(line: &Line) -> Place {
    let workspace = Workspace::new(FILES);
    let mut root = workspace.path().to_owned();
    for word in &line.setup {
        let word = fill(&workspace, word);
        if word == "workspace root itself is a symlink" {
            root = next_to(&workspace, "linked");
            symlink(workspace.path(), &root).expect("a link is made");
        } else {
            prepare(&workspace, line, &word);
        }
    }
    Place { workspace, root }
}

/// Replaces the placeholders of a text by the folders of the test.
pub fn fill(workspace: &Workspace, text: &str) -> String {
    filled(text, |name| {
        let path = match name {
            "WS" => workspace.path().to_owned(),
            "HOME" => next_to(workspace, "home"),
            "OUTSIDE" => next_to(workspace, "outside"),
            "CONFIG" => next_to(workspace, "config"),
            "STATE" => workspace.state_dir(),
            "OWNDIR" => return Some(".adjutant".to_owned()),
            "BIN" => return Some("ADJUTANT".to_owned()),
            _ => return None,
        };
        fs::create_dir_all(&path).expect("the place is there");
        Some(path.display().to_string())
    })
}

/// Returns the path of an entry next to the workspace folder.
pub fn next_to(workspace: &Workspace, name: &str) -> PathBuf {
    workspace.path().parent().expect("it lies in a folder").join(name)
}

fn prepare(workspace: &Workspace, line: &Line, word: &str) {
    let at = |name: &str| workspace.path().join(name.trim());
    let own = || at(&line.text("/path").expect("a path"));
    let parent = |path: &Path| fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    match word {
        "a is a file" => fs::write(at("a"), "file\n").expect("a file"),
        "64 KiB of random bytes" => fs::write(own(), noise(64 << 10)).expect("a file"),
        "file with CRLF line ends and BOM" => {
            fs::write(own(), "\u{feff}one\r\ntwo\r\n").expect("a file");
        }
        "directory tree 500 levels deep" => {
            fs::create_dir_all(at(&vec!["d"; 500].join("/"))).expect("a tree");
        }
        // This link always exists.
        "/proc/self/cwd" => {}
        _ => {
            let (verb, rest) = word.split_once(' ').unwrap_or_else(|| panic!("{}: {word:?}", line.id));
            match (verb, rest.split_once(" -> "), rest.split_once(" = ")) {
                ("symlink", Some((link, target)), _) => {
                    parent(&at(link));
                    symlink(target, at(link)).expect("a link");
                }
                ("hardlink", _, Some((link, target))) => {
                    // The settings file is written later, so it is created here.
                    let target = if Path::new(target).is_absolute() { target.into() } else { at(target) };
                    if !target.exists() {
                        parent(&target);
                        fs::write(&target, "# kept\n").expect("a file");
                    }
                    fs::hard_link(&target, at(link)).expect("a hard link");
                }
                ("file", _, Some((name, text))) => {
                    parent(&at(name));
                    fs::write(at(name), format!("{text}\n")).expect("a file");
                }
                ("mkfifo", ..) => mkfifoat(CWD, at(rest), Mode::from_raw_mode(0o600)).expect("a pipe"),
                ("socket", ..) => drop(std::os::unix::net::UnixListener::bind(at(rest)).expect("a socket")),
                _ => panic!("{}: unknown preparation {word:?}", line.id),
            }
        }
    }
}

/// Returns bytes that are no text, the same each time.
fn noise(count: usize) -> Vec<u8> {
    let mut seed = 7_u64;
    let next = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 56) as u8
    };
    std::iter::repeat_with(next).take(count).collect()
}
