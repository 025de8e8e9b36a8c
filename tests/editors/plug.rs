//! The plug is pulled in the middle of a task in VS Code: its server and its extensions die together. A terminal answers what is
//! asked, VS Code is gone for good, and Neovim goes on and ends the review, as if nothing had happened.
//!
//! Judges by the disk and by the requests to the model. Gives a prompt again only if the server never accepted it.

use std::fs;

use adjutant::sessions::reading;
use adjutant_protocol::session::SessionEntry;
use adjutant_protocol::state::State;
use adjutant_testkit::campaign::{self, Dice};
use adjutant_testkit::command::Line;
use adjutant_testkit::painter::{CLOSED, OPEN, UNKNOWN, painted_whole, reply, turns_of, unpainted};
use adjutant_testkit::process::is_running;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::editor::Editor;
use crate::neovim::scenes::press;
use crate::neovim::{Neovim, VERSIONS};
use crate::stage::{SERVER, Stage, wait_for};
use crate::vscode::Code;

const PROMPT: &str = "Paint it";
/// What the user is asked, and what they answer in each place.
const QUESTIONS: [(&str, &str); 2] = [("echo ran", "Yes, once"), ("Which colour?", "red")];
/// More updates than the task has between two questions.
const MOST_HEARD: usize = 30;

/// Returns how many updates the editors of a stage were sent.
fn heard(stage: &Stage) -> usize {
    stage.seen().count("out", "agent/session/update")
}

/// Begins the task in VS Code, and kills its server and its extensions at a moment of these dice.
fn begins_and_dies(stage: &Stage, dice: &mut Dice) -> String {
    let code = Code::open(stage, OPEN);
    code.command(PROMPT);
    let answers = dice.roll(QUESTIONS.len() + 1);
    for (question, answer) in &QUESTIONS[..answers] {
        code.wait_asked(question);
        code.choose(answer);
    }
    let (before, more) = (heard(stage), dice.roll(MOST_HEARD));
    let how = wait_for("the moment", || {
        let says = code.status();
        let is_over = says.split(" | ").any(|item| item == "Adjutant") && answers == QUESTIONS.len();
        match () {
            () if heard(stage) >= before + more => Some("after an update"),
            () if says.contains("question") => Some("at a question"),
            () if is_over => Some("at the end"),
            () => None,
        }
    });
    kill_all(stage, dice.roll(2) == 0);
    drop(code);
    // VS Code may have started another one meanwhile.
    kill_all(stage, false);
    format!("{how}, with {answers} answers")
}

/// Kills every server of a stage and the process that started it.
fn kill_all(stage: &Stage, is_server_first: bool) {
    for server in stage.seen().servers().into_iter().filter(|&server| is_running(server)) {
        let program = fs::read_link(format!("/proc/{server}/exe")).unwrap_or_default();
        if program.as_os_str() != SERVER {
            continue;
        }
        let extensions = parent(server).filter(|&parent| command_of(parent).contains("extensionHost"));
        let mut both = [Some(server), extensions];
        if !is_server_first {
            both.reverse();
        }
        for process in both.into_iter().flatten() {
            let id = i32::try_from(process).ok().and_then(Pid::from_raw).expect("a process id");
            // It may have ended by itself.
            let _ = kill_process(id, Signal::KILL);
        }
        wait_for("the end of the server", || (!is_running(server)).then_some(()));
    }
}

fn parent(process: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok())
}

fn command_of(process: u32) -> String {
    let command = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&command).replace('\0', " ")
}

/// Answers at a terminal what is open, one question or more, or none.
fn goes_on_at_a_terminal(stage: &Stage, dice: &mut Dice) {
    for _ in 0..dice.roll(4) {
        let listed = Line::new(SERVER, &stage.workspace, &["asks", "--json"]).run();
        let Some(ask) = listed.expect(0).stdout.lines().next().map(str::to_owned) else { return };
        let ask: Value = serde_json::from_str(&ask).expect("an ask");
        let id = ask["askId"].as_str().expect("an id");
        let option = if ask["kind"] == "followup" { "option-1" } else { "allow" };
        let answered = Line::new(SERVER, &stage.workspace, &["answer", id, option]).run();
        // An approval is for one environment. A terminal has another one than VS Code, so the server asks anew.
        let is_asked_anew = answered.stdout.contains("the environment it would run");
        assert!(answered.status.success() || is_asked_anew, "{answered}");
    }
}

