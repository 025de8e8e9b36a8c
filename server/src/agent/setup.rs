//! `agent/setup/*`: a provider is chosen, tried and written from an editor.
//!
//! Never sends a key back.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use adjutant_core::config::{KeySource, Provider, SettingOrigin, Settings};
use adjutant_core::text::display::one_line;
use adjutant_protocol::errors::ErrorName;
use adjutant_protocol::setup::{
    SetupKey, SetupParams, SetupProvider, SetupProvidersParams, SetupProvidersResult, SetupTryResult,
    SetupWriteResult,
};
use tokio::sync::OwnedSemaphorePermit;

use super::{Agent, Result};
use crate::aside::aside;
use crate::session::mailbox::ClientError;
use crate::settings::Sources;
use crate::settings::own_files::private_text;
use crate::setup::{self, Description, Key, NewProvider, SERVICES, Service, is_set};
use crate::transport::ErrorBody;

/// The most characters of a line; a provider's words may be long.
const MAX_TEXT: usize = 1_000;
const NO_PLACE: &str =
    "there is no place for the settings: set HOME or ADJUTANT_CONFIG, and start the editor again";

impl Agent {
    pub async fn services(&self, params: Option<SetupProvidersParams>) -> Result<SetupProvidersResult> {
        let SetupProvidersParams {} = params.unwrap_or_default();
        let sources = self.configured.sources();
        let mut providers: Vec<_> = SERVICES.iter().map(|service| view(&sources, service)).collect();
        // Stable: within both groups the order stays.
        providers.sort_by_key(|provider| !provider.key_found);
        let problem = aside(move || present(&sources).err()).await;
        Ok(SetupProvidersResult { providers, problem })
    }

    pub(super) async fn setup_try(&self, params: SetupParams) -> Result<SetupTryResult> {
        let (provider, key) = described(params)?;
        let _held = self.alone()?;
        let sources = self.configured.sources();
        let read = sources.clone();
        let (file, present) = aside(move || present(&read)).await.map_err(ErrorBody::invalid_params)?;
        let models = &self.sessions.world().models;
        let trial = setup::tried(&sources, models, (&file, &present), &provider, key.as_ref()).await;
        let (works, text) = match trial.map_err(|why| refused(&why))?.answer {
            Ok(took) => (true, format!("it answered in {:.1} s", took.as_secs_f64())),
            Err(why) => (false, why),
        };
        Ok(SetupTryResult { works, text: one_line(&text, MAX_TEXT) })
    }

    pub(super) async fn setup_write(&self, params: SetupParams) -> Result<SetupWriteResult> {
        let (provider, key) = described(params)?;
        let held = self.alone()?;
        let sources = self.configured.sources();
        let written = aside(move || {
            // A cancelled request leaves this thread at work, and no other write may begin before it has ended.
            let _held = held;
            let file = sources.user_file().ok_or_else(|| ErrorBody::invalid_params(NO_PLACE))?;
            setup::write(&file, &provider, key.as_ref()).map_err(|why| refused(&why))?;
            Ok::<_, ErrorBody>((file, provider))
        });
        let (file, provider) = written.await?;
        Ok(self.told_of(&file, &provider))
    }

    /// Uses the settings that were written, and says whether the model counts now.
    fn told_of(&self, file: &Path, provider: &NewProvider) -> SetupWriteResult {
        let model = format!("{}/{}", provider.name, provider.model);
        let settings = self.settings_now();
        let chosen = settings.provider_for(None);
        let is_as_written =
            |url: &Option<String>| url.as_deref() == Some(provider.base_url.trim_end_matches('/'));
        let overruled = |key: &str| overruled(&settings, key);
        let but = match &chosen {
            _ if settings.model.as_deref() != Some(&model) => Some(overruled("model")),
            Ok((found, _)) if !is_as_written(&found.base_url) => {
                Some(overruled(&format!("providers.{}.base_url", provider.name)))
            }
            // The key counts only if it is found as a call finds it.
            Ok((Provider { key: Some(KeySource::File(path)), .. }, _)) => {
                private_text(path).err().map(|why| format!("it has no key: the file {why}"))
            }
            Ok(_) => None,
            Err(why) => Some(why.to_string()),
        };
        let file = file.display();
        let text = match &but {
            None => format!("{model} is the model of new conversations; written: {file}"),
            Some(why) => format!("{model} is written, but not in use: {why}; written: {file}"),
        };
        SetupWriteResult { model, in_use: but.is_none(), text: one_line(&text, MAX_TEXT) }
    }

