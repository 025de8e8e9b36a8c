//! Which programs a standing answer may cover, by what they can start or reach.
//!
//! Data with a few rules. Names are compared without folder, case and version (`python3.12`).

/// Whether one simple command may have a standing answer.
pub(super) fn may_stand(words: &[String]) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    // An assignment in front changes what the program loads and runs.
    if program.contains('=') || program.starts_with('-') {
        return false;
    }
    let Some(name) = system_name(program) else { return false };
    let only_tells = !arguments.is_empty() && arguments.iter().all(|one| TELLS.contains(&one.as_str()));
    if INTERPRETERS.contains(&family(&name)) {
        return only_tells;
    }
    let never = [KEYWORDS, WRAPPERS, EDITORS, NETWORK].iter().any(|list| list.contains(&name.as_str()));
    if never || arguments.iter().any(|one| STARTING_FLAGS.iter().any(|flag| is_flag(one, flag))) {
        return false;
    }
    // `tar xIf`: its first word is flags, also without a sign in front.
    let old_style = arguments.first().filter(|one| name.ends_with("tar") && !one.starts_with('-'));
    if old_style.is_some_and(|letters| letters.contains(['I', 'F'])) {
        return false;
    }
    if name == "git" {
        return arguments.first().is_some_and(|verb| GIT_VERBS.contains(&verb.as_str()));
    }
    let verbs = VERBS.iter().filter(|(program, _)| *program == name).flat_map(|(_, verbs)| *verbs);
    let flags = FLAGS.iter().filter(|(program, _)| *program == name).flat_map(|(_, flags)| *flags);
    !verbs.into_iter().any(|verb| arguments.iter().any(|one| one == verb))
        && !flags.into_iter().any(|flag| arguments.iter().any(|one| is_flag(one, flag)))
}

/// The name of a program of the system, in lower case; none for a program at any other place, which
/// may be a file of the workspace.
fn system_name(program: &str) -> Option<String> {
    let (folder, name) = program.rsplit_once('/').unwrap_or(("", program));
    let known = program == name || SYSTEM_FOLDERS.contains(&folder);
    (known && !name.is_empty()).then(|| name.to_lowercase())
}

/// The name without its version: `python3.12` is `python`.
fn family(name: &str) -> &str {
    let end = name.trim_end_matches(|sign: char| sign.is_ascii_digit() || matches!(sign, '.' | '-'));
    if end.is_empty() { name } else { end }
}

/// Whether an argument is this flag, alone or with a value behind `=`; a short flag of one letter takes
/// its value without a sign between, too, and stands among others.
fn is_flag(argument: &str, flag: &str) -> bool {
    let short = flag.len() == 2 && flag.starts_with('-');
    match argument.strip_prefix(flag) {
        Some(rest) => short || rest.is_empty() || rest.starts_with('='),
        None => {
            let letters = argument.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
            short && letters.is_some_and(|letters| letters.contains(&flag[1..]))
        }
    }
}

const SYSTEM_FOLDERS: &[&str] =
    &["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/opt/homebrew/bin"];

/// Arguments with which even an interpreter only tells something.
const TELLS: &[&str] = &["--version", "--help", "-V"];

/// Words of the shell that begin something which is not a plain command, or run what they are given.
#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "select",
    "function", "coproc", "time", "[[", "eval", "source", ".", "exec", "command", "builtin", "alias",
    "unalias", "trap", "hash", "enable", "export", "declare", "typeset", "local", "readonly", "set", "shopt",
    "mapfile", "readarray", "read", "bind", "complete", "compgen", "fc", "let", "unset", "umask", "ulimit",
];

