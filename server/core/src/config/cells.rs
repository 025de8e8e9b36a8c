//! Values of keys, with their origins.
//!
//! Never decides which of two values wins.

use std::collections::{BTreeMap, BTreeSet};

use super::SettingOrigin;
use super::keys::{Literal, ValueType};
use super::rules::DenyRule;
use crate::policy::saving::EditsSave;
use crate::record::EditsMode;

/// The most rules that all layers may have together.
pub(super) const MOST_RULES: usize = 500;

/// A resolved value of one key.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) value: Value,
    pub(super) origin: SettingOrigin,
    /// The value that a project file set. No later layer may be less strict.
    pub(super) bound: Option<(Value, SettingOrigin)>,
}

#[derive(Clone, PartialEq)]
pub(super) enum Value {
    Text(String),
    Whole(u64),
    Truth(bool),
    Number(serde_json::Number),
    Rules(Vec<DenyRule>),
    Headers(BTreeMap<String, String>),
    Models(Vec<String>),
    /// A command: a program and its arguments.
    Words(Vec<String>),
    /// The configured value is unusable, and the value of a lower layer must not replace it.
    Refused,
}

impl Value {
    /// Returns the value of a literal; `None` for a literal without a value.
    pub(super) fn of(literal: Literal) -> Option<Value> {
        match literal {
            Literal::Truth(truth) => Some(Value::Truth(truth)),
            Literal::Whole(number) => Some(Value::Whole(number)),
            Literal::Text(text) => Some(Value::Text(text.to_owned())),
            Literal::Nothing => Some(Value::Whole(0)),
            Literal::None | Literal::DenyAll | Literal::Refuse => None,
        }
    }

    /// Returns a number that may have a fraction.
    pub(super) fn as_number(&self) -> Option<f64> {
        match self {
            Value::Number(number) => number.as_f64(),
            Value::Whole(number) => Some(*number as f64),
            _ => None,
        }
    }

    /// Returns whether this value of a key allows more than `than`; without `than`, more than the strictest value.
    pub(super) fn is_looser_than(&self, than: Option<&Value>, kind: ValueType) -> bool {
        // The names of these types go from strict to loose.
        let rank = |value: &Value| match (kind, value) {
            (ValueType::Edits, Value::Text(text)) => EditsMode::named(text).map(|mode| mode as u8),
            (ValueType::Saves, Value::Text(text)) => EditsSave::named(text).map(|saves| saves as u8),
            _ => None,
        };
        let Some(than) = than else { return rank(self).is_some_and(|rank| rank > 0) };
        match (self, than) {
            (Value::Text(_), Value::Text(_)) => rank(self) > rank(than),
            (Value::Truth(value), Value::Truth(than)) => *value && !*than,
            (Value::Whole(value), Value::Whole(than)) => value > than,
            (Value::Number(_) | Value::Whole(_), Value::Number(_) | Value::Whole(_)) => {
                self.as_number() > than.as_number()
            }
            // Texts have no order: none is stricter than another.
            _ => false,
        }
    }
}

impl std::fmt::Debug for Value {
    /// Writes only the type of texts and headers, because they may be secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Whole(number) => write!(f, "{number}"),
            Self::Truth(truth) => write!(f, "{truth}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Rules(rules) => write!(f, "{} rules", rules.len()),
            Self::Text(_) => write!(f, "text"),
            Self::Headers(_) => write!(f, "headers"),
            Self::Models(models) => write!(f, "{models:?}"),
            Self::Words(_) => write!(f, "words"),
            Self::Refused => write!(f, "refused"),
        }
    }
}

/// Returns the names of all `[providers.NAME]` tables.
pub(super) fn provider_names(cells: &BTreeMap<String, Cell>) -> BTreeSet<&str> {
    names_in("providers", cells)
}

/// Returns the names of all `[group.NAME]` tables. A name may have dots; the keys below it have none.
pub(super) fn names_in<'a>(group: &str, cells: &'a BTreeMap<String, Cell>) -> BTreeSet<&'a str> {
    let name = |key: &'a String| Some(key.strip_prefix(group)?.strip_prefix('.')?.rsplit_once('.')?.0);
    cells.keys().filter_map(name).collect()
}

/// Where the values of one layer come from.
pub(super) struct Source {
    pub(super) origin: SettingOrigin,
    /// Whether this is a project file.
    pub(super) project: bool,
    /// Whether only stricter values count: for a project file, and for a file that is broken or not trusted.
    pub(super) only_stricter: bool,
    /// The directory where relative paths start.
    pub(super) directory: Option<String>,
}

impl Source {
    pub(super) fn plain(origin: SettingOrigin) -> Self {
        Self { origin, project: false, only_stricter: false, directory: None }
    }

    /// Returns the origin with this line, if it is a file.
    pub(super) fn origin_at(&self, at: Option<u32>) -> SettingOrigin {
        let mut origin = self.origin.clone();
        if let SettingOrigin::UserFile { line, .. } | SettingOrigin::ProjectFile { line, .. } = &mut origin {
            *line = at;
        }
        origin
    }
}
