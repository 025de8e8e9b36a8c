//! Builds typed settings from the resolved cells.
//!
//! Never checks a value: every value in a cell has passed its check.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::cells::{Cell, Value, names_in, provider_names};
use super::keys::POPUP_NEVER;
use super::rules::Denials;
use super::{KeySource, Limits, ModelLimits, Popups, Provider, Reach, SettingOrigin, Settings, Wire};
use crate::machine::retry::RetryPolicy;
use crate::policy::detail::Detail;
use crate::policy::saving::EditsSave;
use crate::prompt::message::{GenerationSettings, Level};
use crate::prompt::models::EditTool;
use crate::record::{Budget, BudgetPolicy, CompactPolicy, EditsMode, Money, Price, UnattendedPolicy};

/// Builds the settings. An incomplete provider is listed separately, with what to set.
pub(super) fn settings(
    cells: BTreeMap<String, Cell>,
    environment: Option<BTreeMap<String, String>>,
    user_file: Option<String>,
    broken: Option<String>,
) -> Settings {
    let mut providers = BTreeMap::new();
    let mut incomplete = BTreeMap::new();
    for name in provider_names(&cells) {
        match provider(&cells, name) {
            Ok(provider) => drop(providers.insert(name.to_owned(), provider)),
            Err(why) => drop(incomplete.insert(name.to_owned(), why)),
        }
    }
    let keys_set = environment.map(|variables| {
        let named = providers.values().filter_map(|provider: &Provider| match &provider.key {
            Some(KeySource::Variable(name)) => Some(name.clone()),
            _ => None,
        });
        named
            .filter(|name| variables.get(name).is_some_and(|value| !value.is_empty()))
            .collect::<BTreeSet<_>>()
    });
    let level = |key: &str| text_of(&cells, key).and_then(|name| Level::named(&name));
    Settings {
        model: text_of(&cells, "model"),
        fallback_models: match cells.get("fallback_models").map(|cell| &cell.value) {
            Some(Value::Models(models)) => models.clone(),
            _ => Vec::new(),
        },
        generation_settings: GenerationSettings { effort: level("effort"), verbosity: level("verbosity") },
        detail: text_of(&cells, "detail").and_then(|name| Detail::named(&name)).unwrap_or_default(),
        deny: match cells.get("permissions.deny").map(|cell| &cell.value) {
            Some(Value::Rules(rules)) => Denials { rules: rules.clone() },
            _ => Denials::default(),
        },
        unattended: UnattendedPolicy {
            edit: truth_of(&cells, "unattended.edit"),
            command: truth_of(&cells, "unattended.command"),
            max_requests: narrow_of(&cells, "unattended.max_requests").unwrap_or(0),
        },
        limits: limits(&cells),
        edits_mode: text_of(&cells, "edits.mode").and_then(|name| EditsMode::named(&name)),
        edits_save: text_of(&cells, "edits.save")
            .and_then(|name| EditsSave::named(&name))
            .unwrap_or(EditsSave::Never),
        kept_texts_mb: whole_of(&cells, "edits.keep_mb").unwrap_or(500),
        popups: Popups {
            on: text_of(&cells, "asks.popup").as_deref() != Some(POPUP_NEVER),
            lines: whole_of(&cells, "asks.popup_lines")
                .and_then(|lines| usize::try_from(lines).ok())
                .unwrap_or(1),
        },
        budget: Arc::new(budget(&cells)),
        prompt_off: match cells.get("prompt.off").map(|cell| &cell.value) {
            Some(Value::Words(words)) => words.clone(),
            _ => Vec::new(),
        },
        summary_model: text_of(&cells, "compact.model"),
        compact: CompactPolicy {
            outputs_percent: narrow_of(&cells, "compact.outputs_percent").unwrap_or(100),
            middle_percent: narrow_of(&cells, "compact.middle_percent").unwrap_or(100),
            all_percent: narrow_of(&cells, "compact.all_percent").unwrap_or(100),
        },
        retry: retry(&cells),
        providers,
        incomplete,
        keys_set,
        user_file,
        broken,
        cells,
    }
}

