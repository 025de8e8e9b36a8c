//! Hunks as the diff that the user sees before an approval.
//!
//! Never compares two texts: the diff has all hunks that the approval binds, and nothing else.

use super::Hunk;
use crate::text::edit::line_end;

/// Returns the unified diff of all hunks of one file. `existed` is false for a new file.
pub fn unified_diff(path: &str, existed: bool, hunks: &[Hunk]) -> String {
    let from = if existed { format!("a/{path}") } else { "/dev/null".to_owned() };
    diff_after(format!("--- {from}\n+++ b/{path}\n"), hunks)
}

/// Returns the unified diff of the deletion of a file; `hunk` has all of its lines.
pub fn deletion_diff(path: &str, hunk: &[Hunk]) -> String {
    let hunk = if hunk.iter().all(|hunk| hunk.removed.is_empty()) { &[] } else { hunk };
    diff_after(format!("--- a/{path}\n+++ /dev/null\n"), hunk)
}

/// Returns the diff of the move of a file, in the words of git.
pub fn move_diff(path: &str, to: &str) -> String {
    format!("similarity index 100%\nrename from {path}\nrename to {to}\n")
}

fn diff_after(head: String, hunks: &[Hunk]) -> String {
    let lines = hunks.iter().flat_map(groups).flat_map(|(_, lines)| lines);
    // The diff may have megabytes: enough capacity avoids copies while it grows.
    let capacity = lines.map(|line| line.len() + 1).sum::<usize>() + hunks.len() * 64;
    let mut text = String::with_capacity(head.len() + capacity);
    text.push_str(&head);
    push_blocks(&mut text, hunks);
    text
}

/// Appends all hunks of one file, with their `@@` lines.
pub(super) fn push_blocks(text: &mut String, hunks: &[Hunk]) {
    let mut shift = 0_isize;
    let mut rest = hunks;
    while !rest.is_empty() {
        let (block, later) = rest.split_at(block_len(rest));
        push_block(text, block, &mut shift);
        rest = later;
    }
}

/// Returns the lines of a hunk in display order, with the sign of each group.
fn groups(hunk: &Hunk) -> [(char, &[String]); 4] {
    [(' ', &hunk.context_before), ('-', &hunk.removed), ('+', &hunk.inserted), (' ', &hunk.context_after)]
}

/// Returns how many hunks have one common `@@` line: those whose context reaches the next hunk. Tools that read
/// diffs refuse two `@@` lines for the same lines.
fn block_len(hunks: &[Hunk]) -> usize {
    1 + hunks.windows(2).take_while(|pair| gap(pair).is_some()).count()
}

/// Returns how many unchanged lines are between two hunks, if their contexts have all of them.
fn gap(pair: &[Hunk]) -> Option<usize> {
    let [above, below] = pair else { return None };
    let gap = below.line.checked_sub(above.line + above.removed.len())?;
    (gap <= above.context_after.len() + below.context_before.len()).then_some(gap)
}

/// Returns the lines of several hunks and the lines between them, each once.
fn block_lines(block: &[Hunk]) -> Vec<(char, &String)> {
    let mut all = Vec::new();
    for (index, hunk) in block.iter().enumerate() {
        let above = index.checked_sub(1).and_then(|above| gap(&block[above..=index]));
        let below = block.get(index..index + 2).and_then(gap);
        // Of the lines between two hunks, the first hunk shows its context and the second hunk the rest.
        let shown = above.map_or(0, |gap| gap.min(block[index - 1].context_after.len()));
        let before = above.map_or(hunk.context_before.len(), |gap| gap - shown);
        let after = below.map_or(hunk.context_after.len(), |gap| gap.min(hunk.context_after.len()));
        let before = &hunk.context_before[hunk.context_before.len() - before..];
        let [_, removed, inserted, _] = groups(hunk);
        let groups = [(' ', before), removed, inserted, (' ', &hunk.context_after[..after])];
        all.extend(groups.into_iter().flat_map(|(sign, lines)| lines.iter().map(move |line| (sign, line))));
    }
    all
}

/// Appends one block. `shift` is how many lines longer the text is after the hunks before this block.
fn push_block(text: &mut String, block: &[Hunk], shift: &mut isize) {
    let Some(first) = block.first() else { return };
    let lines = block_lines(block);
    let count = |but: char| lines.iter().filter(|(sign, _)| *sign != but).count();
    let (old, new) = (count('+'), count('-'));
    let start = first.line.saturating_sub(first.context_before.len());
    let old_start = start + usize::from(old > 0);
    let new_start = start.saturating_add_signed(*shift) + usize::from(new > 0);
    text.push_str(&format!("@@ -{old_start},{old} +{new_start},{new} @@\n"));
    for (sign, line) in lines {
        text.push(sign);
        text.push_str(line);
        // Programs that display a diff end a row only at a line feed. Each line needs one to have its own row and sign.
        text.push_str(match line_end(line) {
            "" => "\n\\ No newline at end of file\n",
            "\r" => "\n\\ Ends with a carriage return alone\n",
            _ => "",
        });
    }
    *shift += new as isize - old as isize;
}
