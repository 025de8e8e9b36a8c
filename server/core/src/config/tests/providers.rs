//! Tests of providers: their addresses, those that the environment defines, and why one is unavailable.
//!
//! Never calls a model.

use super::*;

#[test]
fn a_refused_address_falls_back_to_no_other() {
    let settings = check_problems(
        vec![
            user("[providers.openai]\nbase_url = \"http://10.0.0.7/v1\"\nwire = \"openai_chat\""),
            environment(&[("OPENAI_API_KEY", "sk-1"), ("OPENAI_BASE_URL", "https://api.openai.com/v1")]),
        ],
        expect![[r#"
            ~/config.toml:2: providers.openai.base_url: "http://10.0.0.7/v1" would send prompts and the key unencrypted, so it is not used; use https; plain http goes only to this machine"#]],
    );
    expect![[r#"the provider "openai" cannot be used: correct its `base_url`, set in user file /home/ada/.config/adjutant/config.toml:2"#]]
        .assert_eq(&settings.provider_for(Some("openai/m")).unwrap_err().to_string());
}

#[test]
fn urls_are_checked() {
    let good = [
        "https://api.openai.com/v1",
        "http://localhost:8080",
        "http://127.0.0.1:1/v1",
        "http://[::1]:8080/",
        "HTTPS://x.example",
        "http://a.localhost",
    ];
    for url in good {
        assert!(values::base_url(url).unwrap().warning.is_none(), "{url}");
    }
    let bad = [
        "",
        "api.openai.com",
        "ftp://x",
        "https://",
        "https://x:0",
        "https://x:99999",
        "https://x y",
        "https://x\\@evil",
        "https://x?key=1",
        "https://x#a",
        "http://[::2]",
        "http://localhost.evil.example",
        "http://127.0.0.1.evil.example",
        "http://localhost@evil.example",
        "http://0.0.0.0:80",
        "https://[zz]",
    ];
    for url in bad {
        values::base_url(url).unwrap_err();
    }
}

#[test]
fn the_environment_defines_openai_only_where_it_is_not_configured() {
    let settings = check_problems(vec![environment(&[("OPENAI_API_KEY", "k")])], expect![""]);
    let provider = settings.provider_for(Some("openai/m")).unwrap().0;
    assert_eq!(provider.base_url.as_deref(), Some("https://api.openai.com/v1"));
    assert_eq!(provider.key, Some(KeySource::Variable("OPENAI_API_KEY".into())));

    let local = environment(&[("OPENAI_BASE_URL", "http://127.0.0.1:9/v1"), ("OPENAI_API_KEY", "")]);
    let provider = resolve(vec![local]).0.provider_for(Some("openai/m")).unwrap().0;
    assert_eq!((provider.base_url.as_deref(), provider.key), (Some("http://127.0.0.1:9/v1"), None));

    // A configured address gets no key that its settings do not name.
    let gateway = user("[providers.openai]\nbase_url = \"https://gateway.example\"");
    let settings = resolve(vec![gateway, environment(&[("OPENAI_API_KEY", "k")])]).0;
    let provider = settings.provider_for(Some("openai/m")).unwrap().0;
    assert_eq!((provider.base_url.as_deref(), provider.key), (Some("https://gateway.example"), None));
}

#[test]
fn s85_openai_is_spoken_to_by_responses_at_its_own_address_alone() {
    let key = ("OPENAI_API_KEY", "k");
    let wire = |layers| resolve(layers).0.provider_for(Some("openai/m")).unwrap().0.wire;
    assert_eq!(wire(vec![environment(&[key])]), Wire::OpenaiResponses);
    let at = |address| wire(vec![environment(&[key, ("OPENAI_BASE_URL", address)])]);
    assert_eq!(at("https://api.openai.com/v1/"), Wire::OpenaiResponses);
    assert_eq!(at("https://gateway.example/v1"), Wire::OpenaiChat);
    assert_eq!(at("http://127.0.0.1:9/v1"), Wire::OpenaiChat);
    // The wire of the settings counts at any address.
    let said = |wire| user(&format!("[providers.openai]\nwire = \"{wire}\""));
    assert_eq!(wire(vec![said("openai_chat"), environment(&[key])]), Wire::OpenaiChat);
    let elsewhere = environment(&[key, ("OPENAI_BASE_URL", "https://gateway.example/v1")]);
    assert_eq!(wire(vec![said("openai_responses"), elsewhere]), Wire::OpenaiResponses);
    let placed = user("[providers.openai]\nbase_url = \"https://api.openai.com/v1\"");
    assert_eq!(wire(vec![placed, environment(&[key])]), Wire::OpenaiChat);
}

#[test]
fn s85_the_environment_defines_anthropic_with_its_own_wire() {
    let found = |layers| {
        let provider = resolve(layers).0.provider_for(Some("anthropic/m")).unwrap().0.clone();
        (provider.wire, provider.base_url.unwrap(), provider.key)
    };
    let key = ("ANTHROPIC_API_KEY", "k");
    let named = Some(KeySource::Variable("ANTHROPIC_API_KEY".to_owned()));
    let (messages, home) = (Wire::AnthropicMessages, "https://api.anthropic.com/v1");
    assert_eq!(found(vec![environment(&[key])]), (messages, home.to_owned(), named.clone()));
    // Other programs read the address without its version, and add it.
    for address in ["https://gateway.example/a", "https://gateway.example/a/", "https://gateway.example/a/v1"]
    {
        let variables = environment(&[key, ("ANTHROPIC_BASE_URL", address)]);
        assert_eq!(found(vec![variables]).1, "https://gateway.example/a/v1", "{address}");
    }
    // Settings without an address stay, and so does a provider with its own address.
    let settings = user("[providers.anthropic]\nwire = \"openai_chat\"");
    assert_eq!(found(vec![settings, environment(&[key])]).0, Wire::OpenaiChat);
    let gateway = user("[providers.anthropic]\nbase_url = \"https://gateway.example\"");
    let expected = (Wire::OpenaiChat, "https://gateway.example".to_owned(), None);
    assert_eq!(found(vec![gateway, environment(&[key])]), expected);
}

#[test]
fn s85_openai_itself_is_spoken_to_by_its_newer_wire_and_what_stands_in_for_it_by_the_older() {
    let wire = |variables: &[(&str, &str)]| {
        resolve(vec![environment(variables)]).0.provider_for(Some("openai/m")).unwrap().0.wire
    };
    let key = ("OPENAI_API_KEY", "k");
    assert_eq!(wire(&[key]), Wire::OpenaiResponses);
    assert_eq!(wire(&[key, ("OPENAI_BASE_URL", "https://gateway.example/v1")]), Wire::OpenaiChat);
}

#[test]
fn an_unavailable_provider_says_what_to_set() {
    let refused = |layers, model| resolve(layers).0.provider_for(model).unwrap_err().to_string();
    expect![[r#"no model is configured: run `adjutant setup`, or set `model = "PROVIDER/MODEL"` in /home/ada/.config/adjutant/config.toml, or set OPENAI_API_KEY or ANTHROPIC_API_KEY and choose one with `--model openai/MODEL`, `--model anthropic/MODEL` or ADJUTANT_MODEL; `adjutant demo` shows a run without one"#]]
        .assert_eq(&refused(vec![user("")], None));
    expect![[r#""gpt" does not name a model: write it as "PROVIDER/MODEL", for example "openai/MODEL""#]]
        .assert_eq(&refused(vec![], Some("gpt")));
    expect!["no provider \"openai\" is configured: add `[providers.openai]` to the user settings file, or set OPENAI_API_KEY"]
        .assert_eq(&refused(vec![], Some("openai/gpt")));
    expect!["no provider \"anthropic\" is configured: add `[providers.anthropic]` to the user settings file, or set ANTHROPIC_API_KEY"]
        .assert_eq(&refused(vec![], Some("anthropic/claude")));
    expect![[r#"no provider "x" is configured: add `[providers.x]` to /home/ada/.config/adjutant/config.toml, or use one of demo"#]]
        .assert_eq(&refused(vec![user("[providers.demo]\nscript = \"s\"")], Some("x/y")));
    expect![[r#"the provider "p" cannot be used: set `base_url = "https://HOST/v1"` in `[providers.p]`"#]]
        .assert_eq(&refused(vec![user("[providers.p]\nwire = \"openai_chat\"")], Some("p/y")));
    expect![[r#"the provider "p" has no key: set the environment variable P_KEY where Adjutant is started"#]]
        .assert_eq(&refused(
            vec![
                user("[providers.p]\nbase_url = \"https://p.example\"\napi_key_env = \"P_KEY\""),
                environment(&[]),
            ],
            Some("p/y"),
        ));
    expect![[r#"the model set by flag --model cannot be used: write it as "PROVIDER/MODEL""#]]
        .assert_eq(&refused(vec![user("model = \"a/b\""), flag("--model", "model", "oops")], None));
}
