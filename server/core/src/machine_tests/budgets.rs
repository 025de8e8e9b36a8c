//! Budgets of runs and sessions: what is counted, what ends a run, and how it goes on (P15, S73).

use super::{Bench, is_model, option, reply};
use crate::machine::input::{Answer, Input, Report};
use crate::machine::retry::{CallFailure, FailureClass};
use crate::prompt::message::Usage;
use crate::record::{
    AskKind, Budget, BudgetPolicy, Event, Money, Outcome, Policy, Price, StopReason, UnattendedPolicy,
};
use crate::session::spending::Spent;
use crate::wire::usage;

const MODEL: &str = "test/model";
const USAGE: Usage =
    Usage { input_tokens: 1_000, output_tokens: 200, cache_read_tokens: 400, cache_write_tokens: 100 };
/// A turn with `USAGE` and the price of `prices` costs this.
const COST: f64 = 0.5 * 3.0 + 0.4 * 0.3 + 0.1 * 4.0 + 0.2 * 15.0;

/// One unit is the price of a thousand tokens, so that a turn costs some units.
fn prices() -> std::collections::BTreeMap<String, Price> {
    let of = |units: f64| Money::of(units * 1_000.0);
    let price = Price { input: of(3.0), output: of(15.0), cache_read: of(0.3), cache_write: of(4.0) };
    [(MODEL.to_owned(), price)].into()
}

fn begin(budget: BudgetPolicy) -> Bench {
    let mut bench = Bench::new();
    prompt(&mut bench, budget);
    bench
}

fn prompt(bench: &mut Bench, budget: BudgetPolicy) {
    let prompt = crate::machine::input::Prompt {
        model: MODEL.to_owned(),
        policy: Policy { budget: budget.into(), ..Policy::default() },
        ..super::prompt("go")
    };
    bench.input(Input::prompted(prompt)).expect("the prompt is accepted");
}

/// Lets the model answer with a call, so that the run needs another turn. Returns what follows.
fn turn(bench: &mut Bench, usage: Option<Usage>) -> Vec<Event> {
    let began = bench.report(is_model, Report::TurnBegan);
    if bench.session.open_run().is_none() {
        return began;
    }
    bench.report(is_model, Report::ReplyStarted);
    let with_call = reply("", &[("nonsense", "{}")]);
    bench.report(is_model, Report::Replied(crate::prompt::message::Reply { usage, ..with_call }));
    bench.report(super::is_prepare, super::prepared_as(crate::record::Payload::Plan { steps: Vec::new() }));
    Vec::new()
}

/// Returns the title of the open question about a limit, and why the run ended.
fn asked(bench: &Bench) -> (String, StopReason) {
    let ask = bench.session.open_asks().next().expect("an ask is open");
    assert_eq!(ask.kind, AskKind::AutoApprovalMaxReqReached);
    let end = &bench.session.ended.back().expect("the run is over").end;
    assert_eq!(end.outcome, Outcome::Limit);
    (ask.title.clone(), end.stop_reason)
}

fn goes_on(bench: &mut Bench, budget: Option<BudgetPolicy>) {
    let ask = bench.session.open_asks().next().expect("an ask is open").id.clone();
    let answer = Answer {
        ask,
        choice: option("continue"),
        surface: "test".to_owned(),
        consent: None,
        budget: budget.map(Into::into),
    };
    bench.input(Input::Answer(answer)).expect("the answer is accepted");
}

#[test]
fn s73_tokens_and_money_are_summed_by_tier_for_the_run_and_for_the_session() {
    let mut bench = begin(BudgetPolicy { prices: prices(), ..BudgetPolicy::default() });
    for _ in 0..3 {
        turn(&mut bench, Some(USAGE));
    }
    let spent = bench.session.open_run().expect("it is open").spent.clone();
    assert_eq!(spent.usage, USAGE.and(USAGE).and(USAGE));
    assert_eq!((spent.requests, spent.unpriced), (3, 0));
    assert_eq!(spent.cost_in("USD"), Money::of(3.0 * COST));
    assert_eq!(bench.session.spent, spent);
    let view = usage::spent(&spent).cost.expect("there is a price");
    assert_eq!((view.line.as_str(), view.partial), ("15.06 USD", false));
    assert_eq!(bench.replayed(), bench.session);
    // The next run begins with nothing, the session goes on.
    bench.input(Input::Cancel { run: None }).expect("it is open");
    prompt(&mut bench, BudgetPolicy::default());
    turn(&mut bench, Some(USAGE));
    let run = bench.session.open_run().expect("it is open");
    assert_eq!((run.spent.requests, run.spent.cost_line()), (1, None));
    assert_eq!(bench.session.spent.requests, 4);
    // One reply had no price.
    assert_eq!(bench.session.spent.cost_line().as_deref(), Some("at least 15.06 USD"));
}

