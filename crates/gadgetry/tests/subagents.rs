//! Runs inside gadgets: their events, costs, cancellation and depth.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::stage::{
    Priced, call, echo, gadget, plan, play_until, price, script, services,
};
use gadgetry::proto::call::Outcome;
use gadgetry::proto::event::Event;
use gadgetry::proto::message::Request;
use gadgetry::proto::run::{Input, Run, RunConfig};
use gadgetry::proto::time::Time;
use gadgetry::{DynGadget, ExecutionContext, Observer, Services, Toolbox};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::sleep;

/// What the runs of a family were told of each other's spending: path and dollars.
type Told = Arc<Mutex<Vec<(String, f64)>>>;

/// A gadget that leaves its work to a subagent with these replies and gadgets.
fn delegate(
    name: &str,
    replies: &[Value],
    gadgets: &[Arc<dyn DynGadget>],
    told: &Told,
) -> Arc<dyn DynGadget> {
    let (replies, gadgets, told) = (replies.to_vec(), gadgets.to_vec(), Arc::clone(told));
    gadget(name, move |context| {
        let own = services(&replies, &gadgets);
        let model = Arc::new(Priced(script(&replies)));
        let told = Arc::clone(&told);
        async move {
            match drive_inside(&context, Services { model, ..own }, told).await {
                Ok(answer) => Outcome::ok(answer),
                Err(error) => Outcome::error(error.to_string()),
            }
        }
    })
}

async fn drive_inside(
    context: &ExecutionContext,
    own: Services,
    told: Told,
) -> Result<String, gadgetry::driver::SubagentError> {
    let mut subagent = context.subagent()?;
    subagent.services.model = own.model;
    subagent.services.toolbox = own.toolbox;
    let config = RunConfig {
        price: Some(price()),
        budget: subagent.services.scope.budget,
        ..RunConfig::default()
    };
    let run = Run::ask(&plan(&subagent.services, config), "go");
    let mut listener = Listener {
        name: context.invocation_id().to_string(),
        told,
    };
    let ended = subagent.drive(run, mpsc::channel(1).1, &mut listener).await;
    Ok(ended.summary.answer)
}

struct Listener {
    name: String,
    told: Told,
}

impl Observer for Listener {
    fn event(&mut self, _: &Event) {}

    fn request(&mut self, request: &Request) {
        assert!(request.iteration > 0);
        let mut told = self.told.lock().unwrap();
        told.push((format!("{} asks", self.name), 0.0));
    }

    fn input(&mut self, _: Time, input: &Input) {
        if let Input::ExternalSpend(dollars) = input {
            self.told
                .lock()
                .unwrap()
                .push((self.name.clone(), *dollars));
        }
    }
}

/// A reply of so many tokens after so many milliseconds.
fn reply(text: &str, milliseconds: u64, tokens: u64) -> Value {
    json!({ "chunks": [{ "delayMs": milliseconds }, text], "usage": { "inputTokens": tokens } })
}

fn root(calls: &str, gadgets: &[Arc<dyn DynGadget>], budget: Option<f64>) -> (Services, RunConfig) {
    let replies = [reply(calls, 0, 1), reply("done", 0, 2)];
    let mut services = services(&replies, gadgets);
    services.model = Arc::new(Priced(script(&replies)));
    services.scope.budget = budget;
    let spec = RunConfig {
        price: Some(price()),
        budget,
        ..RunConfig::default()
    };
    (services, spec)
}

