//! The models of the settings as clients see them.

use adjutant_protocol::model::ModelView;

use crate::config::Settings;
use crate::prompt::message::Level;
use crate::prompt::models::UNKNOWN;

impl Settings {
    /// Returns the models of the settings as clients see them: the model for new sessions, then its fallbacks.
    pub fn model_views(&self) -> Vec<ModelView> {
        let mut names: Vec<&String> = Vec::new();
        for name in self.model.iter().chain(&self.fallback_models) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.into_iter().map(|name| self.view(name)).collect()
    }

    fn view(&self, name: &str) -> ModelView {
        let found = self.provider_for(Some(name));
        let facts = found.as_ref().map_or(UNKNOWN, |(provider, model)| provider.facts(model));
        ModelView {
            model: name.to_owned(),
            context_window: facts.context_window,
            max_output_tokens: facts.max_output_tokens,
            efforts: names(facts.efforts),
            verbosities: names(facts.verbosities),
            images: facts.images,
            known: facts.known,
            unavailable: found.err().map(|why| why.to_string()),
        }
    }
}

fn names(levels: &[Level]) -> Vec<String> {
    levels.iter().map(|level| level.name().to_owned()).collect()
}
