//! A person at a terminal: a pseudo terminal that receives a user's key presses.
//!
//! Waits for text on the screen, and never for a time.

mod looped;
mod setup;

use std::time::{Duration, Instant};

use adjutant_testkit::command::{Line, Ran, Running};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::process::{wait_for_text, wait_until};
use adjutant_testkit::terminal::Screen;

const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");
/// An answer does not count within this time after the question (design 15).
const READING_TIME: Duration = Duration::from_millis(400);

const EDIT: &str = r#"
[[turn]]
text = "I change it."
[[turn.call]]
tool = "edit_file"
arguments = { path = "a.txt", old_text = "one", new_text = "two" }
"#;
const COMMAND: &str = r#"
[[turn]]
[[turn.call]]
tool = "run_command"
arguments = { command = "echo ran >> ran" }
"#;
const LAST_OUTPUT: &str = "[[turn]]\ntext = \"I was told: {{last_output}}\"\n";

/// A pseudo terminal, and the program that runs in it.
struct Terminal {
    screen: Screen,
    running: Running,
}

impl Terminal {
    fn run(workspace: &Workspace, columns: u16, args: &[&str]) -> Terminal {
        let (screen, far) = Screen::open(columns);
        let line = Line::new(BINARY, workspace, args).env("TERM", "xterm-256color");
        Terminal { screen, running: line.terminal(&far).start() }
    }

    /// Runs a shell script with this as its controlling terminal; `"$0"` is the binary.
    fn shell(workspace: &Workspace, script: &str) -> Terminal {
        let (screen, far) = Screen::open(80);
        let words = ["--ctty", "--wait", "sh", "-c", script, BINARY];
        let line = Line::new("setsid", workspace, &words).env("TERM", "xterm-256color");
        Terminal { screen, running: line.terminal(&far).start() }
    }

    /// Returns everything that the screen showed, without colours.
    fn screen(&self) -> String {
        self.screen.text()
    }

    /// Waits for a question, and for the prompt after it.
    fn asks(&self, question: &str) {
        let asked = |screen: &str| screen.split_once(question).is_some_and(|(_, rest)| rest.contains("\n> "));
        wait_until(&format!("the question {question:?}"), || asked(&self.screen()));
    }

    fn types(&mut self, line: &str) {
        self.screen.types(format!("{line}\n").as_bytes());
    }

    /// Answers the question at each prompt until the answer counts.
    fn answers(&mut self, line: &str, done: &str) {
        let refused = |screen: &str| screen.matches("please answer again").count();
        for _ in 1..1_000 {
            // A question is on the screen a moment before its prompt.
            wait_until("a prompt", || self.screen().ends_with("\n> "));
            let before = refused(&self.screen());
            self.types(line);
            // A line about a step may come meanwhile, with the prompt once more below it.
            let over = || self.screen().contains(done);
            let again = || refused(&self.screen()) > before;
            wait_until("the answer to be accepted or refused", || over() || again());
            if over() {
                return;
            }
        }
        panic!("the answer never counts");
    }

    fn ends(self) -> (Ran, String) {
        let ran = self.running.wait();
        self.screen.ended();
        let text = self.screen.text();
        (ran, text)
    }
}

fn workspace(script: &str) -> Workspace {
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.script(script);
    workspace
}

#[test]
fn s15_a_yes_applies_the_edit_that_was_shown_and_never_before_it_could_be_read() {
    let workspace = workspace(&(EDIT.to_owned() + LAST_OUTPUT));
    let mut terminal = Terminal::run(&workspace, 80, &["run", "change it"]);
    // The last moment at which the question was certainly not on the screen.
    let mut before = Instant::now();
    wait_until("the question", || {
        let now = Instant::now();
        let shown = terminal.screen().contains("y = yes, once");
        before = if shown { before } else { now };
        shown
    });
    terminal.asks("? Edit a.txt");
    assert!(terminal.screen().contains("-one\n+two\n"), "{}", terminal.screen());
    terminal.answers("y", "+1 −1");
    assert!(before.elapsed() >= READING_TIME, "it counted {:?} after it appeared", before.elapsed());
    let (ran, screen) = terminal.ends();
    ran.expect(0);
    assert_eq!(workspace.read("a.txt"), "two\n");
    assert!(screen.contains("I was told: Edited a.txt"), "{screen}");
}

