//! Keys: found where the settings say, when a call needs one.
//!
//! A key of a command is kept in memory, for one provider at one address, until it is refused.
//! Never runs or reads anything before a call, and never repeats what was found.

use std::future::Future;
use std::pin::Pin;
use std::process::Output;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use adjutant_core::config::{KeySource, Provider};
use adjutant_core::machine::retry::{CallFailure, FailureClass};
use reqwest::Url;

use crate::failure::{failure, quote};
use crate::secret::{Redactor, Secret};
use adjutant_host::settings::own_files;

/// Finds the value of an environment variable by its name.
pub(super) type Variables = dyn Fn(&str) -> Option<String> + Send + Sync;

/// Runs a program of the user's settings to its end, within limits of time and output; an error fits
/// behind the name of the setting.
pub type RunCommand = fn(Vec<String>) -> Pin<Box<dyn Future<Output = Result<Output, String>> + Send>>;

/// The most keys of commands that are kept; the oldest goes.
const MAX_KEPT: usize = 32;

/// Where keys come from, and those that commands gave.
pub(crate) struct Keys {
    pub variables: Box<Variables>,
    /// Set by who may start programs.
    pub run: OnceLock<RunCommand>,
    kept: Mutex<Vec<Arc<CachedKey>>>,
}

/// The key of one command, for one provider at one address.
struct CachedKey {
    provider: String,
    words: Vec<String>,
    origin: String,
    /// Held while the command runs, so that two calls do not run it twice.
    key: tokio::sync::Mutex<Option<Secret>>,
}

/// Whose key is wanted, and from whom it has to be hidden.
pub(super) struct KeyRequest<'a> {
    pub provider: &'a Provider,
    /// Where it will be sent.
    pub url: &'a Url,
    pub redactor: &'a Redactor,
}

/// A key, and whether it may be old.
pub(super) struct FetchedKey {
    pub key: Secret,
    /// It is from an earlier call, so that another run of its command may give a better one.
    pub kept: bool,
}

impl Keys {
    pub fn new(variables: Box<Variables>) -> Keys {
        Keys { variables, run: OnceLock::new(), kept: Mutex::default() }
    }

    /// Returns the key of a provider, or none if it needs none.
    pub(super) async fn find(&self, wanted: &KeyRequest<'_>) -> Result<Option<FetchedKey>, CallFailure> {
        let fresh = |key| Some(FetchedKey { key, kept: false });
        match &wanted.provider.key {
            None => Ok(None),
            Some(KeySource::Variable(name)) => self.variable(name, wanted).map(fresh),
            Some(KeySource::File(path)) => wanted.file(path).await.map(fresh),
            Some(KeySource::Command(words)) => {
                let place = self.place(words, wanted);
                let mut kept = place.key.lock().await;
                if let Some(key) = &*kept {
                    wanted.redactor.hide(key.clone());
                    return Ok(Some(FetchedKey { key: key.clone(), kept: true }));
                }
                let key = self.ask(words, wanted).await?;
                *kept = Some(key.clone());
                Ok(fresh(key))
            }
        }
    }

    /// Takes back a key that was refused and returns another one, if its command now gives one.
    pub(super) async fn renewed(
        &self,
        refused: &FetchedKey,
        wanted: &KeyRequest<'_>,
    ) -> Result<Option<FetchedKey>, CallFailure> {
        let Some(KeySource::Command(words)) = &wanted.provider.key else { return Ok(None) };
        let place = self.place(words, wanted);
        let mut kept = place.key.lock().await;
        match &*kept {
            // Another call was faster.
            Some(key) if *key != refused.key => {
                wanted.redactor.hide(key.clone());
                return Ok(Some(FetchedKey { key: key.clone(), kept: false }));
            }
            _ => *kept = None,
        }
        if !refused.kept {
            // The command ran just now; the next call asks it again.
            return Ok(None);
        }
        let key = self.ask(words, wanted).await?;
        if key == refused.key {
            return Ok(None);
        }
        *kept = Some(key.clone());
        Ok(Some(FetchedKey { key, kept: false }))
    }

