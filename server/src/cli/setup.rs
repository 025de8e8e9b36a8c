//! `adjutant setup`: asks for a provider and a key, tries one call, and writes the settings.
//!
//! Never changes the settings before the end. Never writes a key anywhere but into a file
//! of its own that only its owner can read.

pub(super) mod questions;

use std::path::Path;

use anyhow::Context;

use super::Exit;
use super::page::{Ink, note};
use super::signals::{ProcessSignal, Signals};
use crate::doctor::own_models;
use crate::settings::Sources;
use crate::setup::{self as seat, Description, Key, NewProvider, SERVICES, Service, is_set};
use questions::{QuestionDesk, QuestionEnd};

/// Asks, tries, and writes the settings.
pub async fn setup(sources: Sources) -> anyhow::Result<Exit> {
    let Some(file) = sources.user_file() else {
        note("there is no place for the settings: set HOME or ADJUTANT_CONFIG");
        return Ok(Exit::Usage);
    };
    let Some(mut desk) = QuestionDesk::at_terminal()? else {
        note(
            "setup needs a terminal, because it asks questions; without one, write the settings by hand: docs/configuration.md",
        );
        return Ok(Exit::Usage);
    };
    let mut signals = Signals::new()?;
    // A signal drops the questions, which restores the terminal. Writing has no await, so a signal cannot cut it.
    let done = tokio::select! {
        biased;
        signal = signals.next_signal() => Err(match signal {
            ProcessSignal::Interrupt => QuestionEnd::Interrupted,
            ProcessSignal::Terminate => QuestionEnd::Terminated,
        }),
        done = ask_and_write(&mut desk, &sources, &file) => done?,
    };
    let left = match done {
        Ok(exit) => return Ok(exit),
        Err(left) => left,
    };
    desk.page.fresh_line();
    desk.page.line("nothing was written");
    Ok(match left {
        QuestionEnd::Interrupted => Exit::Interrupted,
        QuestionEnd::Terminated => Exit::Terminated,
        QuestionEnd::Gone => Exit::Usage,
    })
}

async fn ask_and_write(
    desk: &mut QuestionDesk,
    sources: &Sources,
    file: &Path,
) -> anyhow::Result<Result<Exit, QuestionEnd>> {
    let present = seat::read(file)?;
    let (provider, key) = match the_provider(desk, sources).await {
        Ok(asked) => asked,
        Err(left) => return Ok(Err(left)),
    };
    let answers = tried(desk, sources, (file, &present), &provider, key.as_ref()).await?;
    if !answers {
        match desk.ask("It did not answer. Write these settings anyway? (y/n)", Some("n")).await {
            Ok(answer) if answer.eq_ignore_ascii_case("y") => {}
            Ok(_) => {
                desk.page.line("nothing was written; run `adjutant setup` again");
                return Ok(Ok(Exit::Failed));
            }
            Err(left) => return Ok(Err(left)),
        }
    }
    seat::write(file, &provider, key.as_ref()).context("write the settings")?;
    desk.page.line_in(Ink::Green, &format!("✓ written: {}", file.display()));
    desk.page.line("Try it: adjutant run \"explain this folder\"   or in your editor: adjutant editor");
    Ok(Ok(if answers { Exit::Fine } else { Exit::Failed }))
}

/// Asks for everything that a provider needs.
async fn the_provider(
    desk: &mut QuestionDesk,
    sources: &Sources,
) -> Result<(NewProvider, Option<Key>), QuestionEnd> {
    desk.page.line("Which service has the model?");
    for (number, service) in (1..).zip(&SERVICES) {
        desk.page.line(&format!("  {number}  {}", service.title));
    }
    let service = loop {
        let chosen = desk.ask("Number", Some("1")).await?;
        match chosen.parse::<usize>().ok().and_then(|number| SERVICES.get(number.wrapping_sub(1))) {
            Some(service) => break service,
            None => desk.page.line(&format!("type a number from 1 to {}", SERVICES.len())),
        }
    };
    loop {
        let base_url = match service.base_url {
            Some(_) => None,
            None => {
                let usual = service.usual_url();
                Some(desk.ask("Address of its API, for example https://HOST/v1", usual).await?)
            }
        };
        let key = the_key(desk, sources, service).await?;
        let model = desk.ask("Model, as the service calls it", service.model).await?;
        match (Description { service: service.name.to_owned(), base_url, key, model }).checked() {
            Ok(checked) => return Ok(checked),
            Err(why) => desk.page.line(&format!("• {why}")),
        }
    }
}

async fn the_key(
    desk: &mut QuestionDesk,
    sources: &Sources,
    service: &Service,
) -> Result<Option<Key>, QuestionEnd> {
    let Some(variable) = service.variable else { return Ok(None) };
    if is_set(sources, variable) {
        desk.page.line(&format!("The environment variable {variable} has the key; it is read from there."));
        return Ok(Some(Key::Variable(variable.to_owned())));
    }
    desk.page.line(&format!(
        "The key goes into a file that only you can read. If you give none here, set {variable} before you start Adjutant."
    ));
    let typed = desk.secret("Key (not shown; Enter for none)").await?;
    Ok(Some(if typed.is_empty() { Key::Variable(variable.to_owned()) } else { Key::Typed(typed) }))
}

/// Makes one call with the new settings, and prints the result.
async fn tried(
    desk: &mut QuestionDesk,
    sources: &Sources,
    settings: (&Path, &str),
    provider: &NewProvider,
    key: Option<&Key>,
) -> anyhow::Result<bool> {
    desk.page.line(&format!("Asking {}/{} for one word ...", provider.name, provider.model));
    let trial =
        seat::tried(sources, &own_models(), settings, provider, key).await.context("try the settings")?;
    for problem in &trial.problems {
        desk.page.line(&format!("• {problem}"));
    }
    Ok(match trial.answer {
        Ok(took) => {
            desk.page.line_in(Ink::Green, &format!("✓ it answered in {:.1} s", took.as_secs_f64()));
            true
        }
        Err(why) => {
            desk.page.line_in(Ink::Red, &format!("✗ {why}"));
            false
        }
    })
}
