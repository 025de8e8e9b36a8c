//! What puzzled a first-time user of the command line.
//!
//! Each test is a command line that a user can type, and the output that the user reads.

use std::time::Instant;

use adjutant_testkit::command::Line;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::process::wait_until;
use adjutant_testkit::terminal::Screen;

use super::lines::{BINARY, HELLO, run, workspace};

const EDIT: &str = "[[turn]]\n[[turn.call]]\ntool = \"edit_file\"\narguments = { path = \"a.txt\", old_text = \"one\", new_text = \"two\" }\n";
const COMMAND: &str =
    "[[turn]]\n[[turn.call]]\ntool = \"run_command\"\narguments = { command = \"echo ran >> ran\" }\n";
const LAST_OUTPUT: &str = "[[turn]]\ntext = \"I was told: {{last_output}}\"\n";

/// Returns the text without line breaks and margins.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn finding_where_nobody_is_it_says_so_and_how_to_allow_what_was_not() {
    let script = EDIT.to_owned() + COMMAND + LAST_OUTPUT;
    let both = "not allowed, because nobody was present to answer: Edit a.txt, Run echo ran >> ran; add `-y` to allow \
                edits, with `--allow-commands` to allow commands too, or run it at a terminal and answer there";
    for more in [&[][..], &["--quiet"], &["--output", "json"]] {
        let ran = run(&workspace(&script), &[&["run"], more, &["go"]].concat());
        assert!(words(&ran.expect(3).stderr).ends_with(both), "{ran}");
        assert!(ran.stdout.contains("I was told: Nobody is present to allow this"), "{ran}");
        assert!(!ran.stderr.contains("rejected") && !ran.stdout.contains("The user rejected"), "{ran}");
    }
    let ran = run(&workspace(&script), &["run", "-y", "go"]);
    let one = "answer: Run echo ran >> ran; add `--allow-commands` to allow commands, or run it at a terminal and \
               answer there";
    assert!(words(&ran.expect(3).stderr).ends_with(one), "{ran}");
    // No flag allows this call.
    let read = "[[turn]]\n[[turn.call]]\ntool = \"read_file\"\narguments = { path = \"/etc/hostname\" }\n";
    let ran = run(&workspace(&(read.to_owned() + LAST_OUTPUT)), &["run", "-y", "--allow-commands", "go"]);
    assert!(words(&ran.expect(3).stderr).ends_with("; run it at a terminal and answer there"), "{ran}");
}

#[test]
fn finding_the_end_of_the_input_approves_nothing_and_the_help_says_so() {
    for (typed, label) in [(&b"\x04"[..], "alone"), (b"y\x04\x04", "after an answer that was not sent")] {
        let workspace = workspace(&(EDIT.to_owned() + COMMAND + LAST_OUTPUT));
        let (mut screen, far) = Screen::open(80);
        let line = Line::new(BINARY, &workspace, &["run", "go"]).env("TERM", "xterm-256color");
        let running = line.terminal(&far).start();
        drop(far);
        wait_until("the question", || screen.text().contains("\n> "));
        let since = Instant::now();
        wait_until("the reading time to be over", || since.elapsed().as_millis() > 600);
        screen.types(typed);
        let ran = running.wait();
        let text = screen.text();
        ran.expect(3);
        assert_eq!(
            (workspace.read("a.txt").as_str(), workspace.exists("ran")),
            ("one\n", false),
            "{label}: {text}"
        );
        assert!(text.contains("nobody can answer any more"), "{label}: {text}");
    }
    let help = words(&run(&workspace(HELLO), &["run", "--help"]).expect(0).stdout);
    assert!(help.contains("Ctrl-D") && help.contains("Exit codes: 0 "), "{help}");
}

#[test]
fn finding_a_session_that_goes_on_with_another_model_says_so_in_one_line() {
    let workspace = workspace(&HELLO.repeat(4));
    let model = |name: &str| {
        let text = std::fs::read_to_string(workspace.config_file()).expect("the settings");
        let rest = text.lines().filter(|line| !line.starts_with("model ")).collect::<Vec<_>>().join("\n");
        workspace.config(&format!("model = \"play/{name}\"\n{rest}\n"));
    };
    model("one");
    let ran = run(&workspace, &["run", "go"]);
    assert!(ran.expect(0).stderr.starts_with("• play/one\n"), "{ran}");
    model("two");
    let ran = run(&workspace, &["run", "--continue", "go"]);
    assert!(ran.expect(0).stderr.starts_with("• play/two (the run before used play/one)\n"), "{ran}");
    let ran = run(&workspace, &["run", "--continue", "go"]);
    assert!(ran.expect(0).stderr.starts_with("• play/two\n"), "{ran}");
    let shown = run(&workspace, &["sessions", "export", &session_of(&workspace)]);
    assert_eq!(shown.expect(0).stdout.matches("\"previousModel\":\"play/one\"").count(), 1, "{shown}");
}

