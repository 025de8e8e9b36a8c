//! `adjutant eval merge`: the results of several output folders as one set.
//!
//! Never writes, and never chooses between two results of one attempt.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use super::plan::{AttemptKey, EvalPlan};
use super::results::{AttemptRecords, RESULTS, read_results};
use super::table::title;

/// The arguments of `adjutant eval merge`.
#[derive(Clone, Debug, Args)]
pub struct MergeLine {
    /// The output folders of the shards
    #[arg(value_name = "OUT", required = true)]
    pub outs: Vec<PathBuf>,
    /// Print JSON instead of a table
    #[arg(long)]
    pub json: bool,
}

/// Several output folders as one set.
#[derive(Debug)]
pub struct MergedResults {
    pub wanted: Vec<AttemptKey>,
    pub records: AttemptRecords,
}

/// Joins output folders. Fails if one task differs between them, or if two results of one attempt differ.
pub fn merge(outs: &[PathBuf]) -> anyhow::Result<MergedResults> {
    let mut tasks: BTreeMap<String, (String, &Path)> = BTreeMap::new();
    let mut wanted: Vec<AttemptKey> = Vec::new();
    let mut merged = AttemptRecords::new();
    let mut places: BTreeMap<AttemptKey, &Path> = BTreeMap::new();
    for out in outs {
        let plan = EvalPlan::read(out)?;
        for (task, digest) in &plan.tasks {
            let (known, first) = tasks.entry(task.clone()).or_insert_with(|| (digest.clone(), out));
            if known != digest {
                anyhow::bail!(
                    "merge: the task \"{task}\" of \"{}\" is not the one of \"{}\": its files differ",
                    out.display(),
                    first.display()
                );
            }
        }
        for key in plan.attempts() {
            if !wanted.contains(&key) {
                wanted.push(key);
            }
        }
        let records =
            read_results(out).with_context(|| format!("merge: \"{}\"", out.join(RESULTS).display()))?;
        for (key, record) in records {
            let place = places.get(&key);
            match merged.get(&key) {
                // Its set-up was at fault, so any other result counts.
                Some(known) if known.again => {}
                Some(_) if record.again => continue,
                Some(known) if *known != record => {
                    anyhow::bail!(
                        "merge: {} was made twice, in \"{}\" and in \"{}\", with different results; merge only one of them",
                        title(&key),
                        place.unwrap_or(&out.as_path()).display(),
                        out.display()
                    );
                }
                _ => {}
            }
            places.insert(key.clone(), out);
            merged.insert(key, record);
        }
    }
    Ok(MergedResults { wanted, records: merged })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::eval::results::tests::record;
    use crate::cli::eval::results::{AttemptOutcome, AttemptRecord, ResultsFile};

    fn out(top: &Path, name: &str, digest: &str, made: &[AttemptRecord]) -> PathBuf {
        let out = top.join(name);
        std::fs::create_dir(&out).expect("a folder");
        let plan = EvalPlan {
            tasks: BTreeMap::from([("a".to_owned(), digest.to_owned())]),
            models: vec!["m/m".to_owned()],
            repeat: 2,
            commands: false,
        };
        plan.write(&out).expect("it is written");
        let mut results = ResultsFile::open(&out).expect("it opens");
        made.iter().for_each(|one| results.append(one.clone()).expect("it is written"));
        out
    }

    #[test]
    fn n25_doubles_that_differ_are_refused_and_equal_ones_count_once() {
        let top = tempfile::tempdir().expect("a folder");
        let first = record("a", "m/m", 1, AttemptOutcome::Passed);
        let second = record("a", "m/m", 2, AttemptOutcome::Failed);
        let one = out(top.path(), "one", "d", std::slice::from_ref(&first));
        let two = out(top.path(), "two", "d", &[first.clone(), second]);
        let merged = merge(&[one.clone(), two]).expect("they fit");
        assert_eq!((merged.wanted.len(), merged.records.len()), (2, 2));
        let other = AttemptRecord { turns: 4, ..first.clone() };
        let differing = out(top.path(), "three", "d", &[other]);
        let why = merge(&[one.clone(), differing]).expect_err("they differ").to_string();
        assert!(why.contains("a, m/m, attempt 1 was made twice") && why.contains("three"), "{why}");
        let again = AttemptRecord { again: true, outcome: AttemptOutcome::NotFinished, ..first.clone() };
        let faulty = out(top.path(), "four", "d", &[again]);
        for outs in [[one.clone(), faulty.clone()], [faulty, one.clone()]] {
            assert_eq!(merge(&outs).expect("they fit").records.values().collect::<Vec<_>>(), [&first]);
        }
        let changed = out(top.path(), "five", "e", &[]);
        let why = merge(&[one, changed]).expect_err("they differ").to_string();
        assert!(why.contains("its files differ"), "{why}");
    }
}
