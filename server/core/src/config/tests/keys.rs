//! Tests of keys, proxies and certificates: which layer may set them, and the problems with bad ones.
//!
//! Never runs a command or opens a file.

use super::*;

fn key_of(layers: Vec<Layer>, name: &str) -> Result<Option<KeySource>, String> {
    let settings = resolve(layers).0;
    let found = settings.provider_for(Some(&format!("{name}/m")));
    found.map(|(provider, _)| provider.key).map_err(|why| why.to_string())
}

#[test]
fn s1_a_key_comes_from_a_variable_a_command_or_a_file() {
    let text = r#"
        [providers.a]
        base_url = "https://a.example"
        api_key_command = ["pass", "show", "a"]
        [providers.b]
        base_url = "https://b.example"
        api_key_command = ["bin/key"]
        [providers.c]
        base_url = "https://c.example"
        api_key_file = "c.key"
    "#;
    let settings = check_problems(vec![user(text), environment(&[])], expect![""]);
    let words = |words: &[&str]| KeySource::Command(words.iter().map(|word| (*word).to_owned()).collect());
    let key = |name: &str| settings.provider_for(Some(&format!("{name}/m"))).unwrap().0.key;
    assert_eq!(key("a"), Some(words(&["pass", "show", "a"])));
    assert_eq!(key("b"), Some(words(&["/home/ada/.config/adjutant/bin/key"])));
    assert_eq!(key("c"), Some(KeySource::File("/home/ada/.config/adjutant/c.key".into())));
}

