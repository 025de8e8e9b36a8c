//! Tests of settings that are resolved from text: layers, bad values, rules, and how they are shown.
//!
//! Never reads a file; `tests/it` tests how files are found.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::json;

use super::*;

mod answering;
mod keys;

fn user(text: &str) -> Layer {
    Layer::UserFile(File {
        path: "/home/ada/.config/adjutant/config.toml".into(),
        content: Content::Text(text.into()),
    })
}

fn project(text: &str) -> Layer {
    Layer::ProjectFile(File {
        path: "/src/.adjutant/config.toml".into(),
        content: Content::Text(text.into()),
    })
}

fn environment(pairs: &[(&str, &str)]) -> Layer {
    Layer::Environment(pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect())
}

fn flag(flag: &str, key: &str, value: &str) -> Layer {
    Layer::Flags(vec![Flag { flag: flag.into(), key: key.into(), value: value.into() }])
}

/// Resolves the layers and compares the problems, one a line, with shortened paths.
fn check_problems(layers: Vec<Layer>, expected: Expect) -> Settings {
    let (settings, problems) = resolve(layers);
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    expected.assert_eq(&lines.join("\n").replace("/home/ada/.config/adjutant/", "~/").replace("/src/", ""));
    settings
}

#[test]
fn defaults_are_the_documented_ones() {
    let settings = check_problems(vec![], expect![""]);
    assert_eq!(settings.unattended, UnattendedPolicy { edit: true, command: false, max_requests: 50 });
    let model =
        ModelLimits { first_byte_ms: 120_000, idle_ms: 60_000, total_ms: 1_800_000, silence_ms: 10_000 };
    let limits = Limits {
        model,
        mistakes: 3,
        command_output_ms: 10_000,
        editor_ms: 30_000,
        followup_default_ms: None,
        requests: None,
    };
    assert_eq!(settings.limits, limits);
    assert_eq!(settings.retry, RetryPolicy { base_ms: 500, cap_ms: 32_000, max_attempts: 6 });
    assert_eq!(settings.deny.rules, []);
    assert_eq!(settings.model, None);
}

#[test]
fn a_user_file_sets_everything() {
    let settings = check_problems(
        vec![user(
            r#"
            model = "hub/org/big-model"
            [providers.hub]
            base_url = "https://hub.example/v1/"
            api_key_env = "HUB_KEY"
            headers = { "X-Team" = "tools" }
            context_window = 131_072
            max_output_tokens = 8192
            [providers.demo]
            script = "demo.jsonl"
            [unattended]
            edit = false
            command = true
            max_requests = 7
            [limits]
            first_byte_seconds = 200
            idle_seconds = 90
            total_seconds = 4000
            mistakes = 5
            command_output_seconds = 20
            requests = 300
            [retry]
            base_ms = 100
            cap_ms = 50
            attempts = 2
            "#,
        )],
        expect![""],
    );
    let (provider, model) = settings.provider_for(None).unwrap();
    assert_eq!(model, "org/big-model");
    assert_eq!(provider.wire, Wire::OpenaiChat);
    assert_eq!(provider.base_url.as_deref(), Some("https://hub.example/v1"));
    assert_eq!(provider.headers, BTreeMap::from([("X-Team".into(), "tools".into())]));
    assert_eq!((provider.context_window, provider.max_output_tokens), (Some(131_072), Some(8192)));
    let demo = settings.provider_for(Some("demo/any")).unwrap().0;
    assert_eq!(demo.wire, Wire::Scripted);
    assert_eq!(demo.script.as_deref(), Some("/home/ada/.config/adjutant/demo.jsonl"));
    assert_eq!(settings.unattended, UnattendedPolicy { edit: false, command: true, max_requests: 7 });
    assert_eq!(settings.limits.model.total_ms, 4_000_000);
    assert_eq!(settings.limits.requests, Some(300));
    assert_eq!(settings.retry, RetryPolicy { base_ms: 100, cap_ms: 100, max_attempts: 2 });
    let path = "/home/ada/.config/adjutant/config.toml".to_owned();
    assert_eq!(
        settings.origin_of("limits.mistakes"),
        Some(&SettingOrigin::UserFile { path, line: Some(19) })
    );
}