#[test]
fn s73_money_of_two_currencies_is_not_summed() {
    let in_currency = |currency: &str| BudgetPolicy {
        prices: prices(),
        currency: currency.to_owned(),
        ..BudgetPolicy::default()
    };
    let mut bench = begin(in_currency("USD"));
    turn(&mut bench, Some(USAGE));
    bench.input(Input::Cancel { run: None }).expect("it is open");
    prompt(&mut bench, in_currency("EUR"));
    turn(&mut bench, Some(USAGE));
    assert_eq!(bench.session.spent.cost_line().as_deref(), Some("5.02 EUR + 5.02 USD"));
}

#[test]
fn p15_a_used_up_budget_of_a_run_asks_and_continuing_gives_as_much_again() {
    let budget = |run: Budget| BudgetPolicy { run, prices: prices(), ..BudgetPolicy::default() };
    let tokens = budget(Budget { tokens: Some(2_000), ..Budget::default() });
    let cost = budget(Budget { cost: Some(Money::of(2.0 * COST)), ..Budget::default() });
    for (budget, said) in [
        (tokens, "This run has used 2400 tokens; `limits.tokens` allows 2000 tokens for one run."),
        (cost, "This run has used 10.04 USD; `limits.cost` allows 10.04 USD for one run."),
    ] {
        let mut bench = begin(budget);
        turn(&mut bench, Some(USAGE));
        turn(&mut bench, Some(USAGE));
        turn(&mut bench, Some(USAGE));
        assert_eq!(asked(&bench), (said.to_owned(), StopReason::Budget));
        goes_on(&mut bench, None);
        turn(&mut bench, Some(USAGE));
        turn(&mut bench, Some(USAGE));
        assert!(bench.session.open_run().is_some(), "two more turns fit");
        turn(&mut bench, Some(USAGE));
        assert_eq!(asked(&bench).0, said);
        assert_eq!(bench.replayed(), bench.session);
    }
}

#[test]
fn p15_a_used_up_budget_of_a_session_stays_used_up_until_the_settings_say_more() {
    let of = |session: Budget| BudgetPolicy { session, prices: prices(), ..BudgetPolicy::default() };
    let tokens = |most| of(Budget { tokens: Some(most), ..Budget::default() });
    let requests = |most| of(Budget { requests: Some(most), ..Budget::default() });
    let cost = |turns: f64| of(Budget { cost: Some(Money::of(turns * COST)), ..Budget::default() });
    for (small, large, stop, said) in [
        (
            tokens(2_000),
            tokens(9_000),
            StopReason::Budget,
            "This session has used 2400 tokens; `limits.session_tokens` allows 2000 tokens for a whole session. Raise it, then \
             continue.",
        ),
        (
            requests(2),
            requests(9),
            StopReason::MaxTurnRequests,
            "This session has used 2 model requests; `limits.session_requests` allows 2 model requests for a whole session. Raise \
             it, then continue.",
        ),
        (
            cost(2.0),
            cost(9.0),
            StopReason::Budget,
            "This session has used 10.04 USD; `limits.session_cost` allows 10.04 USD for a whole session. Raise it, then continue.",
        ),
    ] {
        let mut bench = begin(small.clone());
        turn(&mut bench, Some(USAGE));
        turn(&mut bench, Some(USAGE));
        turn(&mut bench, Some(USAGE));
        assert_eq!(asked(&bench), (said.to_owned(), stop));
        // Neither a click nor a new prompt goes beyond it.
        goes_on(&mut bench, Some(small.clone()));
        turn(&mut bench, Some(USAGE));
        assert_eq!(asked(&bench).0, said);
        prompt(&mut bench, small);
        turn(&mut bench, Some(USAGE));
        assert_eq!(asked(&bench).0, said);
        goes_on(&mut bench, Some(large));
        turn(&mut bench, Some(USAGE));
        assert!(bench.session.open_run().is_some(), "the settings allow more now");
    }
}

