//! Pages are written to memory; a reader that goes away is a real pipe.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use proptest::prelude::*;

use super::*;

/// A stream that can be read after the page is written.
#[derive(Clone, Default)]
pub struct Paper(Arc<Mutex<Vec<u8>>>);

impl Paper {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub fn plain(width: usize, wrap: bool) -> (Printer, Paper) {
    let paper = Paper::default();
    (Printer::new(paper.clone(), Look { width, colour: false, wrap }), paper)
}

/// A coloured page, and what is written on it.
pub fn coloured(width: usize) -> (Printer, Paper) {
    let paper = Paper::default();
    (Printer::new(paper.clone(), Look { width, colour: true, wrap: false }), paper)
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

#[test]
fn s3_control_and_invisible_characters_are_written_escaped() {
    let (mut page, paper) = plain(80, true);
    page.line("a\u{1b}[31mred\u{202e}x");
    page.flow("b\u{1b}]0;title\u{7}");
    page.end_flow();
    page.verbatim(Ink::Plain, "c\u{200b}\r");
    let text = paper.text();
    assert!(!text.chars().any(|c| c != '\n' && adjutant_core::text::display::hidden(c)), "{text:?}");
    assert_eq!(text, "a\\u{1b}[31mred\\u{202e}x\nb\\u{1b}]0;title\\u{7}\nc\\u{200b}\\u{d}\n");
}

#[test]
fn colour_is_written_only_where_it_is_wanted() {
    let (mut page, paper) = plain(80, true);
    page.line_in(Ink::Red, "stop");
    assert_eq!(paper.text(), "stop\n");
    let paper = Paper::default();
    let mut page = Printer::new(paper.clone(), Look { width: 80, colour: true, wrap: true });
    page.line_in(Ink::Red, "stop");
    assert_eq!(paper.text(), "\x1b[31mstop\x1b[0m\n");
}

#[test]
fn code_between_fences_keeps_its_lines() {
    let (mut page, paper) = plain(20, true);
    let code = "```sh\necho this line is longer than twenty cells\n```\n";
    page.flow(&format!("{code}and this text is wrapped again"));
    page.end_flow();
    assert_eq!(paper.text(), format!("{code}and this text is\nwrapped again\n"));
}

#[test]
fn a_reader_that_has_gone_is_noticed_and_no_more_is_written() {
    let (reader, writer) = io::pipe().unwrap_or_else(|error| panic!("{error}"));
    let mut page = Printer::new(writer, Look { width: 80, colour: false, wrap: true });
    page.line("read");
    assert!(!page.is_broken());
    drop(reader);
    page.line("not read");
    assert!(page.is_broken());
    page.flow("and no panic");
    page.end_flow();
}

proptest! {
    #[test]
    fn running_text_without_wrapping_is_the_text(text in "[a-c \n`é日]{0,80}", at in 0_usize..80) {
        let (mut page, paper) = plain(20, false);
        let (one, two) = halves(&text, at);
        page.flow(one);
        page.flow(two);
        page.end_flow();
        let written = paper.text();
        prop_assert_eq!(written.strip_suffix('\n').unwrap_or(&written), text.strip_suffix('\n').unwrap_or(&text));
    }

    #[test]
    fn wrapped_text_keeps_its_words_and_its_margin(
        text in proptest::collection::vec("[a-zé日]{1,9}|\n", 0..60), at in 0_usize..300, width in 20_usize..60,
    ) {
        let text = text.join(" ");
        let (mut page, paper) = plain(width, true);
        let (one, two) = halves(&text, at);
        page.flow(one);
        page.flow(two);
        page.end_flow();
        let written = paper.text();
        prop_assert_eq!(words(&written), words(&text));
        for line in written.lines() {
            prop_assert!(cells(line) <= width, "{:?} is wider than {}", line, width);
        }
    }

    #[test]
    fn a_line_keeps_its_margin(text in "[ a-z日]{0,200}", width in 20_usize..60) {
        let (mut page, paper) = plain(width, true);
        page.line(&text);
        let written = paper.text();
        let squeezed = |text: &str| text.split_whitespace().collect::<String>();
        prop_assert_eq!(squeezed(&written), squeezed(&text));
        for line in written.lines() {
            prop_assert!(cells(line) <= width, "{:?} is wider than {}", line, width);
        }
    }
}

fn halves(text: &str, at: usize) -> (&str, &str) {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    text.split_at(at)
}

/// A page of the loop, and what is written on it.
fn looped(width: usize, colour: bool) -> (Printer, Paper) {
    let paper = Paper::default();
    let mut page = Printer::new(paper.clone(), Look { width, colour, wrap: true });
    page.live = Some(Live::new(true));
    page.markdown = Some(Markdown::default());
    (page, paper)
}

const MARKDOWN: &str =
    "## A head\nUse `cargo test` and **be bold**.\n- one item of a list\n```diff\n-a b\n+c\n```\n";

/// Returns a text without colours.
fn uncoloured(text: &str) -> String {
    let mut rest = text.split("\u{1b}[");
    let first = rest.next().unwrap_or_default().to_owned();
    rest.fold(first, |text, piece| text + piece.split_once('m').map_or("", |(_, after)| after))
}

#[test]
fn finding_e8_markdown_gets_inks_and_keeps_every_character() {
    let (mut page, paper) = looped(60, true);
    page.flow(MARKDOWN);
    page.end_flow();
    let text = paper.text();
    for piece in [
        "\u{1b}[1mhead\u{1b}[0m",
        "\u{1b}[36m`cargo\u{1b}[0m",
        "\u{1b}[31m-",
        "\u{1b}[32m+",
        "\u{1b}[1mbold*",
    ] {
        assert!(text.contains(piece), "{piece:?} is not in {text:?}");
    }
    assert_eq!(uncoloured(&text), MARKDOWN);
    let (mut page, paper) = looped(60, false);
    page.flow(MARKDOWN);
    page.end_flow();
    assert_eq!(paper.text(), MARKDOWN, "without colour nothing is added");
}

#[test]
fn finding_e8_lines_of_a_list_are_indented_where_they_go_on() {
    let (mut page, paper) = looped(20, false);
    page.flow("- one item of a list that goes on\ntext that goes on and on\n");
    page.end_flow();
    assert_eq!(paper.text(), "- one item of a list\n  that goes on\ntext that goes on\nand on\n");
}

#[test]
fn s3_finding_e8_no_sequence_of_a_model_reaches_the_loop() {
    let (mut page, paper) = looped(60, true);
    page.flow("# \u{1b}]0;title\u{7}\n`\u{1b}[2J`\n```\n\u{1b}[31m\n```\n");
    page.end_flow();
    assert_eq!(uncoloured(&paper.text()), "# \\u{1b}]0;title\\u{7}\n`\\u{1b}[2J`\n```\n\\u{1b}[31m\n```\n");
}

#[test]
fn finding_e8_a_status_is_erased_by_text_and_text_waits_for_a_typed_line() {
    let (mut page, paper) = looped(20, false);
    page.status("1 s");
    page.line("text");
    assert_eq!(paper.text(), "1 s\u{1b}[3D\u{1b}[Ktext\n");
    page.status("a status that is too long for the page");
    page.wait();
    page.line("more");
    page.status("2 s");
    assert_eq!(paper.text(), "1 s\u{1b}[3D\u{1b}[Ktext\n");
    page.go_on();
    assert_eq!(paper.text(), "1 s\u{1b}[3D\u{1b}[Ktext\nmore\n");
}

proptest! {
    #[test]
    fn finding_e8_any_text_in_any_pieces_keeps_its_characters(text in "[a-c #*`+\n-]{0,60}", at in 0_usize..60) {
        let written = |colour: bool, parts: &[&str]| {
            let (mut page, paper) = looped(1000, colour);
            parts.iter().for_each(|part| page.flow(part));
            page.end_flow();
            paper.text()
        };
        let (one, two) = halves(&text, at);
        let whole = written(true, &[&text]);
        prop_assert_eq!(&written(true, &[one, two]), &whole);
        prop_assert_eq!(uncoloured(&whole), written(false, &[&text]));
        let (mut page, paper) = plain(1000, true);
        page.flow(&text);
        page.end_flow();
        prop_assert_eq!(uncoloured(&whole), paper.text());
    }
}
