//! `adjutant setup` at a terminal, and `adjutant doctor`, which checks the result.
//!
//! The service is on loopback; no other service is contacted.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use adjutant_testkit::command::Line;
use adjutant_testkit::fixture::{KEY_VARIABLE, Workspace};
use adjutant_testkit::model::{ModelServer, Reply};
use adjutant_testkit::process::wait_until;
use rustix::process::Signal;

use super::{BINARY, Terminal};
use crate::kill::ends::send;

const KEY: &str = "a-key-that-nobody-may-see";

impl Terminal {
    /// Waits until the question appears for the `times`-th time, with a prompt after it.
    fn asked(&self, question: &str, times: usize) {
        let asked = |screen: &str| {
            let at = screen.match_indices(question).nth(times - 1).map(|(at, _)| at);
            at.is_some_and(|at| screen[at..].contains("\n> "))
        };
        wait_until(&format!("the question {question:?}"), || asked(&self.screen()));
    }

    /// Answers the questions up to the name of the model.
    fn chooses(&mut self, model: &ModelServer) {
        self.asked("Number", 1);
        self.types("9");
        self.asked("Number", 2);
        self.types("5");
        self.asked("Address of its API", 1);
        self.types(&model.base_url());
        self.asked("Key (not shown", 1);
        self.types(KEY);
        self.asked("Model, as the service calls it", 1);
        self.types("m1");
    }
}

