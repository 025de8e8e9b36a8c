//! Logs of released versions: every later version folds them, resumes them and continues them.
//!
//! The logs are data in `tests/fixtures/log-VERSION`, written by the released code itself. Never write them
//! again: if a log had to change, a user would lose a session.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use adjutant::session::log::Log;
use adjutant::session::replay::{FoldedSession, ReplayedSession};
use adjutant::session::storage::Disk;
use adjutant_core::prompt::GenerationSettings;
use adjutant_core::prompt::message::ModelMessage;
use adjutant_core::record::Rule;
use adjutant_core::session::ChangeState;
use adjutant_protocol::ask::AskKind;
use adjutant_protocol::state::State;
use adjutant_protocol::{ChangeSetId, SessionId};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::Value;

use crate::rig::{Rig, assert_paired, facts, session_dir};

/// The session that 0.1 wrote.
const SESSION: &str = "s-made-by-0-1";

/// Every kind of event in 0.1.
const KINDS: [&str; 30] = [
    "session_created",
    "session_opened",
    "run_started",
    "prompted",
    "turn_started",
    "attempt_started",
    "reply_started",
    "reply_partial",
    "attempt_failed",
    "went_silent",
    "heard",
    "model_replaced",
    "replied",
    "turn_failed",
    "call_opened",
    "call_prepared",
    "change_proposed",
    "ask_opened",
    "ask_reobserved",
    "ask_closed",
    "rule_added",
    "config_changed",
    "hunk_decided",
    "apply_started",
    "applied",
    "tool_started",
    "tool_finished",
    "settled",
    "completed",
    "run_ended",
];

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/log-0.1")
}

/// Puts the session where a server looks for it, and returns its id.
fn plant(workspace: &Workspace) -> SessionId {
    let session = SessionId::from(SESSION);
    let dir = session_dir(workspace, &session);
    for (from, to) in [(fixture(), dir.clone()), (fixture().join("blobs"), dir.join("blobs"))] {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&to).expect("a folder");
        for entry in fs::read_dir(from).expect("the fixture") {
            let entry = entry.expect("an entry");
            if entry.path().is_file() {
                let to = to.join(entry.file_name());
                fs::copy(entry.path(), &to).expect("a copy");
                fs::set_permissions(&to, fs::Permissions::from_mode(0o600)).expect("for its owner");
            }
        }
    }
    session
}

/// Collects every field of an event by its path from the kind; the items of a list share one path. A tag
/// becomes part of the path, so that each payload and each resolution counts.
fn fields(way: &str, value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(all) => {
            let tag = ["kind", "option", "type"].into_iter().find_map(|tag| all.get(tag)?.as_str());
            let way = tag.filter(|_| way.contains('.')).map_or(way.to_owned(), |tag| format!("{way}={tag}"));
            for (name, value) in all {
                let way = if way.is_empty() { name.clone() } else { format!("{way}.{name}") };
                fields(&way, value, found);
            }
        }
        Value::Array(all) => all.iter().for_each(|value| fields(way, value, found)),
        // Each value of a closed list counts; texts and numbers do not.
        Value::String(word)
            if ["end", "cause", "class", "found", "outcome", "stop"]
                .iter()
                .any(|field| way.ends_with(&format!(".{field}"))) =>
        {
            found.insert(format!("{way}: {word}"));
        }
        _ => drop(found.insert(way.to_owned())),
    }
}

/// Compares a text with the file next to the log.
fn check(name: &str, now: &str) {
    let path = fixture().join(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, now).expect("the file is written");
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == now,
        "{name}: a session of 0.1 means something else now. If that is wanted, write it anew with \
         UPDATE_DOCS=1, and read the difference: it is what its users get.\n{now}"
    );
}

/// Returns the events of the log that 0.1 wrote.
fn written() -> Vec<Value> {
    let text = fs::read_to_string(fixture().join("events.jsonl")).expect("the log of 0.1");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON"));
    lines.filter_map(|line| line.get("event").cloned()).collect()
}

#[test]
fn every_kind_and_every_field_of_an_event_of_0_1_is_in_its_log() {
    let events = written();
    let kinds: BTreeSet<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    let missing: Vec<_> = KINDS.iter().filter(|kind| !kinds.contains(*kind)).collect();
    assert!(missing.is_empty(), "the log of 0.1 has no {missing:?}");
    assert_eq!(kinds.len(), KINDS.len(), "{kinds:?}");
    let mut found = BTreeSet::new();
    for event in &events {
        let kind = event["type"].as_str().expect("an event has a kind");
        fields(kind, event, &mut found);
    }
    check("fields.txt", &found.into_iter().map(|field| field + "\n").collect::<String>());
}

type Changes = BTreeMap<ChangeSetId, ChangeState>;