#[test]
fn finding_e3_with_piped_input_the_terminal_is_asked_and_with_none_nobody_is() {
    let workspace = workspace(&(EDIT.to_owned() + LAST_OUTPUT));
    let (ran, screen) = Terminal::shell(&workspace, "exec \"$0\" run go </dev/null").ends();
    ran.expect(3);
    assert!(screen.contains("nobody was present"), "{screen}");
    assert_eq!(workspace.read("a.txt"), "one\n");
    let mut terminal = Terminal::shell(&workspace, "echo a log | \"$0\" run go");
    terminal.asks("? Edit a.txt");
    terminal.answers("y", "+1 −1");
    terminal.ends().0.expect(0);
    assert_eq!(workspace.read("a.txt"), "two\n");
}

#[test]
fn what_was_typed_before_the_question_answers_nothing() {
    let slow = "[[turn]]\ntext = \"Let me think about it for a little while.\"\npace_ms = 60\n[[turn.call]]\ntool = \"edit_file\"\narguments = { path = \"a.txt\", old_text = \"one\", new_text = \"two\" }\n";
    let workspace = workspace(&(slow.to_owned() + LAST_OUTPUT));
    let mut terminal = Terminal::run(&workspace, 80, &["run", "change it"]);
    wait_until("the first words", || terminal.screen().contains("Let me"));
    terminal.types("y");
    terminal.asks("? Edit a.txt");
    terminal.answers("n", "rejected");
    let (ran, screen) = terminal.ends();
    ran.expect(0);
    assert_eq!(workspace.read("a.txt"), "one\n", "{screen}");
}

#[test]
fn s16_a_text_rejects_and_is_the_reason_the_model_reads() {
    let workspace = workspace(&(EDIT.to_owned() + LAST_OUTPUT));
    let mut terminal = Terminal::run(&workspace, 80, &["run", "change it"]);
    terminal.asks("? Edit a.txt");
    terminal.answers("use tabs, please", "rejected");
    let (ran, screen) = terminal.ends();
    ran.expect(0);
    assert_eq!(workspace.read("a.txt"), "one\n");
    let line = screen.lines().find(|line| line.starts_with("I was told: ")).unwrap_or_default();
    assert!(line.contains("use tabs, please"), "{screen}");
}

/// Three changes of `a.txt` and two of `b.txt`, in one reply.
const CHANGES: &str = r#"
[[turn]]
[[turn.call]]
tool = "write_file"
arguments = { path = "a.txt", content = "1\n.\n.\n.\n.\n2\n.\n.\n.\n.\n3\n" }
[[turn.call]]
tool = "write_file"
arguments = { path = "b.txt", content = "5\n.\n.\n.\n.\n6\n" }
"#;

fn with_changes() -> Workspace {
    let files = "//- /a.txt\none\n.\n.\n.\n.\ntwo\n.\n.\n.\n.\nthree\n//- /b.txt\nfive\n.\n.\n.\n.\nsix\n";
    let workspace = Workspace::new(files);
    workspace.script(&(CHANGES.to_owned() + LAST_OUTPUT));
    workspace
}

#[test]
fn p01_changes_are_decided_one_by_one_as_in_git() {
    let workspace = with_changes();
    let mut terminal = Terminal::run(&workspace, 80, &["run", "change it"]);
    terminal.asks("? Edit 2 files: a.txt, b.txt");
    terminal.answers("p", "change 1 of 5");
    assert!(terminal.screen().contains("-one\n+1\n"), "{}", terminal.screen());
    terminal.answers("y", "change 2 of 5");
    terminal.answers("?", "decide the rest as a whole");
    terminal.answers("two is fine", "change 3 of 5");
    terminal.answers("n", "change 4 of 5");
    terminal.answers("a", "I was told");
    let (ran, screen) = terminal.ends();
    ran.expect(0);
    assert_eq!(workspace.read("a.txt"), "1\n.\n.\n.\n.\ntwo\n.\n.\n.\n.\nthree\n");
    assert_eq!(workspace.read("b.txt"), "5\n.\n.\n.\n.\n6\n");
    assert!(screen.contains("two is fine"), "{screen}");
    assert!(!screen.contains("elsewhere"), "{screen}");
}

