//! The names of protected and secret files: data only, all in lower case.
//!
//! Never decides anything; `protected` compares folded names with these.

use adjutant_core::cause::Cause;

use super::Why;

pub(super) const OWN: Why = Why::new(Cause::OwnFiles, "holds Adjutant's own settings, rules and records");
pub(super) const VCS: Why =
    Why::new(Cause::VersionControl, "belongs to version control, which runs programs named there");
pub(super) const EDITOR: Why = Why::new(Cause::EditorSettings, "configures what the editor runs");
pub(super) const AGENT: Why = Why::new(Cause::AgentSettings, "configures or is run by a coding agent");
pub(super) const SHELL: Why = Why::new(Cause::StartUp, "is run when a shell or a login starts");
pub(super) const KEYS: Why = Why::new(Cause::Keys, "holds keys or logins");
pub(super) const CRON: Why = Why::new(Cause::Schedule, "is run by the system on its own");
pub(super) const TEXT: Why = Why::new(Cause::Instructions, "instructs agents in later sessions");
pub(super) const CI: Why = Why::new(Cause::BuildServer, "runs on build servers, which hold secrets");
pub(super) const BUILD: Why = Why::new(Cause::Build, "runs or chooses programs on build");
pub(super) const PROCESS: Why = Why::new(Cause::Process, "shows the memory or environment of a process");
pub(super) const LINKED: Why =
    Why::new(Cause::SecondName, "has other names (hard links), and a write would show under all of them");
pub(super) const TOP: Why = Why::new(Cause::Directory, "is the whole file system");
pub(super) const ENVIRONMENT: Why =
    Why::new(Cause::Environment, "sets the environment of programs and often holds secrets");

/// Directories in which nothing is written, whatever is in them.
pub(super) const DENIED_DIRECTORIES: &[(&[&str], Why)] = &[
    (&[".adjutant"], OWN),
    (&[".git", "git~1", ".hg", ".svn", ".jj", ".bzr", ".husky", ".githooks"], VCS),
    (&[".idea", ".vs", ".fleet", ".zed", ".emacs.d"], EDITOR),
    (
        &[
            ".claude",
            ".cursor",
            ".codex",
            ".gemini",
            ".roo",
            ".cline",
            ".continue",
            ".windsurf",
            ".opencode",
            ".goose",
            ".kiro",
            ".amazonq",
            ".augment",
            ".crush",
            ".qwen",
            ".aider",
            ".kilocode",
            ".factory",
            ".junie",
            ".trae",
        ],
        AGENT,
    ),
    (&[".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store"], KEYS),
    (&["cron.d", "cron.daily", "cron.hourly", "cron.weekly", "cron.monthly"], CRON),
];

/// Files, by name, that are never written.
pub(super) const DENIED_FILES: &[(&[&str], Why)] = &[
    (&[".gitconfig"], VCS),
    (
        &[
            ".nvim.lua",
            ".nvimrc",
            ".exrc",
            ".vimrc",
            ".gvimrc",
            ".lvimrc",
            ".local.vimrc",
            ".dir-locals.el",
            ".dir-locals-2.el",
            ".emacs",
        ],
        EDITOR,
    ),
    (&[".mcp.json", "mcp.json", ".aider.conf.yml"], AGENT),
    (
        &[
            ".bashrc",
            ".bash_profile",
            ".bash_login",
            ".bash_logout",
            ".bash_aliases",
            ".profile",
            ".zshrc",
            ".zshenv",
            ".zprofile",
            ".zlogin",
            ".zlogout",
            ".kshrc",
            ".mkshrc",
            ".cshrc",
            ".tcshrc",
            ".login",
            ".logout",
            ".inputrc",
            ".xinitrc",
            ".xprofile",
            ".xsession",
            ".xsessionrc",
            ".xserverrc",
            ".pam_environment",
            ".tmux.conf",
            ".screenrc",
        ],
        SHELL,
    ),
    (&[".netrc", "_netrc", ".pgpass", ".git-credentials", ".htpasswd"], KEYS),
    (&["crontab", "anacrontab"], CRON),
];

