//! Reads an event back from its JSON.
//!
//! No other file decides what this version does with an event that it does not know.

mod direct;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Event;

/// The mark of an event that a version which does not know it may skip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MaySkip;

impl Serialize for MaySkip {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(true)
    }
}

impl<'de> Deserialize<'de> for MaySkip {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        bool::deserialize(deserializer).map(|_| Self)
    }
}

/// Reads an event. Returns `None` for an event that this version cannot read and may skip, because its writer
/// marked it with `may_skip`.
///
/// An unknown event without that mark is an error, because the session would be folded wrongly. `docs/log.md`
/// says what the mark promises.
pub fn read(json: &str) -> Result<Option<Event>, serde_json::Error> {
    direct::read(json).map_or_else(|| read_tagged(json), |event| Ok(Some(event)))
}

/// As [`read`], for a fold that only asks which changes there are: what the model said and what tools returned is empty.
pub fn read_for_review(json: &str) -> Result<Option<Event>, serde_json::Error> {
    direct::read_without_words(json).map_or_else(|| read(json), |event| Ok(Some(event)))
}

fn read_tagged(json: &str) -> Result<Option<Event>, serde_json::Error> {
    #[derive(Deserialize)]
    struct SkipMark {
        #[serde(default)]
        may_skip: bool,
    }
    match serde_json::from_str(json) {
        Ok(event) => Ok(Some(event)),
        Err(error) => match serde_json::from_str(json) {
            Ok(SkipMark { may_skip: true }) => Ok(None),
            _ => Err(error),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_event_is_skipped_only_where_its_writer_marked_it() {
        let unknown = |mark: &str| read(&format!(r#"{{"type":"of_tomorrow","n":[1]{mark}}}"#));
        assert_eq!(unknown(r#","may_skip":true"#).unwrap(), None);
        assert!(unknown("").is_err());
        assert!(unknown(r#","may_skip":false"#).is_err());
        assert!(unknown(r#","may_skip":"yes""#).is_err());
        assert!(read("7").is_err());
    }

    #[test]
    fn an_event_that_is_read_by_its_own_fields_is_what_the_tagged_enum_reads() {
        let log = include_str!("../../../../tests/fixtures/log-0.1/events.jsonl");
        let mut direct = 0;
        for line in log.lines() {
            let Some((_, event)) = line.split_once(",\"event\":") else { continue };
            let event = event.rsplit_once(",\"sum\":").expect("a sealed line").0;
            direct += usize::from(direct::read(event).is_some());
            assert_eq!(read(event).unwrap(), read_tagged(event).unwrap(), "{event}");
        }
        assert!(direct > 0, "the log has events of these kinds");
    }

    #[test]
    fn a_known_event_is_read_whatever_else_stands_in_it() {
        let heard = Event::Heard { turn: 1, attempt: 2 };
        let with = |more: &str| read(&format!(r#"{{"type":"heard","turn":1,"attempt":2{more}}}"#));
        for more in ["", r#","of_tomorrow":1"#, r#","may_skip":true"#] {
            assert_eq!(with(more).unwrap(), Some(heard.clone()), "{more}");
        }
        // A known event with a field of another type.
        let changed = |mark: &str| read(&format!(r#"{{"type":"heard","turn":{{}},"attempt":2{mark}}}"#));
        assert_eq!(changed(r#","may_skip":true"#).unwrap(), None);
        assert!(changed("").is_err());
    }
}