#[test]
fn p01_what_is_left_after_single_changes_is_answered_as_a_whole() {
    let workspace = with_changes();
    let mut terminal = Terminal::run(&workspace, 80, &["run", "change it"]);
    terminal.asks("? Edit 2 files: a.txt, b.txt");
    terminal.answers("p", "change 1 of 5");
    terminal.answers("d", "change 4 of 5");
    terminal.answers("q", "for what is not decided yet");
    let screen = terminal.screen();
    let rest = screen.rsplit("? Edit").next().unwrap_or_default();
    assert!(rest.contains("+5") && !rest.contains("a.txt"), "only what is left is asked again: {screen}");
    terminal.answers("y", "I was told");
    terminal.ends().0.expect(0);
    assert!(workspace.read("a.txt").starts_with("one\n"));
    assert_eq!(workspace.read("b.txt"), "5\n.\n.\n.\n.\n6\n");
}

/// An empty file has no lines, and is a change of its own.
#[test]
fn p01_an_empty_file_is_decided_like_a_change() {
    let both = r#"
[[turn]]
[[turn.call]]
tool = "edit_file"
arguments = { path = "a.txt", old_text = "one", new_text = "two" }
[[turn.call]]
tool = "write_file"
arguments = { path = "e.txt", content = "" }
"#;
    let workspace = workspace(&(both.to_owned() + LAST_OUTPUT));
    let mut terminal = Terminal::run(&workspace, 80, &["run", "change it"]);
    terminal.asks("? Edit 2 files: a.txt, e.txt");
    terminal.answers("p", "change 1 of 2");
    terminal.answers("n", "change 2 of 2");
    assert!(terminal.screen().contains("+++ b/e.txt"), "{}", terminal.screen());
    terminal.answers("y", "I was told");
    terminal.ends().0.expect(0);
    assert_eq!(workspace.read("a.txt"), "one\n");
    assert_eq!(workspace.read("e.txt"), "");
}

#[test]
fn always_holds_for_this_line_and_no_other() {
    let other = COMMAND.replace("echo ran >> ran", "echo other >> ran");
    let workspace = workspace(&(COMMAND.repeat(2) + &other + LAST_OUTPUT));
    let mut terminal = Terminal::run(&workspace, 80, &["run", "run it"]);
    terminal.asks("? Run echo ran >> ran");
    terminal.answers("always", "from now on");
    // The same command does not ask again; another one does.
    terminal.asks("? Run echo other >> ran");
    terminal.answers("n", "rejected");
    let (ran, screen) = terminal.ends();
    ran.expect(0);
    assert_eq!(workspace.read("ran"), "ran\nran\n", "{screen}");
    assert_eq!(screen.matches("? Run echo ran >> ran").count(), 1, "{screen}");
}

#[test]
fn s15_a_question_takes_a_number_or_a_text() {
    let question = "[[turn]]\n[[turn.call]]\ntool = \"ask_user\"\narguments = { question = \"Tabs or spaces?\", options = [\"Tabs\", \"Spaces\"] }\n";
    for (typed, part) in [("2", "Spaces"), ("neither of them", "neither of them")] {
        let workspace = workspace(&(question.to_owned() + LAST_OUTPUT));
        let mut terminal = Terminal::run(&workspace, 80, &["run", "ask me"]);
        terminal.asks("? Tabs or spaces?");
        assert!(terminal.screen().contains("1. Tabs"), "{}", terminal.screen());
        terminal.answers(typed, "I was told: ");
        let (ran, screen) = terminal.ends();
        ran.expect(0);
        let line = screen.lines().find(|line| line.starts_with("I was told: ")).unwrap_or_default();
        assert!(line.contains(part), "{screen}");
    }
}

#[test]
fn a_person_who_leaves_is_nobody_and_nothing_is_allowed() {
    let workspace = workspace(&(EDIT.to_owned() + LAST_OUTPUT));
    let mut terminal = Terminal::run(&workspace, 80, &["run", "change it"]);
    terminal.asks("? Edit a.txt");
    // Ctrl-D at the beginning of a line is the end of the input.
    terminal.screen.types(b"\x04");
    let (ran, screen) = terminal.ends();
    ran.expect(3);
    assert_eq!(workspace.read("a.txt"), "one\n");
    assert!(screen.contains("nobody is present"), "{screen}");
}