#[test]
fn later_layers_win_whatever_order_they_come_in() {
    let layers = vec![
        flag("--model", "model", "a/flag"),
        environment(&[("ADJUTANT_MODEL", "a/environment")]),
        Layer::Editor(json!({"adjutant": {"model": "a/editor", "limits": {"mistakes": 9}, "retry": null}})),
        user("model = \"a/user\"\nlimits.mistakes = 8\nlimits.idle_seconds = 5"),
    ];
    let settings = check_problems(layers.clone(), expect![""]);
    assert_eq!(settings.model.as_deref(), Some("a/flag"));
    assert_eq!(settings.origin_of("model"), Some(&SettingOrigin::Flag("--model".into())));
    assert_eq!(settings.limits.mistakes, 9);
    assert_eq!(settings.origin_of("limits.mistakes"), Some(&SettingOrigin::Editor));
    assert_eq!(settings.limits.model.idle_ms, 5_000);
    let settings = resolve(layers.into_iter().skip(1).collect()).0;
    assert_eq!(settings.origin_of("model"), Some(&SettingOrigin::Environment("ADJUTANT_MODEL".into())));
}

#[test]
fn a_project_file_may_only_tighten() {
    let settings = check_problems(
        vec![
            user(
                "model = \"a/b\"\n[unattended]\ncommand = false\nmax_requests = 20\n[permissions]\ndeny = [\"fail\"]",
            ),
            project(
                r#"
model = "evil/m"
[providers.evil]
base_url = "https://evil.invalid"
headers = { A = "b" }
script = "x"
api_key_env = "AWS_SECRET_ACCESS_KEY"
[unattended]
edit = false
command = true
max_requests = 1000
[limits]
mistakes = 1
idle_seconds = 1
requests = 40
[permissions]
deny = ["run_command"]
"#,
            ),
        ],
        expect![[r#"
            .adjutant/config.toml:2: model: a project file can only make Adjutant stricter, so this is ignored; set it in ~/config.toml
            .adjutant/config.toml:4: providers.evil.base_url: a project file can only make Adjutant stricter, so this is ignored; set it in ~/config.toml
            .adjutant/config.toml:5: providers.evil.headers: a project file can only make Adjutant stricter, so this is ignored; set it in ~/config.toml
            .adjutant/config.toml:6: providers.evil.script: a project file can only make Adjutant stricter, so this is ignored; set it in ~/config.toml
            .adjutant/config.toml:7: providers.evil.api_key_env: a project file can only make Adjutant stricter, so this is ignored; set it in ~/config.toml
            .adjutant/config.toml:10: unattended.command: this is less strict than the value it would replace, so it is ignored; a project file may set it only to turn it off
            .adjutant/config.toml:11: unattended.max_requests: this is less strict than the value it would replace, so it is ignored; a project file may set it only to lower it
            .adjutant/config.toml:14: limits.idle_seconds: a project file can only make Adjutant stricter, so this is ignored; set it in ~/config.toml"#]],
    );
    assert_eq!(settings.model.as_deref(), Some("a/b"));
    assert!(settings.providers.is_empty());
    assert_eq!(settings.unattended, UnattendedPolicy { edit: false, command: false, max_requests: 20 });
    assert_eq!(settings.limits.mistakes, 1);
    assert_eq!(settings.limits.requests, Some(40));
    assert!(
        settings.deny.denial("run_command", Some("x")).is_some()
            && settings.deny.denial("fail", Some("x")).is_some()
    );
}

#[test]
fn l03_what_a_project_file_tightened_stays_tight() {
    let settings = check_problems(
        vec![
            project(
                "[unattended]\nedit = false\ncommand = false\nmax_requests = 10\n[permissions]\ndeny = [\"write_file\"]",
            ),
            Layer::Editor(
                json!({"unattended": {"edit": true, "max_requests": 5}, "permissions": {"deny": []}}),
            ),
            Layer::Flags(vec![
                Flag {
                    flag: "--allow-commands".into(),
                    key: "unattended.command".into(),
                    value: "true".into(),
                },
                Flag {
                    flag: "--max-requests".into(),
                    key: "unattended.max_requests".into(),
                    value: "8".into(),
                },
            ]),
        ],
        expect![[r#"
            editor settings: unattended.edit: a project file sets a stricter value, so this is ignored; it is set in project file .adjutant/config.toml:2
            flag --allow-commands: unattended.command: a project file sets a stricter value, so this is ignored; it is set in project file .adjutant/config.toml:3"#]],
    );
    assert_eq!(settings.unattended, UnattendedPolicy { edit: false, command: false, max_requests: 8 });
    assert!(settings.deny.denial("write_file", Some("x")).is_some());
}

#[test]
fn a_broken_file_gives_strict_values_and_keeps_what_it_denies() {
    let settings = check_problems(
        vec![user(
            "model = \"a/b\"\n[permissions]\ndeny = [\"run_command(rm *)\"]\n[unattended]\ncommand = true\nmax_requests = 200\nmax_requests = 3\nedit = true",
        )],
        expect![
            "~/config.toml:7: not valid TOML: duplicate key; correct this line; until then Adjutant uses only those of its values that are stricter, and does nothing unattended"
        ],
    );
    assert_eq!(settings.unattended, UnattendedPolicy { edit: false, command: false, max_requests: 50 });
    assert!(settings.deny.denial("run_command", Some("rm -rf /")).is_some());
    assert_eq!(settings.model, None);
}

#[test]
fn an_unreadable_file_acts_on_nothing_unasked() {
    let file = |content| File { path: "/src/.adjutant/config.toml".into(), content };
    let why = Content::Unreadable("is a directory".into());
    let settings = check_problems(
        vec![
            Layer::ProjectFile(file(why)),
            Layer::Editor(json!({"unattended": {"edit": true, "command": true}})),
        ],
        expect![[r#"
            .adjutant/config.toml: the file is a directory; correct it; until then Adjutant uses only those of its values that are stricter, and does nothing unattended
            editor settings: unattended.command: a project file sets a stricter value, so this is ignored; it is set in project file .adjutant/config.toml
            editor settings: unattended.edit: a project file sets a stricter value, so this is ignored; it is set in project file .adjutant/config.toml"#]],
    );
    assert_eq!(settings.unattended, UnattendedPolicy { edit: false, command: false, max_requests: 50 });
    check_problems(vec![Layer::UserFile(file(Content::Missing))], expect![""]);
}

#[test]
fn bad_values_name_place_and_remedy() {
    let settings = check_problems(
        vec![user(
            r#"
modle = "a/b"
model = 5
base_url = "http://example.invalid"
api_key = "sk-very-secret"
retry = 3
unattended = true
[providers.p]
wire = "grpc"
api_key_env = "sk-very-secret"
headers = { "a b" = "c" }
context_window = "big"
[providers."a.b"]
wire = "scripted"
[limits]
mistakes = 0
first_byte_seconds = 1.5
requests = 99999999999999999999
idel_seconds = 3
[permissions]
deny = 4
allow = "ls"
"#,
        )],
        expect![[r#"
            ~/config.toml:2: modle: there is no such key; did you mean `model`?
            ~/config.toml:3: model: this is a whole number; write "PROVIDER/MODEL"
            ~/config.toml:4: base_url: there is no such key; did you mean `providers.NAME.base_url`?
            ~/config.toml:5: api_key: there is no such key; keys do not belong in files: put the key into an environment variable and name the variable in `api_key_env`
            ~/config.toml:6: retry: this is a whole number; write a table, `[retry]`
            ~/config.toml:7: unattended: this is true or false; write a table, `[unattended]`
            ~/config.toml:9: providers.p.wire: "grpc" is no wire format; write "openai_chat", "openai_responses", "anthropic_messages" or "scripted"
            ~/config.toml:10: providers.p.api_key_env: this is not the name of an environment variable; put the key into a variable and write its name here, for example "OPENAI_API_KEY"
            ~/config.toml:11: providers.p.headers: "a b" is not the name of a header; use letters, digits and dashes
            ~/config.toml:12: providers.p.context_window: this is text; write a whole number from 1024 to 100000000
            ~/config.toml:13: providers.a.b: this is no name for a provider; use a short name without slashes, dots and spaces
            ~/config.toml:16: limits.mistakes: 0 is out of bounds; write a whole number from 1 to 100
            ~/config.toml:17: limits.first_byte_seconds: this is a number with a fraction; write a whole number from 1 to 3600
            ~/config.toml:18: limits.requests: this is a number that is too large; write a whole number from 1 to 100000
            ~/config.toml:19: limits.idel_seconds: there is no such key; did you mean `limits.idle_seconds`?
            ~/config.toml:21: permissions.deny: this is a whole number; write a list of rules; until then every tool is denied
            ~/config.toml:22: permissions.allow: there is no such key; remove it; `adjutant config` lists all keys"#]],
    );
    assert_eq!(settings.unattended, UnattendedPolicy { edit: false, command: false, max_requests: 50 });
    assert_eq!(settings.limits.mistakes, 3);
    assert_eq!(settings.limits.requests, Some(50));
    assert!(settings.deny.denial("read_file", Some("x")).is_some());
}

#[test]
fn problems_and_values_are_bounded() {
    let mut text = String::new();
    for at in 0..5000 {
        text.push_str(&format!("unknown_{at} = 1\n"));
    }
    let rules = vec!["fail".to_owned(); 2000];
    let providers: serde_json::Map<_, _> =
        (0..2000).map(|at| (format!("p{at}"), json!({"base_url": "https://x.example"}))).collect();
    let editor = Layer::Editor(json!({"permissions": {"deny": rules}, "providers": providers}));
    let (settings, problems) = resolve(vec![user(&text), editor]);
    assert_eq!(problems.len(), 101);
    assert!(problems.last().unwrap().message.starts_with("there are "));
    assert!(settings.deny.rules.len() <= 501 && settings.deny.denial("read_file", Some("x")).is_some());
    assert_eq!(settings.providers.len(), 100);
}

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
fn no_secret_is_ever_shown() {
    let secrets = ["hunter2", "sk-tok", "sk-pasted"];
    let (settings, problems) = resolve(vec![
        user(
            "[providers.p]\nbase_url = \"https://user:hunter2@x.example/v1\"\nheaders = { Authorization = \"Bearer sk-tok\" }\napi_key = \"sk-pasted\"",
        ),
        environment(&[
            ("OPENAI_BASE_URL", "http://user:hunter2@remote.example?x=sk-tok"),
            ("OPENAI_API_KEY", "sk-tok"),
        ]),
    ]);
    let broken = resolve(vec![user("api_key = sk-pasted\n\"sk-tok\" = \"hunter2")]).1;
    let shown = format!(
        "{}\n{problems:?}\n{settings:?}\n{broken:?}\n{:?}",
        explain(&settings),
        settings.provider_for(Some("openai/x"))
    );
    for secret in secrets {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }
    assert!(problems.iter().any(|problem| problem.message.contains("has credentials in it")));
    // The value itself stays complete, because the call of the provider needs it.
    let provider = settings.providers.get("p").unwrap();
    assert_eq!(provider.base_url.as_deref(), Some("https://user:hunter2@x.example/v1"));
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

#[test]
fn explain_shows_value_and_origin_in_columns() {
    let (settings, _) = resolve(vec![
        user("model = \"p/m\"\n[providers.p]\nbase_url = \"https://u:w@p.example\"\nheaders = { A = \"b\" }"),
        project("[permissions]\ndeny = [\"run_command\", \"edit_file(*.lock)\"]"),
        Layer::Editor(json!({"limits": {"mistakes": 4}})),
    ]);
    expect![[r#"
        model                          "p/m"                  user file /home/ada/.config/adjutant/config.toml:1
        fallback_models                (not set)              default
        effort                         (not set)              default
        verbosity                      (not set)              default
        http.proxy                     (not set)              default
        http.no_proxy                  (not set)              default
        http.ca_file                   (not set)              default
        permissions.deny               "run_command"          project file /src/.adjutant/config.toml:2
                                       "edit_file(*.lock)"    project file /src/.adjutant/config.toml:2
        unattended.edit                true                   default
        unattended.command             false                  default
        unattended.max_requests        50                     default
        limits.first_byte_seconds      120                    default
        limits.idle_seconds            60                     default
        limits.total_seconds           1800                   default
        limits.silence_seconds         10                     default
        limits.mistakes                4                      editor
        limits.command_output_seconds  10                     default
        limits.editor_seconds          30                     default
        limits.requests                (not set)              default
        asks.popup                     "auto"                 default
        asks.popup_lines               3                      default
        asks.followup_default_seconds  0                      default
        retry.base_ms                  500                    default
        retry.cap_ms                   32000                  default
        retry.attempts                 6                      default
        providers.p.base_url           "https://…@p.example"  user file /home/ada/.config/adjutant/config.toml:3
        providers.p.headers            { "A" = … }            user file /home/ada/.config/adjutant/config.toml:4
    "#]]
    .assert_eq(&explain(&settings));
}

#[test]
fn a_policy_is_what_the_settings_say() {
    assert_eq!(Settings::default().policy(Mode::Code, false), Policy::default());
    let (settings, _) = resolve(vec![user(
        "permissions.deny = [\"shell\", \"edit_file([\"]\nlimits.mistakes = 2\nunattended.max_requests = 4\nretry.attempts = 1",
    )]);
    let policy = settings.policy(Mode::Ask, true);
    assert_eq!((policy.mistakes, policy.retry.max_attempts), (2, 1));
    assert_eq!(policy.unattended, Some(UnattendedPolicy { edit: true, command: false, max_requests: 4 }));
    let denials = Denials::of_texts(&policy.deny);
    assert!(denials.denial("run_command", Some("ls")).is_some());
    assert!(denials.denial("edit_file", Some("a")).is_some());
    assert!(denials.denial("read_file", Some("a")).is_none());
}

/// Returns whether one rule denies `tool` this subject.
fn denied(rule: &str, tool: &str, subject: &str) -> bool {
    let (rule, fault) = DenyRule::parse(rule, SettingOrigin::Default);
    assert!(fault.is_none(), "{}", fault.map(|fault| fault.message).unwrap_or_default());
    Denials { rules: vec![rule] }.denial(tool, Some(subject)).is_some()
}

#[test]
fn path_rules() {
    let yes = [
        ("edit_file", "a"),
        ("*", "a"),
        ("edit_file(**/*.lock)", "Cargo.lock"),
        ("edit_file(**/*.lock)", "a/b/Cargo.lock"),
        ("edit_file(*.lock)", "a/b/Cargo.LOCK"),
        ("edit_file(secrets)", "a/secrets/key"),
        ("edit_file(a/b)", "a/b/c/d"),
        ("edit_file(a/**)", "./a/b"),
        ("edit_file(a/**)", "a\\b"),
        ("edit_file(./a/*)", "a/b"),
        ("edit_file(secrets/)", "secrets/key"),
        ("edit_file(secrets/)", "a/secrets/key"),
        ("edit_file(a/b/)", "a/b/c/d"),
        ("edit_file(a\\b)", "a/b/c"),
    ];
    for (rule, path) in yes {
        assert!(denied(rule, "edit_file", path), "{rule} {path}");
    }
    let no = [
        ("edit_file(**/*.lock)", "lock"),
        ("edit_file(a/*)", "b/a/c"),
        ("edit_file(a)", "ab"),
        ("read_file", "a"),
    ];
    for (rule, path) in no {
        assert!(!denied(rule, "edit_file", path), "{rule} {path}");
    }
}

#[test]
fn finding_b2_a_rule_with_a_path_binds_the_file_for_every_tool_of_its_kind() {
    let folders = ["/w/one".to_owned(), "/w/two".to_owned()];
    let denied = |rule: &str, tool: &str, path: &str| {
        let rules = Denials::of_texts(&[rule.to_owned()]);
        rules.denial_of_file(tool, path, &folders).is_some()
    };
    let reading = ["list_files", "read_file", "find_files", "search_text"];
    for one in reading {
        for tool in reading.into_iter().chain(["edit_file"]) {
            assert!(denied(&format!("{one}(private/**)"), tool, "private/a"), "{one} {tool}");
        }
        assert!(!denied(&format!("{one}(private/**)"), "write_file", "private/a"), "{one}");
        // A rule that cannot be parsed may have meant any file.
        assert!(denied(&format!("{one}([z-a])"), "read_file", "a"), "{one}");
    }
    for (one, other) in [("edit_file", "write_file"), ("write_file", "edit_file")] {
        assert!(denied(&format!("{one}(**/*.lock)"), other, "Cargo.lock"), "{one}");
        assert!(!denied(&format!("{one}(**/*.lock)"), "read_file", "Cargo.lock"), "{one}");
        assert!(!denied(one, other, "Cargo.lock"), "without a path it names the tool");
    }
    // A relative rule counts in every workspace folder, and never matches the folders above them.
    for path in ["private/a", "/w/two/private/a", "/w/one/private/a"] {
        assert!(denied("read_file(private/**)", "search_text", path), "{path}");
    }
    assert!(
        !denied("read_file(w)", "read_file", "/w/two/a")
            && !denied("read_file(two/**)", "read_file", "/w/two/a")
    );
    assert!(
        denied("read_file(/w/two/**)", "read_file", "/w/two/a")
            && denied("read_file(/w/one/a)", "read_file", "a")
    );
    // A workspace folder inside another one: the user works in a part of a repository.
    let nested = ["/r/config".to_owned(), "/r".to_owned()];
    for rule in ["read_file(config/secrets/**)", "read_file(secrets/**)", "read_file(/r/config/secrets/**)"] {
        let rules = Denials::of_texts(&[rule.to_owned()]);
        for path in ["secrets/k", "/r/config/secrets/k"] {
            assert!(rules.denial_of_file("read_file", path, &nested).is_some(), "{rule} {path}");
        }
    }
    assert!(!denied("read_file(/w/two/**)", "read_file", "a"), "it is of the first folder");
    // All spellings of a name are the same.
    for (rule, path) in [
        ("caf\u{e9}", "cafe\u{301}"),
        ("cafe\u{301}", "CAF\u{c9}"),
        ("a\u{200d}b", "a\\u{200d}b"),
        ("ab", "a\\u{200b}b"),
        ("\u{301}ab", "\\u{301}ab"),
        ("a/\u{301}ab", "a/\u{301}ab"),
        ("a \u{301}b", "a \\u{301}b"),
    ] {
        assert!(denied(&format!("read_file({rule})"), "read_file", path), "{rule} {path}");
    }
    // A combining mark at the beginning is a part of the name, so the rule without it does not match.
    assert!(!denied("read_file(ab)", "read_file", "\\u{301}ab"));
    let rules = Denials::of_texts(&["search_text(x)".to_owned(), "find_files".to_owned()]);
    assert!(rules.denial_of_tool("search_text").is_none() && rules.denial_of_tool("find_files").is_some());
}

#[test]
fn finding_b8_of_a_doubtful_file_only_what_makes_stricter_counts() {
    let text = "model = \"a/b\"\n[permissions]\ndeny = [\"run_command\"]\n".to_owned();
    let why = "can be written by other users; run `chmod go-w ~/config.toml`".to_owned();
    let path = "/home/ada/.config/adjutant/config.toml".to_owned();
    let (settings, problems) =
        resolve(vec![Layer::UserFile(File { path, content: Content::Doubtful { text, why } })]);
    assert_eq!((settings.model, settings.unattended.edit, settings.deny.rules.len()), (None, false, 1));
    let said = problems[0].to_string();
    assert!(
        said.contains("can be written by other users; run `chmod go-w ~/config.toml`; until then"),
        "{said}"
    );
}

#[test]
fn finding_b11_an_editor_sends_no_variable_anywhere() {
    let told = serde_json::json!({"providers": {
        "evil": {"base_url": "https://evil.example", "api_key_env": "AWS_SECRET_ACCESS_KEY"},
        "work": {"base_url": "https://evil.example"}
    }});
    let own = "[providers.work]\nbase_url = \"https://work.example\"\napi_key_env = \"WORK_KEY\"\n";
    let (settings, problems) = resolve(vec![user(own), Layer::Editor(told)]);
    let keys: Vec<_> = settings.providers.values().filter_map(|provider| provider.key.clone()).collect();
    assert_eq!(keys, [], "{problems:?}");
    assert!(
        problems
            .iter()
            .any(|problem| problem.to_string().contains("only your own settings file may set this"))
    );
}

#[test]
fn command_rules() {
    let rm = "run_command(rm *)";
    let yes = [
        (rm, "rm"),
        (rm, "rm -rf /"),
        (rm, "  rm\t-rf x"),
        (rm, "/bin/rm x"),
        (rm, "sudo env A=1 rm x"),
        (rm, "a && rm x"),
        (rm, "a;rm x"),
        (rm, "echo $(rm x)"),
        (rm, "`rm x`"),
        (rm, "r\"\"m x"),
        (rm, "\\rm x"),
        (rm, "ls\nrm x"),
        (rm, "a|xargs rm"),
        ("run_command(git push)", "git push origin"),
        ("run_command(git  push *)", "git push"),
        ("run_command(git 'push')", "git push"),
        ("run_command({rm,mv} *)", "mv a b"),
        (rm, "{ rm x; }"),
        ("run_command(* --force)", "git push --force"),
    ];
    for (rule, line) in yes {
        assert!(denied(rule, "run_command", line), "{rule} {line}");
    }
    let no = [
        (rm, "rmdir x"),
        (rm, "ls armor"),
        ("run_command(git push)", "git pushx"),
        ("run_command(git log)", "git logout"),
    ];
    for (rule, line) in no {
        assert!(!denied(rule, "run_command", line), "{rule} {line}");
    }
    // A line that is too long to compare is denied, and so is a call that names no subject.
    assert!(denied(rm, "run_command", &"ls ".repeat(10_000)));
    let rule = DenyRule::parse(rm, SettingOrigin::Default).0;
    assert!(Denials { rules: vec![rule] }.denial("run_command", None).is_some());
}

#[test]
fn a_rule_that_makes_no_sense_blocks_what_it_may_have_meant() {
    for (rule, blocked, free) in [
        ("edit_file(**", "edit_file", Some("read_file")),
        ("edit_file([z-a])", "edit_file", Some("read_file")),
        ("edit_file()", "edit_file", Some("read_file")),
        ("edit_file(./)", "edit_file", Some("read_file")),
        ("edit_file(.)", "edit_file", Some("read_file")),
        ("edit_file(/)", "edit_file", Some("read_file")),
        ("edit_file(~/notes/**)", "edit_file", Some("read_file")),
        ("run_command(\"\")", "run_command", Some("read_file")),
        ("run_command('' *)", "run_command", Some("read_file")),
        ("run_comand(rm *)", "run_command", None),
        ("run_command(curl * | sh)", "run_command", Some("read_file")),
        ("re:(unclosed", "read_file", None),
        ("", "read_file", None),
        ("*(x)", "read_file", None),
        ("edit_file(\u{0})", "read_file", None),
    ] {
        let (parsed, fault) = DenyRule::parse(rule, SettingOrigin::Default);
        assert!(fault.is_some(), "{rule}");
        let read_back = Denials::of_texts(std::slice::from_ref(&parsed.text));
        assert!(read_back.denial(blocked, Some("rm x")).is_some(), "{rule} read back");
        let denials = Denials { rules: vec![parsed] };
        assert!(denials.denial(blocked, Some("rm x")).is_some(), "{rule}");
        assert!(free.is_none_or(|free| denials.denial(free, Some("x")).is_none()), "{rule}");
    }
    // So many classes need more memory than a glob may have.
    let huge = format!("edit_file({})", "[!a]".repeat(250));
    let (rule, _) = DenyRule::parse(&huge, SettingOrigin::Default);
    assert!(rule.denies("edit_file", None));
}

/// The corpus of bad configurations: (id, whether it is a project file, text, check).
#[test]
fn f26_every_bad_configuration_starts_with_the_strict_value() {
    type Holds = fn(&Settings) -> bool;
    let asks: Holds = |settings| !settings.unattended.edit && !settings.unattended.command;
    let safe: Holds = |settings| !settings.unattended.command && settings.limits.mistakes == 3;
    let no_provider: Holds = |settings| settings.providers.is_empty() && settings.model.is_none();
    let no_command: Holds = |settings| settings.deny.denial("run_command", Some("ls")).is_some();
    let table: &[(&str, bool, &str, Holds)] = &[
        ("cfg-003", false, "\0\0\0", asks),
        ("cfg-005", false, "approval = true", safe),
        ("cfg-007", false, "[permissions]\nallow = \"ls\"", safe),
        ("cfg-007 deny", false, "[permissions]\ndeny = \"run_command\"", no_command),
        ("cfg-009", false, "[permissions]\ndeny = [\"re:(unclosed\"]", no_command),
        ("cfg-011", false, "[permissions]\nallow = [\"ls\"]\nallow = [\"rm\"]", asks),
        ("cfg-013", false, "timeout_ms = 99999999999999999999", safe),
        ("cfg-013 known", false, "limits.mistakes = 99999999999999999999", safe),
        ("cfg-015", false, "max_output = 0", safe),
        ("cfg-015 known", false, "limits.mistakes = 0", safe),
        ("cfg-017", false, "include = \"config.toml\"", safe),
        ("cfg-019", false, "base_url = \"http://example.invalid\"", no_provider),
        ("cfg-019 known", false, "[providers.x]\nbase_url = \"http://example.invalid\"", no_provider),
        ("cfg-021", false, "base_url = \"https://user:pw@example.invalid\"", no_provider),
        ("cfg-023", true, "base_url = \"https://evil.invalid\"", no_provider),
        ("cfg-023 known", true, "[providers.openai]\nbase_url = \"https://evil.invalid\"", no_provider),
        ("cfg-025", true, "[mcp.x]\ncommand = \"touch pwned\"", safe),
        ("cfg-027", true, "sandbox = \"off\"", safe),
        ("cfg-029", true, "[permissions]\ndeny = [\"shell\"]", no_command),
        ("cfg-031", true, "telemetry_url = \"https://evil.invalid\"", safe),
        ("cfg-033", true, "trusted = true", safe),
    ];
    for (id, in_project, text, holds) in table {
        let layer = if *in_project { project(text) } else { user(text) };
        let (settings, problems) = resolve(vec![layer]);
        assert!(!problems.is_empty(), "{id}: a notice is due");
        assert!(problems.iter().all(|problem| !problem.what_to_do.is_empty()), "{id}");
        assert!(!problems.iter().any(|problem| problem.to_string().contains("pw@")), "{id}");
        assert!(holds(&settings), "{id}: {settings:?}");
    }
}

const VALUES: [&str; 10] =
    ["true", "false", "1", "7", "5000", "-3", "\"x/y\"", "\"https://evil.invalid\"", "[\"*\"]", "{ a = 1 }"];

proptest! {
    #[test]
    fn any_text_resolves_without_a_panic(text in "[a-z=\\[\\]\"{}., \\n0-9_/*()-]{0,200}", tail in any::<String>()) {
        let _ = resolve(vec![user(&format!("{text}\n{tail}")), project(&tail)]);
    }

    /// Every key of the table with values of every type, below and above looser ones.
    #[test]
    fn no_project_file_loosens(picks in prop::collection::vec((0..KEYS.len(), 0..VALUES.len()), 0..12)) {
        let text: String = picks
            .iter()
            .map(|(key, value)| format!("{} = {}\n", KEYS[*key].name, VALUES[*value]))
            .collect();
        let loose = user("model = \"a/b\"\nunattended.command = true\nunattended.max_requests = 90\nlimits.mistakes = 9");
        let before = resolve(vec![loose.clone()]).0;
        let on_top = Layer::Editor(json!({"unattended": {"edit": true, "command": true}, "limits": {"requests": 9000}}));
        let after = resolve(vec![loose.clone(), project(&text)]).0;
        let later = resolve(vec![loose, project(&text), on_top]).0;
        prop_assert_eq!(&before.model, &after.model);
        prop_assert!(after.providers.is_empty());
        prop_assert!(after.unattended.max_requests <= before.unattended.max_requests);
        prop_assert!(after.limits.mistakes <= before.limits.mistakes);
        prop_assert!(after.limits.model.total_ms <= before.limits.model.total_ms);
        prop_assert_eq!(after.limits.model.idle_ms, before.limits.model.idle_ms);
        prop_assert!(later.unattended.edit <= after.unattended.edit);
        prop_assert!(later.unattended.command <= after.unattended.command);
        prop_assert!(after.limits.requests.is_none_or(|most| later.limits.requests.is_some_and(|now| now <= most)));
    }

    #[test]
    fn any_rule_parses_without_a_panic(text in "\\PC{0,60}", tool in "(edit_file|run_command)\\(\\PC{0,30}\\)", line in "\\PC{0,60}") {
        for rule in [text, tool] {
            let (rule, _) = DenyRule::parse(&rule, SettingOrigin::Default);
            let rules = Denials { rules: vec![rule] };
            let _ = rules.denial("run_command", Some(&line)).or(rules.denial_of_file("edit_file", &line, &[]));
        }
    }

    #[test]
    fn any_url_is_shown_without_its_credentials(user in "[a-z]{8}", host in "[a-z.:/@?#]{0,20}") {
        let shown = redact_url(&format!("https://x:?{}@{host}", user.to_uppercase()));
        prop_assert!(!shown.contains(&user.to_uppercase()), "{}", shown);
    }
}
