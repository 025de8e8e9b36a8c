//! Hunks as the diff that is shown before they are allowed.
//!
//! Never compares two texts: it shows exactly the hunks an approval binds, and all of them.

use super::Hunk;
use crate::text::edit::line_end;

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
    let mut rest = hunks;
    while !rest.is_empty() {
        let (block, later) = rest.split_at(block_len(rest));
        push_block(&mut text, block, &mut shift);
        rest = later;
    }
    text
}

/// The lines of a hunk in the order they are shown, with the sign of each group.
fn groups(hunk: &Hunk) -> [(char, &[String]); 4] {
    [(' ', &hunk.context_before), ('-', &hunk.removed), ('+', &hunk.inserted), (' ', &hunk.context_after)]
}

/// How many hunks from the first on are shown under one head: those whose context reaches the next.
/// Tools that read diffs refuse two heads for the same lines.
fn block_len(hunks: &[Hunk]) -> usize {
    1 + hunks.windows(2).take_while(|pair| gap(pair).is_some()).count()
}

/// Returns the unchanged lines between two hunks, if the context of both shows all of them.
fn gap(pair: &[Hunk]) -> Option<usize> {
    let [above, below] = pair else { return None };
    let gap = below.line.checked_sub(above.line + above.removed.len())?;
    (gap <= above.context_after.len() + below.context_before.len()).then_some(gap)
}

/// The lines of several hunks with the lines between them, each once.
fn block_lines(block: &[Hunk]) -> Vec<(char, &String)> {
    let mut all = Vec::new();
    for (index, hunk) in block.iter().enumerate() {
        let above = index.checked_sub(1).and_then(|above| gap(&block[above..=index]));
        let below = block.get(index..index + 2).and_then(gap);
        // Of the lines between two hunks the first one shows what it has, the second one the rest.
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

/// `shift` is by how many lines the hunks before made the text longer.
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
        // Readers end a row at a line feed alone: each line needs one to have a row and a sign of its own.
        text.push_str(match line_end(line) {
            "" => "\n\\ No newline at end of file\n",
            "\r" => "\n\\ Ends with a carriage return alone\n",
            _ => "",
        });
    }
    *shift += new as isize - old as isize;
}
