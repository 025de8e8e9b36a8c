//! Measurements by name, with their medians and percentiles.
//!
//! Never drops a measurement: a percentile is over all turns of all runs.

use std::collections::BTreeMap;
use std::time::Duration;

/// The measurements of each name, one list for each run.
#[derive(Default)]
pub struct Samples {
    runs: BTreeMap<&'static str, Vec<Vec<f64>>>,
}

impl Samples {
    /// Adds one run's measurements.
    pub fn add(&mut self, name: &'static str, values: Vec<f64>) {
        self.runs.entry(name).or_default().push(values);
    }

    /// Returns the median of the medians of all runs.
    pub fn median(&self, name: &str) -> Option<f64> {
        let runs = self.runs.get(name)?;
        let medians: Vec<f64> = runs.iter().filter_map(|run| percentile(run, 50)).collect();
        percentile(&medians, 50)
    }

    /// Returns a percentile over all measurements of a name.
    pub fn over_all(&self, name: &str, percent: usize) -> Option<f64> {
        percentile(&self.runs.get(name)?.concat(), percent)
    }
}

fn percentile(values: &[f64], percent: usize) -> Option<f64> {
    let mut sorted: Vec<f64> = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(at).copied()
}

pub fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Returns a number as text, with fewer decimals for larger numbers.
pub fn shown(value: Option<f64>) -> String {
    match value {
        None => "–".to_owned(),
        Some(0.0) => "0".to_owned(),
        Some(value) if value.abs() < 1.0 => format!("{value:.2}"),
        Some(value) if value.abs() < 100.0 => format!("{value:.1}"),
        Some(value) => format!("{value:.0}"),
    }
}
