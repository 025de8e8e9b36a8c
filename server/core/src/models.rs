//! What is known of models: windows, output limits, what they take.
//!
//! A dated table, never a guess: what is not in it has stated defaults, and the
//! settings of a provider win. No prices.

use crate::config::Wire;
use crate::message::Effort;

/// What is known of one model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Tokens it reads.
    pub context_window: u32,
    /// Tokens one reply of it may have.
    pub max_output_tokens: u32,
    /// The efforts it takes; none where it knows no such thing.
    pub efforts: &'static [Effort],
    /// Whether it reads images.
    pub images: bool,
}

/// Families of models by how their names begin, the longest first where one begins like another.
const TABLE: &[(&str, Known)] = &[];

/// Returns what is known of a model, by the name its provider gives it.
pub fn known(_wire: Wire, model: &str) -> Option<&'static Known> {
    // Gateways put the maker before the name.
    let name = model.rsplit('/').next().unwrap_or(model);
    TABLE.iter().find(|(begins, _)| name.starts_with(begins)).map(|(_, known)| known)
}
