//! A change as the patch text that people and `git apply` read.
//!
//! Never decides anything: hunks are placed and judged elsewhere.

use std::fmt::Write;

use similar::{DiffOp, group_diff_ops};

use super::CONTEXT_LINES;
use crate::edit::line_diff;

/// Returns a patch in the style of git, empty if nothing changes.
///
/// `None` is a file that does not exist. Lines end with `\n` alone here, as
/// git has it, so that a `\r` is shown as part of its line.
pub fn unified_diff(path: &str, before: Option<&str>, after: Option<&str>) -> String {
    if before == after {
        return String::new();
    }
    let (old_name, new_name) = (quoted("a/", path), quoted("b/", path));
    let mut patch = format!("diff --git {old_name} {new_name}\n");
    match (before, after) {
        (None, _) => patch.push_str("new file mode 100644\n"),
        (_, None) => patch.push_str("deleted file mode 100644\n"),
        _ => {}
    }
    let old: Vec<&str> = before.unwrap_or_default().split_inclusive('\n').collect();
    let new: Vec<&str> = after.unwrap_or_default().split_inclusive('\n').collect();
    let groups = group_diff_ops(line_diff(&old, &new), CONTEXT_LINES);
    if !groups.is_empty() {
        // A tab ends a name that has spaces, or patch tools would cut it.
        let tab = if path.contains(' ') { "\t" } else { "" };
        let name = |text: Option<&str>, name| text.map_or("/dev/null".to_owned(), |_| format!("{name}{tab}"));
        patch.push_str(&format!("--- {}\n+++ {}\n", name(before, old_name), name(after, new_name)));
    }
    for group in &groups {
        push_group(&mut patch, group, &old, &new);
    }
    patch
}

fn push_group(patch: &mut String, group: &[DiffOp], old: &[&str], new: &[&str]) {
    let (Some(first), Some(last)) = (group.first(), group.last()) else {
        return;
    };
    let old_span = span(first.old_range().start, last.old_range().end);
    let new_span = span(first.new_range().start, last.new_range().end);
    // Writing to a string cannot fail.
    let _ = writeln!(patch, "@@ -{old_span} +{new_span} @@");
    let mut push = |sign, lines: &[&str]| {
        for line in lines {
            patch.push(sign);
            patch.push_str(line);
            if !line.ends_with('\n') {
                patch.push_str("\n\\ No newline at end of file\n");
            }
        }
    };
    for op in group {
        if let DiffOp::Equal { .. } = op {
            push(' ', &old[op.old_range()]);
        } else {
            push('-', &old[op.old_range()]);
            push('+', &new[op.new_range()]);
        }
    }
}

/// Returns one-based first line and count; an empty span names the line before it.
fn span(start: usize, end: usize) -> String {
    match end - start {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        count => format!("{},{count}", start + 1),
    }
}

/// Returns a name as git writes it: in quotes if it has characters that would break the header.
fn quoted(side: &str, path: &str) -> String {
    if !path.contains(|c: char| c.is_ascii_control() || c == '"' || c == '\\') {
        return format!("{side}{path}");
    }
    let mut name = format!("\"{side}");
    for c in path.chars() {
        match c {
            '"' | '\\' => name.extend(['\\', c]),
            '\n' => name.push_str("\\n"),
            '\t' => name.push_str("\\t"),
            '\r' => name.push_str("\\r"),
            c if c.is_ascii_control() => name.push_str(&format!("\\{:03o}", c as u32)),
            c => name.push(c),
        }
    }
    name.push('"');
    name
}
