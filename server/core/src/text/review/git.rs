//! The diff of one file in the form that `git apply` takes.
//!
//! Never chooses what is in the diff: it leads from one whole text to the other.

use super::unified::push_blocks;
use super::{Hunk, hunks};

/// Returns the diff of one file, byte-exact; empty if nothing differs. `before` is `None` if there was no file.
pub fn git_diff(path: &str, before: Option<&str>, after: &str) -> String {
    if before == Some(after) {
        return String::new();
    }
    let (old, new) = (quoted("a", path), quoted("b", path));
    let mut text = format!("diff --git {old} {new}\n");
    let from = before.unwrap_or_default();
    if before.is_none() {
        text.push_str("new file mode 100644\n");
    }
    if from == after {
        // A new file without text has no lines to show.
        return text;
    }
    let old = if before.is_some() { old } else { "/dev/null".to_owned() };
    text.push_str(&format!("--- {old}\n+++ {new}\n"));
    let hunks = if has_lone_return(from) || has_lone_return(after) {
        vec![whole(from, after)]
    } else {
        hunks(from, after)
    };
    push_blocks(&mut text, &hunks);
    text
}

/// Whether a carriage return alone ends a line. Git ends lines only at line feeds, Adjutant at both.
fn has_lone_return(text: &str) -> bool {
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        if byte == b'\r' && bytes.peek() != Some(&b'\n') {
            return true;
        }
    }
    false
}

/// Returns one hunk that replaces the whole text, with lines as git counts them.
fn whole(before: &str, after: &str) -> Hunk {
    let lines = |text: &str| text.split_inclusive('\n').map(str::to_owned).collect();
    Hunk {
        id: String::new(),
        line: 0,
        removed: lines(before),
        inserted: lines(after),
        context_before: Vec::new(),
        context_after: Vec::new(),
    }
}

/// Returns a path as git writes it in a diff: quoted if it has quotes, backslashes or control characters.
fn quoted(side: &str, path: &str) -> String {
    let is_odd = |c: char| c.is_ascii_control() || c == '"' || c == '\\';
    if !path.contains(is_odd) {
        return format!("{side}/{path}");
    }
    let mut text = format!("\"{side}/");
    for c in path.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            c if c.is_ascii_control() => text.push_str(&format!("\\{:03o}", c as u32)),
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p21_a_diff_names_its_file_as_git_does() {
        let diff = git_diff("a b.txt", Some("one\ntwo\n"), "one\n2\n");
        assert_eq!(
            diff,
            "diff --git a/a b.txt b/a b.txt\n--- a/a b.txt\n+++ b/a b.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
        );
        let odd = git_diff("q\"\\\n.txt", None, "");
        assert_eq!(
            odd,
            "diff --git \"a/q\\\"\\\\\\012.txt\" \"b/q\\\"\\\\\\012.txt\"\nnew file mode 100644\n"
        );
        assert_eq!(git_diff("a", Some("x"), "x"), "");
    }
}
