//! Tests of the settings that say how a repository is stored.

use super::*;

fn values(text: &str) -> Option<Vec<(String, Option<String>)>> {
    let text_of = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let settings = parse(text.as_bytes())?;
    Some(settings.into_iter().map(|setting| (setting.name, setting.value.map(text_of))).collect())
}

#[track_caller]
fn one(text: &str, name: &str, value: Option<&str>) {
    assert_eq!(values(text), Some(vec![(name.to_owned(), value.map(str::to_owned))]), "{text:?}");
}

#[test]
fn settings_are_read_as_git_writes_them() {
    one("[core]\n\tbare = false\n", "core.bare", Some("false"));
    one("[CORE] Bare", "core.bare", None);
    one("[core]\r\nbare=true\r\n", "core.bare", Some("true"));
    one("\u{feff}; text\n[core] # text\nbare = a ; text", "core.bare", Some("a"));
    one("[remote \"a \\\" ] b\"]\npromisor = true", "remote.promisor", Some("true"));
    one("[remote.old]\npromisor = true", "remote.promisor", Some("true"));
    one("[a]\nb = \"x ; y \" z  \n", "a.b", Some("x ; y  z"));
    one("[a]\nb = one\\\n  two\n", "a.b", Some("one  two"));
    one("[a]\nb = \\t\\n\\\\\\\"\n", "a.b", Some("\t\n\\\""));
    one("[a]\nb =\n", "a.b", Some(""));
    assert_eq!(values(""), Some(vec![]));
    for broken in
        ["[core", "[core\n]", "[a]\nb \"", "[a]\nb = \"x\n", "[a]\nb = \\x", "[a]\n= b", "[a]\nb c", "[a b]"]
    {
        assert_eq!(values(broken), None, "{broken:?}");
    }
}

#[test]
fn every_prefix_of_settings_ends() {
    let text =
        "[core]\n\tbare = false ; x\n[remote \"a\\\"b\"]\n\turl = \"a\\\\b\" \\\n c\n[extensions]\n\tx";
    for end in 0..=text.len() {
        _ = parse(&text.as_bytes()[..end]);
    }
}

#[test]
fn extensions_count_by_the_version_of_the_format() {
    let read = |text: &str| storage(&parse(text.as_bytes()).unwrap());
    let version = |version: &str, extension: &str| {
        read(&format!("[core]\nrepositoryformatversion = {version}\n[extensions]\n{extension}\n"))
    };
    assert_eq!(version("0", "new = 1"), Ok(Storage::default()), "git ignores it too");
    assert!(version("1", "new = 1").is_err());
    assert!(version("1", "noop").is_ok() && version("1", "preciousObjects = true").is_ok());
    assert!(version("1", "objectFormat = sha1").is_ok() && version("1", "refStorage = files").is_ok());
    for number in ["0", "1"] {
        assert!(
            version(number, "objectFormat = sha256").is_err()
                && version(number, "refStorage = reftable").is_err()
        );
        assert!(version(number, "partialClone = origin").unwrap().is_partial);
        assert!(version(number, "worktreeConfig = yes").unwrap().has_worktree_config);
    }
    assert!(version("2", "").is_err() && version("-1", "").is_err() && version("x", "").is_err());
    assert!(read("[remote \"a\"]\npromisor = 1").unwrap().is_partial);
    assert!(read("[core]\nbare").unwrap().is_bare && !read("[core]\nbare = no").unwrap().is_bare);
}
