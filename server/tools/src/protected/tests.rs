//! Tests of protected and secret files.

use adjutant_core::policy::cause::Cause;
use adjutant_core::policy::observation::ObservedPath;
use adjutant_core::policy::permission::{Act, Verdict, verdict};
use adjutant_core::record::Policy;
use adjutant_core::session::Session;

use super::*;
use crate::paths::{Roots, resolve};

fn workspace() -> (tempfile::TempDir, Roots) {
    let directory = tempfile::tempdir().expect("temp dir");
    std::fs::create_dir(directory.path().join("ws")).expect("workspace");
    let (roots, problems) = Roots::open(&[directory.path().join("ws")]);
    assert!(problems.is_empty(), "{problems:?}");
    (directory, roots)
}

/// Returns core's verdict of a write in one word, and the class of the file.
fn write_class(at: &ResolvedPath, own: &Own) -> (&'static str, Option<FileClass>) {
    let seen = ObservedPath {
        write_class: class_of(at, own),
        secret: held_by(at, own),
        ..ObservedPath::inside(&at.display)
    };
    let session = Session::new("s-1".into(), Vec::new());
    let word = match verdict(&session, &Policy::default(), "edit_file", Act::Edit(&seen)) {
        Verdict::Deny(_) => "deny",
        Verdict::Ask(why) if why.cause != Cause::EveryEdit => "ask",
        Verdict::Ask(_) if seen.write_class.is_some() => "mark",
        Verdict::Ask(_) => "plain",
        Verdict::Allow(by) => panic!("{at:?} is written unasked: {by:?}"),
    };
    (word, seen.write_class.or(seen.secret))
}

/// Returns the class of a file that must never be written; none if it may be written.
fn protected(at: &ResolvedPath, own: &Own) -> Option<FileClass> {
    let (word, class) = write_class(at, own);
    class.filter(|_| word == "deny")
}

/// The protected-write and name-tricks cases of the path corpus.
#[test]
fn p3_protected_files_are_denied_or_asked_in_any_spelling() {
    let (directory, roots) = workspace();
    let own = Own::of([directory.path().join("config"), directory.path().join("state")]);
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
        // The same names in other spellings.
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
        let at = resolve(&roots, path).expect(path);
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
        let at = resolve(&roots, path).expect(path);
        assert!(write_class(&at, &own).0 == "ask", "{path} is {:?}", write_class(&at, &own));
    }
    for path in ["Cargo.toml", "web/package.json"] {
        let at = resolve(&roots, path).expect(path);
        assert!(write_class(&at, &own).0 == "mark", "{path}");
    }
    for path in
        ["src/main.rs", "crlf.txt", ".gitignore", "git/config", "settings.json", "docs/cron.md", "profile"]
    {
        let at = resolve(&roots, path).expect(path);
        assert_eq!(write_class(&at, &own), ("plain", None), "{path}");
    }
}

#[test]
fn p3_a_write_to_a_secret_is_asked_for_with_the_reason_that_holds() {
    let (_directory, roots) = workspace();
    let class = |raw: &str| write_class(&resolve(&roots, raw).expect(raw), &Own::default());
    assert_eq!(class(".env.local"), ("ask", Some(FileClass::Environment)));
    assert_eq!(class("deploy/server.pem"), ("ask", Some(FileClass::Keys)));
    assert_eq!(class("credentials.json"), ("ask", Some(FileClass::Keys)));
}

#[test]
fn p3_a_link_to_a_protected_file_is_that_file() {
    let (directory, roots) = workspace();
    let ws = directory.path().join("ws");
    std::fs::create_dir(ws.join(".git")).expect("git");
    std::os::unix::fs::symlink(".git", ws.join("innocent")).expect("link");
    let at = resolve(&roots, "innocent/config").expect("resolved");
    assert!(protected(&at, &Own::default()).is_some());
    // Adjutant's own directory is found through a link too.
    std::fs::create_dir(directory.path().join("real")).expect("real");
    std::os::unix::fs::symlink("real", directory.path().join("config")).expect("link");
    let at = resolve(&roots, directory.path().join("real/rules.toml").to_str().expect("utf-8"));
    assert_eq!(
        protected(&at.expect("resolved"), &Own::of([directory.path().join("config")])),
        Some(FileClass::Own)
    );
}

