//! Converts between file URIs and paths.
//!
//! Never touches the disk, and never accepts a URI of another scheme or host.

use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Returns the `file:` URI of an absolute path.
pub fn of_path(path: &Path) -> String {
    let mut uri = String::from("file://");
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(char::from(*byte));
            }
            // Writing to a String cannot fail.
            _ => drop(write!(uri, "%{byte:02X}")),
        }
    }
    uri
}

/// Returns the absolute path of a `file:` URI of this machine.
pub fn to_path(uri: &str) -> Result<PathBuf, String> {
    let no = |why: &str| format!("\"{uri}\" is not a file of this machine: {why}");
    let rest = uri.strip_prefix("file://").ok_or_else(|| no("it is no file: URI"))?;
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    if !rest.starts_with('/') {
        return Err(no("it names another host or no absolute path"));
    }
    if rest.contains(['?', '#']) {
        return Err(no("it has a query or a fragment"));
    }
    let bytes =
        unescape(rest.as_bytes()).ok_or_else(|| no("a % is not followed by two hexadecimal digits"))?;
    if bytes.contains(&0) {
        return Err(no("it holds a NUL character"));
    }
    Ok(PathBuf::from(OsString::from_vec(bytes)))
}

/// Returns the absolute path of a document, also if its file does not exist yet. VS Code gives such a
/// document the URI `untitled:` and its path, with a host if it works on another machine.
pub fn to_document_path(uri: &str) -> Result<PathBuf, String> {
    let Some(name) = uri.strip_prefix("untitled:") else { return to_path(uri) };
    let path = name.strip_prefix("//").map_or(name, |rest| rest.find('/').map_or("", |at| &rest[at..]));
    to_path(&format!("file://{path}"))
}

fn unescape(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.iter();
    while let Some(byte) = rest.next() {
        if *byte != b'%' {
            bytes.push(*byte);
            continue;
        }
        let mut digit = || char::from(*rest.next()?).to_digit(16);
        let value = digit()? * 16 + digit()?;
        bytes.push(u8::try_from(value).ok()?);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_comes_back_from_its_uri() {
        for name in ["/a/b.rs", "/with space/ü %20#?.txt", "/\u{1f600}", "/"] {
            let path = Path::new(name);
            assert_eq!(to_path(&of_path(path)).as_deref(), Ok(path), "{name}");
        }
        let odd = PathBuf::from(OsString::from_vec(vec![b'/', 0xff, b'\n']));
        assert_eq!(to_path(&of_path(&odd)), Ok(odd));
    }

    #[test]
    fn finding_d7_a_document_that_is_to_become_a_file_has_its_path() {
        for uri in
            ["file:///w/a%20b.py", "untitled:/w/a%20b.py", "untitled:///w/a b.py", "untitled://h:1/w/a b.py"]
        {
            assert_eq!(to_document_path(uri).as_deref(), Ok(Path::new("/w/a b.py")), "{uri}");
        }
        for uri in ["untitled:Untitled-1", "untitled:", "untitled://host", "output:/w/a.py"] {
            assert!(to_document_path(uri).is_err(), "{uri}");
        }
    }

    #[test]
    fn what_is_no_file_of_this_machine_is_refused() {
        for uri in [
            "http://x/a",
            "file:a",
            "file://host/a",
            "file:///a%2",
            "file:///a%00b",
            "file:///a?b",
            "untitled:1",
        ] {
            assert!(to_path(uri).is_err(), "{uri}");
        }
    }
}
