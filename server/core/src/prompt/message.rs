//! The provider-neutral request to a model, and its reply.
//!
//! Never knows a provider's wire format; `server/src/model/` translates.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::prompt::image::Picture;

/// One complete request to a model. A wire format only translates it.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// The provider's name of the model, without the `provider/` prefix of the settings.
    pub model: String,
    /// The system prompt. It depends only on the mode, the roots and what the model supports.
    pub system: Arc<str>,
    /// The offered tools, in a fixed order.
    pub tools: Arc<[ToolSpec]>,
    /// The conversation, oldest first. Every tool call has exactly one output after it.
    pub messages: Vec<ModelMessage>,
    /// The most tokens of the reply; `None` leaves the limit to the provider.
    pub max_output_tokens: Option<u32>,
    /// Whether the model takes free-form tools, whose input is plain text.
    pub free_form: bool,
    /// The settings that the model supports; the provider decides the rest.
    pub generation_settings: GenerationSettings,
    /// Asks for the whole answer at once, because streams of this turn broke (S81).
    pub whole: bool,
    /// The content of the images, by hash. The step adds it just before the call. An image that is neither
    /// withheld nor in this map is lost.
    pub images: BTreeMap<String, Base64Image>,
    /// What is true now and is no part of the conversation. It comes after all messages, in this request alone (S59).
    pub reminder: Option<Arc<str>>,
    /// Asks for a summary of the conversation, not for the next reply.
    pub is_summary: bool,
    /// How many replies compactions have replaced.
    pub replaced_replies: usize,
}

/// An image as base64. Its debug text has only the length, because the content may be megabytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Base64Image(pub Arc<str>);

impl fmt::Debug for Base64Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Encoded({} characters)", self.0.len())
    }
}

/// The wire format of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// A model that answers from a file; see `docs/scripted-model.md`.
    Scripted,
    /// OpenAI Chat Completions over HTTP.
    OpenaiChat,
    /// OpenAI Responses over HTTP.
    OpenaiResponses,
    /// Anthropic Messages over HTTP.
    AnthropicMessages,
}

impl Wire {
    pub const ALL: [Wire; 4] =
        [Wire::OpenaiChat, Wire::OpenaiResponses, Wire::AnthropicMessages, Wire::Scripted];

    /// Returns its name in the settings.
    pub fn name(self) -> &'static str {
        match self {
            Wire::Scripted => "scripted",
            Wire::OpenaiChat => "openai_chat",
            Wire::OpenaiResponses => "openai_responses",
            Wire::AnthropicMessages => "anthropic_messages",
        }
    }
}

/// How a model should answer. The provider decides what is not set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GenerationSettings {
    /// How much the model thinks before it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Level>,
    /// How long the answer is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verbosity: Option<Level>,
}

impl GenerationSettings {
    /// Returns these settings, with those of `other` for the unset ones.
    pub fn or(self, other: GenerationSettings) -> GenerationSettings {
        GenerationSettings {
            effort: self.effort.or(other.effort),
            verbosity: self.verbosity.or(other.verbosity),
        }
    }
}

/// A level of effort or verbosity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Low,
    Medium,
    High,
}

impl Level {
    pub const ALL: [Level; 3] = [Level::Low, Level::Medium, Level::High];

    /// Returns the level with this name.
    pub fn named(name: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.name() == name)
    }

    /// Returns its name in the settings and on every wire.
    pub fn name(self) -> &'static str {
        match self {
            Level::Low => "low",
            Level::Medium => "medium",
            Level::High => "high",
        }
    }
}

/// One tool as a model sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolSpec {
    pub name: Cow<'static, str>,
    pub description: Cow<'static, str>,
    /// A JSON Schema object.
    pub parameters: serde_json::Value,
    /// Whether a model that supports it may write the only argument as plain text.
    pub free_form: bool,
}

/// One message of the conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelMessage {
    User {
        text: Arc<str>,
        pictures: Vec<Picture>,
        /// How many bytes at its beginning the user wrote; 0 for a note of Adjutant.
        words: usize,
    },
    Assistant {
        reply: Arc<Reply>,
    },
    /// The output of one tool call, paired by the provider's call id.
    Tool {
        call_id: Arc<str>,
        output: Arc<str>,
    },
}

impl ModelMessage {
    /// Returns a prompt without images.
    pub fn prompt(text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        ModelMessage::User { words: text.len(), text, pictures: Vec::new() }
    }

    /// Returns a note to the model, without images.
    pub fn user(text: impl Into<Arc<str>>) -> Self {
        ModelMessage::User { text: text.into(), pictures: Vec::new(), words: 0 }
    }

    /// Returns the words that the user wrote; `None` if the message is none of the user's.
    pub fn own_words(&self) -> Option<&str> {
        match self {
            ModelMessage::User { text, words, .. } if *words > 0 => text.get(..*words),
            _ => None,
        }
    }

