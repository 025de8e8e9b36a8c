//! Streams the text and the reasoning of a reply to the client, each part once.
//!
//! Never corrects text that was streamed: a later copy of an answer's text that contradicts it fails the reply.

use adjutant_core::machine::retry::CallFailure;

use super::super::super::reading::OnDelta;
use super::super::item::{ItemKey, ItemPart, TextSource};
use super::ResponsesAssembly;

/// Separates two items, and two parts of reasoning.
const GAP: &str = "\n\n";

impl ResponsesAssembly<'_> {
    /// Streams one delta of the text of an item.
    pub(super) fn stream(
        &mut self,
        key: ItemKey<'_>,
        part: ItemPart,
        piece: Option<String>,
        on_delta: &mut OnDelta<'_>,
    ) -> Result<(), CallFailure> {
        let Some(piece) = piece.filter(|piece| !piece.is_empty()) else { return Ok(()) };
        let at = self.find_or_begin(key, part)?;
        self.append(at, part, piece, on_delta)
    }

    /// Streams the rest of a part whose complete text is `whole`.
    pub(super) fn finish_part(
        &mut self,
        key: ItemKey<'_>,
        part: ItemPart,
        whole: Option<String>,
        on_delta: &mut OnDelta<'_>,
    ) -> Result<(), CallFailure> {
        let Some(whole) = whole.filter(|whole| !whole.is_empty()) else { return Ok(()) };
        if self.items.has_ended(part.source.item_kind(), key) {
            return Ok(());
        }
        let at = self.find_or_begin(key, part)?;
        let item = &self.items.all[at];
        let streamed = match item.part {
            Some((now, from)) if now == part => &item.streamed[from..],
            // An earlier part: it was complete when the next part began.
            Some((now, _)) if now.source == part.source && now.index > part.index => return Ok(()),
            _ => "",
        };
        match rest_of(&whole, streamed) {
            Some(rest) => {
                let rest = rest.to_owned();
                self.append(at, part, rest, on_delta)
            }
            None if part.source == TextSource::Answer => Err(self.contradicted()),
            None => Ok(()),
        }
    }

    /// Returns the open item that a text belongs to; begins one if there is none.
    fn find_or_begin(&mut self, key: ItemKey<'_>, part: ItemPart) -> Result<usize, CallFailure> {
        let item_kind = part.source.item_kind();
        match self.items.find_open(item_kind, key) {
            Some(at) => Ok(at),
            None if self.items.has_ended(item_kind, key) => Err(self.after_end()),
            None => self.items.begin(item_kind, key, &mut self.draft),
        }
    }

    /// Streams a piece of text, after a gap if it begins another item or another part of reasoning.
    fn append(
        &mut self,
        at: usize,
        part: ItemPart,
        piece: String,
        on_delta: &mut OnDelta<'_>,
    ) -> Result<(), CallFailure> {
        let item = &mut self.items.all[at];
        // Some servers stream the reasoning and also its summary: only the first of them is used.
        let other_source = item.part.is_some_and(|(now, _)| now.source != part.source);
        if piece.is_empty() || other_source {
            return Ok(());
        }
        let reply = &self.draft.reply;
        let before = if part.source == TextSource::Answer { &reply.text } else { &reply.reasoning };
        let begins_item = item.streamed.is_empty() && !before.is_empty();
        let begins_part = item.part.is_some_and(|(now, _)| now != part);
        if begins_part && part.source != TextSource::Answer {
            item.streamed.push_str(GAP);
        }
        let gap = begins_item || (begins_part && part.source != TextSource::Answer);
        if begins_part || item.part.is_none() {
            item.part = Some((part, item.streamed.len()));
        }
        item.streamed.push_str(&piece);
        let piece = if gap { format!("{GAP}{piece}") } else { piece };
        match part.source {
            TextSource::Answer => self.draft.add_text(piece, on_delta),
            TextSource::Summary | TextSource::Reasoning => self.draft.add_reasoning(piece, on_delta),
        }
    }

    /// Streams the rest of a message whose complete text is `whole`. Returns whether its text now equals `whole`.
    ///
    /// White space at both ends does not count. Fails if `whole` contradicts the text that was streamed.
    pub(super) fn finish_text(
        &mut self,
        at: usize,
        whole: &str,
        on_delta: &mut OnDelta<'_>,
    ) -> Result<bool, CallFailure> {
        let item = &self.items.all[at];
        // Some servers send no complete text after the deltas.
        if whole.is_empty() {
            return Ok(item.streamed.is_empty());
        }
        let part = item.part.map_or(ItemPart { source: TextSource::Answer, index: 0 }, |(part, _)| part);
        match rest_of(whole, &item.streamed).map(str::to_owned) {
            Some(rest) => self.append(at, part, rest, on_delta).map(|()| true),
            None => Err(self.contradicted()),
        }
    }

    /// Streams the rest of the reasoning of a complete item.
    ///
    /// If it contradicts the reasoning that was streamed, the streamed one stays: it is only for display.
    pub(super) fn finish_reasoning(
        &mut self,
        at: usize,
        summary: &[String],
        content: &[String],
        on_delta: &mut OnDelta<'_>,
    ) -> Result<(), CallFailure> {
        let now = self.items.all[at].part;
        let source = now.map_or(
            if summary.is_empty() { TextSource::Reasoning } else { TextSource::Summary },
            |(part, _)| part.source,
        );
        let texts = if source == TextSource::Summary { summary } else { content };
        let whole = texts.join(GAP);
        let part = now.map_or(ItemPart { source, index: 0 }, |(part, _)| part);
        match rest_of(&whole, &self.items.all[at].streamed).map(str::to_owned) {
            Some(rest) => self.append(at, part, rest, on_delta),
            None => Ok(()),
        }
    }

    fn contradicted(&self) -> CallFailure {
        self.draft.broken("the text at its end is not the one it streamed")
    }
}

/// Returns the part of `whole` after `streamed`; `None` if the two contradict each other.
fn rest_of<'w>(whole: &'w str, streamed: &str) -> Option<&'w str> {
    // Different white space around a text is not a contradiction.
    let same = || whole.trim() == streamed.trim();
    whole.strip_prefix(streamed).or_else(|| same().then_some(""))
}
