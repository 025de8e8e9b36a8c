//! Tests with commands that try to escape, for both kinds of containment. Each test runs in a process of its own,
//! which adopts orphans as the binary does.

use super::*;

/// Set for the process of one test.
const ALONE: &str = "TESTKIT_ALONE";

/// Whether this is a process for one test alone. If not, runs the test again in such a process.
fn is_alone() -> bool {
    if std::env::var_os(ALONE).is_some() {
        adopt_orphans();
        return true;
    }
    let thread = std::thread::current();
    let name = thread.name().expect("a test has a thread of its name");
    let binary = std::env::current_exe().expect("this program");
    let test =
        std::process::Command::new(binary).args([name, "--exact", "--nocapture"]).env(ALONE, "1").output();
    let test = test.expect("it starts");
    let said = [&test.stdout, &test.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat();
    assert!(test.status.success() && said.contains("1 passed"), "{said}");
    false
}

/// Starts a process that has no parent, session, environment or output of its command.
const ESCAPE: &str = "(setsid env -i PATH=\"$PATH\" sh -c 'echo $$ >> pids; exec sleep 1000' </dev/null >/dev/null 2>&1 &); \
                      until [ -s pids ]; do sleep 0.01; done";

fn both(place: &Place, command: &str) -> Vec<Launch> {
    let contained = |containment, name: &str| Launch {
        containment,
        call: format!("call-{name}-{}", std::process::id()),
        whole: place.directory.path().join(name),
        ..place.launch(command)
    };
    vec![contained(Containment::Walk, "walk"), contained(Containment::Group, "group")]
}

fn afresh(place: &Place) {
    let _ = std::fs::remove_file(place.directory.path().join("pids"));
}

#[tokio::test]
async fn finding_b7_a_child_without_any_mark_does_not_outlive_its_command() {
    if !is_alone() {
        return;
    }
    let place = place();
    for launch in both(&place, ESCAPE) {
        afresh(&place);
        let output = run(&launch).await;
        assert!(output.text.starts_with("exit code 0"), "{}", output.text);
        assert!(
            output.text.contains("[1 process still running"),
            "{:?}: {}",
            launch.containment,
            output.text
        );
        all_gone(&place.numbers(1).await).await;
    }
}

#[tokio::test]
async fn finding_b7_a_child_that_changed_its_limit_is_found_in_the_servers_own_session_too() {
    if !is_alone() {
        return;
    }
    let place = place();
    let escape = "ulimit -SR 1000000; set -m; env -i PATH=\"$PATH\" bash -c 'set -m; sh -c \"echo \\$\\$ >> pids; exec sleep 1000\" \
                  </dev/null >/dev/null 2>&1 &' & wait; until [ -s pids ]; do sleep 0.01; done";
    let bash = format!("exec bash -c {}", shell_word(escape));
    let launch = Launch { containment: Containment::Walk, ..place.launch(&bash) };
    let output = run(&launch).await;
    assert!(output.text.starts_with("exit code 0"), "{}", output.text);
    all_gone(&place.numbers(1).await).await;
}

/// Quotes a text as one word of a shell command.
fn shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[tokio::test]
async fn finding_b7_a_child_without_any_mark_does_not_outlive_a_time_limit_or_a_drop() {
    if !is_alone() {
        return;
    }
    let place = place();
    for launch in both(&place, &format!("{ESCAPE}; sleep 1000")) {
        afresh(&place);
        let limited = Launch { time_limit: Duration::from_millis(600), ..launch.clone() };
        let output = run(&limited).await;
        assert!(output.text.contains("time limit"), "{}", output.text);
        all_gone(&place.numbers(1).await).await;
        afresh(&place);
        let whole = launch.whole.with_extension("dropped");
        let dropped = Launch { whole, call: format!("{}-2", launch.call), ..launch };
        let mut live = |_: &str| {};
        tokio::select! {
            output = run_command(&dropped, &[], &mut live, std::future::pending()) => panic!("{}", output.text),
            _ = place.numbers(1) => {}
        }
        all_gone(&place.numbers(1).await).await;
    }
}

#[tokio::test]
async fn finding_b7_a_command_that_runs_for_a_while_is_in_a_group_that_goes_with_it() {
    if !is_alone() {
        return;
    }
    let place = place();
    let wait = "until grep -q adjutant-call /proc/$$/cgroup; do sleep 0.01; done; cat /proc/$$/cgroup";
    let launch =
        Launch { containment: Containment::Group, call: "call-grouped".into(), ..place.launch(wait) };
    let output = run(&launch).await;
    let group = output.text.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or_default();
    assert!(group.ends_with("/adjutant-call-grouped"), "{}", output.text);
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("mounts");
    let point =
        mounts.lines().find(|line| line.contains(" - cgroup2 ")).and_then(|line| line.split(' ').nth(4));
    let folder = format!("{}{group}", point.expect("a mount"));
    assert!(!std::path::Path::new(&folder).exists(), "{folder} is left");
}

#[tokio::test]
async fn finding_b7_orphans_that_end_are_reaped_and_no_child_of_another_is() {
    if !is_alone() {
        return;
    }
    let place = place();
    // This process adopts each when its parent has ended; then each ends by itself.
    let orphans = "for i in 1 2 3 4 5; do (setsid sh -c 'echo $$ >> pids; exit 7' &); done; \
                   until [ $(wc -l < pids) = 5 ]; do sleep 0.01; done; sleep 0.3";
    let mut other = std::process::Command::new("sh").args(["-c", "exit 9"]).spawn().expect("a child");
    let output = place.run(orphans).await;
    assert!(output.text.starts_with("exit code 0"), "{}", output.text);
    for pid in place.numbers(5).await {
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "{pid} is a zombie");
    }
    assert_eq!(other.wait().expect("nobody else reaped it").code(), Some(9));
}