    /// Returns the same message with tool calls and outputs as text, for a model that does not support tools.
    pub fn in_words(&self) -> ModelMessage {
        match self {
            ModelMessage::User { .. } => self.clone(),
            ModelMessage::Assistant { reply } if reply.calls.is_empty() => self.clone(),
            ModelMessage::Assistant { reply } => {
                let mut text = reply.text.clone();
                for RequestedCall { name, arguments, .. } in &reply.calls {
                    let gap = if text.is_empty() { "" } else { "\n" };
                    text.push_str(&format!("{gap}[{name} {arguments}]"));
                }
                let (reasoning, usage, stop) = (reply.reasoning.clone(), reply.usage, reply.stop);
                let reply = Reply { text, reasoning, usage, stop, ..Reply::default() };
                ModelMessage::Assistant { reply: Arc::new(reply) }
            }
            ModelMessage::Tool { output, .. } => ModelMessage::user(format!("[output]\n{output}")),
        }
    }
}

/// A complete answer of the model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<RequestedCall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    pub stop: StopCause,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<OpaqueItems>,
}

/// A reply that the output limit cut, after which the model is asked once more (S69). It is no part of the conversation,
/// unless the second request fails for good.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CutReply {
    pub reply: Arc<Reply>,
    /// The output limit of the second request, in tokens.
    pub room: u32,
}

/// The items of a reply that the provider needs back verbatim, such as signed or encrypted reasoning. Only the
/// model that wrote them can read them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpaqueItems {
    pub wire: Wire,
    pub provider: String,
    pub model: String,
    /// All items of the reply in order, each as JSON text. Text, because parsed and rewritten JSON is not
    /// verbatim.
    pub items: Vec<String>,
}

/// One tool call as the model wrote it. The arguments are not yet checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedCall {
    /// The provider's id of the call. Its output has the same id.
    pub id: String,
    pub name: String,
    /// The arguments as the model wrote them, which may be invalid JSON. The plain text of a free-form call is the argument
    /// [`FREE_INPUT`](crate::tool::FREE_INPUT) of a JSON object.
    pub arguments: String,
    /// Whether the model wrote plain text, not JSON.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub free_form: bool,
}

impl RequestedCall {
    /// Returns the plain text of a free-form call; `None` for any other call.
    pub fn free_input(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct FreeInput {
            input: String,
        }
        // Arguments that were too large for the log are not there any more.
        let given = || serde_json::from_str(&self.arguments).map(|FreeInput { input }| input);
        self.free_form.then(|| given().unwrap_or_default())
    }
}

/// Why the model stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopCause {
    #[default]
    EndTurn,
    ToolCalls,
    /// The output limit cut the reply, so its tool calls must not run.
    MaxTokens,
    /// The provider's content filter or the model refused.
    Refusal,
}

/// Tokens of one request as the provider counted them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// All tokens of the request, with those of the cache.
    pub input_tokens: u64,
    /// All tokens of the reply, with those of its reasoning.
    pub output_tokens: u64,
    /// The part of the input that the provider had in its cache.
    #[serde(default)]
    pub cache_read_tokens: u64,
    /// The part of the input that the provider put into its cache; 0 if it does not count that.
    #[serde(default)]
    pub cache_write_tokens: u64,
}

/// A piece of a reply while it streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    Text(String),
    Reasoning(String),
    /// The model began a tool call. Its arguments come only with the complete reply.
    ToolCall {
        name: String,
    },
}

impl Usage {
    /// Returns the counts with no more tokens of the cache than the input has, whatever the provider says.
    #[must_use]
    pub fn within_input(self) -> Usage {
        let cache_read_tokens = self.cache_read_tokens.min(self.input_tokens);
        let cache_write_tokens = self.cache_write_tokens.min(self.input_tokens - cache_read_tokens);
        Usage { cache_read_tokens, cache_write_tokens, ..self }
    }

    /// Whether the provider has counted: some servers send counts of 0 instead of none, and no request has no tokens.
    pub fn is_counted(&self) -> bool {
        self.input_tokens > 0
    }

    /// Returns the tokens of the input that were neither read from the cache nor written to it.
    pub fn uncached_tokens(self) -> u64 {
        self.input_tokens.saturating_sub(self.cache_read_tokens).saturating_sub(self.cache_write_tokens)
    }

    /// Returns the tokens of request and reply.
    pub fn all_tokens(self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Returns the sum. It saturates, because a provider may report any number.
    pub fn and(self, more: Usage) -> Usage {
        Usage {
            input_tokens: self.input_tokens.saturating_add(more.input_tokens),
            output_tokens: self.output_tokens.saturating_add(more.output_tokens),
            cache_read_tokens: self.cache_read_tokens.saturating_add(more.cache_read_tokens),
            cache_write_tokens: self.cache_write_tokens.saturating_add(more.cache_write_tokens),
        }
    }
}
