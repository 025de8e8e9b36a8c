//! The content of one answer of the model double, independent of the wire.
//!
//! Never knows the format of a wire.

/// The content of an answer, for any dialect.
#[derive(Clone, Debug, Default)]
pub struct Said {
    pub parts: Vec<Part>,
    /// Input and output tokens.
    pub usage: Option<(u64, u64)>,
    /// The finish reason in the names of Chat Completions; without one, the finish event is left out.
    pub finish: Option<String>,
    /// Whether the last event of the stream is sent.
    pub done: bool,
}

/// One piece of a streamed answer; a dialect writes one or more events for it.
#[derive(Clone, Debug)]
pub enum Part {
    Text(String),
    Reasoning(String),
    /// The begin of a tool call, with the first piece of its arguments.
    Call {
        index: usize,
        id: String,
        name: String,
        arguments: String,
        /// The arguments are plain text; only Responses has such calls.
        free_form: bool,
    },
    /// The next piece of a call's arguments.
    Arguments {
        index: usize,
        arguments: String,
    },
    /// A literal `data:` line.
    Raw(String),
    /// The keep-alive of the dialect.
    KeepAlive,
}

/// One tool call with all its pieces.
#[derive(Clone, Debug)]
pub struct SaidCall {
    pub index: usize,
    pub id: String,
    pub name: String,
    pub arguments: String,
    pub free_form: bool,
}

impl Said {
    /// Returns the whole text.
    pub fn text(&self) -> String {
        self.parts.iter().map(|part| if let Part::Text(word) = part { word } else { "" }).collect()
    }

    /// Returns the whole reasoning.
    pub fn reasoning(&self) -> String {
        self.parts.iter().map(|part| if let Part::Reasoning(word) = part { word } else { "" }).collect()
    }

    /// Returns the calls, in the order of their begin.
    pub fn calls(&self) -> Vec<SaidCall> {
        let mut calls = Vec::<SaidCall>::new();
        for part in &self.parts {
            match part {
                Part::Call { index, id, name, arguments, free_form } => calls.push(SaidCall {
                    free_form: *free_form,
                    index: *index,
                    id: id.clone(),
                    name: name.clone(),
                    arguments: arguments.clone(),
                }),
                Part::Arguments { index, arguments } => {
                    let call = calls.iter_mut().find(|call| call.index == *index);
                    call.expect("arguments follow their call").arguments.push_str(arguments);
                }
                _ => {}
            }
        }
        calls
    }
}