fn limits(cells: &BTreeMap<String, Cell>) -> Limits {
    let milliseconds = |key: &str| whole_of(cells, key).unwrap_or(1).saturating_mul(1000);
    Limits {
        model: ModelLimits {
            first_byte_ms: milliseconds("limits.first_byte_seconds"),
            idle_ms: milliseconds("limits.idle_seconds"),
            total_ms: milliseconds("limits.total_seconds"),
            silence_ms: milliseconds("limits.silence_seconds"),
        },
        mistakes: narrow_of(cells, "limits.mistakes").unwrap_or(1),
        command_output_ms: milliseconds("limits.command_output_seconds"),
        editor_ms: milliseconds("limits.editor_seconds"),
        followup_default_ms: whole_of(cells, "asks.followup_default_seconds")
            .filter(|seconds| *seconds > 0)
            .map(|seconds| seconds.saturating_mul(1000)),
        requests: narrow_of(cells, "limits.requests"),
    }
}

/// Returns what runs and sessions may use, and the price of each model that has one for both directions.
fn budget(cells: &BTreeMap<String, Cell>) -> BudgetPolicy {
    let money = |key: &str| cells.get(key).and_then(|cell| cell.value.as_number()).map(Money::of);
    let price = |model: &str| {
        let of = |key: &str| money(&format!("prices.{model}.{key}"));
        let (input, output) = (of("input")?, of("output")?);
        let (cache_read, cache_write) =
            (of("cache_read").unwrap_or(input), of("cache_write").unwrap_or(input));
        Some((model.to_owned(), Price { input, output, cache_read, cache_write }))
    };
    BudgetPolicy {
        run: Budget { requests: None, tokens: whole_of(cells, "limits.tokens"), cost: money("limits.cost") },
        session: Budget {
            requests: narrow_of(cells, "limits.session_requests"),
            tokens: whole_of(cells, "limits.session_tokens"),
            cost: money("limits.session_cost"),
        },
        prices: names_in("prices", cells).into_iter().filter_map(price).collect(),
        currency: text_of(cells, "currency").unwrap_or_default(),
    }
}

fn retry(cells: &BTreeMap<String, Cell>) -> RetryPolicy {
    let default = RetryPolicy::default();
    let base_ms = whole_of(cells, "retry.base_ms").unwrap_or(default.base_ms);
    RetryPolicy {
        base_ms,
        cap_ms: whole_of(cells, "retry.cap_ms").unwrap_or(base_ms).max(base_ms),
        max_attempts: narrow_of(cells, "retry.attempts").unwrap_or(1),
    }
}

fn text_of(cells: &BTreeMap<String, Cell>, key: &str) -> Option<String> {
    match cells.get(key).map(|cell| &cell.value) {
        Some(Value::Text(text)) => Some(text.clone()),
        _ => None,
    }
}

fn whole_of(cells: &BTreeMap<String, Cell>, key: &str) -> Option<u64> {
    match cells.get(key).map(|cell| &cell.value) {
        Some(Value::Whole(number)) => Some(*number),
        _ => None,
    }
}

fn narrow_of(cells: &BTreeMap<String, Cell>, key: &str) -> Option<u32> {
    whole_of(cells, key).map(|number| u32::try_from(number).unwrap_or(u32::MAX))
}

fn truth_of(cells: &BTreeMap<String, Cell>, key: &str) -> bool {
    matches!(cells.get(key).map(|cell| &cell.value), Some(Value::Truth(true)))
}

