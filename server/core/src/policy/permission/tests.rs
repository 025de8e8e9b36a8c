//! The verdict on each line of `tests/corpus/permission.txt`.
//!
//! Verdict, class of the reason and words of it; a line that cannot be read fails.

use std::collections::BTreeSet;

use super::*;
use crate::policy::observation::{EditRoute, FileClass, ObservedPath};
use crate::record::{Event, Mode, Record, UnattendedPolicy};

const TABLE: &str = include_str!("../../../../../tests/corpus/permission.txt");
const COMMAND_FOLDER: &str = "/ws";

/// A name as the log spells it.
fn named<T: serde::de::DeserializeOwned>(name: &str) -> T {
    serde_json::from_value(name.into()).unwrap_or_else(|why| panic!("{name}: {why}"))
}

/// One line of the table.
struct Row<'a> {
    tool: &'a str,
    what: &'a str,
    seen: &'a str,
    rules: &'a str,
    verdict: &'a str,
}

impl<'a> Row<'a> {
    fn of(line: &'a str) -> Self {
        let columns: Vec<&str> = line.split(" | ").map(str::trim).collect();
        let [tool, what, seen, rules, verdict] = columns[..] else { panic!("five columns, not {line:?}") };
        Self { tool, what, seen, rules, verdict }
    }

    fn seen(&self) -> ObservedPath {
        let mut seen = ObservedPath::outside(self.what);
        for word in self.seen.split(' ') {
            match word.split_once('=').unwrap_or((word, "")) {
                ("inside", "") => seen.inside = true,
                ("writes", "") => {}
                ("outside", "") => seen.inside = false,
                ("holds", class) => seen.secret = Some(named(class)),
                ("class", class) => seen.write_class = Some(named(class)),
                ("also", name) => seen.other_names.push(name.to_owned()),
                ("unknown_names", "") => seen.names_unknown = true,
                ("way", way) => seen.route = named::<EditRoute>(way),
                ("overtaken", "") => seen.overtaken = Some("it moved on".to_owned()),
                other => panic!("no such observation: {other:?}"),
            }
        }
        seen
    }

    /// The session with its standing answers, and the policy of its run.
    fn rules(&self) -> (Session, Policy) {
        let mut session = Session::new("s-1".into(), vec![COMMAND_FOLDER.to_owned()]);
        let mut policy = Policy::default();
        // A command line has spaces, and ends at the end of its column, before `consent=` or before `standing=`.
        let text = self.rules.replace(" consent=", "\nconsent=").replace(" standing=", "\nstanding=");
        for part in text.replace("mode=ask ", "mode=ask\n").lines().filter(|part| !part.is_empty()) {
            match part.split_once('=').unwrap_or((part, "")) {
                ("deny", rule) => policy.deny.push(rule.to_owned()),
                ("mode", "ask") => policy.mode = Mode::Ask,
                ("consent", what) => {
                    let has = |part| what.split(',').any(|given| given == part);
                    policy.unattended = Some(UnattendedPolicy {
                        edit: has("edit"),
                        command: has("command"),
                        max_requests: 100,
                    });
                }
                ("standing", "edits") => add(&mut session, Rule::Edits),
                ("standing", rule) => match rule.split_once(':') {
                    Some(("read", path)) => add(&mut session, Rule::Read { path: path.to_owned() }),
                    Some(("command", line)) => {
                        let cwd = COMMAND_FOLDER.to_owned();
                        add(&mut session, Rule::Command { line: line.to_owned(), cwd });
                    }
                    _ => panic!("no such rule: {rule}"),
                },
                other => panic!("no such rule: {other:?}"),
            }
        }
        (session, policy)
    }

