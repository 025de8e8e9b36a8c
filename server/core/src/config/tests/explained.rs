//! Tests of how settings are shown: value, origin, and never a secret.

use super::*;

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
        detail                         "normal"               default
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
        limits.tokens                  (not set)              default
        limits.cost                    (not set)              default
        limits.session_requests        (not set)              default
        limits.session_tokens          (not set)              default
        limits.session_cost            (not set)              default
        currency                       "USD"                  default
        prompt.off                     (not set)              default
        compact.model                  (not set)              default
        compact.outputs_percent        50                     default
        compact.middle_percent         60                     default
        compact.all_percent            75                     default
        edits.mode                     (not set)              default
        edits.save                     "as-left"              default
        edits.keep_mb                  500                    default
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
