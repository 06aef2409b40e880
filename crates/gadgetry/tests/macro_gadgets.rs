//! Functions that `#[gadget]` makes gadgets of: what the model is told about them, and what a call does.

#![deny(missing_docs, unreachable_pub, unused, clippy::pedantic)]

#[path = "ui/pass/alone.rs"]
mod alone;

use std::collections::{BTreeMap, HashMap};
use std::io;

use gadgetry::context::Invocation;
use gadgetry::proto::call::Outcome;
use gadgetry::proto::schema::{GadgetSpec, OnInterrupt};
use gadgetry::schemars::JsonSchema;
use gadgetry::serde::{Deserialize, Serialize};
use gadgetry::{
    CancellationToken, ExecutionContext, GadgetError, GadgetOutput, IntoGadget, Toolbox, gadget,
};
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "gadgetry::serde", rename_all = "lowercase")]
#[schemars(crate = "gadgetry::schemars")]
enum Units {
    Celsius,
    Fahrenheit,
}

/// Get weather for a city.
///
/// Knows the coming days.
#[gadget(
    timeout = "10s", max_concurrent = 2, sticky_result,
    example(params = {"city": "Paris"}, output = "Paris: 21°C", comment = "Just the city"),
    example(params = {"city": "Oslo", "units": "fahrenheit", "days": 1 + 1}),
)]
async fn weather(
    /// City name,
    /// like "Paris"
    #[schemars(length(min = 1))]
    city: String,
    units: Option<Units>,
    /// How many days ahead
    #[gadget(default = 3)]
    #[schemars(range(max = 14))]
    days: u32,
    context: ExecutionContext,
) -> Result<String, io::Error> {
    if days == 0 {
        return Err(io::Error::other("no weather for no days"));
    }
    tokio::task::yield_now().await;
    let letter = match units {
        None | Some(Units::Celsius) => 'C',
        Some(Units::Fahrenheit) => 'F',
    };
    let id = context.invocation_id();
    Ok(format!("{id} {city} {letter} {days}"))
}

fn spec_of(gadget: impl IntoGadget) -> GadgetSpec {
    gadget.into_gadget().spec().clone()
}

fn context(parameters: Value) -> (Invocation, ExecutionContext) {
    let invocation = Invocation {
        gadget_name: "Test".to_owned(),
        invocation_id: "t".into(),
        parameters,
        dependencies: BTreeMap::new(),
    };
    let context = ExecutionContext::new(&invocation, CancellationToken::new());
    (invocation, context)
}

/// Calls a gadget as a run does.
async fn execute(gadget: impl IntoGadget, parameters: Value) -> Outcome {
    let mut toolbox = Toolbox::default();
    toolbox.add(gadget).expect("a gadget");
    let registered = toolbox.registry().iter().next().expect("just added");
    let mut parameters = parameters;
    registered.schema().apply_defaults(&mut parameters);
    assert_eq!(registered.schema().validate(&parameters), []);
    let (invocation, context) = context(parameters);
    let gadget = toolbox.get(registered.name()).expect("just added");
    invocation.execute(gadget.as_ref(), context).await
}

#[test]
fn the_specification_follows_the_function() {
    let expected = json!({
        "name": "Weather",
        "description": "Get weather for a city.\n\nKnows the coming days.",
        "parameters": {
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "city": { "description": "City name,\nlike \"Paris\"", "type": "string", "minLength": 1 },
                "units": { "type": ["string", "null"], "enum": ["celsius", "fahrenheit", null] },
                "days": {
                    "description": "How many days ahead",
                    "type": "integer", "minimum": 0, "maximum": 14, "default": 3,
                },
            },
            "required": ["city"],
        },
        "examples": [
            { "params": { "city": "Paris" }, "output": "Paris: 21°C", "comment": "Just the city" },
            { "params": { "city": "Oslo", "units": "fahrenheit", "days": 2 } },
        ],
        "timeoutMs": 10_000,
        "maxConcurrent": 2,
        "exclusive": false,
        "stickyResult": true,
    });
    assert_eq!(json!(spec_of(Weather)), expected);
}

