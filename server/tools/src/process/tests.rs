//! Tests with real processes.

use std::ffi::OsString;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

mod escapes;

use adjutant_core::record::UnsavedText;

use super::gather::Cleaner;
use super::*;
use crate::ToolOutput;
use crate::paths::{Roots, resolve};
use crate::run_command::{run_command, time_limit};

static CALLS: AtomicU64 = AtomicU64::new(1);

struct Place {
    directory: tempfile::TempDir,
}

fn place() -> Place {
    Place { directory: tempfile::tempdir().expect("temp dir") }
}

impl Place {
    fn launch(&self, command: &str) -> Launch {
        let (roots, _) = Roots::open(&[self.directory.path().to_owned()]);
        let at = resolve(&roots, ".").expect("resolved");
        Launch {
            command: command.into(),
            shell: pin_shell().expect("a shell"),
            directory: pin_directory(&at).expect("a directory"),
            environment: child_environment(std::env::vars_os(), &[], []),
            // The id identifies the processes of this command.
            call: format!("call-{}-{}", std::process::id(), CALLS.fetch_add(1, Ordering::Relaxed)),
            containment: Containment::Best,
            time_limit: Duration::from_secs(60),
            output_limit: MAX_OUTPUT,
            whole: self.directory.path().join("whole.out"),
        }
    }

    async fn run(&self, command: &str) -> ToolOutput {
        run(&self.launch(command)).await
    }

    /// Waits until the command has written its process ids, and returns them.
    async fn numbers(&self, count: usize) -> Vec<i32> {
        let file = self.directory.path().join("pids");
        let mut numbers = Vec::new();
        for _ in 0..1000 {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            numbers = text.lines().filter_map(|line| line.parse().ok()).collect();
            if numbers.len() >= count {
                return numbers;
            }
            sleep(Duration::from_millis(10)).await;
        }
        panic!("only {numbers:?} started");
    }
}

async fn run(launch: &Launch) -> ToolOutput {
    run_command(launch, &[], &mut |_| {}, std::future::pending()).await
}

fn lives(pid: i32) -> bool {
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => !stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['Z', 'X'])),
        Err(_) => false,
    }
}