#[test]
fn p15_money_that_cannot_be_counted_is_not_spent() {
    let limited = Budget { cost: Some(Money::of(1.0)), ..Budget::default() };
    let mut bench = begin(BudgetPolicy { run: limited, ..BudgetPolicy::default() });
    turn(&mut bench, Some(USAGE));
    let said = "`limits.cost` limits what this may cost, but the settings have no price of test/model. Add \
                `[prices.\"test/model\"]` with its price, then continue.";
    assert_eq!(asked(&bench), (said.to_owned(), StopReason::Budget));
    goes_on(&mut bench, Some(BudgetPolicy { run: limited, prices: prices(), ..BudgetPolicy::default() }));
    turn(&mut bench, Some(USAGE));
    assert!(bench.session.open_run().is_some());
    // A value that cannot be read counts as nothing.
    let mut bench = begin(BudgetPolicy {
        run: Budget { cost: Some(Money(0)), ..Budget::default() },
        ..BudgetPolicy::default()
    });
    turn(&mut bench, Some(USAGE));
    assert!(asked(&bench).0.starts_with("`limits.cost` is 0 or cannot be read"));
}

#[test]
fn p15_a_provider_that_counts_nothing_is_estimated() {
    let budget = Budget { tokens: Some(4_000), ..Budget::default() };
    for nothing in [None, Some(Usage::default())] {
        let mut bench = begin(BudgetPolicy { run: budget, ..BudgetPolicy::default() });
        let turns = (0..20).find(|_| {
            turn(&mut bench, nothing);
            bench.session.open_run().is_none()
        });
        assert_eq!(asked(&bench).1, StopReason::Budget);
        // The system prompt and the tools are about 2,100 tokens of each request.
        assert_eq!(turns, Some(2), "two requests fit");
        let end = &bench.session.ended.back().expect("it is over").end;
        assert_eq!(end.spent.usage, Usage::default(), "only counts of the provider are told");
        assert_eq!(bench.replayed(), bench.session);
    }
}

#[test]
fn p15_the_model_is_told_once_little_is_left() {
    let budget = |tokens| BudgetPolicy {
        run: Budget { tokens: Some(tokens), ..Budget::default() },
        ..BudgetPolicy::default()
    };
    for (tokens, told) in
        [(1_600, None), (1_500, Some("About 20 % of the tokens that this run may use are left."))]
    {
        let mut bench = begin(budget(tokens));
        turn(&mut bench, Some(USAGE));
        assert_eq!(bench.session.budget_left().as_deref(), told);
    }
    // Of two limits of requests the stricter one counts.
    let unattended = Some(UnattendedPolicy { edit: true, command: true, max_requests: 3 });
    let mut bench = Bench::new();
    let policy = Policy { unattended, max_requests: Some(9), ..Policy::default() };
    bench.prompt_with("go", policy).expect("the prompt is accepted");
    turn(&mut bench, None);
    turn(&mut bench, None);
    assert_eq!(bench.session.budget_left(), None);
    bench.report(is_model, Report::TurnBegan);
    let said = "This is one of the last requests: 0 of 3 are left after it.";
    assert_eq!(bench.session.budget_left().as_deref(), Some(said));
}

#[test]
fn s73_what_a_parent_used_is_not_counted_again_in_a_fork() {
    let mut bench = begin(BudgetPolicy { prices: prices(), ..BudgetPolicy::default() });
    bench.session.inherits = true;
    turn(&mut bench, Some(USAGE));
    assert_eq!(bench.session.spent, Spent::default());
    assert_eq!(bench.session.open_run().expect("it is open").spent.cost_in("USD"), Money::of(COST));
}

