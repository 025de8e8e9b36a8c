//! What the model double says in one answer, whatever the wire.
//!
//! Never knows how a wire writes it.

/// What an answer says, in whichever dialect it is sent.
#[derive(Clone, Debug, Default)]
pub struct Said {
    pub parts: Vec<Part>,
    /// Tokens read and written.
    pub usage: Option<(u64, u64)>,
    /// Why it ended, as Chat Completions names it; none leaves the end out.
    pub finish: Option<String>,
    /// Whether the last event of the stream is sent.
    pub done: bool,
}

/// One piece of a streamed answer: one event or more, by the dialect.
#[derive(Clone, Debug)]
pub enum Part {
    Text(String),
    Reasoning(String),
    /// A tool call begins, with the first piece of its arguments.
    Call {
        index: usize,
        id: String,
        name: String,
        arguments: String,
    },
    /// The arguments of a call go on.
    Arguments {
        index: usize,
        arguments: String,
    },
    /// A `data:` line as it is.
    Raw(String),
    /// What a server sends so that the connection stays open.
    KeepAlive,
}

/// One tool call with all its pieces.
#[derive(Clone, Debug)]
pub struct SaidCall {
    pub index: usize,
    pub id: String,
    pub name: String,
    pub arguments: String,
}

impl Said {
    /// All of its text.
    pub fn text(&self) -> String {
        self.parts.iter().map(|part| if let Part::Text(word) = part { word } else { "" }).collect()
    }

    /// All of its reasoning.
    pub fn reasoning(&self) -> String {
        self.parts.iter().map(|part| if let Part::Reasoning(word) = part { word } else { "" }).collect()
    }

    /// Its calls, in the order they began.
    pub fn calls(&self) -> Vec<SaidCall> {
        let mut calls = Vec::<SaidCall>::new();
        for part in &self.parts {
            match part {
                Part::Call { index, id, name, arguments } => calls.push(SaidCall {
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
