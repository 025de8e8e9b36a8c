//! One call of a provider as it would be written.
//!
//! Never writes anything: the settings and a typed key stay in memory. Reads neither the settings of a
//! workspace nor those of an editor.

use std::path::Path;
use std::time::Duration;

use super::writing::{Key, NewProvider, changed};
use crate::doctor::probe;
use crate::model::Models;
use crate::settings::{Sources, load_as};
use crate::tools::process::run_own;

/// Stands for the variable of a key that is in none.
const TYPED: &str = "ADJUTANT_TYPED_KEY";

/// What one call of a provider showed.
pub struct Trial {
    /// What is wrong with the settings as they would be written.
    pub problems: Vec<String>,
    /// How long the answer took, or why there is none and what to do.
    pub answer: Result<Duration, String>,
}

/// Asks a provider for one word, as if it stood in the settings `present` already. Takes at most 30 s. `models` finds
/// the keys that are in variables. Fails if the settings cannot be changed.
pub async fn tried(
    sources: &Sources,
    models: &Models,
    (file, present): (&Path, &str),
    provider: &NewProvider,
    key: Option<&Key>,
) -> anyhow::Result<Trial> {
    let mut sources = Sources {
        environment: sources.environment.clone(),
        home: sources.home.clone(),
        ..Sources::default()
    };
    let (models, key) = match key {
        Some(Key::Typed(key)) => {
            // The settings only learn that it has a value.
            sources.environment.insert(TYPED.to_owned(), "set".to_owned());
            (with_typed(key.clone()), Some(Key::Variable(TYPED.to_owned())))
        }
        Some(Key::Variable(name)) => (models.clone(), Some(Key::Variable(name.clone()))),
        None => (models.clone(), None),
    };
    let text = changed(present, provider, key.as_ref().map(|key| (key, "")), file)?;
    let loaded = load_as(&sources, Some(text));
    let problems = loaded.problems.iter().map(ToString::to_string).collect();
    let answer = probe(&models, &loaded.settings, &format!("{}/{}", provider.name, provider.model)).await;
    Ok(Trial { problems, answer: answer.map_err(|why| of_typed(&why)) })
}

/// Returns the models as this process calls them, with one more key.
fn with_typed(key: String) -> Models {
    let models = Models::with_keys(
        move |name| if name == TYPED { Some(key.clone()) } else { std::env::var(name).ok() },
    );
    models.start_key_commands_by(run_own);
    models
}

/// Replaces the variable of a typed key in a message, because the user never set one.
fn of_typed(why: &str) -> String {
    why.replace(&format!("the key in {TYPED}"), "the key that you typed")
        .replace(&format!("set {TYPED} to a valid key"), "type a valid key")
}