fn left(workspace: &Workspace) -> Vec<String> {
    let dir = workspace.config_file();
    let dir = dir.parent().expect("the settings are in a folder");
    let names = fs::read_dir(dir).expect("the folder can be read").flatten();
    names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn an_address_that_no_call_can_use_is_said_and_asked_again() {
    let model = ModelServer::start([Reply::text("ok")]);
    let workspace = Workspace::new("//- /a.txt\none\n");
    let mut terminal = Terminal::run(&workspace, 80, &["setup"]);
    terminal.asked("Number", 1);
    terminal.types("5");
    for (number, address) in ["file:///etc/passwd", &model.base_url()].into_iter().enumerate() {
        terminal.asked("Address of its API", number + 1);
        terminal.types(address);
        terminal.asked("Key (not shown", number + 1);
        terminal.types(KEY);
        terminal.asked("Model, as the service calls it", number + 1);
        terminal.types("m1");
    }
    let (ran, screen) = terminal.ends();
    ran.expect(0);
    assert!(screen.contains("the address cannot be used") && screen.contains("it answered in"), "{screen}");
    assert!(!screen.contains(KEY), "{screen}");
}

#[test]
fn a_provider_is_chosen_tried_and_written_and_the_key_is_never_shown() {
    let model = ModelServer::start([Reply::text("ok")]);
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.config("# Mine.\n[limits]\nmistakes = 2 # patience\n");
    let mut terminal = Terminal::run(&workspace, 80, &["setup"]);
    terminal.chooses(&model);
    let (ran, screen) = terminal.ends();
    ran.expect(0);
    assert!(screen.contains("type a number from 1 to 5"), "{screen}");
    assert!(screen.contains("it answered in"), "{screen}");
    assert!(!screen.contains(KEY), "{screen}");
    let sent = &model.requests()[0];
    assert_eq!(sent.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!(sent.json()["model"], "m1");
    let written = fs::read_to_string(workspace.config_file()).expect("the settings are there");
    assert!(
        written.starts_with("model = \"service/m1\"\n") || written.contains("\nmodel = \"service/m1\"\n"),
        "{written}"
    );
    assert!(written.contains("mistakes = 2 # patience") && written.contains("# Mine."), "{written}");
    let name = left(&workspace).into_iter().find(|name| name.ends_with(".key")).expect("a file of the key");
    assert!(written.contains(&format!("api_key_file = \"{name}\"")) && !written.contains(KEY), "{written}");
    let key = workspace.config_file().with_file_name(&name);
    assert_eq!(fs::read_to_string(&key).expect("the key is there"), KEY);
    let mode = fs::metadata(&key).expect("the key is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(!left(&workspace).iter().any(|name| name.starts_with(".setup")), "{:?}", left(&workspace));
}

#[test]
fn a_service_that_refuses_is_said_and_nothing_is_written() {
    let refusal = Reply::status(401).body(format!("{{\"error\":\"bad key {KEY}\"}}"));
    let model = ModelServer::start([refusal]);
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.config("# Mine.\n");
    let mut terminal = Terminal::run(&workspace, 200, &["setup"]);
    terminal.chooses(&model);
    terminal.asked("anyway?", 1);
    terminal.types("");
    let (ran, screen) = terminal.ends();
    ran.expect(1);
    assert!(screen.contains("was refused by provider \"service\""), "{screen}");
    assert!(!screen.contains(KEY), "{screen}");
    assert_eq!(fs::read_to_string(workspace.config_file()).expect("it is there"), "# Mine.\n");
    assert!(!left(&workspace).iter().any(|name| name.contains("key")), "{:?}", left(&workspace));
}

/// Whether a process is stopped, but not ended.
fn is_stopped(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'))
}

#[test]
fn finding_a_key_is_not_shown_after_a_suspension_and_the_terminal_is_given_back() {
    let model = ModelServer::start([Reply::text("ok")]);
    let workspace = Workspace::new("//- /a.txt\none\n");
    let mut terminal = Terminal::run(&workspace, 80, &["setup"]);
    let pid = terminal.running.pid();
    terminal.asked("Number", 1);
    terminal.types("1");
    terminal.asked("Key (not shown", 1);
    assert!(!terminal.screen.echoes());
    for times in 1..=2 {
        send(pid, Signal::TSTP);
        wait_until("the suspension", || is_stopped(pid));
        assert!(terminal.screen.echoes(), "the shell does not echo typed text");
        send(pid, Signal::CONT);
        terminal.asked("Key (not shown", times + 1);
        assert!(!terminal.screen.echoes(), "the key is shown");
    }
    terminal.types(KEY);
    terminal.asked("Model, as the service calls it", 1);
    send(pid, Signal::TSTP);
    wait_until("the suspension", || is_stopped(pid));
    send(pid, Signal::CONT);
    terminal.asked("Model, as the service calls it", 2);
    assert!(terminal.screen.echoes() && !terminal.screen().contains(KEY), "{}", terminal.screen());
    send(pid, Signal::TERM);
    let (ran, _) = terminal.ends();
    ran.expect(143);
    assert_eq!(model.requests().len(), 0);

    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 143), (Signal::QUIT, 143), (Signal::INT, 130)] {
        let mut terminal = Terminal::run(&workspace, 80, &["setup"]);
        terminal.asked("Number", 1);
        terminal.types("1");
        terminal.asked("Key (not shown", 1);
        send(terminal.running.pid(), signal);
        let Terminal { screen, running } = terminal;
        running.wait().expect(code);
        screen.ended();
        assert!(screen.echoes(), "{signal:?} leaves a terminal without echo");
        let text = screen.text();
        assert!(text.ends_with("nothing was written\n"), "{text}");
    }
}

#[test]
fn finding_settings_that_are_no_toml_are_named_before_anything_is_asked() {
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.config("# Mine.\nmodel = \"play/any\n");
    let terminal = Terminal::run(&workspace, 200, &["setup"]);
    let said = || terminal.screen().split_whitespace().collect::<Vec<_>>().join(" ");
    wait_until("what to correct", || said().contains("then run setup again"));
    assert!(said().contains("config.toml\": line 2 is not valid TOML: "), "{}", said());
    let (ran, screen) = terminal.ends();
    ran.expect(1);
    assert!(!screen.contains("Which service"), "{screen}");
}

#[test]
fn without_a_terminal_setup_says_where_to_write_instead() {
    let workspace = Workspace::new("//- /a.txt\none\n");
    let ran = Line::new(BINARY, &workspace, &["setup"]).start().wait();
    let said = ran.stderr.clone();
    ran.expect(2);
    assert!(said.contains("docs/configuration.md"), "{said}");
}

#[test]
fn the_doctor_says_what_works_in_a_line_each() {
    let model = ModelServer::start([Reply::text("ok"), Reply::status(401)]);
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.config(&format!(
        "model = \"one/gpt-5\"\nfallback_models = [\"two/m\", \"gone/m\"]\n[providers.one]\nbase_url = \"{0}\"\n\
         [providers.two]\nbase_url = \"{0}\"\napi_key_env = \"{KEY_VARIABLE}\"\n",
        model.base_url()
    ));
    let ran = Line::new(BINARY, &workspace, &["doctor"]).start().wait();
    let said = ran.stdout.clone();
    ran.expect(1);
    let has =
        |line: &str| assert!(said.lines().any(|one| one.starts_with(line)), "{line:?} is not in\n{said}");
    has("✓ settings  ");
    has("✓ model     one/gpt-5 (user file ");
    has("✓ window    reads 400000 tokens, writes 128000 (as known ");
    has("✓ provider  answers, in ");
    has("✓ fallback  two/m (user file ");
    has("• window    reads 128000 tokens, writes 8192: a guess");
    has("✗ provider  the key in ");
    has("✗ fallback  gone/m (user file ");
    let offline = Line::new(BINARY, &workspace, &["doctor", "--offline"]).start().wait();
    assert!(offline.stdout.contains("not called"), "{}", offline.stdout);
    assert_eq!(model.requests().len(), 2);
    let bare = Workspace::new("//- /a.txt\none\n");
    let ran = Line::new(BINARY, &bare, &["doctor"]).start().wait();
    let said = ran.stdout.clone();
    ran.expect(2);
    assert!(said.contains("✗ model     no model is configured"), "{said}");
}