/// Neovim goes on with the task to its end, and keeps every change.
fn ends_in_neovim(stage: &Stage) {
    let vim = Neovim::open(stage, VERSIONS[1], OPEN);
    if stage.sessions().is_empty() {
        vim.command(PROMPT);
    } else {
        vim.lua("vim.cmd('Adjutant sessions')");
        vim.wait_asked(PROMPT);
        vim.choose(PROMPT);
    }
    let mut answers = QUESTIONS.to_vec();
    answers.push(("interrupted", "Resume"));
    wait_for("the end of the task", || {
        if let Some(asked) = vim.asked() {
            let (part, answer) = answers.iter().find(|(part, _)| asked.contains(part))?;
            vim.wait_asked(part);
            // What has not been in sight cannot be allowed.
            press(&vim, "<C-f>");
            vim.choose(answer);
        }
        is_painted(stage).then_some(())
    });
    vim.lua("vim.cmd('Adjutant keep all')");
    wait_for("every change to be kept", || (entry(stage).unreviewed_hunks == 0).then_some(()));
}

/// Whether the last request has the answer to the question, and the session is at rest.
fn is_painted(stage: &Stage) -> bool {
    let told = stage.model.requests().last().map(turns_of).unwrap_or_default().concat();
    let is_answered = told.iter().any(|(_, _, output)| output == "The user answered: red");
    is_answered && entry(stage).state == State::Idle
}

/// Returns what a list says of the one session.
fn entry(stage: &Stage) -> SessionEntry {
    let catalog = reading::catalog(&stage.workspace.state_dir()).expect("a catalog");
    let mut entries = reading::entries(&catalog).expect("a list");
    assert_eq!(entries.len(), 1, "the task is in one session: {entries:?}");
    entries.remove(0)
}

#[test]
fn a_task_begun_in_vscode_whose_plug_is_pulled_is_ended_in_neovim_with_the_same_bytes() {
    let plugs = campaign::size("ADJUTANT_EDITOR_PLUGS", 100, 3);
    let only: Option<usize> = std::env::var("ADJUTANT_ORDER").ok().and_then(|seed| seed.parse().ok());
    for seed in (0..plugs).filter(|seed| only.is_none_or(|only| only == *seed)) {
        let mut dice = campaign::dice(0x91_06ED ^ (seed as u64) << 16);
        let files = format!("//- /{OPEN}\n{}//- /{CLOSED}\n{}", unpainted(OPEN), unpainted(CLOSED));
        let stage = Stage::answering(&files, reply).without_edits_mode();
        let how = begins_and_dies(&stage, &mut dice);
        eprintln!("seed {seed}: it died {how}");
        goes_on_at_a_terminal(&stage, &mut dice);
        ends_in_neovim(&stage);
        for name in [OPEN, CLOSED] {
            assert_eq!(stage.workspace.read(name), painted_whole(name), "seed {seed}: {name}");
        }
        assert_eq!(stage.workspace.read("notes/new.txt"), "painted\n", "seed {seed}");
        let told = stage.model.requests().last().map(turns_of).expect("a request").concat();
        let export = ["sessions", "export", &entry(&stage).session_id.0];
        let log = Line::new(SERVER, &stage.workspace, &export).run();
        let is_question =
            |line: &&str| line.contains("\"phase\":\"opened\"") && line.contains("\"followup\"");
        let questions = log.expect(0).stdout.lines().filter(is_question).count();
        assert_eq!(questions, 1, "seed {seed}: the user was not asked the question once: {told:?}");
        let traces =
            fs::read_to_string(stage.workspace.path().join("ledger")).unwrap_or_default().lines().count();
        let commands: Vec<_> = told.iter().filter(|(tool, ..)| tool == "run_command").collect();
        match commands[..] {
            [(_, _, output)] if output.starts_with(UNKNOWN) => assert!(traces <= 1, "seed {seed}: {told:?}"),
            [_] => assert_eq!(traces, 1, "seed {seed}: {told:?}"),
            _ => panic!("seed {seed}: {told:?}"),
        }
    }
}
