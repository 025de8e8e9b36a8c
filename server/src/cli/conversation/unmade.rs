//! Files that lack the last edit that was allowed.
//!
//! Never removes a file from the list because of an edit that was only proposed or rejected.

use std::collections::BTreeSet;

use adjutant_protocol::update::{ChangeSetView, HunkState};

#[derive(Debug, Default)]
pub struct MissingEdits(BTreeSet<String>);

impl MissingEdits {
    /// Folds in the latest state of a change set.
    pub fn update(&mut self, change: &ChangeSetView) {
        let is = |state| change.hunks.iter().any(|hunk| hunk.state == state);
        if is(HunkState::NotApplied) {
            self.0.insert(change.path.clone());
        } else if is(HunkState::Applied) && !is(HunkState::Applying) {
            self.0.remove(&change.path);
        }
    }

    /// Returns the line that names them; `None` if every allowed edit is on disk.
    pub fn in_words(&self) -> Option<String> {
        let files: Vec<&str> = self.0.iter().map(String::as_str).collect();
        (!files.is_empty()).then(|| format!("error: allowed edits are not on disk: {}", files.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use adjutant_protocol::update::HunkView;

    use super::*;

    fn change(path: &str, states: &[HunkState]) -> ChangeSetView {
        let hunk = |(at, state): (usize, &HunkState)| HunkView {
            hunk_id: format!("h{at}"),
            state: *state,
            removed: 1,
            inserted: 1,
        };
        ChangeSetView {
            change_set_id: "change-1".into(),
            tool_call_id: "call-1".into(),
            tool_call_ids: Vec::new(),
            uri: format!("file:///{path}"),
            path: path.to_owned(),
            operation: None,
            hunks: states.iter().enumerate().map(hunk).collect(),
            mark: None,
        }
    }

    #[test]
    fn finding_c1_an_edit_that_was_not_made_is_an_error_until_one_of_the_file_is_made() {
        use HunkState::{Applied, Applying, NotApplied, Proposed, Rejected};
        let named = Some("error: allowed edits are not on disk: a.txt".to_owned());
        let mut unmade = MissingEdits::default();
        for state in [Proposed, Applying] {
            unmade.update(&change("a.txt", &[state]));
            assert_eq!(unmade.in_words(), None, "{state:?}");
        }
        for states in [
            &[NotApplied][..],
            &[Proposed],
            &[Rejected],
            &[Applying],
            &[Rejected, Applying],
            &[Applied, Applying],
            &[Applied, NotApplied],
        ] {
            unmade.update(&change("a.txt", states));
            unmade.update(&change("b.txt", &[Applied]));
            assert_eq!(unmade.in_words(), named, "{states:?}");
        }
        unmade.update(&change("a.txt", &[Applied, Rejected]));
        assert_eq!(unmade.in_words(), None);
    }
}
