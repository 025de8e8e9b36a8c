//! Which files a diff deletes and moves, and which changes of lines belong to each file: files pass names on to one another.
//!
//! Never looks at a file: the log says what was done, and who makes the diff compares it with the disk.

use std::collections::BTreeMap;

use adjutant_core::record::{FileOperation, ReviewState};
use adjutant_protocol::SessionId;

use super::OwnedChange;

/// One file through its deletions and moves.
#[derive(Default)]
pub(super) struct FileLife {
    /// All changes of its lines, the oldest first.
    pub edits: Vec<OwnedChange>,
    /// The name before the first move that the diff has, and the last of these moves.
    pub moved: Option<(String, OwnedChange)>,
    /// The deletion, if the diff has it.
    pub deletion: Option<OwnedChange>,
    /// Whether it got another name after a move that the diff has.
    pub moved_later: bool,
}

/// Returns the files that these changes, the oldest first, leave: deleted ones, and those that have a name. The diff has the
/// deletions and moves that are `wanted`.
pub(super) fn files(changes: Vec<OwnedChange>, wanted: impl Fn(&OwnedChange) -> bool) -> Vec<FileLife> {
    let (mut deleted, mut named) = (Vec::new(), BTreeMap::<String, FileLife>::new());
    let mut moves: Vec<(SessionId, String, String, u64)> = Vec::new();
    for owned in changes {
        let change = owned.change.clone();
        let is_undone = change.hunks.first().is_some_and(|hunk| hunk.state == ReviewState::Undone);
        match &change.operation {
            None => {
                let of_session = moves.iter().filter(|(session, ..)| *session == owned.session);
                let names = of_session.map(|(_, from, to, seq)| (from.as_str(), to.as_str(), *seq));
                let target = change.target_then(names).to_owned();
                named.entry(target).or_default().edits.push(owned);
            }
            Some(_) if is_undone => {}
            Some(FileOperation::Delete { .. }) => {
                let mut file = named.remove(&change.target).unwrap_or_default();
                if wanted(&owned) {
                    file.deletion = Some(owned);
                    deleted.push(file);
                }
            }
            Some(FileOperation::Move { path: to, target, .. }) => {
                let mut file = named.remove(&change.target).unwrap_or_default();
                moves.push((owned.session.clone(), change.target.clone(), target.clone(), change.seq));
                if wanted(&owned) {
                    let first = file.moved.take().map_or_else(|| change.path.clone(), |(path, _)| path);
                    // Back at its first name, it is where it was.
                    file.moved = (*to != first).then_some((first, owned));
                } else {
                    file.moved_later |= file.moved.is_some();
                }
                named.insert(target.clone(), file);
            }
        }
    }
    deleted.extend(named.into_values());
    deleted
}
