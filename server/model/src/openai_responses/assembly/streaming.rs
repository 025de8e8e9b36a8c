//! The text and the reasoning of a reply, told as they stream and never twice.
//!
//! Never takes back a word that was told: what contradicts it fails the reply.

use adjutant_core::machine::retry::CallFailure;

use super::super::super::reading::OnDelta;
use super::super::item::{ItemKey, ItemPart, TextSource};
use super::ResponsesAssembly;

/// What stands between two items, and between two parts of reasoning.
const GAP: &str = "\n\n";

impl ResponsesAssembly<'_> {
    /// Tells a piece of the text of an item.
    pub(super) fn stream(
        &mut self,
        mark: ItemKey<'_>,
        part: ItemPart,
        piece: Option<String>,
        on_delta: &mut OnDelta<'_>,
    ) -> Result<(), CallFailure> {
        let Some(piece) = piece.filter(|piece| !piece.is_empty()) else { return Ok(()) };
        let at = self.streamed(mark, part)?;
        self.stream_at(at, part, piece, on_delta)
    }

    /// Tells what was not told yet of a part, all of which is known now.
    pub(super) fn stream_rest(
        &mut self,
        mark: ItemKey<'_>,
        part: ItemPart,
        whole: Option<String>,
        on_delta: &mut OnDelta<'_>,
    ) -> Result<(), CallFailure> {
        let Some(whole) = whole.filter(|whole| !whole.is_empty()) else { return Ok(()) };
        if self.items.is_over(part.voice.sort(), mark) {
            return Ok(());
        }
        let at = self.streamed(mark, part)?;
        let item = &self.items.all[at];
        let told = match item.part {
            Some((now, from)) if now == part => &item.told[from..],
            // An earlier part: it was complete when the next began.
            Some((now, _)) if now.voice == part.voice && now.index > part.index => return Ok(()),
            _ => "",
        };
        match rest_of(&whole, told) {
            Some(rest) => {
                let rest = rest.to_owned();
                self.stream_at(at, part, rest, on_delta)
            }
            None if part.voice == TextSource::Said => Err(self.contradicted()),
            None => Ok(()),
        }
    }

    fn streamed(&mut self, mark: ItemKey<'_>, part: ItemPart) -> Result<usize, CallFailure> {
        let sort = part.voice.sort();
        match self.items.of_piece(sort, mark) {
            Some(at) => Ok(at),
            None if self.items.is_over(sort, mark) => Err(self.went_on()),
            None => self.items.begin(sort, mark, &mut self.draft),
        }
    }

    fn stream_at(
        &mut self,
        at: usize,
        part: ItemPart,
        piece: String,
        on_delta: &mut OnDelta<'_>,
    ) -> Result<(), CallFailure> {
        let item = &mut self.items.all[at];
        // Who tells the reasoning and a summary of it is heard once.
        let other_voice = item.part.is_some_and(|(now, _)| now.voice != part.voice);
        if piece.is_empty() || other_voice {
            return Ok(());
        }
        let reply = &self.draft.reply;
        let before = if part.voice == TextSource::Said { &reply.text } else { &reply.reasoning };
        let begins_item = item.told.is_empty() && !before.is_empty();
        let begins_part = item.part.is_some_and(|(now, _)| now != part);
        if begins_part && part.voice != TextSource::Said {
            item.told.push_str(GAP);
        }
        let gap = begins_item || (begins_part && part.voice != TextSource::Said);
        if begins_part || item.part.is_none() {
            item.part = Some((part, item.told.len()));
        }
        item.told.push_str(&piece);
        let piece = if gap { format!("{GAP}{piece}") } else { piece };
        match part.voice {
            TextSource::Said => self.draft.text(piece, on_delta),
            TextSource::Summary | TextSource::Thought => self.draft.reasoning(piece, on_delta),
        }
    }

    /// Tells what was not told yet of a message, and returns whether `whole` is all that was told.
    pub(super) fn end_text(
        &mut self,
        at: usize,
        whole: &str,
        on_delta: &mut OnDelta<'_>,
    ) -> Result<bool, CallFailure> {
        let item = &self.items.all[at];
        // Some servers leave out at the end what they streamed.
        if whole.is_empty() {
            return Ok(item.told.is_empty());
        }
        let part = item.part.map_or(ItemPart { voice: TextSource::Said, index: 0 }, |(part, _)| part);
        match rest_of(whole, &item.told).map(str::to_owned) {
            Some(rest) => self.stream_at(at, part, rest, on_delta).map(|()| true),
            None => Err(self.contradicted()),
        }
    }

    /// Tells the reasoning if none of it was told; what was told of it stands.
    pub(super) fn end_reasoning(
        &mut self,
        at: usize,
        summary: &[String],
        content: &[String],
        on_delta: &mut OnDelta<'_>,
    ) -> Result<(), CallFailure> {
        let now = self.items.all[at].part;
        let voice = now.map_or(
            if summary.is_empty() { TextSource::Thought } else { TextSource::Summary },
            |(part, _)| part.voice,
        );
        let texts = if voice == TextSource::Summary { summary } else { content };
        let whole = texts.join(GAP);
        let part = now.map_or(ItemPart { voice, index: 0 }, |(part, _)| part);
        match rest_of(&whole, &self.items.all[at].told).map(str::to_owned) {
            Some(rest) => self.stream_at(at, part, rest, on_delta),
            None => Ok(()),
        }
    }

    fn contradicted(&self) -> CallFailure {
        self.draft.broken("the text at its end is not the one it streamed")
    }
}

/// Returns what `whole` has behind what was told; `None` if it contradicts that.
fn rest_of<'w>(whole: &'w str, told: &str) -> Option<&'w str> {
    // White space around a text is not worth a failure.
    let same = || whole.trim() == told.trim();
    whole.strip_prefix(told).or_else(|| same().then_some(""))
}
