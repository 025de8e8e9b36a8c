//! The stored types of what a run and its session may use, and of prices.
//!
//! Never guesses a price: without one in the settings, there is no amount of money (S73).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::prompt::message::Usage;

/// An amount of money, in millionths of a millionth of the currency, so that one token of the cheapest model is a whole number. It
/// saturates at about 18 millions of the currency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Money(pub u64);

impl Money {
    /// How many of these are one of the currency.
    const ONE: f64 = 1e12;

    /// Returns the amount for a number of the currency. Negative numbers count as nothing.
    pub fn of(amount: f64) -> Money {
        Money((amount * Self::ONE).round() as u64)
    }

    /// Returns the amount as a number of the currency.
    pub fn amount(self) -> f64 {
        self.0 as f64 / Self::ONE
    }

    /// Returns the sum.
    #[must_use]
    pub fn and(self, more: Money) -> Money {
        Money(self.0.saturating_add(more.0))
    }

    /// Returns it for people: with cents from one on, with four decimals below.
    pub fn text(self, currency: &str) -> String {
        let amount = self.amount();
        if amount >= 0.99995 || self.0 == 0 {
            format!("{amount:.2} {currency}")
        } else if amount < 0.00005 {
            format!("less than 0.0001 {currency}")
        } else {
            format!("{amount:.4} {currency}")
        }
    }
}

/// What a model costs: money for a million tokens of each tier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    pub input: Money,
    pub output: Money,
    /// Input that the provider had in its cache.
    pub cache_read: Money,
    /// Input that the provider put into its cache.
    pub cache_write: Money,
}

impl Price {
    /// Returns what these tokens cost.
    pub fn of(&self, usage: Usage) -> Money {
        let tiers = [
            (usage.uncached_tokens(), self.input),
            (usage.output_tokens, self.output),
            (usage.cache_read_tokens, self.cache_read),
            (usage.cache_write_tokens, self.cache_write),
        ];
        let of_all: u128 =
            tiers.iter().map(|(tokens, price)| u128::from(*tokens) * u128::from(price.0) / MILLION).sum();
        Money(u64::try_from(of_all).unwrap_or(u64::MAX))
    }
}

const MILLION: u128 = 1_000_000;

/// What a run and its session may use, and the prices by which money is counted, as the settings were when the run began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BudgetPolicy {
    /// What one run may use before the user is asked. Its requests are in `Policy::max_requests`.
    #[serde(default, skip_serializing_if = "Budget::is_unlimited")]
    pub run: Budget,
    /// What the session may use. Only a change of the settings goes beyond it.
    #[serde(default, skip_serializing_if = "Budget::is_unlimited")]
    pub session: Budget,
    /// The price of each model that has one, by `provider/model`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prices: BTreeMap<String, Price>,
    pub currency: String,
}

/// Limits; what is not set is unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
}

impl Budget {
    fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for BudgetPolicy {
    fn default() -> Self {
        Self {
            run: Budget::default(),
            session: Budget::default(),
            prices: BTreeMap::new(),
            currency: "USD".to_owned(),
        }
    }
}

impl BudgetPolicy {
    /// Whether money is limited.
    pub fn limits_cost(&self) -> bool {
        [self.run, self.session].iter().any(|budget| budget.cost.is_some())
    }

    /// Whether tokens or money are limited, so that a reply without a count has to be estimated.
    pub fn counts_tokens(&self) -> bool {
        self.limits_cost() || [self.run, self.session].iter().any(|budget| budget.tokens.is_some())
    }
}

#[cfg(test)]
mod tests;
