//! Lines about settings: a real start with them, the reported problems, and the effective settings.
//!
//! The editor's options name the test's model, so that a settings file is exactly the line.

use std::path::PathBuf;
use std::time::Instant;

use adjutant::settings::{LoadedSettings, Sources, load};
use adjutant_core::config::{Flaw, Problem, Settings};
use adjutant_testkit::corpus::Line;
use adjutant_testkit::editor::{Answer, Options};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::{Value, json};

use super::names;
use super::play::{Came, Seen};
use crate::rig::Rig;
use crate::stage::Stage;

const FILES: &str = "
    //- /a.txt
    text
";

/// A workspace with settings, and a model that these settings cannot remove.
pub struct Start {
    pub workspace: Workspace,
    pub model: ModelServer,
}

impl Start {
    pub fn new() -> Start {
        Start { workspace: Workspace::new(FILES), model: ModelServer::start([]) }
    }

    pub fn project(self, text: &str) -> Start {
        self.workspace.write(".adjutant/config.toml", text);
        self
    }

    fn editor(&self) -> Value {
        let provider = json!({"wire": "openai_chat", "base_url": self.model.base_url()});
        json!({"model": "local/test", "providers": {"local": provider}})
    }

    /// Returns the settings that a server loads here.
    pub fn load(&self) -> LoadedSettings {
        let environment: std::collections::BTreeMap<_, _> = self.workspace.env().into_iter().collect();
        let home = environment.get("HOME").map(PathBuf::from);
        let (roots, editor) = (vec![self.workspace.path().to_owned()], Some(self.editor()));
        load(&Sources { environment, home, roots, editor, ..Sources::default() })
    }

    /// Starts a server. Asserts that `initialize` is answered and each problem is shown to the user.
    pub fn open(self, id: &str) -> (Stage, LoadedSettings) {
        let loaded = self.load();
        let since = Instant::now();
        let options = Options { initialization_options: self.editor(), ..Options::new(&self.workspace) };
        let rig = Rig::start_with(&self.workspace, options);
        let took = since.elapsed();
        for problem in &loaded.problems {
            let message = rig.await_message();
            assert!(message.ends_with(&problem.to_string()), "{id}: {message:?} does not report {problem}");
        }
        // F26 promises one second for a release build; this deadline only detects a hang.
        assert!(took.as_secs() < 10, "{id}: initialize was answered after {took:?}");
        let session = rig.new_session();
        (Stage { rig, model: self.model, session, workspace: self.workspace }, loaded)
    }
}

/// Returns the name of a flaw as the lines write it.
pub fn name(flaw: Flaw) -> String {
    let mut name = String::new();
    for c in format!("{flaw:?}").chars() {
        if c.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.extend(c.to_lowercase());
    }
    name
}

/// Asserts that no setting is looser than its default. If a file is unreadable or invalid, nothing runs
/// unattended.
pub fn is_safe(settings: &Settings, problems: &[Problem], id: &str) {
    let by_default = Settings::default();
    let (now, then) = (settings.unattended, by_default.unattended);
    assert!(now.edit <= then.edit && now.command <= then.command, "{id}: {now:?}");
    assert!(now.max_requests <= then.max_requests, "{id}: {now:?}");
    let (now, then) = (settings.limits, by_default.limits);
    assert!(now.mistakes <= then.mistakes && now.model.total_ms <= then.model.total_ms, "{id}: {now:?}");
    assert!(now.followup_default_ms.is_none(), "{id}: {now:?}");
    if problems.iter().any(|problem| matches!(problem.flaw, Flaw::Syntax | Flaw::Unreadable)) {
        assert!(!settings.unattended.edit && !settings.unattended.command, "{id}");
    }
}

/// Makes one call, rejects its ask, and returns the outcome.
pub fn call(stage: &Stage, tool: &str, arguments: Value) -> Seen {
    stage.rig.on_ask(|_| Answer::option("reject"));
    let run = stage.send([Reply::call(tool, arguments)]);
    stage.rig.await_run_end(&stage.session, &run);
    Seen::last(stage)
}

