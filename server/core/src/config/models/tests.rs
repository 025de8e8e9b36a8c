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

#[test]
fn s113_a_model_that_cannot_be_used_does_not_stand_in() {
    let text = "fallback_models = [\"gone/m\", \"p/m\", \"nobody/m\"]\n[providers.p]\n\
                base_url = \"https://p.example/v1\"\n[providers.gone]\nbase_url = \"https://gone.example/v1\"\n\
                api_key_env = \"NO_SUCH_KEY\"\n";
    let layers = vec![file(text), Layer::Environment(Default::default())];
    let policy = resolve(layers).0.policy(crate::record::Mode::Code, crate::record::EditsMode::Ask, false);
    assert_eq!(policy.fallback_models, ["p/m"]);
}
