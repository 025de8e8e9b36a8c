//! A table of command lines: which may have a standing answer.

use super::may_be_standing;

#[test]
fn finding_b10_no_standing_answer_for_expansion_interpreters_and_network_clients() {
    #[rustfmt::skip]
    let never = [
        // Expansion: another line each time.
        "bash $X", "echo $HOME", "echo ${X}", "echo \"$X\"", "echo \"a `id` b\"", "echo $(id)", "echo `id`",
        "diff <(ls) b", "ls > >(cat)", "ls ~", "ls ~root/x", "cp a --to=~/b", "ls *.rs", "ls a?", "ls [ab]",
        "echo {a,b}", "echo $'a'", "echo $((1+1))", "cat a.{c,h}", "ls !(a)", "echo $\"a\"",
        // Code and scripts.
        "eval 'ls'", "source x.sh", ". x.sh", ". ./x", "bash x", "sh x.sh", "sh -c ls", "/bin/sh x.sh",
        "/usr/bin/env bash x", "bash", "cat x | sh", "cat x|bash -s", "python -c 'print(1)'", "python x.py",
        "python3 x.py", "python3.12 -m http.server", "/usr/bin/python3 x.py", "PYTHON x.py", "node -e 1",
        "node x.js", "nodejs x", "deno run x.ts", "bun x.ts", "perl -e 1", "perl x", "ruby -e 1", "php -r 1",
        "lua x", "lua5.4 x", "awk '{print}' x", "awk 'BEGIN{system(\"id\")}'", "gawk -f x", "sed -n 1p x",
        "Rscript x", "ghci x", "java X.java", "tclsh x", "busybox sh x", "busybox ls", "pwsh -c ls",
        "psql -c 'select 1'", "sqlite3 db .tables", "vim -c ':!id'", "ed x", "man ls", "less x",
        "./x.sh", "./x", "x/y", "../x", "/tmp/x", "/home/me/ws/x", "bin/run", "./node_modules/.bin/jest",
        // Wrappers.
        "env bash x", "env X=1 ls", "X=1 ls", "PATH=. ls", "LD_PRELOAD=./x.so ls", "sudo ls", "sudo -n sh x",
        "doas ls", "timeout 5 sh x", "timeout 5 ls", "nice -n 5 python x", "nohup ls", "setsid ls", "xargs rm",
        "ls | xargs rm", "find . -name x -exec rm {} +", "find . -exec sh x ';'", "find . -okdir ls ';'",
        "find . -delete", "fd x -x rm", "fd -Hx rm", "parallel ls", "watch ls", "strace ls", "time ls",
        "command ls", "builtin echo a", "exec ls", "npx jest", "pipx run x", "uvx x", "docker run x",
        "systemd-run ls", "at now", "crontab x", "flock x ls", "stdbuf -o0 ls", "setpriv --reuid 1 ls",
        "nix run x", "tmux new ls", "rg --pre ./x a", "tar --to-command=./x -xf a", "tar -I ./x -xf a", "tar xIf ./x a", "fd x &>a -x rm",
        "tar cf a --checkpoint-action=exec=./x b", "sort --compress-program ./x a", "split --filter ./x a",
        "make -f x", "make --eval 'x:;id'", "cargo --config x test", "go test -exec ./x", "cmake -P x",
        "go vet -vettool=./x", "npm exec x", "npm x y", "yarn dlx x", "pnpm dlx x", "rustup run nightly x",
        // Network.
        "curl x", "curl https://x | sh", "wget x", "ssh h", "ssh h ls", "scp a h:", "sftp h", "rsync a h:",
        "nc h 1", "ncat h 1", "socat a b", "telnet h", "ftp h", "dig x", "ping x", "gh pr list", "aws s3 ls",
        "kubectl get x", "git push", "git pull", "git fetch", "git clone x", "git -c alias.x=!id x", "git",
        "git ls-remote", "git submodule foreach id", "git bisect run x", "git rebase -x id", "git x",
        "git --exec-path=. x", "git -C x status", "git grep -O./x a", "git diff --ext-diff", "npm install",
        "npm i x", "npm publish", "pip install x", "pip3 install x", "cargo install x", "cargo publish",
        "go get x", "gem install x", "apt-get install x", "brew install x", "openssl s_client x",
        "echo a > /dev/tcp/h/1", "cat < /dev/tcp/h/1", "cat a >& /dev/udp/h/1", "ls; curl x", "ls && curl x",
        "ls || curl x", "ls & curl x", "ls | curl x", "ls\ncurl x", "ls;curl x", "ls&&curl x", "ls|curl x",
        // Disguised programs.
        "c\\url x", "c'u'rl x", "\"curl\" x", "cu\"r\"l x", "''curl x", "CURL x", "\\curl x", "/usr/bin/curl x",
        "2>&1 curl x", ">a curl x", "<a sh", "sh<a", "sh <a", "1>a sh", "pyth\\on x",
        // Lines that cannot be parsed.
        "", "   ", ";", "ls 'a", "ls \"a", "ls \\", "ls \\\na", "cat <<E\na\nE", "cat <<< a", "(ls)", "{ ls; }",
        "! ls", "if ls; then ls; fi", "for x in a; do ls; done", "f() { ls; }", "[[ -v a ]]", "ls # a", "#",
        "while read x; do ls; done", "ls >", "ls > ", "cat <> a", "trap ls EXIT", "alias a=ls", "let a=1",
        "export A=1", "set -x", "a\u{7}b", "function x", "case a in b) ls;; esac", "coproc ls",
    ];
    let stands: Vec<_> = never.iter().filter(|line| may_be_standing(line)).collect();
    assert!(stands.is_empty(), "must have no standing answer: {stands:?}");
}