/// Programs that start what stands behind them, or later, or elsewhere.
#[rustfmt::skip]
const WRAPPERS: &[&str] = &[
    "env", "sudo", "doas", "su", "runuser", "pkexec", "timeout", "gtimeout", "nice", "ionice", "chrt",
    "nohup", "setsid", "stdbuf", "unbuffer", "xargs", "parallel", "watch", "entr", "strace", "ltrace",
    "gdb", "lldb", "valgrind", "perf", "chroot", "unshare", "nsenter", "setpriv", "capsh", "bwrap",
    "firejail", "flock", "script", "expect", "taskset", "numactl", "prlimit", "direnv", "dotenv", "mise",
    "asdf", "nix", "nix-shell", "guix", "conda", "micromamba", "screen", "tmux", "dtach", "at", "batch",
    "crontab", "systemctl", "systemd-run", "launchctl", "service", "start-stop-daemon", "run-parts",
    "docker", "podman", "nerdctl", "lxc", "vagrant", "qemu", "wine", "open", "xdg-open", "ld.so",
    "npx", "bunx", "pnpx", "uvx", "pipx", "watchexec", "hyperfine", "nodemon", "concurrently", "dlx",
];

/// Editors and pagers: each runs commands from its arguments, its files or its keys.
#[rustfmt::skip]
const EDITORS: &[&str] = &[
    "vi", "vim", "nvim", "view", "ex", "ed", "red", "emacs", "emacsclient", "nano", "pico", "micro", "hx",
    "helix", "kak", "code", "less", "more", "most", "man", "info", "mc",
];

/// Programs that take code from the line, from a file or from their input.
#[rustfmt::skip]
const INTERPRETERS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "fish", "ksh", "mksh", "ash", "csh", "tcsh", "rbash", "yash", "busybox",
    "toybox", "pwsh", "powershell", "nu", "elvish", "xonsh", "osh", "rc", "es",
    "python", "pypy", "ipython", "bpython", "uv", "poetry", "pdm", "hatch", "rye", "jupyter",
    "node", "nodejs", "deno", "bun", "ts-node", "tsx", "esno", "qjs", "jsc",
    "ruby", "irb", "jruby", "erb", "bundle", "perl", "raku", "php", "lua", "luajit", "texlua", "tclsh",
    "wish", "rscript", "r", "octave", "julia", "groovy", "scala", "kotlin", "kotlinc", "jshell", "java",
    "clojure", "clj", "bb", "sbcl", "clisp", "ecl", "guile", "racket", "gosh", "chicken-csi", "scheme",
    "ghci", "runghc", "runhaskell", "stack", "ocaml", "utop", "elixir", "iex", "erl", "escript", "swipl",
    "gst", "gforth", "maxima", "gp", "sage", "gnuplot", "osascript", "dotnet-script", "csi", "fsi",
    "awk", "gawk", "mawk", "nawk", "goawk", "sed", "gsed", "ssed", "bc", "dc", "m", "jq", "yq", "vipe",
    "sqlite", "duckdb", "psql", "mysql", "mariadb", "mongosh", "mongo", "redis-cli", "sqlplus", "cqlsh",
];

/// Programs that speak to the network, or bring code from there.
#[rustfmt::skip]
const NETWORK: &[&str] = &[
    "curl", "wget", "wget2", "aria2c", "axel", "http", "https", "httpie", "xh", "curlie", "hurl", "lynx",
    "links", "w3m", "elinks", "ssh", "scp", "sftp", "sshfs", "mosh", "autossh", "ssh-copy-id", "rsync",
    "rclone", "unison", "nc", "ncat", "netcat", "socat", "telnet", "ftp", "lftp", "ncftp", "tftp", "rsh",
    "rlogin", "rcp", "dig", "nslookup", "host", "drill", "whois", "ping", "ping6", "traceroute", "nmap",
    "mail", "mailx", "sendmail", "mutt", "msmtp", "swaks", "gh", "glab", "hub", "tea", "svn", "hg", "bzr",
    "aws", "gcloud", "gsutil", "az", "doctl", "flyctl", "fly", "heroku", "vercel", "netlify", "wrangler",
    "kubectl", "oc", "helm", "k9s", "terraform", "tofu", "pulumi", "ansible", "ansible-playbook", "s3cmd",
    "minio", "websocat", "wscat", "grpcurl", "ngrok", "cloudflared", "tailscale", "ipfs", "transmission-cli",
    "apt", "apt-get", "aptitude", "dnf", "yum", "zypper", "pacman", "apk", "emerge", "brew", "port", "snap",
    "flatpak", "pip", "pip3", "easy_install", "gem", "cpan", "cpanm", "luarocks", "opam", "cabal", "twine",
];

