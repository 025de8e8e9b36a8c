//! The options of a session: checks a choice against the settings, records it and answers.
//!
//! Never decides which options there are (core does) or which models can be used (the settings do).

use adjutant_core::config::Settings;
use adjutant_core::machine::accept::Refusal;
use adjutant_core::machine::input::Input;
use adjutant_core::policy::choices::{self, Choices, JudgedChoice, Offer, Takes};
use adjutant_core::prompt::{GenerationSettings, Level};
use adjutant_core::record::Mode;
use adjutant_core::session::Session;
use adjutant_core::wire::options;
use adjutant_protocol::errors::ErrorName;
use adjutant_protocol::option::{ConfigId, ConfigOption, SetConfigOptionResult};
use adjutant_protocol::session::Overrides;

use super::SessionTask;
use super::mailbox::{ClientError, Reply};
use super::recording::RecordError;

/// Returns what a client can choose from in a session, by the present settings.
fn offer(session: &Session, settings: &Settings) -> Offer {
    let default = settings.provider_for(None).ok();
    let default = default.map(|(provider, model)| format!("{}/{model}", provider.name));
    let configured = default.iter().chain(&settings.fallback_models).cloned().collect();
    session.offer(default, configured, |model| supported_settings(settings, model))
}

fn supported_settings(settings: &Settings, model: &str) -> Takes {
    settings.facts(model).map(Takes::from).unwrap_or_default()
}

/// All options of a session, with their present values.
pub fn options_of(session: &Session, settings: &Settings) -> Vec<ConfigOption> {
    options::options(&session.choices, &offer(session, settings))
}

/// All options of a session in which nothing was chosen yet.
pub fn options_of_new(settings: &Settings) -> Vec<ConfigOption> {
    options_of(&Session::default(), settings)
}

/// Parses a choice. Refuses a mode or level that does not exist and a model that cannot be used.
pub fn chosen(id: ConfigId, value: &str, settings: &Settings) -> Result<JudgedChoice, ClientError> {
    match id {
        ConfigId::Mode => {
            let mode = Mode::ALL.into_iter().find(|mode| mode.name() == value);
            let names = Mode::ALL.map(Mode::name).join(" and ");
            let why = || format!("there is no mode {value:?}; there are {names}");
            mode.map(|mode| JudgedChoice::Mode { mode })
                .ok_or_else(|| ClientError::new(ErrorName::AnswerInvalid, why()))
        }
        ConfigId::Model => match settings.provider_for(Some(value)) {
            Ok((provider, model)) => Ok(JudgedChoice::Model { model: format!("{}/{model}", provider.name) }),
            Err(why) => Err(ClientError::new(ErrorName::ProviderUnavailable, why.to_string())),
        },
        ConfigId::Effort => level("effort", value).map(|effort| JudgedChoice::Effort { effort }),
        ConfigId::Verbosity => {
            level("verbosity", value).map(|verbosity| JudgedChoice::Verbosity { verbosity })
        }
    }
}

/// Returns the setting that makes a choice that of new sessions, and its value; `None` removes it.
pub fn setting_of(chosen: &JudgedChoice) -> Result<(&'static str, Option<String>), ClientError> {
    let level = |level: &Option<Level>| level.map(|level| level.name().to_owned());
    match chosen {
        JudgedChoice::Model { model } => Ok(("model", Some(model.clone()))),
        JudgedChoice::Effort { effort } => Ok(("effort", level(effort))),
        JudgedChoice::Verbosity { verbosity } => Ok(("verbosity", level(verbosity))),
        JudgedChoice::Mode { .. } => {
            let why = "a mode is of one conversation; there is no setting for it";
            Err(ClientError::new(ErrorName::AnswerInvalid, why))
        }
    }
}

/// Parses a level of `what`. `default` leaves the level to the provider.
pub fn level(what: &str, name: &str) -> Result<Option<Level>, ClientError> {
    let all = [None].into_iter().chain(Level::ALL.map(Some));
    let found = all.clone().find(|level| choices::level_name(*level) == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = all.map(choices::level_name).collect();
        let why = format!("there is no {what} {name:?}; there are {}", names.join(", "));
        ClientError::new(ErrorName::AnswerInvalid, why)
    })
}

/// Returns the generation settings of a run: its own overrides, else the choices of its session, else the
/// settings.
pub fn generation_settings(
    own: &Overrides,
    choices: &Choices,
    settings: &Settings,
) -> Result<GenerationSettings, ClientError> {
    let GenerationSettings { effort, verbosity } =
        choices.generation_settings.or(settings.generation_settings);
    let given = |what: &str, name: &Option<String>| name.as_deref().map(|name| level(what, name)).transpose();
    Ok(GenerationSettings {
        effort: given("effort", &own.effort)?.unwrap_or(effort),
        verbosity: given("verbosity", &own.verbosity)?.unwrap_or(verbosity),
    })
}

impl SessionTask {
    pub(super) async fn choose(&mut self, chosen: JudgedChoice, reply: Reply<SetConfigOptionResult>) {
        self.place.mailbox.note_handled();
        let settings = self.place.world.settings();
        let mut offer = offer(&self.session, &settings);
        if let JudgedChoice::Model { model } = &chosen {
            // Another model may support other levels (P18).
            offer.takes = supported_settings(&settings, model);
        }
        if !self.session.created && self.stopped.is_none() {
            // There is no log yet: the choice stays in memory, and the first event records it.
            self.session.choose(&chosen);
        } else {
            match self.record_input(Input::Choose { chosen, offer }).await {
                // The option has this value already.
                Err(RecordError::Refused(Refusal::Nothing)) if self.stopped.is_none() => {}
                Err(why) => {
                    let _ = reply.send(Err(self.not_recorded(why)));
                    return;
                }
                Ok(_) => {}
            }
        }
        let config_options = options_of(&self.session, &settings);
        let barrier = self.barrier;
        self.replies.after_durable(barrier, move |durable| {
            let _ = reply.send(durable.map(|()| SetConfigOptionResult { config_options, text: None }));
        });
    }
}
