//! What a shell sees: exit codes, the chosen folder, session and model, and the stream of each line.
//!
//! Every case is a command line that a user can type.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use adjutant_protocol::update::{RunView, SessionUpdateParams, Update};
use adjutant_testkit::command::{Line, Ran};
use adjutant_testkit::editor::Options;
use adjutant_testkit::fixture::{KEY_VARIABLE, Workspace};
use adjutant_testkit::model::{ModelServer, Reply};
use adjutant_testkit::process::{Server, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::lines::{BINARY, HELLO, run, workspace};
use crate::kill::ends::send;
use crate::kill::story::only_session;
use crate::rig::facts_named;
use crate::stage::without_host;

#[test]
fn a_line_that_makes_no_sense_is_two_and_says_what_would() {
    let workspace = workspace(HELLO);
    for (args, part) in [
        (&["run", "--no-such-flag", "x"][..], "--no-such-flag"),
        (&["run", "--continue", "--session", "s-1", "x"], "cannot be used with"),
        (&["run", "--mode", "swim", "x"], "code, ask"),
        (&["sessions", "show"], "<ID>"),
        (&["sessions", "show", "s-none"], "sessions list"),
        (&["run", "--session", "s-none", "x"], "sessions list"),
        (&["run", "  "], "the prompt is empty"),
        (&["swim"], "swim"),
        (&[], "Usage"),
    ] {
        let ran = run(&workspace, args);
        assert!(ran.expect(2).stderr.contains(part), "wanted {part:?} of {ran}");
        assert!(!ran.stderr.contains("panicked") && ran.stdout.is_empty(), "{ran}");
    }
    assert_eq!(fs::read_dir(workspace.state_dir()).map_or(0, Iterator::count), 0, "no session was created");
}

#[test]
fn s105_a_run_that_fails_is_one_and_says_why() {
    let gives_up =
        "[[turn]]\n[[turn.call]]\ntool = \"fail\"\narguments = { reason = \"the moon is missing\" }\n";
    let refused = "[[turn]]\n[[turn.fail]]\nclass = \"auth\"\nmessage = \"the key is refused\"\n";
    let mistaken =
        "[[turn]]\n[[turn.call]]\ntool = \"read_file\"\narguments = { path = \"missing\" }\n".repeat(3);
    for (script, part) in
        [(gives_up, "the moon is missing"), (refused, "the key is refused"), (mistaken.as_str(), "in a row")]
    {
        let workspace = workspace(script);
        for quiet in [false, true] {
            let args = if quiet { &["run", "-y", "--quiet", "go"][..] } else { &["run", "-y", "go"] };
            let ran = run(&workspace, args);
            ran.expect(1);
            assert!(ran.stderr.contains(part), "wanted {part:?} in {ran}");
        }
    }
}

#[test]
fn the_folder_the_model_and_the_session_are_those_that_were_named() {
    let workspace = workspace(
        "[[turn]]\n[[turn.call]]\ntool = \"read_file\"\narguments = { path = \"here\" }\n[[turn]]\ntext = \"{{last_output}}\"\n",
    );
    workspace.write("inner/here", "the inner one\n");
    let other = workspace.write_beside("other.toml", "[[turn]]\ntext = \"The other model speaks.\"\n");
    workspace.add_config(&format!(
        "[providers.other]\nwire = \"scripted\"\nscript = {:?}\n",
        other.display().to_string()
    ));
    let inner = run(&workspace, &["run", "--cwd", "inner", "look"]);
    assert!(inner.expect(0).stdout.contains("the inner one"), "{inner}");
    let ran = run(&workspace, &["run", "--model", "other/any", "speak"]);
    assert!(ran.expect(0).stdout.contains("The other model speaks."), "{ran}");
    assert!(ran.stderr.contains("other/any"), "{ran}");

    // The second session is the newest of this folder, and the inner folder has its own.
    let list = run(&workspace, &["sessions", "list"]);
    let row = |title: &str| list.stdout.lines().find(|line| line.ends_with(title)).unwrap_or_default();
    let (look, speak) = (row("look"), row("speak"));
    let id = |row: &str| row.split_whitespace().next().unwrap_or_default().to_owned();
    assert!(!look.is_empty() && !speak.is_empty() && id(look) != id(speak), "{list}");
    run(&workspace, &["run", "--continue", "--cwd", "inner", "inner again"]).expect(0);
    run(&workspace, &["run", "--session", &id(speak), "--model", "other/any", "other again"]).expect(0);
    let shown = |id: &str| run(&workspace, &["sessions", "show", id]).expect(0).stdout.clone();
    assert!(shown(&id(look)).contains("> inner again"), "{}", shown(&id(look)));
    assert!(shown(&id(speak)).contains("> other again"), "{}", shown(&id(speak)));
    // A run that ended cannot be resumed.
    let ran = run(&workspace, &["run", "--continue"]);
    assert!(ran.expect(2).stderr.contains("give a prompt"), "{ran}");
}

#[test]
fn s18_every_line_of_json_is_an_update_also_when_quiet_and_asks_go_nowhere_else() {
    let script = "[[turn]]\ntext = \"I edit.\\nTwo lines.\"\n[[turn.call]]\ntool = \"edit_file\"\narguments = { path = \"a.txt\", old_text = \"one\", new_text = \"t\\u200bwo\" }\n[[turn]]\ntext = \"Done.\"\n";
    for (args, code) in [
        (&["run", "--output", "json", "go"][..], 3),
        (&["run", "-y", "--output", "json", "go"], 0),
        (&["run", "-y", "--output", "json", "--quiet", "go"], 0),
    ] {
        let ran = run(&workspace(script), args);
        let read = |line: &str| serde_json::from_str::<SessionUpdateParams>(line);
        let updates: Vec<_> = ran.expect(code).stdout.lines().map(|line| (line, read(line))).collect();
        assert!(updates.iter().all(|(_, read)| read.is_ok()), "{ran}");
        assert!(!updates.is_empty() && ran.stdout.ends_with('\n'), "{ran}");
        let quiet = args.contains(&"--quiet");
        let ended = |update: &Update| matches!(update, Update::Run(RunView::Ended { .. }));
        let ends = updates.iter().filter(|(_, read)| read.as_ref().is_ok_and(|read| ended(&read.update)));
        assert_eq!(ends.count(), usize::from(!quiet), "{ran}");
        assert!(!ran.stdout.contains('\u{200b}'), "invisible characters are escaped: {ran}");
        assert_eq!(ran.stderr.contains("nobody was present"), code == 3, "{ran}");
    }
}

#[test]
fn s74_a_reply_that_broke_off_is_not_printed_twice() {
    let script = "[[turn]]\ntext = \"one two three four five six\"\n[[turn.fail]]\nattempt = 1\nclass = \"broken\"\nafter_words = 3\nmessage = \"the connection was cut\"\n";
    let workspace = workspace(script);
    workspace.add_config("[retry]\nbase_ms = 10\ncap_ms = 10\n");
    let ran = run(&workspace, &["run", "count"]);
    for word in ["one", "two", "three", "four", "five", "six"] {
        assert_eq!(ran.expect(0).stdout.matches(word).count(), 1, "{word} in {ran}");
    }
    assert!(ran.stderr.contains("the connection was cut, trying again"), "{ran}");
    let quiet = run(&workspace, &["run", "--quiet", "count again"]);
    assert!(!quiet.expect(0).stderr.contains("trying again"), "{quiet}");
}

#[test]
fn the_settings_are_printed_with_where_each_came_from_and_without_the_key() {
    let workspace = workspace(HELLO);
    workspace.openai("https://user:secret@models.example/v1");
    workspace.write(".adjutant/config.toml", "[limits]\nmistakes = 2\n");
    let ran = Line::new(BINARY, &workspace, &["config"]).env("ADJUTANT_MODEL", "local/other").run();
    let line = |key: &str| {
        let found = ran.stdout.lines().find(|line| line.split_whitespace().next() == Some(key));
        found.unwrap_or_else(|| panic!("{key} is missing in {ran}")).to_owned()
    };
    ran.expect(0);
    assert!(line("model").contains("\"local/other\"") && line("model").contains("ADJUTANT_MODEL"), "{ran}");
    assert!(
        line("limits.mistakes").contains("2 ") && line("limits.mistakes").contains(".adjutant/config.toml"),
        "{ran}"
    );
    assert!(line("retry.attempts").contains("default"), "{ran}");
    assert!(line("providers.local.api_key_env").contains(KEY_VARIABLE), "{ran}");
    assert!(line("providers.local.api_key_env").contains("config.toml:"), "{ran}");
    for secret in ["test-key-of-no-value", "secret"] {
        assert!(!ran.stdout.contains(secret), "{secret} in {ran}");
    }
}

/// Starts a command without reading its output, reads one byte, and closes the pipe.
fn leave_early(workspace: &Workspace, args: &[&str]) -> Ran {
    let (running, mut stdout) = Line::new(BINARY, workspace, args).start_unread();
    let mut first = [0; 1];
    stdout.read_exact(&mut first).unwrap_or_else(|error| panic!("`{}`: {error}", args.join(" ")));
    drop(stdout);
    running.wait()
}

#[test]
fn a_reader_that_leaves_early_is_no_crash_whatever_is_printed() {
    let words = "word ".repeat(4_000);
    let workspace = workspace(&format!("[[turn]]\ntext = \"{words}\"\n"));
    run(&workspace, &["run", "talk"]).expect(0);
    for args in [
        &["sessions", "list"][..],
        &["sessions", "show", "s-"],
        &["sessions", "export", "s-"],
        &["config"],
        &["run", "talk on"],
        &["run", "--output", "json", "talk on"],
        &["--help"],
    ] {
        let ran = leave_early(&workspace, args);
        assert!(!ran.stderr.contains("panicked"), "{ran}");
        match args[0] {
            // The run may end before the reader leaves.
            "run" if ran.code() == Some(0) => {}
            "run" => assert!(ran.expect(141).stderr.contains("nobody reads the output"), "{ran}"),
            // These commands succeed, whether or not the output was complete before the reader left.
            _ => assert_eq!((ran.code(), ran.stderr.as_str()), (Some(0), ""), "{ran}"),
        }
        // Deletes newer sessions, so that the prefix `s-` names one session.
        for id in crate::kill::sessions(&workspace).iter().skip(1) {
            run(&workspace, &["sessions", "delete", id]).expect(0);
        }
    }
}

#[test]
fn forty_columns_are_enough_and_without_a_terminal_nothing_is_coloured() {
    let words = "several words of a sentence that goes on ".repeat(6);
    let script = format!(
        "[[turn]]\ntext = \"{words}\"\n[[turn.call]]\ntool = \"search_text\"\narguments = {{ pattern = \"{}\" }}\n[[turn]]\ntext = \"Done.\"\n",
        "x".repeat(90)
    );
    let workspace = workspace(&script);
    let narrow =
        Line::new(BINARY, &workspace, &["run", &words]).env("COLUMNS", "40").env("TERM", "xterm").run();
    let wide = |line: &&str| line.chars().count() > 40;
    assert_eq!(narrow.expect(0).stdout.lines().filter(wide).count(), 0, "{narrow}");
    let list = Line::new(BINARY, &workspace, &["sessions", "list"]).env("COLUMNS", "40").run();
    assert_eq!(list.expect(0).stdout.lines().filter(wide).count(), 0, "{list}");
    // A file or a program gets unwrapped lines.
    let plain = Line::new(BINARY, &workspace, &["run", &words]).env("TERM", "xterm-256color").run();
    assert!(plain.expect(0).stdout.contains(words.trim_end()), "{plain}");
    assert!(!(narrow.stdout + &plain.stdout).contains('\u{1b}'), "colours without a terminal");
}

fn signal(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    kill_process(pid.unwrap_or_else(|| panic!("no process")), signal)
        .unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn s90_two_interrupts_end_a_run_whose_model_is_silent() {
    let workspace = workspace(HELLO);
    let model = ModelServer::start([Reply::never()]);
    workspace.openai(&model.base_url());
    let running = Line::new(BINARY, &workspace, &["run", "talk"]).start();
    model.wait_for_requests(1);
    signal(running.pid(), Signal::INT);
    signal(running.pid(), Signal::INT);
    let ran = running.wait();
    // Two signals at once may arrive as one, which only cancels.
    assert!(matches!(ran.code(), Some(130 | 1)), "{ran}");
    assert!(!ran.stderr.contains("panicked"), "{ran}");
    eprintln!("gone {:?} after it was started", ran.took);
}

#[test]
fn s62_a_question_about_a_command_says_on_which_machine_it_runs() {
    let replies = || [Reply::call("run_command", json!({"command": "echo hello"})), Reply::text("Done.")];
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    for (variable, how) in [("SSH_CONNECTION", "over SSH"), ("WSL_DISTRO_NAME", "in WSL")] {
        let model = ModelServer::start(replies());
        let workspace = workspace(HELLO);
        workspace.openai(&model.base_url());
        Line::new(BINARY, &workspace, &["run", "look"]).env(variable, "set").run().expect(3);
        let opened = facts_named(&workspace, &only_session(&workspace).as_str().into(), "ask_opened");
        let said = opened[0]["ask"]["description"].as_str().unwrap_or_default();
        assert_eq!(said, format!("every command asks. It runs on {host}, {how}"), "{opened:?}");
        let system = model.requests()[0].json()["messages"][0]["content"].to_string();
        assert!(system.contains(&format!("This is not the user's own machine: {host}, {how}.")), "{system}");
    }
}

#[test]
fn s17_the_debug_log_has_messages_states_and_decisions_and_never_the_key() {
    let model = ModelServer::start([
        Reply::call("read_file", json!({"path": "a.txt"})),
        Reply::call("run_command", json!({"command": "echo hello"})),
        Reply::text("Done."),
    ]);
    let workspace = workspace(HELLO);
    workspace.openai(&model.base_url());
    let ran = Line::new(BINARY, &workspace, &["run", "-d", "-y", "look"]).run();
    ran.expect(3);
    assert!(ran.stderr.contains("debug log: "), "{ran}");
    let folder = workspace.state_dir().join("log");
    let logs: Vec<_> =
        fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    let [log] = &logs[..] else { panic!("not one log: {logs:?}") };
    assert_eq!(fs::metadata(log).map(|found| found.permissions().mode() & 0o777).ok(), Some(0o600));
    assert_eq!(fs::metadata(&folder).map(|found| found.permissions().mode() & 0o777).ok(), Some(0o700));
    let text = fs::read_to_string(log).unwrap_or_else(|error| panic!("{error}"));
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|why| panic!("{line}: {why}")))
        .collect();
    let events: Vec<&str> = lines.iter().filter_map(|line| line["fields"]["event"].as_str()).collect();
    for event in [
        "run_started",
        "turn_started",
        "tool_started",
        "tool_finished",
        "ask_opened",
        "ask_closed",
        "run_ended",
    ] {
        assert!(events.contains(&event), "{event} is not in the debug log: {events:?}");
    }
    let verdicts: Vec<&str> = lines.iter().filter_map(|line| line["fields"]["why"].as_str()).collect();
    assert_eq!(
        verdicts.iter().map(|why| without_host(why)).collect::<Vec<_>>()[..2],
        ["allowed: it reads inside the workspace, or touches nothing", "ask: every command asks"]
    );
    let states: Vec<&str> = lines.iter().filter_map(|line| line["fields"]["state"].as_str()).collect();
    for state in ["Running", "RequiresAction", "Idle"] {
        assert!(states.iter().any(|seen| seen.contains(state)), "{state} is not in the debug log");
    }
    let messages: Vec<(&str, &str)> = lines
        .iter()
        .filter_map(|line| Some((line["fields"]["way"].as_str()?, line["fields"]["method"].as_str()?)))
        .collect();
    for message in [
        ("in", "agent/session/prompt"),
        ("out", "agent/session/update"),
        ("out", "agent/session/request_permission"),
    ] {
        let times = messages.iter().filter(|seen| **seen == message).count();
        assert!(times > 0, "{message:?} is not in the debug log: {messages:?}");
        assert!(times == 1 || message.1 == "agent/session/update", "{message:?} occurs {times} times");
    }
    // Only the request to the model has the key.
    let request = &model.requests()[0];
    assert_eq!(request.header("authorization"), Some("Bearer test-key-of-no-value"));
    assert!(!text.contains("test-key-of-no-value"), "the key is in the debug log");
    assert!(!ran.stdout.contains("test-key-of-no-value") && !ran.stderr.contains("test-key-of-no-value"));
}

