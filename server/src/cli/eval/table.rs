//! The figures of a set: models beside each other, as a table and as JSON.
//!
//! Never judges: which model is better is the reader's decision.

use std::collections::BTreeSet;

use adjutant_core::text::cells::cells;
use adjutant_core::text::display::one_line;
use serde::Serialize;

use super::plan::AttemptKey;
use super::results::{AttemptOutcome, AttemptRecord, AttemptRecords, TokenCounts};

/// The version of the JSON.
const VERSION: u32 = 1;
/// Blanks between two columns of one model, and between two models.
const GAP: usize = 2;
const MODEL_GAP: usize = 4;
/// What is printed where there is no figure.
const NONE: &str = "-";
const HEADS: [&str; 5] = ["PASSED", "TURNS", "TOKENS", "COST", "TIME"];

/// The figures of some attempts: sums.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AttemptSums {
    pub attempts: u64,
    pub passed: u64,
    pub failed: u64,
    pub not_finished: u64,
    pub missing: u64,
    pub turns: u64,
    pub tokens: TokenCounts,
    /// Absent unless every attempt has a price.
    pub cost: Option<f64>,
    pub time_ms: u64,
}

#[derive(Serialize)]
struct ModelFigures {
    model: String,
    #[serde(flatten)]
    sums: AttemptSums,
}

#[derive(Serialize)]
struct TaskFigures {
    task: String,
    models: Vec<ModelFigures>,
}

/// The figures of a set.
#[derive(Serialize)]
pub struct EvalFigures<'a> {
    version: u32,
    models: Vec<ModelFigures>,
    tasks: Vec<TaskFigures>,
    attempts: Vec<&'a AttemptRecord>,
    missing: Vec<&'a AttemptKey>,
}

impl AttemptSums {
    fn add(&mut self, result: Option<&AttemptRecord>) {
        let Some(result) = result else {
            self.missing += 1;
            return;
        };
        let first = self.attempts == 0;
        self.attempts += 1;
        *match result.outcome {
            AttemptOutcome::Passed => &mut self.passed,
            AttemptOutcome::Failed => &mut self.failed,
            AttemptOutcome::NotFinished => &mut self.not_finished,
        } += 1;
        self.turns += u64::from(result.turns);
        self.tokens = self.tokens.and(result.tokens);
        self.cost = match (self.cost, result.cost) {
            (None, Some(cost)) if first => Some(cost),
            (Some(sum), Some(cost)) => Some(sum + cost),
            _ => None,
        };
        self.time_ms = self.time_ms.saturating_add(result.time_ms);
    }

    /// Returns the cells of the table: passed of all, and means of one attempt.
    fn cells(&self) -> [String; HEADS.len()] {
        let wanted = self.attempts + self.missing;
        let passed = format!("{}/{wanted}", self.passed);
        if self.attempts == 0 {
            return [passed, NONE.into(), NONE.into(), NONE.into(), NONE.into()];
        }
        let mean = |sum: u64| sum as f64 / self.attempts as f64;
        [
            passed,
            format!("{:.1}", mean(self.turns)),
            // A provider may report no usage at all.
            if self.tokens.all() == 0 { NONE.to_owned() } else { count(mean(self.tokens.all())) },
            self.cost.map_or(NONE.to_owned(), |cost| format!("{:.3}", cost / self.attempts as f64)),
            seconds(mean(self.time_ms)),
        ]
    }
}

impl<'a> EvalFigures<'a> {
    /// Returns the figures of these attempts.
    pub fn new(wanted: &'a [AttemptKey], records: &'a AttemptRecords) -> Self {
        // In the order of the command line.
        let mut models: Vec<&str> = Vec::new();
        for key in wanted {
            if !models.contains(&key.model.as_str()) {
                models.push(&key.model);
            }
        }
        let tasks: BTreeSet<&str> = wanted.iter().map(|key| key.task.as_str()).collect();
        let sums = |task: Option<&str>, model: &str| {
            let mut sums = AttemptSums::default();
            let is_meant = |key: &&AttemptKey| key.model == model && task.is_none_or(|task| key.task == task);
            wanted.iter().filter(is_meant).for_each(|key| sums.add(records.get(key)));
            ModelFigures { model: model.to_owned(), sums }
        };
        let of_models = |task: Option<&str>| models.iter().map(|model| sums(task, model)).collect::<Vec<_>>();
        EvalFigures {
            version: VERSION,
            models: of_models(None),
            tasks: tasks
                .into_iter()
                .map(|task| TaskFigures { task: task.to_owned(), models: of_models(Some(task)) })
                .collect(),
            attempts: wanted.iter().filter_map(|key| records.get(key)).collect(),
            missing: wanted.iter().filter(|key| !records.contains_key(key)).collect(),
        }
    }

    /// Whether every attempt has a result that is about its model, and not about the set-up.
    pub fn is_complete(&self) -> bool {
        self.missing.is_empty() && self.attempts.iter().all(|result| !result.again)
    }

