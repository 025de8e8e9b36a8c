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
        headers = { "X-Team" = "blue" }
        wire = "openai_chat"
        api_key_file = "acme.key"
    "#]]
    .assert_eq(&after(present, Some((&Key::Typed("k".to_owned()), "acme.key"))));
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
