//! Tests of protected and secret files.

use super::*;
use crate::tools::paths::{Roots, ground};

fn workspace() -> (tempfile::TempDir, Roots) {
    let directory = tempfile::tempdir().expect("temp dir");
    std::fs::create_dir(directory.path().join("ws")).expect("workspace");
    let (roots, problems) = Roots::open(&[directory.path().join("ws")]);
    assert!(problems.is_empty(), "{problems:?}");
    (directory, roots)
}

/// Why a file must never be written, if so.
fn protected(at: &Grounded, own: &[PathBuf]) -> Option<Why> {
    match write_class(at, own) {
        WriteClass::Denied(reason) => Some(reason),
        _ => None,
    }
}

/// The protected-write and name-tricks cases of the path corpus.
#[test]
fn p3_protected_files_are_denied_or_asked_in_any_spelling() {
    let (directory, roots) = workspace();
    let own = [directory.path().join("config"), directory.path().join("state")];
    let home = directory.path().join("home/.bashrc");
    let state = directory.path().join("state/sessions/1.log");
    let denied = [
        ".git",
        ".git/config",
        ".git/hooks/pre-commit",
        ".vscode/settings.json",
        ".vscode/tasks.json",
        ".vscode/launch.json",
        ".idea/workspace.xml",
        ".nvim.lua",
        ".exrc",
        ".mcp.json",
        ".cursor/mcp.json",
        ".claude/settings.json",
        ".adjutant/config.toml",
        ".ssh/authorized_keys",
        "sub/.git/config",
        "x.code-workspace",
        home.to_str().expect("utf-8"),
        state.to_str().expect("utf-8"),
        ".husky/pre-commit",
        ".config/fish/config.fish",
        // The same in disguise.
        ".GIT/hooks/pre-commit",
        ".VSCODE/settings.json",
        ".git /config",
        ".git./config",
        ".git::$INDEX_ALLOCATION/config",
        ".g\u{200c}it/config",
        "\\\\?\\C:\\proj\\.git\\config",
        "GIT~1/config",
        ".ｇｉｔ/config",
        ".vſcode/tasks.json",
    ];
    for path in denied {
        let at = ground(&roots, path).expect(path);
        assert!(protected(&at, &own).is_some(), "{path} is {:?}", write_class(&at, &own));
    }
    let asked = [
        ".gitmodules",
        ".envrc",
        "AGENTS.md",
        "sub/CLAUDE.md",
        ".github/workflows/x.yml",
        "build.rs",
        "rust-toolchain.toml",
        ".env",
        "config/.env.local",
        ".vscode/snippets.json",
        ".cargo/config.toml",
    ];
    for path in asked {
        let at = ground(&roots, path).expect(path);
        assert!(
            matches!(write_class(&at, &own), WriteClass::Ask(_)),
            "{path} is {:?}",
            write_class(&at, &own)
        );
    }
    for path in ["Cargo.toml", "web/package.json"] {
        let at = ground(&roots, path).expect(path);
        assert!(matches!(write_class(&at, &own), WriteClass::Marked(_)), "{path}");
    }
    for path in
        ["src/main.rs", "crlf.txt", ".gitignore", "git/config", "settings.json", "docs/cron.md", "profile"]
    {
        let at = ground(&roots, path).expect(path);
        assert_eq!(write_class(&at, &own), WriteClass::Plain, "{path}");
    }
}

#[test]
fn p3_a_write_to_a_secret_is_asked_for_with_the_reason_that_holds() {
    let (_directory, roots) = workspace();
    let class = |raw: &str| write_class(&ground(&roots, raw).expect(raw), &[]);
    assert_eq!(class(".env.local"), WriteClass::Ask(ENVIRONMENT));
    assert_eq!(class("deploy/server.pem"), WriteClass::Ask(KEYS));
    assert_eq!(class("credentials.json"), WriteClass::Ask(KEYS));
}

#[test]
fn p3_a_link_to_a_protected_file_is_that_file() {
    let (directory, roots) = workspace();
    let ws = directory.path().join("ws");
    std::fs::create_dir(ws.join(".git")).expect("git");
    std::os::unix::fs::symlink(".git", ws.join("innocent")).expect("link");
    let at = ground(&roots, "innocent/config").expect("grounded");
    assert!(protected(&at, &[]).is_some());
    // Our own directory is known behind a link as well.
    std::fs::create_dir(directory.path().join("real")).expect("real");
    std::os::unix::fs::symlink("real", directory.path().join("config")).expect("link");
    let at = ground(&roots, directory.path().join("real/rules.toml").to_str().expect("utf-8"));
    assert_eq!(protected(&at.expect("grounded"), &[directory.path().join("config")]), Some(OWN));
}

#[test]
fn p3_a_folder_opened_in_an_agents_directory_can_be_worked_in() {
    let directory = tempfile::tempdir().expect("temp dir");
    let folder = directory.path().join(".claude/worktrees/ws");
    std::fs::create_dir_all(&folder).expect("folder");
    let (roots, _) = Roots::open(&[folder]);
    let class = |raw: &str| write_class(&ground(&roots, raw).expect(raw), &[]);
    assert_eq!(class("src/main.rs"), WriteClass::Plain);
    assert_eq!(class(".claude/settings.json"), WriteClass::Denied(AGENT));
    assert_eq!(class("../x"), WriteClass::Denied(AGENT));
}

#[test]
fn p5_secret_stores_need_an_ask_even_to_read() {
    let (_directory, roots) = workspace();
    for path in [
        ".env",
        ".env.production",
        "prod.env",
        ".ssh/id_rsa",
        "deploy/server.pem",
        "a.KEY",
        ".aws/config",
        ".netrc",
        ".npmrc",
        "service-account-x.json",
        "/etc/shadow",
        "/proc/1/environ",
        "credentials.json",
    ] {
        let at = ground(&roots, path).expect(path);
        assert!(matches!(read_class(&at), ReadClass::Secret(_)), "{path}");
    }
    for path in ["src/main.rs", ".env.example", "src/env.rs", "keys.md", "monkey", ".gitignore", "README"] {
        let at = ground(&roots, path).expect(path);
        assert_eq!(read_class(&at), ReadClass::Plain, "{path}");
    }
}
