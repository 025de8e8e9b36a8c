//! The digests that an approval binds.
//!
//! Never fails, because a digest of nothing would fit every ask. The payload and the observation enter it as the JSON
//! of the log, because logs of version 0.1 keep such digests.

use serde_json::{Value, json};

use crate::policy::observation::{EditRoute, FileClass, ObservedPath};
use crate::record::{FileChange, FileOperation, Payload, PlanStep, StepStatus};

/// Returns the digest of the frozen payload and the observation of its file.
pub fn payload_digest(payload: &Payload, observed: Option<&ObservedPath>) -> String {
    let payload = payload_json(payload);
    match observed {
        Some(observed) => crate::digest_parts(&[payload.as_bytes(), observed_json(observed).as_bytes()]),
        None => crate::digest_parts(&[payload.as_bytes()]),
    }
}

/// Returns the digest of an edit: its file, and per hunk the removed and inserted lines with their context. An operation
/// binds the whole content of the file, and a move its new name.
fn change_digest(change: &FileChange) -> String {
    let mut digest = crate::Parts::default();
    digest.add(change.target.as_bytes());
    if let Some(operation) = &change.operation {
        let (kind, to) = match operation {
            FileOperation::Delete { .. } => ("delete", ""),
            FileOperation::Move { target, .. } => ("move", target.as_str()),
        };
        let content = change.before.as_deref().unwrap_or_default();
        [kind, to, content].into_iter().for_each(|part| digest.add(part.as_bytes()));
    }
    for hunk in change.hunks.iter() {
        for lines in [&hunk.context_before, &hunk.removed, &hunk.inserted, &hunk.context_after] {
            // The count separates the groups, so that a line cannot move from one to the next.
            digest.add(&(lines.len() as u64).to_le_bytes());
            lines.iter().for_each(|line| digest.add(line.as_bytes()));
        }
    }
    digest.in_hex()
}

/// Returns the digest of the edits that one ask is about. For one file it is that of its change.
pub fn changes_digest(changes: &[&FileChange]) -> String {
    match changes {
        [change] => change_digest(change),
        _ => {
            let digests: Vec<String> = changes.iter().map(|change| change_digest(change)).collect();
            crate::digest_parts(&digests.iter().map(String::as_bytes).collect::<Vec<_>>())
        }
    }
}

/// A JSON object that is written field by field, in order.
struct Fields(String);

impl Fields {
    fn new() -> Self {
        Self(String::new())
    }

    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        // A `Value` always has a text.
        self.0.push_str(&format!("{}:{}", Value::from(name), value.into()));
        self
    }

    fn with_some(self, name: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    fn end(self) -> String {
        self.0 + "}"
    }
}

fn payload_json(payload: &Payload) -> String {
    let kind = |kind: &str| Fields::new().with("kind", kind);
    let fields = match payload {
        Payload::Read { path, everywhere } => {
            kind("read").with("path", path.as_str()).with_some("everywhere", everywhere.then_some(true))
        }
        Payload::Command { line, cwd, timeout_seconds, binding } => kind("command")
            .with("line", line.as_str())
            .with("cwd", cwd.as_str())
            .with("timeout_seconds", *timeout_seconds)
            .with("binding", binding.as_str()),
        Payload::Question { question, options } => {
            kind("question").with("question", question.as_str()).with("options", options.clone())
        }
        Payload::Complete { summary } => kind("complete").with("summary", summary.as_str()),
        Payload::Fail { reason } => kind("fail").with("reason", reason.as_str()),
        Payload::Plan { steps } => {
            let step = |PlanStep { status, text }: &PlanStep| {
                let status = StepStatus::NAMES.iter().find(|(_, known)| known == status);
                json!({ "status": status.map(|(name, _)| name), "step": text })
            };
            kind("plan").with("steps", steps.iter().map(step).collect::<Vec<Value>>())
        }
        Payload::Nothing => kind("nothing"),
    };
    fields.end()
}

fn observed_json(observed: &ObservedPath) -> String {
    let ObservedPath {
        path, inside, secret, write_class, other_names, names_unknown, route, overtaken, ..
    } = observed;
    let fields = Fields::new()
        .with("path", path.as_str())
        .with("inside", *inside)
        .with_some("holds", secret.map(class_name))
        .with_some("class", write_class.map(class_name))
        .with_some("also", (!other_names.is_empty()).then(|| other_names.clone()))
        .with_some("names_unknown", names_unknown.then_some(true))
        .with_some("way", route_name(*route))
        .with_some("overtaken", overtaken.as_deref());
    fields.end()
}

