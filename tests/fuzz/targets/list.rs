//! The parsers of foreign bytes, each with a property that holds for all bytes.
//!
//! A target is a function that panics if its property does not hold. It never knows libFuzzer: the quick
//! suite replays the kept corpus with the same functions.

pub mod arguments;
mod cutting;
pub mod edits;
pub mod envelopes;
pub mod events;
pub mod frames;
pub mod logs;
pub mod paths;
pub mod places;
pub mod positions;
pub mod replies;
pub mod settings;

use adjutant_core::config::Wire;

use cutting::{number, pieces};

/// A property for all bytes; panics if it does not hold.
pub type Check = fn(&[u8]);

/// The targets with the names of their corpora.
pub const TARGETS: [(&str, Check); 13] = [
    ("frames", frames::check),
    ("envelopes", envelopes::check),
    ("logs", logs::check),
    ("arguments", arguments::check),
    ("places", places::check),
    ("edits", edits::check),
    ("positions", positions::check),
    ("paths", paths::check),
    ("settings", settings::check),
    ("events", events::check),
    ("chat", |bytes| replies::check(Wire::OpenaiChat, bytes)),
    ("responses", |bytes| replies::check(Wire::OpenaiResponses, bytes)),
    ("messages", |bytes| replies::check(Wire::AnthropicMessages, bytes)),
];

/// The byte between the parts of an input: no UTF-8 text contains it.
const BETWEEN: u8 = 0xff;

/// Cuts an input into exactly `N` parts; missing ones are empty, the last one has the rest.
fn parts<const N: usize>(bytes: &[u8]) -> [&[u8]; N] {
    let mut rest = bytes.splitn(N, |byte| *byte == BETWEEN);
    std::array::from_fn(|_| rest.next().unwrap_or_default())
}

/// Returns the text of a part.
fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