/// Arguments by which many programs start another one.
#[rustfmt::skip]
const STARTING_FLAGS: &[&str] = &[
    "-exec", "-execdir", "-ok", "-okdir", "--exec", "--exec-batch", "--execute", "--eval", "--command",
    "--to-command", "--checkpoint-action", "--use-compress-program", "--compress-program", "--pre",
    "--hostname-bin", "--rsh", "--shell", "--script-shell", "--ext-diff", "--textconv", "--upload-pack",
    "--receive-pack", "--open-files-in-pager", "--pager", "--init-file", "--rcfile", "--config-env",
    "--plugin", "--require", "--import", "--loader", "--runner", "--launcher", "-toolexec", "-vettool",
];

/// The same of single programs.
const FLAGS: &[(&str, &[&str])] = &[
    ("fd", &["-x", "-X"]),
    ("fdfind", &["-x", "-X"]),
    ("tar", &["-I", "-F", "--info-script", "--new-volume-script", "--rsh-command"]),
    ("bsdtar", &["--use-compress-program"]),
    ("split", &["--filter"]),
    ("zip", &["-T", "-TT", "--unzip-command"]),
    ("make", &["-E", "-f", "--file", "--makefile"]),
    ("gmake", &["-E", "-f", "--file", "--makefile"]),
    ("cargo", &["--config"]),
    ("tcpdump", &["-z"]),
    ("openssl", &["-engine", "-provider"]),
    ("cmake", &["-P", "-E"]),
    ("ctest", &["-S"]),
    ("go", &["-overlay"]),
    ("ninja", &["-f"]),
    ("gcc", &["-wrapper", "-fplugin"]),
    ("rustc", &["-C"]),
];

/// What `git` does without the network and without starting what is named in the line.
#[rustfmt::skip]
const GIT_VERBS: &[&str] = &[
    "status", "diff", "log", "show", "add", "rm", "mv", "branch", "tag", "stash", "checkout", "switch",
    "restore", "reset", "commit", "blame", "rev-parse", "describe", "ls-files", "ls-tree", "cat-file",
    "shortlog", "cherry-pick", "revert", "merge", "--version", "version", "init", "worktree", "reflog",
];

/// Verbs by which a program reaches the network, brings code from there, or runs what is named behind.
#[rustfmt::skip]
const VERBS: &[(&str, &[&str])] = &[
    ("npm", &["install", "i", "add", "ci", "update", "up", "publish", "exec", "x", "create", "init", "login",
              "isntall", "install-test", "it", "audit", "explore", "edit"]),
    ("pnpm", &["install", "i", "add", "update", "up", "publish", "exec", "dlx", "create", "import"]),
    ("yarn", &["install", "add", "up", "upgrade", "publish", "exec", "dlx", "create", "npm", "node"]),
    ("cargo", &["install", "publish", "login", "owner", "yank", "search", "fetch", "update", "add"]),
    ("go", &["get", "install", "mod", "generate", "tool"]),
    ("rustup", &["run", "install", "update", "toolchain", "component", "target", "default", "self"]),
    ("dotnet", &["add", "restore", "nuget", "tool", "fsi", "script", "exec"]),
    ("composer", &["install", "update", "require", "exec", "global", "create-project"]),
    ("mix", &["run", "eval", "deps.get", "hex.publish", "archive.install"]),
    ("openssl", &["s_client", "s_server", "s_time"]),
    ("gradle", &["publish"]),
    ("mvn", &["deploy", "exec:exec", "exec:java"]),
    ("find", &["-delete"]),
];
