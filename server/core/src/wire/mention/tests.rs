//! What is a mention in the words of a prompt, and what is not.

use super::{FIXED, Mention, MentionedThing, mentions, written, written_at};

fn path(path: &str, lines: Option<(u32, u32)>) -> MentionedThing {
    MentionedThing::Path { path: path.to_owned(), lines: lines.map(|(first, last)| first..=last) }
}

fn things(words: &str) -> Vec<MentionedThing> {
    mentions(words).into_iter().map(|mention| mention.thing).collect()
}

#[test]
fn n08_a_mention_is_a_word_that_begins_with_an_at_sign() {
    for (words, found) in [
        ("see @src/a.rs", vec![path("src/a.rs", None)]),
        (
            "@src/a.rs:10-20, then (@b.rs:7).",
            vec![path("src/a.rs", Some((10, 20))), path("b.rs", Some((7, 7)))],
        ),
        ("@src/a.rs#L3-L4!", vec![path("src/a.rs", Some((3, 4)))]),
        ("what is in @src/?", vec![path("src/", None)]),
        ("@\"my file.txt\":2-3 and @\"a b\"", vec![path("my file.txt", Some((2, 3))), path("a b", None)]),
        ("@app/(auth)/[slug]/page.tsx", vec![path("app/(auth)/[slug]/page.tsx", None)]),
        ("where is @symbol:Parser::parse?", vec![MentionedThing::Symbol("Parser::parse".into())]),
        ("@selection @diagnostics @diff @open", FIXED.iter().map(|(_, thing, _)| thing.clone()).collect()),
        ("read @https://a.example/b?c=d.", vec![MentionedThing::Url("https://a.example/b?c=d".into())]),
        ("@a.rs @a.rs", vec![path("a.rs", None)]),
        // Lines that are none stay a part of the name.
        ("@a.rs:0 @b.rs:9-3", vec![path("a.rs:0", None), path("b.rs:9-3", None)]),
    ] {
        assert_eq!(things(words), found, "{words}");
    }
}

#[test]
fn n08_text_that_only_has_an_at_sign_is_no_mention() {
    for words in [
        "mail me@example.org",
        "`@src/a.rs` in backticks",
        "```java\n@Override\n@src/a.rs\n```",
        "~~~\n```\n@a.rs\n~~~",
        "@ alone, and @@twice",
        "@symbol:",
        "@\"never closed",
    ] {
        assert_eq!(things(words), [], "{words}");
    }
    // After a fence words are words again, and a lone backtick hides nothing.
    assert_eq!(things("```\n@a\n```\n@b.rs"), [path("b.rs", None)]);
    assert_eq!(things("it`s @b.rs"), [path("b.rs", None)]);
}

#[test]
fn n08_only_some_words_are_surely_a_path() {
    let is_surely = |words: &str| mentions(words).iter().map(Mention::is_surely_a_path).collect::<Vec<_>>();
    assert_eq!(is_surely("@src/nope.rs @nope.rs:3 @./nope"), [true, true, true]);
    assert_eq!(is_surely("@Override @babel/core @app.route @param @src/ @/.env"), [false; 6]);
}

#[test]
fn n08_the_mention_that_is_being_written_is_the_word_before_the_cursor() {
    for (words, token) in [
        ("see @sr", Some("@sr")),
        ("@", Some("@")),
        ("one\ntwo @a/b", Some("@a/b")),
        ("@\"my fi", Some("@\"my fi")),
        ("@a b", None),
        ("me@exa", None),
        ("`@a", None),
        ("```\n@a", None),
        ("", None),
        ("done @\"a b\" ", None),
    ] {
        assert_eq!(written_at(words, words.len()).map(|range| &words[range]), token, "{words:?}");
    }
    assert_eq!(written_at("@one two", 3), Some(0..3), "what follows the cursor does not count");
    assert_eq!(written_at("@é", 2), None, "an offset in a character is no place");
}

#[test]
fn n08_what_is_written_for_a_path_is_read_as_that_path() {
    for name in ["src/a.rs", "my file.txt", "a,b", "src/", "ends.", "naïve/日本.md", "(x)/y"] {
        assert_eq!(things(&format!("see {}", written(name))), [path(name, None)], "{name}");
    }
}