/// Ends of a path, name by name, that are never written; a final `*` stands for any rest.
pub(super) const DENIED_ENDS: &[(&[&str], Why)] = &[
    (&[".vscode", "settings.json"], EDITOR),
    (&[".vscode", "tasks.json"], EDITOR),
    (&[".vscode", "launch.json"], EDITOR),
    (&[".vscode", "extensions.json"], EDITOR),
    (&[".config", "nvim", "*"], EDITOR),
    (&[".config", "fish", "*"], SHELL),
    (&[".config", "autostart", "*"], SHELL),
    (&[".config", "systemd", "*"], CRON),
    (&[".config", "environment.d", "*"], SHELL),
    (&[".config", "git", "*"], VCS),
    (&[".config", "gcloud", "*"], KEYS),
    (&[".config", "gh", "*"], KEYS),
    (&["spool", "cron", "*"], CRON),
    (&["library", "launchagents", "*"], CRON),
    (&["library", "launchdaemons", "*"], CRON),
    (&[".local", "bin", "*"], SHELL),
];

/// Ends of a path that are always asked for.
pub(super) const ASK_ENDS: &[(&[&str], Why)] = &[
    (&[".gitmodules"], VCS),
    (&[".gitattributes"], VCS),
    (&[".envrc"], ENVIRONMENT),
    (&["agents.md"], TEXT),
    (&["agent.md"], TEXT),
    (&["claude.md"], TEXT),
    (&["claude.local.md"], TEXT),
    (&["gemini.md"], TEXT),
    (&["copilot-instructions.md"], TEXT),
    (&[".github", "instructions", "*"], TEXT),
    (&[".github", "prompts", "*"], TEXT),
    (&[".cursorrules"], TEXT),
    (&[".windsurfrules"], TEXT),
    (&[".clinerules", "*"], TEXT),
    (&[".clinerules"], TEXT),
    (&[".roorules"], TEXT),
    (&[".rules"], TEXT),
    (&[".github", "workflows", "*"], CI),
    (&[".github", "actions", "*"], CI),
    (&[".gitea", "workflows", "*"], CI),
    (&[".forgejo", "workflows", "*"], CI),
    (&[".gitlab-ci.yml"], CI),
    (&[".circleci", "*"], CI),
    (&[".buildkite", "*"], CI),
    (&[".travis.yml"], CI),
    (&[".drone.yml"], CI),
    (&["azure-pipelines.yml"], CI),
    (&["bitbucket-pipelines.yml"], CI),
    (&["jenkinsfile"], CI),
    (&["build.rs"], BUILD),
    (&["rust-toolchain.toml"], BUILD),
    (&["rust-toolchain"], BUILD),
    (&[".cargo", "*"], BUILD),
    (&[".npmrc"], BUILD),
    (&[".yarnrc"], BUILD),
    (&[".yarnrc.yml"], BUILD),
    (&[".pypirc"], BUILD),
    (&[".tool-versions"], BUILD),
    (&["mise.toml"], BUILD),
    (&[".mise.toml"], BUILD),
    (&[".devcontainer", "*"], BUILD),
    (&[".devcontainer.json"], BUILD),
    (&[".pre-commit-config.yaml"], BUILD),
    (&["lefthook.yml"], BUILD),
    (&[".vscode", "*"], EDITOR),
    (&[".editorconfig"], EDITOR),
];

/// Files that are marked in review and not asked for.
pub(super) const MARKED: &[&str] = &[
    "cargo.toml",
    "package.json",
    "makefile",
    "gnumakefile",
    "justfile",
    "cmakelists.txt",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "conftest.py",
    "tox.ini",
    "noxfile.py",
    "gemfile",
    "rakefile",
    "go.mod",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "dockerfile",
    "compose.yml",
    "compose.yaml",
    "docker-compose.yml",
    "meson.build",
    "build.zig",
    "flake.nix",
    "composer.json",
    "build.sbt",
    "mix.exs",
];

/// Directories whose files are secrets.
pub(super) const SECRET_DIRECTORIES: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".password-store",
    ".docker",
    ".mozilla",
    ".thunderbird",
    "keyrings",
];

/// Names of files that are secrets.
pub(super) const SECRET_FILES: &[&str] = &[
    ".envrc",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".htpasswd",
    ".dockercfg",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "credentials",
    "credentials.json",
    "credentials.toml",
    "secrets.json",
    "secrets.yml",
    "secrets.yaml",
    "secrets.toml",
    "shadow",
    "gshadow",
    "master.key",
    "kubeconfig",
    ".vault-token",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".psql_history",
    "application_default_credentials.json",
];

/// Endings of names of files that are secrets.
pub(super) const SECRET_ENDINGS: &[&str] =
    &[".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".asc.key", ".tfstate"];
