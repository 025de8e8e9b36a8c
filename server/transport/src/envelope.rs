//! JSON-RPC envelopes: parses a body as a request, a notification or a response. Any other body is
//! refused, with the error to answer.
//!
//! Params, results and ids stay raw text. Never guesses: a body that is two of these at once, or that has
//! a key twice, is refused.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use adjutant_protocol::errors::ErrorName;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::framing::BODY_LIMIT;

/// The JSON-RPC and LSP error codes that the transport itself uses.
pub mod code {
    /// The body is not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// The body is JSON but not a valid message.
    pub const INVALID_REQUEST: i64 = -32600;
    /// No such method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The params cannot be read.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The server failed.
    pub const INTERNAL_ERROR: i64 = -32603;
    /// The client cancelled the request.
    pub const REQUEST_CANCELLED: i64 = -32800;
    /// The request is valid but cannot be served.
    pub const REQUEST_FAILED: i64 = -32803;
}

/// The longest id token that is accepted, in bytes; ids are stored and echoed.
const ID_LIMIT: usize = 1024;
/// The longest method name that is accepted, in bytes.
const METHOD_LIMIT: usize = 1024;

/// The id of a request of the peer: its token, which is echoed byte for byte, and its value, by which the
/// request is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId {
    token: Box<str>,
    key: IdKey,
}

/// The value of an id, independent of its spelling.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum IdKey {
    /// An integer of 64 bits.
    Number(i64),
    /// A longer integer, as written.
    Digits(Box<str>),
    /// A string, unescaped.
    Text(Box<str>),
}

impl RequestId {
    /// Parses an id token. Fails unless it is a string or an integer.
    fn read(raw: &RawValue) -> Result<Self, &'static str> {
        let token = raw.get();
        if token.len() > ID_LIMIT {
            return Err("the id is too long");
        }
        let key = match token.as_bytes().first() {
            Some(b'"') => {
                let text: String = serde_json::from_str(token).map_err(|_| "the id is not valid text")?;
                IdKey::Text(text.into())
            }
            Some(b'-' | b'0'..=b'9') if !token.contains(['.', 'e', 'E']) => {
                token.parse().map_or_else(|_| IdKey::Digits(token.into()), IdKey::Number)
            }
            _ => return Err("the id is neither a string nor an integer"),
        };
        Ok(RequestId { token: token.into(), key })
    }

    /// Returns the token as the peer wrote it.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Returns the value of the id.
    pub fn key(&self) -> &IdKey {
        &self.key
    }
}

/// One well-formed message.
#[derive(Debug)]
pub enum Envelope {
    /// Expects one answer.
    Request {
        /// Its id.
        id: RequestId,
        /// Its method.
        method: String,
        /// Its params, not parsed.
        params: Option<Box<RawValue>>,
    },
    /// Expects no answer.
    Notification {
        /// Its method.
        method: String,
        /// Its params, not parsed.
        params: Option<Box<RawValue>>,
    },
    /// Answers a request of Adjutant; without an id it belongs to no particular request.
    Response {
        /// The id of the answered request.
        id: Option<RequestId>,
        /// The result or the error.
        reply: Result<Box<RawValue>, ErrorBody>,
    },
}

/// The error object of a response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ErrorBody {
    /// Its code.
    pub code: i64,
    /// Its text.
    #[serde(default)]
    pub message: String,
    /// Its further data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// A body that is not a valid message, with the error to answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The id for the answer, if it could be read.
    pub id: Option<RequestId>,
    /// The JSON-RPC error code.
    pub code: i64,
    /// What is wrong with the body.
    pub message: String,
    /// Whether it may have been a notification, whose sender gets no answer.
    pub lost: bool,
    /// Whether the same request works later, because only room is missing.
    pub retryable: bool,
}

impl Refusal {
    /// Returns the refusal of a request.
    pub fn of(id: RequestId, code: i64, message: impl Into<String>) -> Self {
        Refusal { id: Some(id), code, message: message.into(), lost: false, retryable: false }
    }

    /// Returns the refusal of a request for which there is no room now.
    pub fn overloaded(id: RequestId, message: impl Into<String>) -> Self {
        Refusal { retryable: true, ..Refusal::of(id, ErrorName::Overloaded.code(), message) }
    }

    /// Returns the refusal of a body whose id is unknown.
    pub fn anonymous(code: i64, message: impl Into<String>) -> Self {
        Refusal { id: None, code, message: message.into(), lost: true, retryable: false }
    }
}

