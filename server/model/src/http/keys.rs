//! Fetches the key of a provider from the source that the settings name.
//!
//! A key that a command prints is cached in memory, for one provider at one address, until the provider rejects it.
//! Never runs or reads anything before a call, and never writes a key into a message.

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

/// Runs a program of the user's settings to its end, within limits of time and output.
///
/// The error completes a sentence that begins with the name of the setting.
pub type RunCommand = fn(Vec<String>) -> Pin<Box<dyn Future<Output = Result<Output, String>> + Send>>;

/// The number of cached keys of commands. The oldest is removed first.
const MAX_CACHED: usize = 32;

/// The sources of keys, and the cached keys of commands.
pub(crate) struct Keys {
    pub variables: Box<Variables>,
    /// The function that runs commands, once it is set.
    pub run: OnceLock<RunCommand>,
    cached: Mutex<Vec<Arc<CachedKey>>>,
}

/// The key of one command, for one provider at one address.
struct CachedKey {
    provider: String,
    command: Vec<String>,
    origin: String,
    /// Locked while the command runs, so that two calls do not run it twice.
    key: tokio::sync::Mutex<Option<Secret>>,
}

/// The provider that needs a key, and the redactor that hides it.
pub(super) struct KeyRequest<'a> {
    pub provider: &'a Provider,
    /// The address that the key is sent to.
    pub url: &'a Url,
    pub redactor: &'a Redactor,
}

/// A key, and whether it may be outdated.
pub(super) struct FetchedKey {
    pub key: Secret,
    /// Whether it is from an earlier call, so that the command may print a newer one.
    pub from_cache: bool,
}

impl Keys {
    pub fn new(variables: Box<Variables>) -> Keys {
        Keys { variables, run: OnceLock::new(), cached: Mutex::default() }
    }

    /// Returns the key of a provider; `None` if it needs none.
    pub(super) async fn find(&self, request: &KeyRequest<'_>) -> Result<Option<FetchedKey>, CallFailure> {
        let fresh = |key| Some(FetchedKey { key, from_cache: false });
        match &request.provider.key {
            None => Ok(None),
            Some(KeySource::Variable(name)) => self.variable(name, request).map(fresh),
            Some(KeySource::File(path)) => request.file(path).await.map(fresh),
            Some(KeySource::Command(command)) => {
                let entry = self.entry(command, request);
                let mut cached = entry.key.lock().await;
                if let Some(key) = &*cached {
                    request.redactor.hide(key.clone());
                    return Ok(Some(FetchedKey { key: key.clone(), from_cache: true }));
                }
                let key = self.run_command(command, request).await?;
                *cached = Some(key.clone());
                Ok(fresh(key))
            }
        }
    }

    /// Removes a rejected key from the cache. Returns a new key, if its command prints another one now.
    pub(super) async fn renewed(
        &self,
        refused: &FetchedKey,
        request: &KeyRequest<'_>,
    ) -> Result<Option<FetchedKey>, CallFailure> {
        let Some(KeySource::Command(command)) = &request.provider.key else { return Ok(None) };
        let entry = self.entry(command, request);
        let mut cached = entry.key.lock().await;
        match &*cached {
            // Another call has replaced the key already.
            Some(key) if *key != refused.key => {
                request.redactor.hide(key.clone());
                return Ok(Some(FetchedKey { key: key.clone(), from_cache: false }));
            }
            _ => *cached = None,
        }
        if !refused.from_cache {
            // The command has just run. The next call runs it again.
            return Ok(None);
        }
        let key = self.run_command(command, request).await?;
        if key == refused.key {
            return Ok(None);
        }
        *cached = Some(key.clone());
        Ok(Some(FetchedKey { key, from_cache: false }))
    }