#[test]
fn s1_only_the_users_own_file_may_name_a_command_a_file_or_an_authority() {
    let editor = json!({
        "providers": {"p": {"base_url": "https://evil.example", "api_key_command": ["sh", "-c", "evil"],
            "api_key_file": "/home/ada/.netrc"}},
        "http": {"ca_file": "/src/evil.pem", "proxy": "http://evil.example:1"},
    });
    let project_text = "[providers.p]\napi_key_command = [\"evil\"]\napi_key_file = \"k\"\n[http]\nca_file = \"evil.pem\"\nproxy = \"http://evil.example:1\"\nno_proxy = \"*\"";
    let settings = check_problems(
        vec![
            user("[providers.p]\nbase_url = \"https://p.example\""),
            project(project_text),
            Layer::Editor(editor),
            flag("--key", "providers.p.api_key_file", "/x"),
        ],
        expect![[r#"
            .adjutant/config.toml:2: providers.p.api_key_command: a project file can only make Adjutant stricter, so this is ignored; set it in ~/config.toml
            .adjutant/config.toml:3: providers.p.api_key_file: a project file can only make Adjutant stricter, so this is ignored; set it in ~/config.toml
            .adjutant/config.toml:5: http.ca_file: a project file can only make Adjutant stricter, so this is ignored; set it in ~/config.toml
            .adjutant/config.toml:6: http.proxy: a project file can only make Adjutant stricter, so this is ignored; set it in ~/config.toml
            .adjutant/config.toml:7: http.no_proxy: a project file can only make Adjutant stricter, so this is ignored; set it in ~/config.toml
            editor settings: http.ca_file: only your own settings file may set this, so it is ignored; set it in ~/config.toml
            editor settings: providers.p.api_key_command: only your own settings file may set this, so it is ignored; set it in ~/config.toml
            editor settings: providers.p.api_key_file: only your own settings file may set this, so it is ignored; set it in ~/config.toml
            flag --key: providers.p.api_key_file: only your own settings file may set this, so it is ignored; set it in ~/config.toml"#]],
    );
    let (provider, _) = settings.provider_for(Some("p/m")).unwrap();
    assert_eq!((provider.key, provider.reach.ca_file), (None, None));
}

#[test]
fn s1_a_key_of_the_users_file_does_not_go_where_an_editor_says() {
    let own = "[providers.p]\nbase_url = \"https://p.example\"\napi_key_command = [\"key\"]";
    let moved = Layer::Editor(json!({"providers": {"p": {"base_url": "https://evil.example"}}}));
    assert!(key_of(vec![user(own)], "p").is_ok());
    expect![[r#"the provider "p" cannot be used: its `base_url` comes from the editor, and the key of its `api_key_command` is not sent there: set `base_url` in the file that sets `api_key_command`"#]]
        .assert_eq(&key_of(vec![user(own), moved], "p").unwrap_err());
}

#[test]
fn s1_two_places_for_one_key_are_a_problem() {
    let text = "[providers.p]\nbase_url = \"https://p.example\"\napi_key_env = \"A\"\napi_key_file = \"k\"\n\
                [providers.q]\nbase_url = \"https://q.example\"\napi_key_command = [\"k\"]\napi_key_file = \"k\"";
    let settings = check_problems(
        vec![user(text), environment(&[("A", "x")])],
        expect![[r#"
            ~/config.toml:4: providers.p: `api_key_env` and `api_key_file` are both set; keep one of them; until then the provider is not used
            ~/config.toml:8: providers.q: `api_key_command` and `api_key_file` are both set; keep one of them; until then the provider is not used"#]],
    );
    expect![[
        r#"the provider "q" cannot be used: keep only one of its `api_key_command` and `api_key_file`"#
    ]]
    .assert_eq(&settings.provider_for(Some("q/m")).unwrap_err().to_string());
}

#[test]
fn s1_a_key_in_the_environment_is_no_second_place_beside_a_command() {
    let layers = vec![
        user("[providers.openai]\nwire = \"openai_chat\"\napi_key_command = [\"key\"]"),
        environment(&[("OPENAI_API_KEY", "sk-1")]),
    ];
    check_problems(layers.clone(), expect![""]);
    assert_eq!(key_of(layers, "openai"), Ok(Some(KeySource::Command(vec!["key".to_owned()]))));
}

#[test]
fn bad_commands_proxies_and_certificates_name_place_and_remedy_and_nothing_secret() {
    let text = r#"
[providers.a]
base_url = "https://a.example"
api_key_command = "echo hunter2"
[providers.b]
base_url = "https://b.example"
api_key_command = []
[providers.c]
base_url = "https://c.example"
api_key_command = ["echo", 4]
[providers.d]
base_url = "https://d.example"
api_key_file = ""
[http]
proxy = "socks5://ada:hunter2@s:1"
no_proxy = ["a"]
ca_file = ["hunter2"]
"#;
    let settings = check_problems(
        vec![user(text)],
        expect![[r#"
            ~/config.toml:4: providers.a.api_key_command: this is text; write a list of words, for example ["pass", "show", "openai"]
            ~/config.toml:7: providers.b.api_key_command: there is no program in it; write a list of words, for example ["pass", "show", "openai"]
            ~/config.toml:10: providers.c.api_key_command: this is a whole number; write a list of words, for example ["pass", "show", "openai"]
            ~/config.toml:13: providers.d.api_key_file: the path is empty; name the file
            ~/config.toml:15: http.proxy: this names a SOCKS proxy, which is not supported; write it as "http://HOST:PORT" or "http://USER:PASSWORD@HOST:PORT", or "none"
            ~/config.toml:16: http.no_proxy: this is a list; write hosts, with commas between them
            ~/config.toml:17: http.ca_file: this is a list; write a path"#]],
    );
    for (name, key) in [("a", "api_key_command"), ("b", "api_key_command"), ("d", "api_key_file")] {
        let why = settings.provider_for(Some(&format!("{name}/m"))).unwrap_err().to_string();
        assert!(why.contains(&format!("correct its `{key}`")), "{why}");
    }
}

#[test]
fn a_proxy_that_makes_no_sense_is_not_gone_around() {
    let text = "[providers.p]\nbase_url = \"https://p.example\"\n[http]\nproxy = \"nonsense proxy\"";
    expect![[r#"the provider "p" cannot be used: correct `http.proxy`, set in user file /home/ada/.config/adjutant/config.toml:4"#]]
        .assert_eq(&key_of(vec![user(text)], "p").unwrap_err());
}

#[test]
fn s1_what_is_shown_of_the_settings_hides_logins_and_arguments() {
    let text = "[providers.p]\nbase_url = \"https://p.example\"\napi_key_command = [\"echo\", \"hunter2\"]\n\
                [http]\nproxy = \"http://ada:hunter2@s.example:1\"\nca_file = \"ca.pem\"";
    let settings = check_problems(vec![user(text)], expect![""]);
    let shown = explain(&settings);
    assert!(!shown.contains("hunter2") && !format!("{settings:?}").contains("hunter2"), "{shown}");
    assert!(shown.contains("http://…@s.example:1") && shown.contains("[\"echo\", …]"), "{shown}");
    assert!(shown.contains("/home/ada/.config/adjutant/ca.pem"), "{shown}");
}