    fn verdict(&self) -> String {
        let (session, policy) = self.rules();
        let (seen, cwd);
        let act = match self.seen.split(' ').next().unwrap_or_default() {
            "everywhere" => Act::Walk,
            "question" => Act::Question,
            "nothing" => Act::Nothing,
            "command" => {
                cwd = self.seen.split_once("cwd=").map_or(COMMAND_FOLDER, |(_, cwd)| cwd);
                Act::Command { line: self.what, cwd }
            }
            _ => {
                seen = self.seen();
                match self.tool {
                    "edit_file" | "write_file" | "sort_lines" => Act::Edit(&seen),
                    _ => Act::Read(&seen),
                }
            }
        };
        let explained = |word: &str, why: Reason| {
            let cause = serde_json::to_value(why.cause).expect("a class");
            format!("{word} {}: {}", cause.as_str().unwrap_or_default(), why.text)
        };
        match verdict(&session, &policy, self.tool, act) {
            Verdict::Allow(AllowedBy::Standing { rule }) => {
                assert!(session.rules.contains(&rule), "{rule:?} is no rule of the session");
                "allow standing".to_owned()
            }
            Verdict::Allow(AllowedBy::Consent) => "allow consent".to_owned(),
            Verdict::Allow(AllowedBy::Default) => "allow default".to_owned(),
            Verdict::Allow(by) => panic!("a verdict is no answer: {by:?}"),
            Verdict::Ask(why) => explained("ask", why),
            Verdict::Deny(why) => explained("deny", why),
        }
    }
}

fn add(session: &mut Session, rule: Rule) {
    let event = Event::RuleAdded { rule };
    session.apply(&Record { seq: session.seq + 1, at: 1, last: true, event });
}

fn rows() -> impl Iterator<Item = Row<'static>> {
    TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(Row::of)
}

#[test]
fn s50_each_line_of_the_table_has_its_verdict_and_its_reason() {
    let mut wrong = Vec::new();
    for row in rows() {
        let (given, wanted) = (row.verdict(), row.verdict);
        let holds = match wanted.split_once(": ") {
            Some((head, words)) => {
                given.split_once(": ").is_some_and(|(is, text)| is == head && text.contains(words))
            }
            None => given == wanted,
        };
        if !holds {
            let Row { tool, what, seen, rules, .. } = row;
            wrong.push(format!("{tool} {what} [{seen}] [{rules}]: {given}\n    wanted: {wanted}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(rows().count() >= 150, "the table has {} lines", rows().count());
}

#[test]
fn s50_the_table_names_every_class_of_files_and_every_way_of_an_edit() {
    let words: BTreeSet<&str> = rows().flat_map(|row| row.seen.split(' ')).collect();
    // The log reads an unknown name as `unknown`, so a misspelt class would not fail anywhere else.
    for class in [
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
    ] {
        let name = serde_json::to_value(class).expect("a name");
        assert!(words.contains(&*format!("class={}", name.as_str().unwrap_or_default())), "{class:?}");
    }
    for way in ["editor", "disk", "disk_if_saved", "action"] {
        assert!(words.contains(&*format!("way={way}")), "{way}");
    }
}

#[test]
fn p5_nothing_is_told_of_a_text_that_nobody_has_allowed_to_be_read() {
    let quoting = || (Reason::new(Cause::NotFound, "the nearest text is: secret"), true);
    let plain = Policy::default();
    let denying = Policy { deny: vec!["read_file(private/**)".to_owned()], ..Policy::default() };
    let reported = |policy: &Policy, seen: &ObservedPath| {
        reportable(&["/ws".to_owned()], policy, Some(seen), quoting()).text
    };
    assert!(reported(&plain, &ObservedPath::inside("a.txt")).ends_with("secret"));
    assert!(reported(&plain, &ObservedPath::inside("private/a.txt")).ends_with("secret"));
    assert!(!reported(&denying, &ObservedPath::inside("private/a.txt")).contains("secret:"));
    let holds = ObservedPath { secret: Some(FileClass::Keys), ..ObservedPath::inside("id_rsa") };
    assert!(reported(&plain, &holds).ends_with("read the file first, which asks the user"));
    // A read that would be denied is not suggested.
    let denied = reported(&denying, &ObservedPath::inside("private/a.txt"));
    assert!(denied.ends_with("which a rule of the settings forbids to read"), "{denied}");
    let silent = super::reportable(
        &[],
        &plain,
        Some(&holds),
        (Reason::new(Cause::Missing, "it does not exist"), false),
    );
    assert_eq!(silent.text, "it does not exist");
}

#[test]
fn s50_a_file_that_was_not_looked_at_is_not_judged() {
    let read = |everywhere| Payload::Read { path: "a".to_owned(), everywhere };
    assert!(Act::of(&read(false), None).is_none());
    assert!(matches!(Act::of(&read(true), None), Some(Act::Walk)));
}
