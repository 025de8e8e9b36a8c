//! A title of the user's own for the session.
//!
//! Never makes a title from a prompt: `prompt` does.

use super::Refusal;
use crate::record::{Event, MaySkip};
use crate::session::Session;
use crate::text::display::one_line;

/// Characters of a title.
const MAX_OWN_TITLE: usize = 200;

/// Gives the session this title, without the white space around it.
pub fn rename(session: &Session, title: &str) -> Result<Vec<Event>, Refusal> {
    let title = title.trim();
    let refused = |why: &str| Err(Refusal::AnswerInvalid(why.to_owned()));
    if !session.created {
        return refused("this conversation has no prompt yet: send one first, then rename it");
    }
    if title.is_empty() {
        return refused("the title is empty: give at least one character");
    }
    if title.chars().nth(MAX_OWN_TITLE).is_some() {
        return refused("the title is too long: give at most 200 characters");
    }
    // Lists cut a title and join its white space; only what they would have to escape is refused.
    let words = title.split(' ').filter(|word| !word.is_empty());
    if one_line(title, usize::MAX) != words.collect::<Vec<_>>().join(" ") {
        return refused(
            "the title has a line break, a character that cannot be seen, or a link with other words: leave it out",
        );
    }
    if session.title == title {
        return Err(Refusal::Nothing);
    }
    Ok(vec![Event::Titled { title: title.to_owned(), may_skip: MaySkip }])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renamed(before: &str, title: &str) -> Result<Vec<Event>, Refusal> {
        let mut session = Session::default();
        (session.created, session.title) = (true, before.to_owned());
        rename(&session, title)
    }

    #[test]
    fn p27_a_title_is_one_line_of_visible_characters() {
        let titled = |title: &str| Ok(vec![Event::Titled { title: title.to_owned(), may_skip: MaySkip }]);
        assert_eq!(renamed("old", "  Größe der  Kopfzeile 🚀 "), titled("Größe der  Kopfzeile 🚀"));
        assert_eq!(renamed("old", &"x".repeat(200)), titled(&"x".repeat(200)));
        assert_eq!(renamed("same", "same"), Err(Refusal::Nothing));
        for wrong in [
            "",
            " \t ",
            &"x".repeat(201),
            "two\nlines",
            "a\tb",
            "a\u{202e}b",
            "a\u{1b}[31mb",
            "[a](http://b)",
        ] {
            assert!(matches!(renamed("old", wrong), Err(Refusal::AnswerInvalid(_))), "{wrong:?}");
        }
        let early = rename(&Session::default(), "too early");
        assert!(matches!(early, Err(Refusal::AnswerInvalid(why)) if why.contains("no prompt yet")));
    }

    #[test]
    fn p27_an_older_version_may_skip_a_title() {
        let event = Event::Titled { title: "mine".to_owned(), may_skip: MaySkip };
        let json = serde_json::to_string(&event).expect("JSON");
        assert_eq!(json, r#"{"type":"titled","title":"mine","may_skip":true}"#);
        assert_eq!(crate::record::read(&json).expect("it is read"), Some(event));
    }
}
