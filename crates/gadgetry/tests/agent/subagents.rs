//! Agents that gadgets start: what they share with the run that calls the gadget.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt as _;
use gadgetry::human::HumanQuestion;
use gadgetry::proto::call::Outcome;
use gadgetry::proto::error::ModelErrorKind;
use gadgetry::proto::event::{Event, FinishReason};
use gadgetry::proto::tree::NodeId;
use gadgetry::{Agent, AgentBuilder, ExecutionContext, IntoGadget, RateLimits};
use tokio::time::{Instant, sleep};

use super::support::{Mock, Sleepers, after, call, echo, failed, gadget, story};

/// A gadget that asks the agent with these options, and gives its answer.
pub(crate) fn delegate(
    name: &str,
    options: impl Fn(AgentBuilder) -> AgentBuilder + Send + Sync + 'static,
) -> impl IntoGadget {
    let options = Arc::new(options);
    gadget(name, move |context: ExecutionContext| {
        let options = Arc::clone(&options);
        async move {
            let agent = match context.spawn_agent(options(Agent::builder())) {
                Ok(agent) => agent,
                Err(error) => return Outcome::error(error.to_string()),
            };
            match agent.ask("Sub-question?").text().await {
                Ok(text) => Outcome::ok(text),
                Err(error) => Outcome::error(error.to_string()),
            }
        }
    })
}

async fn told(builder: AgentBuilder) -> (Vec<String>, f64) {
    let mut events: Vec<Event> = Vec::new();
    let run = builder.ask("Question?").unwrap();
    let ended = run.on_event(|event| events.push(event.clone())).await;
    let cost = match ended {
        Ok(finished) => finished.summary.known_cost,
        Err(error) => error.finished().summary.known_cost,
    };
    (story(&events), cost)
}

fn near(left: f64, right: f64) {
    assert!((left - right).abs() < 1e-9, "{left} and not {right}");
}

#[tokio::test]
async fn its_model_events_and_costs_are_the_parents() {
    let block = call("Delegate", "d", &[]);
    let inner = call("Echo", "e", &[("text", "hi")]);
    let model = Mock::new([block.as_str(), &inner, "It says hi.", "Done."]);
    let mut paths = Vec::new();
    let builder = Agent::builder()
        .model(model.clone())
        .gadget(delegate("Delegate", |it| it.gadget(echo())));
    let mut events: Vec<Event> = Vec::new();
    let run = builder.ask("Question?").unwrap();
    let finished = run.on_event(|event| {
        paths.extend(
            event
                .path
                .iter()
                .map(|it| (it.invocation_id.to_string(), it.agent)),
        );
        events.push(event.clone());
    });
    let finished = finished.await.unwrap();
    assert_eq!(
        story(&events),
        [
            "start d",
            "> start e",
            "> e: hi",
            "> text \"It says hi.\"",
            "> Completed",
            "d: It says hi.",
            "text \"Done.\"",
            "Completed",
        ]
    );
    assert!(
        paths.iter().all(|it| *it == ("d".to_owned(), 0)),
        "{paths:?}"
    );
    near(finished.summary.known_cost, 0.8);
    near(finished.costs.subtotal(NodeId::ROOT).known, 0.8);
    let gadget = finished.costs.nodes().find(|(id, _)| {
        let children = finished.costs.children(*id);
        children
            .iter()
            .any(|child| (finished.costs.subtotal(*child).known - 0.4).abs() < 1e-9)
    });
    assert!(
        gadget.is_some(),
        "the subagent's part of it: {}",
        finished.costs.render()
    );
    // Its conversation is its own.
    assert_eq!(model.asked()[1].last().unwrap(), "Sub-question?");
    assert_eq!(finished.history.len(), 4);
}

#[tokio::test]
async fn it_may_have_its_own_model() {
    let own = Mock::new(["Mine."]);
    let gadget = delegate("Delegate", {
        let own = own.clone();
        move |it| it.model(own.clone())
    });
    let model = Mock::new([call("Delegate", "d", &[]), "Done.".into()]);
    let (lines, _) = told(Agent::builder().model(model.clone()).gadget(gadget)).await;
    assert_eq!(lines[3], "d: Mine.");
    assert_eq!((own.asked().len(), model.asked().len()), (1, 2));
}

