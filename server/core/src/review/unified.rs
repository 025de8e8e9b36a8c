//! Hunks as the diff that is shown before they are allowed.
//!
//! Never compares two texts: it shows exactly the hunks an approval binds, and all of them.

use super::Hunk;
use crate::edit::line_end;

/// Returns the unified diff of all hunks of one file, whole.
pub fn unified_diff(path: &str, existed: bool, hunks: &[Hunk]) -> String {
    let from = if existed { format!("a/{path}") } else { "/dev/null".to_owned() };
    let head = format!("--- {from}\n+++ b/{path}\n");
    let lines = hunks.iter().flat_map(groups).flat_map(|(_, lines)| lines);
    // It may have megabytes: text that has its room is not moved while it grows.
    let room = lines.map(|line| line.len() + 1).sum::<usize>() + hunks.len() * 64;
    let mut text = String::with_capacity(head.len() + room);
    text.push_str(&head);
    let mut shift = 0_isize;
    for hunk in hunks {
        push_hunk(&mut text, hunk, &mut shift);
    }
    text
}

/// The lines of a hunk in the order they are shown, with the sign of each group.
fn groups(hunk: &Hunk) -> [(char, &[String]); 4] {
    [(' ', &hunk.context_before), ('-', &hunk.removed), ('+', &hunk.inserted), (' ', &hunk.context_after)]
}

/// `shift` is by how many lines the hunks before made the text longer.
fn push_hunk(text: &mut String, hunk: &Hunk, shift: &mut isize) {
    let around = hunk.context_before.len() + hunk.context_after.len();
    let (old, new) = (hunk.removed.len() + around, hunk.inserted.len() + around);
    let start = hunk.line.saturating_sub(hunk.context_before.len());
    let old_start = start + usize::from(old > 0);
    let new_start = start.saturating_add_signed(*shift) + usize::from(new > 0);
    text.push_str(&format!("@@ -{old_start},{old} +{new_start},{new} @@\n"));
    for (sign, lines) in groups(hunk) {
        for line in lines {
            text.push(sign);
            text.push_str(line);
            // Readers end a row at a line feed alone: each line needs one to have a row and a sign of its own.
            text.push_str(match line_end(line) {
                "" => "\n\\ No newline at end of file\n",
                "\r" => "\n\\ Ends with a carriage return alone\n",
                _ => "",
            });
        }
    }
    *shift += hunk.inserted.len() as isize - hunk.removed.len() as isize;
}
