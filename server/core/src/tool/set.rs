//! The tools of a run, as one value.
//!
//! Never changes the order or the texts of a value, so that providers can cache the prompt.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;

use super::{Arguments, Effect, MAX_TITLE, Mode, Tool, schema, strict};
use crate::policy::cause::Reason;
use crate::prompt::message::ToolSpec;
use crate::text::display::one_line;

/// The most bytes of arguments that are parsed whole for a title.
const MAX_PARSED: usize = 64 * 1024;

/// Tools in the order in which models see them.
pub struct Toolset {
    tools: Vec<Tool>,
    code: Arc<[ToolSpec]>,
    ask: Arc<[ToolSpec]>,
    hash: String,
}

/// Two tools have one name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is a tool \"{0}\" already")]
pub struct SameName(pub String);

impl Toolset {
    /// Returns a set of these tools. Fails if two tools have the same name.
    pub fn new(tools: Vec<Tool>) -> Result<Self, SameName> {
        for (index, tool) in tools.iter().enumerate() {
            if tools.iter().take(index).any(|other| other.name == tool.name) {
                return Err(SameName(tool.name.clone().into_owned()));
            }
        }
        let specs = |mode| -> Arc<[ToolSpec]> {
            tools.iter().filter(|tool| tool.is_in(mode)).map(schema::spec).collect()
        };
        let (code, ask) = (specs(Mode::Code), specs(Mode::Ask));
        Ok(Self { hash: hash_of(&tools, &code), code, ask, tools })
    }

    /// Returns a set without any tool.
    pub fn none() -> Self {
        Self { tools: Vec::new(), code: Arc::default(), ask: Arc::default(), hash: hash_of(&[], &[]) }
    }

    /// Returns the digest of the texts and effects of all tools, in hex.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Returns the tools of a mode as models see them, in fixed order.
    pub fn specs(&self, mode: Mode) -> Arc<[ToolSpec]> {
        match mode {
            Mode::Code => self.code.clone(),
            Mode::Ask => self.ask.clone(),
        }
    }

    /// Returns the names of a mode's tools, in fixed order.
    pub fn names(&self, mode: Mode) -> impl Iterator<Item = &str> {
        self.tools.iter().filter(move |tool| tool.is_in(mode)).map(|tool| tool.name.as_ref())
    }

    /// Whether the set has a tool of this name, in any mode.
    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Returns the effect of a tool by its name; an unknown tool counts as opaque.
    pub fn effect_of(&self, name: &str) -> Effect {
        self.find(name).map_or(Effect::Opaque, |tool| tool.effect)
    }

    /// Parses the arguments of a call. Fails if the mode does not offer the tool or an argument is invalid; the reason
    /// says what the model should do.
    pub fn parse(&self, mode: Mode, name: &str, arguments: &str) -> Result<Arguments, Reason> {
        match self.find(name).filter(|tool| tool.is_in(mode)) {
            Some(tool) => strict::parse(tool, arguments),
            None => Err(strict::unknown(self.find(name).is_some(), name, self.names(mode))),
        }
    }

    /// Returns one line of at most [`MAX_TITLE`] characters that names a call to the user. An invalid call has the
    /// name of its tool.
    pub fn title_of(&self, name: &str, arguments: &str) -> String {
        let parsed = self.find(name).and_then(|tool| {
            let given = match arguments.len() {
                0..=MAX_PARSED => strict::parse(tool, arguments).ok()?,
                _ => path_alone(tool, arguments)?,
            };
            Some((tool.title)(&given))
        });
        one_line(parsed.as_deref().unwrap_or(name), MAX_TITLE)
    }

    fn find(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

/// Returns only the path of an edit. The text of a large edit is not parsed.
fn path_alone(tool: &Tool, arguments: &str) -> Option<Arguments> {
    #[derive(Deserialize)]
    struct PathArgument {
        path: String,
    }
    let edit: PathArgument =
        (tool.effect == Effect::OwnEdit).then(|| serde_json::from_str(arguments).ok()).flatten()?;
    Some(Arguments::of_texts(&[("path", &edit.path)]))
}

fn hash_of(tools: &[Tool], specs: &[ToolSpec]) -> String {
    let mut digest = crate::Parts::default();
    for (tool, spec) in tools.iter().zip(specs) {
        digest.add(spec.name.as_bytes());
        digest.add(spec.description.as_bytes());
        digest.add(spec.parameters.to_string().as_bytes());
        digest.add(format!("{:?}", tool.effect).as_bytes());
    }
    digest.in_hex()
}

impl Default for Toolset {
    fn default() -> Self {
        Self::none()
    }
}

impl PartialEq for Toolset {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
    }
}

impl fmt::Debug for Toolset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names(Mode::Code)).finish()
    }
}