#[tokio::test]
async fn one_gadget_may_ask_several_times() {
    let twice = gadget("Twice", |context: ExecutionContext| async move {
        let agent = context.spawn_agent(Agent::builder()).unwrap();
        let one = agent.ask("One?").text().await.unwrap();
        let two = agent.ask("Two?").text().await.unwrap();
        Outcome::ok(one + &two)
    });
    let model = Mock::new([
        call("Twice", "t", &[]),
        "1".into(),
        "2".into(),
        "Done.".into(),
    ]);
    let mut agents = Vec::new();
    let run = Agent::builder()
        .model(model)
        .gadget(twice)
        .ask("?")
        .unwrap();
    let finished = run.on_event(|event| agents.extend(event.path.iter().map(|it| it.agent)));
    near(finished.await.unwrap().summary.known_cost, 0.8);
    agents.dedup();
    assert_eq!(agents, [0, 1]);
}

#[tokio::test]
async fn it_spends_the_budget_of_its_family() {
    // 0.2 dollars a reply: the parent's first, and two of the subagent.
    let replies = || {
        let calls = (0..9).map(|n| call("Echo", &format!("e{n}"), &[]));
        Mock::new(std::iter::once(call("Delegate", "d", &[])).chain(calls))
    };
    let family = Agent::builder().budget(0.5);
    let gadget = delegate("Delegate", |it| it.gadget(echo()));
    let (lines, cost) = told(family.model(replies()).gadget(gadget)).await;
    near(cost, 0.6);
    assert_eq!(
        lines[lines.len() - 3..],
        [
            "> BudgetExceeded",
            "d failed: the budget is spent",
            "BudgetExceeded"
        ]
    );
}

#[tokio::test]
async fn it_may_have_a_budget_inside_that() {
    let check = async |parents: f64, own: f64, replies: f64, end: &str| {
        let calls = (0..9).map(|n| call("Echo", &format!("e{n}"), &[]));
        let inner = Mock::new(calls);
        let gadget = delegate("Delegate", move |it| {
            it.gadget(echo()).model(inner.clone()).budget(own)
        });
        let model = Mock::new([call("Delegate", "d", &[]), "Done.".into()]);
        let (lines, cost) =
            told(Agent::builder().budget(parents).model(model).gadget(gadget)).await;
        near(cost, 0.2 * replies);
        assert_eq!(lines.last().unwrap(), end);
        assert!(
            lines.contains(&"d failed: the budget is spent".to_owned()),
            "{lines:?}"
        );
    };
    // The parent's two, and two of the subagent.
    check(5.0, 0.3, 4.0, "Completed").await;
    // The family has less left than the subagent may spend: one of the parent, and two.
    check(0.5, 5.0, 3.0, "BudgetExceeded").await;
}

#[tokio::test]
async fn what_is_left_is_the_least_of_all_budgets() {
    let check = async |parents: f64, own: f64, left: &str| {
        let tell = || {
            gadget("Left", |context: ExecutionContext| async move {
                Outcome::ok(format!("{:.2}", context.budget_left().unwrap()))
            })
        };
        let gadget = delegate("Delegate", move |it| {
            it.gadget(tell())
                .model(Mock::new([call("Left", "l", &[]), ".".into()]))
                .budget(own)
        });
        let model = Mock::new([call("Delegate", "d", &[]), "Done.".into()]);
        let (lines, _) = told(Agent::builder().budget(parents).model(model).gadget(gadget)).await;
        assert!(lines.contains(&format!("> l: {left}")), "{lines:?}");
    };
    // The parent has spent 0.2, and the subagent as much.
    check(5.0, 0.3, "0.10").await;
    check(0.5, 5.0, "0.10").await;
}

