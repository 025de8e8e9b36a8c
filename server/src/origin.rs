//! Who wrote a line, on which task, and whether a person looked: the words of `adjutant why` and of the hover.
//!
//! Never makes a text safe to display: each surface does that in its own way.

use adjutant_core::wire::origin::{LineAuthor, author_of};
use adjutant_protocol::review::{KeptBy, MadeBy, ReviewHunk};

const DAY_MS: u64 = 86_400_000;

/// Who wrote a line.
pub struct Origin {
    /// One sentence that ends with a colon.
    pub headline: String,
    /// A label of one word, and its value.
    pub rows: Vec<(&'static str, String)>,
}

impl Origin {
    /// Returns who wrote `line` of a hunk, from zero; `None` if it is not an applied hunk, or if another change
    /// wrote the line. `own` is the line, if it is known. `now`: milliseconds since the Unix
    /// epoch.
    pub fn of(hunk: &ReviewHunk, line: u32, own: Option<&str>, now: u64) -> Option<Self> {
        let made = hunk.made_by.as_ref()?;
        let when = match now.saturating_sub(made.at) / DAY_MS {
            0 => "today".to_owned(),
            1 => "yesterday".to_owned(),
            days => format!("{days} days ago"),
        };
        let text = hunk.text.as_deref().unwrap_or(&hunk.inserted);
        let inside = format!("inside a change that {} made {when}:", made.model);
        let headline = match (author_of(hunk, line, own)?, text.is_empty()) {
            (LineAuthor::User, _) => format!("You wrote this line, {inside}"),
            (LineAuthor::Before, _) => format!("This line was there before, {inside}"),
            (LineAuthor::Agent, true) => format!("{} removed lines here {when}:", made.model),
            (LineAuthor::Agent, false) => format!("{} wrote it {when}:", made.model),
        };
        let looked = match hunk.kept_by {
            Some(KeptBy::Review) => "a person kept it",
            Some(KeptBy::EditsMode) => "nobody looked at it: edits.mode = \"auto\" keeps every edit",
            Some(KeptBy::Commit) => "it was committed, and nobody kept it in a review before",
            Some(KeptBy::Age) => "nobody looked at it for 14 days, and so it counts as kept",
            Some(KeptBy::Question) => "a person saw it before it was made",
            None if made.ask_id.is_some() => "a person saw it before it was made",
            None => "nobody has looked at it yet",
        };
        let mut rows = vec![("task", made.task.clone())];
        rows.extend(asked(made));
        rows.extend([
            ("session", hunk.session_id.to_string()),
            ("allowed", made.allowed_by.clone()),
            ("reviewed", looked.to_owned()),
        ]);
        rows.extend(made.mark.clone().map(|mark| ("note", mark)));
        rows.extend(hunk.tool_call_ids.iter().map(|call| ("call", call.to_string())));
        Some(Self { headline, rows })
    }
}

/// Returns the prompts on which a change was made, without what the task says already.
fn asked(made: &MadeBy) -> Vec<(&'static str, String)> {
    let row = |text: &String| ("prompt", text.clone());
    if made.prompts == [made.task.as_str()] {
        return Vec::new();
    }
    let mut rows: Vec<_> = made.prompts.iter().map(row).collect();
    if made.prompts_left_out > 0 && !rows.is_empty() {
        rows.insert(1, ("", format!("({} more prompts)", made.prompts_left_out)));
    }
    rows
}
