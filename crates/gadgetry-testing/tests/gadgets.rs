//! Gadgets by themselves: real ones, and mocks.

use std::time::Duration;

use gadgetry::proto::call::Outcome;
use gadgetry::proto::id::InvocationId;
use gadgetry::proto::schema::GadgetSpec;
use gadgetry::proto::usage::Price;
use gadgetry::schemars::JsonSchema;
use gadgetry::serde::Deserialize;
use gadgetry::{
    CancellationToken, DynGadget, ExecutionContext, Gadget, GadgetError, GadgetInfo, GadgetOutput,
    HumanQuestion, IntoGadget, MediaKind, from_fn, gadget, validate_gadget_params,
};
use gadgetry_testing::{
    GadgetTest, MockGadget, MockGadgetBuilder, MockModel, TestGadgetResult, after, any, elapsed,
    paused, reply, test_gadget, test_gadget_batch,
};
use serde_json::{Value, json};

use crate::support::panic_of;

/// A typed gadget that uses all of its context.
struct Convert;

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "gadgetry::serde")]
#[schemars(crate = "gadgetry::schemars")]
struct Amount {
    #[schemars(range(min = 0.0))]
    amount: f64,
    #[serde(default = "euro")]
    currency: String,
}

fn euro() -> String {
    "EUR".to_owned()
}

impl Gadget for Convert {
    type Params = Amount;
    type Output = GadgetOutput;

    fn info(&self) -> GadgetInfo {
        GadgetInfo::new("Convert", "Converts to US dollars")
    }

    async fn execute(
        &self,
        params: Amount,
        context: ExecutionContext,
    ) -> Result<GadgetOutput, GadgetError> {
        context.report_cost(0.25).unwrap();
        let rate = context.dependency("rate").unwrap_or("1");
        let id = context.invocation_id();
        let text = format!("{id}: {} {} at {rate}", params.amount, params.currency);
        let output = GadgetOutput::from(text).with_cost(0.5);
        Ok(output.with_image("image/png", [1_u8]))
    }
}

#[test]
fn a_typed_gadget() {
    let test = GadgetTest::new(Convert)
        .invocation_id("c")
        .dependency("rate", "1.1");
    let outcome = paused(test.run(json!({ "amount": 3 })));
    assert_eq!(outcome.expect_result(), "c: 3 EUR at 1.1");
    assert_eq!(outcome.error, None);
    let completed = json!({ "amount": 3, "currency": "EUR" });
    assert_eq!(outcome.validated_params, Some(completed));
    assert!((outcome.cost - 0.75).abs() < 1e-9, "{}", outcome.cost);
    assert!(!outcome.completes_run);
    assert_eq!(outcome.media[0].kind, MediaKind::Image);
}

/// Adds two numbers.
#[gadget]
fn add(
    /// The first
    a: i64,
    /// The second
    #[serde(default)]
    b: i64,
) -> i64 {
    a + b
}

#[test]
fn a_function() {
    let outcome = paused(test_gadget(Add, json!({ "a": 5 })));
    assert_eq!(outcome.expect_result(), "5");
    assert_eq!(outcome.validated_params, Some(json!({ "a": 5, "b": 0 })));
    let outcome = paused(test_gadget(Add, json!({})));
    assert_eq!(
        outcome.expect_error(),
        "Error: Invalid parameters for 'Add':\n  - a: expected integer, but it is missing",
    );
}

#[test]
fn parameters_that_are_not_valid() {
    let wrong = [
        (json!({}), "amount: expected number, but it is missing"),
        (json!({ "amount": -1 }), "amount: "),
        (
            json!({ "amount": 1, "currency": 2 }),
            "currency: expected string",
        ),
        (json!([]), "root: expected object"),
    ];
    let outcomes = paused(test_gadget_batch(
        Convert,
        wrong.clone().map(|(params, _)| params),
    ));
    for (outcome, (params, problem)) in outcomes.iter().zip(wrong) {
        let start = format!("Error: Invalid parameters for 'Convert':\n  - {problem}");
        assert!(
            outcome.expect_error().starts_with(&start),
            "{params}: {outcome:?}"
        );
        let nothing = (&outcome.result, &outcome.validated_params, outcome.cost);
        assert_eq!(nothing, (&None, &None, 0.0));
    }
}

