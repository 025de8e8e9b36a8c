//! The allowed imports: the last invariant of docs/architecture.md, as a table.
//!
//! Never accepts a module that is not in the table.

use super::source::{Source, files, read, words};

/// Each module of `server/src` with the modules that it may use. No module imports upward.
const LAYERS: &[(&str, &[&str])] = &[
    (
        "main",
        &[
            "cli",
            "lsp",
            "agent",
            "sessions",
            "session",
            "tools",
            "model",
            "client",
            "editor",
            "documents",
            "settings",
        ],
    ),
    // The headless client is a real LSP client of the same server over a pipe in memory.
    (
        "cli",
        &[
            "clock",
            "scarce",
            "faults",
            "uri",
            "origin",
            "lsp",
            "agent",
            "doctor",
            "setup",
            "transport",
            "sessions",
            "session",
            "tools",
            "model",
            "client",
            "editor",
            "documents",
            "settings",
        ],
    ),
    ("doctor", &["aside", "model", "settings", "tools"]),
    ("setup", &["doctor", "model", "settings", "tools"]),
    (
        "lsp",
        &[
            "aside",
            "clock",
            "uri",
            "origin",
            "agent",
            "transport",
            "sessions",
            "session",
            "tools",
            "model",
            "client",
            "editor",
            "documents",
            "settings",
        ],
    ),
    (
        "agent",
        &[
            "doctor",
            "setup",
            "aside",
            "clock",
            "uri",
            "transport",
            "sessions",
            "session",
            "reviews",
            "tools",
            "model",
            "client",
            "editor",
            "documents",
            "settings",
        ],
    ),
    (
        "sessions",
        &[
            "aside",
            "clock",
            "scarce",
            "uri",
            "session",
            "reviews",
            "tools",
            "model",
            "client",
            "editor",
            "documents",
            "settings",
            "faults",
        ],
    ),
    (
        "session",
        &[
            "aside",
            "parallel",
            "clock",
            "scarce",
            "uri",
            "reviews",
            "tools",
            "model",
            "client",
            "editor",
            "documents",
            "settings",
            "faults",
        ],
    ),
    ("origin", &[]),
    ("reviews", &["parallel", "uri", "tools", "documents"]),
    ("tools", &["aside", "faults", "scarce", "editor", "documents", "settings"]),
    ("model", &["editor", "documents", "settings"]),
    ("client", &["clock", "transport", "editor", "documents", "settings"]),
    ("transport", &[]),
    ("aside", &[]),
    ("parallel", &[]),
    ("process", &[]),
    ("clock", &[]),
    ("scarce", &[]),
    ("editor", &[]),
    ("documents", &["uri"]),
    ("uri", &[]),
    ("settings", &[]),
    ("faults", &[]),
    // The parts of private modules that `tests/fuzz` uses. No release build has this module.
    ("fuzzing", &["session", "model"]),
    ("lib", &[]),
];

/// Names that only some modules may use: the names, the modules, and why.
const RESERVED: &[(&[&str], &[&str], &str)] = &[
    (&["tower_lsp"], &["lsp"], "only one face speaks LSP"),
    (&["reqwest", "rustls"], &["model"], "only `model` sends HTTP requests, to providers"),
    (
        &["process::Command", "process::{Child", "process::{Command", "process::Child"],
        &["tools", "cli"],
        "only a tool starts a process, after its verdict; the demo runs the test of its own project, and \
         `adjutant editor vscode` the program of an editor",
    ),
    (
        &[
            "fs::write",
            "File::create",
            "File::create_new",
            "OpenOptions",
            "DirBuilder",
            "create_dir",
            "create_dir_all",
            "fs::rename",
            "fs::copy",
            "fs::hard_link",
            "remove_file",
            "remove_dir_all",
            "renameat",
            "unlinkat",
            "mkdirat",
        ],
        &["store", "session", "tools", "settings", "documents", "cli", "doctor", "setup"],
        "`store` and `session` write sessions, `tools` and `documents` write files of the workspace, \
         `settings` creates Adjutant's directories, `setup` writes the user's settings; `cli` makes the demo, its debug log and the clients of editors, `doctor` tests whether the \
         state folder is writable",
    ),
];

/// Names of session files, as string literals. Only `store` and `session` may use them.
const SESSION_FILES: [&str; 5] =
    ["\"summary.json\"", "\"changes.jsonl\"", "\"blobs\"", "\"log.jsonl\"", "\"events.jsonl\""];

/// Crates that the pure crates may not depend on.
const IMPURE_CRATES: [&str; 10] = [
    "tokio",
    "reqwest",
    "tower-lsp",
    "tower-lsp-server",
    "rustix",
    "futures-util",
    "getrandom",
    "etcetera",
    "tracing",
    "ignore",
];

