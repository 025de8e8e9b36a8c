//! Which programs a standing answer may cover: lists, and a few rules on arguments.
//!
//! Never covers a program that is in no list. There are two classes:
//! - plain programs start nothing, whatever file the line names;
//! - build tools and test runners run what the workspace says, if the line names no other program.

/// Whether one simple command may have a standing answer.
pub(super) fn may_be_standing(words: &[String]) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    let Some(name) = system_name(program) else { return false };
    if only_reports(&name, arguments) {
        return true;
    }
    let starts = |one: &String| STARTING_FLAGS.iter().any(|flag| is_flag(one, flag));
    let mut unsafe_flags =
        UNSAFE_FLAGS.iter().filter(|(program, _)| *program == name).flat_map(|(_, flags)| *flags);
    if arguments.iter().any(starts)
        || unsafe_flags.any(|flag| arguments.iter().any(|one| may_be_flag(one, flag)))
    {
        return false;
    }
    if name == "git" {
        return arguments.first().is_some_and(|verb| GIT_VERBS.contains(&verb.as_str()));
    }
    if BUILTINS.contains(&name.as_str()) {
        // The shell evaluates an index (`a[$(..)]`) also inside quotes.
        return !arguments.iter().any(|one| one.contains(['$', '`']));
    }
    if PLAIN_PROGRAMS.contains(&name.as_str()) {
        return !has_old_flags(&name, arguments);
    }
    let runner = RUNNERS.iter().find(|(runner, _)| *runner == name);
    runner.is_some_and(|(_, verbs)| {
        let first = arguments.iter().find(|one| !one.starts_with('-'));
        let known = verbs.is_empty() || first.is_some_and(|first| verbs.contains(&first.as_str()));
        known && !names_a_program(&name, arguments)
    })
}

/// Returns the name of a system program. A program in any other folder has none, because it may be a file of the
/// workspace.
fn system_name(program: &str) -> Option<String> {
    let (folder, name) = program.rsplit_once('/').unwrap_or(("", program));
    let known = program == name || SYSTEM_FOLDERS.contains(&folder);
    (known && !name.is_empty()).then(|| name.to_lowercase())
}

/// Whether a compiler, a runner or an interpreter only prints its version or help.
fn only_reports(name: &str, arguments: &[String]) -> bool {
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    let known = REPORTERS.contains(&base) || RUNNERS.iter().any(|(runner, _)| *runner == name);
    known && arguments.len() == 1 && matches!(arguments[0].as_str(), "--version" | "--help" | "-V")
}

/// Whether an argument is this flag, alone or with a value after `=`. Some programs accept `--flag` for `-flag`.
fn is_flag(argument: &str, flag: &str) -> bool {
    let is = |argument: &str| {
        argument.strip_prefix(flag).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    };
    is(argument) || argument.strip_prefix('-').is_some_and(|argument| flag.len() > 2 && is(argument))
}

/// Like [`is_flag`], for programs that accept shortened long flags (`--compress-prog`) and combined short flags. A
/// value may follow a short flag directly.
fn may_be_flag(argument: &str, flag: &str) -> bool {
    if flag.len() == 2 {
        let letters = argument.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        // `-DNAME` is a definition.
        return letters.is_some_and(|letters| !letters.starts_with('D') && letters.contains(&flag[1..]));
    }
    let name = argument.split('=').next().unwrap_or_default();
    is_flag(argument, flag) || name.len() > 2 && name.starts_with("--") && flag.starts_with(name)
}

/// Whether the first word has flags without `-` (`tar xIf`) and one of them starts a program.
fn has_old_flags(name: &str, arguments: &[String]) -> bool {
    let first = arguments.first().filter(|one| name == "tar" && !one.starts_with('-'));
    first.is_some_and(|letters| letters.contains(['I', 'F']))
}

/// Whether a word may name a program of the workspace: an option with a path in it, a path that follows an
/// option (`--reporter ./x`), or, for `make`, a variable that is more than a plain value.
fn names_a_program(name: &str, arguments: &[String]) -> bool {
    let makes = ["make", "gmake"].contains(&name);
    let without_file = FLAGS_WITHOUT_FILE.iter().filter(|(runner, _)| ["", name].contains(runner));
    let without_file: Vec<&str> = without_file.flat_map(|(_, flags)| *flags).copied().collect();
    let mut option = None;
    for word in arguments {
        let may_be_value = option.take().is_some_and(|option: &str| !without_file.contains(&option));
        let is_option = word.starts_with('-') && word != "--";
        let odd = match (is_option, word.split_once('=')) {
            (true, Some((_, value))) => word.contains('/') || is_file(value),
            (true, None) => word.contains('/'),
            (false, Some((variable, value))) if makes => !is_plain_variable(variable, value),
            (false, _) => may_be_value && is_file(word),
        };
        if odd || makes && word.contains(['$', '`']) || name == "go" && word.contains('@') {
            return true;
        }
        // `-j4` and `--opt=value` already have their value.
        let is_closed = word.contains('=') || word.ends_with(|c: char| c.is_ascii_digit());
        option = (is_option && !is_closed).then_some(word.as_str());
    }
    false
}