/// Plays a line as it is, and under Adjutant's names for its settings.
pub fn play(line: &Line) {
    let text = line.input.as_str().map_or_else(|| line.text("/text").expect("a text"), str::to_owned);
    play_as(line, &text, names::reason(line));
    for (text, reason) in names::settings(line) {
        play_as(line, text, reason);
    }
}

fn play_as(line: &Line, text: &str, reason: &str) {
    let word = names::setting_word(line);
    let id = &line.id;
    let project = line.class == "project-config";
    let without = Start::new().load();
    let start = Start::new();
    let start = match project {
        true => start.project(text),
        false => {
            start.workspace.config(text);
            start
        }
    };
    let (stage, loaded) = start.open(id);
    let LoadedSettings { settings, problems, .. } = &loaded;
    let flaws: Vec<String> = problems.iter().map(|problem| name(problem.flaw)).collect();
    if word != "ok" {
        assert!(flaws.iter().any(|flaw| flaw == reason), "{id}: {text:?} is {reason}: {problems:?}");
        let place = problems.iter().all(|problem| problem.file.is_some() && !problem.what_to_do.is_empty());
        assert!(place, "{id}: a problem lacks its place or advice: {problems:?}");
    }
    match word {
        "start_defaults_warn" | "start_safe_warn" | "start_warn" => {
            is_safe(settings, problems, id);
            let seen = call(&stage, "read_file", json!({"path": "a.txt"}));
            assert!(matches!(seen.came, Came::Allowed), "{id}: work continues: {seen:?}");
            assert!(!stage.rig.seen().contains("pw-of-a-url"), "{id}: a password is never shown");
        }
        "refuse_tool" => {
            is_safe(settings, problems, id);
            let seen = call(&stage, "read_file", json!({"path": "a.txt"}));
            assert_eq!((seen.came, seen.cause.as_deref()), (Came::Denied, Some("rule")), "{id}: {seen:?}");
        }
        "ignore_key" => {
            let [before, now] = [&without.settings, settings].map(meaning);
            assert_eq!(now, before, "{id}: {text:?} changes nothing");
            let seen = call(&stage, "read_file", json!({"path": "a.txt"}));
            assert_eq!(seen.came, Came::Allowed, "{id}: {seen:?}");
            assert!(!stage.workspace.exists("pwned"), "{id}: nothing was started");
        }
        "ok" => denies(line, &stage, reason),
        other => panic!("{id}: unknown word {other:?}"),
    }
}

/// Returns the meaning of the settings, without their sources.
fn meaning(settings: &Settings) -> String {
    let Settings { model, fallback_models, generation_settings, deny, unattended, limits, retry, .. } =
        settings;
    // The address of the test model differs at each start.
    let providers: Vec<_> = settings.providers.keys().collect();
    let local = settings.providers["local"].base_url.as_deref().unwrap_or_default();
    let loopback = local.starts_with("http://127.0.0.1:");
    let deny = deny.texts();
    format!(
        "{model:?} {fallback_models:?} {generation_settings:?} {deny:?} {unattended:?} {limits:?} {retry:?} {providers:?} {loopback}"
    )
}

/// Asserts that the call a rule names is denied, and a similar call asks.
fn denies(line: &Line, stage: &Stage, reason: &str) {
    let text = |at: &str| line.text(at);
    let forbidden = text("/denied").unwrap_or_else(|| "ls".to_owned());
    let seen = call(stage, "run_command", json!({"command": forbidden}));
    assert_eq!((seen.came, seen.cause.as_deref()), (Came::Denied, Some(reason)), "{}: {seen:?}", line.id);
    if let Some(like) = text("/asked") {
        let seen = call(stage, "run_command", json!({"command": like}));
        assert_eq!(seen.came, Came::Asked, "{}: {seen:?}", line.id);
    }
}
