//! Repairs a log before it is continued: cuts a torn tail, rewrites a damaged log.
//!
//! Before anything changes, a torn tail, or the whole of a damaged log, is copied next to the log, durably. Never changes
//! a byte of a damaged log in place.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::line::{self, FORMAT, Header};
use super::notice::Notice;
use super::scan::{LineReader, Scan};
use super::{EVENTS, LogPlace};
use crate::storage::{Open, Storage, StoredFile, append_all, read_exact_at};

/// The most copies of one kind; a log that needs more is on a broken disk.
const MAX_COPIES: u32 = 999;
const CHUNK: usize = 256 << 10;

/// A log that ends with a whole line.
pub struct RepairedLog {
    /// The file, open for appending.
    pub file: Arc<dyn StoredFile>,
    /// Its length in bytes.
    pub len: u64,
    /// When the session was created, in milliseconds since 1970.
    pub created_at: u64,
}

/// Repairs a scanned file if it needs it, and adds a notice for each copy. Blocks on syncs if it
/// repairs something.
pub fn repair(
    place: &LogPlace,
    file: Arc<dyn StoredFile>,
    scan: &mut Scan,
    created_at: u64,
) -> io::Result<RepairedLog> {
    let header = scan.header.unwrap_or(Header { format: FORMAT, created_at });
    let headless = scan.header.is_none() && !scan.is_blank();
    if headless || !scan.bad.is_empty() || header.format != FORMAT {
        let kind = if header.format == FORMAT { "damaged" } else { "older" };
        copy_aside(place, &file, (0, scan.len), kind, scan)?;
        if header.format != FORMAT {
            scan.notices.push(Notice::Migrated { from: header.format });
        }
        return rewrite(place, &file, scan, header.created_at);
    }
    let mut len = scan.len;
    if let Some(tail) = scan.tail {
        copy_aside(place, &file, (tail.at, scan.len), "torn", scan)?;
        file.truncate(tail.at)?;
        len = tail.at;
    }
    if len == 0 {
        let mut head = Vec::new();
        line::put_header(&mut head, &place.session, header.created_at);
        append_all(&*file, &head)?;
        len = head.len() as u64;
    }
    if len != scan.len {
        file.sync()?;
    }
    Ok(RepairedLog { file, len, created_at: header.created_at })
}

/// Copies a part of a file next to the log, durably.
fn copy_aside(
    place: &LogPlace,
    file: &Arc<dyn StoredFile>,
    (from, to): (u64, u64),
    kind: &str,
    scan: &mut Scan,
) -> io::Result<()> {
    let (path, copy) = new_copy(place, kind)?;
    let copied = copy_range(&**file, &*copy, from, to).and_then(|()| copy.sync());
    if let Err(error) = copied {
        // A partial copy is useless, and the next try would add another one.
        _ = place.storage.remove(&path);
        return Err(error);
    }
    place.storage.sync_dir(&place.dir)?;
    scan.notices.push(Notice::SavedCopy { path });
    Ok(())
}

fn new_copy(place: &LogPlace, kind: &str) -> io::Result<(PathBuf, Arc<dyn StoredFile>)> {
    for number in 1..=MAX_COPIES {
        let path = place.dir.join(format!("{EVENTS}.{kind}-{number}"));
        match place.storage.open(&path, Open::New) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other(format!(
        "\"{}\" holds {MAX_COPIES} copies named \"{EVENTS}.{kind}-N\" already; remove some of them",
        place.dir.display()
    )))
}

fn copy_range(from: &dyn StoredFile, to: &dyn StoredFile, at: u64, end: u64) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    let mut at = at;
    while at < end {
        let len = (end - at).min(CHUNK as u64) as usize;
        let Some(part) = chunk.get_mut(..len) else {
            break;
        };
        read_exact_at(from, part, at)?;
        append_all(to, part)?;
        at += len as u64;
    }
    Ok(())
}

/// Writes all whole records into a new file and renames it to the log.
pub fn rewrite(
    place: &LogPlace,
    file: &Arc<dyn StoredFile>,
    scan: &Scan,
    created_at: u64,
) -> io::Result<RepairedLog> {
    let path = place.dir.join(format!("{EVENTS}.new"));
    let fresh = fresh_file(&*place.storage, &path)?;
    let mut lines = LineReader::new(file, scan);
    let mut batch = Vec::new();
    let mut len = 0;
    line::put_header(&mut batch, &place.session, created_at);
    if scan.epoch > 0 {
        line::put_epoch(&mut batch, &place.session, scan.epoch, created_at);
    }
    for span in &scan.spans {
        batch.extend_from_slice(lines.get(span)?);
        batch.push(b'\n');
        if batch.len() >= CHUNK {
            append_all(&*fresh, &batch)?;
            len += batch.len() as u64;
            batch.clear();
        }
    }
    append_all(&*fresh, &batch)?;
    len += batch.len() as u64;
    fresh.sync()?;
    place.storage.rename(&path, &place.events())?;
    place.storage.sync_dir(&place.dir)?;
    Ok(RepairedLog { file: fresh, len, created_at })
}

/// Creates a file; removes one that an earlier try has left.
fn fresh_file(storage: &dyn Storage, path: &Path) -> io::Result<Arc<dyn StoredFile>> {
    match storage.remove(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => storage.open(path, Open::New),
    }
}
