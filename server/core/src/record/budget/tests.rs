//! Tests of prices and amounts.

use super::*;

fn price(input: f64, output: f64, cache_read: f64, cache_write: f64) -> Price {
    let [input, output, cache_read, cache_write] = [input, output, cache_read, cache_write].map(Money::of);
    Price { input, output, cache_read, cache_write }
}

#[test]
fn s73_each_token_costs_the_price_of_its_own_tier() {
    let usage = Usage {
        input_tokens: 1_000_000,
        output_tokens: 10_000,
        cache_read_tokens: 600_000,
        cache_write_tokens: 100_000,
    };
    let cost = price(3.0, 15.0, 0.3, 3.7).of(usage);
    // 300,000 tokens of no cache, and the other tiers.
    assert_eq!(cost, Money::of(0.9 + 0.15 + 0.18 + 0.37));
    assert_eq!(cost.text("USD"), "1.60 USD");
}

#[test]
fn s73_absurd_counts_and_prices_do_not_overflow() {
    let most = u64::MAX;
    let usage =
        Usage { input_tokens: 5, output_tokens: most, cache_read_tokens: most, cache_write_tokens: most };
    assert_eq!(price(1e6, 1e6, 1e6, 1e6).of(usage), Money(u64::MAX));
    assert_eq!(Money::of(-1.0), Money(0));
    assert_eq!(Money::of(f64::NAN), Money(0));
    assert_eq!(usage.uncached_tokens(), 0);
}

#[test]
fn an_amount_is_told_with_the_decimals_that_matter() {
    for (amount, text) in [
        (0.0, "0.00 EUR"),
        (0.000_001, "less than 0.0001 EUR"),
        (0.0312, "0.0312 EUR"),
        (0.999_99, "1.00 EUR"),
        (12.345, "12.35 EUR"),
    ] {
        assert_eq!(Money::of(amount).text("EUR"), text);
    }
}
