//! The sentences about open documents that are not saved: a command reads the saved files instead (N06).
//!
//! Never checks whether a document is saved: the caller brings the list.

use crate::record::UnsavedText;
use crate::text::display::one_line;

/// The most documents in one list.
pub const MAX_LISTED: usize = 100;
/// The most names in one sentence.
const MAX_NAMED: usize = 3;
/// The most characters of a name.
const MAX_NAME: usize = 60;
/// The most characters of a command in a sentence.
const MAX_COMMAND: usize = 80;

/// Returns the sentence for the ask of a command, or `None` if every document is saved.
pub fn before(unsaved: &[UnsavedText]) -> Option<String> {
    sentence(unsaved.iter().map(|document| document.path.as_str()))
}

/// Whether the sentence has every one of these documents by its whole name.
pub fn names_all(unsaved: &[UnsavedText]) -> bool {
    let is_whole = |document: &UnsavedText| one_line(&document.path, MAX_NAME) == document.path;
    !unsaved.is_empty() && unsaved.len() <= MAX_NAMED && unsaved.iter().all(is_whole)
}

/// Returns the same sentence for these paths.
pub fn sentence_for<'a>(paths: impl ExactSizeIterator<Item = &'a str>) -> Option<String> {
    sentence(paths)
}

fn sentence<'a>(paths: impl ExactSizeIterator<Item = &'a str>) -> Option<String> {
    let files = if paths.len() == 1 { "the file as it was" } else { "these files as they were" };
    named(paths).map(|names| format!("Not saved yet: {names}. The command sees {files} saved last."))
}

/// Returns the short form for the end of one line: `not saved yet: src/a.rs and 2 more`.
pub fn in_short<'a>(paths: impl ExactSizeIterator<Item = &'a str>) -> Option<String> {
    let names = named(paths)?;
    Some(format!("not saved yet: {names}"))
}

/// Returns the summary of a result, with the files whose unsaved text the command did not see.
pub fn after(summary: &str, unsaved: &[UnsavedText]) -> String {
    let names = named(unsaved.iter().map(|document| document.path.as_str()));
    names.map_or_else(|| summary.to_owned(), |names| format!("{summary}; it saw {names} as last saved"))
}

/// Returns the warning for the user after a command read files whose documents were not saved.
pub fn notice(command: &str, unsaved: &[UnsavedText]) -> Option<String> {
    let names = named(unsaved.iter().map(|document| document.path.as_str()))?;
    let (was, save) = if unsaved.len() == 1 { ("it was", "it") } else { ("they were", "them") };
    Some(format!(
        "The command \"{}\" saw {names} as {was} saved last, without what the editor has. Save {save} and run the \
         command again.",
        one_line(command, MAX_COMMAND)
    ))
}

/// Returns the first names and how many more there are.
fn named<'a>(paths: impl ExactSizeIterator<Item = &'a str>) -> Option<String> {
    let more = match paths.len() {
        0 => return None,
        all @ ..MAX_LISTED => all.saturating_sub(MAX_NAMED).to_string(),
        // The list is full, so there may be more documents.
        all => format!("at least {}", all.saturating_sub(MAX_NAMED)),
    };
    let names: Vec<String> = paths.take(MAX_NAMED).map(|path| one_line(path, MAX_NAME)).collect();
    let names = names.join(", ");
    Some(if more == "0" { names } else { format!("{names} and {more} more") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(count: usize) -> Vec<UnsavedText> {
        let document =
            |at: usize| UnsavedText { uri: format!("file:///w/{at}"), path: format!("src/{at}.rs") };
        (0..count).map(document).collect()
    }

    #[test]
    fn finding_d12_three_names_and_how_many_more() {
        assert_eq!(before(&[]), None);
        assert_eq!(
            before(&list(1)).unwrap(),
            "Not saved yet: src/0.rs. The command sees the file as it was saved last."
        );
        assert_eq!(
            before(&list(3)).unwrap(),
            "Not saved yet: src/0.rs, src/1.rs, src/2.rs. The command sees these files as they were saved last."
        );
        assert!(
            before(&list(7)).unwrap().starts_with("Not saved yet: src/0.rs, src/1.rs, src/2.rs and 4 more. ")
        );
        assert!(before(&list(MAX_LISTED)).unwrap().contains("src/2.rs and at least 97 more. "));
        assert_eq!(after("exit code 0 after 0.1 s", &[]), "exit code 0 after 0.1 s");
        assert_eq!(
            after("exit code 0 after 0.1 s", &list(4)),
            "exit code 0 after 0.1 s; it saw src/0.rs, src/1.rs, src/2.rs and 1 more as last saved"
        );
        assert_eq!(
            notice("make\ttest", &list(1)).unwrap(),
            "The command \"make test\" saw src/0.rs as it was saved last, without what the editor has. Save it and \
             run the command again."
        );
    }

    #[test]
    fn n06_the_sentence_names_all_only_if_each_name_is_whole() {
        assert!(names_all(&list(1)) && names_all(&list(MAX_NAMED)));
        assert!(!names_all(&[]) && !names_all(&list(MAX_NAMED + 1)));
        for path in ["long/".repeat(20), "a\u{202e}b".to_owned(), "two\nlines".to_owned()] {
            assert!(!names_all(&[UnsavedText { uri: String::new(), path: path.clone() }]), "{path}");
        }
    }

    /// The longest sentence fits next to the reason: a line of a popup has 300 characters.
    #[test]
    fn finding_d12_the_longest_sentence_has_room_and_hides_nothing() {
        let name = "[x](command:y) \u{202e}".to_owned() + &"long/".repeat(100);
        let document = UnsavedText { uri: String::new(), path: name };
        let sentence = before(&vec![document; MAX_LISTED]).unwrap();
        assert!(sentence.chars().count() <= 280, "{}: {sentence}", sentence.chars().count());
        assert_eq!(one_line(&sentence, 300), sentence, "the sentence is shown unchanged");
    }
}
