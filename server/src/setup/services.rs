//! The services that can be chosen, and what a user says about one.
//!
//! Never reads a file, and never contacts a service.

use adjutant_core::config::Wire;
use adjutant_core::text::display::hidden;

use super::writing::{Key, NewProvider};
use crate::model::usable_address;
use crate::settings::Sources;

/// Where most servers of local models listen.
pub const LOCAL: &str = "http://127.0.0.1:11434/v1";

/// The most characters of an address, a model or the name of a variable.
const MAX_TEXT: usize = 1_000;
/// The most characters of a key; a key file may not be longer.
const MAX_KEY: usize = 8 << 10;

/// One kind of service that can be chosen.
pub struct Service {
    /// The name in the list of choices.
    pub title: &'static str,
    pub name: &'static str,
    pub wire: Wire,
    /// `None` if the user has to name it.
    pub base_url: Option<&'static str>,
    /// The variable that usually has its key; `None` if it needs no key.
    pub variable: Option<&'static str>,
    /// A model to begin with; `None` if the user has to name it.
    pub model: Option<&'static str>,
}

pub const SERVICES: [Service; 5] = [
    Service {
        title: "Anthropic",
        name: "anthropic",
        wire: Wire::AnthropicMessages,
        base_url: Some("https://api.anthropic.com/v1"),
        variable: Some("ANTHROPIC_API_KEY"),
        model: Some("claude-sonnet-4-6"),
    },
    Service {
        title: "OpenAI",
        name: "openai",
        wire: Wire::OpenaiResponses,
        base_url: Some("https://api.openai.com/v1"),
        variable: Some("OPENAI_API_KEY"),
        model: Some("gpt-5.5"),
    },
    Service {
        title: "OpenRouter",
        name: "openrouter",
        wire: Wire::OpenaiChat,
        base_url: Some("https://openrouter.ai/api/v1"),
        variable: Some("OPENROUTER_API_KEY"),
        model: None,
    },
    Service {
        title: "a model on this machine (Ollama, llama.cpp, LM Studio, ...)",
        name: "local",
        wire: Wire::OpenaiChat,
        base_url: None,
        variable: None,
        model: None,
    },
    Service {
        title: "another service that speaks OpenAI Chat Completions",
        name: "service",
        wire: Wire::OpenaiChat,
        base_url: None,
        variable: Some("SERVICE_API_KEY"),
        model: None,
    },
];

impl Service {
    /// Returns the address that most users of this service have; `None` if the user has to name it.
    pub fn usual_url(&self) -> Option<&'static str> {
        self.base_url.or(if self.variable.is_none() { Some(LOCAL) } else { None })
    }
}

/// Whether a variable has a value.
pub fn is_set(sources: &Sources, variable: &str) -> bool {
    sources.environment.get(variable).is_some_and(|value| !value.is_empty())
}

/// What a user says about a provider. Has no `Debug`, because of the key.
pub struct Description {
    /// One of `SERVICES`, by its name.
    pub service: String,
    pub base_url: Option<String>,
    /// Without one, the key is read from the usual variable of the service.
    pub key: Option<Key>,
    pub model: String,
}

impl Description {
    /// Returns the provider and its key, or what is wrong with the description. Repeats nothing of the key.
    pub fn checked(self) -> Result<(NewProvider, Option<Key>), String> {
        let Some(service) = SERVICES.iter().find(|service| service.name == self.service) else {
            let known: Vec<_> = SERVICES.iter().map(|service| service.name).collect();
            return Err(format!("there is no such service to choose; choose one of {}", known.join(", ")));
        };
        let base_url = match (service.base_url, self.base_url.filter(|given| !given.trim().is_empty())) {
            (Some(own), None) => own.to_owned(),
            (Some(_), Some(_)) => {
                return Err(format!(
                    "{} has one address, so give none; for another one choose \"service\"",
                    service.title
                ));
            }
            (None, Some(given)) => address(&given)?,
            (None, None) => return Err("the address of the service is missing".to_owned()),
        };
        let key = match (service.variable, self.key) {
            (None, None) => None,
            (None, Some(_)) => {
                return Err("\"local\" needs no key; for one with a key choose \"service\"".to_owned());
            }
            (Some(usual), None) => Some(Key::Variable(usual.to_owned())),
            (Some(_), Some(Key::Variable(name))) => Some(Key::Variable(variable(&name)?)),
            (Some(_), Some(Key::Typed(key))) => Some(Key::Typed(typed(&key)?)),
        };
        let model = line("model", &self.model)?;
        Ok((NewProvider { name: service.name.to_owned(), wire: service.wire, base_url, model }, key))
    }
}

/// Returns an address that a call of a model would use.
fn address(given: &str) -> Result<String, String> {
    let given = line("address", given)?;
    usable_address(&given).map_err(|why| format!("the address cannot be used: {why}"))?;
    Ok(given)
}

/// Returns a text of one line without the blanks around it.
fn line(what: &str, given: &str) -> Result<String, String> {
    let given = given.trim();
    if given.is_empty() {
        return Err(format!("the {what} is missing"));
    }
    if given.chars().any(|c| hidden(c) || c.is_whitespace()) || given.chars().count() > MAX_TEXT {
        return Err(format!(
            "the {what} has blanks or invisible characters, or is too long; give it as the service calls it"
        ));
    }
    Ok(given.to_owned())
}

fn variable(name: &str) -> Result<String, String> {
    let name = name.trim();
    let is_name = name.len() <= MAX_TEXT
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_name {
        return Ok(name.to_owned());
    }
    // It may be a key that was given in the wrong place, so it is not repeated.
    Err("the name of a variable has only letters, digits and `_`; give the name, not the key".to_owned())
}

fn typed(key: &str) -> Result<String, String> {
    let key = key.trim();
    if key.is_empty() {
        return Err("the key is empty; type it again".to_owned());
    }
    if key.len() > MAX_KEY || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(
            "this is no key: it is too long, or has characters that no key has; copy it again".to_owned()
        );
    }
    Ok(key.to_owned())
}

#[cfg(test)]
mod tests;
