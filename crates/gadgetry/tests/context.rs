//! What a running gadget may ask of its context, under tokio's paused clock.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::stage::{Priced, call, gadget, play, play_until, price, script, services};
use futures_util::StreamExt as _;
use gadgetry::context::HumanError;
use gadgetry::driver::SubagentError;
use gadgetry::model_client::{ModelCallError, ModelCallOptions};
use gadgetry::proto::call::Outcome;
use gadgetry::proto::message::{Message, Request, Role};
use gadgetry::proto::run::{Command, Input, RunConfig};
use gadgetry::proto::usage::Usage;
use gadgetry::{
    BudgetScope, CancellationToken, ExecutionContext, Invocation, Limiter, Model, Models, Services,
};
use serde_json::{Value, json};
use tokio::time::sleep;

/// Runs `work` as the only call of a run.
async fn check<R>(
    adjust: impl FnOnce(&mut Services),
    work: impl Fn(ExecutionContext) -> R + Send + Sync + 'static,
    expected: &[&str],
) where
    R: Future<Output = Outcome> + Send + 'static,
{
    let replies = [json!(call("Work:w")), json!("done")];
    let mut services = services(&replies, &[gadget("Work", work)]);
    adjust(&mut services);
    assert_eq!(play(&services).await.lines, expected);
}

#[tokio::test]
async fn a_context_without_a_run_has_no_model_and_no_user() {
    let invocation = Invocation {
        gadget_name: "Test".to_owned(),
        invocation_id: "t".into(),
        parameters: json!({}),
        dependencies: BTreeMap::new(),
    };
    let token = CancellationToken::new();
    let context = ExecutionContext::new(&invocation, token.clone());
    assert_eq!(context.gadget_name(), "Test");
    assert_eq!((context.iteration(), context.depth()), (0, 0));
    assert_eq!(context.budget_left(), None);
    assert!(context.model().is_none() && context.services().is_none());
    assert_eq!(context.ask_human("Who?").await, Err(HumanError::Nobody));
    assert_eq!(context.subagent().unwrap_err(), SubagentError::NoRun);
    context.progress("nobody hears it");
    context.throw_if_cancelled().unwrap();
    token.cancel();
    let error = context.throw_if_cancelled().unwrap_err();
    assert_eq!(error.to_string(), "Gadget execution was cancelled");
}

#[tokio::test(start_paused = true)]
async fn progress_is_reported_only_before_the_result() {
    check(
        |_| {},
        |context| async move {
            for step in 1..=2 {
                context.progress(format!("{step}"));
                sleep(Duration::from_millis(10)).await;
            }
            context.progress("the end");
            tokio::spawn(async move {
                context.progress("too late");
                sleep(Duration::from_millis(1)).await;
                context.progress("far too late");
            });
            Outcome::ok("x")
        },
        &[
            "0 start w",
            "0 w at 1",
            "10 w at 2",
            "20 w at the end",
            "20 w: Result(\"x\")",
            "20 \"done\"",
            "20 Completed 0",
        ],
    )
    .await;
}

