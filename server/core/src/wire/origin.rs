//! Whose a line in the place of an applied hunk is.
//!
//! Never looks at a file: the hunk has the text in its place.

use adjutant_protocol::review::ReviewHunk;
use similar::DiffOp;

use crate::text::edit::{line_diff, lines};

/// Who wrote a line in the place of a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineAuthor {
    Agent,
    /// The user changed the hunk, and neither the agent nor a formatter wrote this line.
    User,
    /// It was there before: changes close to each other are one hunk, with the lines between them.
    Before,
}

/// Returns who wrote a line, from zero as in its file; `None` if it is another change's, made inside this one. `own` is the line,
/// if it is known. A place without lines is the agent's, who removed them.
pub fn author_of(hunk: &ReviewHunk, line: u32, own: Option<&str>) -> Option<LineAuthor> {
    let there = contents(hunk.text.as_ref().or(hunk.formatted.as_ref()).unwrap_or(&hunk.inserted));
    let at = line.saturating_sub(hunk.line) as usize;
    let Some(own) = own.map(|own| own.trim_end_matches(['\r', '\n'])).or_else(|| there.get(at).copied())
    else {
        return Some(LineAuthor::Agent);
    };
    if there.is_empty() {
        return Some(LineAuthor::Agent);
    }
    let count = hunk.end_line.unwrap_or(hunk.line).saturating_sub(hunk.line) as usize;
    // Where lines of another change are between them, only the text of the line says which it is.
    let is_there = count == there.len() && there.get(at) == Some(&own);
    let mut places =
        (0..there.len()).filter(|place| if is_there { *place == at } else { there[*place] == own });
    let first = places.next()?;
    let removed = contents(&hunk.removed);
    let count_in = |all: &[&str]| all.iter().filter(|line| **line == own).count();
    if count_in(&removed) >= count_in(&there) {
        // None of them is new, also if it has another place now.
        return Some(LineAuthor::Before);
    }
    let changes = line_diff(&removed, &there);
    let is_unchanged = |place: usize| {
        let has =
            |change: &DiffOp| matches!(change, DiffOp::Equal { .. }) && change.new_range().contains(&place);
        changes.iter().any(has)
    };
    if is_unchanged(first) && places.all(is_unchanged) {
        return Some(LineAuthor::Before);
    }
    let formatted = hunk.formatted.as_deref().unwrap_or_default();
    let is_agents = [contents(&hunk.inserted), contents(formatted)].concat().contains(&own);
    Some(if hunk.text.is_some() && !is_agents { LineAuthor::User } else { LineAuthor::Agent })
}

/// Returns the lines of a text without their line ends.
fn contents(text: &str) -> Vec<&str> {
    lines(text).map(|line| line.trim_end_matches(['\r', '\n'])).collect()
}