/// The name of a class in the log.
fn class_name(class: FileClass) -> &'static str {
    match class {
        FileClass::Own => "own",
        FileClass::VersionControl => "version_control",
        FileClass::VersionControlList => "version_control_list",
        FileClass::Repository => "repository",
        FileClass::EditorSettings => "editor_settings",
        FileClass::EditorExtra => "editor_extra",
        FileClass::AgentSettings => "agent_settings",
        FileClass::StartUp => "start_up",
        FileClass::Programs => "programs",
        FileClass::Interpreter => "interpreter",
        FileClass::Keys => "keys",
        FileClass::Schedule => "schedule",
        FileClass::Instructions => "instructions",
        FileClass::BuildServer => "build_server",
        FileClass::BuildTools => "build_tools",
        FileClass::Build => "build",
        FileClass::Environment => "environment",
        FileClass::Process => "process",
        FileClass::SecondName => "second_name",
        FileClass::WholeSystem => "whole_system",
        FileClass::Unknown => "unknown",
    }
}

/// Returns the name of a route in the log, which leaves out the default one.
fn route_name(way: EditRoute) -> Option<&'static str> {
    match way {
        EditRoute::Editor => None,
        EditRoute::Disk => Some("disk"),
        EditRoute::DiskIfSaved => Some("disk_if_saved"),
        EditRoute::Action => Some("action"),
        EditRoute::Nowhere => Some("nowhere"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CLASSES: [FileClass; 21] = [
        FileClass::Own,
        FileClass::VersionControl,
        FileClass::VersionControlList,
        FileClass::Repository,
        FileClass::EditorSettings,
        FileClass::EditorExtra,
        FileClass::AgentSettings,
        FileClass::StartUp,
        FileClass::Programs,
        FileClass::Interpreter,
        FileClass::Keys,
        FileClass::Schedule,
        FileClass::Instructions,
        FileClass::BuildServer,
        FileClass::BuildTools,
        FileClass::Build,
        FileClass::Environment,
        FileClass::Process,
        FileClass::SecondName,
        FileClass::WholeSystem,
        FileClass::Unknown,
    ];
    const ROUTES: [EditRoute; 5] =
        [EditRoute::Editor, EditRoute::Disk, EditRoute::DiskIfSaved, EditRoute::Action, EditRoute::Nowhere];

    fn payloads() -> impl Strategy<Value = Payload> {
        let text = || any::<String>();
        prop_oneof![
            (text(), any::<bool>()).prop_map(|(path, everywhere)| Payload::Read { path, everywhere }),
            (text(), text(), any::<u64>(), text()).prop_map(|(line, cwd, timeout_seconds, binding)| {
                Payload::Command { line, cwd, timeout_seconds, binding }
            }),
            (text(), prop::collection::vec(text(), 0..3))
                .prop_map(|(question, options)| Payload::Question { question, options }),
            text().prop_map(|summary| Payload::Complete { summary }),
            text().prop_map(|reason| Payload::Fail { reason }),
            prop::collection::vec((text(), prop::sample::select(&StepStatus::NAMES[..])), 0..3).prop_map(
                |steps| {
                    let step = |(text, (_, status))| PlanStep { text, status };
                    Payload::Plan { steps: steps.into_iter().map(step).collect() }
                }
            ),
            Just(Payload::Nothing),
        ]
    }

    fn observed_paths() -> impl Strategy<Value = ObservedPath> {
        let class = || prop::option::of(prop::sample::select(&CLASSES[..]));
        let (path, other_names) = (any::<String>(), prop::collection::vec(any::<String>(), 0..3));
        let flags = (any::<bool>(), any::<bool>(), prop::option::of(any::<String>()));
        (path, other_names, class(), class(), prop::sample::select(&ROUTES[..]), flags).prop_map(
            |(path, other_names, secret, write_class, route, (inside, names_unknown, overtaken))| {
                ObservedPath {
                    path,
                    inside,
                    secret,
                    write_class,
                    other_names,
                    names_unknown,
                    route,
                    overtaken,
                    unseen: None,
                    operation: None,
                }
            },
        )
    }

    /// The digest as versions up to 0.1 made it.
    fn of_0_1(payload: &Payload, observed: Option<&ObservedPath>) -> String {
        let mut parts = vec![serde_json::to_vec(payload).unwrap()];
        parts.extend(observed.map(|observed| serde_json::to_vec(observed).unwrap()));
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        crate::digest_parts(&parts)
    }

    proptest! {
        #[test]
        fn a_digest_is_that_of_the_json_in_the_log(
            payload in payloads(),
            observed in prop::option::of(observed_paths()),
        ) {
            prop_assert_eq!(payload_digest(&payload, observed.as_ref()), of_0_1(&payload, observed.as_ref()));
        }
    }

    #[test]
    fn every_class_has_its_name_of_the_log() {
        for class in CLASSES {
            assert_eq!(serde_json::to_value(class).unwrap(), class_name(class));
        }
    }

    /// Computed by another program from the JSON of a log of 0.1.
    #[test]
    fn the_digest_of_a_stored_ask_stays_what_it_is() {
        let payload = Payload::Command {
            line: "grep -rn greet .".to_owned(),
            cwd: "/srv/project".to_owned(),
            timeout_seconds: 120,
            binding: "b".repeat(64),
        };
        let stored = "dce8fe908fc4d420bea6346a350c0d608ac406ea46e6251ca7885fdc8214b043";
        assert_eq!(payload_digest(&payload, None), stored);
    }
}
