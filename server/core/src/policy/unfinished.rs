//! The sentence about writes that a stopped server may have done in part.
//!
//! Never decides what is finished; `machine::step` does.

/// Returns the notice for the user when a session is opened with this many changes of closed files that were decided and
/// have no outcome; `None` if there are none.
pub fn notice(changes: usize) -> Option<String> {
    let counted = match changes {
        0 => return None,
        1 => "a file".to_owned(),
        several => format!("{several} files"),
    };
    Some(format!("A task was cut short while it changed {counted}. What is not on disk yet is finished now."))
}
