//! One call of one model, to find out whether it answers.
//!
//! Uses the code of every other call, so a model that answers here works in a run. Costs a few tokens.

use std::time::{Duration, Instant};

use adjutant_core::config::{ModelLimits, Settings};
use adjutant_core::prompt::{GenerationSettings, ModelMessage, ModelRequest};

use crate::model::Models;
use crate::tools::process::run_own;

/// How long the answer may take in total; a person waits for it.
const LIMIT: Duration = Duration::from_secs(30);
/// Tokens of the answer; a model that thinks needs more than the word itself.
const MOST_TOKENS: u32 = 1_024;

/// Returns the models as a process of its own calls them, with its own environment.
pub fn own_models() -> Models {
    let models = Models::new();
    models.start_key_commands_by(run_own);
    models
}

/// Asks a model for one word. Returns how long that took, or why the model cannot be used and what to do.
pub async fn probe(models: &Models, settings: &Settings, model: &str) -> Result<Duration, String> {
    let (provider, name) = settings.provider_for(Some(model)).map_err(|why| why.to_string())?;
    let limit = u64::try_from(LIMIT.as_millis()).unwrap_or(u64::MAX);
    let limits =
        ModelLimits { first_byte_ms: limit, idle_ms: limit, total_ms: limit, ..settings.limits.model };
    let request = ModelRequest {
        model: name,
        system: "Answer with one word.".into(),
        tools: Vec::new().into(),
        free_form: false,
        messages: vec![ModelMessage::user("Say ok.")],
        max_output_tokens: Some(MOST_TOKENS),
        generation_settings: GenerationSettings::default(),
        whole: false,
        images: Default::default(),
        reminder: None,
        is_summary: false,
        replaced_replies: 0,
    };
    let began = Instant::now();
    match models.call(&provider, &limits, &request, 1, |_| {}).await {
        Ok(_) => Ok(began.elapsed()),
        Err(failure) => Err(failure.message),
    }
}
