//! The identity of runs, and the values of their callers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use futures_util::StreamExt as _;
use futures_util::future::join_all;
use gadgetry::agent::single_call;
use gadgetry::approval::{Answer as Approval, ApprovalRequest, Approvals, Rules};
use gadgetry::control::{BeforeModelCall, RunContext, RunInfo};
use gadgetry::journal::{Journal as _, MemoryJournal};
use gadgetry::proto::call::Outcome;
use gadgetry::proto::event::{CallAnswer, Event, EventKind, FinishReason};
use gadgetry::proto::id::CallId;
use gadgetry::proto::message::Request;
use gadgetry::{
    Agent, AgentBuilder, ExecutionContext, Gadget, GadgetError, GadgetInfo, Hook, HumanQuestion,
    IntoGadget as _, NoParams, ScriptedModel,
};
use serde_json::json;

use super::support::{Mock, call, gadget};

/// A model without state: it calls `Who`, and then answers.
fn model() -> ScriptedModel {
    let block = json!({ "text": call("Who", "w", &[]) });
    format!("{block}\n{}", json!({ "text": "Done." }))
        .parse()
        .unwrap()
}

/// Returns the id of its run, after a while.
fn who() -> impl gadgetry::IntoGadget {
    gadget("Who", |context: ExecutionContext| async move {
        tokio::task::yield_now().await;
        Outcome::ok(context.run().unwrap().info().id.to_string())
    })
}

/// A thousand runs at a time, and one observer: each event belongs to one run, and the numbers of each run have no gaps.
#[tokio::test]
async fn an_observer_can_tell_concurrent_runs_apart() {
    type Runs = BTreeMap<String, Vec<Event>>;
    let runs: Arc<Mutex<Runs>> = Arc::default();
    let seen = Arc::clone(&runs);
    let agent = || {
        let seen = Arc::clone(&seen);
        let agent = Agent::builder().model(model()).gadget(who()).name("crowd");
        agent.observer(move |event: &Event| {
            let run = event.run.as_deref().unwrap().to_owned();
            seen.lock()
                .unwrap()
                .entry(run)
                .or_default()
                .push(event.clone());
        })
    };
    // The replies of a script are in one order, so each run has its own model, but all have the observer.
    let all = (0..1_000).map(|number| {
        let agent = agent().build().unwrap();
        tokio::spawn(async move {
            let run = agent.ask("?").run_id(format!("run-{number}"));
            run.metadata("number", number).text().await.unwrap()
        })
    });
    for answer in join_all(all).await {
        assert_eq!(answer.unwrap(), "Done.");
    }
    let runs = runs.lock().unwrap();
    assert_eq!(runs.len(), 1_000);
    for (id, events) in runs.iter() {
        let EventKind::RunStart(info) = &events[0].kind else {
            panic!("{:?}", events[0]);
        };
        assert_eq!(&*info.id, id);
        assert_eq!(format!("run-{}", info.metadata["number"]), *id);
        assert_eq!(info.agent.as_deref(), Some("crowd"));
        assert_eq!(&*info.model, "script");
        for (seq, event) in (0..).zip(events) {
            assert_eq!(event.seq, seq, "{id}");
        }
        let answers = events.iter().filter_map(|event| {
            if let EventKind::GadgetResult {
                answer: CallAnswer::Result(text),
                ..
            } = &event.kind
            {
                Some(text.as_str())
            } else {
                None
            }
        });
        assert_eq!(answers.collect::<Vec<_>>(), [id.as_str()]);
        assert!(matches!(
            events.last().unwrap().kind,
            EventKind::RunFinished { .. }
        ));
    }
}

#[tokio::test]
async fn a_run_without_an_id_gets_a_random_one() {
    let agent = Agent::builder()
        .model(Mock::new(["a", "b"]))
        .build()
        .unwrap();
    let (one, other) = (agent.ask("?"), agent.ask("?"));
    assert_ne!(one.info().id, other.info().id);
    let id = Arc::clone(&one.info().id);
    let events: Vec<Event> = one.collect().await;
    assert!(events.iter().all(|event| event.run.as_ref() == Some(&id)));
}

