//! Checks one value of one key against its type.
//!
//! Never decides what replaces a bad value; the resolver does.

use super::cells::{MOST_RULES, Source, Value};
use super::keys::{Key, ValueType};
use super::rules::DenyRule;
use super::tree::{Node, Raw};
use super::values::{self, Complaint};
use super::{Flaw, reach};

/// The most fallback models.
const MOST_MODELS: usize = 10;

/// The most names in one list.
const MOST_NAMES: usize = 50;

/// Warnings about values that are used anyway, with their lines.
pub(super) type Notes = Vec<(Option<u32>, Complaint)>;

/// Checks one value and returns it, or what is wrong with it. Adds warnings about a usable value to `notes`.
pub(super) fn check(key: &Key, node: &Node, source: &Source, notes: &mut Notes) -> Result<Value, Complaint> {
    match key.kind {
        ValueType::Truth => match node.raw {
            Raw::Truth(truth) => Ok(Value::Truth(truth)),
            _ => Err(Complaint::shape(&node.raw, "true or false, without quotes")),
        },
        ValueType::Whole { min, max } => values::whole(node, min, max).map(Value::Whole),
        ValueType::Amount { max } => values::amount(node, max).map(Value::Number),
        ValueType::Headers => values::headers(node).map(Value::Headers),
        ValueType::Currency => currency(values::text(node, "a currency")?).map(Value::Text),
        ValueType::Rules => Ok(Value::Rules(rules(node, source, notes)?)),
        ValueType::Variable => {
            values::variable(values::text(node, "the name of a variable")?).map(Value::Text)
        }
        ValueType::Script => path(values::text(node, "a path")?, "name the script", source).map(Value::Text),
        ValueType::KeyFile | ValueType::CaFile => {
            path(values::text(node, "a path")?, "name the file", source).map(Value::Text)
        }
        ValueType::Command => command(node, source).map(Value::Words),
        ValueType::Names => names(node).map(Value::Words),
        ValueType::Proxy => proxy(values::text(node, "the address of a proxy")?).map(Value::Text),
        ValueType::Hosts => {
            Ok(Value::Text(values::text(node, "hosts, with commas between them")?.to_owned()))
        }
        ValueType::Wire => named(key, node, "is no wire format"),
        ValueType::EditTool => named(key, node, "is no tool that edits files"),
        ValueType::Model => model(node).map(Value::Text),
        ValueType::Models => models(node).map(Value::Models),
        ValueType::Popup | ValueType::Saves | ValueType::Detail => named(key, node, "is no choice"),
        ValueType::Edits => named(key, node, "is no mode"),
        ValueType::Level => named(key, node, "is no level"),
        ValueType::Url => {
            let url = values::base_url(values::text(node, "a URL")?)?;
            if let Some(warning) = url.warning {
                notes.push((node.line, warning));
            }
            Ok(Value::Text(url.text))
        }
    }
}

/// Checks that a text is one of the names of its key.
fn named(key: &Key, node: &Node, is_not: &str) -> Result<Value, Complaint> {
    let wanted = key.kind.to_string();
    let text = values::text(node, &wanted)?;
    if key.kind.choices().contains(&text) {
        return Ok(Value::Text(text.to_owned()));
    }
    Err(Complaint::new(format!("{:?} {is_not}", values::shorten(text)), format!("write {wanted}")))
}

fn currency(text: &str) -> Result<String, Complaint> {
    if (1..=8).contains(&text.len()) && text.chars().all(|c| c.is_ascii_alphabetic()) {
        return Ok(text.to_owned());
    }
    let message = format!("{:?} is no currency", values::shorten(text));
    Err(Complaint::new(message, "write up to 8 letters, for example \"EUR\""))
}

fn model(node: &Node) -> Result<String, Complaint> {
    let text = values::text(node, "\"PROVIDER/MODEL\"")?;
    if values::split_model(text).is_some() {
        return Ok(text.to_owned());
    }
    let message = format!("{:?} does not name a model", values::shorten(text));
    Err(Complaint::new(message, "write \"PROVIDER/MODEL\", for example \"openai/MODEL\""))
}