/// Names that the pure crates may not use.
const IMPURE: [&str; 15] = [
    "std::fs",
    "std::env",
    "std::process",
    "std::thread",
    "std::io",
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "SystemTime",
    "Instant",
    "async",
    "await",
    "lsp_types",
    "tower_lsp",
    "ls_types",
];

/// Files that may use an impure name: the file, the name, and why.
const IMPURE_EXCEPTIONS: [(&str, &str, &str); 1] =
    [("server/core/src/text/edit.rs", "Instant", "the differ gets its time limit as a point in time")];

/// Each crate of the workspace with the crates of the workspace that it may need. Cargo itself forbids circles.
const CRATES: [(&str, &[&str]); 9] = [
    ("server/protocol", &[]),
    ("server/core", &["protocol"]),
    ("server/git", &[]),
    ("server/host", &["core"]),
    ("server/transport", &["protocol"]),
    ("server/model", &["core", "host"]),
    ("server/store", &["protocol", "core", "host"]),
    ("server/tools", &["core", "host"]),
    ("server", &["protocol", "core", "git", "host", "transport", "model", "store", "tools"]),
];

/// Returns the module of a file of `server/src`. A file of another crate has the crate as its module.
fn module(path: &str) -> &str {
    let inner = path.strip_prefix("server/src/").or(path.strip_prefix("server/host/src/"));
    let inner = inner.or(path.strip_prefix("server/")).unwrap_or(path);
    let first = inner.split('/').next().unwrap_or(inner);
    first.strip_suffix(".rs").unwrap_or(first)
}

/// Returns the files whose modules are in `LAYERS`.
fn server() -> Vec<Source> {
    of_folders(&["server/src", "server/host/src"])
}

fn of_folders(folders: &[&str]) -> Vec<Source> {
    let found = |folder: &&str| {
        let found = files(folder, &[".rs"]);
        assert!(found.len() >= 2, "no files in {folder}");
        found
    };
    folders.iter().flat_map(found).collect()
}

/// Returns the modules of the own crate that a file names, with their lines.
fn imports(source: &Source) -> Vec<(usize, String)> {
    let code = if source.is_test() { source.test_code() } else { source.code() };
    let mut found = Vec::new();
    let mut add = |at: usize, after: &str| {
        for name in heads(after) {
            found.push((Source::line_of(&code, at), name));
        }
    };
    for start in ["crate", "adjutant"] {
        for at in words(&code, start) {
            if let Some(after) = code[at + start.len()..].trim_start().strip_prefix("::") {
                add(at, after);
            }
        }
    }
    // `super::`, repeated for each level of the file, leads to the root of the crate.
    let inner = source.path.strip_prefix("server/src/").or(source.path.strip_prefix("server/host/src/"));
    let inner = inner.unwrap_or(&source.path);
    let depth = inner.split('/').count() - usize::from(inner.ends_with("/mod.rs"));
    let climb = "super::".repeat(depth);
    for (at, _) in code.match_indices(&climb) {
        if !code[..at].ends_with("super::") && !inner.starts_with("main") && !inner.starts_with("lib") {
            add(at, &code[at + climb.len()..]);
        }
    }
    found
}

/// Returns the first names after `crate::`: one name, or each name of a group.
fn heads(after: &str) -> Vec<String> {
    let name = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let after = after.trim_start();
    let Some(group) = after.strip_prefix('{') else { return vec![name(after)] };
    let (mut depth, mut names, mut current) = (0, Vec::new(), String::new());
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => names.push(name(&std::mem::take(&mut current))),
            _ if depth == 0 => current.push(c),
            _ => {}
        }
    }
    names.push(name(&current));
    names.retain(|name| !name.is_empty());
    names
}