/// Whether a value looks like a file: it has a folder, or an extension that begins with a letter.
fn is_file(value: &str) -> bool {
    let ending = value.rsplit_once('.').map(|(_, ending)| ending);
    value.contains(['/', '\\', '{'])
        || value.starts_with('.') && !value.trim_matches('.').is_empty()
        || ending.is_some_and(|ending| ending.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// Whether a variable of `make` is a plain setting such as `V=1` and does not choose a shell.
fn is_plain_variable(variable: &str, value: &str) -> bool {
    let plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "_-+".contains(c));
    let shells = variable.contains("SHELL") || variable.starts_with("MAKE");
    plain(variable.trim_end_matches([':', '?', '+'])) && plain(value) && !shells
}

const SYSTEM_FOLDERS: &[&str] =
    &["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/opt/homebrew/bin"];

/// Words of the shell itself that start nothing. Others set variables or run their arguments.
const BUILTINS: &[&str] = &["cd", "echo", "printf", "pwd", "true", "false", ":", "test", "["];

/// Programs that start another program only through the flags of `UNSAFE_FLAGS`, whatever file the line names.
#[rustfmt::skip]
const PLAIN_PROGRAMS: &[&str] = &[
    // Read and compare.
    "ls", "eza", "exa", "tree", "cat", "tac", "head", "tail", "nl", "wc", "cut", "paste", "tr", "uniq", "comm",
    "join", "fold", "fmt", "column", "expand", "unexpand", "rev", "sort", "shuf", "split", "csplit", "od", "xxd",
    "hexdump", "strings", "file", "stat", "du", "df", "diff", "cmp", "grep", "egrep", "fgrep", "rg", "find", "fd",
    "fdfind", "basename", "dirname", "realpath", "readlink", "zcat", "zgrep", "cloc", "tokei", "scc",
    "md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum", "cksum", "sum", "base64",
    "base32", "nm", "size", "readelf", "seq", "sleep", "date", "cal",
    // Say what the system is.
    "uname", "arch", "nproc", "free", "uptime", "ps", "pgrep", "id", "whoami", "groups", "which", "whereis",
    // Copy, move and pack.
    "mkdir", "rmdir", "touch", "cp", "mv", "rm", "ln", "chmod", "tee", "truncate", "gzip", "gunzip", "bzip2",
    "bunzip2", "xz", "unxz", "zstd", "unzstd", "tar", "zip", "unzip",
    // Check or format a text, and run no code of the workspace.
    "tsc", "ruff", "rustfmt", "gofmt", "clang-format", "black", "isort", "shellcheck", "shfmt", "typos",
];

/// Build tools, test runners and checkers that run what the workspace says. If verbs are listed, the first word
/// that is not an option has to be one of them.
#[rustfmt::skip]
const RUNNERS: &[(&str, &[&str])] = &[
    ("make", &[]), ("gmake", &[]), ("ninja", &[]), ("just", &[]), ("task", &[]), ("rake", &[]), ("ant", &[]),
    ("gradle", &["test", "check", "build", "assemble", "classes", "clean", "jar", "lint", "tasks"]),
    ("mvn", &["test", "compile", "test-compile", "package", "verify", "clean", "validate"]),
    ("sbt", &["test", "compile", "clean"]), ("lein", &["test", "check", "compile"]),
    ("cargo", &["build", "b", "check", "c", "test", "t", "clippy", "fmt", "doc", "run", "r", "bench", "nextest",
                "tree", "metadata", "clean"]),
    ("go", &["build", "test", "vet", "fmt", "list", "version", "doc"]),
    ("npm", &["test", "t", "tst", "run", "run-script", "ls", "list"]),
    ("pnpm", &["test", "t", "run", "ls", "list", "build", "lint"]),
    ("yarn", &["test", "run", "build", "lint", "typecheck"]),
    ("dotnet", &["build", "test", "run", "clean", "format"]), ("mix", &["test", "compile", "format"]),
    ("swift", &["build", "test"]), ("zig", &["build", "test"]), ("rebar3", &["eunit", "ct", "compile"]),
    ("bazel", &["build", "test", "query"]), ("buck2", &["build", "test"]), ("meson", &["compile", "test", "setup"]),
    ("cmake", &[]), ("ctest", &[]),
    ("turbo", &["run", "test", "build", "lint"]), ("nx", &["test", "build", "lint", "run"]),
    ("pytest", &[]), ("py.test", &[]), ("jest", &[]), ("vitest", &[]), ("mocha", &[]), ("ava", &[]), ("bats", &[]),
    ("playwright", &["test"]), ("cypress", &["run"]), ("rspec", &[]), ("phpunit", &[]), ("composer", &["test"]),
    ("eslint", &[]), ("prettier", &[]), ("stylelint", &[]), ("biome", &["check", "lint", "format", "ci"]),
    ("mypy", &[]), ("pyright", &[]), ("pylint", &[]), ("flake8", &[]), ("rubocop", &[]), ("phpstan", &["analyse"]),
    ("golangci-lint", &["run"]), ("staticcheck", &[]), ("clang-tidy", &[]),
];

/// Flags of runners without a value, or with a value that is not a file: a path may follow them.
#[rustfmt::skip]
const FLAGS_WITHOUT_FILE: &[(&str, &[&str])] = &[
    ("", &["-v", "-q", "--verbose", "--quiet", "--fix", "--check", "--write", "--watch", "--run", "--bail",
           "--coverage", "--ci", "--workspace", "--release", "--all", "--all-targets", "--all-features"]),
    ("pytest", &["-vv", "-x", "-s", "-l", "-k", "-m", "--lf", "--ff", "--sw"]),
    ("go", &["-run", "-bench", "-race", "-short", "-cover", "-json"]),
    ("mypy", &["--strict"]),
    ("cmake", &["-S", "-B", "--build"]),
];

/// Compilers and interpreters that print their version or help. The names have no version number.
#[rustfmt::skip]
const REPORTERS: &[&str] = &[
    "python", "pypy", "node", "deno", "bun", "ruby", "perl", "php", "lua", "luajit", "java", "javac", "kotlin",
    "kotlinc", "scala", "bash", "zsh", "fish", "rustc", "rustup", "gcc", "g++", "clang", "clang++", "cc", "c++",
    "ghc", "ocaml", "elixir", "erl", "julia", "rscript", "r", "pip", "uv", "poetry", "git", "docker", "sqlite",
];

/// Arguments with which many programs start another one.
#[rustfmt::skip]
const STARTING_FLAGS: &[&str] = &[
    "-exec", "-execdir", "-ok", "-okdir", "--exec", "--exec-batch", "--execute", "--eval", "--command",
    "--to-command", "--checkpoint-action", "--use-compress-program", "--compress-program", "--pre",
    "--hostname-bin", "--rsh", "--shell", "--script-shell", "--ext-diff", "--textconv", "--upload-pack",
    "--receive-pack", "--open-files-in-pager", "--pager", "--init-file", "--rcfile", "--config-env",
    "--plugin", "--require", "--import", "--loader", "--runner", "--launcher", "-toolexec", "-vettool",
    "--node-options", "--init-script",
];

/// Flags that a standing answer does not cover, by program. They start another program, delete files or set
/// variables.
const UNSAFE_FLAGS: &[(&str, &[&str])] = &[
    // They set a variable (`printf -v PATH .`), or look at one whose index the shell evaluates.
    ("printf", &["-v"]),
    ("test", &["-v", "-R"]),
    ("[", &["-v", "-R"]),
    ("find", &["-delete"]),
    (
        "tar",
        &[
            "-I",
            "-F",
            "--info-script",
            "--new-volume-script",
            "--rsh-command",
            "--to-command",
            "--checkpoint-action",
            "--use-compress-program",
        ],
    ),
    ("git", &["--filters", "--template", "--ext-diff", "--textconv", "--open-files-in-pager"]),
    ("fd", &["-x", "-X"]),
    ("fdfind", &["-x", "-X"]),
    ("sort", &["--compress-program"]),
    ("nm", &["--plugin"]),
    ("split", &["--filter"]),
    ("zip", &["-T", "--unzip-command"]),
    ("make", &["-E", "-f", "--eval", "--file", "--makefile"]),
    ("gmake", &["-E", "-f", "--eval", "--file", "--makefile"]),
    ("just", &["-f", "-c", "--justfile"]),
    ("cargo", &["--config"]),
    ("cmake", &["-P", "-E"]),
    ("ctest", &["-S"]),
    ("go", &["-overlay"]),
    ("ninja", &["-f"]),
    ("ant", &["-f"]),
    ("rake", &["-f", "-e", "-E", "-p", "-r"]),
    ("gradle", &["-I", "-b", "-c"]),
    ("bazel", &["--run_under", "--script_path", "--shell_executable", "--workspace_status_command"]),
    ("pylint", &["--init-hook", "--load-plugins"]),
    ("clang-tidy", &["-load", "--load"]),
];

/// The verbs of `git` that use no network and start no program that the line names.
#[rustfmt::skip]
const GIT_VERBS: &[&str] = &[
    "status", "diff", "log", "show", "add", "rm", "mv", "branch", "tag", "stash", "checkout", "switch",
    "restore", "reset", "commit", "blame", "rev-parse", "describe", "ls-files", "ls-tree", "cat-file",
    "shortlog", "cherry-pick", "revert", "merge", "--version", "version", "init", "worktree", "reflog",
];