fn models(node: &Node) -> Result<Vec<String>, Complaint> {
    let Raw::List(items) = &node.raw else {
        return Err(Complaint::shape(&node.raw, "a list such as [\"PROVIDER/MODEL\"]"));
    };
    if items.len() > MOST_MODELS {
        let message = format!("these are {} models", items.len());
        return Err(Complaint::new(message, format!("keep to {MOST_MODELS}")));
    }
    items.iter().map(model).collect()
}

fn rules(node: &Node, source: &Source, notes: &mut Notes) -> Result<Vec<DenyRule>, Complaint> {
    let one = std::slice::from_ref(node);
    let items = match &node.raw {
        Raw::List(items) => items.as_slice(),
        Raw::Text(_) => {
            let complaint =
                Complaint::new("this is text, used as a list with one rule", "write a list: [\"...\"]")
                    .of(Flaw::Shape);
            notes.push((node.line, complaint));
            one
        }
        other => return Err(Complaint::shape(other, "a list of rules; until then every tool is denied")),
    };
    let mut rules = Vec::new();
    for item in items.iter().take(MOST_RULES + 1) {
        let origin = source.origin_at(item.line);
        match &item.raw {
            Raw::Text(text) => {
                let (rule, fault) = DenyRule::parse(text, origin);
                if let Some(fault) = fault {
                    let complaint = Complaint::new(fault.message, fault.what_to_do).of(Flaw::Rule);
                    notes.push((item.line, complaint));
                }
                rules.push(rule);
            }
            other => {
                let complaint = Complaint::shape(other, "a rule as text; until then every tool is denied");
                notes.push((item.line, complaint));
                rules.push(DenyRule::everything(origin));
            }
        }
    }
    Ok(rules)
}

/// The most words of a command.
const MOST_WORDS: usize = 64;

/// Checks the command that prints a key. No error quotes a word of it.
fn command(node: &Node, source: &Source) -> Result<Vec<String>, Complaint> {
    const WRITE: &str = "a list of words, for example [\"pass\", \"show\", \"openai\"]";
    let Raw::List(items) = &node.raw else { return Err(Complaint::shape(&node.raw, WRITE)) };
    if items.len() > MOST_WORDS {
        return Err(Complaint::new(
            format!("these are {} words", items.len()),
            format!("keep to {MOST_WORDS}"),
        ));
    }
    let words = items.iter().map(|item| values::text(item, WRITE).map(str::to_owned));
    let mut words = words.collect::<Result<Vec<_>, _>>()?;
    match words.first_mut() {
        // A name without a slash is searched in `PATH`.
        Some(program) if program.contains('/') => *program = path(program, "name the program", source)?,
        Some(program) if !program.is_empty() => {}
        _ => return Err(Complaint::new("there is no program in it", format!("write {WRITE}"))),
    }
    Ok(words)
}

fn names(node: &Node) -> Result<Vec<String>, Complaint> {
    const WRITE: &str = "a list of names, for example [\"memory\"]";
    let Raw::List(items) = &node.raw else { return Err(Complaint::shape(&node.raw, WRITE)) };
    if items.len() > MOST_NAMES {
        return Err(Complaint::new(
            format!("these are {} names", items.len()),
            format!("keep to {MOST_NAMES}"),
        ));
    }
    items.iter().map(|item| values::text(item, WRITE).map(str::to_owned)).collect()
}

fn proxy(text: &str) -> Result<String, Complaint> {
    if text == reach::NO_PROXY_AT_ALL {
        return Ok(text.to_owned());
    }
    match reach::parse(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(why) => {
            let (why, write) = why.split_once("; ").unwrap_or((&why, "name an http proxy"));
            Err(Complaint::new(format!("this {why}"), format!("{write}, or \"none\"")))
        }
    }
}

fn path(text: &str, name_it: &str, source: &Source) -> Result<String, Complaint> {
    let path = std::path::Path::new(text);
    match &source.directory {
        _ if text.is_empty() => Err(Complaint::new("the path is empty", name_it)),
        _ if path.is_absolute() => Ok(text.to_owned()),
        Some(directory) => Ok(std::path::Path::new(directory).join(path).to_string_lossy().into_owned()),
        None => Err(Complaint::new(
            format!("{:?} is a relative path", values::shorten(text)),
            "write an absolute one",
        )),
    }
}
