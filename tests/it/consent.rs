//! Consent by `-y` belongs to the process that received it: another process that continues the run asks again.
//!
//! SIGKILL ends every run at a gate of the test, never after a time.

use adjutant_core::record::Event;
use adjutant_protocol::ask::AskKind;
use adjutant_protocol::session::ReplayFrom;
use adjutant_testkit::command::{Line, Ran};
use adjutant_testkit::editor::Options;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::process::{Server, wait_until};

use super::kill::story::{BINARY, facts, only_session};

/// A first command that waits at a gate, and a second one that no user has seen yet.
const SCRIPT: &str = r#"
[[turn]]
[[turn.call]]
tool = "run_command"
arguments = { command = "read word < gate" }

[[turn]]
[[turn.call]]
tool = "run_command"
arguments = { command = "echo unasked >> ledger" }

[[turn]]
text = "I was told: {{last_output}}"
"#;

/// Returns a workspace with one session. Its run started with `-y --allow-commands`, and its process was
/// killed.
fn killed() -> Workspace {
    let workspace = Workspace::new("//- /a.txt\none\n");
    let gate = workspace.path().join("gate");
    rustix::fs::mkfifoat(rustix::fs::CWD, gate, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    workspace.script(SCRIPT);
    let mut running = Line::new(BINARY, &workspace, &["run", "-y", "--allow-commands", "go"]).start();
    wait_until("the command to wait at the gate", || !running.marked().is_empty());
    running.kill();
    assert!(running.wait().was_killed());
    workspace
}

fn continue_run(workspace: &Workspace, with: &[&str]) -> Ran {
    Line::new(BINARY, workspace, &[&["run", "--continue"], with].concat()).run()
}

#[test]
fn finding_b1_s13_l03_consent_of_yes_ends_with_its_process() {
    for words in [&[][..], &["go on"]] {
        let workspace = killed();
        let ran = continue_run(&workspace, words);
        assert!(ran.expect(3).stderr.contains("$ echo unasked >> ledger"), "{ran}");
        assert!(!workspace.exists("ledger"), "it ran without an ask: {ran}");
    }
}

#[test]
fn finding_b1_consent_that_is_given_again_counts_and_only_for_what_it_names() {
    for words in [&["-y", "--allow-commands"][..], &["-y", "--allow-commands", "go on"]] {
        let workspace = killed();
        continue_run(&workspace, words).expect(0);
        assert_eq!(workspace.read("ledger"), "unasked\n");
    }
    let workspace = killed();
    let ran = continue_run(&workspace, &["-y"]);
    assert!(ran.expect(3).stderr.contains("$ echo unasked >> ledger"), "{ran}");
    assert!(!workspace.exists("ledger"));
}

#[test]
fn finding_b1_consent_is_given_again_also_where_only_a_question_is_open() {
    let workspace = Workspace::new("//- /a.txt\none\n");
    let question = "[[turn]]\n[[turn.call]]\ntool = \"ask_user\"\narguments = { question = \"Go on?\", options = [\"yes\"] }\n";
    workspace.script(
        &SCRIPT
            .replacen("\n[[turn]]", &format!("\n{question}\n[[turn]]"), 1)
            .replace("read word < gate", "true"),
    );
    let line = Line::new(BINARY, &workspace, &["run", "-y", "--allow-commands", "go"]);
    let ran = line.env("ADJUTANT_FAULT", "ask-delivered:1").run();
    assert!(ran.was_killed(), "{ran}");
    continue_run(&workspace, &["-y", "--allow-commands"]).expect(0);
    assert_eq!(workspace.read("ledger"), "unasked\n");
}

#[test]
fn finding_b1_a_rule_that_was_set_since_binds_the_run_that_goes_on() {
    let workspace = killed();
    workspace.add_config("[permissions]\ndeny = [\"run_command(echo)\"]\n");
    let ran = continue_run(&workspace, &["-y", "--allow-commands"]);
    assert!(ran.expect(0).stdout.contains("Denied: the rule \"run_command(echo)\""), "{ran}");
    assert!(!workspace.exists("ledger"));
    // A rule removed since then still applies to the run that started with it.
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.script(&SCRIPT.replace("read word < gate", "true"));
    let config = std::fs::read_to_string(workspace.config_file()).unwrap();
    workspace.add_config("[unattended]\nmax_requests = 1\n[permissions]\ndeny = [\"run_command(echo)\"]\n");
    Line::new(BINARY, &workspace, &["run", "-y", "--allow-commands", "go"]).run().expect(1);
    std::fs::write(workspace.config_file(), config).unwrap();
    let ran = continue_run(&workspace, &["-y", "--allow-commands"]);
    assert!(ran.expect(0).stdout.contains("Denied: the rule \"run_command(echo)\""), "{ran}");
    assert!(!workspace.exists("ledger"));
}

#[test]
fn finding_b1_an_editor_that_resumes_a_run_begun_with_yes_asks() {
    let workspace = killed();
    let session = only_session(&workspace).as_str().into();
    let mut server = Server::spawn(BINARY, &workspace, &["lsp"]);
    let editor = server.editor(Options::new(&workspace));
    let now = editor.resume(&session, Some(ReplayFrom::Start));
    let [ask] = &now.asks[..] else { panic!("not one ask: {:?}", now.asks) };
    assert_eq!(ask.kind, AskKind::ResumeTask);
    editor.respond(&ask.ask_id, "resume");
    let asked = editor.await_ask_of(AskKind::Command);
    assert_eq!(asked.title, "Run echo unasked >> ledger");
    editor.answer(&asked.ask_id, "reject");
    editor.await_run_end(&session, &now.state.run_id.unwrap());
    editor.shutdown();
    assert!(!workspace.exists("ledger"));
    let records = facts(&workspace, &session.0);
    let changed = records.iter().find_map(|record| match &record.event {
        Event::RulesChanged { unattended, .. } => Some(*unattended),
        _ => None,
    });
    assert_eq!(changed, Some(None), "the log says when the consent ended");
}
