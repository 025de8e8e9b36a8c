//! Tests of the reading tools, on real files.

use super::read_file::LineRange;
use super::*;
use crate::documents::Buffer;

struct Place {
    directory: tempfile::TempDir,
    roots: Roots,
    buffers: Buffers,
}

fn place(files: &[(&str, &str)]) -> Place {
    let directory = tempfile::tempdir().expect("temp dir");
    for (name, text) in files {
        let path = directory.path().join("ws").join(name);
        std::fs::create_dir_all(path.parent().expect("parent")).expect("dir");
        std::fs::write(path, text).expect("file");
    }
    std::fs::create_dir_all(directory.path().join("ws")).expect("ws");
    let (roots, _) = Roots::open(&[directory.path().join("ws")]);
    Place { directory, roots, buffers: Buffers::default() }
}

impl Place {
    fn nothing_left_out(&self) -> Exclusions {
        Exclusions::new(&self.roots, Default::default(), Default::default())
    }

    fn at(&self, raw: &str) -> ResolvedPath {
        paths::resolve(&self.roots, raw).expect(raw)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join("ws").join(name)
    }

    fn open(&mut self, documents: &[(&str, Result<&str, &str>)]) {
        self.buffers = Buffers::new(documents.iter().map(|(name, text)| {
            let text = text.map(|text| Buffer { text: text.into(), version: 7 }).map_err(str::to_owned);
            let path = self.path(name);
            (path.canonicalize().unwrap_or(path), text)
        }));
    }

    fn read(&self, raw: &str) -> ToolOutput {
        self.read_lines(raw, None, None)
    }

    fn read_lines(&self, raw: &str, offset: Option<usize>, limit: Option<usize>) -> ToolOutput {
        read_file::read_file(
            &self.at(raw),
            &self.buffers,
            LineRange { offset, limit, numbered: true },
            &soon(),
        )
    }

    fn list(&self, raw: &str) -> ToolOutput {
        list_files::list_files(&self.at(raw), &self.roots, &self.nothing_left_out())
    }

    fn find(&self, pattern: &str) -> String {
        find_files::find_files(&self.roots, pattern, &self.nothing_left_out(), &soon()).text
    }

    fn search(&self, pattern: &str, within: Option<&str>, glob: Option<&str>) -> ToolOutput {
        let within = within.map(|raw| self.at(raw));
        let search = search_text::Search { pattern, within: within.as_ref(), glob };
        search_text::search_text(&search, &self.roots, &self.buffers, &self.nothing_left_out(), &soon())
    }
}

fn soon() -> Stop {
    Stop::after(READ_TIME)
}

#[test]
fn a_file_is_read_with_numbers_and_says_how_to_go_on() {
    let place = place(&[("a.txt", "\u{feff}one\r\ntwo\n\nfour"), ("empty", ""), ("mac", "a\rb\r")]);
    assert_eq!(place.read("a.txt").text, "1\tone\n2\ttwo\n3\t\n4\tfour\n");
    assert_eq!(place.read("a.txt").summary, "4 lines of a.txt");
    let part = place.read_lines("a.txt", Some(2), Some(1));
    assert_eq!(part.text, "2\ttwo\n[lines 2 to 2 of 4; go on with offset 3]\n");
    assert_eq!(place.read("mac").text, "1\ta\n2\tb\n");
    assert_eq!(place.read("empty").text, "[the file is empty]\n");
    let beyond = place.read_lines("a.txt", Some(9), None);
    assert!(beyond.failed && beyond.text.contains("has only 4 lines"), "{}", beyond.text);
}

