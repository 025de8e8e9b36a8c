//! `adjutant doctor`: each setting, where it came from, and whether it works.
//!
//! One line each; a line with a mistake never has `✓`. Never changes anything. It asks each model for one
//! word, except with `--offline`.

use adjutant_core::config::{Flaw, Problem, SettingOrigin, Settings, Wire};
use adjutant_core::prompt::models::AS_OF;
use clap::Args;

use super::Exit;
use super::folder::Folder;
use super::page::{Ink, Printer};
use super::probe::probe;
use super::state_folder::{Usable, check};
use crate::model::script_fault;
use crate::settings::{Sources, load};

/// The arguments of `adjutant doctor`.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct DoctorLine {
    /// Check the settings and call no model
    #[arg(long)]
    offline: bool,
}

/// The result of one check.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Health {
    Fine,
    /// It is right, but the user should know.
    Odd,
    /// It works, but not as the user wrote it.
    Wrong,
    Bad,
}

/// Checks everything. The exit code says whether a run would work.
pub async fn doctor(mut sources: Sources, line: DoctorLine) -> anyhow::Result<Exit> {
    sources.roots =
        Folder::find(None, sources.home.as_deref()).map_or_else(|_| Vec::new(), |folder| folder.workspace());
    let loaded = load(&sources);
    let mut report = Report { page: Printer::of_stdout(), worst: Health::Fine };
    the_settings(&mut report, &sources, &loaded.problems);
    the_state(&mut report, &sources);
    let usable = the_models(&mut report, &loaded.settings, line).await;
    report.line(Health::Odd, "sandbox", "none yet: a command that you allow runs with your rights");
    report.page.written()?;
    Ok(match (usable, report.worst) {
        (false, _) => Exit::Usage,
        (true, Health::Bad) => Exit::Failed,
        (true, Health::Fine | Health::Odd | Health::Wrong) => Exit::Fine,
    })
}

/// Reports the user's settings file, and the problems of all settings files.
fn the_settings(report: &mut Report, sources: &Sources, problems: &[Problem]) {
    let unusable = |problem: &Problem| matches!(problem.flaw, Flaw::Unreadable | Flaw::Syntax);
    let file = sources.user_file().map(|file| file.display().to_string());
    let mistaken = problems.iter().any(|problem| problem.file == file);
    match sources.user_file().filter(|file| file.exists()) {
        // Its problems already name the file.
        Some(_) if mistaken => {}
        Some(file) => report.line(Health::Fine, "settings", &file.display().to_string()),
        None => {
            report.line(Health::Odd, "settings", "you have no settings file; `adjutant setup` writes one")
        }
    }
    for problem in problems {
        let mark = if unusable(problem) { Health::Bad } else { Health::Wrong };
        report.line(mark, "settings", &problem.to_string());
    }
}

/// Reports whether sessions can be stored.
fn the_state(report: &mut Report, sources: &Sources) {
    let place = match sources.state_dir() {
        Ok(place) => place,
        Err(why) => return report.line(Health::Bad, "sessions", &format!("could not {why:#}")),
    };
    let name = place.display();
    match check(&place) {
        Ok(Usable::Yes) => report.line(Health::Fine, "sessions", &name.to_string()),
        Ok(Usable::NotYet) => {
            report.line(Health::Fine, "sessions", &format!("{name} (the first run makes it)"))
        }
        Ok(Usable::OpenToOthers) => {
            let text = format!("{name} is open to other users; the next run makes it private");
            report.line(Health::Odd, "sessions", &text);
        }
        Err(why) => report.line(Health::Bad, "sessions", &format!("{name} {why}")),
    }
}

/// Reports for each model whether it can be used. Returns `false` if none is configured.
async fn the_models(report: &mut Report, settings: &Settings, line: DoctorLine) -> bool {
    let views = settings.model_views();
    if settings.model.is_none() {
        let why = settings.provider_for(None).err().map(|why| why.to_string()).unwrap_or_default();
        report.line(Health::Bad, "model", &why);
    }
    for view in &views {
        let place = if settings.model.as_ref() == Some(&view.model) { "model" } else { "fallback_models" };
        let from = settings.origin_of(place).map(SettingOrigin::to_string).unwrap_or_default();
        let name = if place == "model" { "model" } else { "fallback" };
        if let Some(why) = &view.unavailable {
            report.line(Health::Bad, name, &format!("{} ({from}): {why}", view.model));
            continue;
        }
        let provider = settings.provider_for(Some(&view.model)).ok().map(|(provider, _)| provider);
        if let Some(why) = provider.as_ref().and_then(script_fault) {
            let text =
                format!("{} ({from}): {why}; correct that file, or `script` in the settings", view.model);
            report.line(Health::Bad, name, &text);
            continue;
        }
        report.line(Health::Fine, name, &format!("{} ({from})", view.model));
        let numbers = format!("reads {} tokens, writes {}", view.context_window, view.max_output_tokens);
        // A script reads nothing, so it has no window.
        let is_scripted = provider.is_some_and(|provider| provider.wire == Wire::Scripted);
        match view.known {
            _ if is_scripted => {}
            true => report.line(Health::Fine, "window", &format!("{numbers} (as known {AS_OF}, or as set)")),
            false => report.line(
                Health::Odd,
                "window",
                &format!("{numbers}: a guess, because the model is unknown; set `context_window` and `max_output_tokens`"),
            ),
        }
        if line.offline {
            report.line(Health::Odd, "provider", "not called (--offline)");
            continue;
        }
        match probe(settings, &view.model).await {
            Ok(took) => {
                report.line(Health::Fine, "provider", &format!("answers, in {:.1} s", took.as_secs_f64()))
            }
            Err(why) => report.line(Health::Bad, "provider", &why),
        }
    }
    settings.model.is_some()
}

struct Report {
    page: Printer,
    worst: Health,
}

impl Report {
    fn line(&mut self, mark: Health, what: &str, text: &str) {
        let (sign, ink) = match mark {
            Health::Fine => ("✓", Ink::Green),
            Health::Odd => ("•", Ink::Plain),
            Health::Wrong => ("!", Ink::Bold),
            Health::Bad => ("✗", Ink::Red),
        };
        self.page.line_in(ink, &format!("{sign} {what:<9} {text}"));
        if mark == Health::Bad {
            self.worst = Health::Bad;
        }
    }
}