#[test]
fn p3_a_folder_opened_in_an_agents_directory_can_be_worked_in() {
    let directory = tempfile::tempdir().expect("temp dir");
    let folder = directory.path().join(".claude/worktrees/ws");
    std::fs::create_dir_all(&folder).expect("folder");
    let (roots, _) = Roots::open(&[folder]);
    let class = |raw: &str| write_class(&resolve(&roots, raw).expect(raw), &Own::default());
    assert_eq!(class("src/main.rs"), ("plain", None));
    assert_eq!(class(".claude/settings.json"), ("deny", Some(FileClass::AgentSettings)));
    assert_eq!(class("../x"), ("deny", Some(FileClass::AgentSettings)));
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
        let at = resolve(&roots, path).expect(path);
        assert!(held_by(&at, &Own::default()).is_some(), "{path}");
    }
    for path in ["src/main.rs", ".env.example", "src/env.rs", "keys.md", "monkey", ".gitignore", "README"] {
        let at = resolve(&roots, path).expect(path);
        assert_eq!(held_by(&at, &Own::default()), None, "{path}");
    }
}

/// One line of `tests/corpus/protected_names.jsonl`: a name from the documentation of a tool.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Name {
    name: String,
    tool: String,
    write: String,
    #[serde(default)]
    read: Option<String>,
    page: String,
}