    fn entry(&self, command: &[String], request: &KeyRequest<'_>) -> Arc<CachedKey> {
        let origin = request.url.origin().ascii_serialization();
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |one: &&Arc<CachedKey>| {
            one.provider == request.provider.name && one.command == command && one.origin == origin
        };
        if let Some(one) = cached.iter().find(same) {
            return Arc::clone(one);
        }
        if cached.len() >= MAX_CACHED {
            cached.remove(0);
        }
        let provider = request.provider.name.clone();
        let one = Arc::new(CachedKey {
            provider,
            command: command.to_vec(),
            origin,
            key: tokio::sync::Mutex::default(),
        });
        cached.push(Arc::clone(&one));
        one
    }

    fn variable(&self, name: &str, request: &KeyRequest<'_>) -> Result<Secret, CallFailure> {
        let value = (self.variables)(name).unwrap_or_default();
        let Some(key) = request.only_line(&value) else {
            return Err(request.no_key(format!(
                "needs a key and the environment variable {name} has none; set it and start again"
            )));
        };
        key.ok_or_else(|| invalid_key(&format!("the key in {name}"), &format!("set {name} to a valid key")))
    }

    /// Runs the command and returns the key that it prints.
    async fn run_command(&self, command: &[String], request: &KeyRequest<'_>) -> Result<Secret, CallFailure> {
        const SETTING: &str = "`api_key_command`";
        let refused = |why: &str| request.no_key(format!("has no key: its {SETTING} {why}"));
        let Some(run) = self.run.get() else { return Err(refused("cannot be run here")) };
        tracing::debug!(provider = request.provider.name, "run the command of the key");
        let output = run(command.to_vec()).await.map_err(|why| refused(&quote(&why, request.redactor)))?;
        let printed = String::from_utf8_lossy(&output.stdout);
        let key = request.only_line(&printed);
        if !output.status.success() {
            // Its output may contain a key anyway, which `only_line` has hidden.
            let complaint = quote(&String::from_utf8_lossy(&output.stderr), request.redactor);
            let complaint = if complaint.is_empty() { complaint } else { format!(": \"{complaint}\"") };
            return Err(refused(&format!("failed ({}){complaint}", output.status)));
        }
        match key {
            Some(Some(key)) => Ok(key),
            Some(None) => Err(invalid_key(
                &format!("what the {SETTING} printed"),
                "make it print only the key, on one line",
            )),
            None => Err(refused("printed nothing; let it print the key")),
        }
    }
}

impl KeyRequest<'_> {
    async fn file(&self, path: &str) -> Result<Secret, CallFailure> {
        let owned = path.to_owned();
        let read = tokio::task::spawn_blocking(move || own_files::private_text(&owned)).await;
        let text = read.unwrap_or_else(|error| Err(format!("{path:?} could not be read ({error})")));
        let text = text.map_err(|why| self.no_key(format!("has no key: the file {why}")))?;
        match self.only_line(&text) {
            Some(Some(key)) => Ok(key),
            Some(None) => Err(invalid_key(
                &format!("what is in the file {path:?}"),
                "put only the key into it, on one line",
            )),
            None => Err(self.no_key(format!("has no key: the file {path:?} is empty; put the key into it"))),
        }
    }

    /// Returns the key in a text: `None` if the text is empty, `Some(None)` if it cannot be a key.
    ///
    /// From now on the redactor hides each line of the text.
    fn only_line(&self, text: &str) -> Option<Option<Secret>> {
        let text = text.trim();
        for line in text.lines() {
            self.redactor.hide(Secret::new(line.trim()));
        }
        // A header allows only visible ASCII characters.
        let is_valid = text.bytes().all(|byte| byte.is_ascii_graphic());
        (!text.is_empty()).then(|| is_valid.then(|| Secret::new(text)))
    }

    fn no_key(&self, reason: String) -> CallFailure {
        failure(FailureClass::Auth, format!("provider \"{}\" {reason}", self.provider.name))
    }
}

fn invalid_key(what: &str, what_to_do: &str) -> CallFailure {
    failure(FailureClass::Auth, format!("{what} contains characters that a key cannot have; {what_to_do}"))
}
