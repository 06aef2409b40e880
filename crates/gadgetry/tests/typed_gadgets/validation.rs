//! Parameters checked without a run.

use gadgetry::proto::call::Outcome;
use gadgetry::proto::schema::GadgetSpec;
use gadgetry::schemars::JsonSchema;
use gadgetry::serde::Deserialize;
use gadgetry::{CommandGadget, DynGadget, IntoGadget, from_fn, validate_gadget_params};
use serde_json::{Value, json};

use super::support::Probe;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(crate = "gadgetry::serde")]
#[schemars(crate = "gadgetry::schemars")]
#[expect(dead_code, reason = "only their checks count")]
struct Sum {
    a: u32,
    #[serde(default)]
    b: u32,
    #[serde(default)]
    nested: Option<Inner>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(crate = "gadgetry::serde")]
#[schemars(crate = "gadgetry::schemars")]
#[expect(dead_code, reason = "only their checks count")]
struct Inner {
    list: Vec<u32>,
}

fn shown(result: Result<Value, gadgetry::gadget::InvalidParams>) -> String {
    result.map_or_else(|error| error.to_string(), |params| params.to_string())
}

#[test]
fn of_a_typed_gadget() {
    for (params, expected) in [
        (json!({ "a": 5 }), r#"{"a":5,"b":0}"#),
        (json!({ "a": 5, "b": 6, "x": 7 }), r#"{"a":5,"b":6,"x":7}"#),
        (
            json!({ "b": "6" }),
            "Invalid parameters:\n  - a: expected integer, but it is missing\n  - b: expected integer, got string \"6\"",
        ),
        (
            json!({ "a": 5, "nested": { "list": [1, 5_000_000_000_i64] } }),
            "Invalid parameters:\n  - nested.list.1: invalid value: integer `5000000000`, expected u32",
        ),
        (
            json!([1]),
            "Invalid parameters:\n  - root: expected object, got array [1]",
        ),
    ] {
        let probe = Probe::<Sum>::default();
        assert_eq!(shown(validate_gadget_params(probe, params)), expected);
    }
}

#[test]
fn of_any_gadget() {
    let spec = |parameters| GadgetSpec {
        name: "Any".to_owned(),
        parameters,
        ..GadgetSpec::default()
    };
    let schema = json!({ "properties": { "a": { "type": "number", "default": 1 } } });
    let function = from_fn(spec(schema.clone()), |_, _| async { Outcome::ok("") });
    let program = CommandGadget::new(spec(schema), "true", [] as [&str; 0]);
    let check = |params: Value, expected: &str| {
        assert_eq!(
            shown(validate_gadget_params(function.clone(), params.clone())),
            expected
        );
        assert_eq!(
            shown(validate_gadget_params(program.clone(), params.clone())),
            expected
        );
        let held = program.clone().into_gadget();
        assert_eq!(
            shown(validate_gadget_params(held.clone(), params.clone())),
            expected
        );
        let object: &dyn DynGadget = held.as_ref();
        assert_eq!(shown(object.check(params)), expected);
    };
    check(json!({}), r#"{"a":1}"#);
    check(
        json!({ "a": "x" }),
        "Invalid parameters:\n  - a: expected number, got string \"x\"",
    );
    // The schema admits it, but parameters are an object.
    check(
        json!(5),
        "Invalid parameters:\n  - root: expected object, got number 5",
    );

    let broken = from_fn(spec(json!({ "type": "text" })), |_, _| async {
        Outcome::ok("")
    });
    let problems = shown(validate_gadget_params(broken, json!({})));
    assert!(
        problems.starts_with("Invalid parameters:\n  - root: invalid schema at #"),
        "{problems}"
    );
}