#[test]
fn finding_b6_names_from_the_documentation_of_tools_have_their_class() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/protected_names.jsonl");
    let text = std::fs::read_to_string(&path).expect("the list of names");
    let names: Vec<Name> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|why| panic!("{line}: {why}")))
        .collect();
    let tools: std::collections::BTreeSet<&str> = names.iter().map(|line| line.tool.as_str()).collect();
    assert!(names.len() >= 250 && tools.len() >= 40, "{} names of {} tools", names.len(), tools.len());
    let (_directory, roots) = workspace();
    let mut wrong = Vec::new();
    for line in &names {
        assert!(line.page.starts_with("http"), "{} has no page", line.name);
        let at = resolve(&roots, &line.name).expect(&line.name);
        let class = write_class(&at, &Own::default());
        if class.0 != line.write {
            wrong.push(format!("{}: {} is {class:?}, not {}", line.tool, line.name, line.write));
        }
        let secret = held_by(&at, &Own::default()).is_some();
        if secret != (line.read.as_deref() == Some("secret")) {
            wrong.push(format!("{}: reading {} asks: {secret}", line.tool, line.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every pattern of the table matches a path made from it.
#[test]
fn finding_b6_every_pattern_finds_what_it_says() {
    let all = [RUNS_BY_ITSELF, COUNTS_LATER, RUNS_ON_BUILD, SECRET].concat_families();
    for (family, pattern) in all {
        assert_eq!(pattern.to_lowercase(), pattern, "the table is in small letters");
        let path = format!("/w/{}", pattern.replace('*', "x"));
        let path = if pattern.ends_with('/') { format!("{path}inner") } else { path };
        let names = folded(Path::new(&path));
        let found = Patterns::of(family).find(&names, |_, _| true);
        assert!(found.is_some(), "{pattern}");
    }
}

trait Families {
    fn concat_families(self) -> Vec<(&'static [table::Family], &'static str)>;
}

impl Families for [&'static [table::Family]; 4] {
    fn concat_families(self) -> Vec<(&'static [table::Family], &'static str)> {
        let of = |families: &'static [table::Family]| {
            families
                .iter()
                .flat_map(move |family| family.patterns.iter().map(move |pattern| (families, *pattern)))
        };
        self.into_iter().flat_map(of).collect()
    }
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("parent")).expect("folder");
    std::fs::write(path, text).expect("file");
}

#[test]
fn finding_b6_git_by_another_name_is_git() {
    let (directory, roots) = workspace();
    let ws = directory.path().join("ws");
    let class = |raw: &str| write_class(&resolve(&roots, raw).expect(raw), &Own::default());
    // A bare repository with an ordinary name, and one that the write would complete.
    for name in ["HEAD", "objects/x", "refs/x", "config"] {
        write(&ws.join("store").join(name), "x");
    }
    assert_eq!(class("store/config"), ("deny", Some(FileClass::Repository)));
    assert_eq!(class("store/hooks/post-checkout"), ("deny", Some(FileClass::Repository)));
    write(&ws.join("half/objects/x"), "x");
    write(&ws.join("half/refs/x"), "x");
    assert_eq!(class("half/HEAD"), ("deny", Some(FileClass::Repository)));
    assert_eq!(class("half/config"), ("deny", Some(FileClass::Repository)));
    assert_eq!(class("half/objects/y.rs"), ("plain", None));
    // The folder that a `.git` file names.
    write(&ws.join("sub/.git"), "gitdir: ../kept\n");
    write(&ws.join("kept/config"), "");
    assert_eq!(class("sub/x.rs"), ("plain", None));
    write(&ws.join("tree/.git"), "gitdir: inner/meta\n");
    write(&ws.join("tree/inner/meta/config"), "");
    assert_eq!(class("tree/inner/meta/config"), ("deny", Some(FileClass::Repository)));
    assert_eq!(class("tree/inner/x.rs"), ("plain", None));
    // Hooks and settings files that the settings of the repository name.
    let settings =
        "[core]\n\tbare = false\n\thooksPath = tools/hooks\n[include]\n\tpath = ../team.gitconfig\n";
    write(&ws.join(".git/config"), settings);
    assert_eq!(class("tools/hooks/pre-push"), ("deny", Some(FileClass::Repository)));
    assert_eq!(class("team.gitconfig"), ("deny", Some(FileClass::Repository)));
    assert_eq!(class("tools/hook.rs"), ("plain", None));
}

#[test]
fn finding_h1_a_repository_in_two_folders_is_one_and_is_not_put_together() {
    let (directory, roots) = workspace();
    let ws = directory.path().join("ws");
    let class = |raw: &str| write_class(&resolve(&roots, raw).expect(raw), &Own::default());
    // The half with settings, objects and refs, completed by any of the writes.
    write(&ws.join("docs/common/config"), "[core]\n\tfsmonitor = x\n");
    assert_eq!(class("docs/common/objects/x"), ("plain", None));
    write(&ws.join("docs/common/objects/x"), "x");
    assert_eq!(class("docs/common/refs/x"), ("deny", Some(FileClass::Repository)));
    // The half that names the other.
    for name in ["docs/a/commondir", "docs/a/config.worktree", "docs/a/CommonDir"] {
        assert_eq!(class(name), ("deny", Some(FileClass::Repository)), "{name}");
    }
    assert_eq!(class("docs/a/HEAD"), ("plain", None));
    write(&ws.join("docs/a/commondir"), "../common\n");
    for name in ["HEAD", "info/attributes", "x"] {
        let expected = if name == "HEAD" { ("deny", Some(FileClass::Repository)) } else { ("plain", None) };
        assert_eq!(class(&format!("docs/a/{name}")), expected, "{name}");
    }
    write(&ws.join("docs/a/HEAD"), "ref: refs/heads/x\n");
    assert_eq!(class("docs/a/x"), ("deny", Some(FileClass::Repository)));
    // Folders of source code with the same names.
    write(&ws.join("src/objects/x.rs"), "");
    write(&ws.join("src/refs/x.rs"), "");
    for name in ["src/refs/y.rs", "src/objects/y.rs", "src/main.rs"] {
        assert_eq!(class(name), ("plain", None), "{name}");
    }
}

#[test]
fn settings_of_git_are_read_as_git_reads_them() {
    let (directory, roots) = workspace();
    let ws = directory.path().join("ws");
    let class = |raw: &str| write_class(&resolve(&roots, raw).expect(raw), &Own::default());
    let denied = |settings: &str, path: &str| {
        write(&ws.join(".git/config"), settings);
        assert_eq!(class(path), ("deny", Some(FileClass::Repository)), "{settings}");
    };
    denied("[core]\n\thooksPath = devhooks # shared hooks\n", "devhooks/pre-push");
    denied("[core]\n\thooksPath = devhooks;shared\n", "devhooks/pre-push");
    denied("[core] hooksPath = \"dev # hooks\" ; shared\n", "dev # hooks/pre-push");
    denied("[core]\n\thooksPath = dev\" # \"hooks\n", "dev # hooks/pre-push");
    denied("[core]\n\thooksPath = dev[1]\n", "dev[1]/pre-push");
    denied("[core]\n\thooksPath = dev\\\nhooks\n", "devhooks/pre-push");
    denied("[core]\n\thooksPath = \"dev\\\"hooks\"\n", "dev\"hooks/pre-push");
    denied("# [user]\n[CORE] # that\n; x = y\n\tbare\n\tHOOKSPATH=devhooks\r\n", "devhooks/pre-push");
    denied("[includeIf \"gitdir:a]b\"] path = ../team.gitconfig # all\n", "team.gitconfig");
    // Paths that an included file names; it may include itself.
    write(&ws.join("settings/team"), "[core]\nhooksPath = shared\n[include]\npath = more\npath = team\n");
    write(&ws.join("settings/more"), "[core]\nexcludesFile = kept/ignored\n");
    for path in ["settings/team", "settings/more", "shared/pre-push", "kept/ignored"] {
        denied("[include]\n\tpath = ../settings/team\n", path);
    }
    assert_eq!(class("kept/other"), ("plain", None));
}

#[test]
fn finding_h5_a_tilde_in_the_settings_of_git_is_the_home() {
    let (directory, roots) = workspace();
    let ws = directory.path().join("ws");
    let own = Own::default().at_home(Some(directory.path().to_owned()));
    let class = |raw: &str| write_class(&resolve(&roots, raw).expect(raw), &own);
    for (settings, path) in [
        ("[core]\n\thooksPath = ~/ws/shared\n", "shared/pre-push"),
        ("[core]\n\thooksPath = \"~/ws/a b\"\n", "a b/pre-push"),
        ("[include]\n\tpath = ~/ws/team.gitconfig\n", "team.gitconfig"),
        ("[core]\n\thooksPath = ~root/../root/../{WS}/shared\n", "shared/pre-push"),
    ] {
        let settings =
            settings.replace("{WS}", ws.strip_prefix("/").expect("absolute").to_str().expect("utf-8"));
        write(&ws.join(".git/config"), &settings);
        assert_eq!(class(path), ("deny", Some(FileClass::Repository)), "{settings}");
    }
    assert_eq!(class("src/main.rs"), ("plain", None));
}

#[test]
fn finding_h5_no_spelling_completes_a_repository() {
    let (directory, roots) = workspace();
    let ws = directory.path().join("ws");
    let class = |raw: &str| write_class(&resolve(&roots, raw).expect(raw), &Own::default());
    write(&ws.join("half/objects/x"), "x");
    write(&ws.join("half/refs/x"), "x");
    write(&ws.join("other/objects/x"), "x");
    write(&ws.join("other/config"), "x");
    for name in
        ["half/head", "half/Head", "half/CONFIG", "half/Hooks/pre-push", "half/h\u{200b}ead", "other/Refs/x"]
    {
        assert_eq!(class(name), ("deny", Some(FileClass::Repository)), "{name}");
    }
    for name in ["half/headers", "half/objects/head.rs", "half/config/x", "other/ref"] {
        assert_eq!(class(name), ("plain", None), "{name}");
    }
}

#[test]
fn finding_b6_what_runs_by_its_name_from_the_home_is_not_written() {
    let (directory, roots) = workspace();
    let own = |home: &str| Own::default().at_home(Some(directory.path().join(home)));
    let class = |raw: &str, own: &Own| write_class(&resolve(&roots, raw).expect(raw), own);
    // The workspace is the home, or the home is elsewhere.
    for name in ["bin/run", "BIN/run", "bin/sub/run"] {
        assert_eq!(class(name, &own("ws")), ("deny", Some(FileClass::Programs)), "{name}");
        assert_eq!(class(name, &own("home")), ("plain", None), "{name}");
    }
    assert_eq!(class("src/bin/run", &own("ws")), ("plain", None));
    // A user who opens exactly that folder may work in it.
    let bin = directory.path().join("ws/bin");
    std::fs::create_dir(&bin).expect("folder");
    let (inner, _) = Roots::open(&[bin]);
    let at = resolve(&inner, "run").expect("run");
    assert_eq!(write_class(&at, &own("ws")), ("plain", None));
}

#[test]
fn finding_b6_a_work_tree_beside_its_bare_repository_can_be_worked_in() {
    let directory = tempfile::tempdir().expect("temp dir");
    let bare = directory.path().join("project.git");
    for name in ["HEAD", "objects/x", "refs/x", "config", "worktrees/main/HEAD"] {
        write(&bare.join(name), "x");
    }
    write(&bare.join("worktrees/main/commondir"), "../..\n");
    write(&bare.join("main/.git"), &format!("gitdir: {}\n", bare.join("worktrees/main").display()));
    let (roots, _) = Roots::open(&[bare.join("main")]);
    let class = |raw: &str| write_class(&resolve(&roots, raw).expect(raw), &Own::default());
    assert_eq!(class("src/main.rs"), ("plain", None));
    assert_eq!(class("../config"), ("deny", Some(FileClass::Repository)));
}

#[test]
fn finding_b5_own_files_are_known_by_every_way_to_them() {
    let (directory, roots) = workspace();
    let (ws, config) = (directory.path().join("ws"), directory.path().join("config"));
    write(&config.join("key"), "secret");
    let own = Own::of([config.clone(), directory.path().join("other.txt")]);
    std::fs::hard_link(config.join("key"), ws.join("second")).expect("link");
    std::os::unix::fs::symlink(&config, ws.join("way")).expect("link");
    for raw in ["second", "way/key", "way/new", "../config/key", "../other.txt"] {
        let at = resolve(&roots, raw).expect(raw);
        assert_eq!(held_by(&at, &own), Some(FileClass::Own), "{raw}");
        assert!(write_class(&at, &own).0 == "deny", "{raw}");
    }
    write(&ws.join("mine"), "x");
    let at = resolve(&roots, "mine").expect("mine");
    assert_eq!((held_by(&at, &own), write_class(&at, &own)), (None, ("plain", None)));
}

#[test]
fn hooks_that_the_user_has_for_all_repositories_are_not_written() {
    let (directory, roots) = workspace();
    let (home, ws) = (directory.path(), directory.path().join("ws"));
    let own = Own::default().at_home(Some(home.to_owned()));
    let class = |raw: &str| write_class(&resolve(&roots, raw).expect(raw), &own);
    assert_eq!(class("hooks/pre-push"), ("plain", None));
    write(&home.join(".gitconfig"), "[core]\n\thooksPath = ~/ws/hooks\n[include]\n\tpath = ws/team\n");
    assert_eq!(class("hooks/pre-push"), ("deny", Some(FileClass::Repository)));
    assert_eq!(class("team"), ("deny", Some(FileClass::Repository)));
    assert_eq!(class("src/main.rs"), ("plain", None));
    // In a repository a relative path begins at its top.
    write(&home.join(".gitconfig"), "[core]\n\thooksPath = shared\n");
    write(&ws.join("deep/.git/config"), "");
    assert_eq!(class("deep/shared/pre-push"), ("deny", Some(FileClass::Repository)));
    assert_eq!(class("deep/other/pre-push"), ("plain", None));
}

#[test]
fn hooks_behind_a_link_are_not_written_before_they_are_there() {
    let (directory, roots) = workspace();
    let ws = directory.path().join("ws");
    let class = |raw: &str| write_class(&resolve(&roots, raw).expect(raw), &Own::default());
    write(&ws.join(".git/config"), "[core]\n\thooksPath = tools/hooks\n");
    std::os::unix::fs::symlink("scripts", ws.join("tools")).expect("link");
    // The target of the link does not exist either.
    assert_eq!(class("scripts/hooks/pre-push"), ("deny", Some(FileClass::Repository)));
    write(&ws.join("scripts/x"), "x");
    assert_eq!(class("scripts/hooks/pre-push"), ("deny", Some(FileClass::Repository)));
    assert_eq!(class("scripts/x"), ("plain", None));
}

#[test]
fn finding_b5_a_second_name_of_a_file_of_a_session_is_adjutants_own() {
    let (directory, roots) = workspace();
    let (ws, state) = (directory.path().join("ws"), directory.path().join("state"));
    write(&state.join("sessions/s-1/outputs/call-1.txt"), "output");
    write(&ws.join("mine"), "mine");
    std::fs::hard_link(state.join("sessions/s-1/outputs/call-1.txt"), ws.join("copy")).expect("link");
    std::fs::hard_link(ws.join("mine"), ws.join("also-mine")).expect("link");
    let own = Own::of([state]);
    let class = |raw: &str| held_by(&resolve(&roots, raw).expect(raw), &own);
    assert_eq!(class("copy"), Some(FileClass::Own));
    assert_eq!(class("also-mine"), None);
}
