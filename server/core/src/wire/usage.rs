//! How full the context of the model is and what was used so far, as clients see it.
//!
//! Never guesses the window of a model or a price.

use adjutant_protocol::session::{ContextUsage, CostView, SpentView};

use crate::config::Settings;
use crate::prompt::message::Usage;
use crate::session::Session;
use crate::session::spending::Spent;

/// Returns how full the context was after the last reply that came with its usage, and what was used until now.
pub fn context(session: &Session, settings: &Settings) -> Option<ContextUsage> {
    let fill = session.context.as_ref()?;
    let open = session.open_run().map(|run| &run.spent);
    let last = || session.ended.back().map(|ended| &ended.end.spent);
    Some(ContextUsage {
        context_used: fill.tokens,
        context_size: settings.known_window(&fill.model),
        run: open.or_else(last).map(spent),
        session: spent(&session.spent),
    })
}

/// Returns what a run or a session has used.
pub fn spent(spent: &Spent) -> SpentView {
    SpentView { requests: spent.requests, usage: spent.usage.into(), cost: cost(spent) }
}

/// Returns what that costs; `None` without a price.
pub fn cost(spent: &Spent) -> Option<CostView> {
    let line = spent.cost_line()?;
    // Where one number is wanted, the largest stands for all.
    let (currency, cost) = spent.costs.iter().max_by_key(|(_, cost)| **cost)?;
    let partial = spent.unpriced > 0 || spent.costs.len() > 1;
    let micros = cost.0.saturating_add(500_000) / 1_000_000;
    Some(CostView { line, micros, currency: currency.clone(), partial })
}

/// Returns what one turn of the open run costs.
pub fn of_turn(session: &Session, usage: Option<Usage>) -> Option<CostView> {
    let run = session.open_run()?;
    cost(&Spent::of_reply(&run.policy.budget, run.called_model(), Some(usage?), Usage::default))
}