/// Parses one body.
pub fn parse(body: &[u8]) -> Result<Envelope, Refusal> {
    let not_json = |why: &dyn fmt::Display| {
        Refusal::anonymous(code::PARSE_ERROR, format!("the message is not JSON: {why}"))
    };
    let text = std::str::from_utf8(body).map_err(|error| not_json(&error))?;
    if !text.trim_ascii_start().starts_with('{') {
        serde_json::from_str::<&RawValue>(text).map_err(|error| not_json(&error))?;
        let message = "the message is not an object; batches are not served";
        return Err(Refusal::anonymous(code::INVALID_REQUEST, message));
    }
    let members: Members = serde_json::from_str(text).map_err(|error| not_json(&error))?;
    members.classify()
}

/// The members of the outer object, and which of them occurs twice.
#[derive(Default)]
struct Members<'a> {
    jsonrpc: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    twice: Option<&'static str>,
    id_twice: bool,
}

#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reading<'a>(std::marker::PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Reading<'a> {
            type Value = Members<'a>;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Members::default();
                let mut others = HashSet::new();
                while let Some(Name(name)) = map.next_key()? {
                    let value: &'de RawValue = map.next_value()?;
                    members.put(name, value, &mut others);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Reading(std::marker::PhantomData))
    }
}

impl<'a> Members<'a> {
    fn put(&mut self, name: Cow<'a, str>, value: &'a RawValue, others: &mut HashSet<String>) {
        let (slot, known) = match &*name {
            "jsonrpc" => (&mut self.jsonrpc, "jsonrpc"),
            "id" => (&mut self.id, "id"),
            "method" => (&mut self.method, "method"),
            "params" => (&mut self.params, "params"),
            "result" => (&mut self.result, "result"),
            "error" => (&mut self.error, "error"),
            _ => {
                if !others.insert(name.into_owned()) {
                    self.twice = Some("an unknown key");
                }
                return;
            }
        };
        if slot.replace(value).is_some() {
            self.twice = Some(known);
            self.id_twice |= known == "id";
        }
    }

    fn classify(self) -> Result<Envelope, Refusal> {
        let id = self.id.map(RequestId::read);
        // A refused response is answered without its id, because the id is Adjutant's. The peer would read
        // it as one of its own.
        let is_response = self.method.is_none() && (self.result.is_some() || self.error.is_some());
        let known = match &id {
            Some(Ok(id)) if !self.id_twice && !is_response => Some(id.clone()),
            _ => None,
        };
        let lost = known.is_none() && !is_response;
        let refuse = |message: String| Refusal {
            id: known.clone(),
            code: code::INVALID_REQUEST,
            message,
            lost,
            retryable: false,
        };
        if let Some(key) = self.twice {
            return Err(refuse(format!("{key:?} is given twice")));
        }
        let version = self.jsonrpc.and_then(text_of);
        if version.as_deref() != Some("2.0") {
            return Err(refuse("\"jsonrpc\" is not \"2.0\"".into()));
        }
        match (self.method, self.result, self.error) {
            (Some(method), None, None) => {
                let method = text_of(method)
                    .filter(|method| method.len() <= METHOD_LIMIT)
                    .ok_or_else(|| refuse("\"method\" is not a short string".into()))?;
                let params = structured(self.params).map_err(|why| refuse(why.into()))?;
                match id {
                    None => Ok(Envelope::Notification { method, params }),
                    Some(Ok(id)) => Ok(Envelope::Request { id, method, params }),
                    Some(Err(why)) => Err(refuse(why.into())),
                }
            }
            (None, result, error) if result.is_some() != error.is_some() => {
                if self.params.is_some() {
                    return Err(refuse("a response has no \"params\"".into()));
                }
                let id = match (self.id.map(RawValue::get), id) {
                    (Some("null"), _) => None,
                    (_, Some(Ok(id))) => Some(id),
                    (_, Some(Err(why))) => return Err(refuse(why.into())),
                    (_, None) => return Err(refuse("a response needs an \"id\"".into())),
                };
                let reply = match (result, error) {
                    (Some(result), _) => Ok(result.to_owned()),
                    (_, error) => Err(error
                        .and_then(|error| serde_json::from_str(error.get()).ok())
                        .ok_or_else(|| refuse("\"error\" is not an error object".into()))?),
                };
                Ok(Envelope::Response { id, reply })
            }
            (None, None, None) => Err(refuse("neither \"method\" nor \"result\"".into())),
            (Some(_), ..) => Err(refuse("both a request and a response".into())),
            (None, ..) => Err(refuse("both \"result\" and \"error\"".into())),
        }
    }
}