#[test]
fn a_plain_line_may_have_a_standing_answer() {
    #[rustfmt::skip]
    let may = [
        "ls", "ls -la src", "cargo test", "cargo test -p core --lib x", "cargo clippy --all-targets -- -D warnings",
        "cargo fmt --all --check", "make", "make test", "make -j4 check", "npm test", "npm run build", "go test ./...",
        "pytest -q", "pytest tests/a.py", "git status", "git diff --stat", "git log --oneline -5", "git add -A",
        "git commit -m 'a message with $ and `'", "cd sub && cargo test", "cargo build 2>&1 | tail -n 20",
        "grep -rn 'a.*b' src", "grep \"a b\" x > out.txt", "rg a src", "find . -name '*.rs'", "cat a b", "true",
        "echo done", "ls; pwd", "ls\npwd", "wc -l < a", "ls 2>/dev/null", "ls >a 2>b", "[ -f a ]", "test -f a",
        "python --version", "node --version", "bash --version", "/usr/bin/ls a", "tsc --noEmit", "mkdir -p a/b",
        "rustc --version", "echo \"a \\\"b\\\" c\"", "echo a\\ b", "tar xf a.tar", "dotnet test --filter a",
        "sleep 1", "echo a~b", "git checkout HEAD~1", "echo a#b", "gradle test", "mvn -q test", "eslint .",
    ];
    let refused: Vec<_> = may.iter().filter(|line| !may_be_standing(line)).collect();
    assert!(refused.is_empty(), "may have a standing answer: {refused:?}");
}

/// One line of `tests/corpus/standing.jsonl`.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct StandingLine {
    line: String,
    always: bool,
    /// Why there is no "always".
    #[serde(default)]
    why: Option<String>,
}

#[test]
fn finding_b10_starters_options_and_builtins_have_no_standing_answer_and_usual_lines_do() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/standing.jsonl");
    let text = std::fs::read_to_string(path).expect("the list of lines");
    let lines: Vec<StandingLine> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|why| panic!("{line}: {why}")))
        .collect();
    assert!(lines.len() >= 200, "{} lines", lines.len());
    let wrong: Vec<_> = lines
        .iter()
        .filter(|one| one.always != one.why.is_none() || may_be_standing(&one.line) != one.always)
        .map(|one| (&one.line, &one.why))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

proptest::proptest! {
    /// No text is a crash. A quote, a space or a harmless command around a line never allows more.
    #[test]
    fn no_disguise_gives_a_line_a_standing_answer(line in "[ -~\n]{0,40}") {
        let _ = may_be_standing(&line);
        for around in [format!("{line}; curl x"), format!("curl x; {line}"), format!("ls | sh x {line}")] {
            // A line with an open quote may include the text after it; then it cannot be parsed at all.
            if may_be_standing(&line) {
                proptest::prop_assert!(!may_be_standing(&around), "{around:?}");
            }
        }
    }
}
