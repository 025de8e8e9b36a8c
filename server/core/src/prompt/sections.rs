//! The prompt as sections: what each request holds besides the conversation, each with its source.
//!
//! What never changes comes first, so that providers can cache it. Never holds a message of the conversation.

use std::sync::Arc;

use crate::prompt::models::Facts;
use crate::prompt::words;
use crate::record::{ContextKind, ContextText, Mode};
use crate::session::Session;
use crate::tool::APPLY_PATCH;

/// When the text of a section can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// With the version of Adjutant.
    Version,
    /// With the session or its mode.
    Session,
    /// When a run begins.
    Run,
}

/// One part of the system prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its name in the setting `prompt.off`, and in every list of sections.
    pub name: &'static str,
    /// Where its text is from.
    pub source: String,
    pub lifetime: Lifetime,
    pub text: Arc<str>,
}

/// What stands before the instructions of files (need 28).
const INSTRUCTIONS: &str = "\
# Instructions
How the user and the workspace want you to work. Where two of them disagree, the one nearest to the file counts, and the \
user's own come before those of the workspace. They are texts: none of them allows what a tool refuses.";
const SKILLS: &str = "\
# Skills
How to do certain kinds of work well. Before you do such work, read the skill: `read_file` with the path `skill:NAME`.";
const MEMORY: &str = "\
# Memory
What was noted in earlier sessions. It may be out of date. Add to a file of it what later sessions must know.";

/// Returns the sections of the system prompt, in their order.
pub fn sections(session: &Session, mode: Mode, facts: &Facts) -> Vec<Section> {
    let adjutant = || format!("Adjutant {}", env!("CARGO_PKG_VERSION"));
    let fixed = |name, lifetime, text: &str| Section {
        name,
        source: adjutant(),
        lifetime,
        text: text.trim_end().into(),
    };
    let edits = if session.tools.has(APPLY_PATCH) { words::BY_APPLY_PATCH } else { words::BY_EDIT_FILE };
    let rules = words::RULES.replace(words::EDITS, edits);
    let rules = if facts.tools { rules.as_str() } else { words::NO_TOOLS };
    let mut sections = vec![fixed("rules", Lifetime::Version, rules)];
    if facts.tools && mode == Mode::Ask {
        sections.push(fixed("mode", Lifetime::Session, words::READ_ONLY));
    }
    sections.push(Section {
        name: "workspace",
        source: "the editor".to_owned(),
        lifetime: Lifetime::Session,
        text: workspace(&session.roots).into(),
    });
    let of = |kind| session.texts.iter().filter(move |text| text.kind == kind);
    for text in of(ContextKind::Surroundings) {
        sections.push(section(text, Lifetime::Session, text.text.to_string()));
    }
    let with_heading = |kind, heading: &str| {
        let mut heading = format!("{heading}\n\n");
        let parts = of(kind).map(move |text| {
            let left_out = match text.left_out {
                0 => String::new(),
                bytes => format!("\n[{bytes} bytes more in the file]"),
            };
            let name = &text.source;
            let words =
                format!("{}## {name}\n{}{left_out}", std::mem::take(&mut heading), text.text.trim_end());
            section(text, Lifetime::Run, words)
        });
        parts.collect::<Vec<_>>()
    };
    sections.extend(with_heading(ContextKind::Instructions, INSTRUCTIONS));
    // Without tools a skill cannot be read.
    let mut skills = of(ContextKind::Skill).filter(|_| facts.tools).peekable();
    if skills.peek().is_some() {
        let source = skills.clone().map(|skill| skill.source.as_str()).collect::<Vec<_>>().join(", ");
        let lines = skills.map(|skill| format!("- {}: {}", skill.name, skill.summary));
        let text = format!("{SKILLS}\n{}", lines.collect::<Vec<_>>().join("\n"));
        let name = ContextKind::Skill.section();
        sections.push(Section { name, source, lifetime: Lifetime::Run, text: text.into() });
    }
    sections.extend(with_heading(ContextKind::Memory, MEMORY));
    sections
}

fn section(of: &ContextText, lifetime: Lifetime, text: String) -> Section {
    Section { name: of.kind.section(), source: of.source.clone(), lifetime, text: text.into() }
}

/// Returns the system prompt: the sections with an empty line between them.
pub fn joined(sections: &[Section]) -> String {
    let texts: Vec<&str> = sections.iter().map(|section| &*section.text).collect();
    texts.join("\n\n")
}

fn workspace(roots: &[String]) -> String {
    match roots {
        [] => "No workspace folder is open.".to_owned(),
        [root] => format!("The workspace is {root}."),
        // The folder the user works in, and the repository around it.
        [here, root] if is_below(here, root) => format!(
            "The workspace is {root}. The user works in {here}: relative paths and commands start there. For other files \
             of the workspace use `../` or absolute paths."
        ),
        [first, rest @ ..] => format!("The workspace is {first}; further folders: {}.", rest.join(", ")),
    }
}

/// Whether a folder is below another one.
fn is_below(folder: &str, other: &str) -> bool {
    let below = folder.strip_prefix(other.trim_end_matches('/'));
    below.is_some_and(|rest| rest.starts_with('/') && rest.len() > 1)
}

#[cfg(test)]
mod tests;
