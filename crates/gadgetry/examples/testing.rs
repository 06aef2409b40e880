//! Gadgets by themselves, without a model: what a test of yours would do.
//!
//! `cargo run -p gadgetry --example testing`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use gadgetry::{ExecutionContext, GadgetError, GadgetOutput, gadget, validate_gadget_params};
use gadgetry_testing::{GadgetTest, test_gadget, test_gadget_batch};
use serde_json::json;

/// Adds two numbers
#[gadget]
fn calculator(a: i64, #[gadget(default)] b: i64) -> Result<GadgetOutput, GadgetError> {
    let sum = a
        .checked_add(b)
        .ok_or_else(|| GadgetError::new("too large"))?;
    Ok(GadgetOutput::from(sum).with_cost(0.25))
}

/// Says what an earlier call has found
#[gadget]
fn report(context: ExecutionContext) -> String {
    format!(
        "Found: {}",
        context.dependency("search").unwrap_or("nothing")
    )
}

// In a test: #[tokio::test]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // Parameters are validated and completed as in a run, and then the gadget is executed.
    let outcome = test_gadget(Calculator, json!({ "a": 5 })).await;
    println!("{outcome:#?}");
    assert_eq!(outcome.result.as_deref(), Some("5")); // b is 0
    assert_eq!(outcome.error, None);
    assert_eq!(outcome.validated_params, Some(json!({ "a": 5, "b": 0 })));
    assert!((outcome.cost - 0.25).abs() < 1e-9);

    // What is wrong is what the model would read.
    let outcome = test_gadget(Calculator, json!({ "a": "five" })).await;
    println!("{}", outcome.expect_error());
    assert_eq!(outcome.result, None);
    assert_eq!(outcome.validated_params, None);
    let outcome = test_gadget(Calculator, json!({ "a": i64::MAX, "b": 1 })).await;
    assert_eq!(outcome.expect_error(), "too large");

    // Several calls of one gadget.
    let outcomes =
        test_gadget_batch(Calculator, [json!({ "a": 1 }), json!({ "a": 2, "b": 3 })]).await;
    let results: Vec<&str> = outcomes
        .iter()
        .map(|outcome| outcome.expect_result())
        .collect();
    assert_eq!(results, ["1", "5"]);

    // With a context of the test's making.
    let test = GadgetTest::new(Report).dependency("search", "three books");
    assert_eq!(
        test.run(json!({})).await.expect_result(),
        "Found: three books"
    );

    // Validation alone.
    assert_eq!(
        validate_gadget_params(Calculator, json!({ "a": 5 }))?,
        json!({ "a": 5, "b": 0 })
    );
    let refused = validate_gadget_params(Calculator, json!({ "b": 0.5 }));
    let refused = refused.err().ok_or("a is missing")?;
    println!("{refused}");
    assert_eq!(refused.problems.len(), 2);
    Ok(())
}