    /// Returns the lines of the table and what there is to say below it.
    pub fn lines(&self) -> Vec<String> {
        let mut rows: Vec<(String, Vec<[String; HEADS.len()]>)> = Vec::new();
        rows.push(("TASK".to_owned(), vec![HEADS.map(str::to_owned); self.models.len()]));
        let row = |name: &str, models: &[ModelFigures]| {
            (one_line(name, 60), models.iter().map(|model| model.sums.cells()).collect())
        };
        rows.extend(self.tasks.iter().map(|task| row(&task.task, &task.models)));
        rows.push(row("all", &self.models));
        let name = rows.iter().map(|(name, _)| cells(name)).max().unwrap_or(0);
        let widths: Vec<Vec<usize>> = (0..self.models.len())
            .map(|model| {
                let widest = |column: usize| rows.iter().map(|(_, row)| cells(&row[model][column])).max();
                (0..HEADS.len()).map(|column| widest(column).unwrap_or(0)).collect()
            })
            .collect();
        let mut head = " ".repeat(name);
        for (model, columns) in self.models.iter().zip(&widths) {
            let width = columns.iter().sum::<usize>() + GAP * (HEADS.len() - 1);
            head += &" ".repeat(MODEL_GAP);
            head += &padded(&one_line(&model.model, width), width);
        }
        let mut lines = vec![head.trim_end().to_owned()];
        for (title, row) in &rows {
            let mut line = padded(title, name);
            for (cells_of_model, columns) in row.iter().zip(&widths) {
                line += &" ".repeat(MODEL_GAP);
                let parts: Vec<String> =
                    cells_of_model.iter().zip(columns).map(|(cell, width)| padded(cell, *width)).collect();
                line += &parts.join(&" ".repeat(GAP));
            }
            lines.push(line.trim_end().to_owned());
        }
        lines.push("(turns, tokens, cost and time: means of one attempt)".to_owned());
        lines.push(String::new());
        lines.extend(self.models.iter().map(sentence));
        let unfinished = self.attempts.iter().filter(|result| result.outcome == AttemptOutcome::NotFinished);
        for result in unfinished {
            let why = result.reason.as_deref().unwrap_or("for no known reason");
            lines.push(format!("not finished: {}: {why}", title(&result.key)));
        }
        lines.extend(self.missing.iter().map(|key| format!("missing: {}", title(key))));
        lines
    }
}

/// Returns the name of an attempt for a line of text.
pub fn title(key: &AttemptKey) -> String {
    format!("{}, {}, attempt {}", one_line(&key.task, 60), one_line(&key.model, 60), key.attempt)
}

/// Returns the sums of a model in a sentence.
fn sentence(figures: &ModelFigures) -> String {
    let ModelFigures { model, sums } = figures;
    let tokens = &sums.tokens;
    let missing = if sums.missing > 0 { format!(", {} missing", sums.missing) } else { String::new() };
    let cost = sums.cost.map_or(NONE.to_owned(), |cost| format!("{cost:.4}"));
    format!(
        "{}: {} passed, {} failed, {} not finished{missing}; in all {} turns, {} tokens in, {} out, {} read from a \
         cache, {} written to one; cost {cost}; {}",
        one_line(model, 60),
        sums.passed,
        sums.failed,
        sums.not_finished,
        sums.turns,
        tokens.input,
        tokens.output,
        tokens.cache_read,
        tokens.cache_write,
        seconds(sums.time_ms as f64)
    )
}

fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(cells(text))))
}

fn count(number: f64) -> String {
    match number {
        ..1000.0 => format!("{number:.0}"),
        ..1_000_000.0 => format!("{:.1}k", number / 1000.0),
        _ => format!("{:.1}M", number / 1_000_000.0),
    }
}

fn seconds(ms: f64) -> String {
    match ms / 1000.0 {
        short if short < 120.0 => format!("{short:.1} s"),
        long => format!("{:.1} min", long / 60.0),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::cli::eval::results::tests::record;

    #[test]
    fn n25_two_models_stand_beside_each_other() {
        let mut late = record("rust-parser", "b/small", 1, AttemptOutcome::NotFinished);
        late.reason = Some("the run did not end within 600 s".to_owned());
        late.time_ms = 600_000;
        let mut priced = record("c-list", "a/large", 1, AttemptOutcome::Passed);
        priced.cost = Some(0.25);
        let made = [
            priced,
            record("rust-parser", "a/large", 1, AttemptOutcome::Failed),
            record("c-list", "b/small", 1, AttemptOutcome::Passed),
            late,
        ];
        let records: AttemptRecords = made.into_iter().map(|one| (one.key.clone(), one)).collect();
        let mut wanted = Vec::new();
        for task in ["c-list", "rust-parser"] {
            for model in ["b/small", "a/large"] {
                wanted.push(record(task, model, 1, AttemptOutcome::Passed).key);
            }
        }
        wanted.push(record("c-list", "b/small", 2, AttemptOutcome::Passed).key);
        let figures = EvalFigures::new(&wanted, &records);
        assert!(!figures.is_complete());
        expect![[r#"
                           b/small                                  a/large
            TASK           PASSED  TURNS  TOKENS  COST  TIME        PASSED  TURNS  TOKENS  COST   TIME
            c-list         1/2     3.0    1.0k    -     1.5 s       1/1     3.0    1.0k    0.250  1.5 s
            rust-parser    0/1     3.0    1.0k    -     10.0 min    0/1     3.0    1.0k    -      1.5 s
            all            1/3     3.0    1.0k    -     5.0 min     1/2     3.0    1.0k    -      1.5 s
            (turns, tokens, cost and time: means of one attempt)

            b/small: 1 passed, 0 failed, 1 not finished, 1 missing; in all 6 turns, 1800 tokens in, 200 out, 0 read from a cache, 0 written to one; cost -; 10.0 min
            a/large: 1 passed, 1 failed, 0 not finished; in all 6 turns, 1800 tokens in, 200 out, 0 read from a cache, 0 written to one; cost -; 3.0 s
            not finished: rust-parser, b/small, attempt 1: the run did not end within 600 s
            missing: c-list, b/small, attempt 2
        "#]]
        .assert_eq(&(figures.lines().join("\n") + "\n"));
    }
}