#[test]
fn the_demo_is_over_soon_and_works_without_a_home() {
    let workspace = Workspace::new("");
    let ran = Line::new(BINARY, &workspace, &["demo"])
        .without("HOME")
        .without("ADJUTANT_STATE_DIR")
        .without("XDG_STATE_HOME")
        .without("XDG_CONFIG_HOME")
        .env("ADJUTANT_MODEL", "no/such")
        .run();
    assert!(ran.expect(0).stdout.contains("The model is scripted"), "{ran}");
    assert!(ran.stdout.contains("The test failed before and passes now."), "{ran}");
    let folder = ran.stdout.lines().find_map(|line| line.strip_prefix("Folder: ")?.split(' ').next());
    let folder = folder.unwrap_or_else(|| panic!("no folder in {ran}"));
    assert!(!std::path::Path::new(folder).exists(), "{folder} is left");
    eprintln!("the demo took {:?}", ran.took);
    assert!(ran.took.as_secs() < 15, "the demo took {:?}", ran.took);
}

#[test]
fn s110_a_run_of_the_command_line_is_waited_for_in_an_editor_and_the_other_way_round() {
    let workspace = workspace(&format!("{HELLO}[[turn]]\ntext = \"Hello again.\"\n"));
    let ran = run(&workspace, &["run", "--output", "json", "greet"]);
    let first: SessionUpdateParams =
        serde_json::from_str(ran.expect(0).stdout.lines().next().unwrap_or_default())
            .unwrap_or_else(|why| panic!("{why}: {ran}"));
    let run_id = first.run_id.unwrap_or_else(|| panic!("no run in {ran}"));

    let mut server = Server::spawn(BINARY, &workspace, &["lsp"]);
    let editor = server.editor(Options::new(&workspace));
    editor.resume(&first.session_id, None);
    let waited: Value = editor.call(
        "agent/session/wait",
        json!({"sessionId": first.session_id, "runId": run_id, "timeoutMs": 10_000}),
    );
    assert_eq!((&waited["status"], &waited["ended"]["outcome"]), (&json!("ok"), &json!("stopped")));
    // While the editor has the session, the command line reports that it is in use.
    let locked = run(&workspace, &["run", "--continue", "and again"]);
    assert!(locked.expect(1).stderr.contains("is in use by process"), "{locked}");
    let end = editor.run_to_end(&first.session_id, "again");
    assert_eq!(end.summary.as_deref(), Some("Hello again."));
    editor.shutdown();
    wait_until("the end of the server", || !server.is_alive());
    let export = run(&workspace, &["sessions", "export", &first.session_id.0]);
    assert_eq!(export.expect(0).stdout.matches("\"phase\":\"ended\",\"runId\"").count(), 2, "{export}");
}

