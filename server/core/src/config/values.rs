//! Checks of single values: models, URLs, names of variables, headers, numbers.
//!
//! Never quotes a value that may be a secret: an error describes the value instead.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::Flaw;
use super::tree::{Node, Raw};

/// What is wrong with a value, and what to write instead.
#[derive(Debug)]
pub(super) struct Complaint {
    pub(super) flaw: Flaw,
    pub(super) message: String,
    pub(super) what_to_do: String,
}

impl Complaint {
    pub(super) fn new(message: impl Into<String>, what_to_do: impl Into<String>) -> Self {
        Self { flaw: Flaw::Value, message: message.into(), what_to_do: what_to_do.into() }
    }

    /// Returns the same complaint with this flaw.
    pub(super) fn of(self, flaw: Flaw) -> Self {
        Self { flaw, ..self }
    }

    /// Returns a complaint about a value of the wrong type.
    pub(super) fn shape(raw: &Raw, wanted: impl std::fmt::Display) -> Self {
        Self::new(format!("this is {}", raw.shape()), format!("write {wanted}")).of(Flaw::Shape)
    }
}

/// The longest text of a value, in bytes.
const MOST_TEXT: usize = 4096;
/// The most headers of one provider.
const MOST_HEADERS: usize = 32;

/// Splits `provider/model` at the first slash; `None` if it is not a valid name of a model.
pub(super) fn split_model(text: &str) -> Option<(&str, &str)> {
    let (provider, model) = text.split_once('/')?;
    let odd = text.len() > 256 || text.chars().any(|c| c.is_control() || c.is_whitespace());
    (!provider.is_empty() && !model.is_empty() && !odd).then_some((provider, model))
}

/// Cuts a text to 80 characters, for an error message.
pub(super) fn shorten(text: &str) -> String {
    if text.chars().count() <= 80 {
        return text.to_owned();
    }
    text.chars().take(79).chain(['…']).collect()
}

/// Returns the text of a node; `wanted` describes the valid values for the complaint.
pub(super) fn text<'a>(node: &'a Node, wanted: &str) -> Result<&'a str, Complaint> {
    match &node.raw {
        Raw::Text(text) if text.len() > MOST_TEXT => Err(Complaint::new(
            format!("this text has {} bytes", text.len()),
            format!("keep it under {MOST_TEXT}"),
        )),
        Raw::Text(text) if text.chars().any(char::is_control) => {
            Err(Complaint::new("this text has control characters in it", format!("write {wanted}")))
        }
        Raw::Text(text) => Ok(text),
        other => Err(Complaint::shape(other, wanted)),
    }
}

/// Checks the name of an environment variable. The error does not quote it, because it may be a pasted key.
pub(super) fn variable(text: &str) -> Result<String, Complaint> {
    let mut chars = text.chars();
    let begins = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if begins && chars.all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Ok(text.to_owned());
    }
    Err(Complaint::new(
        "this is not the name of an environment variable",
        "put the key into a variable and write its name here, for example \"OPENAI_API_KEY\"",
    ))
}

/// Checks a number that may have a fraction.
pub(super) fn amount(node: &Node, max: u32) -> Result<serde_json::Number, Complaint> {
    let wanted = || format!("a number from 0 to {max}");
    let (number, written) = match node.raw {
        // A float may round such a number, but only far above every limit.
        Raw::Whole(number) => (number as f64, Some(serde_json::Number::from(number))),
        Raw::Fraction(number) => (number, serde_json::Number::from_f64(number)),
        ref other => return Err(Complaint::shape(other, wanted())),
    };
    match written {
        Some(written) if (0.0..=f64::from(max)).contains(&number) => Ok(written),
        _ => Err(Complaint::new(format!("{number} is not {}", wanted()), format!("write {}", wanted()))),
    }
}

/// A usable base URL, with an optional warning for the user.
#[derive(Debug)]
pub(super) struct BaseUrl {
    /// Without a trailing slash.
    pub(super) text: String,
    pub(super) warning: Option<Complaint>,
}