#[test]
fn validation_can_be_skipped() {
    let spec = GadgetSpec {
        name: "Echo".to_owned(),
        parameters: json!({ "type": "object", "required": ["a"] }),
        ..GadgetSpec::default()
    };
    let echo = from_fn(
        spec,
        |params, _| async move { Outcome::ok(params.to_string()) },
    );
    let echo = GadgetTest::new(echo);
    paused(echo.run(json!({ "b": 1 }))).expect_error();
    let outcome = paused(echo.skip_validation().run(json!({ "b": 1 })));
    assert_eq!(outcome.expect_result(), "{\"b\":1}");
}

#[test]
fn a_gadget_that_no_toolbox_takes() {
    let nameless = MockGadget::builder("").build();
    let outcome = paused(test_gadget(nameless, json!({})));
    assert_eq!(outcome.expect_error(), "a gadget has no name");
}

#[test]
fn a_batch_is_in_order() {
    let echo = MockGadget::builder("Echo")
        .returns_fn(ToString::to_string)
        .build();
    let params = [json!({ "n": 1 }), json!({ "n": 2 })];
    let outcomes = paused(test_gadget_batch(echo, params));
    let results: Vec<_> = outcomes
        .iter()
        .map(TestGadgetResult::expect_result)
        .collect();
    assert_eq!(results, ["{\"n\":1}", "{\"n\":2}"]);
}

#[test]
fn expectations_show_the_outcome() {
    let failed = paused(test_gadget(
        MockGadget::builder("F").fails("no").build(),
        json!({}),
    ));
    let words = panic_of(|| failed.expect_result().to_owned());
    assert!(
        words.starts_with("the gadget gave no result: TestGadgetResult {"),
        "{words}"
    );
    let fine = paused(test_gadget(MockGadget::builder("F").build(), json!({})));
    let words = panic_of(|| fine.expect_error().to_owned());
    assert!(
        words.starts_with("the gadget did not fail: TestGadgetResult {"),
        "{words}"
    );
}

/// The result or error, the cost, and the time that it took.
fn check(builder: MockGadgetBuilder, expected: Result<&str, &str>, cost: f64, took_ms: u64) {
    let test = test_gadget(builder.build(), json!({}));
    let (outcome, took) = paused(elapsed(test));
    let (result, error) = (outcome.result.as_deref(), outcome.error.as_deref());
    assert_eq!((result, error), (expected.ok(), expected.err()));
    assert!((outcome.cost - cost).abs() < 1e-9, "{}", outcome.cost);
    assert_eq!(took, Duration::from_millis(took_ms));
}

#[test]
fn what_mocks_do() {
    let mock = || MockGadget::builder("Mock");
    let ms = Duration::from_millis;
    check(mock(), Ok(""), 0.0, 0);
    check(mock().returns("a").cost(0.5), Ok("a"), 0.5, 0);
    check(mock().fails("no").cost(0.5), Err("no"), 0.5, 0);
    check(
        mock().panics("oh").cost(0.5),
        Err("Mock panicked: oh"),
        0.5,
        0,
    );
    check(mock().returns("a").delay(ms(700)), Ok("a"), 0.0, 700);
    let dear = mock().ends_fn(|_, _| Outcome {
        cost: 1.0,
        ..Outcome::ok("b")
    });
    check(dear.cost(0.5), Ok("b"), 1.5, 0);
    // Cancelled at its timeout, it ends at once.
    let late = mock().delay(ms(5000)).timeout(ms(300)).cost(0.5);
    let error = "Gadget 'Mock' execution exceeded timeout of 300ms";
    check(late, Err(error), 0.5, 300);
    check(mock().delay(ms(300)).timeout(ms(301)), Ok(""), 0.0, 300);
}

#[test]
fn a_gadget_that_ignores_its_timeout() {
    let spec = GadgetSpec {
        name: "Stubborn".to_owned(),
        timeout_ms: Some(100),
        ..GadgetSpec::default()
    };
    let stubborn = from_fn(spec, |_, context| async move {
        context.report_cost(0.5).unwrap();
        std::future::pending::<Outcome>().await
    });
    let (outcome, took) = paused(elapsed(test_gadget(stubborn, json!({}))));
    assert_eq!(
        outcome.expect_error(),
        "Gadget 'Stubborn' execution exceeded timeout of 100ms"
    );
    assert!((outcome.cost - 0.5).abs() < 1e-9);
    assert_eq!(took, Duration::from_millis(2100));
}