#[test]
fn s72_a_server_that_counts_zero_does_not_make_a_full_conversation_look_empty() {
    let mut bench = begin(BudgetPolicy::default());
    for _ in 0..3 {
        turn(&mut bench, Some(Usage::default()));
    }
    let (mut other, none) = (begin(BudgetPolicy::default()), None);
    for _ in 0..3 {
        turn(&mut other, none);
    }
    let fill = |bench: &Bench| bench.session.tokens.fill(&bench.session.history);
    assert_eq!(fill(&bench), fill(&other));
    assert!(fill(&bench) > 2_100);
    assert_eq!(bench.session.context, None);
}

#[test]
fn p15_a_limit_of_money_holds_in_each_currency_and_forgets_none() {
    let session = Budget { cost: Some(Money::of(1.5 * COST)), ..Budget::default() };
    let of = |currency: &str| BudgetPolicy {
        session,
        prices: prices(),
        currency: currency.to_owned(),
        ..BudgetPolicy::default()
    };
    let mut bench = begin(of("USD"));
    turn(&mut bench, Some(USAGE));
    bench.input(Input::Cancel { run: None }).expect("it is open");
    prompt(&mut bench, of("EUR"));
    turn(&mut bench, Some(USAGE));
    bench.input(Input::Cancel { run: None }).expect("it is open");
    prompt(&mut bench, of("USD"));
    turn(&mut bench, Some(USAGE));
    turn(&mut bench, Some(USAGE));
    let said = "This session has used 10.04 USD; `limits.session_cost` allows 7.53 USD for a whole session. Raise it, then continue.";
    assert_eq!(asked(&bench).0, said);
}

#[test]
fn p15_a_reply_that_broke_off_was_paid_and_counts() {
    let failed = |bench: &mut Bench| {
        let failure = CallFailure {
            class: FailureClass::Broken,
            message: "the connection broke".to_owned(),
            retry_after_ms: None,
        };
        bench.report(is_model, Report::CallFailed(failure));
    };
    let begun = |budget: Budget| {
        let mut bench = begin(BudgetPolicy { run: budget, prices: prices(), ..BudgetPolicy::default() });
        bench.report(is_model, Report::TurnBegan);
        bench.report(is_model, Report::ReplyStarted);
        bench
    };
    let limited = Budget { tokens: Some(100_000), ..Budget::default() };
    let spent = |bench: &Bench| bench.session.open_run().expect("it is open").spent.clone();
    let mut bench = begun(limited);
    failed(&mut bench);
    assert!(spent(&bench).tokens > 2_000, "the request was read: {:?}", spent(&bench));
    assert_eq!(spent(&bench).usage, Usage::default(), "nobody counted it");
    assert_eq!(bench.replayed(), bench.session);
    // A crash in the reply is no other case, and it counts once.
    let mut bench = begun(limited);
    bench.input(Input::Opened { epoch: 2 }).expect("it opens");
    bench.answer(option("resume")).expect("the answer is accepted");
    let before = spent(&bench).tokens;
    assert!((2_000..4_000).contains(&before), "{before}");
    // So is a cancel.
    let mut bench = begun(limited);
    bench.input(Input::Cancel { run: None }).expect("it is open");
    let end = bench.session.ended.back().expect("it is over").end.clone();
    assert!((2_000..4_000).contains(&end.spent.tokens), "{:?}", end.spent);
    // Without a limit nothing is estimated, and the cost says that something is missing.
    let mut bench = begun(Budget::default());
    failed(&mut bench);
    assert_eq!((spent(&bench).tokens, spent(&bench).unpriced), (0, 1));
}

#[test]
fn s73_no_more_of_the_input_is_from_the_cache_than_there_is() {
    let mut bench = begin(BudgetPolicy { prices: prices(), ..BudgetPolicy::default() });
    turn(&mut bench, Some(Usage { input_tokens: 10, cache_read_tokens: u64::MAX, ..Usage::default() }));
    let spent = &bench.session.spent;
    assert_eq!((spent.usage.cache_read_tokens, spent.usage.input_tokens), (10, 10));
    assert_eq!(spent.cost_in("USD"), Money::of(0.003));
}
