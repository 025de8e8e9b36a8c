//! The items of an output that the next request must send back exactly as the provider wrote them.
//!
//! This keeps the model's encrypted reasoning. Never keeps a part of an output: the provider rejects an item without
//! the reasoning before it, and reasoning without the item after it.

use adjutant_core::config::Wire;
use adjutant_core::prompt::{OpaqueItems, Reply, StopCause};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::super::failure::Endpoint;
use super::super::sendable::{sendable_arguments, sendable_name};
use super::event::{ItemText, plain};
use super::item::{Item, ItemKind};

/// The maximum length of a call id that the provider accepts, in bytes.
pub(super) const MAX_CALL_ID: usize = 64;

/// Whether a reasoning item has its content, encrypted or readable.
///
/// An item without it is only a reference by id. It is useless with `store: false`, because no provider stores it.
pub(super) fn is_self_contained(text: &ItemText<'_>, content: &[String]) -> bool {
    plain(text.encrypted_content).is_ok_and(|encrypted| !encrypted.is_empty())
        || content.iter().any(|text| !text.is_empty())
}

/// Returns the items of a reply in their order; `None` if they have nothing that `reply` lacks.
///
/// A `Reply` lacks the provider's reasoning item and the `phase` of a message.
pub(super) fn items_of(mut items: Vec<Item>, reply: &Reply, endpoint: Endpoint<'_>) -> Option<OpaqueItems> {
    // No request continues a reply that was cut or refused.
    if !matches!(reply.stop, StopCause::EndTurn | StopCause::ToolCalls) {
        return None;
    }
    // Reasoning needs an item after it.
    while items.last().is_some_and(|item| item.kind == ItemKind::Reasoning) {
        items.pop();
    }
    if !items.iter().any(|item| item.irreplaceable) {
        return None;
    }
    // Tool outputs name their calls by the ids in `reply`, so the items must have the same ids.
    let calls = items.iter().filter(|item| item.kind == ItemKind::Call).map(Item::call_id);
    let ids = reply.calls.iter().map(|call| call.id.as_str());
    if !calls.eq(ids) || reply.calls.iter().any(|call| call.id.len() > MAX_CALL_ID) {
        return None;
    }
    let items = items.into_iter().map(|item| item.json).collect::<Option<Vec<_>>>()?;
    Some(OpaqueItems {
        wire: Wire::OpenaiResponses,
        provider: endpoint.provider.to_owned(),
        model: endpoint.model.to_owned(),
        items,
    })
}

/// Returns an output item in the form that an input accepts.
///
/// Removes `status`, which only outputs may have ("unknown parameter"), and null fields, which strict servers reject.
/// Keeps all other fields, such as `phase` and `id`: encrypted reasoning is valid only with its id. Replaces invalid
/// arguments and names of calls, as all wires do.
pub(super) fn to_input(item: &str) -> serde_json::Result<String> {
    let Fields(fields) = serde_json::from_str(item)?;
    let mut out = String::with_capacity(item.len());
    let is_kind = |kind: &str| fields.iter().any(|(name, raw)| name == "type" && raw.get() == kind);
    let (is_reasoning, is_call) =
        (is_kind(r#""reasoning""#), is_kind(r#""function_call""#) || is_kind(r#""custom_tool_call""#));
    let mut has_summary = false;
    for (name, raw) in &fields {
        if name == "status" || raw.get() == "null" {
            continue;
        }
        has_summary |= name == "summary";
        match name.as_str() {
            "arguments" => {
                push(&mut out, name, &serde_json::to_string(&sendable_arguments(&plain(Some(raw))?))?)?;
            }
            "name" if is_call => {
                push(&mut out, name, &serde_json::to_string(&sendable_name(&plain(Some(raw))?))?)?
            }
            _ => push(&mut out, name, raw.get())?,
        }
    }
    // Inputs require `summary`, and some servers write none.
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

/// The fields of a JSON object in their order, each value as it was written.
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
