//! Reads git repositories: the branch, the last commit, the index.
//!
//! Starts no program and writes nothing. What cannot be read with certainty is `Unknown`, and nothing may be concluded
//! from it. All functions block, and all of them end: every size, depth and time has a limit.
//!
//! Never follows a setting of a repository: settings are only read to recognise what Adjutant does not support.

mod changed;
mod commit_id;
mod commits;
mod config;
mod discovery;
mod files;
mod history;
mod index;
mod objects;
mod refs;
mod repository;
mod same_text;
mod staged;
mod stamp;
mod stash;
mod unknown;

pub use commit_id::CommitId;
pub use commits::Commits;
pub use objects::MAX_TEXT;
pub use refs::Head;
pub use repository::Repository;
pub use same_text::same_text;
pub use stamp::Stamp;
pub use unknown::Unknown;

#[cfg(test)]
mod tests;
