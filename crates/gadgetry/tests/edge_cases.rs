//! Edge cases of the runtime: human input, budgets, tokens, clocks and panics at awkward moments.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::stage::{Priced, call, gadget, plan, play_until, price, script, services};
use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use gadgetry::HumanQuestion;
use gadgetry::proto::call::Outcome;
use gadgetry::proto::delta::Delta;
use gadgetry::proto::event::{Event, EventKind, FinishReason};
use gadgetry::proto::message::{Message, Request, Role};
use gadgetry::proto::run::{Command, Input, OnTextOnlyReply, Output, Run, RunConfig};
use gadgetry::proto::schema::GadgetSpec;
use gadgetry::proto::time::Time;
use gadgetry::proto::usage::Usage;
use gadgetry::{
    Agent, BudgetScope, CancellationToken, Model, ModelInfo, Observer, RateLimiter, RateLimits,
    Services, Toolbox, drive, from_fn,
};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

/// A reply that costs so many dollars.
fn reply(text: &str, tokens: u64) -> serde_json::Value {
    json!({ "text": text, "usage": { "inputTokens": tokens } })
}

#[tokio::test(start_paused = true)]
async fn a_run_in_a_family_that_has_spent_everything_asks_no_model() {
    let mut services = services(&[], &[]);
    services.model = Arc::new(Priced(script(&[reply("one", 2), reply("two", 2)])));
    services.scope = BudgetScope::limited_to(1.0);
    let spec = || RunConfig {
        budget: Some(1.0),
        price: Some(price()),
        ..RunConfig::default()
    };
    let first = play_until(&services, spec(), None).await.ended.summary;
    assert_eq!(
        (first.reason, first.answer.as_str()),
        (FinishReason::Completed, "one")
    );
    let second = play_until(&services, spec(), None).await.ended.summary;
    assert_eq!(
        (second.reason, second.iterations),
        (FinishReason::BudgetExceeded, 0)
    );
    assert!((services.scope.spent() - 2.0).abs() < 1e-9);
}

#[tokio::test]
async fn a_subagent_of_a_family_that_has_spent_everything_ends_at_once() {
    let twice = gadget("Twice", |context| async move {
        let agent = context.spawn_agent(Agent::builder()).unwrap();
        let one = agent.ask("One?").text().await.unwrap();
        let two = agent.ask("Two?").text().await.unwrap_err();
        Outcome::ok(format!("{one}, {two}"))
    });
    let replies = [reply(&call("Twice:t"), 1), reply("1", 5), reply("never", 1)];
    let run = Agent::builder()
        .model(Priced(script(&replies)))
        .gadget(twice)
        .budget(5.0)
        .ask("?")
        .unwrap();
    let mut results = Vec::new();
    let ended = run.on_event(|event| {
        if let EventKind::GadgetResult { answer, .. } = &event.kind {
            results.push(format!("{answer:?}"));
        }
    });
    let summary = ended.await.unwrap_err().finished().summary.clone();
    assert_eq!(results, ["Result(\"1, the budget is spent\")"]);
    assert!((summary.known_cost - 6.0).abs() < 1e-9);
}

#[tokio::test(start_paused = true)]
async fn a_question_is_withdrawn_when_it_is_answered_elsewhere() {
    let asks = gadget("Ask", |context| async move {
        match context.ask_human("Sure?").await {
            Ok(answer) => Outcome::ok(answer),
            Err(error) => Outcome::error(error.to_string()),
        }
    });
    let mut services = services(
        &[json!("Hello."), json!(call("Ask:a")), json!("Bye.")],
        &[asks],
    );
    services.human = Some(Arc::new(|question: HumanQuestion| async move {
        if question.text == "Hello." {
            // This person types elsewhere.
            pending::<()>().await;
        }
        (question.text == "Sure?").then(|| "yes".to_owned())
    }));
    let config = RunConfig {
        text_only: OnTextOnlyReply::WaitForInput,
        asks: services.asks(),
        ..RunConfig::default()
    };
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        sleep(Duration::from_secs(1)).await;
        let _ = sender.send(Command::Inject("Go on.".to_owned())).await;
    });
    let mut results = Vec::new();
    let mut observer = |event: &Event| {
        if let EventKind::GadgetResult { answer, .. } = &event.kind {
            results.push(format!("{answer:?}"));
        }
    };
    let run = Run::ask(&plan(&services, config), "go");
    let ended = drive(run, &services, receiver, &mut observer);
    let ended = timeout(Duration::from_mins(1), ended).await;
    assert_eq!(ended.unwrap().summary.answer, "Bye.");
    assert_eq!(results, ["Result(\"yes\")"]);
}

