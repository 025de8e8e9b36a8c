//! A zip archive in memory, with every file stored as it is.
//!
//! Never compresses: the archive stays on this machine, and its reader unpacks it once.

use anyhow::Context;

/// The version of the format that a reader must know: 2.0.
const NEEDED: u16 = 20;
/// Made on Unix, by the same version.
const MADE_BY: u16 = 3 << 8 | NEEDED;
/// Names are UTF-8.
const FLAGS: u16 = 1 << 11;
/// The first day that the format knows, 1 January 1980, so that equal files make equal archives.
const DAY: u16 = 1 << 5 | 1;
/// A regular file that everyone may read and its owner may write.
const MODE: u32 = 0o100_644 << 16;

/// Returns the archive of these files, by name.
pub fn zip(files: &[(&str, &[u8])]) -> anyhow::Result<Vec<u8>> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in files {
        let at = length(out.len())?;
        let entry = entry(name, bytes)?;
        out.extend(0x0403_4b50_u32.to_le_bytes());
        out.extend(&entry);
        out.extend(name.as_bytes());
        out.extend(*bytes);
        directory.extend(0x0201_4b50_u32.to_le_bytes());
        directory.extend(MADE_BY.to_le_bytes());
        directory.extend(&entry);
        // No comment, the first disk, no hint of text.
        directory.extend([0; 6]);
        directory.extend(MODE.to_le_bytes());
        directory.extend(at.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let (count, size, at) = (u16::try_from(files.len())?, length(directory.len())?, length(out.len())?);
    out.append(&mut directory);
    out.extend(0x0605_4b50_u32.to_le_bytes());
    out.extend([0; 4]);
    out.extend([count.to_le_bytes(); 2].concat());
    out.extend(size.to_le_bytes());
    out.extend(at.to_le_bytes());
    out.extend([0; 2]);
    Ok(out)
}

/// Returns what the header of a file and its line in the directory have in common.
fn entry(name: &str, bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
    let size = length(bytes.len())?.to_le_bytes();
    let mut entry = Vec::new();
    // Stored, at midnight.
    for number in [NEEDED, FLAGS, 0, 0, DAY] {
        entry.extend(number.to_le_bytes());
    }
    entry.extend(crc32fast::hash(bytes).to_le_bytes());
    entry.extend([size, size].concat());
    entry.extend(u16::try_from(name.len())?.to_le_bytes());
    entry.extend([0; 2]);
    Ok(entry)
}

fn length(bytes: usize) -> anyhow::Result<u32> {
    u32::try_from(bytes).context("write an archive over 4 GiB")
}
