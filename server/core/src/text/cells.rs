//! The width of a text in terminal cells, and cutting a text to a width.
//!
//! The table is short and not all of Unicode: an error makes only a ragged edge.
//! Never changes the order or the meaning of a text.

use crate::text::display::is_mark;

/// Cells from one tab stop to the next.
const TAB: usize = 8;

/// Returns the width of one character in cells; a tab counts as one.
pub fn width_of(character: char) -> usize {
    if is_mark(character) {
        return 0;
    }
    match character as u32 {
        0x1100..=0x115F
        | 0x2E80..=0x303E
        | 0x3041..=0xA4CF
        | 0xA960..=0xA97F
        | 0xAC00..=0xD7A3
        | 0xF900..=0xFAFF
        | 0xFE30..=0xFE6F
        | 0xFF00..=0xFF60
        | 0xFFE0..=0xFFE6
        | 0x1F300..=0x1F64F
        | 0x1F680..=0x1F6FF
        | 0x1F900..=0x1FAFF
        | 0x20000..=0x3FFFD => 2,
        _ => 1,
    }
}

/// Returns the width of a text without line ends, in cells.
pub fn cells(text: &str) -> usize {
    text.chars().map(width_of).sum()
}

/// Returns how many rows of a screen a line fills. A wide character that does not fit at the end of a
/// row moves to the next.
pub fn rows(line: &str, columns: usize) -> usize {
    let (mut rows, mut at) = (1, 0);
    for character in line.chars() {
        let width = if character == '\t' { TAB - at % TAB } else { width_of(character) };
        if at + width > columns {
            rows += 1;
            at = 0;
        }
        at += width.min(columns);
    }
    rows
}

/// Returns the text cut with `…` to at most `limit` cells.
pub fn cut(text: &str, limit: usize) -> String {
    if cells(text) <= limit {
        return text.to_owned();
    }
    let mut left = limit.saturating_sub(1);
    let mut short: String = text
        .chars()
        .take_while(|character| {
            let width = width_of(*character);
            let fits = width <= left;
            left = if fits { left - width } else { 0 };
            fits
        })
        .collect();
    if limit > 0 {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finding_a3_rows_are_counted_in_the_columns_that_a_screen_needs() {
        for (line, expected) in [
            (String::new(), 1),
            ("x".repeat(80), 1),
            ("x".repeat(81), 2),
            ("日".repeat(40), 1),
            ("日".repeat(41), 2),
            (format!("x{}", "日".repeat(40)), 2),
            ("e\u{301}".repeat(80), 1),
            ("\tx".repeat(5), 1),
            ("\tx".repeat(10), 2),
        ] {
            assert_eq!(rows(&line, 80), expected, "{line:?}");
        }
        assert_eq!(rows("日本", 1), 3, "a screen that is too narrow is no panic");
    }

    #[test]
    fn a_cut_text_takes_no_more_than_its_cells() {
        for limit in 0..12 {
            for text in ["", "plain text here", "日本語のテキスト", "e\u{301}e\u{301}", "a日b本"] {
                let short = cut(text, limit);
                assert!(cells(&short) <= limit, "{short:?} is longer than {limit}");
                assert!(cells(text) > limit || short == text);
            }
        }
    }
}
