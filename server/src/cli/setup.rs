//! `adjutant setup`: asks for a provider and a key, tries one call, and writes the settings.
//!
//! Never changes the settings before the end. Never writes a key anywhere but into a file
//! of its own that only its owner can read.

pub(super) mod questions;
mod writing;

use std::path::Path;

use adjutant_core::config::Wire;
use anyhow::Context;

use super::Exit;
use super::page::{Ink, note};
use super::signals::{ProcessSignal, Signals};
use crate::doctor::{own_models, probe};
use crate::settings::{Sources, load};
use questions::{QuestionDesk, QuestionEnd};
use writing::{Key, NewProvider};

/// One kind of service that can be chosen.
struct Service {
    /// The name in the list of choices.
    title: &'static str,
    name: &'static str,
    wire: Wire,
    /// `None` if the user has to name it.
    base_url: Option<&'static str>,
    /// The variable that usually has its key; `None` if it needs no key.
    variable: Option<&'static str>,
    /// A model to begin with; `None` if the user has to name it.
    model: Option<&'static str>,
}

const SERVICES: [Service; 5] = [
    Service {
        title: "Anthropic",
        name: "anthropic",
        wire: Wire::AnthropicMessages,
        base_url: Some("https://api.anthropic.com/v1"),
        variable: Some("ANTHROPIC_API_KEY"),
        model: Some("claude-sonnet-4-6"),
    },
    Service {
        title: "OpenAI",
        name: "openai",
        wire: Wire::OpenaiResponses,
        base_url: Some("https://api.openai.com/v1"),
        variable: Some("OPENAI_API_KEY"),
        model: Some("gpt-5.5"),
    },
    Service {
        title: "OpenRouter",
        name: "openrouter",
        wire: Wire::OpenaiChat,
        base_url: Some("https://openrouter.ai/api/v1"),
        variable: Some("OPENROUTER_API_KEY"),
        model: None,
    },
    Service {
        title: "a model on this machine (Ollama, llama.cpp, LM Studio, ...)",
        name: "local",
        wire: Wire::OpenaiChat,
        base_url: None,
        variable: None,
        model: None,
    },
    Service {
        title: "another service that speaks OpenAI Chat Completions",
        name: "service",
        wire: Wire::OpenaiChat,
        base_url: None,
        variable: Some("SERVICE_API_KEY"),
        model: None,
    },
];

/// Where most servers of local models listen.
const LOCAL: &str = "http://127.0.0.1:11434/v1";

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
    let present = writing::read(file)?;
    let (provider, key) = match the_provider(desk, sources).await {
        Ok(asked) => asked,
        Err(left) => return Ok(Err(left)),
    };
    let scratch =
        writing::ScratchFiles::make(file, &present, &provider, key.as_ref()).context("try the settings")?;
    let answers = tried(desk, sources, &scratch, &format!("{}/{}", provider.name, provider.model)).await;
    drop(scratch);
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
    writing::write(file, &present, &provider, key.as_ref()).context("write the settings")?;
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
    let base_url = match service.base_url {
        Some(url) => url.to_owned(),
        None => {
            let usual = (service.variable.is_none()).then_some(LOCAL);
            desk.ask("Address of its API, for example https://HOST/v1", usual).await?
        }
    };
    let key = the_key(desk, sources, service).await?;
    let model = desk.ask("Model, as the service calls it", service.model).await?;
    let provider = NewProvider { name: service.name.to_owned(), wire: service.wire, base_url, model };
    Ok((provider, key))
}

async fn the_key(
    desk: &mut QuestionDesk,
    sources: &Sources,
    service: &Service,
) -> Result<Option<Key>, QuestionEnd> {
    let Some(variable) = service.variable else { return Ok(None) };
    if sources.environment.get(variable).is_some_and(|value| !value.is_empty()) {
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
    scratch: &writing::ScratchFiles,
    model: &str,
) -> bool {
    desk.page.line(&format!("Asking {model} for one word ..."));
    let mut sources = sources.clone();
    sources.environment.insert("ADJUTANT_CONFIG".to_owned(), scratch.file().display().to_string());
    let loaded = load(&sources);
    for problem in &loaded.problems {
        desk.page.line(&format!("• {problem}"));
    }
    match probe(&own_models(), &loaded.settings, model).await {
        Ok(took) => {
            desk.page.line_in(Ink::Green, &format!("✓ it answered in {:.1} s", took.as_secs_f64()));
            true
        }
        Err(why) => {
            desk.page.line_in(Ink::Red, &format!("✗ {why}"));
            false
        }
    }
}