#[test]
fn s44_a_large_file_is_given_in_bounded_parts() {
    let many = "line\n".repeat(5000);
    let wide = format!("{}\nend\n", "ä".repeat(1_000_000));
    let heavy = format!("{}\n", "x".repeat(1900)).repeat(1000);
    let place = place(&[("many", &many), ("wide", &wide), ("heavy", &heavy)]);
    let text = place.read("many").text;
    assert!(text.ends_with("2000\tline\n[lines 1 to 2000 of 5000; go on with offset 2001]\n"));
    let text = place.read("wide").text;
    assert!(text.contains("ä… [cut, the line has 2000000 bytes]\n2\tend\n") && text.len() < 5000);
    let text = place.read("heavy").text;
    assert!(text.len() < MAX_TEXT && text.contains("of 1000; go on with offset 1"), "{}", text.len());
}

const MAX_TEXT: usize = 257 * 1024;

#[test]
fn s26_what_is_not_text_is_refused_with_what_to_do() {
    let place = place(&[("src/main.rs", "x"), ("src/lib.rs", "x")]);
    std::fs::write(place.path("bin.dat"), [7, 0, 200, 1].repeat(16_384)).expect("file");
    std::fs::write(place.path("latin"), b"gr\xfc\xdfe\n").expect("file");
    std::fs::write(place.path("wide"), [0xff, 0xfe, b'a', 0]).expect("file");
    for (raw, wanted) in [
        ("bin.dat", "binary"),
        ("latin", "line 1 holds the byte 0xfc"),
        ("wide", "UTF-16"),
        ("src", "use list_files"),
        ("src/mian.rs", "nearest names there are \"main.rs\""),
        ("scr/main.rs", "directory \"scr\" on the way does not exist"),
    ] {
        let output = place.read(raw);
        assert!(output.failed && output.text.contains(wanted), "{raw}: {}", output.text);
    }
}

#[test]
fn n07_the_editors_text_counts_before_the_disk() {
    let mut place = place(&[("a.rs", "disk needle\n"), ("b.rs", "disk\n"), ("d.rs", "same\n")]);
    std::os::unix::fs::symlink("a.rs", place.path("link.rs")).expect("link");
    place.open(&[
        ("link.rs", Ok("buffer\n\u{1d11e} needle")),
        ("b.rs", Err("version 4 came after version 2")),
        ("new.rs", Ok("needle only here\n")),
        ("d.rs", Ok("same\n")),
    ]);
    assert_eq!(place.read("a.rs").text, "1\tbuffer\n2\t\u{1d11e} needle\n");
    assert_eq!(place.read("new.rs").text, "1\tneedle only here\n");
    let unsynced = place.read("b.rs");
    assert!(unsynced.failed && unsynced.text.contains("version 4 came after"), "{}", unsynced.text);
    let found = place.search("needle|disk", None, None);
    assert_eq!(
        found.text,
        "a.rs:2:\u{1d11e} needle\nnew.rs:1:needle only here\n[not searched: b.rs is open in the editor and its text is not known: version 4 came after version 2]"
    );
    assert_eq!(found.summary, "2 matches in 2 files");
    // N06: a command does not see these texts.
    let ws = place.path("").canonicalize().expect("ws");
    assert_eq!(place.buffers.unsaved(), [ws.join("a.rs"), ws.join("b.rs"), ws.join("new.rs")]);
}

#[test]
fn a_directory_is_listed_one_level_deep() {
    let place = place(&[
        ("src/deep/x.rs", ""),
        ("Cargo.toml", ""),
        (".gitignore", "target\n*.log\n"),
        (".env", ""),
        ("target/x", ""),
        ("a.log", ""),
        (".git/HEAD", ""),
        ("we\nird", ""),
    ]);
    std::os::unix::fs::symlink("src", place.path("ln")).expect("link");
    let output = place.list(".");
    assert_eq!(
        output.text,
        ".env\n.gitignore\nCargo.toml\nln -> src\nsrc/\nwe\\nird\n[3 hidden by ignore files or as version control's own]"
    );
    assert_eq!(place.list("src").text, "deep/");
    assert_eq!(place.list("target").text, "x", "what is named itself is listed");
    assert!(place.list("Cargo.toml").text.contains("use read_file"));
    assert!(place.list("srcc").text.contains("nearest names there are \"src\""));
    std::fs::create_dir(place.path("none")).expect("dir");
    assert_eq!(place.list("none").text, "[the directory is empty]");
}

