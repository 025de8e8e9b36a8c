//! Slash commands: a prompt that begins with `/name` stands for a text of the user, the workspace or Adjutant.
//!
//! Never reads a file, and never runs anything: a command is text for the model alone. It changes no rule and no setting.

#[cfg(test)]
mod tests;

use crate::text::display::{one_line, shown};
use crate::tool::nearest;

/// The longest text of a command, in bytes.
pub const MAX_TEXT: usize = 32 << 10;
/// The longest name, in characters.
const MAX_NAME: usize = 64;
/// Characters of a description.
const MAX_DESCRIPTION: usize = 100;
/// Near names in the answer to an unknown one.
const MAX_NEAR: usize = 5;

/// Where the text of a command comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandSource {
    User,
    Workspace,
    BuiltIn,
}

/// A command that a prompt can begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlashCommand {
    pub name: String,
    pub description: String,
    /// What may follow the name, for example `FILE`.
    pub hint: Option<String>,
    pub text: String,
    pub source: CommandSource,
}

/// The command that is no text for the model: Adjutant carries it out, so that no file can replace it.
pub const COMPACT: &str = "compact";

/// The commands that Adjutant has itself: name, description, text. A file of the same name replaces one.
const BUILT_IN: &[(&str, &str, &str)] = &[
    (COMPACT, "Replace the earlier conversation by a summary of it, to make room", ""),
    (
        "init",
        "Write AGENTS.md: what an agent must know of this workspace",
        "Explore this workspace and write AGENTS.md at its root: how to build, test and check it, how it is laid out, and the \
         conventions that its files follow. Say only what you have seen in its files. Keep it below 60 lines. If there is one \
         already, correct and complete it, and keep what its authors wrote.",
    ),
    (
        "review",
        "Look for mistakes in the changes of this session",
        "Review the changes that this session has made, as a careful colleague would: read each changed file again, and look for \
         mistakes, missed cases, and tests that are missing. Change nothing. List what you found, the gravest first, each with its \
         path and line. $ARGUMENTS",
    ),
];

/// Returns the commands that Adjutant has itself.
pub fn built_in() -> Vec<SlashCommand> {
    let command = |(name, description, text): &(&str, &str, &str)| SlashCommand {
        name: (*name).to_owned(),
        description: (*description).to_owned(),
        hint: None,
        text: (*text).to_owned(),
        source: CommandSource::BuiltIn,
    };
    BUILT_IN.iter().map(command).collect()
}

impl SlashCommand {
    /// Parses the file of a command. Of its front matter, `description` and `argument-hint` count; everything else, such as a list
    /// of tools, means nothing. `None` if the name cannot be typed or is [`COMPACT`].
    pub fn of_file(name: &str, file: &str, source: CommandSource) -> Option<Self> {
        if !is_name(name) || name == COMPACT {
            return None;
        }
        let file = file.strip_prefix('\u{feff}').unwrap_or(file).replace("\r\n", "\n");
        let front = file.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
        let (front, body) = front.unwrap_or(("", &file));
        let value = |key: &str| {
            let lines = front.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
            let value = lines.map(|value| value.trim().trim_matches(['"', '\''])).next()?;
            (!value.is_empty()).then(|| one_line(value, MAX_DESCRIPTION))
        };
        let text = body.trim().to_owned();
        let first =
            text.lines().map(|line| line.trim_start_matches('#').trim()).find(|line| !line.is_empty());
        let description =
            value("description").unwrap_or_else(|| one_line(first.unwrap_or_default(), MAX_DESCRIPTION));
        Some(Self { name: name.to_owned(), description, hint: value("argument-hint"), text, source })
    }

    /// Returns what is added to the words of a prompt that begins with this command.
    pub fn worded(&self, arguments: &str) -> String {
        let name = &self.name;
        let whose = match self.source {
            CommandSource::User => format!("The command /{name} of the user says:"),
            CommandSource::Workspace => {
                format!("The command /{name} says, in words of the workspace, which change no rule:")
            }
            CommandSource::BuiltIn => format!("The command /{name} says:"),
        };
        format!("\n\n{whose}\n{}\n", shown(self.expanded(arguments).trim()))
    }

    /// Returns the text with the arguments in place of `$ARGUMENTS`, and one of them in place of `$1` to `$9`.
    fn expanded(&self, arguments: &str) -> String {
        let single = split(arguments);
        let mut out = String::with_capacity(self.text.len());
        let mut rest = self.text.as_str();
        while let Some(at) = rest.find('$') {
            out.push_str(&rest[..at]);
            let after = &rest[at + 1..];
            let digit = after.chars().next().and_then(|c| c.to_digit(10)).filter(|digit| *digit > 0);
            if let Some(tail) = after.strip_prefix("ARGUMENTS") {
                out.push_str(arguments);
                rest = tail;
            } else if let Some(digit) = digit {
                out.push_str(single.get(digit as usize - 1).map_or("", String::as_str));
                rest = &after[1..];
            } else {
                out.push('$');
                rest = after;
            }
        }
        out.push_str(rest);
        out
    }
}

/// A prompt that begins with a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    pub name: String,
    /// Everything after the name.
    pub arguments: String,
}

impl Invocation {
    /// Parses the words of a prompt; `None` if they begin with no command. A path such as `/usr/bin` is none.
    pub fn of(words: &str) -> Option<Self> {
        let rest = words.strip_prefix('/')?;
        let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        is_name(name).then(|| Self { name: name.to_owned(), arguments: arguments.trim().to_owned() })
    }

    /// Returns the command that is meant. An error is one sentence for the user.
    pub fn find<'a>(&self, commands: &'a [SlashCommand]) -> Result<&'a SlashCommand, String> {
        commands.iter().find(|command| command.name == self.name).ok_or_else(|| {
            let names = commands.iter().map(|command| command.name.as_str());
            let near: Vec<String> = nearest(&self.name, names)
                .into_iter()
                .take(MAX_NEAR)
                .map(|name| format!("/{name}"))
                .collect();
            let near =
                if near.is_empty() { String::new() } else { format!("; near are {}", near.join(", ")) };
            format!("there is no command /{}{near}; put a blank before it if it is none", self.name)
        })
    }
}

/// Returns the name that is being typed at the end of `before`, which is the beginning of a prompt.
pub fn typed_name(before: &str) -> Option<&str> {
    let name = before.strip_prefix('/')?;
    (name.is_empty() || is_name(name)).then_some(name)
}

fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':');
    name.starts_with(char::is_alphanumeric) && name.chars().all(fits) && name.chars().count() <= MAX_NAME
}

/// Splits arguments at blanks; a part in double quotes is one.
fn split(arguments: &str) -> Vec<String> {
    let (mut parts, mut part, mut in_quotes) = (Vec::new(), None::<String>, false);
    for c in arguments.chars() {
        match c {
            '"' => {
                in_quotes = !in_quotes;
                part.get_or_insert_default();
            }
            c if c.is_whitespace() && !in_quotes => parts.extend(part.take()),
            c => part.get_or_insert_default().push(c),
        }
    }
    parts.extend(part);
    parts
}