fn text_of(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

/// Returns params if they are an object or an array. `null` counts as no params, because some clients send
/// it.
fn structured(params: Option<&RawValue>) -> Result<Option<Box<RawValue>>, &'static str> {
    match params.map(|raw| (raw, raw.get().as_bytes().first())) {
        None | Some((_, Some(b'n'))) => Ok(None),
        Some((raw, Some(b'{' | b'['))) => Ok(Some(raw.to_owned())),
        Some(_) => Err("\"params\" is neither an object nor an array"),
    }
}

/// Returns the id in the params of `$/cancelRequest`, if it is valid.
pub fn cancelled_id(params: Option<&RawValue>) -> Option<RequestId> {
    #[derive(Deserialize)]
    struct CancelParams<'a> {
        #[serde(borrow)]
        id: &'a RawValue,
    }
    let params: CancelParams = serde_json::from_str(params?.get()).ok()?;
    RequestId::read(params.id).ok()
}

/// Parses params into a tree. Half of a surrogate pair, which an editor's buffer may contain but a Rust
/// string may not, becomes U+FFFD. Both have the same length in UTF-16.
pub fn tree(params: &RawValue) -> Result<Value, serde_json::Error> {
    serde_json::from_str(params.get()).or_else(|error| {
        let replaced = replace_lone_surrogates(params.get());
        replaced.map_or(Err(error), |text| serde_json::from_str(&text))
    })
}

/// Replaces lone escapes like `\uD800` by U+FFFD. Returns `None` if there are none.
fn replace_lone_surrogates(json: &str) -> Option<String> {
    let unit = |rest: &str| -> Option<u16> {
        let digits = rest.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut replaced = String::with_capacity(json.len());
    let mut changed = false;
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        replaced.push_str(before);
        let length = match unit(escape) {
            Some(0xD800..=0xDBFF) => match escape.get(6..).and_then(unit) {
                Some(0xDC00..=0xDFFF) => 12,
                _ => 0,
            },
            Some(0xDC00..=0xDFFF) => 0,
            Some(_) => 6,
            None => 2,
        };
        if length == 0 {
            replaced.push_str("\\ufffd");
            changed = true;
            rest = escape.get(6..)?;
        } else {
            replaced.push_str(escape.get(..length)?);
            rest = escape.get(length..)?;
        }
    }
    replaced.push_str(rest);
    changed.then_some(replaced)
}

/// Returns the body of a request, or of a notification if `id` is `None`.
pub fn call_body<P>(id: Option<i32>, method: &str, params: &P) -> Result<Vec<u8>, String>
where
    P: Serialize + ?Sized,
{
    let mut body = Vec::with_capacity(256);
    body.extend_from_slice(b"{\"jsonrpc\":\"2.0\"");
    if let Some(id) = id {
        body.extend_from_slice(format!(",\"id\":{id}").as_bytes());
    }
    body.extend_from_slice(b",\"method\":");
    append(&mut body, method)?;
    let before = body.len();
    body.extend_from_slice(b",\"params\":");
    append(&mut body, params)?;
    // JSON-RPC has no `null` params; a method without params has no such key.
    if body[before..] == *b",\"params\":null" {
        body.truncate(before);
    }
    close(body)
}

/// Returns the body of a successful response.
pub fn result_body<R>(id: &RequestId, result: &R) -> Result<Vec<u8>, String>
where
    R: Serialize + ?Sized,
{
    let mut body = answer_start(Some(id));
    body.extend_from_slice(b",\"result\":");
    append(&mut body, result)?;
    close(body)
}

/// Returns the body of an error response.
pub fn error_body<E>(id: Option<&RequestId>, error: &E) -> Result<Vec<u8>, String>
where
    E: Serialize + ?Sized,
{
    let mut body = answer_start(id);
    body.extend_from_slice(b",\"error\":");
    append(&mut body, error)?;
    close(body)
}

fn answer_start(id: Option<&RequestId>) -> Vec<u8> {
    let mut body = Vec::with_capacity(256);
    body.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    body.extend_from_slice(id.map_or("null", RequestId::token).as_bytes());
    body
}

fn append<T: Serialize + ?Sized>(body: &mut Vec<u8>, value: &T) -> Result<(), String> {
    serde_json::to_writer(body, value).map_err(|error| error.to_string())
}

fn close(mut body: Vec<u8>) -> Result<Vec<u8>, String> {
    // One more byte must not double the memory of a large body.
    body.reserve_exact(1);
    body.push(b'}');
    if body.len() > BODY_LIMIT {
        return Err(format!("{} bytes are over the limit of {BODY_LIMIT}", body.len()));
    }
    Ok(body)
}

#[cfg(test)]
mod tests;