    fn place(&self, words: &[String], wanted: &KeyRequest<'_>) -> Arc<CachedKey> {
        let origin = wanted.url.origin().ascii_serialization();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |one: &&Arc<CachedKey>| {
            one.provider == wanted.provider.name && one.words == words && one.origin == origin
        };
        if let Some(one) = kept.iter().find(same) {
            return Arc::clone(one);
        }
        if kept.len() >= MAX_KEPT {
            kept.remove(0);
        }
        let provider = wanted.provider.name.clone();
        let one = Arc::new(CachedKey {
            provider,
            words: words.to_vec(),
            origin,
            key: tokio::sync::Mutex::default(),
        });
        kept.push(Arc::clone(&one));
        one
    }

    fn variable(&self, name: &str, wanted: &KeyRequest<'_>) -> Result<Secret, CallFailure> {
        let value = (self.variables)(name).unwrap_or_default();
        let Some(key) = wanted.only_line(&value) else {
            return Err(wanted.none(format!(
                "needs a key and the environment variable {name} has none; set it and start again"
            )));
        };
        key.ok_or_else(|| odd(&format!("the key in {name}"), &format!("set {name} to a valid key")))
    }

    /// Runs the command of a key.
    async fn ask(&self, words: &[String], wanted: &KeyRequest<'_>) -> Result<Secret, CallFailure> {
        const SETTING: &str = "`api_key_command`";
        let refused = |why: &str| wanted.none(format!("has no key: its {SETTING} {why}"));
        let Some(run) = self.run.get() else { return Err(refused("cannot be run here")) };
        tracing::debug!(provider = wanted.provider.name, "run the command of the key");
        let output = run(words.to_vec()).await.map_err(|why| refused(&quote(&why, wanted.redactor)))?;
        let printed = String::from_utf8_lossy(&output.stdout);
        let key = wanted.only_line(&printed);
        if !output.status.success() {
            // What it printed may be a key all the same; it was hidden above.
            let complaint = quote(&String::from_utf8_lossy(&output.stderr), wanted.redactor);
            let complaint = if complaint.is_empty() { complaint } else { format!(": \"{complaint}\"") };
            return Err(refused(&format!("failed ({}){complaint}", output.status)));
        }
        match key {
            Some(Some(key)) => Ok(key),
            Some(None) => {
                Err(odd(&format!("what the {SETTING} printed"), "let it print the key alone, in one line"))
            }
            None => Err(refused("printed nothing; let it print the key")),
        }
    }
}

impl KeyRequest<'_> {
    async fn file(&self, path: &str) -> Result<Secret, CallFailure> {
        let owned = path.to_owned();
        let read = tokio::task::spawn_blocking(move || own_files::private_text(&owned)).await;
        let text = read.unwrap_or_else(|error| Err(format!("{path:?} could not be read ({error})")));
        let text = text.map_err(|why| self.none(format!("has no key: the file {why}")))?;
        match self.only_line(&text) {
            Some(Some(key)) => Ok(key),
            Some(None) => {
                Err(odd(&format!("what is in the file {path:?}"), "let it hold the key alone, in one line"))
            }
            None => Err(self.none(format!("has no key: the file {path:?} is empty; put the key into it"))),
        }
    }

    /// Returns the key that a text is: none if it is empty, `Some(None)` if it cannot be one. Whatever
    /// it is, it is hidden from now on.
    fn only_line(&self, text: &str) -> Option<Option<Secret>> {
        let text = text.trim();
        for line in text.lines() {
            self.redactor.hide(Secret::new(line.trim()));
        }
        // What a header takes: no spaces, no line breaks, nothing but ASCII.
        let fine = text.bytes().all(|byte| byte.is_ascii_graphic());
        (!text.is_empty()).then(|| fine.then(|| Secret::new(text)))
    }

    fn none(&self, why: String) -> CallFailure {
        failure(FailureClass::Auth, format!("provider \"{}\" {why}", self.provider.name))
    }
}

fn odd(what: &str, what_to_do: &str) -> CallFailure {
    failure(FailureClass::Auth, format!("{what} has characters that no key has; {what_to_do}"))
}
