//! Which attempts a set has, in which order, and what an output folder was made for.
//!
//! Never runs one.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::task::EvalTask;

/// The file of an output folder that says what the folder is for.
const PLAN: &str = "plan.json";

/// What one attempt is about. Two results with the same key are of the same attempt.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AttemptKey {
    pub task: String,
    /// `provider/model`.
    pub model: String,
    /// From 1 to `--repeat`.
    pub attempt: u32,
    /// Whether the model could run commands.
    pub commands: bool,
    /// The digest of the task: a changed task is another one.
    pub digest: String,
}

/// The whole set that an output folder belongs to, of all its shards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvalPlan {
    /// The digest of each task.
    pub tasks: BTreeMap<String, String>,
    pub models: Vec<String>,
    pub repeat: u32,
    pub commands: bool,
}

impl EvalPlan {
    pub fn new(tasks: &[EvalTask], models: Vec<String>, repeat: u32, commands: bool) -> Self {
        let tasks = tasks.iter().map(|task| (task.name.clone(), task.digest.clone())).collect();
        EvalPlan { tasks, models, repeat, commands }
    }

    /// Returns every attempt of the set, always in the same order: all tasks once, then again.
    pub fn attempts(&self) -> Vec<AttemptKey> {
        let mut attempts = Vec::new();
        for attempt in 1..=self.repeat {
            for (task, digest) in &self.tasks {
                attempts.extend(self.models.iter().map(|model| AttemptKey {
                    task: task.clone(),
                    model: model.clone(),
                    attempt,
                    commands: self.commands,
                    digest: digest.clone(),
                }));
            }
        }
        attempts
    }

    /// Writes the plan into an output folder, whole or not at all.
    pub fn write(&self, out: &Path) -> anyhow::Result<()> {
        let context = || format!("write \"{}\"", out.join(PLAN).display());
        let next = out.join("plan.json.next");
        let text = serde_json::to_string_pretty(self).with_context(context)? + "\n";
        let mut file = File::create(&next).with_context(context)?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).with_context(context)?;
        fs::rename(&next, out.join(PLAN)).with_context(context)
    }

    /// Reads the plan of an output folder.
    pub fn read(out: &Path) -> anyhow::Result<Self> {
        let context =
            || format!("read \"{}\"; is it the --out of an `adjutant eval`?", out.join(PLAN).display());
        let text = fs::read_to_string(out.join(PLAN)).with_context(context)?;
        serde_json::from_str(&text).with_context(context)
    }
}
