//! Paths from a model and URIs from an editor: each resolves to one place, the same as the kernel's, and
//! `inside` is correct.

use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use adjutant::tools::paths::{PathType, ResolvedPath, Roots, open_read, resolve};
use adjutant::uri;
use adjutant_core::text::display::shown_path;

use super::text;

/// Replaced by the path of the first workspace folder.
const HERE: &str = "\u{1}";

struct Place {
    folders: [PathBuf; 2],
    roots: Roots,
    _directory: tempfile::TempDir,
}

pub fn check(input: &[u8]) {
    thread_local! {
        // Created once, because it costs more than all the rest, and removed with its thread.
        static PLACE: Place = Place::new().expect("a temporary directory");
    }
    PLACE.with(|place| resolves_correctly(place, input));
}

fn resolves_correctly(place: &Place, input: &[u8]) {
    let given = text(input);
    let raw = given.replace(HERE, &place.folders[0].display().to_string());
    uris(&raw);
    let at = match resolve(&place.roots, &raw) {
        Ok(at) => at,
        Err(refusal) => {
            assert!(!refusal.to_string().is_empty());
            return;
        }
    };
    // Skip places where other processes create and remove files at the same time.
    if ["/proc", "/sys", "/dev", "/run", "/tmp"].iter().any(|other| at.absolute.starts_with(other))
        && !at.inside
    {
        return;
    }
    is_one_place(place, &at);
    if raw.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("file://")) {
        let hidden = ["%2f", "/%2e/", "/%2e%2e/", "/.%2e/", "/%2e./"];
        let said = format!("{}/", raw.to_ascii_lowercase());
        assert!(!hidden.iter().any(|hidden| said.contains(hidden)), "{raw:?} hides its target");
    } else {
        as_the_kernel(place, &raw, &at);
    }
    if let Some(absolute) = at.absolute.to_str() {
        // In its displayed form: a name may look like one with escaped characters.
        let again = resolve(&place.roots, &shown_path(absolute)).expect("a place has a path");
        assert_eq!((&again.absolute, again.inside, again.kind), (&at.absolute, at.inside, at.kind));
    }
}

impl Place {
    /// Creates two workspace folders with links inside, outside, to nothing and in a circle; also a folder outside.
    fn new() -> std::io::Result<Self> {
        let directory = tempfile::tempdir()?;
        let top = directory.path().canonicalize()?;
        for name in ["ws/src", "ws/a b", "ws2", "outside/in"] {
            std::fs::create_dir_all(top.join(name))?;
        }
        for name in ["ws/src/x", "ws/y", "ws2/z", "outside/x", "ws/a b/~", "ws/$H"] {
            std::fs::write(top.join(name), name)?;
        }
        let ws = top.join("ws");
        for (to, name) in [
            ("src", "in"),
            ("../outside", "out"),
            ("../outside/x", "file"),
            ("nothing", "dead"),
            ("ring", "ring"),
            ("in/../out/in/..", "deep"),
            ("../ws2", "other"),
            (".", "self"),
            ("/", "top"),
        ] {
            symlink(to, ws.join(name))?;
        }
        let folders = [ws, top.join("ws2")];
        let (roots, problems) = Roots::open(&folders);
        assert!(problems.is_empty(), "{problems:?}");
        Ok(Place { folders, roots, _directory: directory })
    }
}

fn is_one_place(place: &Place, at: &ResolvedPath) {
    let plain = |component: Component| matches!(component, Component::RootDir | Component::Normal(_));
    assert!(at.absolute.is_absolute() && at.absolute.components().all(plain), "{at:?}");
    let root = place.folders.iter().position(|folder| at.absolute.starts_with(folder));
    assert_eq!((at.inside, at.root), (root.is_some(), root), "{at:?}");
    assert_eq!(at.exists(), at.absolute.symlink_metadata().is_ok(), "{at:?}");
    if at.inside && at.kind == Some(PathType::File) {
        let (mut here, mut there) = (Vec::new(), Vec::new());
        open_read(at).expect("an existing file").read_to_end(&mut here).expect("the file can be read");
        std::fs::File::open(&at.absolute)
            .and_then(|mut file| file.read_to_end(&mut there))
            .expect("the file can be read");
        assert_eq!(here, there);
    }
}

/// Asserts that the kernel finds the same file as Adjutant, or that both find none.
fn as_the_kernel(place: &Place, raw: &str, at: &ResolvedPath) {
    // For a file, Adjutant accepts `x/`, and the kernel finds nothing there.
    let mut path = place.folders[0].join(raw).components().as_path().to_owned();
    path.as_mut_os_string().push(if at.kind == Some(PathType::Directory) { "/" } else { "" });
    match path.canonicalize() {
        // `missing/..` is a place for Adjutant and none for the kernel. No other difference is allowed.
        Ok(found) => assert_eq!((&at.absolute, at.exists()), (&found, true), "{raw:?}"),
        Err(error) => assert!(!at.exists() || raw.contains(".."), "{raw:?}: {error}, but {at:?}"),
    }
}

fn uris(raw: &str) {
    if let Ok(path) = uri::to_path(raw) {
        assert!(path.is_absolute(), "{raw:?}");
        assert_eq!(uri::to_path(&uri::of_path(&path)), Ok(path));
    }
    if raw.starts_with('/') && !raw.contains('\0') {
        let written = uri::of_path(Path::new(raw));
        assert!(written.is_ascii(), "{written}");
        assert_eq!(uri::to_path(&written).as_deref(), Ok(Path::new(raw)));
    }
}