#[test]
fn cancelling_ends_a_gadget_and_a_timeout_spares_the_token() {
    let token = CancellationToken::new();
    let slow = MockGadget::builder("Slow")
        .delay(Duration::from_mins(1))
        .build();
    let test = GadgetTest::new(slow).cancellation(token.clone());
    let cancel = after(Duration::from_secs(1), async { token.cancel() });
    let both = async { tokio::join!(test.run(json!({})), cancel).0 };
    let (outcome, took) = paused(elapsed(both));
    assert_eq!(outcome.expect_error(), "cancelled");
    assert_eq!(took, Duration::from_secs(1));
    // A timeout cancels the gadget, and not the test's token.
    let token = CancellationToken::new();
    let slow = MockGadget::builder("Slow")
        .delay(Duration::from_mins(1))
        .timeout(Duration::from_secs(1))
        .build();
    let test = GadgetTest::new(slow).cancellation(token.clone());
    paused(test.run(json!({}))).expect_error();
    assert!(!token.is_cancelled());
}

#[test]
fn how_a_gadget_can_end_a_run() {
    let done = Outcome {
        completes_run: true,
        asks_human: Some("Sure?".to_owned()),
        ..Outcome::ok("done")
    };
    let done = MockGadget::builder("Done").ends_with(done).build();
    let outcome = paused(test_gadget(done, json!({})));
    assert!(outcome.completes_run);
    assert_eq!(outcome.asks_human.as_deref(), Some("Sure?"));
}

#[test]
fn mocks_record_their_calls() {
    let mock = MockGadget::builder("Mock")
        .param("a", "integer")
        .returns("x")
        .build();
    assert_eq!((mock.call_count(), mock.last_call()), (0, None));
    let test = GadgetTest::new(mock.clone());
    paused(test.clone().invocation_id("one").run(json!({ "a": 1 })));
    paused(test.clone().invocation_id("two").run(json!({ "a": 2 })));
    paused(test.run(json!({ "a": "no integer" }))).expect_error();
    assert_eq!(mock.call_count(), 2, "a call that is not valid never comes");
    let ids: Vec<_> = mock
        .calls()
        .into_iter()
        .map(|call| call.invocation_id)
        .collect();
    assert_eq!(ids, ["one", "two"].map(InvocationId::from));
    assert_eq!(mock.last_call().unwrap().parameters, json!({ "a": 2 }));
    assert!(mock.was_called_with(&json!({ "a": 1 })));
    assert!(!mock.was_called_with(&json!({ "a": 3 })));
}

#[test]
fn a_mock_has_the_specification_it_was_built_with() {
    let mock = MockGadget::builder("Mock")
        .description("Does nothing")
        .param("a", "integer")
        .param("b", "string")
        .timeout(Duration::from_secs(3))
        .spec(|spec| spec.exclusive = true)
        .build();
    let spec = mock.clone().into_gadget().spec().clone();
    let schema = json!({
        "type": "object",
        "properties": { "a": { "type": "integer" }, "b": { "type": "string" } },
        "required": ["a", "b"],
    });
    let expected = GadgetSpec {
        name: "Mock".to_owned(),
        description: "Does nothing".to_owned(),
        parameters: schema,
        timeout_ms: Some(3000),
        exclusive: true,
        ..GadgetSpec::default()
    };
    assert_eq!(spec, expected);
    assert!(validate_gadget_params(mock, json!({ "a": 1 })).is_err());
    let own = MockGadget::builder("Mock")
        .schema(Value::Bool(true))
        .build();
    assert_eq!(own.spec().parameters, Value::Bool(true));
}

#[test]
fn invalid_costs_panic() {
    for cost in [-1.0, f64::NAN, f64::INFINITY] {
        let words = panic_of(|| MockGadget::builder("M").cost(cost));
        assert!(
            words.starts_with("a cost is 0 or more US dollars, and not "),
            "{words}"
        );
    }
}

