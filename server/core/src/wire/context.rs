//! What the next request holds, as clients see it (S57, S58).
//!
//! Never makes the request; it has the same sections from the same place.

use std::collections::BTreeSet;

use adjutant_protocol::context::{ContextLifetime, ContextSection, ContextTool, SessionContextResult};

use crate::prompt::message::{ModelMessage, ToolSpec};
use crate::prompt::models::Facts;
use crate::prompt::sections::{Lifetime, Section, sections};
use crate::prompt::{compact, estimate};
use crate::record::{ContextPolicy, Mode};
use crate::session::Session;
use crate::tool::Toolset;
use crate::wire::usage;

/// Of what the next request is made.
pub struct NextRequest<'a> {
    /// With the texts and the tools of the open run, else with those that the next run would have.
    pub session: &'a Session,
    /// `provider/model`.
    pub model: &'a str,
    pub mode: Mode,
    pub facts: &'a Facts,
    pub policy: &'a ContextPolicy,
    pub reminder: Option<&'a str>,
    /// All tools that a model can get.
    pub toolsets: &'a [&'a Toolset],
}

/// Returns what the next request holds. `texts` says whether with the texts of its sections.
pub fn context(next: &NextRequest<'_>, texts: bool) -> SessionContextResult {
    let session = next.session;
    let factor = session.tokens.factor();
    let count = |tokens: f64| (tokens * factor) as u64;
    let view = |section: Section| view(&section, count(estimate::of_text(&section.text)), texts);
    let mut views: Vec<ContextSection> =
        sections(session, next.mode, next.facts).into_iter().map(view).collect();
    views.extend(next.policy.off.iter().map(|off| ContextSection {
        name: off.clone(),
        source: "the setting prompt.off".to_owned(),
        off: true,
        ..empty(ContextLifetime::Run)
    }));
    let specs = if next.facts.tools { session.tools.specs(next.mode) } else { Default::default() };
    views.push(ContextSection {
        name: "tools".to_owned(),
        source: format!("{} tools", specs.len()),
        bytes: specs.iter().map(bytes_of_tool).sum(),
        tokens: count(estimate::of_tools(&specs)),
        ..empty(ContextLifetime::Session)
    });
    views.push(ContextSection {
        name: "conversation".to_owned(),
        source: format!("{} messages", session.history.len()),
        bytes: session.history.iter().map(bytes_of_message).sum(),
        tokens: session.tokens.of(&session.history),
        ..empty(ContextLifetime::Grows)
    });
    if let Some(reminder) = next.reminder {
        views.push(ContextSection {
            name: "reminder".to_owned(),
            source: "the editor".to_owned(),
            bytes: reminder.len() as u64,
            tokens: count(estimate::of_text(reminder)),
            text: texts.then(|| reminder.to_owned()),
            ..empty(ContextLifetime::Turn)
        });
    }
    let parts = views.iter().map(|view| view.tokens).sum();
    SessionContextResult {
        model: next.model.to_owned(),
        tokens: session.tokens.counted_fill(&session.history).unwrap_or(parts),
        context_size: compact::window_of(next.policy, next.model),
        sections: views,
        tools: tools(next, &specs, count),
        spent: usage::spent(&session.spent),
    }
}

fn empty(lifetime: ContextLifetime) -> ContextSection {
    let (name, source) = Default::default();
    ContextSection { name, source, lifetime, bytes: 0, tokens: 0, off: false, text: None }
}

fn view(section: &Section, tokens: u64, texts: bool) -> ContextSection {
    let lifetime = match section.lifetime {
        Lifetime::Version => ContextLifetime::Version,
        Lifetime::Session => ContextLifetime::Session,
        Lifetime::Run => ContextLifetime::Run,
    };
    ContextSection {
        name: section.name.to_owned(),
        source: section.source.clone(),
        bytes: section.text.len() as u64,
        tokens,
        text: texts.then(|| section.text.to_string()),
        ..empty(lifetime)
    }
}

/// Returns all tools, those of the request first, each hidden one with the reason (S38, L12).
fn tools(next: &NextRequest<'_>, offered: &[ToolSpec], count: impl Fn(f64) -> u64) -> Vec<ContextTool> {
    let own = &*next.session.tools;
    let mut known = BTreeSet::new();
    let sets = std::iter::once(own).chain(next.toolsets.iter().copied());
    let mut tools = Vec::new();
    for spec in sets.flat_map(|set| set.specs(Mode::Code).to_vec()) {
        if !known.insert(spec.name.clone()) {
            continue;
        }
        let hidden = if offered.iter().any(|other| other.name == spec.name) {
            None
        } else if !next.facts.tools {
            Some(format!("the settings say that {} takes no tools", next.model))
        } else if own.has(&spec.name) {
            Some(format!("the mode {} has only tools that read and ask", next.mode.name()))
        } else {
            Some(format!("the model edits with {}", next.facts.edit_tool.name()))
        };
        let tokens = count(estimate::of_tools(std::slice::from_ref(&spec)));
        tools.push(ContextTool { name: spec.name.to_string(), tokens, hidden });
    }
    tools.sort_by_key(|tool| tool.hidden.is_some());
    tools
}

fn bytes_of_tool(tool: &ToolSpec) -> u64 {
    (tool.name.len() + tool.description.len() + tool.parameters.to_string().len()) as u64
}

fn bytes_of_message(message: &ModelMessage) -> u64 {
    let bytes = match message {
        ModelMessage::User { text, .. } => text.len(),
        ModelMessage::Assistant { reply } => {
            let calls = reply.calls.iter().map(|call| call.name.len() + call.arguments.len());
            reply.text.len() + calls.sum::<usize>()
        }
        ModelMessage::Tool { output, .. } => output.len(),
    };
    bytes as u64
}
