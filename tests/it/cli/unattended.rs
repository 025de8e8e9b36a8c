//! `-y`, modes and limits: what an unattended run does, and what it never does.
//!
//! Checks files, exit codes and the text that the model gets; never trusts a report of the server alone.

use adjutant_testkit::command::{Line, Ran};
use adjutant_testkit::fixture::Workspace;

const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");

/// Returns a turn with one call.
fn call(tool: &str, arguments: &str) -> String {
    format!("[[turn]]\n[[turn.call]]\ntool = \"{tool}\"\narguments = {arguments}\n")
}

fn edit(path: &str) -> String {
    call("edit_file", &format!("{{ path = \"{path}\", old_text = \"one\", new_text = \"two\" }}"))
}

/// The last turn: prints the output of the call before.
const LAST_OUTPUT: &str = "[[turn]]\ntext = \"I was told: {{last_output}}\"\n";

fn workspace(script: &str) -> Workspace {
    let workspace = Workspace::new("//- /a.txt\none\n//- /b.lock\none\n//- /.env\nPASSWORD=one\n");
    workspace.script(script);
    workspace
}

fn run(workspace: &Workspace, args: &[&str]) -> Ran {
    Line::new(BINARY, workspace, &[&["run"], args].concat()).run()
}

#[test]
fn s13_l03_edits_of_the_workspace_are_made_and_nothing_outside_is_touched() {
    let outside = Workspace::new("//- /a.txt\none\n");
    let target = outside.path().join("a.txt").display().to_string();
    let workspace = workspace(&(edit("a.txt") + &edit(&target) + LAST_OUTPUT));
    let ran = run(&workspace, &["-y", "--allow-commands", "go"]);
    assert!(ran.expect(0).stdout.contains("I was told: Denied: "), "{ran}");
    assert_eq!((workspace.read("a.txt"), outside.read("a.txt")), ("two\n".into(), "one\n".into()));
}

#[test]
fn s13_l03_reading_outside_and_secrets_ask_and_nobody_is_there() {
    let outside = Workspace::new("//- /a.txt\nnot for the model\n");
    let read = |path: &str| call("read_file", &format!("{{ path = \"{path}\" }}"));
    for path in [outside.path().join("a.txt").display().to_string(), ".env".to_owned()] {
        let workspace = workspace(&(read(&path) + LAST_OUTPUT));
        let ran = run(&workspace, &["-y", "--allow-commands", "go"]);
        assert!(ran.expect(3).stderr.contains("nobody was present to answer: "), "{ran}");
        assert!(!ran.stdout.contains("not for the model") && !ran.stdout.contains("PASSWORD"), "{ran}");
    }
}

#[test]
fn s13_l03_what_runs_later_asks_and_what_is_protected_is_denied_also_unattended() {
    let write = |path: &str| call("write_file", &format!("{{ path = \"{path}\", content = \"x\" }}"));
    for (path, code, part) in [
        (".github/workflows/ci.yml", 3, "Nobody is present"),
        (".git/hooks/pre-commit", 0, "Denied: \".git/hooks/pre-commit\" is protected"),
        (".adjutant/config.toml", 0, "Denied: \".adjutant/config.toml\" is protected"),
    ] {
        let workspace = workspace(&(write(path) + LAST_OUTPUT));
        let ran = run(&workspace, &["-y", "--allow-commands", "go"]);
        assert!(ran.expect(code).stdout.contains(part), "{ran}");
        assert!(!workspace.exists(path), "{ran}");
    }
}

#[test]
fn s13_l03_denials_win_and_categories_can_be_switched_off() {
    let script = edit("b.lock") + &call("run_command", "{ command = \"echo one >> ran\" }") + LAST_OUTPUT;
    let denying = workspace(&script);
    denying.add_config("[permissions]\ndeny = [\"edit_file(**/*.lock)\", \"run_command(echo)\"]\n");
    let ran = run(&denying, &["-y", "--allow-commands", "go"]);
    assert!(ran.expect(0).stdout.contains("I was told: Denied: the rule \"run_command(echo)\""), "{ran}");
    assert_eq!((denying.read("b.lock"), denying.exists("ran")), ("one\n".into(), false));

    let careful = workspace(&script);
    careful.add_config("[unattended]\nedit = false\n");
    let ran = run(&careful, &["-y", "go"]);
    assert!(ran.expect(3).stderr.contains("nobody was present to answer: "), "{ran}");
    assert_eq!((careful.read("b.lock"), careful.exists("ran")), ("one\n".into(), false));
}