/// Starts a plain child, one without a marker, and one without a marker and a number.
const FAMILY: &str = "sleep 1000 & echo $! >> pids; for how in '' 'prlimit --rttime=100000:unlimited'; do \
    (setsid env -i PATH=\"$PATH\" $how sh -c 'echo $$ >> pids; exec sleep 1000' </dev/null >/dev/null 2>&1 &); done; \
    until [ $(wc -l < pids) = 3 ]; do sleep 0.01; done";

#[tokio::test]
async fn finding_h8_two_commands_side_by_side_never_end_each_others_children() {
    if !is_alone() {
        return;
    }
    for containment in [Containment::Walk, Containment::Group] {
        let (first, second) = (place(), place());
        let named = |place: &Place, name: &str, command: &str| Launch {
            containment,
            call: format!("call-{name}-{containment:?}-{}", std::process::id()),
            whole: place.directory.path().join(name),
            ..place.launch(command)
        };
        let long = named(&first, "long", &format!("{FAMILY}; sleep 1000"));
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let mut live = |_: &str| {};
        let stopped = async { drop(stopped.await) };
        let others = async {
            let of_first = first.numbers(3).await;
            let mut of_others = Vec::new();
            // Later commands: one ends by itself, one at its limit, one is dropped.
            for way in ["end", "limit", "drop"] {
                afresh(&second);
                let wait = if way == "end" { "true" } else { "sleep 1000" };
                let short = named(&second, way, &format!("{FAMILY}; {wait}"));
                match way {
                    "end" => assert!(run(&short).await.text.starts_with("exit code 0")),
                    "limit" => {
                        let limited = Launch { time_limit: Duration::from_secs(2), ..short };
                        assert!(run(&limited).await.text.contains("time limit"));
                    }
                    _ => tokio::select! {
                        output = run(&short) => panic!("{}", output.text),
                        _ = second.numbers(3) => {}
                    },
                }
                of_others.extend(second.numbers(3).await);
                assert!(
                    of_first.iter().all(|pid| lives(*pid)),
                    "{containment:?}: ended with the other one, by {way}"
                );
            }
            // The first command ends while a later one still runs.
            afresh(&second);
            let later = named(&second, "later", &format!("{FAMILY}; until [ -e over ]; do sleep 0.01; done"));
            let end_the_first = async {
                let of_later = second.numbers(3).await;
                stop.send(()).expect("the first one waits for it");
                all_gone(&of_first).await;
                assert!(of_later.iter().all(|pid| lives(*pid)), "{containment:?}: ended with the first one");
                std::fs::write(second.directory.path().join("over"), "").expect("file");
                of_later
            };
            let (_, of_later) = tokio::join!(run(&later), end_the_first);
            of_others.extend(of_later);
            of_others
        };
        let (_, of_others) = tokio::join!(run_command(&long, &[], &mut live, stopped), others);
        all_gone(&of_others).await;
    }
}