/// Asks the user.
fn curious() -> impl gadgetry::IntoGadget {
    gadget("Who", |context: ExecutionContext| async move {
        match context.ask_human("Sure?").await {
            Ok(answer) => Outcome::ok(answer),
            Err(error) => Outcome::error(error.to_string()),
        }
    })
}

#[tokio::test]
async fn a_subagent_names_its_parent_and_questions_carry_the_run() {
    type Asked = Arc<Mutex<Vec<(String, Arc<RunInfo>)>>>;
    let asked = Asked::default();
    let (approver, human) = (Arc::clone(&asked), Arc::clone(&asked));
    let approvals = Approvals::new(Rules::parse(["ask *"]).unwrap()).approver(
        move |request: ApprovalRequest| {
            let line = format!("approve {}", request.gadget);
            approver.lock().unwrap().push((line, request.run));
            async { Approval::Once }
        },
    );
    let ask = gadget("Ask", |context: ExecutionContext| async move {
        let builder = Agent::builder()
            .model(model())
            .gadget(curious())
            .name("inner");
        let agent = context.spawn_agent(builder).unwrap();
        Outcome::ok(agent.ask("?").metadata("level", 2).text().await.unwrap())
    });
    let outer = Mock::new([call("Ask", "a", &[]).as_str(), "Done."]);
    let agent = Agent::builder()
        .model(outer)
        .gadget(ask)
        .approvals(approvals);
    let agent = agent.on_human_input(move |question: HumanQuestion| {
        let line = format!("human {question} {:?} {:?}", question.call, question.gadget);
        human.lock().unwrap().push((line, question.run));
        async { Some("yes".to_owned()) }
    });
    let mut starts = Vec::new();
    let run = agent
        .build()
        .unwrap()
        .ask("?")
        .run_id("r")
        .metadata("level", 1);
    let ended = run.on_event(|event| {
        if let EventKind::RunStart(info) = &event.kind {
            starts.push((event.depth(), Arc::clone(info)));
        }
    });
    ended.await.unwrap();
    let told: Vec<_> = starts
        .iter()
        .map(|(depth, info)| {
            let parent = info.parent.as_ref().map(|it| (it.run.to_string(), it.call));
            (
                *depth,
                info.id.to_string(),
                parent,
                info.agent.as_deref(),
                info.metadata["level"].clone(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            (0, "r".to_owned(), None, None, json!(1)),
            (
                1,
                "r/0.0".to_owned(),
                Some(("r".to_owned(), CallId(0))),
                Some("inner"),
                json!(2)
            ),
        ]
    );
    let asked = asked.lock().unwrap();
    let lines: Vec<_> = asked
        .iter()
        .map(|(line, run)| format!("{} {line}", run.id))
        .collect();
    assert_eq!(
        lines,
        [
            "r approve Ask",
            "r/0.0 approve Who",
            "r/0.0 human Sure? Some(CallId(0)) Some(\"Who\")"
        ]
    );
}

#[tokio::test]
async fn a_journal_keeps_the_identity() {
    let journal = MemoryJournal::default();
    let agent = Agent::builder()
        .model(model())
        .gadget(who())
        .build()
        .unwrap();
    let run = agent
        .durable(&journal)
        .run_id("order-7")
        .metadata("user", "ada");
    let run = run.ask("?").await.unwrap();
    assert_eq!(&*run.info().id, "order-7");
    let events: Vec<Event> = run.collect().await;
    assert!(
        events
            .iter()
            .all(|event| event.run.as_deref() == Some("order-7"))
    );
    let opened = journal
        .open(&"order-7".parse().unwrap(), None)
        .await
        .unwrap();
    assert_eq!(opened.header.run.as_ref().unwrap().metadata["user"], "ada");
    drop(opened);
    // The caller of the second process says something else.
    let run = agent
        .durable(&journal)
        .run_id("order-7")
        .metadata("user", "bob")
        .resume()
        .await
        .unwrap();
    assert_eq!(run.info().metadata["user"], "ada");
}

struct Db(&'static str);
struct User(&'static str);

/// Says what it finds.
fn values() -> impl gadgetry::IntoGadget {
    gadget("Who", |context: ExecutionContext| async move {
        let db = context.get::<Db>().map(|db| db.0);
        let user = context.get::<User>().map(|user| user.0);
        Outcome::ok(format!("{db:?} {user:?}"))
    })
}

#[tokio::test]
async fn values_of_the_run_go_before_those_of_the_agent() {
    async fn check(
        builder: impl FnOnce(AgentBuilder) -> AgentBuilder,
        run: impl FnOnce(gadgetry::AgentRun<'static>) -> gadgetry::AgentRun<'static>,
        expected: &str,
    ) {
        let agent = Agent::builder().model(model()).gadget(values());
        let agent = builder(agent).build().unwrap();
        let mut found = Vec::new();
        let ended = run(agent.ask("?")).on_event(|event| {
            if let EventKind::GadgetResult {
                answer: CallAnswer::Result(text),
                ..
            } = &event.kind
            {
                found.push(text.clone());
            }
        });
        ended.await.unwrap();
        assert_eq!(found, [expected]);
    }
    let missing = |name: &str| {
        format!("Err(MissingValue {{ type_name: \"tests::agent::identity::{name}\" }})")
    };
    let none = format!("{} {}", missing("Db"), missing("User"));
    check(|it| it, |it| it, &none).await;
    check(
        |it| it.with(Db("a")),
        |it| it,
        &format!("Ok(\"a\") {}", missing("User")),
    )
    .await;
    check(
        |it| it.with(Db("a")),
        |it| it.with(User("ada")),
        "Ok(\"a\") Ok(\"ada\")",
    )
    .await;
    check(
        |it| it.with(Db("a")).with(User("x")),
        |it| it.with(User("ada")).with(Db("b")),
        "Ok(\"b\") Ok(\"ada\")",
    )
    .await;
    check(
        |it| it.with(Db("a")).with(Db("b")),
        |it| it.with(User("x")).with(User("y")),
        "Ok(\"b\") Ok(\"y\")",
    )
    .await;
}

#[tokio::test]
async fn subagents_inherit_values_and_may_have_others() {
    let ask = gadget("Ask", |context: ExecutionContext| async move {
        let builder = Agent::builder()
            .model(model())
            .gadget(values())
            .with(Db("inner"));
        let agent = context.spawn_agent(builder).unwrap();
        let mut found = String::new();
        let ended = agent.ask("?").on_event(|event| {
            if let EventKind::GadgetResult {
                answer: CallAnswer::Result(text),
                ..
            } = &event.kind
            {
                found.clone_from(text);
            }
        });
        ended.await.unwrap();
        Outcome::ok(found)
    });
    let outer = Mock::new([call("Ask", "a", &[]).as_str(), "Done."]);
    let agent = Agent::builder()
        .model(outer)
        .gadget(ask)
        .with(Db("outer"))
        .build()
        .unwrap();
    let mut results = Vec::new();
    let ended = agent.ask("?").with(User("ada")).on_event(|event| {
        if let EventKind::GadgetResult {
            answer: CallAnswer::Result(text),
            ..
        } = &event.kind
        {
            results.push((event.depth(), text.clone()));
        }
    });
    ended.await.unwrap();
    let found = "Ok(\"inner\") Ok(\"ada\")".to_owned();
    assert_eq!(results, [(1, found.clone()), (0, found)]);
}

/// A hook finds values, too.
struct KnownUsers;
impl Hook for KnownUsers {
    async fn before_model_call(&self, run: &RunContext, _: &Request) -> BeforeModelCall {
        match run.get::<User>() {
            Ok(_) => BeforeModelCall::Proceed,
            Err(_) => BeforeModelCall::Stop,
        }
    }
}

#[tokio::test]
async fn a_hook_finds_values() {
    let agent = Agent::builder()
        .model(Mock::new(["a", "b"]))
        .hook(KnownUsers)
        .build()
        .unwrap();
    assert_eq!(agent.ask("?").text().await.unwrap(), "");
    assert_eq!(agent.ask("?").with(User("ada")).text().await.unwrap(), "a");
}

struct Orders;
impl Gadget for Orders {
    type Params = NoParams;
    type Output = String;

    fn info(&self) -> GadgetInfo {
        GadgetInfo::new("Orders", "Lists orders").needs::<Db>()
    }

    async fn execute(&self, _: NoParams, context: ExecutionContext) -> Result<String, GadgetError> {
        Ok(context.get::<Db>()?.0.to_owned())
    }
}

#[tokio::test]
async fn a_run_without_a_value_that_a_gadget_needs_sends_nothing() {
    let model = Mock::new(["Done."]);
    let agent = Agent::builder()
        .model(model.clone())
        .gadget(Orders)
        .build()
        .unwrap();
    let error = agent.ask("?").text().await.unwrap_err().to_string();
    assert_eq!(
        error,
        "the run was cancelled: the gadget Orders needs a value of type `tests::agent::identity::Db`, which the run does not have: add \
         one to the run or its agent with `.with(…)`"
    );
    assert_eq!(model.asked().len(), 0);
    assert_eq!(agent.ask("?").with(Db("a")).text().await.unwrap(), "Done.");
}

/// Says what it is given, and by whom.
#[gadgetry::gadget]
async fn audit(
    #[gadget(with)] user: &User,
    text: String,
    context: ExecutionContext,
    #[gadget(with)] db: &Db,
) -> String {
    tokio::task::yield_now().await;
    let id = context.invocation_id();
    format!("{id}: {} says {text} to {}", user.0, db.0)
}

/// The same, on a thread that may block.
#[gadgetry::gadget(blocking)]
fn blocking_audit(text: String, #[gadget(with)] user: &User) -> String {
    format!("{} says {text}", user.0)
}

#[tokio::test]
async fn a_function_takes_values_of_the_run() {
    let blocks =
        call("Audit", "a", &[("text", "hi")]) + &call("BlockingAudit", "b", &[("text", "ho")]);
    let model = Mock::new([blocks.as_str(), "Done."]);
    let system = model.clone();
    let agent = Agent::builder()
        .model(model)
        .gadget(Audit)
        .gadget(BlockingAudit)
        .with(Db("db"));
    let agent = agent.build().unwrap();
    let error = agent.ask("?").text().await.unwrap_err().to_string();
    assert!(
        error.contains("the gadget Audit needs a value of type `tests::agent::identity::User`"),
        "{error}"
    );
    let mut results = Vec::new();
    let ended = agent.ask("?").with(User("ada")).on_event(|event| {
        if let EventKind::GadgetResult {
            answer: CallAnswer::Result(text),
            ..
        } = &event.kind
        {
            results.push(text.clone());
        }
    });
    ended.await.unwrap();
    results.sort();
    assert_eq!(results, ["a: ada says hi to db", "ada says ho"]);
    // The model does not know of them.
    assert!(!system.system().contains("user"), "{}", system.system());
}

/// No model has written it, so no event and no field is about one.
#[tokio::test]
async fn a_single_call_has_events_of_its_gadget_alone() {
    let agent = single_call(who().into_gadget(), "{}", 1).unwrap();
    let mut events = Vec::new();
    let run = agent.ask("").unwrap().run_id("r");
    let ended = run.on_event(|event| events.push(json!(event))).await;
    assert_eq!(ended.unwrap().summary.reason, FinishReason::Completed);
    let kinds: Vec<_> = events.iter().map(|event| event["type"].clone()).collect();
    let expected = [
        "run_start",
        "gadget_call_start",
        "gadget_call",
        "gadget_start",
        "gadget_result",
        "run_finished",
    ];
    assert_eq!(kinds, expected);
    assert_eq!(
        (&events[0]["singleCall"], &events[0]["model"]),
        (&json!(true), &json!(""))
    );
}

#[tokio::test]
async fn a_run_knows_when_it_began() {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let before = now();
    let run = Agent::builder().model(model()).gadget(who()).ask("?");
    let mut started = None;
    let mut run = run.unwrap();
    let header = run.header().await.unwrap();
    let note = |event: &Event| {
        if let EventKind::RunStart(info) = &event.kind {
            started = info.start_ms;
        }
    };
    run.on_event(note).await.unwrap();
    let (after, started) = (now(), started.unwrap());
    let began = u128::from(started);
    assert!((before.as_millis()..=after.as_millis()).contains(&began));
    // A log keeps it.
    assert_eq!(header.run.unwrap().start_ms, Some(started));
}