/// Returns a provider, or a sentence that says what to set.
fn provider(cells: &BTreeMap<String, Cell>, name: &str) -> Result<Provider, String> {
    let full = |key: &str| format!("providers.{name}.{key}");
    for key in ["wire", "base_url", "api_key_env", "api_key_command", "api_key_file", "script", "headers"] {
        if let Some(Cell { value: Value::Refused, origin, .. }) = cells.get(&full(key)) {
            return Err(format!("correct its `{key}`, set in {}", origin));
        }
    }
    let text = |key: &str| text_of(cells, &full(key));
    let named = text("wire").and_then(|name| Wire::ALL.into_iter().find(|wire| wire.name() == name));
    let scripted = text("script").is_some();
    let wire = named.unwrap_or(if scripted { Wire::Scripted } else { Wire::OpenaiChat });
    let missing = |key: &str, example: &str| {
        Err(format!("set `{key} = \"{example}\"` in `[providers.{}]`", super::toml_key(name)))
    };
    match wire {
        Wire::Scripted if text("script").is_none() => return missing("script", "PATH"),
        Wire::OpenaiChat | Wire::OpenaiResponses | Wire::AnthropicMessages if text("base_url").is_none() => {
            return missing("base_url", "https://HOST/v1");
        }
        _ => {}
    }
    if wire != Wire::Scripted {
        for key in ["http.proxy", "http.ca_file"] {
            if let Some(Cell { value: Value::Refused, origin, .. }) = cells.get(key) {
                return Err(format!("correct `{key}`, set in {}", origin));
            }
        }
    }
    let key = key(cells, name)?;
    let headers = match cells.get(&full("headers")).map(|cell| &cell.value) {
        Some(Value::Headers(headers)) => headers.clone(),
        _ => BTreeMap::new(),
    };
    Ok(Provider {
        name: name.to_owned(),
        wire,
        base_url: text("base_url"),
        key,
        script: text("script"),
        headers,
        reach: Reach {
            proxy: text_of(cells, "http.proxy"),
            no_proxy: text_of(cells, "http.no_proxy"),
            ca_file: text_of(cells, "http.ca_file"),
        },
        context_window: narrow_of(cells, &full("context_window")),
        max_output_tokens: narrow_of(cells, &full("max_output_tokens")),
        temperature: match cells.get(&full("temperature")).map(|cell| &cell.value) {
            Some(Value::Number(number)) => Some(number.clone()),
            _ => None,
        },
        tools: !matches!(cells.get(&full("tools")).map(|cell| &cell.value), Some(Value::Truth(false))),
        images: match cells.get(&full("images")).map(|cell| &cell.value) {
            Some(Value::Truth(accepted)) => Some(*accepted),
            _ => None,
        },
        edit_tool: text_of(cells, &full("edit_tool")).and_then(|name| EditTool::named(&name)),
    })
}

/// Returns the configured key sources of a provider in the order of the table, each with its origin.
pub(super) fn keys_of<'a>(
    cells: &'a BTreeMap<String, Cell>,
    name: &str,
) -> Vec<(KeySource, &'a SettingOrigin)> {
    let places = ["api_key_env", "api_key_command", "api_key_file"].into_iter().filter_map(|key| {
        let cell = cells.get(&format!("providers.{name}.{key}"))?;
        let place = match &cell.value {
            Value::Words(words) => KeySource::Command(words.clone()),
            Value::Text(text) if key == "api_key_env" => KeySource::Variable(text.clone()),
            Value::Text(text) => KeySource::File(text.clone()),
            _ => return None,
        };
        Some((place, &cell.origin))
    });
    places.collect()
}

/// Returns the key source of a provider, or a sentence that says what to set.
fn key(cells: &BTreeMap<String, Cell>, name: &str) -> Result<Option<KeySource>, String> {
    let mut places = keys_of(cells, name);
    if let [(first, _), (second, _), ..] = places.as_slice() {
        return Err(format!("keep only one of its `{}` and `{}`", first.setting(), second.setting()));
    }
    let Some((place, _)) = places.pop() else { return Ok(None) };
    // An editor may read its settings from a workspace. An address from there never gets a key that only
    // the user's own file can name.
    let address = cells.get(&format!("providers.{name}.base_url")).map(|cell| &cell.origin);
    if address == Some(&SettingOrigin::Editor) {
        let setting = place.setting();
        return Err(format!(
            "its `base_url` comes from the editor, and the key of its `{setting}` is not sent there: \
             set `base_url` in the file that sets `{setting}`"
        ));
    }
    Ok(Some(place))
}