async fn all_gone(numbers: &[i32]) {
    for _ in 0..1000 {
        if !numbers.iter().any(|pid| lives(*pid)) {
            return;
        }
        sleep(Duration::from_millis(10)).await;
    }
    panic!("still alive: {:?}", numbers.iter().filter(|pid| lives(**pid)).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_command_gives_its_code_and_both_outputs_in_order() {
    let place = place();
    let output = place.run("echo one; echo two >&2; echo three; exit 3").await;
    assert!(output.text.starts_with("exit code 3 after 0."), "{}", output.text);
    assert!(output.text.ends_with(" s\none\ntwo\nthree\n"), "{}", output.text);
    assert!(output.summary.starts_with("exit code 3 after") && !output.failed && output.whole.is_none());
    let kept = std::fs::read_to_string(place.directory.path().join("whole.out")).expect("kept");
    assert_eq!(kept, "one\ntwo\nthree\n");
}

#[tokio::test]
async fn a_command_has_no_input_no_option_and_its_directory() {
    let place = place();
    let launch = place.launch("cat; pwd; tty; echo $PAGER $TERM");
    let output = run(&launch).await;
    let expected = format!("{}\nnot a tty\ncat dumb\n", launch.directory.path.display());
    assert!(output.text.ends_with(&expected), "{}", output.text);
    let odd = Launch { whole: place.directory.path().join("2"), ..place.launch("-l") };
    assert!(run(&odd).await.text.contains("exit code 127"), "a command is never an option");
    let none = Launch { whole: place.directory.path().join("3"), ..place.launch("true") };
    assert!(run(&none).await.text.ends_with("\n[no output]"));
}

#[tokio::test]
async fn what_ended_a_command_is_named() {
    let place = place();
    let output = place.run("kill -9 $$").await;
    assert!(output.failed && output.text.starts_with("ended by signal 9 (SIGKILL)"), "{}", output.text);
    let launch = Launch { whole: place.directory.path().join("whole.out"), ..place.launch("true") };
    let again = run(&launch).await;
    assert!(
        again.failed && again.text.contains("keep the output"),
        "an earlier output stays: {}",
        again.text
    );
}

#[tokio::test]
async fn s44_long_output_is_cut_for_the_model_and_kept_on_disk() {
    let place = place();
    let seen = Arc::new(Mutex::new((0_usize, 0_usize)));
    let record = seen.clone();
    let launch = place.launch("seq 1 2000000; echo end");
    let mut live = move |text: &str| {
        let mut seen = record.lock().expect("lock");
        *seen = (seen.0 + text.len(), seen.1.max(text.len()));
    };
    let output = run_command(&launch, &[], &mut live, std::future::pending()).await;
    let whole = std::fs::metadata(&launch.whole).expect("whole");
    assert_eq!(whole.len(), 14_888_896 + 4);
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&whole.permissions()) & 0o777, 0o600);
    assert_eq!(output.whole.as_deref(), Some(launch.whole.as_path()));
    assert!(output.text.len() < 26 * 1024, "{}", output.text.len());
    assert!(output.text.contains(" s\n1\n2\n3\n") && output.text.ends_with("\n1999999\n2000000\nend\n"));
    let left: u64 = output
        .text
        .split("[... ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next())
        .expect("mark")
        .parse()
        .expect("number");
    let mark = output.text.find("[... ").expect("mark");
    let shown = output.text.len()
        - output.text[mark..].find('\n').expect("line")
        - 1
        - output.text.find('\n').expect("line")
        - 1;
    assert_eq!(left + shown as u64, whole.len(), "every byte is shown or counted");
    let (total, largest) = *seen.lock().expect("lock");
    assert_eq!(total as u64, whole.len());
    assert!(largest <= 48 * 1024);
}

#[tokio::test]
async fn s44_a_line_without_end_and_a_flood_are_bounded() {
    let place = place();
    let launch = Launch { output_limit: 5_000_000, ..place.launch("tr '\\0' x < /dev/zero") };
    let output = run(&launch).await;
    assert!(output.failed && output.text.contains("wrote more than 5000000 bytes"), "{}", output.text);
    assert!(output.text.len() < 26 * 1024);
    assert!(std::fs::metadata(&launch.whole).expect("whole").len() < 6_000_000);
}

#[tokio::test]
async fn a_time_limit_ends_the_whole_tree() {
    let place = place();
    let launch = Launch {
        time_limit: Duration::from_millis(300),
        ..place.launch("trap '' TERM; sleep 1000 & echo $! >> pids; setsid sleep 1000 & echo $! >> pids; echo $$ >> pids; echo started; while :; do sleep 1; done")
    };
    let started = std::time::Instant::now();
    let output = run(&launch).await;
    assert!(started.elapsed() < Duration::from_secs(10));
    assert!(output.failed && output.text.starts_with("stopped after"), "{}", output.text);
    assert!(output.text.contains("time limit of 0.3 s") && output.text.contains("started"));
    all_gone(&place.numbers(3).await).await;
    assert_eq!(time_limit(None), Duration::from_secs(120));
    assert_eq!(time_limit(Some(99_999)), Duration::from_secs(3600));
}

#[tokio::test]
async fn a_command_that_is_stopped_may_clean_up() {
    let place = place();
    let launch =
        place.launch("trap 'echo cleaned; exit 0' TERM; echo $$ >> pids; while :; do sleep 0.01; done");
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let mut live = |_: &str| {};
    let running = run_command(&launch, &[], &mut live, async { drop(stopped.await) });
    let stopper = async {
        place.numbers(1).await;
        drop(stop);
    };
    let (output, ()) = tokio::join!(running, stopper);
    assert!(
        output.text.starts_with("stopped by the user") && output.text.ends_with("cleaned\n"),
        "{}",
        output.text
    );
    all_gone(&place.numbers(1).await).await;
}

#[tokio::test]
async fn background_processes_do_not_outlive_their_command() {
    let place = place();
    // In the group, outside the group, orphaned, and without the pipe.
    let output = place
        .run("sleep 1000 & echo $! >> pids; setsid sleep 1000 & echo $! >> pids; (setsid sh -c 'sleep 1000 & echo $! >> pids' &); sleep 1000 >/dev/null 2>&1 & echo $! >> pids; setsid env -i sleep 1000 & echo $! >> pids; until [ $(wc -l < pids) = 5 ]; do sleep 0.01; done; echo done")
        .await;
    assert!(output.text.starts_with("exit code 0 after"), "{}", output.text);
    assert!(
        output.text.contains("[5 processes still running in the background were stopped"),
        "{}",
        output.text
    );
    assert!(output.text.ends_with("done\n"));
    all_gone(&place.numbers(5).await).await;
}

#[tokio::test]
async fn a_held_pipe_does_not_hold_the_tool() {
    let place = place();
    let started = std::time::Instant::now();
    let output = place.run("sleep 1000 & echo $! >> pids").await;
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    assert!(output.text.starts_with("exit code 0") && output.text.contains("1 process still running"));
    all_gone(&place.numbers(1).await).await;
}

#[tokio::test]
async fn dropping_the_future_kills_the_tree() {
    let place = place();
    for round in 0..5 {
        let _ = std::fs::remove_file(place.directory.path().join("pids"));
        let launch = Launch {
            whole: place.directory.path().join(format!("whole-{round}")),
            ..place.launch("trap '' TERM; sleep 1000 & echo $! >> pids; (setsid sleep 1000 & echo $! >> pids); echo $$ >> pids; wait")
        };
        let mut live = |_: &str| {};
        {
            let running = run_command(&launch, &[], &mut live, std::future::pending());
            tokio::select! {
                output = running => panic!("ended: {}", output.text),
                _ = place.numbers(3) => {}
            }
        }
        // The drop itself has killed them; they may not be reaped yet.
        all_gone(&place.numbers(3).await).await;
    }
}

#[test]
fn dropping_needs_no_runtime() {
    let place = place();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
    let launch = place.launch("sleep 1000 & echo $! >> pids; echo $$ >> pids; wait");
    let mut live = |_: &str| {};
    let mut running = Box::pin(run_command(&launch, &[], &mut live, std::future::pending()));
    let numbers = runtime.block_on(async {
        tokio::select! {
            output = &mut running => panic!("ended: {}", output.text),
            numbers = place.numbers(2) => numbers,
        }
    });
    drop(running);
    assert!(numbers.iter().all(|pid| !lives(*pid)), "{numbers:?}");
}

#[tokio::test]
async fn two_commands_do_not_touch_each_other() {
    let place = place();
    let first = Launch { whole: place.directory.path().join("1"), ..place.launch("sleep 0.5; echo first") };
    let second =
        Launch { whole: place.directory.path().join("2"), ..place.launch("sleep 1000 & kill -9 $$") };
    let (first, second) = tokio::join!(run(&first), run(&second));
    assert!(first.text.starts_with("exit code 0") && first.text.ends_with("first\n"), "{}", first.text);
    assert!(second.text.contains("SIGKILL"), "{}", second.text);
}

#[tokio::test]
async fn a3_a_changed_shell_or_directory_is_not_used() {
    let place = place();
    let launch = place.launch("echo never");
    let mut shell = launch.shell.clone();
    shell.size += 1;
    let output = run(&Launch { shell, ..launch.clone() }).await;
    assert!(
        output.failed && output.text.contains("changed since the command was approved"),
        "{}",
        output.text
    );
    let sub = place.directory.path().join("sub");
    std::fs::create_dir(&sub).expect("dir");
    let (roots, _) = Roots::open(&[place.directory.path().to_owned()]);
    let directory = pin_directory(&resolve(&roots, "sub").expect("resolved")).expect("pinned");
    assert!(directory.open().is_ok());
    std::fs::rename(&sub, place.directory.path().join("was")).expect("rename");
    std::fs::create_dir(&sub).expect("dir");
    let whole = place.directory.path().join("whole-2");
    let output = run(&Launch { directory: directory.clone(), whole: whole.clone(), ..launch.clone() }).await;
    assert!(output.failed && output.text.contains("exchanged since"), "{}", output.text);
    std::fs::remove_dir(&sub).expect("remove");
    std::os::unix::fs::symlink("was", &sub).expect("link");
    let whole = whole.with_extension("b");
    assert!(run(&Launch { directory, whole, ..launch }).await.failed);
    assert!(pin_directory(&resolve(&roots, "whole.out").expect("resolved")).is_err());
}

#[tokio::test]
async fn n06_files_the_command_did_not_see_are_named() {
    let place = place();
    let launch = place.launch("true");
    let unsaved = vec![UnsavedText { uri: "file:///w/src/a.rs".to_owned(), path: "src/a.rs".to_owned() }];
    let output = run_command(&launch, &unsaved, &mut |_| {}, std::future::pending()).await;
    assert!(
        output.text.contains("[unsaved in the editor, so the command saw an older text on disk: src/a.rs]")
    );
}

#[tokio::test]
async fn e1_secrets_and_steering_variables_do_not_reach_a_command() {
    let ours = [
        ("PATH", "/usr/bin:.:bin::/bin"),
        ("HOME", "/h"),
        ("LANG", "C"),
        ("SSH_AUTH_SOCK", "/s"),
        ("OPENAI_API_KEY", "x"),
        ("GH_TOKEN", "x"),
        ("npm_config__authToken", "x"),
        ("MY_SECRET_2", "x"),
        ("DB_PASSWORD", "x"),
        ("AWS_SECRET_ACCESS_KEY", "x"),
        ("LD_PRELOAD", "x"),
        ("BASH_ENV", "x"),
        ("ENV", "x"),
        ("GIT_SSH_COMMAND", "x"),
        ("PYTHONSTARTUP", "x"),
        ("NODE_OPTIONS", "x"),
        ("BASH_FUNC_ls%%", "() { :; }"),
        ("PAGER", "less"),
        ("DATABASE_URL", "postgres://a:b@h/d"),
        ("OUR_MODEL", "x"),
        ("ADJUTANT_CALL", "outer"),
        ("KEYBOARD", "de"),
        ("MONKEY", "1"),
        ("EDITOR", "vi"),
        ("HTTP_PROXY", "http://proxy:8080"),
    ];
    let ours = ours.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let kept = child_environment(ours, &["OUR_MODEL".into()], []);
    let mut lines: Vec<String> =
        kept.iter().map(|(n, v)| format!("{}={}", n.display(), v.display())).collect();
    lines.sort();
    assert_eq!(
        lines,
        [
            "GIT_CONFIG_COUNT=1",
            "GIT_CONFIG_KEY_0=safe.bareRepository",
            "GIT_CONFIG_VALUE_0=explicit",
            "GIT_PAGER=cat",
            "GIT_TERMINAL_PROMPT=0",
            "HOME=/h",
            "HTTP_PROXY=http://proxy:8080",
            "KEYBOARD=de",
            "LANG=C",
            "MONKEY=1",
            "PAGER=cat",
            "PATH=/usr/bin:/bin",
            "SSH_AUTH_SOCK=/s",
            "TERM=dumb",
        ]
    );
    // A command sees these, the marker, and the variables that the shell adds.
    let place = place();
    let launch = Launch { environment: kept, ..place.launch("env | cut -d= -f1 | sort") };
    let output = run(&launch).await;
    let names: Vec<&str> =
        output.text.lines().skip(1).filter(|n| !["PWD", "SHLVL", "_", "OLDPWD"].contains(n)).collect();
    assert_eq!(names.len(), 15, "{names:?}");
    assert!(names.contains(&"ADJUTANT_CALL"));
}

#[test]
#[rustfmt::skip]
fn finding_b9_variables_of_secrets_and_steering_ones_are_known_by_what_tools_read() {
    let kept = |name: &str, value: &str| {
        let ours = [(OsString::from(name), OsString::from(value))];
        child_environment(ours, &[], []).iter().any(|(kept, found)| kept == name && found == value)
    };
    let never = [
        // Secrets by name.
        "MYSQL_PWD", "SLACK_WEBHOOK_URL", "SENTRY_DSN", "AZURE_STORAGE_CONNECTION_STRING", "CI_JOB_JWT", "APP_PEM",
        "SESSION", "SESSION_ID", "SESSIONID", "BW_SESSION", "OP_SESSION_my", "PHPSESSID", "SSHPASS", "BORG_PASSCOMMAND",
        "RESTIC_PASSWORD_COMMAND", "PGPASSFILE", "DISCORD_WEBHOOK", "DB_CONN_STR", "REDISCLI_AUTH", "SMBPASSWD",
        "AZURE_STORAGE_SAS_TOKEN", "CLIENT_P12", "ANDROID_KEYSTORE", "WALLET_MNEMONIC", "KRB5_KEYTAB", "COOKIES",
        "OAUTH_CLIENT", "AWS_SECRET_ACCESS_KEY", "DBPWD", "HTTP_AUTHORIZATION", "DOCKER_AUTH_CONFIG", "VAULT_TOKEN",
        "MYPW", "DBPW", "PASSWRD", "PGPASSW", "CREDSTORE", "DOCKER_CREDSTORE", "MYPASS", "STOREPASS", "DB_PSWD", "API_TKN",
        // Variables that make programs run or load something, or wait for a person.
        "EDITOR", "VISUAL", "LUA_INIT", "LUA_INIT_5_4", "MAKEFLAGS", "GNUMAKEFLAGS", "MAKEFILES", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER",
        "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER", "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER", "VIMINIT", "EXINIT",
        "ZDOTDIR", "GOFLAGS", "R_PROFILE_USER", "ERL_FLAGS", "DOTNET_STARTUP_HOOKS", "PHPRC", "TAR_OPTIONS", "RSYNC_RSH",
        "SVN_SSH", "HGRCPATH", "FZF_DEFAULT_OPTS", "FZF_DEFAULT_COMMAND", "MAVEN_OPTS", "GRADLE_OPTS", "CONFIG_SITE",
        "npm_config_script_shell", "KUBE_EDITOR", "SYSTEMD_PAGER", "DELTA_PAGER", "CMAKE_CXX_COMPILER_LAUNCHER", "GCONV_PATH",
        "OPENSSL_CONF", "PYTEST_ADDOPTS", "NODE_PATH", "PERLLIB", "BUNDLE_GEMFILE", "AWS_CONFIG_FILE", "TF_CLI_ARGS_plan",
    ];
    let passed: Vec<_> = never.iter().filter(|name| kept(name, "x")).collect();
    assert!(passed.is_empty(), "reach a command: {passed:?}");
    let stay = [
        "HOME", "LANG", "LC_ALL", "USER", "SHELL", "DISPLAY", "XDG_SESSION_TYPE", "DBUS_SESSION_BUS_ADDRESS",
        "DESKTOP_SESSION", "CARGO_HOME", "RUSTUP_HOME", "RUSTFLAGS", "VIRTUAL_ENV", "JAVA_HOME", "GOPATH", "CC", "CXX",
        "TMPDIR", "COLORTERM", "SSL_CERT_FILE", "HTTP_PROXY", "NO_PROXY", "CI", "MONKEY", "COMPASS_DIR", "SSH_AUTH_SOCK",
        "COMPASS", "CREDIT_LIMIT", "BYPASS", "CFLAGS", "LDFLAGS", "CC_wasm32_unknown_unknown",
    ];
    let lost: Vec<_> = stay.iter().filter(|name| !kept(name, "x")).collect();
    assert!(lost.is_empty(), "do not reach a command: {lost:?}");
    // A value that looks like a key is removed whatever its name is.
    for value in ["ghp_abcdefghijklmnopqrstuvwxyz0123456789", "https://u:p@h/", "-----BEGIN PRIVATE KEY-----"] {
        assert!(!kept("HARMLESS", value), "{value}");
    }
}

#[test]
fn finding_b9_a_program_of_a_build_is_the_users_choice_and_none_of_the_workspace() {
    let place = place();
    let root = place.directory.path().join("ws");
    std::fs::create_dir(&root).expect("dir");
    let reaches = |name: &str, value: &str| {
        let ours = [(OsString::from(name), OsString::from(value))];
        child_environment(ours, &[], [root.as_path()]).iter().any(|(kept, _)| kept == name)
    };
    let inside = root.join("cc").display().to_string();
    let flags = format!("-Ctarget-cpu=native -Clinker={inside}");
    for (name, value) in [
        ("CC", inside.as_str()),
        ("CC", "./cc"),
        ("CXX", "tools/c++ -O2"),
        ("CC_x86_64_unknown_linux_gnu", inside.as_str()),
        ("SHELL", inside.as_str()),
        ("RUSTFLAGS", flags.as_str()),
        ("RUSTFLAGS", "-C linker=./cc"),
        ("CARGO_ENCODED_RUSTFLAGS", "-C\u{1f}linker=./cc"),
    ] {
        assert!(!reaches(name, value), "{name}={value}");
    }
    let library = format!("-L{inside} --remap-path-prefix={inside}=/src");
    for (name, value) in [
        ("CC", "clang-18 -fuse-ld=lld"),
        ("CC", "/usr/bin/clang"),
        ("SHELL", "/bin/zsh"),
        ("RUSTFLAGS", "-C linker=clang -C link-arg=-fuse-ld=/usr/bin/mold"),
        ("RUSTFLAGS", library.as_str()),
        ("CFLAGS", library.as_str()),
    ] {
        assert!(reaches(name, value), "{name}={value}");
    }
}

#[test]
fn finding_b11_no_entry_of_the_search_path_lies_in_the_workspace() {
    let place = place();
    let root = place.directory.path().join("ws");
    std::fs::create_dir_all(root.join("bin")).expect("dirs");
    let outside = place.directory.path().join("tools");
    std::fs::create_dir(&outside).expect("dir");
    // A link into the workspace, and another name of the workspace.
    std::os::unix::fs::symlink(root.join("bin"), place.directory.path().join("into")).expect("link");
    std::os::unix::fs::symlink(&root, place.directory.path().join("ws-too")).expect("link");
    let entry = |path: &str| place.directory.path().join(path).display().to_string();
    let inside =
        ["ws/bin", "ws", "ws/later", "into", "ws-too/bin", "ws-too/later", "tools/../ws/bin", "ws/./bin"];
    let all: Vec<String> =
        inside.iter().map(|path| entry(path)).chain([entry("tools"), "/bin".into()]).collect();
    for root in [root, place.directory.path().join("ws-too")] {
        let ours = [(OsString::from("PATH"), OsString::from(all.join(":")))];
        let kept = child_environment(ours, &[], [root.as_path()]);
        let path = kept.iter().find(|(name, _)| name == "PATH").expect("a search path");
        assert_eq!(path.1.to_str(), Some(format!("{}:/bin", entry("tools")).as_str()));
        // An empty search path would mean the folder in which the command runs.
        let ours = [(OsString::from("PATH"), OsString::from(entry("ws/bin")))];
        let kept = child_environment(ours, &[], [root.as_path()]);
        assert!(kept.contains(&("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())), "{kept:?}");
    }
}

#[test]
fn terminal_sequences_are_removed_wherever_they_are_cut() {
    let cases: &[(&[u8], &str)] = &[
        (b"\x1b[2J\x1b[Hfake prompt$ ", "fake prompt$ "),
        (b"\x1b]52;c;dG91Y2ggcHduZWQ=\x07ok", "ok"),
        (b"\x1b]1337;File=inline=1:AAAA\x07ok", "ok"),
        (b"\x1b[6nok", "ok"),
        (b"\x1b[8m hidden \x1b[0m", " hidden "),
        (b"ok\r\x1b[Kpassed\r\n", "ok\npassed\n"),
        (b"\x1b[38;5;0;48;5;0mblack on black", "black on black"),
        (b"\x1b_Gf=100;AAAA\x1b\\ok", "ok"),
        ("\u{e0069}\u{e0067}\u{202e}ok\u{200b}".as_bytes(), "ok"),
        (b"\x1b(Bok\x1b=ok", "okok"),
        (b"gr\xfc\xdfe \xe4\xb8", "gr\u{fffd}\u{fffd}e "),
        ("Grüße 世界 𝄞\ta\u{8}b\0".as_bytes(), "Grüße 世界 𝄞\tab"),
        (b"\x1b]0;never ended\nnext", "\nnext"),
    ];
    for (bytes, wanted) in cases {
        assert_eq!(Cleaner::default().push(bytes), *wanted);
        let mut cleaner = Cleaner::default();
        let pieces: String = bytes.iter().map(|byte| cleaner.push(&[*byte])).collect();
        assert_eq!(pieces, *wanted, "byte by byte");
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(40))]
    #[test]
    fn no_output_panics_or_grows(pieces in proptest::collection::vec(proptest::collection::vec(proptest::num::u8::ANY, 0..9000), 0..20)) {
        let mut gathered = GatheredOutput::default();
        let mut total = 0;
        for piece in &pieces {
            total += gathered.push(piece).len() as u64;
        }
        let (text, left_out) = gathered.finish();
        proptest::prop_assert!(text.len() <= 24 * 1024 + 2);
        let marks = if left_out > 0 { text.matches(gather::GAP).count() } else { 0 };
        let breaks = u64::from(left_out > 0 && text.contains(&format!("\n{}", gather::GAP)));
        let shown = text.len() as u64 - marks as u64 + left_out;
        proptest::prop_assert!(shown == total || shown == total + breaks);
    }
}
