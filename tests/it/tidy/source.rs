//! Reads the repository as text: files, and code without comments and strings.
//!
//! Never follows links and never reads the output of a build or a package manager.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Directories that no check reads.
const SKIPPED: [&str; 5] = ["target", "node_modules", ".git", "dist", "out"];

/// One file, with its path from the repository's root.
pub struct Source {
    pub path: String,
    pub text: String,
}

/// Returns the root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the text of one file.
pub fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("read {path}: {error}"))
}

/// Returns the files below `directory` that end in one of `endings`, sorted.
pub fn files(directory: &str, endings: &[&str]) -> Vec<Source> {
    let mut found = Vec::new();
    walk(&root().join(directory), directory, endings, &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Returns every Rust file of the repository. Panics if there are almost none, because then every check would pass.
pub fn rust() -> Vec<Source> {
    let mut found = files("server", &[".rs"]);
    found.extend(files("tests", &[".rs"]));
    assert!(found.len() > 10, "no Rust files found: does CARGO_MANIFEST_DIR/.. still lead to the root?");
    found
}

fn walk(directory: &Path, shown: &str, endings: &[&str], found: &mut Vec<Source>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{shown}/{name}");
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && !SKIPPED.contains(&name.as_str()) {
            walk(&entry.path(), &path, endings, found);
        } else if kind.is_file() && endings.iter().any(|ending| name.ends_with(ending)) {
            let text = fs::read_to_string(entry.path()).unwrap_or_default();
            found.push(Source { path, text });
        }
    }
}

impl Source {
    /// Whether the whole file is test code.
    pub fn is_test(&self) -> bool {
        self.path.starts_with("tests/")
            || self.path.split('/').any(|part| {
                part == "tests"
                    || part == "tests.rs"
                    || part.ends_with("_tests")
                    || part.ends_with("_tests.rs")
            })
    }

    /// Returns the lines before an inline test module, with spaces instead of comments and literals.
    pub fn code(&self) -> String {
        without_tests(&blank(&self.text)).to_owned()
    }

    /// Returns the test code: the inline test module, or the whole test file.
    pub fn test_code(&self) -> String {
        let code = blank(&self.text);
        if self.is_test() { code } else { code[without_tests(&code).len()..].to_owned() }
    }

    /// Returns the one-based line of a byte of `code()`.
    pub fn line_of(code: &str, at: usize) -> usize {
        code[..at].matches('\n').count() + 1
    }
}

/// Returns the code before the inline test module, which by convention is the last item of a file.
fn without_tests(code: &str) -> &str {
    let mut from = 0;
    while let Some(at) = code[from..].find("#[cfg(test)]").map(|at| from + at) {
        let after = code[at + "#[cfg(test)]".len()..].trim_start();
        // `mod tests;` names another file. The text after it is still code.
        if after.starts_with("mod ") && after[after.find(['{', ';']).unwrap_or(0)..].starts_with('{') {
            return &code[..at];
        }
        from = at + 1;
    }
    code
}

/// Replaces comments and literals by spaces. Lines and lengths do not change.
pub fn blank(text: &str) -> String {
    let mut out = text.as_bytes().to_vec();
    for (span, _) in spans(text) {
        erase(&mut out[span]);
    }
    String::from_utf8(out).expect("blanked bytes are spaces")
}

/// Replaces everything except comments by spaces. Lines and lengths do not change.
pub fn comments(text: &str) -> String {
    let mut out = text.as_bytes().to_vec();
    let mut from = 0;
    for (span, _) in spans(text).into_iter().filter(|(_, is_comment)| *is_comment) {
        erase(&mut out[from..span.start]);
        from = span.end;
    }
    erase(&mut out[from..]);
    String::from_utf8(out).expect("blanked bytes are spaces")
}

fn erase(bytes: &mut [u8]) {
    for byte in bytes.iter_mut().filter(|byte| **byte != b'\n') {
        *byte = b' ';
    }
}

/// Returns the ranges of comments and literals, in order; `true` marks a comment.
fn spans(text: &str) -> Vec<(Range<usize>, bool)> {
    let bytes = text.as_bytes();
    let mut spans = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let (length, is_comment) = if rest.starts_with(b"//") {
            (rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()), true)
        } else if rest.starts_with(b"/*") {
            (block_comment(rest), true)
        } else if let Some(length) = raw_string(bytes, at) {
            (length, false)
        } else if rest[0] == b'"' {
            (quoted(rest, b'"'), false)
        } else if let Some(length) = character(rest) {
            (length, false)
        } else {
            at += 1;
            continue;
        };
        let end = (at + length).min(bytes.len());
        spans.push((at..end, is_comment));
        at = end;
    }
    spans
}

fn block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

fn raw_string(bytes: &[u8], at: usize) -> Option<usize> {
    let before = at.checked_sub(1).map(|before| bytes[before]);
    let in_a_name = before.is_some_and(|byte| byte.is_ascii_alphanumeric() && byte != b'b' || byte == b'_');
    let rest = bytes[at..].strip_prefix(b"r")?;
    let hashes = rest.iter().take_while(|byte| **byte == b'#').count();
    if in_a_name || rest.get(hashes) != Some(&b'"') {
        return None;
    }
    let end = [b"\"".as_slice(), &b"#".repeat(hashes)].concat();
    let body = &rest[hashes + 1..];
    let length = body.windows(end.len()).position(|window| window == end).unwrap_or(body.len());
    Some(1 + hashes + 1 + length + end.len())
}

fn quoted(rest: &[u8], mark: u8) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            byte if byte == mark => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// Returns the length of a character literal; `None` for a lifetime.
fn character(rest: &[u8]) -> Option<usize> {
    if rest[0] != b'\'' {
        return None;
    }
    if rest.get(1) == Some(&b'\\') {
        return Some(quoted(rest, b'\''));
    }
    let text = std::str::from_utf8(&rest[1..rest.len().min(8)]);
    let first = match text {
        Ok(text) => text.chars().next()?,
        Err(error) => std::str::from_utf8(&rest[1..1 + error.valid_up_to()]).ok()?.chars().next()?,
    };
    (rest.get(1 + first.len_utf8()) == Some(&b'\'')).then_some(2 + first.len_utf8())
}

/// Returns the positions of `word` in `code` as a whole word.
pub fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word)
        .map(|(at, _)| at)
        .filter(move |at| !code[..*at].ends_with(part) && !code[at + word.len()..].starts_with(part))
}

#[test]
fn blanking_leaves_code_alone() {
    let text =
        "a(\"crate::x\") // crate::y\n/* c /* d */ e */ f('\\'', 'é', b'\"', r#\"g \" h\"#) <'a, 'b> i";
    let left: String = blank(text).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(left, "a( ) f( , , b , ) <'a, 'b> i");
    assert_eq!(blank(text).len(), text.len());
    let code = "fn a() {}\n#[cfg(test)]\nmod tests;\nfn b() {}\n#[cfg(test)]\nmod tests { fn c() {} }";
    assert!(without_tests(code).ends_with("fn b() {}\n"));
}
