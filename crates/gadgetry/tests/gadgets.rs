//! Function gadgets and the context of a call.

use std::collections::BTreeMap;

use gadgetry::CancellationToken;
use gadgetry::proto::call::Outcome;
use gadgetry::proto::spec::GadgetSpec;
use gadgetry::{DynGadget, ExecutionContext, Invocation, from_fn};
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
    let in_future = from_fn(spec(), |_, _| async { panic!("oh {}", "no") });
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
        panic!("afterwards")
    });
    let cost = execute(&fails, json!({})).await.cost;
    assert!((cost - 0.25).abs() < f64::EPSILON, "{cost}");
}
