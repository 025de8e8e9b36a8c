//! The texts before changes, as they were read last.
//!
//! A text is named by its hash, so what is kept is what the disk has.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use adjutant_core::session::AppliedChange;
use adjutant_store::blobs::Blobs;

use super::text_before;

/// The most bytes that are kept.
const MOST: usize = 32 * 1024 * 1024;

/// The texts that were asked for last, the oldest first.
#[derive(Default)]
pub(super) struct KeptTexts(Mutex<VecDeque<(String, Arc<str>)>>);

impl KeptTexts {
    /// Returns the text before a change, without a byte order mark; `None` if it is not kept, or no text. Blocks.
    pub(super) fn before(&self, blobs: &Blobs, change: &AppliedChange) -> Option<Arc<str>> {
        let hash = change.before.as_deref()?;
        if let Some(text) = self.take(hash) {
            return Some(self.keep(hash, text));
        }
        let text = text_before(blobs, change)?;
        Some(self.keep(hash, text.into()))
    }

    fn take(&self, hash: &str) -> Option<Arc<str>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|(name, _)| name == hash)?;
        kept.remove(at).map(|(_, text)| text)
    }

    /// Keeps a text as the newest one, if it is not too long, and drops the oldest ones for it.
    fn keep(&self, hash: &str, text: Arc<str>) -> Arc<str> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(name, _)| name != hash);
        let mut bytes = text.len() + kept.iter().map(|(_, text)| text.len()).sum::<usize>();
        while bytes > MOST
            && let Some((_, oldest)) = kept.pop_front()
        {
            bytes -= oldest.len();
        }
        if bytes <= MOST {
            kept.push_back((hash.to_owned(), text.clone()));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_texts_are_kept_within_their_limit() {
        let kept = KeptTexts::default();
        let text = |length: usize| -> Arc<str> { "x".repeat(length).into() };
        kept.keep("a", text(MOST / 2));
        kept.keep("b", text(MOST / 2));
        assert!(kept.take("a").is_some_and(|text| kept.keep("a", text).len() == MOST / 2));
        kept.keep("c", text(1));
        assert!(kept.take("b").is_none(), "it was asked for least of late");
        kept.keep("d", text(MOST + 1));
        assert!(kept.take("d").is_none() && kept.take("c").is_none(), "one that is too long is not kept");
    }
}