#[tokio::test]
async fn a_call_is_a_call_of_the_function() {
    for (parameters, expected) in [
        (json!({ "city": "Oslo" }), Outcome::ok("t Oslo C 3")),
        (
            json!({ "days": 1, "units": "fahrenheit", "city": "Oslo" }),
            Outcome::ok("t Oslo F 1"),
        ),
        (
            json!({ "city": "Oslo", "units": null }),
            Outcome::ok("t Oslo C 3"),
        ),
        (
            json!({ "city": "Oslo", "days": 0 }),
            Outcome::error("no weather for no days"),
        ),
    ] {
        assert_eq!(execute(Weather, parameters).await, expected);
    }
}

#[tokio::test]
async fn the_function_can_still_be_called() {
    let (_, context) = context(json!({}));
    let result = weather("Oslo".to_owned(), Some(Units::Celsius), 2, context).await;
    assert_eq!(result.expect("weather"), "t Oslo C 2");
}

mod results {
    use super::*;

    #[derive(Serialize)]
    #[serde(crate = "gadgetry::serde")]
    struct Point {
        x: u8,
    }

    #[gadget(description = "A text")]
    fn a_text() -> &'static str {
        "text"
    }

    #[gadget(description = "A value")]
    fn a_value() -> Point {
        Point { x: 1 }
    }

    #[gadget(description = "Nothing")]
    fn nothing() {}

    #[gadget(description = "An output")]
    fn an_output() -> GadgetOutput {
        GadgetOutput::new("output").with_cost(0.5)
    }

    #[gadget(description = "A result")]
    async fn a_result() -> Result<impl Serialize, String> {
        Ok(std::future::ready(vec![1, 2]).await)
    }

    #[gadget(description = "An error that is a text")]
    fn an_error() -> Result<(), String> {
        Err("no".to_owned())
    }

    #[gadget(description = "Ends the run")]
    fn ends_run() -> Result<String, GadgetError> {
        Err(GadgetError::task_complete("all done"))
    }

    #[tokio::test]
    async fn whatever_is_returned_reaches_the_model() {
        let cost = Outcome {
            cost: 0.5,
            ..Outcome::ok("output")
        };
        let done = Outcome {
            completes_run: true,
            ..Outcome::ok("all done")
        };
        assert_eq!(execute(AText, json!({})).await, Outcome::ok("text"));
        assert_eq!(execute(AValue, json!({})).await, Outcome::ok("{\"x\":1}"));
        assert_eq!(execute(Nothing, json!({})).await, Outcome::ok(""));
        assert_eq!(execute(AnOutput, json!({})).await, cost);
        assert_eq!(execute(AResult, json!({})).await, Outcome::ok("[1,2]"));
        assert_eq!(execute(AnError, json!({})).await, Outcome::error("no"));
        assert_eq!(execute(EndsRun, json!({})).await, done);
    }
}

mod parameters {
    use super::*;

    /// Not `Serialize`, so that its default cannot be told.
    #[derive(Default, Deserialize, JsonSchema)]
    #[serde(crate = "gadgetry::serde")]
    #[schemars(crate = "gadgetry::schemars")]
    struct Silent {}

    fn limit() -> u8 {
        9
    }

    #[expect(clippy::too_many_arguments, reason = "one for each kind of default")]
    #[gadget(description = "Every kind of default")]
    fn defaults(
        #[gadget(default)] plain: bool,
        #[gadget(default = limit())] called: u8,
        #[gadget(default = "Oslo")] text: String,
        #[gadget(default = vec![1, 2])] list: Vec<i64>,
        #[gadget(default = Some(4))] maybe: Option<u8>,
        #[gadget(default = HashMap::<String, u8>::new())] map: HashMap<String, u8>,
        #[gadget(default = 0)] float: f64,
        #[gadget(default = -2)] below: f32,
        #[gadget(default)] _silent: Silent,
    ) -> String {
        format!("{plain} {called} {text} {list:?} {maybe:?} {map:?} {float} {below}")
    }

    #[tokio::test]
    async fn defaults_are_in_the_schema_and_used() {
        let parameters = spec_of(Defaults).parameters;
        let told = |name: &str| parameters["properties"][name].get("default").cloned();
        assert_eq!(parameters.get("required"), None);
        assert_eq!(told("plain"), Some(json!(false)));
        assert_eq!(told("called"), Some(json!(9)));
        assert_eq!(told("text"), Some(json!("Oslo")));
        assert_eq!(told("list"), Some(json!([1, 2])));
        assert_eq!(told("maybe"), Some(json!(4)));
        assert_eq!(told("map"), Some(json!({})));
        assert_eq!(told("float"), Some(json!(0.0)));
        assert_eq!(told("below"), Some(json!(-2.0)));
        assert_eq!(told("_silent"), None);
        assert_eq!(
            execute(Defaults, json!({})).await,
            Outcome::ok("false 9 Oslo [1, 2] Some(4) {} 0 -2")
        );
        assert_eq!(
            execute(
                Defaults,
                json!({ "plain": true, "text": "Rome", "maybe": null })
            )
            .await,
            Outcome::ok("true 9 Rome [1, 2] None {} 0 -2")
        );
    }