#[test]
fn nothing_imports_upward() {
    let mut wrong = Vec::new();
    for source in server() {
        let own = module(&source.path);
        let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == own) else {
            wrong.push(format!(
                "{}: the module `{own}` is not in LAYERS; add it there with the modules that it may use",
                source.path
            ));
            continue;
        };
        for (line, used) in imports(&source) {
            // Tests may use the properties of the fuzz targets, although these are in a higher layer.
            if used == "fuzzing" && source.is_test() {
                continue;
            }
            // The root of the crate has no types or macros, so every name must be a module.
            if used != own
                && !allowed.contains(&used.as_str())
                && LAYERS.iter().any(|(name, _)| *name == used)
            {
                wrong.push(format!("{}:{line}: `{own}` may not use `{used}`", source.path));
            } else if used != own && !LAYERS.iter().any(|(name, _)| *name == used) {
                wrong.push(format!("{}:{line}: `{used}` is not a module in LAYERS", source.path));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{}\nmove the code to a layer that may use it, or pass the value as an argument",
        wrong.join("\n")
    );
}

#[test]
fn outside_crates_stay_in_their_modules() {
    let mut wrong = Vec::new();
    let all = of_folders(&[
        "server/src",
        "server/host/src",
        "server/git/src",
        "server/transport/src",
        "server/model/src",
        "server/store/src",
        "server/tools/src",
    ]);
    for source in all.iter().filter(|source| !source.is_test()) {
        let own = module(&source.path);
        let code = source.code();
        for (needles, allowed, why) in RESERVED {
            for at in needles.iter().flat_map(|needle| words(&code, needle)) {
                if !allowed.contains(&own) {
                    let line = Source::line_of(&code, at);
                    let named: String =
                        code[at..].chars().take_while(|c| !c.is_whitespace()).take(30).collect();
                    wrong.push(format!(
                        "{}:{line}: only {} may use `{named}`: {why}",
                        source.path,
                        allowed.join(", ")
                    ));
                }
            }
        }
        for name in SESSION_FILES
            .iter()
            .filter(|name| !["store", "session"].contains(&own) && source.text.contains(*name))
        {
            wrong
                .push(format!("{}: {name} is a file of a session; use a function of `session`", source.path));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn crates_need_only_those_below_them() {
    for (folder, allowed) in CRATES {
        let table: toml::Table = read(&format!("{folder}/Cargo.toml")).parse().expect("a manifest is TOML");
        let needs = table.get("dependencies").and_then(|value| value.as_table()).expect("dependencies");
        let mut found: Vec<&str> = needs.keys().filter_map(|name| name.strip_prefix("adjutant-")).collect();
        let mut allowed = allowed.to_vec();
        found.sort_unstable();
        allowed.sort_unstable();
        assert_eq!(found, allowed, "{folder}/Cargo.toml: the dependencies differ from CRATES");
    }
}

#[test]
fn the_core_is_pure() {
    let mut wrong = Vec::new();
    for manifest in ["server/core/Cargo.toml", "server/protocol/Cargo.toml"] {
        let table: toml::Table = read(manifest).parse().expect("a manifest is TOML");
        let dependencies =
            table.get("dependencies").and_then(|value| value.as_table()).expect("dependencies");
        assert!(
            dependencies.contains_key("serde"),
            "{manifest} has no serde: is the table still read right?"
        );
        for name in IMPURE_CRATES.iter().filter(|name| dependencies.contains_key(**name)) {
            wrong.push(format!(
                "{manifest}: {name} does I/O or is async; do that in `server` and pass the result"
            ));
        }
    }
    let pure = files("server/core/src", &[".rs"]).into_iter().chain(files("server/protocol/src", &[".rs"]));
    for source in pure.filter(|source| !source.is_test()) {
        let code = source.code();
        for needle in IMPURE {
            let excused =
                IMPURE_EXCEPTIONS.iter().any(|(path, name, _)| *path == source.path && *name == needle);
            if let Some(at) = words(&code, needle).next().filter(|_| !excused) {
                let line = Source::line_of(&code, at);
                wrong.push(format!(
                    "{}:{line}: `{needle}` in a pure crate; pass its result as an argument",
                    source.path
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The format of the log does not depend on the wire: only these files use its types (decision 014).
#[test]
fn the_wire_is_known_to_one_folder_of_the_core() {
    let knows =
        |path: &str| path.starts_with("server/core/src/wire/") || path.ends_with("core/src/record/ids.rs");
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for source in files("server/core/src", &[".rs"]).into_iter().filter(|source| !source.is_test()) {
        let code = source.code();
        let Some(at) = words(&code, "adjutant_protocol").next() else { continue };
        seen += 1;
        if !knows(&source.path) {
            let line = Source::line_of(&code, at);
            wrong.push(format!("{}:{line}: convert to and from types of the wire in `wire/`", source.path));
        }
    }
    assert!(seen >= 5, "only {seen} files of `wire/` were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn groups_and_climbs_are_read() {
    assert_eq!(heads("{a, b::{c, d}, e as f};"), ["a", "b", "e"]);
    assert_eq!(heads("lsp::x"), ["lsp"]);
    let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
    let found = imports(&source(
        "server/src/session/log.rs",
        "use super::super::lsp::x;\nuse super::y; crate::z::f()",
    ));
    assert_eq!(found, [(2, "z".to_owned()), (1, "lsp".to_owned())]);
}
