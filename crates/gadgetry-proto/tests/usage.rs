//! What tokens cost: rates by hand, tiers, counts that contradict each other, and sums.

use gadgetry_proto::usage::{Price, Tier, Usage};
use proptest::prelude::*;

/// One where a flag is 1, in tokens.
fn usage(input: u64, read: u64, written: u64, output: u64, reasoning: u64) -> Usage {
    Usage::default()
        .input_tokens(input)
        .cached_input_tokens(read)
        .cache_creation_tokens(written)
        .output_tokens(output)
        .reasoning_tokens(reasoning)
}

/// Every rate is another.
fn rates() -> Price {
    Price::default()
        .input(3.0)
        .output(15.0)
        .cached_input(0.3)
        .cache_write_input(3.75)
        .cache_write_1h_input(6.0)
        .reasoning_output(20.0)
        .tiers(Vec::new())
}

/// Two tiers, the longer one first.
fn tiers() -> Price {
    let flat = |input, output| Price::default().input(input).output(output);
    flat(1.0, 10.0).tiers(vec![
        Tier {
            above: 200_000,
            price: flat(4.0, 30.0),
        },
        Tier {
            above: 100_000,
            price: flat(2.0, 20.0),
        },
    ])
}

#[track_caller]
fn check(price: &Price, usage: Usage, dollars: f64) {
    let cost = price.cost(&usage);
    assert!((cost - dollars).abs() < 1e-9, "{cost} and not {dollars}");
}

#[test]
fn every_part_has_its_rate() {
    let million = 1_000_000;
    let cases = [
        (usage(million, 0, 0, 0, 0), 3.0),
        (usage(million, million, 0, 0, 0), 0.3),
        (usage(million, 0, million, 0, 0), 3.75),
        (usage(0, 0, 0, million, 0), 15.0),
        (usage(0, 0, 0, million, million), 20.0),
        // 0.5 fresh, 0.3 read, 0.2 written; 0.6 visible, 0.4 reasoning.
        (
            usage(million, 300_000, 200_000, million, 400_000),
            1.5 + 0.09 + 0.75 + 9.0 + 8.0,
        ),
    ];
    for (usage, dollars) in cases {
        check(&rates(), usage, dollars);
    }
}

#[test]
fn what_is_written_for_an_hour_costs_more() {
    let written = |five_minutes, hour| {
        usage(1_000_000, 0, five_minutes + hour, 0, 0).cache_creation_1h_tokens(hour)
    };
    check(&rates(), written(0, 1_000_000), 6.0);
    check(&rates(), written(500_000, 500_000), 1.875 + 3.0);
    // Without a rate of its own it is a write like any other, and without that it is input.
    let mut price = rates();
    price.cache_write_1h_input = None;
    check(&price, written(0, 1_000_000), 3.75);
    price.cache_write_input = None;
    check(&price, written(0, 1_000_000), 3.0);
}

#[test]
fn reasoning_on_top_of_the_output_is_paid() {
    let inside = usage(0, 0, 0, 1_000_000, 400_000);
    let outside = inside.output_tokens(600_000).reasoning_outside_output(true);
    check(&rates(), inside, 9.0 + 8.0);
    check(&rates(), outside, 9.0 + 8.0);
    assert_eq!(outside.with_reasoning_in_output(), inside);
}

#[test]
fn counts_say_whether_output_includes_reasoning() {
    let cases = [
        // input, output, reasoning, total: output with reasoning
        (20, 151, 382, 553, 533), // the total holds all three
        (20, 533, 382, 553, 533), // the total holds input and output
        (20, 10, 382, 0, 392),    // there is more reasoning than output
        (20, 533, 382, 0, 533),   // nothing tells
        (20, 533, 0, 553, 533),   // there is none
        (20, 533, 382, 999, 533), // the total holds something else
        (0, 0, 0, 0, 0),
    ];
    for (input, output, reasoning, total, expected) in cases {
        let counts = usage(input, 0, 0, output, reasoning).total_tokens(total);
        let settled = counts.with_reasoning_in_output();
        assert_eq!(settled.output_tokens, expected, "{counts:?}");
        assert_eq!(settled.with_reasoning_in_output(), settled, "{counts:?}");
    }
}

