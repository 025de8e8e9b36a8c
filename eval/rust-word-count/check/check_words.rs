mod words;

use words::Words;

#[test]
fn words_are_counted() {
    let mut words = Words::default();
    words.add("The cat saw the dog. THE dog -- saw nothing!");
    words.add("");
    assert_eq!(words.top(3), [("the", 3), ("dog", 2), ("saw", 2)]);
    assert_eq!(words.top(100).len(), 5);
    assert_eq!(words.longest(), "nothing");
}

#[test]
fn the_first_of_equally_long_words_stays_and_characters_count() {
    let mut words = Words::default();
    words.add("one two \u{e4}\u{f6}\u{fc} four \u{e4}\u{f6}\u{fc}x five");
    assert_eq!(words.longest(), "four");
}

#[test]
fn without_words_there_is_nothing() {
    let mut words = Words::default();
    words.add("... 1 2 3");
    assert_eq!((words.longest(), words.top(5)), ("", vec![]));
}
