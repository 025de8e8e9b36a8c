//! Line edits and hunks: they turn any text into any other and back, and their presence is never misjudged.

use adjutant_core::text::edit::{apply_edits, lines, rewritten, text_edits};
use adjutant_core::text::position::Encoding;
use adjutant_core::text::review::{
    Hunk, Placement, Presence, apply_hunks, hunks, placement, present, present_all, unified_diff,
};

use super::{number, parts, text};

const ENCODINGS: [Encoding; 3] = [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32];

pub fn check(mut input: &[u8]) {
    let encoding = ENCODINGS[number(&mut input) % 3];
    let line = number(&mut input);
    let [before, after, other] = parts(input);
    let (before, after, other) = (text(before), text(after), text(other));
    for (from, to) in [(&before, &after), (&after, &before)] {
        assert_eq!(lines(from).collect::<String>(), from.as_ref());
        let edits = text_edits(from, to, encoding);
        assert_eq!(edits.is_empty(), from == to);
        assert!(edits.windows(2).all(|pair| pair[0].range.end < pair[1].range.start), "{edits:?}");
        assert_eq!(apply_edits(from, &edits, encoding).as_deref(), Ok(to.as_ref()));
        reviewed(from, to);
    }
    for hunk in hunks(&before, &after) {
        elsewhere(&other, Hunk { line, ..hunk });
    }
    // A lone `\r` from a model is a character, but in the file it is a line end. A file without a line end has no
    // form to keep, so it gets the model's byte order mark.
    if after.replace("\r\n", "").contains('\r') || after.starts_with('\u{feff}') {
        return;
    }
    let form = rewritten(&before, &after);
    assert_eq!(rewritten(&form, &after), form, "rewriting twice changes more");
}

fn reviewed(before: &str, after: &str) {
    let all = hunks(before, after);
    assert_eq!(all.is_empty(), before == after);
    assert_eq!(apply_hunks(before, &all).as_deref(), Ok(after));
    let judged = present_all(after, &all);
    for (hunk, judged) in all.iter().zip(judged) {
        assert_eq!(present(after, hunk), judged);
        // Texts with many equal lines may be unclear, but never wrong.
        assert_ne!(present(before, hunk), Presence::Landed);
        assert_ne!(judged, Presence::NotLanded);
    }
    let shown = unified_diff("a", true, &all);
    // Hunks whose contexts touch have one common head.
    let heads = shown.split('\n').filter(|row| row.starts_with("@@")).count();
    assert!(heads <= all.len() && (heads == 0) == all.is_empty());
}

/// A hunk of another text is placed or refused. It changes the text unless the text has it already.
fn elsewhere(text: &str, hunk: Hunk) {
    let there = matches!(placement(text, &hunk), Placement::AlreadyThere { .. });
    if let Ok(result) = apply_hunks(text, std::slice::from_ref(&hunk)) {
        assert_eq!(result == text, there);
    }
    let _ = present(text, &hunk);
}
