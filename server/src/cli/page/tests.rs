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
