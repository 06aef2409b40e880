//! Function gadgets and the context of a call.

use std::collections::BTreeMap;

use gadgetry::CancellationToken;
use gadgetry::proto::call::Outcome;
use gadgetry::proto::schema::GadgetSpec;
use gadgetry::{DynGadget, ExecutionContext, GadgetError, GadgetOutput, Invocation, from_fn};
use serde_json::{Value, json};

fn spec() -> GadgetSpec {
    GadgetSpec {
        name: "Test".to_owned(),
        ..GadgetSpec::default()
    }
}

async fn execute(gadget: &dyn DynGadget, parameters: Value) -> Outcome {
    let invocation = Invocation {
        gadget_name: "Test".to_owned(),
        invocation_id: "t".into(),
        parameters,
        dependencies: BTreeMap::from([("a".into(), "result of a".into())]),
    };
    let context = ExecutionContext::new(&invocation, CancellationToken::new());
    invocation.execute(gadget, context).await
}

fn panics(words: &str) -> Outcome {
    panic!("{words}")
}

#[tokio::test]
async fn a_function_gets_parameters_and_dependencies() {
    let gadget = from_fn(spec(), |parameters, context| async move {
        assert_eq!(context.invocation_id().as_str(), "t");
        assert_eq!(context.dependency("b"), None);
        let a = context.dependency("a").unwrap_or_default();
        Outcome::ok(format!("{} {a}", parameters["x"]))
    });
    let outcome = execute(&gadget, json!({ "x": 1 })).await;
    assert_eq!(outcome, Outcome::ok("1 result of a"));
}

#[tokio::test]
async fn a_panic_is_an_error_wherever_it_happens() {
    let in_future = from_fn(spec(), |_, _| async { panics(&format!("oh {}", "no")) });
    assert_eq!(
        execute(&in_future, json!({})).await,
        Outcome::error("Test panicked: oh no")
    );
    let in_call = from_fn(spec(), |parameters: Value, _| {
        assert!(parameters.is_null(), "not null");
        async { Outcome::ok("") }
    });
    assert_eq!(
        execute(&in_call, json!({})).await,
        Outcome::error("Test panicked: not null")
    );
}

#[tokio::test]
async fn a_function_may_return_a_result() {
    async fn check(gadget: impl DynGadget, parameters: Value, expected: Outcome) {
        assert_eq!(execute(&gadget, parameters).await, expected);
    }
    let double = || {
        from_fn(spec(), |parameters, _| async move {
            let number: i64 = parameters["x"].as_str().unwrap_or("?").parse()?;
            Ok(number * 2)
        })
    };
    check(double(), json!({ "x": "21" }), Outcome::ok("42")).await;
    let words = "invalid digit found in string";
    check(double(), json!({}), Outcome::error(words)).await;

    let paid = from_fn(spec(), |_, _| async {
        Ok(GadgetOutput::new("paid").with_cost(0.5))
    });
    let cost = Outcome {
        cost: 0.5,
        ..Outcome::ok("paid")
    };
    check(paid, json!({}), cost).await;

    let done = from_fn(spec(), |_, _| async {
        Err::<(), _>(GadgetError::task_complete("all done"))
    });
    let completes = Outcome {
        completes_run: true,
        ..Outcome::ok("all done")
    };
    check(done, json!({}), completes).await;

    let asks = from_fn(spec(), |parameters, _| async move {
        if parameters["x"].is_null() {
            return Err(GadgetError::human_input_required("Which x?"));
        }
        Ok(())
    });
    let asked = Outcome {
        asks_human: Some("Which x?".to_owned()),
        ..Outcome::error(
            "The question has no answer: no user is available in this run, or they declined. The question was: Which x?",
        )
    };
    check(asks, json!({}), asked).await;

    let stops = from_fn(spec(), |_, context| async move {
        context.cancellation().cancel();
        context.throw_if_cancelled()?;
        Ok("went on")
    });
    let cancelled = Outcome::error("Gadget execution was cancelled");
    check(stops, json!({}), cancelled).await;
}

#[tokio::test]
async fn costs_add_up_and_must_be_amounts() {
    let gadget = from_fn(spec(), |_, context| async move {
        for dollars in [-1.0, f64::NAN, f64::INFINITY] {
            let refusal = context.report_cost(dollars).map_err(|it| it.to_string());
            assert!(refusal.is_err_and(|it| it.contains("finite amount")));
        }
        context.report_cost(0.25).expect("an amount");
        context.report_cost(0.5).expect("an amount");
        Outcome {
            cost: 1.0,
            ..Outcome::ok("")
        }
    });
    let cost = execute(&gadget, json!({})).await.cost;
    assert!((cost - 1.75).abs() < f64::EPSILON, "{cost}");

    let fails = from_fn(spec(), |_, context: ExecutionContext| async move {
        context.report_cost(0.25).expect("an amount");
        panics("afterwards")
    });
    let cost = execute(&fails, json!({})).await.cost;
    assert!((cost - 0.25).abs() < f64::EPSILON, "{cost}");
}
