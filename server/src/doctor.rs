//! Whether Adjutant can work as it is set up: each setting, where it came from, and whether it works.
//!
//! The checks of `adjutant doctor` and of `agent/doctor`. Never changes anything, and calls no model unless asked.

mod probe;
mod state_folder;

use adjutant_core::config::{Flaw, Problem, SettingOrigin, Settings, Wire};
use adjutant_core::prompt::models::AS_OF;
use adjutant_core::text::display::one_line;
use adjutant_protocol::doctor::{Check, Cure, Health};

pub use self::probe::{own_models, probe};
use self::state_folder::{Usable, check};
use crate::aside::aside;
use crate::model::{Models, script_fault};
use crate::settings::{LoadedSettings, Sources, load};

/// Characters of a line; a problem may quote a long value.
const MAX_TEXT: usize = 1_000;

/// Checks everything and reports each check as soon as it is done; calls the models of the settings by `models`, if given. Returns
/// whether a model is configured.
pub async fn examine(sources: Sources, models: Option<&Models>, mut report: impl FnMut(Check)) -> bool {
    report(program_check());
    let (loaded, checks) = aside(move || {
        let loaded = load(&sources);
        let mut checks = settings_checks(&sources, &loaded.problems);
        checks.push(state_check(&sources));
        (loaded, checks)
    })
    .await;
    checks.into_iter().for_each(&mut report);
    check_models(&loaded, models, &mut report).await;
    report(found(Health::Note, "sandbox", "none yet: a command that you allow runs with your rights"));
    loaded.settings.model.is_some()
}

fn found(health: Health, check: &str, text: &str) -> Check {
    Check { check: check.to_owned(), health, text: one_line(text, MAX_TEXT), cure: None }
}

fn program_check() -> Check {
    let place = std::env::current_exe().map(|path| format!(", {}", path.display())).unwrap_or_default();
    found(Health::Ok, "program", &format!("adjutant {}{place}", env!("CARGO_PKG_VERSION")))
}

fn by_setup(check: Check) -> Check {
    Check { cure: Some(Cure { title: "Set up…".into(), command: "adjutant setup".into() }), ..check }
}

/// Checks the user's settings file, and lists the problems of all settings.
fn settings_checks(sources: &Sources, problems: &[Problem]) -> Vec<Check> {
    let unusable = |problem: &Problem| matches!(problem.flaw, Flaw::Unreadable | Flaw::Syntax);
    let file = sources.user_file().map(|file| file.display().to_string());
    let mistaken = problems.iter().any(|problem| problem.file == file);
    let of_file = match sources.user_file().filter(|file| file.exists()) {
        // Its problems already name the file.
        Some(_) if mistaken => None,
        Some(file) => Some(found(Health::Ok, "settings", &file.display().to_string())),
        None => {
            let why = "you have no settings file; `adjutant setup` writes one";
            Some(by_setup(found(Health::Note, "settings", why)))
        }
    };
    let of_problem = |problem: &Problem| {
        let health = if unusable(problem) { Health::Error } else { Health::Warning };
        found(health, "settings", &problem.to_string())
    };
    of_file.into_iter().chain(problems.iter().map(of_problem)).collect()
}

/// Checks whether sessions can be stored.
fn state_check(sources: &Sources) -> Check {
    let place = match sources.state_dir() {
        Ok(place) => place,
        Err(why) => return found(Health::Error, "sessions", &format!("could not {why:#}")),
    };
    let name = place.display();
    match check(&place) {
        Ok(Usable::Yes) => found(Health::Ok, "sessions", &name.to_string()),
        Ok(Usable::NotYet) => found(Health::Ok, "sessions", &format!("{name} (the first run makes it)")),
        Ok(Usable::OpenToOthers) => {
            let text = format!("{name} is open to other users; the next run makes it private");
            found(Health::Note, "sessions", &text)
        }
        Err(why) => found(Health::Error, "sessions", &format!("{name} {why}")),
    }
}

/// Checks for each model whether it can be used.
async fn check_models(loaded: &LoadedSettings, models: Option<&Models>, report: &mut impl FnMut(Check)) {
    let settings = &loaded.settings;
    if settings.model.is_none() {
        let why = settings.provider_for(None).err().map(|why| why.to_string()).unwrap_or_default();
        report(by_setup(found(Health::Error, "model", &why)));
    }
    for view in &settings.model_views() {
        let name = if settings.model.as_ref() == Some(&view.model) { "model" } else { "fallback" };
        let place = if name == "model" { "model" } else { "fallback_models" };
        let from = settings.origin_of(place).map(SettingOrigin::to_string).unwrap_or_default();
        if let Some(why) = &view.unavailable {
            report(found(Health::Error, name, &format!("{} ({from}): {why}", view.model)));
            continue;
        }
        let provider = settings.provider_for(Some(&view.model)).ok().map(|(provider, _)| provider);
        if let Some(why) = provider.as_ref().and_then(script_fault) {
            let text =
                format!("{} ({from}): {why}; correct that file, or `script` in the settings", view.model);
            report(found(Health::Error, name, &text));
            continue;
        }
        report(found(Health::Ok, name, &format!("{} ({from})", view.model)));
        // A script reads nothing, so it has no window.
        if provider.is_none_or(|provider| provider.wire != Wire::Scripted) {
            let numbers = format!("reads {} tokens, writes {}", view.context_window, view.max_output_tokens);
            report(match view.known {
                true => found(Health::Ok, "window", &format!("{numbers} (as known {AS_OF}, or as set)")),
                false => found(
                    Health::Note,
                    "window",
                    &format!(
                        "{numbers}: a guess, because the model is unknown; set `context_window` and `max_output_tokens`"
                    ),
                ),
            });
        }
        report(provider_check(settings, &view.model, models).await);
    }
}

/// Asks a model for one word, if models may be called.
async fn provider_check(settings: &Settings, model: &str, models: Option<&Models>) -> Check {
    let Some(models) = models else { return found(Health::Note, "provider", "not called") };
    match probe(models, settings, model).await {
        Ok(took) => found(Health::Ok, "provider", &format!("answers, in {:.1} s", took.as_secs_f64())),
        Err(why) => found(Health::Error, "provider", &why),
    }
}