#[test]
fn s120_quiet_asks_too_and_says_nothing_else() {
    let workspace = workspace(&(EDIT.to_owned() + LAST_OUTPUT));
    let mut terminal = Terminal::run(&workspace, 80, &["run", "--quiet", "change it"]);
    terminal.asks("? Edit a.txt");
    terminal.answers("y", "I was told: ");
    let (ran, screen) = terminal.ends();
    ran.expect(0);
    assert_eq!(workspace.read("a.txt"), "two\n");
    for noise in ["tokens in", "play/script", "• Edit", "Done", "I change it."] {
        assert!(!screen.contains(noise), "{noise:?} in\n{screen}");
    }
}

#[test]
fn forty_columns_of_a_terminal_hold_every_line_that_can_be_wrapped() {
    let long = "several words of a sentence that goes on ".repeat(4);
    let script = format!(
        "[[turn]]\ntext = \"{long}\"\n{}{LAST_OUTPUT}",
        EDIT.trim_start().trim_start_matches("[[turn]]\ntext = \"I change it.\"\n")
    );
    let workspace = workspace(&script);
    let mut terminal = Terminal::run(&workspace, 40, &["run", "change it"]);
    terminal.asks("? Edit a.txt");
    terminal.answers("y", "+1 −1");
    let (ran, screen) = terminal.ends();
    ran.expect(0);
    let wide: Vec<&str> = screen.lines().filter(|line| line.chars().count() > 40).collect();
    assert!(wide.is_empty(), "{wide:?} in\n{screen}");
}

#[test]
fn forty_columns_of_a_terminal_hold_what_the_command_says_of_itself() {
    let workspace = workspace(LAST_OUTPUT);
    workspace.config("model = \"broken\n");
    let (ran, screen) = Terminal::run(&workspace, 40, &["run", "change it"]).ends();
    ran.expect(2);
    let wide: Vec<&str> = screen.lines().filter(|line| line.chars().count() > 40).collect();
    assert!(wide.is_empty() && screen.contains("valid TOML"), "{wide:?} in\n{screen}");
}

#[test]
fn l06_reads_that_end_beside_a_question_leave_it_last_on_the_screen() {
    let outside = tempfile::tempdir().expect("a directory");
    let far = outside.path().join("far.txt");
    std::fs::write(&far, "far\n").expect("a file");
    let call = |tool: &str, arguments: &str| {
        format!("[[turn.call]]\ntool = \"{tool}\"\narguments = {{ {arguments} }}\n")
    };
    let turn = [
        "[[turn]]\n".to_owned(),
        call("read_file", "path = \"a.txt\""),
        call("read_file", &format!("path = {far:?}")),
        call("search_text", "pattern = \"one\""),
        call("find_files", "pattern = \"*\""),
    ];
    let workspace = workspace(&(turn.concat() + LAST_OUTPUT));
    (0..2_000).for_each(|number| workspace.write(&format!("many/{number}.txt"), "two\n"));
    let mut terminal = Terminal::run(&workspace, 200, &["run", "read all"]);
    wait_until("the other calls to end, and the question to be last", || {
        let screen = terminal.screen();
        ["• Read a.txt", "Search one …", "Find * …"].iter().all(|line| screen.contains(line))
            && screen.ends_with("\n> ")
    });
    terminal.answers("y", "far.txt … 1 line");
    let (ran, screen) = terminal.ends();
    ran.expect(0);
    assert!(screen.contains("I was told"), "{screen}");
}

#[test]
fn n02_a_run_at_one_terminal_is_answered_from_another() {
    let workspace = workspace(&(EDIT.to_owned() + LAST_OUTPUT));
    let terminal = Terminal::run(&workspace, 80, &["run", "change it"]);
    terminal.asks("? Edit a.txt");
    let other = |args: &[&str]| Line::new(BINARY, &workspace, args).run();
    let asked = other(&["asks", "--json"]);
    let ask: serde_json::Value = serde_json::from_str(asked.expect(0).stdout.trim_end()).expect("one ask");
    let id = ask["askId"].as_str().expect("its id");
    assert_eq!(other(&["answer", id, "reject", "--reason", "keep it"]).expect(0).stdout, "accepted\n");
    let (ran, screen) = terminal.ends();
    ran.expect(0);
    assert!(screen.contains("(answered elsewhere)") && screen.contains("rejected: keep it"), "{screen}");
    assert_eq!(workspace.read("a.txt"), "one\n");
}
