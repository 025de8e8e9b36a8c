//! Completes a prompt that is being written: mentions after `@`, commands after `/` at its beginning.
//!
//! Never reads a file that is offered, and never decides what a mention means (core's `mention` does).

use adjutant_core::text::position::Encoding;
use adjutant_core::wire::mention::{FIXED, SYMBOL, written, written_at};
use adjutant_core::wire::slash::typed_name;
use adjutant_protocol::complete::{PromptCompleteParams, PromptCompleteResult, PromptItem, PromptItemKind};

use super::{Agent, Result, content};
use crate::aside::aside;
use crate::session::slash_files;
use crate::tools::names::{FileNames, RankedName};
use crate::tools::paths::Roots;
use crate::transport::ErrorBody;

/// The most items of an answer.
const MAX_ITEMS: usize = 50;

/// What can be completed, in bytes of the text.
pub struct PromptCompletion {
    pub start: usize,
    pub items: Vec<PromptItem>,
    pub incomplete: bool,
}

impl Agent {
    pub(super) async fn prompt_complete(&self, params: PromptCompleteParams) -> Result<PromptCompleteResult> {
        let PromptCompleteParams { text, offset } = params;
        content::check_length(text.len()).map_err(ErrorBody::invalid_params)?;
        let encoding = self.sessions.world().documents.encoding();
        let offset = byte_of(&text, offset, encoding).ok_or_else(|| {
            ErrorBody::invalid_params("`offset` is no place between two characters of `text`")
        })?;
        let before = text[..offset].to_owned();
        let done = self.completed(before).await;
        let start = u32::try_from(encoding.length(&text[..done.start])).unwrap_or(u32::MAX);
        Ok(PromptCompleteResult { start, items: done.items, incomplete: done.incomplete })
    }

    /// Completes a prompt at its end.
    pub async fn completed(&self, before: String) -> PromptCompletion {
        let (world, names, folders) =
            (self.sessions.world().clone(), self.names.clone(), self.configured.folders());
        aside(move || {
            if let Some(name) = typed_name(&before) {
                let (roots, _) = Roots::open(&folders);
                let commands = slash_files::commands(&world, &roots);
                let items = ranked(commands.iter().map(|command| command.name.as_str()), name);
                let item = |at: &usize| {
                    let command = commands.get(*at)?;
                    let hint = command.hint.as_deref().map(|hint| format!(" {hint}")).unwrap_or_default();
                    Some(PromptItem {
                        label: format!("/{}{hint}", command.name),
                        insert: format!("/{} ", command.name),
                        kind: PromptItemKind::Command,
                        detail: Some(command.description.clone()),
                    })
                };
                let items = items.iter().filter_map(item).collect();
                return PromptCompletion { start: 0, items, incomplete: false };
            }
            let Some(range) = written_at(&before, before.len()) else {
                return PromptCompletion { start: before.len(), items: Vec::new(), incomplete: false };
            };
            let typed = before[range.start + 1..].trim_start_matches('"');
            if typed.starts_with(SYMBOL) {
                return PromptCompletion { start: range.start, items: Vec::new(), incomplete: false };
            }
            let typed_path = typed.strip_prefix("./").unwrap_or(typed);
            let found = names.ranked(&world, folders, typed_path, MAX_ITEMS);
            let mut items = fixed(typed);
            items.extend(found.names.into_iter().map(item_of));
            items.truncate(MAX_ITEMS);
            // The names are ranked by the server: each letter may bring others.
            let incomplete = found.is_partial || items.len() == MAX_ITEMS;
            PromptCompletion { start: range.start, items, incomplete }
        })
        .await
    }
}

/// Returns the mentions that name no path and begin with what was typed.
fn fixed(typed: &str) -> Vec<PromptItem> {
    let symbol = (SYMBOL, "the lines that look like a definition of a name");
    let all = FIXED.iter().map(|(name, _, about)| (*name, *about)).chain([symbol]);
    let item = |(name, about): (&str, &str)| PromptItem {
        label: format!("@{name}"),
        insert: format!("@{name}"),
        kind: PromptItemKind::Mention,
        detail: Some(about.to_owned()),
    };
    all.filter(|(name, _)| name.starts_with(typed)).map(item).collect()
}

fn item_of(name: RankedName) -> PromptItem {
    let kind = if name.is_folder { PromptItemKind::Folder } else { PromptItemKind::File };
    PromptItem { insert: written(&name.path), label: name.path, kind, detail: None }
}

/// Returns the places of the names that fit what was typed, the best first.
fn ranked<'a>(all: impl Iterator<Item = &'a str>, typed: &str) -> Vec<usize> {
    let mut names = FileNames::default();
    let known: Vec<&str> = all.collect();
    known.iter().for_each(|name| {
        names.push(name, false);
    });
    let found = names.ranked(typed, &[], MAX_ITEMS);
    found.iter().filter_map(|name| known.iter().position(|known| *known == name.path)).collect()
}

/// Returns the byte of an offset; `None` if it is beyond the text or inside a character.
fn byte_of(text: &str, offset: u32, encoding: Encoding) -> Option<usize> {
    let offset = offset as usize;
    if encoding == Encoding::Utf8 {
        return text.is_char_boundary(offset).then_some(offset);
    }
    let mut units = 0;
    for (byte, c) in text.char_indices() {
        if units >= offset {
            return (units == offset).then_some(byte);
        }
        units += if encoding == Encoding::Utf16 { c.len_utf16() } else { 1 };
    }
    (units == offset).then_some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n11_an_offset_is_a_place_in_each_encoding() {
        let text = "a𝄞é@";
        for (encoding, offset, byte) in [
            (Encoding::Utf8, 5, Some(5)),
            (Encoding::Utf8, 3, None),
            (Encoding::Utf16, 3, Some(5)),
            (Encoding::Utf16, 2, None),
            (Encoding::Utf16, 5, Some(8)),
            (Encoding::Utf16, 6, None),
            (Encoding::Utf32, 4, Some(8)),
        ] {
            assert_eq!(byte_of(text, offset, encoding), byte, "{encoding:?} {offset}");
        }
    }
}