#[tokio::test(start_paused = true)]
async fn a_loaded_run_continues_at_its_saved_time() {
    let spec = GadgetSpec {
        name: "Never".to_owned(),
        timeout_ms: Some(1_000),
        ..GadgetSpec::default()
    };
    let never = from_fn(spec, |_, context| async move {
        context.cancellation().cancelled().await;
        Outcome::error("stopped")
    });
    let mut toolbox = Toolbox::default();
    toolbox.add(never).unwrap();
    let replies = [json!(call("Never:n")), json!("Done.")];
    let services = Services::new(Arc::new(script(&replies)), toolbox);
    let plan = plan(&services, RunConfig::default());
    // An hour has gone by before the request goes out.
    let mut run = Run::ask(&plan, "go");
    run.handle(Time(3_600_000), Input::Tick).unwrap();
    let run = Run::load(&plan, run.save()).unwrap();
    let began = Instant::now();
    let ended = drive(run, &services, mpsc::channel(1).1, &mut |_: &Event| {}).await;
    assert_eq!(ended.summary.answer, "Done.");
    assert_eq!(began.elapsed(), Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_run_saved_with_work_in_flight_continues_by_itself() {
    let bell = GadgetSpec {
        name: "Bell".to_owned(),
        ..GadgetSpec::default()
    };
    let mut toolbox = Toolbox::default();
    toolbox
        .add(from_fn(bell, |_, _| async { Outcome::ok("ding") }))
        .unwrap();
    let services = Services::new(Arc::new(script(&[json!("One."), json!("Two.")])), toolbox);
    let plan = plan(&services, RunConfig::default());
    let drain = |run: &mut Run| while !matches!(run.poll(), Output::Wait(_)) {};
    let ends = async |run: &Run| {
        let run = Run::load(&plan, run.save()).unwrap();
        let mut inputs = Vec::new();
        let ended = drive(run, &services, mpsc::channel(1).1, &mut Inputs(&mut inputs)).await;
        assert_eq!(inputs.first(), Some(&Input::Interrupted));
        ended.summary.reason
    };

    let mut run = Run::ask(&plan, "go");
    drain(&mut run);
    assert!(run.pending().reply);
    assert_eq!(ends(&run).await, FinishReason::Completed);

    run.handle(Time(1), Input::Delta(Delta::text(call("Bell:b"))))
        .unwrap();
    drain(&mut run);
    assert_eq!(run.pending().gadgets.len(), 1);
    assert_eq!(ends(&run).await, FinishReason::Completed);
}

/// Keeps what the run takes in.
struct Inputs<'a>(&'a mut Vec<Input>);

impl Observer for Inputs<'_> {
    fn event(&mut self, _event: &Event) {}

    fn input(&mut self, _time: Time, input: &Input) {
        self.0.push(input.clone());
    }
}

/// Panics at its first request.
struct Panics(AtomicBool);