#[test]
fn l4_a_run_whose_log_is_taken_away_ends_and_says_how_to_go_on() {
    let model = ModelServer::start([Reply::text("some words").hold_after(1)]);
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.openai(&model.base_url());
    let running = Line::new(BINARY, &workspace, &["run", "go on"]).start();
    model.wait_for_holding(1);
    // The prompt is durable once its run is shown.
    wait_until("the run to be shown", || running.stderr().contains('•'));
    let sessions = workspace.state_dir().join("sessions");
    let folders = fs::read_dir(sessions).unwrap_or_else(|error| panic!("{error}"));
    for folder in folders.flatten() {
        let log = folder.path().join("events.jsonl");
        fs::rename(&log, log.with_extension("taken")).unwrap_or_else(|error| panic!("{error}"));
    }
    model.release();
    let ran = running.wait();
    assert!(ran.expect(1).stderr.contains("adjutant run --continue"), "{ran}");
}

#[test]
fn what_cannot_be_written_is_no_success() {
    let workspace = workspace(HELLO);
    run(&workspace, &["run", "hello"]).expect(0);
    let id = only_session(&workspace);
    let initialize = workspace.write_beside("initialize.json", "{\"capabilities\": {}}");
    for words in [
        "sessions list",
        "asks",
        &format!("sessions show {id}"),
        &format!("sessions export {id}"),
        "config",
        "doctor --offline",
        "completions bash",
        &format!("capabilities --initialize {}", initialize.display()),
    ] {
        let script = format!("exec \"$0\" {words} > /dev/full");
        let ran = Line::new("sh", &workspace, &["-c", &script, BINARY]).run();
        let message = "the output could not be written and is cut short: No space left on device";
        let is_said = ran.expect(1).stderr.contains(message) && !ran.stderr.contains("could not the");
        assert!(is_said, "{words}: {ran}");
        // A reader that closes the pipe early is no failure.
        let script = format!("\"$0\" {words} | true");
        Line::new("sh", &workspace, &["-c", &script, BINARY]).run().expect(0);
    }
}

