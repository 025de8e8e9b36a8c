//! The diff of one file in the form that `git apply` takes: changed, new, moved or deleted.
//!
//! Never chooses what is in the diff: it leads from one whole text to the other.

use super::unified::push_blocks;
use super::{Hunk, hunks};

/// Returns the diff of one file, byte-exact; empty if nothing differs. `before` is `None` if there was no file.
pub fn git_diff(path: &str, before: Option<&str>, after: &str) -> String {
    if before == Some(after) {
        return String::new();
    }
    let (old, new) = (quoted("a/", path), quoted("b/", path));
    let mut text = format!("diff --git {old} {new}\n");
    if before.is_none() {
        text.push_str("new file mode 100644\n");
    }
    let old = if before.is_some() { old } else { NONE.to_owned() };
    push_lines(&mut text, [&old, &new], [before.unwrap_or_default(), after]);
    text
}

/// Returns the diff of a file that got another name, and maybe other text.
pub fn git_move(path: &str, to: &str, before: &str, after: &str) -> String {
    let (old, new) = (quoted("a/", path), quoted("b/", to));
    let mut text = format!("diff --git {old} {new}\n");
    if before == after {
        text.push_str("similarity index 100%\n");
    }
    text.push_str(&format!("rename from {}\nrename to {}\n", quoted("", path), quoted("", to)));
    push_lines(&mut text, [&old, &new], [before, after]);
    text
}

/// Returns the diff of a file that is deleted; `mode` has its permission bits.
pub fn git_deletion(path: &str, mode: u32, before: &str) -> String {
    let (old, new) = (quoted("a/", path), quoted("b/", path));
    let mode = if mode & 0o111 == 0 { "100644" } else { "100755" };
    let mut text = format!("diff --git {old} {new}\ndeleted file mode {mode}\n");
    push_lines(&mut text, [&old, NONE], [before, ""]);
    text
}

/// The name of a side without a file.
const NONE: &str = "/dev/null";

/// Appends the lines that differ, below the names of both sides. Equal texts have none.
fn push_lines(text: &mut String, [old, new]: [&str; 2], [before, after]: [&str; 2]) {
    if before == after {
        return;
    }
    text.push_str(&format!("--- {old}\n+++ {new}\n"));
    let hunks = if has_lone_return(before) || has_lone_return(after) {
        vec![whole(before, after)]
    } else {
        hunks(before, after)
    };
    push_blocks(text, &hunks);
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
/// `side` is what is before it.
fn quoted(side: &str, path: &str) -> String {
    let is_odd = |c: char| c.is_ascii_control() || c == '"' || c == '\\';
    if !path.contains(is_odd) {
        return format!("{side}{path}");
    }
    let mut text = format!("\"{side}");
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
        assert_eq!(
            git_move("a\"b", "c d", "one\n", "1\n"),
            "diff --git \"a/a\\\"b\" b/c d\nrename from \"a\\\"b\"\nrename to c d\n--- \"a/a\\\"b\"\n+++ b/c d\n@@ -1,1 +1,1 @@\n-one\n+1\n"
        );
        assert_eq!(
            git_deletion("a", 0o750, "one"),
            "diff --git a/a b/a\ndeleted file mode 100755\n--- a/a\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-one\n\\ No newline at end of file\n"
        );
    }
}
