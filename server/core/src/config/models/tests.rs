//! Tests of the capabilities of models, with and without settings. Never calls a model.

use super::*;
use crate::config::{Content, File, Layer, resolve};
use crate::prompt::models::{DEFAULT_OUTPUT, DEFAULT_WINDOW};

fn file(text: &str) -> Layer {
    Layer::UserFile(File {
        path: "/home/ada/config.toml".to_owned(),
        content: Content::Text(text.to_owned()),
    })
}

fn provider(more: &str) -> Provider {
    let text = format!("[providers.p]\nbase_url = \"https://p.example/v1\"\n{more}\n");
    resolve(vec![file(&text)]).0.providers.remove("p").unwrap()
}

#[test]
fn s84_a_model_is_known_by_its_family_and_a_gateway_changes_nothing() {
    let provider = provider("");
    let window = |model: &str| provider.facts(model).context_window;
    assert_eq!(window("gpt-5-mini"), 400_000);
    assert_eq!(window("gpt-5.2-2025-12-11"), 400_000);
    assert_eq!(window("openai/gpt-5.5"), 1_050_000);
    assert_eq!(window("gpt-5.6-luna"), 400_000);
    let known = |model: &str| provider.facts(model).known;
    assert!(known("claude-opus-4-20250514") && known("anthropic/claude-haiku-4-5-20251001"));
    assert!(!known("gpt-50") && !known("my-gpt-5") && !known("llama-4"));
    assert!(provider.facts("claude-3-5-haiku-latest").efforts.is_empty());
}

#[test]
fn s84_an_unknown_model_has_stated_defaults_and_the_settings_win() {
    let unknown = provider("").facts("llama-4");
    assert_eq!((unknown.context_window, unknown.max_output_tokens), (DEFAULT_WINDOW, DEFAULT_OUTPUT));
    let set = provider("context_window = 32768\nmax_output_tokens = 4096");
    for model in ["llama-4", "gpt-5"] {
        let facts = set.facts(model);
        assert_eq!((facts.context_window, facts.max_output_tokens), (32_768, 4_096));
    }
}

fn cut_after(output_tokens: u64) -> Reply {
    let usage = Some(crate::prompt::Usage { input_tokens: 50_000, output_tokens, ..Default::default() });
    Reply { stop: StopCause::MaxTokens, usage, ..Reply::default() }
}

#[test]
fn s69_there_is_more_room_up_to_what_the_model_is_known_to_write_and_its_window_has() {
    let provider = provider("");
    assert_eq!(provider.more_room("claude-opus-4-6", &cut_after(32_000)), Some(128_000));
    assert_eq!(provider.more_room("gpt-5", &cut_after(4_096)), Some(128_000));
    // The window has room for no more than this.
    assert_eq!(provider.more_room("gpt-4o", &cut_after(100)), Some(16_384));
    let full = Reply {
        usage: Some(crate::prompt::Usage {
            input_tokens: 118_000,
            output_tokens: 4_000,
            ..Default::default()
        }),
        ..cut_after(0)
    };
    assert_eq!(provider.more_room("gpt-4o", &full), Some(9_000));
    // A second reply would be cut at about the same place.
    assert_eq!(provider.more_room("claude-opus-4-1", &cut_after(32_000)), None);
    assert_eq!(provider.more_room("gpt-4o", &cut_after(16_384)), None);
    assert_eq!(provider.more_room("gpt-4o", &cut_after(12_000)), None);
}

#[test]
fn s69_nothing_is_guessed_and_a_limit_of_the_user_is_never_exceeded() {
    let plain = provider("");
    assert_eq!(plain.more_room("llama-4", &cut_after(4_096)), None);
    assert_eq!(plain.more_room("gpt-5", &Reply { usage: None, ..cut_after(0) }), None);
    assert_eq!(plain.more_room("gpt-5", &Reply { stop: StopCause::EndTurn, ..cut_after(4_096) }), None);
    let limited = provider("max_output_tokens = 4096");
    assert_eq!(limited.more_room("gpt-5", &cut_after(4_096)), None);
    // The setting and the model may change before the second request.
    assert_eq!(limited.room_now("gpt-5", 128_000), None);
    assert_eq!(plain.room_now("gpt-4o", 128_000), Some(16_384));
    assert_eq!(plain.room_now("llama-4", 128_000), None);
}

#[test]
fn s113_a_model_that_cannot_be_used_does_not_stand_in() {
    let text = "fallback_models = [\"gone/m\", \"p/m\", \"nobody/m\"]\n[providers.p]\n\
                base_url = \"https://p.example/v1\"\n[providers.gone]\nbase_url = \"https://gone.example/v1\"\n\
                api_key_env = \"NO_SUCH_KEY\"\n";
    let layers = vec![file(text), Layer::Environment(Default::default())];
    let policy = resolve(layers).0.policy(crate::record::Mode::Code, crate::record::EditsMode::Ask, false);
    assert_eq!(policy.fallback_models, ["p/m"]);
}
