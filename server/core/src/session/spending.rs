//! What a run and its session have used, and which of their budgets is used up (P15, S73).
//!
//! Never guesses a price. A reply without a count is estimated only where a budget needs its tokens.

use std::collections::BTreeMap;

use crate::prompt::message::{Reply, Usage};
use crate::record::{BudgetPolicy, Money, StopReason};
use crate::session::{Run, Session};

/// Requests, tokens and money of a run or of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Turns begun, whether the model answered or not.
    pub requests: u32,
    /// As the provider counted.
    pub usage: Usage,
    /// Tokens of requests and replies, with those that had to be estimated.
    pub tokens: u64,
    /// The cost in each currency: amounts of two have no sum.
    pub costs: BTreeMap<String, Money>,
    /// Replies that `costs` lacks: their model has no price, or their provider counted no tokens.
    pub unpriced: u32,
}

impl Spent {
    /// Returns what one reply has used. `estimated` is used if a budget needs its tokens and the provider did not count them.
    pub(crate) fn of_reply(
        budget: &BudgetPolicy,
        model: &str,
        usage: Option<Usage>,
        estimated: impl FnOnce() -> Usage,
    ) -> Spent {
        let usage = usage.map(Usage::within_input);
        let counted = usage.filter(Usage::is_counted);
        let counted = counted.or_else(|| budget.counts_tokens().then(estimated)).unwrap_or_default();
        let price = budget.prices.get(model).filter(|_| counted.is_counted());
        let cost = price.map(|price| (budget.currency.clone(), price.of(counted)));
        Spent {
            requests: 0,
            usage: usage.unwrap_or_default(),
            tokens: counted.all_tokens(),
            unpriced: u32::from(cost.is_none()),
            costs: cost.into_iter().collect(),
        }
    }

    /// Returns what was paid in a currency.
    pub fn cost_in(&self, currency: &str) -> Money {
        self.costs.get(currency).copied().unwrap_or_default()
    }

    /// Adds what was used since.
    pub(super) fn add(&mut self, more: &Spent) {
        self.requests = self.requests.saturating_add(more.requests);
        self.usage = self.usage.and(more.usage);
        self.tokens = self.tokens.saturating_add(more.tokens);
        for (currency, cost) in &more.costs {
            let sum = self.cost_in(currency).and(*cost);
            self.costs.insert(currency.clone(), sum);
        }
        self.unpriced = self.unpriced.saturating_add(more.unpriced);
    }

    /// Returns the cost for people; `None` without a price. An amount that lacks replies without a price is "at least" that.
    pub fn cost_line(&self) -> Option<String> {
        let least = if self.unpriced > 0 { "at least " } else { "" };
        let sums: Vec<String> = self.costs.iter().map(|(currency, cost)| cost.text(currency)).collect();
        (!sums.is_empty()).then(|| format!("{least}{}", sums.join(" + ")))
    }
}

/// A budget that is used up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetEnd {
    pub stop: StopReason,
    /// For the user, in one or two sentences.
    pub why: String,
}

/// What a budget limits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Requests,
    Tokens,
    Cost,
}

/// A limit of the open run, with what is used of it.
struct Limit {
    unit: Unit,
    /// Its name in the settings.
    setting: &'static str,
    /// Whether it is one of the session, which only a change of the settings goes beyond.
    of_session: bool,
    used: u64,
    most: u64,
}