#[tokio::test(start_paused = true)]
async fn every_cost_of_a_family_is_counted_once() {
    let told = Told::default();
    let pay = gadget("Pay", |context| async move {
        context.report_cost(1000.0).unwrap();
        sleep(Duration::from_millis(5)).await;
        Outcome {
            cost: 2000.0,
            ..Outcome::ok("paid")
        }
    });
    let deep = delegate("Deep", &[reply("deep", 10, 100)], &[], &told);
    let first = [reply(&call("Deep:g"), 10, 10), reply("first", 30, 20)];
    let first = delegate("First", &first, &[deep], &told);
    let second = [reply(&call("Pay:p"), 15, 40), reply("second", 40, 50)];
    let second = delegate("Second", &second, &[pay], &told);
    let calls = call("First:a") + &call("Second:b");
    let (services, spec) = root(&calls, &[first, second], None);
    let seen = play_until(&services, spec, None).await;
    let total = f64::from(1 + 2 + 10 + 20 + 100 + 40 + 50 + 1000 + 2000);
    assert_eq!(
        seen.lines,
        [
            "0 start a".to_owned(),
            "0 start b".to_owned(),
            "10 a.0 start g".to_owned(),
            "15 b.0 start p".to_owned(),
            "20 a.0 g.0 \"deep\"".to_owned(),
            "20 a.0 g.0 Completed 100".to_owned(),
            "20 a.0 g: Result(\"deep\")".to_owned(),
            "20 b.0 p: Result(\"paid\")".to_owned(),
            "50 a.0 \"first\"".to_owned(),
            "50 a.0 Completed 130".to_owned(),
            "50 a: Result(\"first\")".to_owned(),
            "60 b.0 \"second\"".to_owned(),
            "60 b.0 Completed 3090".to_owned(),
            "60 b: Result(\"second\")".to_owned(),
            "60 \"done\"".to_owned(),
            format!("60 Completed {total}"),
        ]
    );
    assert!((services.scope.spent() - total).abs() < 1e-6);
    // Each hears of the others, never of itself or its own subagents.
    let heard = |name: &str| -> Vec<f64> {
        let told = told.lock().unwrap();
        told.iter()
            .filter(|(who, _)| who == name)
            .map(|(_, it)| *it)
            .collect()
    };
    assert_eq!(heard("a").first(), Some(&1.0));
    assert_eq!(heard("a").last(), Some(&3041.0));
    assert_eq!(heard("b").last(), Some(&131.0));
    assert_eq!(heard("g").first(), Some(&11.0));
    assert_eq!(
        heard("a asks").len(),
        2,
        "the requests of a subagent are seen"
    );
    let root_heard = seen
        .inputs
        .iter()
        .any(|it| matches!(it, Input::ExternalSpend(_)));
    assert!(
        !root_heard,
        "the root counts its subagents from their events"
    );
    let numbers: Vec<u64> = seen.events.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_budget_holds_for_the_whole_family() {
    let told = Told::default();
    let greedy = [reply(&call("Echo:e"), 10, 60), reply("never", 0, 1)];
    let greedy = delegate("Greedy", &greedy, &[echo()], &told);
    let calls = call("Greedy:a") + &call("Greedy:b");
    let (services, spec) = root(&calls, &[greedy], Some(100.0));
    let seen = play_until(&services, spec, None).await;
    let ends: Vec<_> = seen
        .lines
        .iter()
        .filter(|line| line.contains("Exceeded"))
        .collect();
    assert_eq!(ends.len(), 3, "{:?}", seen.lines);
    assert_eq!(ends[2], "10 BudgetExceeded 121");
    assert!(!seen.lines.iter().any(|line| line.contains("never")));
}

#[tokio::test(start_paused = true)]
async fn nesting_of_subagents_is_limited() {
    let told = Told::default();
    let mut innermost = delegate("Inside", &[reply("here", 0, 1)], &[], &told);
    for _ in 0..3 {
        let replies = [reply(&call("Inside:i"), 0, 1), reply("up", 0, 1)];
        innermost = delegate("Inside", &replies, &[innermost], &told);
    }
    let (mut services, spec) = root(&call("Inside:i"), &[innermost], None);
    services.scope.max_depth = 2;
    let seen = play_until(&services, spec, None).await;
    let error = "0 i.0 i.0 i: Error(\"subagents may be nested 2 deep, and this run is: do the work without a further one\")";
    assert!(
        seen.lines.iter().any(|line| line == error),
        "{:?}",
        seen.lines
    );
    assert_eq!(seen.ended.summary.answer, "done");
}

#[tokio::test(start_paused = true)]
async fn a_cancel_reaches_the_innermost_gadget_and_its_costs_are_counted() {
    let told = Told::default();
    let stubborn = gadget("Stubborn", |context| async move {
        context.report_cost(1000.0).unwrap();
        let _token = context.cancellation();
        std::future::pending::<Outcome>().await
    });
    let polite = gadget("Polite", |context| async move {
        context.cancellation().cancelled().await;
        context.report_cost(500.0).unwrap();
        Outcome::ok("tidy")
    });
    let calls = call("Stubborn:s") + &call("Polite:p");
    let deep = delegate("Deep", &[reply(&calls, 0, 10)], &[stubborn, polite], &told);
    let middle = delegate("Middle", &[reply(&call("Deep:d"), 0, 100)], &[deep], &told);
    let (services, spec) = root(&call("Middle:m"), &[middle], None);
    let seen = play_until(&services, spec, Some(50)).await;
    assert_eq!(
        seen.lines.last().unwrap(),
        "550 Cancelled 1611",
        "{:?}",
        seen.lines
    );
    assert!((services.scope.spent() - 1611.0).abs() < 1e-6);
}

#[tokio::test(start_paused = true)]
async fn two_subagents_of_one_call_have_different_ids() {
    let twice = gadget("Twice", |context| async move {
        let run = |text: &str| {
            let own = Services::new(Arc::new(script(&[json!(text)])), Toolbox::default());
            let context = context.clone();
            async move { drive_inside(&context, own, Told::default()).await.unwrap() }
        };
        let both = Box::pin(futures_util::future::join(run("one"), run("two"))).await;
        Outcome::ok(both.0 + &both.1)
    });
    let (services, spec) = root(&call("Twice:t"), &[twice], None);
    let seen = play_until(&services, spec, None).await;
    for line in ["0 t.0 \"one\"", "0 t.1 \"two\"", "0 t: Result(\"onetwo\")"] {
        assert!(seen.lines.iter().any(|it| it == line), "{:?}", seen.lines);
    }
}