/// Many threads must not change the order.
#[test]
fn reports_stay_before_results_on_many_threads() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()
        .unwrap();
    let chatty = gadget("Chatty", |context| async move {
        for step in 0..20 {
            context.progress(format!("{step}"));
        }
        Outcome::ok("x")
    });
    let calls: String = (0..50).map(|n| call(&format!("Chatty:c{n}"))).collect();
    let services = services(&[json!(calls), json!("done")], &[chatty]);
    let seen = runtime.block_on(play(&services));
    for n in 0..50 {
        let of = format!(" c{n}");
        let own = seen.lines.iter().filter(|line| {
            line.split_once(' ')
                .is_some_and(|(_, rest)| rest.starts_with(&format!("{} ", of.trim())))
                || line.contains(&format!("{of}: "))
        });
        let own: Vec<_> = own.collect();
        assert_eq!(own.len(), 21, "{own:?}");
        assert!(own[20].contains("Result"), "{own:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_it_is_and_what_is_left() {
    check(
        |services| services.scope.budget = Some(2.0),
        |context| async move {
            context.report_cost(0.5).unwrap();
            Outcome::ok(format!(
                "{} {} {} {:?}",
                context.gadget_name(),
                context.iteration(),
                context.depth(),
                context.budget_left(),
            ))
        },
        &[
            "0 start w",
            "0 w: Result(\"Work 1 0 Some(1.5)\")",
            "0 \"done\"",
            "0 Completed 0.5",
        ],
    )
    .await;
}

/// The cost of a reply of `tokens`, once through [`Priced`].
fn priced(replies: &[Value]) -> Arc<dyn Model> {
    Arc::new(Priced(script(replies)))
}

fn helper(services: &mut Services, replies: &[Value]) {
    services.models = Models::from_iter([("haiku", priced(replies))]);
}

fn haiku() -> ModelCallOptions {
    ModelCallOptions::default().model("haiku")
}

#[tokio::test(start_paused = true)]
async fn a_model_answers_and_its_cost_is_counted() {
    let usage = json!({ "inputTokens": 2, "outputTokens": 1 });
    let reply =
        json!({ "text": "Hi.", "usage": usage, "expect": { "contains": ["Briefly.", "Say hi"] } });
    check(
        |services| helper(services, &[reply]),
        |context| async move {
            let model = context.model().unwrap();
            let options = haiku().system("Briefly.");
            let text = model.complete("Say hi", options).await.unwrap();
            assert_eq!(model.named("haiku").unwrap().name(), "priced");
            Outcome::ok(text)
        },
        &[
            "0 start w",
            "0 w: Result(\"Hi.\")",
            "0 \"done\"",
            "0 Completed 3",
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_model_that_does_not_answer() {
    let usage = json!({ "inputTokens": 1 });
    let replies = [
        json!({ "text": "", "finish": "error", "usage": usage }),
        json!({ "text": "Half", "finish": "disconnect" }),
    ];
    check(
        |services| helper(services, &replies),
        |context| async move {
            let model = context.model().unwrap();
            let error = model.named("opus").unwrap_err();
            assert_eq!(
                error.to_string(),
                "no model is registered as \"opus\"; registered models: haiku; register others with `AgentBuilder::named_model`"
            );
            let error = model.complete("x", haiku()).await.unwrap_err();
            assert!(matches!(error, ModelCallError::Failed(_)), "{error}");
            let error = model.complete("x", haiku()).await.unwrap_err();
            Outcome::error(error.to_string())
        },
        &[
            "0 start w",
            "0 w: Error(\"the model's reply was cut off\")",
            "0 \"done\"",
            "0 Completed 1",
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn no_model_is_asked_once_the_budget_is_spent() {
    check(
        |services| {
            helper(services, &[json!("never")]);
            services.scope.budget = Some(1.0);
        },
        |context| async move {
            context.report_cost(1.0).unwrap();
            let answer = context.model().unwrap().complete("x", haiku()).await;
            Outcome::error(answer.unwrap_err().to_string())
        },
        &[
            "0 start w",
            "0 w: Error(\"the budget is spent\")",
            "0 \"done\"",
            "0 Completed 1",
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_is_not_read_to_its_end_costs_too() {
    check(
        |services| {
            services.models = Models::from_iter([("haiku", Arc::new(Slow) as Arc<dyn Model>)]);
        },
        |context| async move {
            let model = context.model().unwrap().named("haiku").unwrap();
            let request = Request::default().messages(vec![Message::text(Role::User, "x")]);
            let mut deltas = model.stream(request);
            deltas.next().await.unwrap();
            drop(deltas);
            Outcome::ok(format!("{}", context.reported_cost()))
        },
        &[
            "0 start w",
            "0 w: Result(\"7\")",
            "0 \"done\"",
            "0 Completed 7",
        ],
    )
    .await;
}

/// Says what it has used, and then nothing for an hour.
struct Slow;

impl Model for Slow {
    fn stream(
        &self,
        _: Request,
    ) -> futures_core::stream::BoxStream<'static, gadgetry::proto::delta::Delta> {
        use gadgetry::proto::delta::Delta;
        let usage = Usage::default().input_tokens(7);
        let first = futures_util::stream::iter([Delta::Usage { usage }]);
        let rest = futures_util::stream::once(async {
            sleep(Duration::from_hours(1)).await;
            Delta::text("late")
        });
        first.chain(rest).boxed()
    }

    fn name(&self) -> &'static str {
        "slow"
    }

    fn info(&self) -> gadgetry::ModelInfo {
        gadgetry::ModelInfo::default().price(price())
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_the_questions_of_a_gadget() {
    let outcome = Arc::new(Mutex::new(None));
    let seen_by_gadget = Arc::clone(&outcome);
    let asking = gadget("Work", move |context| {
        let outcome = Arc::clone(&seen_by_gadget);
        async move {
            let model = context.model().unwrap();
            let answer = model.complete("x", haiku()).await;
            *outcome.lock().unwrap() = Some(answer);
            Outcome::ok("x")
        }
    });
    let mut services = services(&[json!(call("Work:w"))], &[asking]);
    services.models = Models::from_iter([("haiku", Arc::new(Slow) as Arc<dyn Model>)]);
    let seen = play_until(&services, RunConfig::default(), Some(40)).await;
    assert_eq!(seen.lines.last().unwrap(), "40 Cancelled 7");
    assert_eq!(
        *outcome.lock().unwrap(),
        Some(Err(ModelCallError::Cancelled))
    );
}

/// Lets a request through every 100 ms.
#[derive(Default)]
struct Toll {
    line: tokio::sync::Mutex<()>,
    seen: Mutex<Vec<String>>,
}

impl Limiter for Toll {
    fn admit(&self, tokens: u64) -> futures_core::future::BoxFuture<'_, Duration> {
        Box::pin(async move {
            let _turn = self.line.lock().await;
            self.seen.lock().unwrap().push(format!("admit {tokens}"));
            sleep(Duration::from_millis(100)).await;
            Duration::from_millis(100)
        })
    }

    fn record(&self, _: u64, usage: Usage) {
        let used = usage.input_tokens + usage.output_tokens;
        self.seen.lock().unwrap().push(format!("used {used}"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_limiter_delays_all_requests() {
    let toll = Arc::new(Toll::default());
    let limiter: Arc<dyn Limiter> = toll.clone();
    let usage = |tokens: u64| json!({ "text": "Hi.", "usage": { "inputTokens": tokens } });
    check(
        |services| {
            services.limiter = Some(limiter);
            helper(services, &[usage(5)]);
        },
        |context| async move {
            let text = context.model().unwrap().complete("12345678", haiku()).await;
            Outcome::ok(text.unwrap())
        },
        &[
            "100 limited 100",
            "100 start w",
            "200 w: Result(\"Hi.\")",
            "300 limited 100",
            "300 \"done\"",
            "300 Completed 5",
        ],
    )
    .await;
    let seen = toll.seen.lock().unwrap();
    assert_eq!(seen.len(), 6, "{seen:?}");
    assert_eq!((seen[1].as_str(), seen[2].as_str()), ("used 0", "admit 6"));
    assert_eq!(seen[3], "used 5");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_waits_for_the_limiter_is_dropped_by_a_cancel() {
    let toll = Arc::new(Toll::default());
    let mut services = services(&[json!("never")], &[]);
    services.limiter = Some(toll.clone());
    let seen = play_until(&services, RunConfig::default(), Some(30)).await;
    assert_eq!(seen.lines, ["30 Cancelled 0"]);
    assert_eq!(toll.seen.lock().unwrap().len(), 1, "nothing was used");
}

#[tokio::test(start_paused = true)]
async fn the_token_of_the_family_cancels_once() {
    let services = services(
        &[json!(call("Work:w"))],
        &[gadget("Work", |context| async move {
            context.cancellation().cancelled().await;
            Outcome::ok("x")
        })],
    );
    let token = services.scope.cancellation.clone();
    tokio::spawn(async move {
        sleep(Duration::from_millis(60)).await;
        token.cancel();
    });
    let seen = play(&services).await;
    assert_eq!(seen.lines.last().unwrap(), "60 Cancelled 0");
    let cancels = seen
        .inputs
        .iter()
        .filter(|input| **input == Input::Command(Command::Cancel));
    assert_eq!(cancels.count(), 1);
    assert_eq!(BudgetScope::default().left(), None);
}