#[test]
fn s44_listing_and_walking_are_bounded() {
    let place = place(&[]);
    for n in 0..1200 {
        std::fs::write(place.path(&format!("f{n:04}")), "x\n").expect("file");
    }
    let text = place.list(".").text;
    assert!(text.ends_with("f0999\n[200 more not listed; use find_files with a narrower glob]"), "{text}");
    let text = place.find("f*");
    assert!(text.ends_with("f0499\n[stopped at 500 files: there are more; use a narrower glob]"), "{text}");
    let text = place.search("x", None, None).text;
    assert!(text.ends_with("f0199:1:x\n[stopped at 200 matches; narrow the pattern, the path or the glob]"));
    // A tree that is deeper than the limit of a walk.
    let mut deep = place.path("");
    for _ in 0..500 {
        deep.push("d");
        std::fs::create_dir(&deep).expect("dir");
    }
    assert!(place.list(".").text.starts_with("d/\n"));
    assert!(place.find("no-such-name").contains("no file matches"));
}

#[test]
fn files_are_found_by_name_in_every_folder() {
    let mut place = place(&[
        ("src/main.rs", ""),
        ("src/tool/a.rs", ""),
        ("a.rs", ""),
        ("node_modules/a.rs", ""),
        (".gitignore", "node_modules/"),
        (".github/x.yml", ""),
        (".git/a.rs", ""),
    ]);
    assert_eq!(place.find("*.rs"), "a.rs\nsrc/main.rs\nsrc/tool/a.rs");
    assert_eq!(place.find("./src/*.rs"), "src/main.rs");
    assert_eq!(place.find("src/**/a.{rs,ts}"), "src/tool/a.rs");
    assert_eq!(place.find("*.yml"), ".github/x.yml");
    let absolute = format!("{}/src/*", place.path("").canonicalize().expect("ws").display());
    assert_eq!(place.find(&absolute), "src/main.rs");
    assert!(
        place.find("*.py").starts_with("no file matches \"*.py\" among 5 files"),
        "{}",
        place.find("*.py")
    );
    assert!(place.find("[").contains("in pairs"));
    assert!(place.find("../*").contains("`..`"));
    let second = place.directory.path().join("second");
    std::fs::create_dir(&second).expect("dir");
    std::fs::write(second.join("z.rs"), "").expect("file");
    place.roots = Roots::open(&[place.path(""), second.clone()]).0;
    let second = second.canonicalize().expect("second");
    assert_eq!(place.find("z*"), second.join("z.rs").display().to_string());
}

#[test]
fn text_is_searched_by_regular_expression() {
    let long = format!("{} needle {}\n", "x".repeat(5000), "y".repeat(5000));
    let place = place(&[
        ("src/a.rs", "fn one() {}\r\nfn two() {}\n"),
        ("src/b.py", "def one():\n"),
        ("long", &long),
        ("ignored/a.rs", "fn one() {}\n"),
        (".gitignore", "ignored\n"),
        (".env", "one=secret\n"),
        ("bin", "one\0one\n"),
    ]);
    let text = place.search(r"\bone\b", None, None).text;
    assert_eq!(
        text,
        "src/a.rs:1:fn one() {}\nsrc/b.py:1:def one():\n[not searched: 1 file that may hold secrets]"
    );
    assert_eq!(place.search("one", Some("src"), Some("*.py")).text, "src/b.py:1:def one():");
    assert_eq!(place.search("one", Some("src"), Some("!*.py")).text, "src/a.rs:1:fn one() {}");
    assert_eq!(place.search("one", Some("src/b.py"), None).text, "src/b.py:1:def one():");
    assert_eq!(place.search("two", None, Some("src/**")).text, "src/a.rs:2:fn two() {}");
    // A file that the call names was asked for.
    assert_eq!(place.search("one", Some(".env"), None).text, ".env:1:one=secret");
    let text = place.search("needle", None, None).text;
    assert!(text.starts_with("long:1:…xx") && text.contains(" needle yy") && text.len() < 600, "{text}");
    let none = place.search("absent", Some("src"), None);
    assert_eq!((none.text.as_str(), none.failed), ("no match for \"absent\" in 2 files", false));
    for (pattern, wanted) in
        [("fn (", r"search for `fn \(`"), ("a\nb", "one line"), ("x{9999999}", "not a regular expression")]
    {
        let output = place.search(pattern, None, None);
        assert!(output.failed && output.text.contains(wanted), "{}", output.text);
    }
}