/// Returns the id of the first session in the list.
pub fn session_of(workspace: &Workspace) -> String {
    let list = run(workspace, &["sessions", "list"]).expect(0).stdout.clone();
    let row = list.lines().nth(1).unwrap_or_default().to_owned();
    row.split_whitespace().next().unwrap_or_default().to_owned()
}

#[test]
fn finding_settings_that_are_no_toml_are_to_be_corrected_and_nothing_else() {
    let workspace = workspace(HELLO);
    let text = std::fs::read_to_string(workspace.config_file()).expect("the settings");
    workspace.config(&format!("{text}context_window = \"\n"));
    let place = format!("{}:{}", workspace.config_file().display(), text.lines().count() + 1);
    for args in [&["run", "go"][..], &["run", "--model", "play/x", "go"]] {
        let ran = run(&workspace, args);
        let said = words(&ran.expect(2).stderr);
        assert!(said.contains(&format!("{place}: not valid TOML: ")), "{ran}");
        assert!(said.contains(&format!("{place} is not valid TOML; correct that line")), "{ran}");
        for wrong in ["adjutant setup", "OPENAI_API_KEY", "add `[providers", "\\\""] {
            assert!(!said.contains(wrong), "{wrong:?} is the wrong cure: {ran}");
        }
    }
}

#[test]
fn finding_without_a_model_the_providers_that_are_set_are_named() {
    let workspace = workspace(HELLO);
    let text = std::fs::read_to_string(workspace.config_file()).expect("the settings");
    let rest = text.lines().filter(|line| !line.starts_with("model ")).collect::<Vec<_>>().join("\n");
    workspace.config(&rest);
    let ran = run(&workspace, &["run", "go"]);
    let said = words(&ran.expect(2).stderr);
    assert!(
        said.contains("set `model = \"play/MODEL\"` in ") && said.contains("the configured providers: play"),
        "{ran}"
    );
    assert!(run(&workspace, &["run", "--model", "play/any", "go"]).expect(0).stdout.contains("Hello there."));
}

#[test]
fn finding_the_doctor_puts_no_tick_beside_a_mistake() {
    let workspace = workspace(HELLO);
    let text = std::fs::read_to_string(workspace.config_file()).expect("the settings");
    workspace.config(&format!("modle = \"x\"\n{text}context_window = \"many\"\n"));
    let ran = run(&workspace, &["doctor"]);
    assert_eq!(
        ran.expect(0).stdout.lines().filter(|line| line.starts_with("! settings")).count(),
        2,
        "{ran}"
    );
    assert!(!ran.stdout.contains("✓ settings"), "{ran}");

    workspace.config(&text);
    let script = workspace.config_file().with_file_name("script.toml");
    assert!(script.exists(), "{}", script.display());
    for (damage, why) in [(None, "does not exist"), (Some("[[turn]]\ntxt = \"x\"\n"), "line 2")] {
        match damage {
            None => std::fs::remove_file(&script).expect("the test owns it"),
            Some(damage) => std::fs::write(&script, damage).expect("the test owns it"),
        }
        for args in [&["doctor"][..], &["doctor", "--offline"]] {
            let ran = run(&workspace, args);
            let said = words(&ran.expect(1).stdout);
            assert!(said.contains("✗ model play/") && said.contains(why), "{ran}");
            assert!(!said.contains("✓ model") && !said.contains("✓ provider"), "{ran}");
        }
    }
}

#[test]
fn finding_a_run_that_is_over_asks_nothing() {
    let missing = "[[turn]]\n[[turn.call]]\ntool = \"read_file\"\narguments = { path = \"missing\" }\n";
    let workspace = workspace(&(missing.repeat(3) + HELLO));
    run(&workspace, &["run", "go"]).expect(1);
    assert_eq!(run(&workspace, &["asks"]).expect(0).stdout, "Nothing is asked.\n");
    let all = run(&workspace, &["asks", "--all"]);
    assert!(all.expect(0).stdout.contains("  continue = Continue anyway\n"), "{all}");
    assert!(run(&workspace, &["run", "--continue"]).expect(0).stdout.contains("Hello there."));
}
