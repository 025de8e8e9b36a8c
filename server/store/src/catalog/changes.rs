//! The applied changes of a session, in a file next to its log: a reader of these needs not read the log.
//!
//! It is a cache, so it is never synced. Never believed unless it is whole, of this version, and of the session and
//! the log that are asked for.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::LogMark;
use crate::storage::{Storage, read_whole, replace};

const CHANGES: &str = "changes.jsonl";
/// The longest text of changes that is kept, in bytes. A session has at most 32 MiB of them; reading so much here would cost what
/// reading the log costs.
pub const MOST_BYTES: usize = 8 << 20;
/// Increase this number when the same log gives other changes, or other lines for them.
const FORMAT: u32 = 2;

/// The first line of the file.
#[derive(Debug, Serialize, Deserialize)]
struct HeadOfChanges {
    format: u32,
    /// Of the program. Another version may fold the same log in another way.
    version: String,
    /// A copy of a session's folder is no session of its own.
    session: String,
    /// The log that has these changes.
    log: LogMark,
    /// The folders of the session.
    roots: Vec<String>,
    /// The checksum of the folders and of the text after this line.
    sum: u32,
}

/// The applied changes of a session, as text.
#[derive(Debug, PartialEq, Eq)]
pub struct KeptChanges {
    /// The folders of the session.
    pub roots: Vec<String>,
    /// For each change a line with its head and a line with the change.
    pub lines: String,
}

fn sum_of(roots: &[String], lines: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    for root in roots {
        sum.update(root.as_bytes());
        sum.update(b"\n");
    }
    sum.update(lines);
    sum.finalize()
}

/// Replaces the changes that are kept in a directory.
pub fn write(
    storage: &dyn Storage,
    (dir, session): (&Path, &str),
    log: LogMark,
    roots: Vec<String>,
    lines: &[u8],
) -> io::Result<()> {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let session = session.to_owned();
    let sum = sum_of(&roots, lines);
    let head = HeadOfChanges { format: FORMAT, version, session, log, roots, sum };
    let mut text = serde_json::to_vec(&head)?;
    text.push(b'\n');
    text.extend_from_slice(lines);
    replace(storage, &dir.join(CHANGES), &text).map(drop)
}

/// Returns the changes that are kept in the directory of a session, if they are those of this log.
pub fn read(storage: &dyn Storage, (dir, session): (&Path, &str), log: LogMark) -> Option<KeptChanges> {
    // The head is short, but for the names of many folders.
    let text = read_whole(storage, &dir.join(CHANGES), 2 * MOST_BYTES as u64).ok()?;
    let mut text = String::from_utf8(text).ok()?;
    let (head, lines) = text.split_once('\n')?;
    let head: HeadOfChanges = serde_json::from_str(head).ok()?;
    let is_ours = head.format == FORMAT && head.version == env!("CARGO_PKG_VERSION");
    if !is_ours
        || head.session != session
        || head.log != log
        || head.sum != sum_of(&head.roots, lines.as_bytes())
    {
        return None;
    }
    let begin = text.len() - lines.len();
    text.drain(..begin);
    Some(KeptChanges { roots: head.roots, lines: text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Disk;

    const LOG: LogMark = LogMark { len: 7, last_seq: 3, sum: 9 };

    /// Writes changes, lets `damage` change the file, and returns what is read.
    fn read_after(log: LogMark, damage: impl FnOnce(String) -> String) -> Option<String> {
        let dir = tempfile::tempdir().unwrap();
        write(&Disk, (dir.path(), "s-1"), LOG, vec!["/here".to_owned()], b"{\"one\":1}\n{\"two\":2}\n")
            .unwrap();
        let path = dir.path().join(CHANGES);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, damage(text)).unwrap();
        read(&Disk, (dir.path(), "s-1"), log).map(|kept| kept.lines)
    }

    #[test]
    fn n30_kept_changes_are_believed_only_whole_and_of_the_log_that_is_asked_for() {
        let whole = Some("{\"one\":1}\n{\"two\":2}\n".to_owned());
        assert_eq!(read_after(LOG, |text| text), whole);
        for other in [LogMark { len: 8, ..LOG }, LogMark { last_seq: 4, ..LOG }, LogMark { sum: 8, ..LOG }] {
            assert_eq!(read_after(other, |text| text), None);
        }
        assert_eq!(read_after(LOG, |text| text.replace("s-1", "s-2")), None);
        assert_eq!(read_after(LOG, |text| text.replace("\"two\":2", "\"two\":3")), None);
        assert_eq!(read_after(LOG, |text| text.replace("/here", "/hers")), None);
        assert_eq!(read_after(LOG, |text| text[..text.len() - 10].to_owned()), None);
        assert_eq!(read_after(LOG, |text| text.replace("\"format\":2", "\"format\":0")), None);
        assert_eq!(read_after(LOG, |text| text.replace(env!("CARGO_PKG_VERSION"), "0.0.9")), None);
        assert_eq!(read_after(LOG, |_| String::new()), None);
    }
}