#[test]
fn a_search_takes_the_globs_that_finding_takes() {
    let place = place(&[("a.rs", "needle\n"), ("src/b.rs", "needle\n"), ("src/c.py", "needle\n")]);
    let ws = place.path("").canonicalize().expect("ws").display().to_string();
    let search = |glob: &str| place.search("needle", None, Some(glob));
    assert_eq!(search(&format!("{ws}/src/*")).text, "src/b.rs:1:needle\nsrc/c.py:1:needle");
    assert_eq!(search(&format!("!{ws}/src/*")).text, "a.rs:1:needle");
    assert_eq!(search(&format!("{ws}/*.rs")).text, "a.rs:1:needle");
    assert_eq!(place.find(&format!("{ws}/*.rs")), "a.rs");
    for glob in ["../*", "!src/../*"] {
        let output = search(glob);
        assert!(output.failed && output.text.contains("`..`"), "{}", output.text);
    }
}

#[test]
fn what_a_binary_file_did_not_give_takes_no_room() {
    // It begins with text; the byte that makes it binary comes much later.
    let binary =
        format!("{}{}\0", "needle and more of it than a few words\n".repeat(190), "x\n".repeat(100_000));
    let names: Vec<String> = (0..12).map(|n| format!("b{n:02}")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), binary.as_str())).collect();
    let place = place(&[&files[..], &[("z.txt", "needle\n")]].concat());
    assert_eq!(place.search("needle", None, None).text, "z.txt:1:needle");
}

#[test]
fn p1_a_search_follows_no_link_out() {
    let place = place(&[("a", "needle\n")]);
    std::fs::write(place.directory.path().join("outside"), "needle\n").expect("file");
    std::os::unix::fs::symlink("../outside", place.path("link")).expect("link");
    std::os::unix::fs::symlink("..", place.path("up")).expect("link");
    assert_eq!(place.search("needle", None, None).text, "a:1:needle");
    assert_eq!(place.find("*"), "a\nlink\nup");
}

#[test]
fn a_cancelled_search_ends_and_says_that_it_is_not_whole() {
    let place = place(&[("a", "needle\n")]);
    let stop = soon();
    stop.cancel();
    let search = search_text::Search { pattern: "needle", within: None, glob: None };
    let output =
        search_text::search_text(&search, &place.roots, &place.buffers, &place.nothing_left_out(), &stop);
    assert!(output.text.contains("time was over"), "{}", output.text);
}

/// Returns an allowed read.
fn allowed(tool: &str, given: &[(&str, &str)], at: Option<ResolvedPath>) -> AllowedRead {
    let Some(Action::Read(Read { run, .. })) = Toolbox::default().act(tool) else { panic!("{tool} reads") };
    AllowedRead { run, given: Arguments::of_texts(given), at }
}

#[tokio::test]
async fn reads_run_off_the_async_threads() {
    let place = place(&[("a", "needle\n")]);
    let search = allowed("search_text", &[("pattern", "needle")], None);
    let output = read(search, place.roots.clone(), place.buffers.clone(), place.nothing_left_out()).await;
    assert_eq!(output, ToolOutput::done("a:1:needle", "1 match in 1 file"));
    let output = read(
        allowed("list_files", &[("path", ".")], Some(place.at("."))),
        place.roots.clone(),
        Buffers::default(),
        place.nothing_left_out(),
    )
    .await;
    assert_eq!(output.text, "a");
}
