//! What becomes of a settings file that was there before.

use expect_test::expect;

use super::*;

fn acme() -> NewProvider {
    NewProvider {
        name: "acme".to_owned(),
        wire: Wire::OpenaiChat,
        base_url: "https://acme.example/v1".to_owned(),
        model: "m1".to_owned(),
    }
}

fn after(present: &str, key: Option<(&Key, &str)>) -> String {
    changed(present, &acme(), key, Path::new("config.toml")).unwrap()
}

#[test]
fn a_first_file_has_what_was_asked_for() {
    expect![[r#"
        model = "acme/m1"

        [providers.acme]
        wire = "openai_chat"
        base_url = "https://acme.example/v1"
        api_key_env = "ACME_KEY"
    "#]]
    .assert_eq(&after("", Some((&Key::Variable("ACME_KEY".to_owned()), "acme.key"))));
}

#[test]
fn what_else_stands_there_stays_with_its_comments() {
    let present = "\
# Mine.
model = \"other/m\" # for now

[limits]
mistakes = 2 # patience

[providers.acme]
# The old address.
base_url = \"https://old.example/v1\"
api_key_env = \"OLD\"
headers = { \"X-Team\" = \"blue\" }
";
    expect![[r#"
        # Mine.
        model = "acme/m1" # for now

        [limits]
        mistakes = 2 # patience

        [providers.acme]
        # The old address.
        base_url = "https://acme.example/v1"
        wire = "openai_chat"
        api_key_file = "acme.key"
    "#]]
    .assert_eq(&after(present, Some((&Key::Typed("k".to_owned()), "acme.key"))));
}

#[test]
fn headers_stay_only_while_the_address_stays() {
    let present =
        "[providers.acme]\nbase_url = \"https://acme.example/v1/\"\nheaders = { \"X-Team\" = \"blue\" }\n";
    assert!(after(present, None).contains("X-Team"));
    assert!(!after(&present.replace("acme.example", "other.example"), None).contains("X-Team"));
}

#[test]
fn a_typed_key_is_beside_a_link_and_its_file_belongs_to_one_address() {
    let scratch = std::env::temp_dir().join(format!("adjutant-keys-{}", std::process::id()));
    let (own, target) = (scratch.join("own"), scratch.join("repository"));
    fs::create_dir_all(&own).unwrap();
    fs::create_dir_all(&target).unwrap();
    fs::write(target.join("config.toml"), "# mine\n").unwrap();
    let file = own.join("config.toml");
    std::os::unix::fs::symlink(target.join("config.toml"), &file).unwrap();
    let key = |text: &str| Key::Typed(text.to_owned());
    let names = |folder: &Path| fs::read_dir(folder).unwrap().count();

    write(&file, &acme(), Some(&key("one"))).unwrap();
    write(&file, &acme(), Some(&key("two"))).unwrap();
    let first = own.join(key_file(&acme()));
    assert_eq!(fs::read_to_string(&first).unwrap(), "two");
    let other = NewProvider { base_url: "https://other.example/v1".to_owned(), ..acme() };
    write(&file, &other, Some(&key("three"))).unwrap();
    assert_eq!(fs::read_to_string(&first).unwrap(), "two", "the old address never gets the new key");
    assert_eq!(fs::read_to_string(own.join(key_file(&other))).unwrap(), "three");
    assert!(fs::symlink_metadata(&file).unwrap().is_symlink());
    assert_eq!((names(&own), names(&target)), (3, 1));
    assert!(fs::read_to_string(target.join("config.toml")).unwrap().contains(&key_file(&other)));
    fs::remove_dir_all(scratch).unwrap();
}

#[test]
fn a_file_that_cannot_be_read_is_left_alone_and_said() {
    let refused = changed("model = ", &acme(), None, Path::new("config.toml")).unwrap_err().to_string();
    assert!(
        refused.starts_with("read \"config.toml\": ") && refused.ends_with("run setup again"),
        "{refused}"
    );
    let refused =
        changed("providers = 1\n", &acme(), None, Path::new("config.toml")).unwrap_err().to_string();
    assert!(refused.contains("no table"), "{refused}");
}

#[test]
fn the_comments_above_a_key_that_is_removed_stay() {
    let removed = |present: &str| {
        let mut document: DocumentMut = present.parse().unwrap();
        remove(&mut document, "effort");
        document.to_string()
    };
    let first = "# Mine.\n# Of the whole file.\neffort = \"high\"\nmodel = \"a/b\" # for now\n";
    assert_eq!(removed(first), "# Mine.\n# Of the whole file.\nmodel = \"a/b\" # for now\n");
    let before_a_table = "model = \"a/b\"\n# Slow.\neffort = \"high\"\n\n# Bounds.\n[limits]\nmistakes = 2\n";
    assert_eq!(removed(before_a_table), "model = \"a/b\"\n# Slow.\n\n# Bounds.\n[limits]\nmistakes = 2\n");
    assert_eq!(removed("# Mine.\neffort = \"high\"\n"), "# Mine.\n");
    assert_eq!(removed("model = \"a/b\"\n"), "model = \"a/b\"\n");
}