#[test]
fn a_demo_that_cannot_be_seen_is_no_success() {
    let ran = Line::new("sh", &workspace(HELLO), &["-c", "exec \"$0\" demo > /dev/full", BINARY]).run();
    assert!(ran.expect(1).stderr.contains("is cut short: No space left on device"), "{ran}");
}

#[test]
fn finding_a_run_whose_output_cannot_be_written_says_that_and_not_that_nobody_reads() {
    let workspace = workspace(HELLO);
    let ran = Line::new("sh", &workspace, &["-c", "exec \"$0\" run hello > /dev/full", BINARY]).run();
    let message = "error: the output could not be written and is cut short: No space left on device";
    assert!(ran.expect(1).stderr.contains(message) && !ran.stderr.contains("nobody reads"), "{ran}");
}

#[test]
fn finding_a_file_that_may_grow_no_further_is_an_error_and_no_silent_end() {
    let workspace = workspace(&HELLO.replace("Hello there.", &"Hello there. ".repeat(4_000)));
    let script = "ulimit -f 8 && exec \"$0\" run hello";
    let ran = Line::new("sh", &workspace, &["-c", script, BINARY]).run();
    assert_eq!(ran.expect(1).stderr.matches("File too large").count(), 1, "{ran}");
    Line::new(BINARY, &workspace, &["run", "hello"]).run().expect(0);
}

/// Longer than the command runs, and longer than its time limit.
const STOPPED: Duration = Duration::from_millis(1_300);

#[test]
fn finding_a_command_that_ended_while_adjutant_was_stopped_has_not_timed_out() {
    let command = "touch began; sleep 0.4; echo over > over";
    let workspace = workspace(&format!(
        "[[turn]]\n[[turn.call]]\ntool = \"run_command\"\n\
         arguments = {{ command = \"{command}\", timeout_seconds = 1 }}\n[[turn]]\ntext = \"I was told: {{{{last_output}}}}\"\n"
    ));
    let running = Line::new(BINARY, &workspace, &["run", "-y", "--allow-commands", "go"]).start();
    wait_until("the command to begin", || workspace.exists("began"));
    send(running.pid(), Signal::STOP);
    let since = Instant::now();
    wait_until("the end of the command and of its time", || {
        workspace.exists("over") && since.elapsed() > STOPPED
    });
    send(running.pid(), Signal::CONT);
    let ran = running.wait();
    assert!(ran.expect(0).stdout.contains("exit code 0") && !ran.stdout.contains("timed out"), "{ran}");
}