/// Checks a base URL: https, or http to this machine only.
pub(super) fn base_url(given: &str) -> Result<BaseUrl, Complaint> {
    let redacted = redact_url(given);
    let write = "write it like \"https://api.openai.com/v1\"";
    let bad = |why: &str| Complaint::new(format!("{redacted:?} {why}"), write);
    if given.chars().any(|c| c.is_control() || c.is_whitespace() || c == '\\') {
        return Err(bad("has spaces or control characters in it"));
    }
    let (scheme, rest) = given.split_once("://").ok_or_else(|| bad("is not a URL"))?;
    let encrypted = match scheme.to_ascii_lowercase().as_str() {
        "https" => true,
        "http" => false,
        _ => return Err(bad("is not an http or https URL")),
    };
    if rest.contains(['?', '#']) {
        return Err(bad("has a query or a fragment"));
    }
    let authority = rest.split('/').next().unwrap_or_default();
    let (credentials, host_port) = match authority.rsplit_once('@') {
        Some((credentials, host)) => (Some(credentials), host),
        None => (None, authority),
    };
    let host = host_of(host_port).ok_or_else(|| bad("has no valid host"))?;
    if !encrypted && !is_loopback(host) {
        return Err(Complaint::new(
            format!("{redacted:?} would send prompts and the key unencrypted, so it is not used"),
            "use https; plain http goes only to this machine",
        )
        .of(Flaw::Unencrypted));
    }
    let warning = credentials.map(|_| {
        Complaint::new(
            format!("{redacted:?} has credentials in it"),
            "put the key into an environment variable and name it in `api_key_env`",
        )
        .of(Flaw::Credentials)
    });
    Ok(BaseUrl { text: given.trim_end_matches('/').to_owned(), warning })
}

/// Returns the host of `host`, `host:port`, `[v6]` or `[v6]:port`.
pub(super) fn host_of(text: &str) -> Option<&str> {
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        let (host, after) = rest.split_once(']')?;
        host.parse::<Ipv6Addr>().ok()?;
        (host, if after.is_empty() { None } else { Some(after.strip_prefix(':')?) })
    } else {
        match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        }
    };
    let port_is_fine = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
    let host_is_fine = !host.is_empty() && host.chars().all(|c| c.is_alphanumeric() || "-._:".contains(c));
    (port_is_fine && host_is_fine).then_some(host)
}

/// Returns whether a host is this machine, by its name or address.
pub(super) fn is_loopback(host: &str) -> bool {
    let lower = host.to_ascii_lowercase();
    lower == "localhost"
        || lower.ends_with(".localhost")
        || host.parse::<Ipv4Addr>().is_ok_and(|ip| ip.is_loopback())
        || host.parse::<Ipv6Addr>().is_ok_and(|ip| ip.is_loopback())
}

/// Returns a URL for display, without credentials, query and fragment.
pub fn redact_url(url: &str) -> String {
    let (scheme, rest) = match url.find("://") {
        Some(at) => url.split_at(at + 3),
        None => ("", url),
    };
    // The login ends at the last "@", because a password may contain any character.
    let (redacted, rest) = match rest.rsplit_once('@') {
        Some((_, host)) => ("…@", host),
        None => ("", rest),
    };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    shorten(&format!("{scheme}{redacted}{rest}"))
}

/// Checks a table of headers.
pub(super) fn headers(node: &Node) -> Result<BTreeMap<String, String>, Complaint> {
    let Raw::Table(entries) = &node.raw else {
        return Err(Complaint::shape(&node.raw, "a table such as { \"X-Team\" = \"tools\" }"));
    };
    if entries.len() > MOST_HEADERS {
        return Err(Complaint::new(
            format!("these are {} headers", entries.len()),
            format!("keep to {MOST_HEADERS}"),
        ));
    }
    let mut headers = BTreeMap::new();
    for (name, node) in entries {
        let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        if name.is_empty() || name.len() > 128 || !name.chars().all(token) {
            return Err(Complaint::new(
                format!("{:?} is not the name of a header", shorten(name)),
                "use letters, digits and dashes",
            ));
        }
        let value = text(node, "text").map_err(|complaint| {
            let message = format!("header {name:?}: {}", complaint.message);
            Complaint { message, ..complaint }
        })?;
        headers.insert(name.clone(), value.to_owned());
    }
    Ok(headers)
}

/// Checks a whole number against its bounds.
pub(super) fn whole(node: &Node, min: u64, max: u64) -> Result<u64, Complaint> {
    let Raw::Whole(given) = node.raw else {
        return Err(Complaint::shape(&node.raw, format!("a whole number from {min} to {max}")));
    };
    match u64::try_from(given) {
        Ok(number) if (min..=max).contains(&number) => Ok(number),
        _ => Err(Complaint::new(
            format!("{given} is out of bounds"),
            format!("write a whole number from {min} to {max}"),
        )),
    }
}