/// Returns the limits of a run and of its session, each with what is used.
fn limits(session: &Session, run: &Run) -> Vec<Limit> {
    let budget = &run.policy.budget;
    let unattended = run.policy.unattended.map(|limits| limits.max_requests);
    let requests = [(unattended, "unattended.max_requests"), (run.policy.max_requests, "limits.requests")]
        .into_iter()
        .filter_map(|(most, setting)| Some((most?, setting)))
        .min();
    let limit = |unit, setting, of_session, used, most: Option<u64>| {
        most.map(|most| Limit { unit, setting, of_session, used, most })
    };
    let (own, all) = (&run.spent, &session.spent);
    let paid = |spent: &Spent| spent.cost_in(&budget.currency).0;
    let cost = |most: Option<Money>| most.map(|most| most.0);
    let (most, setting) = requests.map_or((None, ""), |(most, setting)| (Some(most.into()), setting));
    let of_session = budget.session.requests.map(Into::into);
    [
        limit(Unit::Requests, setting, false, own.requests.into(), most),
        limit(Unit::Tokens, "limits.tokens", false, own.tokens, budget.run.tokens),
        limit(Unit::Cost, "limits.cost", false, paid(own), cost(budget.run.cost)),
        limit(Unit::Requests, "limits.session_requests", true, all.requests.into(), of_session),
        limit(Unit::Tokens, "limits.session_tokens", true, all.tokens, budget.session.tokens),
        limit(Unit::Cost, "limits.session_cost", true, paid(all), cost(budget.session.cost)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

impl Limit {
    /// Returns why the run may make no further request because of it; `None` if it may.
    fn exhausted(&self, run: &Run) -> Option<BudgetEnd> {
        let why = if self.unit == Unit::Cost && !run.has_price() && self.most > 0 {
            format!(
                "`{}` limits what this may cost, but the settings have no price of {}. Add `[prices.\"{}\"]` with its price, \
                 then continue.",
                self.setting,
                run.current_model(),
                run.current_model(),
            )
        } else if self.used >= self.most {
            self.used_up(run)
        } else {
            return None;
        };
        let stop = if self.unit == Unit::Requests { StopReason::MaxTurnRequests } else { StopReason::Budget };
        Some(BudgetEnd { stop, why })
    }

    fn used_up(&self, run: &Run) -> String {
        let setting = self.setting;
        if self.most == 0 && self.unit != Unit::Requests {
            return format!(
                "`{setting}` is 0 or cannot be read, so no request is made. Correct it, then continue."
            );
        }
        let amount = |number: u64| match self.unit {
            Unit::Requests => format!("{number} model requests"),
            Unit::Tokens => format!("{number} tokens"),
            Unit::Cost => Money(number).text(&run.policy.budget.currency),
        };
        match (self.unit, self.of_session) {
            (Unit::Requests, false) => {
                format!("The limit of {} model requests for one run is reached.", self.used)
            }
            (_, false) => format!(
                "This run has used {}; `{setting}` allows {} for one run.",
                amount(self.used),
                amount(self.most)
            ),
            (_, true) => format!(
                "This session has used {}; `{setting}` allows {} for a whole session. Raise it, then continue.",
                amount(self.used),
                amount(self.most)
            ),
        }
    }

    /// Returns how much of it is left, from 0 to 100.
    fn percent_left(&self) -> u64 {
        let left = u128::from(self.most.saturating_sub(self.used));
        u64::try_from(left * 100 / u128::from(self.most.max(1))).unwrap_or(100)
    }

    /// Returns the sentence for the model about what is left.
    fn left(&self) -> String {
        let whose = if self.of_session { "session" } else { "run" };
        let percent = self.percent_left();
        match self.unit {
            Unit::Requests => format!(
                "This is one of the last requests: {} of {} are left after it.",
                self.most.saturating_sub(self.used),
                self.most
            ),
            Unit::Tokens => format!("About {percent} % of the tokens that this {whose} may use are left."),
            Unit::Cost => format!("About {percent} % of the money that this {whose} may cost is left."),
        }
    }
}

/// The reminder names a budget once so many percent of it or less are left.
const TOLD: u64 = 20;

impl Session {
    /// Returns the first budget of the open run or of the session that is used up.
    pub fn exhausted(&self, run: &Run) -> Option<BudgetEnd> {
        limits(self, run).iter().find_map(|limit| limit.exhausted(run))
    }

    /// Returns the sentence for the model about the budget with the least left, once that is a fifth or less.
    pub fn budget_left(&self) -> Option<String> {
        let run = self.open_run()?;
        let limits = limits(self, run);
        let nearest = limits.iter().min_by_key(|limit| limit.percent_left())?;
        (nearest.percent_left() <= TOLD).then(|| nearest.left())
    }

    /// Counts the attempt under way, whose reply broke off. The provider bills its request and sends no count, so its tokens are
    /// estimated where a budget needs them.
    pub(super) fn spend_broken(&mut self) {
        let Some(run) = &self.run else { return };
        let Some(turn) = run.turn.as_ref().filter(|turn| turn.streaming) else { return };
        let begun = Reply { text: turn.partial.clone(), ..Reply::default() };
        let estimated = || self.tokens.estimated(&self.history, Some(&begun.into()));
        let spent = Spent::of_reply(&run.policy.budget, run.called_model(), None, estimated);
        self.spend(&spent);
    }

    /// Adds what was used since to the session. What a parent used is the parent's.
    pub(super) fn spend(&mut self, more: &Spent) {
        if let Some(run) = &mut self.run {
            run.spent.add(more);
        }
        if !self.inherits {
            self.spent.add(more);
        }
    }
}

impl Run {
    /// Whether the settings have a price of the model that is called now.
    fn has_price(&self) -> bool {
        self.policy.budget.prices.contains_key(self.current_model())
    }
}
