//! Reads an event back from its JSON.
//!
//! No other file decides what this version does with an event that it does not know.

use serde::Deserialize;

use super::Event;

/// Reads an event. Returns `None` for an event that this version cannot read and may skip, because its writer
/// marked it with `may_skip`.
///
/// An unknown event without that mark is an error, because the session would be folded wrongly. `docs/log.md`
/// says what the mark promises; no event of this version needs it.
pub fn read(json: &str) -> Result<Option<Event>, serde_json::Error> {
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