/// Describes a folded session in words that do not depend on its types.
fn meaning(folded: &FoldedSession, changes: &Changes) -> String {
    let session = &folded.session;
    let mut out = String::new();
    let mut say = |line: String| writeln!(out, "{line}").expect("a text grows");
    say(format!(
        "session {}, {:?}, roots {:?}, epoch {}",
        session.id.0, session.title, session.roots, session.epoch
    ));
    say(format!("{} facts, {} turns, shown as {:?}", session.seq, session.turns, session.current_state()));
    // A new field does not compile here, so that it is considered.
    let GenerationSettings { effort, verbosity } = session.choices.generation_settings;
    say(format!(
        // `Manner` is the old name of the type; this text is as frozen as the log.
        "chosen: {:?} {:?} Manner {{ effort: {effort:?}, verbosity: {verbosity:?} }}",
        session.choices.mode, session.choices.model
    ));
    for run in &session.ended {
        let end = &run.end;
        say(format!(
            "ended {}: {:?} {:?} after {} requests, {} in, {} out, {:?}, {:?}",
            run.run.0,
            end.outcome,
            end.stop_reason,
            end.spent.requests,
            end.spent.usage.input_tokens,
            end.spent.usage.output_tokens,
            run.title,
            end.summary
        ));
    }
    let open = session.open_run().expect("a run is open");
    say(format!(
        "open {}: {:?} by {}, partial {:?}",
        open.id.0,
        open.title,
        open.current_model(),
        open.turn.as_ref().map(|turn| &turn.partial)
    ));
    for ask in session.open_asks() {
        say(format!("asks {:?}: {}", ask.kind, ask.title));
    }
    for (ask, resolution) in &session.closed_asks {
        say(format!("answered {}: {resolution:?}", ask.0));
    }
    for rule in &session.rules {
        say(match rule {
            Rule::Edits => "rule edits".to_owned(),
            Rule::Command { line, cwd, .. } => format!("rule command {line:?} in {cwd}"),
            Rule::Read { path, .. } => format!("rule read {path}"),
        });
    }
    for (id, change) in changes {
        say(format!("change {} of {}: {:?}", id.0, change.change.path, change.hunks));
    }
    for key in &session.keys {
        say(format!("key {:?}", key.used));
    }
    for message in &session.history {
        say(match message {
            ModelMessage::User { text, pictures, .. } => format!("user {text:?} {} pictures", pictures.len()),
            ModelMessage::Assistant { reply } => {
                let calls: Vec<_> = reply.calls.iter().map(|call| call.name.as_str()).collect();
                let kept = reply.kept.as_ref().map_or(0, |kept| kept.items.len());
                format!("assistant {:?} {calls:?}, {kept} items kept", reply.text)
            }
            ModelMessage::Tool { call_id, output } => format!("tool {call_id} {output:?}"),
        });
    }
    out
}

#[test]
fn a_session_of_0_1_means_what_it_meant() {
    let id = SessionId::from(SESSION);
    let mut replayed = ReplayedSession::new(&id);
    // A session drops change sets that are no longer needed, so the test keeps the last state of each.
    let mut changes = Changes::new();
    let mut take = |record| {
        replayed.fold(&record);
        changes.extend(replayed.folded.session.changes.clone());
    };
    let read = Log::read_each(&Disk, &fixture(), SESSION, &mut take).expect("it is read");
    assert!(read.notices.is_empty(), "{:?}", read.notices);
    assert_eq!(replayed.folded.whole(), Ok(()));
    assert!(replayed.folded.strays().is_none(), "{:?}", replayed.folded.strays());
    check(
        "meaning.txt",
        &(meaning(&replayed.folded, &changes) + &format!("{} updates told\n", replayed.seq)),
    );
}

#[test]
fn a_session_of_0_1_is_resumed_and_goes_on() {
    let model = ModelServer::answering(|_| Reply::text("There are two callers."));
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.openai(&model.base_url());
    let settings = fs::read_to_string(workspace.config_file()).expect("the settings");
    // The providers that the session of 0.1 used.
    let table = settings.split("[providers.local]").nth(1).expect("a table of the provider").to_owned();
    workspace.add_config(&format!("[providers.acme]{table}\n[providers.backup]{table}"));
    let session = plant(&workspace);
    let before = fs::read(fixture().join("events.jsonl")).expect("the log of 0.1");

    let rig = Rig::start(&workspace);
    let now = rig.resume(&session, None);
    assert_eq!(now.state.state, State::Resumable);
    // Its folders are not on this machine, and nothing else is reported.
    assert!(
        now.notices.len() == 2 && now.notices.iter().all(|notice| notice.contains("/srv/")),
        "{:?}",
        now.notices
    );
    let ask = now.asks.iter().find(|ask| ask.kind == AskKind::ResumeTask).expect("it can be resumed");
    let open = now.state.run_id.clone().expect("a run is open");
    rig.answer(&ask.ask_id, "resume");
    rig.await_run_end(&session, &open);
    let run = rig.prompt(&session, "And who calls those?").run_id;
    rig.await_run_end(&session, &run);
    rig.await_state(State::Idle);
    rig.end();

    let after = fs::read(session_dir(&workspace, &session).join("events.jsonl")).expect("the log");
    assert!(after.starts_with(&before), "the log of 0.1 stays unchanged");
    assert!(facts(&workspace, &session).len() > written().len());
    let requests = model.requests();
    assert_eq!(requests.len(), 2);
    requests.iter().for_each(assert_paired);
    let text = String::from_utf8_lossy(&requests[1].body).into_owned();
    for said in
        ["Rename greet to welcome.", "Yes, until spring.", "Leave the build alone.", "There are two callers."]
    {
        assert!(text.contains(said), "{said:?} is not in the request");
    }
}
