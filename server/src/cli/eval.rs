//! `adjutant eval`: the user's own tasks, run against models, with figures.
//!
//! Every attempt is an unattended run in a fresh copy, then the check of the task. Never changes a task, and never
//! makes an attempt again that has a result.

mod attempt;
mod check;
mod copy;
mod examples;
mod merge;
mod plan;
mod results;
mod shard;
mod table;
mod task;

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use adjutant_core::config::Flag;
use anyhow::Context;
use clap::{Args, Subcommand};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::settings::{Sources, load};

use self::attempt::{AttemptSetting, attempt};
use self::copy::remove_left_folders;
use self::merge::{MergeLine, merge};
use self::plan::{AttemptKey, EvalPlan};
use self::results::{AttemptOutcome, AttemptRecord, ResultsFile};
use self::shard::Shard;
use self::table::{EvalFigures, title};
use self::task::{EvalTask, read_tasks};
use super::Exit;
use super::page::{Printer, note};
use super::signals::{ProcessSignal, Signals};

/// The most attempts at the same time.
const MAX_JOBS: u16 = 64;
/// The most attempts of one task and model.
const MAX_REPEAT: u32 = 1000;

/// What is run and allowed, and exit codes, for the help.
pub const NOTES: &str = "Each attempt gets a fresh copy of the task's files in a temporary folder. The run in it is \
one of `adjutant run -y`: it edits files there and asks nobody. After the run, the check of the task runs in the copy. \
The check is your command line, but it also runs what the model wrote, with your rights: use a container or an \
account of its own for models or tasks that you do not trust.

The same command again continues after a stop: it makes only the attempts that have no result yet.

Exit codes: 0 every attempt has a result, whatever it is; 1 some have none; 2 wrong command line or no model; 130 \
interrupted.";

/// The arguments of `adjutant eval`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct EvalLine {
    #[command(subcommand)]
    action: Option<EvalAction>,
    /// A folder of tasks: each has a `task.toml`
    #[arg(required_unless_present = "examples")]
    folder: Option<PathBuf>,
    /// A model to try; give it again for each further one
    #[arg(long = "model", value_name = "PROVIDER/MODEL")]
    models: Vec<String>,
    /// Try each task so many times with each model
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=MAX_REPEAT as i64))]
    repeat: u32,
    /// Keep results and sessions in this folder
    #[arg(long, value_name = "DIR", default_value = "eval-results")]
    out: PathBuf,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Let the model run any command, with your rights
    #[arg(long)]
    allow_commands: bool,
    /// Make only every N-th attempt, from the K-th on
    #[arg(long, value_name = "K/N", default_value_t = Shard::WHOLE)]
    shard: Shard,
    /// Make so many attempts at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=MAX_JOBS as i64))]
    jobs: u16,
    /// Write ten small tasks into this folder, and do nothing else
    #[arg(long, value_name = "DIR", conflicts_with_all = ["folder", "models"])]
    examples: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum EvalAction {
    /// Join the output folders of shards, and print one table
    Merge(MergeLine),
}

/// Why the attempts of a process ended.
enum Finish {
    All,
    Stopped(Exit),
}

/// Runs `adjutant eval`.
pub async fn eval(sources: Sources, line: EvalLine) -> anyhow::Result<Exit> {
    if let Some(EvalAction::Merge(merge_line)) = &line.action {
        let merged = merge(&merge_line.outs)?;
        return print(&EvalFigures::new(&merged.wanted, &merged.records), merge_line.json);
    }
    match (&line.examples, &line.folder) {
        (Some(folder), _) => examples::write(folder).map(|()| {
            note(&format!("ten tasks are in \"{}\"; `adjutant eval {0}` tries them", folder.display()));
            Exit::Fine
        }),
        (None, Some(folder)) => make(without_fallbacks(sources), &line, folder).await,
        (None, None) => Ok(Exit::Usage),
    }
}

/// Makes the attempts of a folder of tasks that have no result yet, and prints all results.
async fn make(sources: Sources, line: &EvalLine, folder: &Path) -> anyhow::Result<Exit> {
    let loaded = load(&sources);
    loaded.problems.iter().for_each(|problem| note(&format!("warning: {problem}")));
    let usage = |why: String| {
        note(&why);
        Ok(Exit::Usage)
    };
    let models = match models_of(&line.models, loaded.settings.model.as_deref()) {
        Ok(models) => models,
        Err(why) => return usage(why),
    };
    let unusable = models.iter().find_map(|model| loaded.settings.provider_for(model.as_deref()).err());
    if let Some(why) = unusable {
        return usage(why.to_string());
    }
    let models: Vec<String> = models.into_iter().flatten().collect();
    let ignored = |path: &Path| note(&format!("note: no task.toml, so no task: {}", path.display()));
    let tasks = match read_tasks(folder, ignored) {
        Ok(tasks) => tasks,
        Err(why) => return usage(format!("adjutant could not {why:#}")),
    };
    if let Some(why) = missing_programs(&tasks) {
        return usage(why);
    }
    let context = || format!("use the output folder \"{}\"", line.out.display());
    fs::create_dir_all(&line.out).with_context(context)?;
    let out = line.out.canonicalize().with_context(context)?;
    let mut results = ResultsFile::open(&out)?;
    results.repaired.iter().for_each(|repaired| note(repaired));
    remove_left_folders(&out.join("copies"));
    let plan = EvalPlan::new(&tasks, models, line.repeat, line.allow_commands);
    plan.write(&out)?;
    let wanted: Vec<AttemptKey> = plan
        .attempts()
        .into_iter()
        .enumerate()
        .filter_map(|(place, key)| line.shard.has(place).then_some(key))
        .collect();
    let setting = AttemptSetting { sources: &sources, settings: &loaded.settings, out: &out };
    let finish = make_all(&setting, &tasks, &wanted, line.jobs, &mut results).await?;
    match finish {
        Finish::All => print(&EvalFigures::new(&wanted, &results.records), line.json),
        Finish::Stopped(exit) => {
            note("stopped; the same command again continues");
            Ok(exit)
        }
    }
}