#[tokio::test]
async fn whatever_spends_a_budget_has_a_price() {
    let gadget = delegate("Delegate", |it| {
        it.model(
            Mock::new(["."])
                .named("free")
                .info(gadgetry::ModelInfo::default()),
        )
    });
    let model = Mock::new([call("Delegate", "d", &[]), "Done.".into()]);
    let (lines, _) = told(Agent::builder().budget(1.0).model(model).gadget(gadget)).await;
    assert!(
        lines[1].starts_with("d failed: the price of the model \"free\" is not known"),
        "{lines:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn it_is_cancelled_with_the_run() {
    let sleepers = Sleepers::default();
    let gadget = delegate("Delegate", {
        let sleepers = sleepers.clone();
        move |it| it.gadget(sleepers.gadget())
    });
    let blocks = [
        call("Delegate", "d", &[]),
        call("Sleep", "s", &[("ms", "60000")]),
    ];
    let run = Agent::builder()
        .model(Mock::new(blocks))
        .gadget(gadget)
        .ask("?")
        .unwrap();
    let handle = run.handle();
    let began = Instant::now();
    let cancel = async {
        sleep(Duration::from_secs(1)).await;
        assert_eq!(sleepers.now(), 1);
        handle.cancel();
    };
    let mut events = Vec::new();
    let keep = |event: &Event| events.push(event.clone());
    let (ended, ()) = tokio::join!(run.on_event(keep), cancel);
    let error = ended.unwrap_err();
    assert_eq!(error.reason(), FinishReason::Cancelled);
    assert_eq!(sleepers.now(), 0);
    assert!(
        began.elapsed() < Duration::from_secs(4),
        "{:?}",
        began.elapsed()
    );
    near(error.finished().summary.known_cost, 0.4);
    assert!(
        story(&events).contains(&"> Cancelled".to_owned()),
        "{:?}",
        story(&events)
    );
}

#[tokio::test(start_paused = true)]
async fn dropping_the_run_drops_it() {
    let sleepers = Sleepers::default();
    let gadget = delegate("Delegate", {
        let sleepers = sleepers.clone();
        move |it| it.gadget(sleepers.gadget())
    });
    let blocks = [call("Delegate", "d", &[]), call("Sleep", "s", &[])];
    let mut run = Agent::builder()
        .model(Mock::new(blocks))
        .gadget(gadget)
        .ask("?")
        .unwrap();
    while sleepers.now() == 0 {
        run.next().await.unwrap();
        tokio::task::yield_now().await;
    }
    drop(run);
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(sleepers.now(), 0);
}

#[tokio::test(start_paused = true)]
async fn it_shares_retries_and_rate_limits() {
    let overloaded = || failed(ModelErrorKind::Overloaded);
    let check = async |outer: fn(AgentBuilder) -> AgentBuilder,
                       inner: fn(AgentBuilder) -> AgentBuilder,
                       line: &str| {
        let model = Mock::new([
            call("Delegate", "d", &[]).as_str().into(),
            overloaded(),
            "There.".into(),
            "Done.".into(),
        ]);
        let gadget = delegate("Delegate", inner);
        let (lines, _) = told(outer(Agent::builder().model(model).gadget(gadget))).await;
        assert!(lines.contains(&line.to_owned()), "{lines:?}");
    };
    let plain: fn(AgentBuilder) -> AgentBuilder = |it| it;
    check(plain, plain, "d: There.").await;
    check(
        AgentBuilder::without_retry,
        plain,
        "d failed: model call failed: out of order",
    )
    .await;
    check(
        plain,
        AgentBuilder::without_retry,
        "d failed: model call failed: out of order",
    )
    .await;
    let retry: fn(AgentBuilder) -> AgentBuilder =
        |it| it.retry(gadgetry::proto::run::Retry::default());
    check(AgentBuilder::without_retry, retry, "d: There.").await;

    let limited = async |inner: fn(AgentBuilder) -> AgentBuilder| {
        let model = Mock::new([call("Delegate", "d", &[]), "There.".into(), "Done.".into()]);
        let limits = RateLimits {
            requests_per_minute: Some(1),
            safety_margin: 1.0,
            ..RateLimits::default()
        };
        let began = Instant::now();
        told(
            Agent::builder()
                .model(model)
                .rate_limits(limits)
                .gadget(delegate("Delegate", inner)),
        )
        .await;
        began.elapsed().as_secs()
    };
    assert_eq!(limited(plain).await, 120);
    assert_eq!(limited(AgentBuilder::without_rate_limits).await, 60);
}

/// One person, one question at a time, however deep.
#[tokio::test(start_paused = true)]
async fn it_asks_the_same_user_one_question_at_a_time() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let human = {
        let asked = Arc::clone(&asked);
        move |question: HumanQuestion| {
            let asked = Arc::clone(&asked);
            async move {
                asked.lock().unwrap().push(question.text);
                sleep(Duration::from_secs(1)).await;
                Some("Yes.".to_owned())
            }
        }
    };
    let ask = |name: &str| {
        gadget(name, |context: ExecutionContext| async move {
            Outcome::ok(context.ask_human("Really?").await.unwrap())
        })
    };
    let gadget = delegate("Delegate", move |it| {
        it.gadget(ask("Inner"))
            .model(Mock::new([call("Inner", "i", &[]), ".".into()]))
    });
    let blocks = call("Delegate", "d", &[]) + &call("Outer", "o", &[]);
    let builder = Agent::builder().model(Mock::new([blocks.as_str(), "Done."]));
    let began = Instant::now();
    let (lines, _) = told(
        builder
            .gadget(gadget)
            .gadget(ask("Outer"))
            .on_human_input(human),
    )
    .await;
    assert!(
        lines.contains(&"> i: Yes.".to_owned()) && lines.contains(&"o: Yes.".to_owned()),
        "{lines:?}"
    );
    assert_eq!(
        (asked.lock().unwrap().len(), began.elapsed().as_secs()),
        (2, 2)
    );
}