#[test]
fn s13_l03_a_project_file_cannot_allow_what_the_user_did_not() {
    let workspace = workspace(&(call("run_command", "{ command = \"echo one >> ran\" }") + LAST_OUTPUT));
    workspace.write(".adjutant/config.toml", "[unattended]\ncommand = true\nmax_requests = 10000\n");
    let ran = run(&workspace, &["-y", "go"]);
    ran.expect(3);
    assert!(!workspace.exists("ran"), "{ran}");
}

#[test]
fn s13_s25_a_run_nobody_watches_stops_at_its_request_limit_and_can_be_continued() {
    let reads = call("read_file", "{ path = \"a.txt\" }").repeat(5);
    let workspace = workspace(&(reads + "[[turn]]\ntext = \"Read it all.\"\n"));
    workspace.add_config("[unattended]\nmax_requests = 3\n");
    let ran = run(&workspace, &["-y", "go"]);
    let why = "Stopped at a limit: The limit of 3 model requests for one run is reached.";
    assert!(ran.expect(1).stderr.contains(why) && ran.stderr.contains("run --continue"), "{ran}");
    let ran = run(&workspace, &["--continue"]);
    assert!(ran.expect(0).stdout.contains("Read it all."), "{ran}");
}

#[test]
fn s13_commands_need_both_flags() {
    let workspace = workspace(LAST_OUTPUT);
    let ran = run(&workspace, &["--allow-commands", "go"]);
    assert!(ran.expect(2).stderr.contains("--yes"), "{ran}");
}

#[test]
fn in_ask_mode_nothing_is_changed_whatever_is_allowed() {
    let script = edit("a.txt") + &call("run_command", "{ command = \"echo one >> ran\" }") + LAST_OUTPUT;
    let workspace = workspace(&script);
    let ran = run(&workspace, &["-y", "--allow-commands", "--mode", "ask", "go"]);
    assert_eq!((workspace.read("a.txt"), workspace.exists("ran")), ("one\n".into(), false), "{ran}");
    assert!(ran.expect(0).stdout.contains("`run_command` is not offered in this mode"), "{ran}");
}

#[test]
fn s15_a_question_that_nobody_hears_is_answered_so_and_the_run_goes_on() {
    let question = call("ask_user", "{ question = \"Tabs or spaces?\", options = [\"Tabs\", \"Spaces\"] }");
    for args in [&["go"][..], &["-y", "go"]] {
        let workspace = workspace(&(question.clone() + LAST_OUTPUT));
        let ran = run(&workspace, args);
        assert!(ran.expect(0).stdout.contains("Nobody is present"), "{ran}");
        assert!(ran.stderr.contains("1. Tabs\n") && ran.stderr.contains("2. Spaces\n"), "{ran}");
        let line = ran.stdout.lines().find(|line| line.starts_with("I was told: ")).unwrap_or_default();
        assert!(line.contains("Nobody is present"), "no option is chosen for the user: {ran}");
    }
}

#[test]
fn s53_a_denial_is_told_to_the_model_and_to_the_shell_and_the_run_goes_on() {
    let script = edit("a.txt") + LAST_OUTPUT;
    let workspace = workspace(&script);
    let ran = run(&workspace, &["go"]);
    let line = ran.expect(3).stdout.lines().find(|line| line.starts_with("I was told: ")).unwrap_or_default();
    assert!(line.contains("Nobody is present"), "{ran}");
    assert!(ran.stderr.contains("-one\n+two\n"), "the whole edit is shown: {ran}");
    assert_eq!(workspace.read("a.txt"), "one\n");
}

#[test]
fn finding_b6_a_run_names_the_changed_files_that_run_on_build() {
    let files = "//- /Makefile\nall:\n\techo one\n//- /a.txt\none\n";
    let workspace = Workspace::new(files);
    workspace.script(&(edit("Makefile") + &edit("a.txt") + LAST_OUTPUT));
    let ran = run(&workspace, &["-y", "go"]);
    let marked =
        "! changed: \"Makefile\" runs or chooses programs on build; look at it before the next build";
    let words = ran.expect(0).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = words + &ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words.matches("! changed:").count(), 1, "{ran}");
    assert!(words.contains(marked), "{ran}");
    assert_eq!(workspace.read("Makefile"), "all:\n\techo two\n");

    let workspace = Workspace::new(files);
    workspace.script(&(edit("Makefile") + LAST_OUTPUT));
    let quiet = run(&workspace, &["-y", "-q", "go"]);
    let words = quiet.expect(0).stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words, marked, "{quiet}");
    assert!(!quiet.stdout.contains("! changed"), "standard output has only the answer: {quiet}");
}