/// Returns the models to try, each once; `None` stands for a model that is not configured.
fn models_of(given: &[String], configured: Option<&str>) -> Result<Vec<Option<String>>, String> {
    if given.is_empty() {
        return Ok(vec![configured.map(str::to_owned)]);
    }
    for (at, model) in given.iter().enumerate() {
        if given[..at].contains(model) {
            return Err(format!(
                "the model \"{model}\" is given twice; use --repeat to try it more than once"
            ));
        }
    }
    Ok(given.iter().cloned().map(Some).collect())
}

/// Returns which programs the checks need and this machine lacks. Without this, every model would fail these tasks.
fn missing_programs(tasks: &[EvalTask]) -> Option<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |program: &str| {
        std::env::split_paths(&path)
            .any(|folder| rustix::fs::access(folder.join(program), rustix::fs::Access::EXEC_OK).is_ok())
    };
    let mut missing = Vec::new();
    for task in tasks {
        let programs = task.needs.iter().filter(|program| !is_there(program));
        missing.extend(programs.map(|program| format!("{} needs `{program}`", task.name)));
    }
    (!missing.is_empty()).then(|| {
        format!("nothing was run, because programs are missing here: {}; install them", missing.join(", "))
    })
}

/// Makes the attempts that have no result yet, and keeps each result as it comes.
async fn make_all(
    setting: &AttemptSetting<'_>,
    tasks: &[EvalTask],
    wanted: &[AttemptKey],
    jobs: u16,
    results: &mut ResultsFile,
) -> anyhow::Result<Finish> {
    let mut signals = Signals::new()?;
    let is_open = |key: &&AttemptKey| results.records.get(*key).is_none_or(|known| known.again);
    let mut open: VecDeque<&AttemptKey> = wanted.iter().filter(is_open).collect();
    let earlier = wanted.len() - open.len();
    if earlier > 0 {
        note(&format!("{earlier} of {} attempts have a result already", wanted.len()));
    }
    let mut made = earlier;
    let mut working = FuturesUnordered::new();
    loop {
        while working.len() < usize::from(jobs)
            && let Some(key) = open.pop_front()
        {
            let task = tasks.iter().find(|task| task.name == key.task).context("find the task again")?;
            working.push(attempt(setting, task, key));
        }
        let record = tokio::select! {
            biased;
            // Dropping an attempt ends its processes; its folder is removed with it.
            signal = signals.next_signal() => return Ok(Finish::Stopped(match signal {
                ProcessSignal::Interrupt => Exit::Interrupted,
                ProcessSignal::Terminate => Exit::Terminated,
            })),
            made = working.next() => match made {
                Some(made) => made?,
                None => return Ok(Finish::All),
            },
        };
        // A run of its own noticed the signal first.
        let Some(record) = record else { return Ok(Finish::Stopped(Exit::Interrupted)) };
        made += 1;
        note(&progress(&record, made, wanted.len()));
        results.append(record)?;
    }
}

/// Returns the line about an attempt that ended.
fn progress(record: &AttemptRecord, made: usize, of: usize) -> String {
    let why = record.reason.as_ref().filter(|_| record.outcome != AttemptOutcome::Passed);
    format!(
        "{made}/{of} {}: {} ({} turns, {:.1} s){}",
        record.outcome.word(),
        title(&record.key),
        record.turns,
        record.time_ms as f64 / 1000.0,
        why.map(|why| format!(": {why}")).unwrap_or_default()
    )
}

fn print(figures: &EvalFigures<'_>, json: bool) -> anyhow::Result<Exit> {
    let mut page = Printer::of_stdout();
    if json {
        page.json(&serde_json::to_string(figures).context("print the results")?);
    } else {
        page.block(&figures.lines().join("\n"));
    }
    page.written()?;
    Ok(if figures.is_complete() { Exit::Fine } else { Exit::Failed })
}

/// Returns the settings without fallback models, because a result is about one model.
fn without_fallbacks(mut sources: Sources) -> Sources {
    let (flag, key) = ("adjutant eval", "fallback_models");
    sources.flags.push(Flag { flag: flag.into(), key: key.into(), value: "[]".into() });
    sources
}