    /// Takes the name that the parameters' own type might have.
    #[derive(Deserialize, JsonSchema)]
    #[serde(crate = "gadgetry::serde")]
    #[schemars(crate = "gadgetry::schemars")]
    struct NamesParams {
        params: u8,
    }

    fn default_context() -> u8 {
        7
    }

    #[gadget(description = "Names that the macro might use, too", name = "say")]
    fn names(
        names: NamesParams,
        params: u8,
        r#type: u8,
        #[gadget(default = default_context())] context: u8,
        #[serde(rename = "no-name")] mut value: u8,
        ctx: &ExecutionContext,
    ) -> String {
        value += 1;
        let id = ctx.invocation_id();
        format!(
            "{} {params} {} {context} {value} {id}",
            names.params, r#type
        )
    }

    #[tokio::test]
    async fn any_name_will_do() {
        let spec = spec_of(Names);
        assert_eq!(spec.name, "say");
        assert_eq!(
            spec.parameters["required"],
            json!(["names", "params", "type", "no-name"])
        );
        let parameters = json!({ "names": { "params": 1 }, "params": 2, "type": 3, "no-name": 4 });
        assert_eq!(execute(Names, parameters).await, Outcome::ok("1 2 3 7 5 t"));
    }

    #[gadget(description = "Nothing but a context")]
    fn cost(_: ExecutionContext) -> &'static str {
        "free"
    }

    #[tokio::test]
    async fn who_takes_nothing_is_given_nothing() {
        let parameters = spec_of(Cost).parameters;
        assert_eq!(parameters["type"], "object");
        assert_eq!(parameters["additionalProperties"], false);
        assert_eq!(execute(Cost, json!({})).await, Outcome::ok("free"));
    }
}

mod places {
    use super::*;

    pub(super) mod inside {
        use gadgetry::gadget;

        #[gadget(
            description = "Seen from outside",
            exclusive,
            timeout = 250,
            on_interrupt = "ask"
        )]
        pub(in super::super) fn visible() {}

        #[cfg(any())]
        #[gadget(description = "Absent: neither is its type there")]
        fn absent() -> NoSuchType {}

        #[gadget(description = "Absent as well")]
        #[cfg(any())]
        fn visible() -> NoSuchType {}
    }

    macro_rules! greeter {
        ($name:ident, $parameter:ident: $ty:ty, $greeting:literal) => {
            #[gadget(description = $greeting)]
            fn $name($parameter: $ty, context: ExecutionContext) -> String {
                format!("{} {} {}", $greeting, $parameter, context.invocation_id())
            }
        };
    }

    greeter!(say_hello, name: String, "Hello");

    #[tokio::test]
    async fn a_gadget_may_stand_anywhere() {
        #[derive(Deserialize, JsonSchema)]
        #[serde(crate = "gadgetry::serde")]
        #[schemars(crate = "gadgetry::schemars")]
        struct Local(u8);

        /// In a function.
        #[gadget]
        fn local_gadget(value: Local) -> u8 {
            value.0
        }

        assert_eq!(
            execute(LocalGadget, json!({ "value": 3 })).await,
            Outcome::ok("3")
        );
        assert_eq!(
            execute(SayHello, json!({ "name": "Ada" })).await,
            Outcome::ok("Hello Ada t")
        );
        let spec = spec_of(inside::Visible);
        assert!(spec.exclusive);
        assert_eq!(spec.timeout_ms, Some(250));
        assert_eq!(spec.on_interrupt, OnInterrupt::Ask);
        inside::visible();
    }
}

/// Mistakes are compile errors where they were made, all of them at once. `TRYBUILD=overwrite` writes the files anew.
#[test]
fn mistakes_are_compile_errors() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
    // Eleven that users make.
    cases.compile_fail("tests/ui/typical/*.rs");
}