impl Model for Panics {
    fn stream(&self, _: Request) -> BoxStream<'static, Delta> {
        assert!(self.0.swap(true, Ordering::SeqCst), "oh no");
        let end = Delta::MessageEnd {
            stop_reason: gadgetry::proto::delta::StopReason::Stop,
            usage: None,
        };
        stream::iter([Delta::text("Hi."), end]).boxed()
    }

    fn name(&self) -> &'static str {
        "panics"
    }

    fn info(&self) -> ModelInfo {
        ModelInfo::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_panics_gives_its_tokens_back() {
    let limits = RateLimits {
        tokens_per_minute: Some(1),
        ..RateLimits::default()
    };
    let agent = Agent::builder()
        .model(Panics(AtomicBool::default()))
        .without_retry()
        .rate_limiter(RateLimiter::new(limits).unwrap())
        .build()
        .unwrap();
    let first = timeout(Duration::from_mins(10), agent.ask("?").text()).await;
    assert!(first.unwrap().is_err());
    let second = timeout(Duration::from_mins(10), agent.ask("?").text()).await;
    assert_eq!(second.unwrap().unwrap(), "Hi.");
}

/// Uses ten tokens, and never ends.
struct Endless;

impl Model for Endless {
    fn stream(&self, _: Request) -> BoxStream<'static, Delta> {
        let usage = Usage::default().input_tokens(10);
        stream::iter([Delta::Usage { usage }])
            .chain(stream::pending())
            .boxed()
    }

    fn name(&self) -> &'static str {
        "endless"
    }

    fn info(&self) -> ModelInfo {
        ModelInfo::default().price(price())
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_dropped_gadget_had_asked_a_model_costs() {
    let spec = GadgetSpec {
        name: "Stubborn".to_owned(),
        timeout_ms: Some(1_000),
        ..GadgetSpec::default()
    };
    let stubborn = from_fn(spec, |_, context| async move {
        let model = context.model().unwrap().named("endless").unwrap();
        let mut deltas =
            model.stream(Request::default().messages(vec![Message::text(Role::User, "x")]));
        deltas.next().await.unwrap();
        let _token = context.cancellation();
        pending::<()>().await;
        drop(deltas);
        Outcome::ok("never")
    });
    let mut toolbox = Toolbox::default();
    toolbox.add(stubborn).unwrap();
    let replies = [json!(call("Stubborn:s")), json!("Done.")];
    let mut services = Services::new(Arc::new(script(&replies)), toolbox);
    services.models =
        gadgetry::Models::from_iter([("endless", Arc::new(Endless) as Arc<dyn Model>)]);
    let seen = play_until(&services, RunConfig::default(), None).await;
    assert_eq!(seen.lines.last().unwrap(), "3000 Completed 10");
    assert!((services.scope.spent() - 10.0).abs() < 1e-9);
}

/// A gadget that gives its token away.
fn leaks(kept: &Arc<Mutex<Option<CancellationToken>>>) -> Arc<dyn gadgetry::DynGadget> {
    let kept = Arc::clone(kept);
    gadget("Leak", move |context| {
        *kept.lock().unwrap() = Some(context.cancellation().clone());
        async move {
            sleep(Duration::from_secs(1)).await;
            Outcome::ok("done")
        }
    })
}

#[tokio::test(start_paused = true)]
async fn what_a_gadget_has_started_is_cancelled_when_the_run_is_dropped() {
    let kept = Arc::default();
    let mut run = Agent::builder()
        .model(script(&[json!(call("Leak:l"))]))
        .gadget(leaks(&kept))
        .ask("?")
        .unwrap();
    while let Some(event) = run.next().await {
        if let EventKind::GadgetStart { .. } = event.kind {
            break;
        }
    }
    let _ = timeout(Duration::from_millis(10), async {
        while run.next().await.is_some() {}
    })
    .await;
    drop(run);
    let token = kept.lock().unwrap().clone().unwrap();
    timeout(Duration::from_secs(9), token.cancelled())
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_subagent_ends_with_the_gadget_that_has_started_it() {
    let kept = Arc::default();
    let services = services(&[json!(call("Leak:l")), json!("Done.")], &[leaks(&kept)]);
    let seen = play_until(&services, RunConfig::default(), None).await;
    assert_eq!(seen.lines.last().unwrap(), "1000 Completed 0");
    assert!(kept.lock().unwrap().clone().unwrap().is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn a_result_in_time_counts_although_it_is_polled_late() {
    let check = async |reports: bool| {
        let spec = |name: &str| GadgetSpec {
            name: name.to_owned(),
            timeout_ms: Some(10_000),
            ..GadgetSpec::default()
        };
        let work = move |name: &str| {
            from_fn(
                spec(name),
                move |_, context: gadgetry::ExecutionContext| async move {
                    if reports {
                        context.progress("half");
                    }
                    sleep(Duration::from_secs(1)).await;
                    if reports {
                        context.progress("all");
                    }
                    Outcome::ok("in time")
                },
            )
        };
        let reply = call("One:a") + &call("Two:b");
        let mut run = Agent::builder()
            .model(script(&[json!(reply), json!("Done.")]))
            .gadget(work("One"))
            .gadget(work("Two"))
            .ask("?")
            .unwrap();
        let handle = run.handle();
        let mut answers = Vec::new();
        loop {
            // Both start, and then nobody polls for a minute.
            let next = timeout(Duration::from_millis(500), run.next()).await;
            match next {
                Err(_) => {
                    sleep(Duration::from_mins(1)).await;
                    handle.inject("Still there?").unwrap();
                }
                Ok(None) => break,
                Ok(Some(event)) => {
                    if let EventKind::GadgetResult { answer, .. } = event.kind {
                        answers.push(format!("{answer:?}"));
                    }
                }
            }
        }
        assert_eq!(answers, ["Result(\"in time\")", "Result(\"in time\")"]);
    };
    check(false).await;
    check(true).await;
}

/// Says a word, and ends its reply a second later.
struct Slowly;

impl Model for Slowly {
    fn stream(&self, _: Request) -> BoxStream<'static, Delta> {
        let end = async {
            sleep(Duration::from_secs(1)).await;
            let stop_reason = gadgetry::proto::delta::StopReason::Stop;
            let usage = None;
            Delta::MessageEnd { stop_reason, usage }
        };
        stream::iter([Delta::text("Hm.")])
            .chain(stream::once(end))
            .boxed()
    }

    fn name(&self) -> &'static str {
        "slowly"
    }

    fn info(&self) -> ModelInfo {
        ModelInfo::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_not_polled_does_not_block_others() {
    let limits = RateLimits {
        tokens_per_minute: Some(1),
        ..RateLimits::default()
    };
    let agent = Agent::builder()
        .model(Slowly)
        .rate_limiter(RateLimiter::new(limits).unwrap())
        .build()
        .unwrap();
    let mut first = agent.ask("?");
    while let Some(event) = first.next().await {
        if let EventKind::Text { .. } = event.kind {
            break;
        }
    }
    let second = timeout(Duration::from_mins(10), agent.ask("?").text()).await;
    assert_eq!(second.unwrap().unwrap(), "Hm.");
    assert!(first.finished().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_question_to_a_model_that_was_held_back_until_the_budget_was_spent_is_not_asked() {
    let late = gadget("Late", |context| async move {
        let model = context.model().unwrap();
        let answer = model.complete("?", gadgetry::model_client::ModelCallOptions::default());
        let spend = async {
            sleep(Duration::from_secs(1)).await;
            context.report_cost(9.0).unwrap();
        };
        let (answer, ()) = futures_util::future::join(answer, spend).await;
        Outcome::error(answer.unwrap_err().to_string())
    });
    let mut services = services(&[json!(call("Late:l")), json!("never")], &[late]);
    let limits = RateLimits {
        requests_per_minute: Some(1),
        ..RateLimits::default()
    };
    services.limiter = Some(Arc::new(RateLimiter::new(limits).unwrap()));
    services.scope = BudgetScope::limited_to(9.0);
    let spec = RunConfig {
        budget: Some(9.0),
        ..RunConfig::default()
    };
    let seen = play_until(&services, spec, None).await;
    let refused = "60000 l: Error(\"the budget is spent\")".to_owned();
    assert!(seen.lines.contains(&refused), "{:?}", seen.lines);
}
