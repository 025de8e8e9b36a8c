//! What a user may say about a provider.

use super::*;

fn of(service: &str, base_url: Option<&str>, key: Option<Key>, model: &str) -> Result<String, String> {
    let description = Description {
        service: service.to_owned(),
        base_url: base_url.map(str::to_owned),
        key,
        model: model.to_owned(),
    };
    description.checked().map(|(provider, key)| {
        let key = match key {
            None => "no key".to_owned(),
            Some(Key::Variable(name)) => format!("${name}"),
            Some(Key::Typed(key)) => format!("a key of {} characters", key.len()),
        };
        format!("{} {} {} {key}", provider.name, provider.base_url, provider.model)
    })
}

fn typed_key(key: &str) -> Option<Key> {
    Some(Key::Typed(key.to_owned()))
}

#[test]
fn a_description_becomes_what_the_terminal_writes() {
    assert_eq!(
        of("anthropic", None, None, " m1 ").unwrap(),
        "anthropic https://api.anthropic.com/v1 m1 $ANTHROPIC_API_KEY"
    );
    assert_eq!(of("local", Some(LOCAL), None, "m1").unwrap(), format!("local {LOCAL} m1 no key"));
    let own = Some(Key::Variable("MY_KEY".to_owned()));
    assert_eq!(of("service", Some("https://h/v1"), own, "a/b").unwrap(), "service https://h/v1 a/b $MY_KEY");
    let key = typed_key(" secret\n");
    assert_eq!(
        of("openai", None, key, "m").unwrap(),
        "openai https://api.openai.com/v1 m a key of 6 characters"
    );
}

#[test]
fn what_is_wrong_with_a_description_is_said_without_the_key() {
    let refused = |service: &str, url: Option<&str>, key: Option<Key>, model: &str, part: &str| {
        let why = of(service, url, key, model).unwrap_err();
        assert!(why.contains(part) && !why.contains("sk-"), "{why}");
    };
    refused("acme", None, None, "m", "choose one of anthropic, openai, openrouter, local, service");
    refused("openai", Some("http://h/v1"), None, "m", "has one address");
    refused("service", Some("  "), None, "m", "address of the service is missing");
    refused("service", Some("http://h /v1"), None, "m", "blanks");
    for url in ["https://me:sk-1@h/v1", "http://x.localhost/v1", "http://h/v1", "file:///etc/passwd", "h"] {
        refused("service", Some(url), None, "m", "the address cannot be used");
    }
    refused("service", Some("https://h/\u{202e}v1"), None, "m", "invisible");
    refused("openai", None, None, "a\u{200b}b", "the model has blanks or invisible");
    refused("local", Some(LOCAL), typed_key("sk-1"), "m", "needs no key");
    refused("openai", None, typed_key("   "), "m", "the key is empty");
    refused("openai", None, typed_key("sk-1\nsk-2"), "m", "this is no key");
    refused("openai", None, typed_key(&"sk-1".repeat(3_000)), "m", "too long");
    refused("openai", None, Some(Key::Variable("sk-1".to_owned())), "m", "give the name, not the key");
    refused("openai", None, None, " ", "the model is missing");
    refused("openai", None, None, &"m".repeat(2_000), "too long");
}
