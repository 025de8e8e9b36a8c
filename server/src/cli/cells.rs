//! How many terminal cells a text takes, and cutting it to so many.
//!
//! A short table, not Unicode in full: what it gets wrong is a ragged edge.
//! Never changes the order or the meaning of a text.

/// Returns the cells of one character.
pub fn width_of(character: char) -> usize {
    let code = character as u32;
    match code {
        0x0300..=0x036F
        | 0x0483..=0x0489
        | 0x0591..=0x05BD
        | 0x064B..=0x065F
        | 0x0900..=0x0902
        | 0x0E31
        | 0x0E34..=0x0E3A
        | 0x1AB0..=0x1AFF
        | 0x1DC0..=0x1DFF
        | 0x20D0..=0x20FF
        | 0xFE20..=0xFE2F => 0,
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

/// Returns the cells of a text without line ends.
pub fn cells(text: &str) -> usize {
    text.chars().map(width_of).sum()
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