#[tokio::test]
async fn it_may_be_only_so_deep() {
    /// A gadget whose subagent has the same gadget.
    fn deeper(max_depth: Option<u32>) -> Arc<dyn gadgetry::DynGadget> {
        let gadget = delegate("Deeper", move |it| {
            let it = it.gadget(deeper(None));
            match max_depth {
                Some(depth) => it.max_depth(depth),
                None => it,
            }
        });
        gadget.into_gadget()
    }
    let check = async |outer: Option<u32>, inner: Option<u32>, deepest: usize| {
        let replies = (0..=deepest).map(|_| call("Deeper", "d", &[]));
        let model = Mock::new(replies.chain((0..=deepest).map(|n| format!("{n}"))));
        let mut builder = Agent::builder().model(model).gadget(deeper(inner));
        if let Some(depth) = outer {
            builder = builder.max_depth(depth);
        }
        let (lines, _) = told(builder).await;
        let depth = deepest;
        let refused = format!(
            "{}d failed: a subagent at depth {} is not allowed; the limit is {depth}, see `.max_depth(…)`",
            "> ".repeat(depth),
            depth + 1,
        );
        assert!(lines.contains(&refused), "{lines:?}");
    };
    check(None, None, 5).await;
    check(Some(1), None, 1).await;
    check(Some(0), None, 0).await;
    // Below its parent, a subagent allows one more level, but not more than its parent does.
    check(Some(3), Some(1), 2).await;
    check(Some(1), Some(9), 1).await;
}

/// A token of its own cancels a subagent and nothing else.
#[tokio::test(start_paused = true)]
async fn its_own_token_cancels_it_alone() {
    let token = gadgetry::CancellationToken::new();
    let gadget = delegate("Delegate", {
        let token = token.clone();
        move |it| {
            it.model(Mock::new([after(60_000, ".")]))
                .cancellation(token.clone())
        }
    });
    let model = Mock::new([call("Delegate", "d", &[]), "Done.".into()]);
    let run = told(Agent::builder().model(model).gadget(gadget));
    let cancel = async {
        sleep(Duration::from_secs(1)).await;
        token.cancel();
    };
    let ((lines, _), ()) = tokio::join!(run, cancel);
    assert_eq!(
        lines[lines.len() - 3..],
        [
            "d failed: the run was cancelled",
            "text \"Done.\"",
            "Completed"
        ]
    );
}
