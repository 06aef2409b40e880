//! The areas `viewer`, `limiter`, `format` and `cost` of `corpus/block-vectors.json`.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed; clippy's own exception covers test functions only, not their helpers"
)]

use gadgetry_proto::convo::viewer::{ViewRequest, view};
use gadgetry_proto::convo::{OutputStore, char_limit};
use gadgetry_proto::usage::{Price, Usage};
use serde_json::Value;

const CORPUS: &str = include_str!("../../../corpus/block-vectors.json");

/// What we do where the reference's outcome is a defect.
fn our_expectation(id: &str) -> &'static str {
    match id {
        // The limit, and not a filter, has left nothing.
        "V06" => {
            "[Mode: line | Showing 0 of 6 lines]\n\
             [The limit begins past line 6, the last one that is left. Last lines: limit: \"-6\"]"
        }
        "V08" => {
            "Error: limit \"0-\" is not understood. Write \"100-\" for the first 100, \"-25\" for the last 25, \
             or \"50-100\" for a range counted from 1."
        }
        "V09" => {
            "Error: limit \"4\" is not understood. Write \"100-\" for the first 100, \"-25\" for the last 25, \
             or \"50-100\" for a range counted from 1."
        }
        "V20" => {
            "[Mode: line | Showing 2 of 6 lines (truncated due to size limit)]\n\
             [... 2 more lines. Use limit parameter to paginate, e.g., limit: \"5-6\"]\n\
             tea hot\njam cold"
        }
        other => panic!("{other} diverges, and nobody has said how"),
    }
}

#[test]
fn vectors() {
    let corpus: Value = serde_json::from_str(CORPUS).unwrap();
    let mut seen = Vec::new();
    for vector in corpus["vectors"].as_array().unwrap() {
        let id = vector["id"].as_str().unwrap();
        let (input, expect) = (&vector["input"], &vector["expect"]);
        match vector["area"].as_str().unwrap() {
            "viewer" => viewer(
                id,
                input,
                expect,
                vector["recommend"] == "match" && id != "V06",
            ),
            "limiter" => limiter(id, input, expect),
            "cost" => cost(id, input, expect),
            "format" => panic!("{id}: the corpus had no vectors of this area; write the check"),
            _ => continue,
        }
        seen.push(id);
    }
    assert_eq!(seen.len(), 16, "{seen:?}");
}

fn viewer(id: &str, input: &Value, expect: &Value, matches: bool) {
    let request: ViewRequest = serde_json::from_value(input["params"].clone()).unwrap();
    let max_chars = usize::try_from(input["maxChars"].as_u64().unwrap()).unwrap();
    let shown = view(input["content"].as_str().unwrap(), &request, max_chars);
    let expected = if matches {
        expect["output"].as_str().unwrap()
    } else {
        our_expectation(id)
    };
    assert_eq!(shown, expected, "{id}");
}

fn limiter(id: &str, input: &Value, expect: &Value) {
    let percent = input["limitPercent"].as_f64().unwrap();
    let limit = char_limit(input["contextWindow"].as_u64().unwrap(), percent);
    let times = usize::try_from(input["result"]["times"].as_u64().unwrap()).unwrap();
    let result = input["result"]["repeat"].as_str().unwrap().repeat(times);
    let mut store = OutputStore::default();
    assert_eq!(expect["sameAsInput"], true, "{id}");
    assert_eq!(store.limit("Menu", result.clone(), limit), result, "{id}");
    // The same at our own limit, which is twice the reference's.
    let result = "z".repeat(limit);
    assert_eq!(store.limit("Menu", result.clone(), limit), result, "{id}");
    assert_ne!(
        store.limit("Menu", result.clone() + "z", limit),
        result + "z",
        "{id}"
    );
}

fn cost(id: &str, input: &Value, expect: &Value) {
    let price: Price = serde_json::from_value(input["pricing"].clone()).unwrap();
    let count = |key: &str| input["usage"][key].as_u64().unwrap_or(0);
    let usage = Usage::default()
        .input_tokens(count("input"))
        .output_tokens(count("output"))
        .cached_input_tokens(count("cachedInput"))
        .cache_creation_tokens(count("cacheWrite"))
        .reasoning_tokens(count("reasoning"));
    let input_only = usage.output_tokens(0).reasoning_tokens(0);
    let output_only = Usage::default()
        .output_tokens(usage.output_tokens)
        .reasoning_tokens(usage.reasoning_tokens);
    for (part, usage) in [
        ("total", usage),
        ("input", input_only),
        ("output", output_only),
    ] {
        let dollars = price.cost(&usage);
        let expected = expect[part].as_f64().unwrap();
        assert!(
            (dollars - expected).abs() < 1e-9,
            "{id} {part}: {dollars} for {expected}"
        );
    }
}
