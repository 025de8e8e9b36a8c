//! What of an output has to come back as the provider wrote it: with what it
//! sealed, in its order, every item or none.
//!
//! Never keeps half an output: an item is refused without the reasoning it
//! followed, and reasoning without the item that followed it.

use adjutant_core::config::Wire;
use adjutant_core::prompt::{OpaqueItems, Reply, StopCause};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::super::failure::Endpoint;
use super::super::sendable::{named, sendable};
use super::event::{ItemText, plain};
use super::item::{Item, Sort};

/// The longest id of a call that is taken.
pub(super) const MAX_CALL_ID: usize = 64;

/// Whether reasoning carries itself. The rest is known by its id alone, and with `store: false` no
/// provider remembers that.
pub(super) fn is_sealed(text: &ItemText<'_>, content: &[String]) -> bool {
    plain(text.encrypted_content).is_ok_and(|sealed| !sealed.is_empty())
        || content.iter().any(|text| !text.is_empty())
}

/// Returns the items of a reply in their order, if there is something in them that the reply does not
/// say: reasoning, or the phase of a message.
pub(super) fn of(mut items: Vec<Item>, reply: &Reply, asked: Endpoint<'_>) -> Option<OpaqueItems> {
    // What was cut will not be gone on with.
    if !matches!(reply.stop, StopCause::EndTurn | StopCause::ToolCalls) {
        return None;
    }
    while items.last().is_some_and(|item| item.sort == Sort::Reasoning) {
        items.pop();
    }
    if !items.iter().any(|item| item.irreplaceable) {
        return None;
    }
    // The outputs are paired with the calls by the ids of the reply.
    let calls = items.iter().filter(|item| item.sort == Sort::Call).map(Item::call_id);
    let ids = reply.calls.iter().map(|call| call.id.as_str());
    if !calls.eq(ids) || reply.calls.iter().any(|call| call.id.len() > MAX_CALL_ID) {
        return None;
    }
    let items = items.into_iter().map(|item| item.json).collect::<Option<Vec<_>>>()?;
    Some(OpaqueItems {
        wire: Wire::OpenaiResponses,
        provider: asked.provider.to_owned(),
        model: asked.model.to_owned(),
        items,
    })
}

/// Returns an item of an output as it may stand in an input.
///
/// What is left out: `status`, which belongs to outputs alone ("unknown parameter"), and fields that
/// are null, for they are taken by none of the stricter servers. What stays: `id`, because a provider
/// checks what it sealed against the id it sealed it for; `phase`; whatever else there is. A call the
/// model got wrong, in its arguments or its name, is mended like everywhere.
pub(super) fn input_of(item: &str) -> serde_json::Result<String> {
    let Fields(fields) = serde_json::from_str(item)?;
    let mut out = String::with_capacity(item.len());
    let is_kind = |kind: &str| fields.iter().any(|(name, raw)| name == "type" && raw.get() == kind);
    let (is_reasoning, is_call) = (is_kind(r#""reasoning""#), is_kind(r#""function_call""#));
    let mut has_summary = false;
    for (name, raw) in &fields {
        if name == "status" || raw.get() == "null" {
            continue;
        }
        has_summary |= name == "summary";
        match name.as_str() {
            "arguments" => {
                push(&mut out, name, &serde_json::to_string(&sendable(&plain(Some(raw))?))?)?;
            }
            "name" if is_call => push(&mut out, name, &serde_json::to_string(&named(&plain(Some(raw))?))?)?,
            _ => push(&mut out, name, raw.get())?,
        }
    }
    // An input has to have it; some servers write none.
    if is_reasoning && !has_summary {
        push(&mut out, "summary", "[]")?;
    }
    Ok(format!("{{{out}}}"))
}

fn push(out: &mut String, name: &str, value: &str) -> serde_json::Result<()> {
    if !out.is_empty() {
        out.push(',');
    }
    out.push_str(&serde_json::to_string(name)?);
    out.push(':');
    out.push_str(value);
    Ok(())
}

/// The fields of an object in their order, each value as it was written.
struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Fields<'de>, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields<'de>;

    fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(Fields(fields))
    }
}

#[cfg(test)]
mod tests;
