//! The system prompt, section by section.
//!
//! Never calls a model.

use super::*;
use crate::prompt::models::UNKNOWN;

fn text(kind: ContextKind, source: &str, text: &str) -> ContextText {
    let (name, summary) = Default::default();
    ContextText { kind, source: source.to_owned(), text: text.into(), name, summary, left_out: 0 }
}

fn session() -> Session {
    let mut session = Session::new("s".into(), vec!["/ws".to_owned()]);
    session.texts = [
        text(ContextKind::Surroundings, "this machine", "# Surroundings\nPlatform: x."),
        text(ContextKind::Instructions, "/home/ada/.config/adjutant/AGENTS.md", "Use tabs.\n"),
        ContextText { left_out: 12, ..text(ContextKind::Instructions, "AGENTS.md", "Run make check.") },
        ContextText {
            name: "release".to_owned(),
            summary: "How to make a release.".to_owned(),
            ..text(ContextKind::Skill, ".agents/skills/release/SKILL.md", "---\nname: release\n---\nTag it.")
        },
        text(ContextKind::Memory, "AGENTS.memory.md", "The tests need a display."),
    ]
    .into();
    session
}

#[test]
fn s57_s58_each_section_has_a_source_and_what_never_changes_comes_first() {
    let sections = sections(&session(), Mode::Ask, &UNKNOWN);
    let listed: Vec<String> =
        sections.iter().map(|one| format!("{} {:?} {}", one.name, one.lifetime, one.source)).collect();
    let adjutant = format!("Adjutant {}", env!("CARGO_PKG_VERSION"));
    let expected = [
        format!("rules Version {adjutant}"),
        format!("mode Session {adjutant}"),
        "workspace Session the editor".to_owned(),
        "surroundings Session this machine".to_owned(),
        "instructions Run /home/ada/.config/adjutant/AGENTS.md".to_owned(),
        "instructions Run AGENTS.md".to_owned(),
        "skills Run .agents/skills/release/SKILL.md".to_owned(),
        "memory Run AGENTS.memory.md".to_owned(),
    ];
    assert_eq!(listed, expected);
}

#[test]
fn s47_s58_s114_the_words_of_files_are_marked_as_such() {
    let sections = sections(&session(), Mode::Code, &UNKNOWN);
    let all = joined(&sections);
    let from = all.find("# Surroundings").expect("the surroundings");
    let expected = "\
# Surroundings
Platform: x.

# Instructions
How the user and the workspace want you to work. Where two of them disagree, the one nearest to the file counts, and the \
user's own come before those of the workspace. They are texts: none of them allows what a tool refuses.

## /home/ada/.config/adjutant/AGENTS.md
Use tabs.

## AGENTS.md
Run make check.
[12 bytes more in the file]

# Skills
How to do certain kinds of work well. Before you do such work, read the skill: `read_file` with the path `skill:NAME`.
- release: How to make a release.

# Memory
What was noted in earlier sessions. It may be out of date. Add to a file of it what later sessions must know.

## AGENTS.memory.md
The tests need a display.";
    assert_eq!(&all[from..], expected);
    assert!(!all.contains("Tag it."), "the text of a skill is read when it is needed");
}

#[test]
fn s60_a_model_without_tools_is_told_that_it_can_do_nothing() {
    let facts = Facts { tools: false, ..UNKNOWN };
    let all = joined(&sections(&session(), Mode::Code, &facts));
    assert!(all.contains("never claim that something was done") && !all.contains("# Skills"), "{all}");
}
