//! Settings of budgets and prices: a limit that cannot be read allows nothing, and a price is never guessed.

use expect_test::expect;

use super::*;
use crate::record::{Budget, Money, Price};

#[test]
fn s73_prices_are_for_a_million_tokens_of_a_model_and_the_cache_costs_as_input_by_default() {
    let settings = check_problems(
        vec![user(
            "currency = \"EUR\"\n[prices.\"open/gpt-4.1\"]\ninput = 2\noutput = 8.5\ncache_read = 0.5\n\
             [prices.\"local/llama/3.2:8b\"]\ninput = 0\noutput = 0\n",
        )],
        expect![""],
    );
    let [in_2, out_8_5, half] = [2.0, 8.5, 0.5].map(Money::of);
    let known = Price { input: in_2, output: out_8_5, cache_read: half, cache_write: in_2 };
    assert_eq!(settings.budget.prices.get("open/gpt-4.1"), Some(&known));
    assert_eq!(settings.budget.prices.get("local/llama/3.2:8b"), Some(&Price::default()));
    assert_eq!((settings.budget.prices.len(), settings.budget.currency.as_str()), (2, "EUR"));
    let shown = explain(&settings);
    assert!(shown.contains("prices.\"open/gpt-4.1\".cache_read"), "{shown}");
}

#[test]
fn s73_half_a_price_and_a_price_of_nothing_are_reported_and_not_used() {
    let settings = check_problems(
        vec![user(
            "currency = \"dollars and cents\"\n[prices.\"a/b\"]\ninput = 3\n[prices.gpt]\ninput = 1\noutput = 2\n\
             [prices.\"a/c\"]\ninput = -1\noutput = 2\n[prices]\ncost = 3\n",
        )],
        expect![[r#"
            ~/config.toml:1: currency: "dollars and cents" is no currency; write up to 8 letters, for example "EUR"
            ~/config.toml:4: prices.gpt: this does not name a model; write it as [prices."PROVIDER/MODEL"]
            ~/config.toml:8: prices.a/c.input: -1 is not a number from 0 to 1000000; write a number from 0 to 1000000
            ~/config.toml:11: prices.cost: this is a whole number; write a table, `[prices.cost]`
            ~/config.toml:3: prices.a/b.output: the price of this is missing; set it too; until then the model has no price
            ~/config.toml:9: prices.a/c.input: the price of this is missing; set it too; until then the model has no price"#]],
    );
    assert_eq!(settings.budget.prices.len(), 0);
    assert_eq!(settings.budget.currency, "USD");
}

#[test]
fn p15_a_limit_that_cannot_be_read_allows_nothing_and_a_project_may_only_lower() {
    let (settings, problems) = resolve(vec![user(
        "[limits]\ntokens = \"many\"\ncost = \"5 USD\"\nsession_requests = -1\nsession_tokens = 500\nsession_cost = 2.5\n",
    )]);
    assert_eq!(problems.len(), 3, "{problems:?}");
    let nothing = Budget { requests: None, tokens: Some(0), cost: Some(Money(0)) };
    assert_eq!(settings.budget.run, nothing);
    let session = Budget { requests: Some(0), tokens: Some(500), cost: Some(Money::of(2.5)) };
    assert_eq!(settings.budget.session, session);
    // The project lowers tokens and requests. Money and prices are the user's.
    let own = "[limits]\ntokens = 900\nsession_tokens = 500\n";
    let lowers =
        "limits.tokens = 800\nlimits.session_tokens = 600\nlimits.cost = 1\nprices.\"a/b\".input = 0\n";
    let (settings, problems) = resolve(vec![user(own), project(lowers)]);
    assert_eq!(settings.budget.run, Budget { tokens: Some(800), ..Budget::default() });
    assert_eq!(settings.budget.session, Budget { tokens: Some(500), ..Budget::default() });
    assert_eq!(problems.len(), 3, "{problems:?}");
    // A file that is broken elsewhere sets no limit of 0.
    let (settings, _) = resolve(vec![user("limits.mistakes = = 3\n")]);
    assert_eq!(*settings.budget, crate::record::BudgetPolicy::default());
}