/// Does with its context what `work` says.
fn with_context<R, T>(
    work: impl Fn(ExecutionContext) -> R + Send + Sync + 'static,
) -> impl IntoGadget
where
    R: Future<Output = Result<T, GadgetError>> + Send + 'static,
    T: Into<GadgetOutput> + 'static,
{
    let spec = GadgetSpec {
        name: "Work".to_owned(),
        ..GadgetSpec::default()
    };
    from_fn(spec, move |_, context| work(context))
}

#[test]
fn a_model_answers_the_gadget_and_costs() {
    let price = Price::default().input(1e6);
    let replies = || MockModel::builder().price(price.clone()).when(any());
    let main = replies().replies(reply().text("main").tokens(1, 0));
    let other = replies().replies(reply().text("other").tokens(2, 0));
    let gadget = with_context(|context| async move {
        let model = context
            .model()
            .ok_or_else(|| GadgetError::new("no model"))?;
        let first = model.complete("?", ()).await?;
        let second = model.named("other")?.complete("?", ()).await?;
        let left = context.budget_left();
        Ok(format!("{first} {second} {left:?}"))
    });
    let test = GadgetTest::new(gadget)
        .model(main.build())
        .named_model("other", other.build())
        .budget(10.0);
    for _ in 0..2 {
        let outcome = paused(test.run(json!({})));
        assert_eq!(outcome.expect_result(), "main other Some(7.0)");
        assert!((outcome.cost - 3.0).abs() < 1e-9, "{}", outcome.cost);
    }
}

#[test]
fn a_spent_budget_and_a_model_that_the_test_does_not_give() {
    let ask = || {
        with_context(|context| async move {
            context.report_cost(0.5)?;
            let model = context
                .model()
                .ok_or_else(|| GadgetError::new("no model"))?;
            Ok(model.complete("?", ()).await?)
        })
    };
    let check = |test: GadgetTest, words: &str| {
        let outcome = paused(test.run(json!({})));
        assert!(outcome.expect_error().contains(words), "{outcome:?}");
    };
    let mute = MockModel::in_order([""; 0]);
    check(
        GadgetTest::new(ask()).model(mute).budget(0.5),
        "the budget is spent",
    );
    check(
        GadgetTest::new(ask()).budget(1.0),
        "add one with `.model(…)`",
    );
    check(GadgetTest::new(ask()), "no model");
}

#[test]
fn questions_get_the_answers_of_the_test() {
    let ask_twice = || {
        with_context(|context| async move {
            let first = context.ask_human("One?").await?;
            let second = context.ask_human("Two?").await?;
            Ok(format!("{first}, {second}"))
        })
    };
    let check = |test: GadgetTest, result: Result<&str, &str>, questions: &[&str]| {
        for _ in 0..2 {
            let outcome = paused(test.run(json!({})));
            match result {
                Ok(text) => assert_eq!(outcome.expect_result(), text),
                Err(error) => assert_eq!(outcome.expect_error(), error),
            }
            assert_eq!(outcome.questions, questions);
        }
    };
    let both = ["One?", "Two?"];
    let test = || GadgetTest::new(ask_twice());
    check(test().answers(["yes", "no"]), Ok("yes, no"), &both);
    check(
        test().answers(["yes"]),
        Err("the question was not answered"),
        &both,
    );
    let loud = |question: HumanQuestion| async move { Some(question.text.to_uppercase()) };
    check(test().human(loud), Ok("ONE?, TWO?"), &both);
    check(test(), Err("no user is available to answer"), &[]);
    check(
        test().budget(1.0),
        Err("no user is available to answer"),
        &[],
    );

    let ends =
        || with_context(|_| async { Err::<(), _>(GadgetError::human_input_required("Which?")) });
    let outcome = paused(GadgetTest::new(ends()).answers(["this"]).run(json!({})));
    assert_eq!(outcome.expect_result(), "this");
    assert_eq!(outcome.asks_human.as_deref(), Some("Which?"));
    assert_eq!(outcome.questions, ["Which?"]);
    let outcome = paused(GadgetTest::new(ends()).run(json!({})));
    assert_eq!(
        outcome.expect_error(),
        "The question has no answer: no user is available in this run, or they declined. The question was: Which?"
    );
}