    /// Writes a choice for new sessions into the user's settings, and says whether it counts. `None` removes it.
    pub(super) async fn write_choice(&self, key: &'static str, choice: Option<String>) -> Result<String> {
        let held = self.alone()?;
        let sources = self.configured.sources();
        let wanted = choice.clone();
        let written = aside(move || {
            // As for a provider, no other write may begin before this one has ended.
            let _held = held;
            let file = sources.user_file().ok_or_else(|| ErrorBody::invalid_params(NO_PLACE))?;
            setup::write_choice(&file, key, choice.as_deref()).map_err(|why| refused(&why))?;
            Ok::<_, ErrorBody>(file)
        });
        let file = written.await?;
        let settings = self.settings_now();
        let is_own = matches!(
            settings.origin_of(key),
            None | Some(SettingOrigin::Default | SettingOrigin::UserFile { .. })
        );
        let (what, file) = (wanted.as_deref().unwrap_or("no choice"), file.display());
        let text = match is_own {
            true => format!("new conversations have {key} {what}; written: {file}"),
            false => format!(
                "{key} {what} is written, but not in use: {}; written: {file}",
                overruled(&settings, key)
            ),
        };
        Ok(one_line(&text, MAX_TEXT))
    }

    /// Waits for nothing: each trial costs tokens, and two that write would hinder one another.
    fn alone(&self) -> Result<OwnedSemaphorePermit> {
        let busy = "a provider is being tried or written already; wait for that answer";
        Arc::clone(&self.probing)
            .try_acquire_owned()
            .map_err(|_| ClientError::new(ErrorName::Overloaded, busy).into())
    }
}

fn overruled(settings: &Settings, key: &str) -> String {
    let place = settings.origin_of(key).map(ToString::to_string).unwrap_or_default();
    format!("`{key}` is set elsewhere ({place}) and counts before it; remove it there")
}

fn view(sources: &Sources, service: &Service) -> SetupProvider {
    SetupProvider {
        provider: service.name.to_owned(),
        title: service.title.to_owned(),
        needs_address: service.base_url.is_none(),
        address: service.usual_url().map(str::to_owned),
        key_variable: service.variable.map(str::to_owned),
        key_found: service.variable.is_some_and(|variable| is_set(sources, variable)),
        model: service.model.map(str::to_owned),
    }
}

/// Returns the settings file and its text, or why it cannot be written and what to do.
fn present(sources: &Sources) -> std::result::Result<(PathBuf, String), String> {
    let file = sources.user_file().ok_or(NO_PLACE)?;
    let text = setup::read(&file).map_err(|why| one_line(&format!("could not {why:#}"), MAX_TEXT))?;
    Ok((file, text))
}

fn refused(why: &anyhow::Error) -> ErrorBody {
    ErrorBody::invalid_params(one_line(&format!("could not {why:#}"), MAX_TEXT))
}

/// Reads the params of a trial and of a write.
fn described(params: SetupParams) -> Result<(NewProvider, Option<Key>)> {
    let SetupParams { provider, address, key, model } = params;
    let key = key.map(|key| match key {
        SetupKey::Variable { name } => Key::Variable(name),
        SetupKey::Typed { key } => Key::Typed(key),
    });
    let description = Description { service: provider, base_url: address, key, model };
    description.checked().map_err(ErrorBody::invalid_params)
}