#[test]
fn the_whole_request_has_the_price_of_its_tier() {
    let cases = [
        (100_000, 0.1 + 0.01),
        (100_001, 0.200_002 + 0.02), // more than, not as many as
        (200_000, 0.4 + 0.02),
        (200_001, 0.800_004 + 0.03),
        (1_000_000, 4.0 + 0.03),
    ];
    for (input, dollars) in cases {
        check(&tiers(), usage(input, 0, 0, 1_000, 0), dollars);
        // What a cache knows counts, too.
        check(&tiers(), usage(input, input, 0, 1_000, 0), dollars);
    }
    // A long reply alone reaches no tier.
    check(&tiers(), usage(0, 0, 0, 1_000_000, 0), 10.0);
}

#[test]
fn no_cost_is_negative() {
    let contradictory = [
        usage(10, 500_000, 0, 0, 0),
        usage(10, 0, 500_000, 0, 0),
        usage(0, 0, 0, 10, 500_000),
        usage(10, u64::MAX, u64::MAX, 10, u64::MAX),
    ];
    for usage in contradictory {
        assert!(rates().cost(&usage) > 0.0, "{usage:?}");
    }
    for rate in [-1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let price = Price::default().input(rate).output(15.0).cached_input(rate);
        check(&price, usage(1_000_000, 500_000, 0, 1_000_000, 0), 15.0);
        let nothing = Price::default().input(rate).output(rate);
        assert!(!nothing.charges());
    }
    assert!(rates().charges());
    assert!(!Price::default().charges());
}

#[test]
fn estimates_are_marked() {
    let told = usage(100, 0, 0, 10, 0);
    let guess = Usage::estimate(500, 50);
    let nothing = Usage::default();
    // The sum holds a guess; of one reply, what was told counts.
    assert!(told.plus(guess).estimated);
    assert!(!told.plus(told).estimated);
    let cases = [
        (guess, told, told),
        (told, guess, told),
        (guess, nothing, guess),
        (nothing, guess, guess),
    ];
    for (one, other, expected) in cases {
        assert_eq!(one.max(other), expected);
    }
}

#[test]
fn sums_hold_reasoning_in_the_output() {
    let outside = usage(1, 0, 0, 2, 3).reasoning_outside_output(true);
    let sum = outside.plus(usage(10, 4, 5, 20, 10));
    assert_eq!(sum, usage(11, 4, 5, 25, 13));
}

#[test]
fn saved_usage_and_prices_are_read_again() {
    let price = rates().tiers(tiers().tiers);
    let text = serde_json::to_string(&price).expect("numbers");
    assert_eq!(
        serde_json::from_str::<Price>(&text).expect("a price"),
        price
    );
    assert!(
        text.contains(r#"{"above":200000,"input":4.0,"output":30.0}"#),
        "{text}"
    );
    // What a log of an earlier version holds.
    let old = r#"{"inputTokens":3,"outputTokens":4,"totalTokens":7}"#;
    let counts: Usage = serde_json::from_str(old).expect("counts");
    assert_eq!(serde_json::to_string(&counts).expect("counts"), old);
}

proptest! {
    #[test]
    fn more_tokens_never_cost_less_within_a_tier(
        input in 0..150_000_u64, read in 0..150_000_u64, written in 0..150_000_u64,
        output in 0..150_000_u64, reasoning in 0..150_000_u64,
        more in 0..150_000_u64, tiered: bool, outside: bool,
    ) {
        let price = if tiered { tiers() } else { rates() };
        let counts = usage(input, read, written, output, reasoning).reasoning_outside_output(outside);
        let cost = price.cost(&counts);
        prop_assert!(cost >= 0.0);
        let longer = counts.output_tokens(output + more);
        prop_assert!(price.cost(&longer) >= cost);
        let tier = |input| tiers().tiers.iter().filter(|tier| input > tier.above).count();
        let fuller = counts.input_tokens(input + more);
        if !tiered || tier(input) == tier(input + more) {
            prop_assert!(price.cost(&fuller) >= cost);
        }
    }
}
