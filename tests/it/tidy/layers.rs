//! Who may import whom: the last invariant of docs/architecture.md, as a table.
//!
//! Never trusts prose: a module that is not in the table fails.

use super::source::{Source, files, read, words};

/// Module of `server/src`, and what it may use. Nothing imports upward.
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
            "uri",
            "lsp",
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
        "lsp",
        &[
            "aside",
            "clock",
            "uri",
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
            "aside",
            "clock",
            "uri",
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
        "sessions",
        &["clock", "scarce", "uri", "session", "tools", "model", "client", "editor", "documents", "settings"],
    ),
    (
        "session",
        &[
            "aside",
            "clock",
            "scarce",
            "uri",
            "tools",
            "model",
            "client",
            "editor",
            "documents",
            "settings",
            "faults",
        ],
    ),
    ("tools", &["aside", "faults", "scarce", "editor", "documents", "settings"]),
    ("model", &["editor", "documents", "settings"]),
    ("client", &["clock", "transport", "editor", "documents", "settings"]),
    ("transport", &[]),
    ("aside", &[]),
    ("clock", &[]),
    ("scarce", &[]),
    ("editor", &[]),
    ("documents", &["uri"]),
    ("uri", &[]),
    ("settings", &[]),
    ("faults", &[]),
    // What `tests/fuzz` reaches of private modules; no build of ours has it.
    ("fuzzing", &["session", "model"]),
    ("lib", &[]),
];

/// What only some modules may name, and why.
const RESERVED: &[(&[&str], &[&str], &str)] = &[
    (&["tower_lsp"], &["lsp"], "one face alone speaks LSP"),
    (&["reqwest", "rustls"], &["model"], "only a provider is called over HTTP"),
    (
        &["process::Command", "process::{Child", "process::{Command", "process::Child"],
        &["tools", "cli"],
        "only a tool starts a process, after its verdict; the demo runs the test of its own project itself",
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
        &["store", "session", "tools", "settings", "documents", "cli"],
        "sessions are written by `store` and `session`, files of the workspace by `tools` and `documents`, our directories by `settings`; \
         `cli` tries whether the state folder can be written",
    ),
];

/// Names of session files, as they stand in strings; only `store` and `session` may know them.
const SESSION_FILES: [&str; 4] = ["\"summary.json\"", "\"blobs\"", "\"log.jsonl\"", "\"events.jsonl\""];

/// What the pure crates may not depend on.
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

/// What the pure crates may not name.
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

/// File, name, why it may.
const IMPURE_EXCEPTIONS: [(&str, &str, &str); 1] =
    [("server/core/src/text/edit.rs", "Instant", "the differ takes its time limit as a point in time")];

/// Crate of ours, and the crates of ours it may need. Cargo keeps the rest: there is no circle.
const CRATES: [(&str, &[&str]); 8] = [
    ("server/protocol", &[]),
    ("server/core", &["protocol"]),
    ("server/host", &["core"]),
    ("server/transport", &["protocol"]),
    ("server/model", &["core", "host"]),
    ("server/store", &["protocol", "core", "host"]),
    ("server/tools", &["core", "host"]),
    ("server", &["protocol", "core", "host", "transport", "model", "store", "tools"]),
];

/// Returns the module of a file of `server/src`; what is a crate of its own counts as one.
fn module(path: &str) -> &str {
    let inner = path.strip_prefix("server/src/").or(path.strip_prefix("server/host/src/"));
    let inner = inner.or(path.strip_prefix("server/")).unwrap_or(path);
    let first = inner.split('/').next().unwrap_or(inner);
    first.strip_suffix(".rs").unwrap_or(first)
}

/// The files whose modules are in `LAYERS`.
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

/// Returns the crate's own modules that a file names, with lines.
fn imports(source: &Source) -> Vec<(usize, String)> {
    let code = if source.is_test() { source.test_code() } else { source.code() };
    let mut found = Vec::new();
    let mut take = |at: usize, after: &str| {
        for name in heads(after) {
            found.push((Source::line_of(&code, at), name));
        }
    };
    for start in ["crate", "adjutant"] {
        for at in words(&code, start) {
            if let Some(after) = code[at + start.len()..].trim_start().strip_prefix("::") {
                take(at, after);
            }
        }
    }
    // `super::` as often as the file is deep is the crate's root.
    let inner = source.path.strip_prefix("server/src/").or(source.path.strip_prefix("server/host/src/"));
    let inner = inner.unwrap_or(&source.path);
    let depth = inner.split('/').count() - usize::from(inner.ends_with("/mod.rs"));
    let climb = "super::".repeat(depth);
    for (at, _) in code.match_indices(&climb) {
        if !code[..at].ends_with("super::") && !inner.starts_with("main") && !inner.starts_with("lib") {
            take(at, &code[at + climb.len()..]);
        }
    }
    found
}

/// Returns the first names of what follows `crate::`: one, or those of a group.
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
                "{}: the module `{own}` is not in LAYERS; say there what it may use",
                source.path
            ));
            continue;
        };
        for (line, used) in imports(&source) {
            // The properties of the fuzz targets stand above what they look into, and tests share them.
            if used == "fuzzing" && source.is_test() {
                continue;
            }
            // A name with a capital is a type or a macro of the crate's root, which has none.
            if used != own
                && !allowed.contains(&used.as_str())
                && LAYERS.iter().any(|(name, _)| *name == used)
            {
                wrong.push(format!("{}:{line}: `{own}` may not use `{used}`", source.path));
            } else if used != own && !LAYERS.iter().any(|(name, _)| *name == used) {
                wrong.push(format!("{}:{line}: `{used}` is no module in LAYERS", source.path));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{}\nmove the code to the layer that may, or pass what it needs as an argument",
        wrong.join("\n")
    );
}

#[test]
fn outside_crates_stay_in_their_modules() {
    let mut wrong = Vec::new();
    let all = of_folders(&[
        "server/src",
        "server/host/src",
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
                        "{}:{line}: `{named}` belongs into {} alone: {why}",
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
            wrong.push(format!("{}: {name} is a session's file; ask `session` for it", source.path));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn crates_need_only_those_below_them() {
    for (folder, allowed) in CRATES {
        let table: toml::Table = read(&format!("{folder}/Cargo.toml")).parse().expect("a manifest is TOML");
        let needs = table.get("dependencies").and_then(|value| value.as_table()).expect("dependencies");
        let mut ours: Vec<&str> = needs.keys().filter_map(|name| name.strip_prefix("adjutant-")).collect();
        let mut allowed = allowed.to_vec();
        ours.sort_unstable();
        allowed.sort_unstable();
        assert_eq!(ours, allowed, "{folder}/Cargo.toml: what it needs is what CRATES allows");
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
                "{manifest}: {name} does I/O or is async; do that in `server` and pass the result in"
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
                    "{}:{line}: `{needle}` in a pure crate; take what it gives as an argument",
                    source.path
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is stored never follows the wire: only these know it (decision 014).
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
    assert!(seen >= 5, "files of `wire/` are seen: {seen}");
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
