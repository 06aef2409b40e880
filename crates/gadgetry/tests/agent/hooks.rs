//! Hooks of agents and of runs: which of them decide, in which order, and what broken ones do.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gadgetry::control::{
    AfterGadget, AfterModelCall, Asks, BeforeCompaction, BeforeGadget, BeforeModelCall, GadgetDone,
    OnDependencySkipped, OnModelError, Reply, RunContext, Start, UnmetDependency, closures,
};
use gadgetry::journal::MemoryJournal;
use gadgetry::proto::call::Outcome;
use gadgetry::proto::event::{Event, EventKind, FinishReason};
use gadgetry::proto::message::Request;
use gadgetry::{Agent, AgentRun, DynHook, Finished, Hook, OnGadgetError, RunError};
use serde_json::json;
use tokio::time::timeout;

use super::support::{Mock, broken, call, echo, gadget, story};

/// Watches only.
struct Watching;
impl Hook for Watching {
    fn event(&self, _: &RunContext, _: &Event) {}
}

/// Decides about calls.
struct Calls;
impl Hook for Calls {
    async fn before_gadget(&self, _: &RunContext, _: &Start) -> BeforeGadget {
        BeforeGadget::Proceed
    }
}

/// Decides as the hook in it does, but about failed gadgets.
struct Around<H>(H);
impl<H: Hook> Hook for Around<H> {
    fn before_gadget(
        &self,
        run: &RunContext,
        start: &Start,
    ) -> impl Future<Output = BeforeGadget> + Send {
        self.0.before_gadget(run, start)
    }

    fn on_gadget_error(
        &self,
        _: &RunContext,
        _: &GadgetDone,
    ) -> impl Future<Output = OnGadgetError> + Send {
        pending()
    }
}

#[test]
fn a_run_asks_only_what_a_hook_has_a_method_for() {
    let check = |hook: &dyn DynHook, expected: Asks| assert_eq!(hook.questions(), expected);
    let none = Asks::default();
    let calls = Asks {
        before_gadget: true,
        ..none
    };
    let results = Asks {
        after_gadget: true,
        ..none
    };
    check(&Watching, none);
    check(&Arc::new(Watching), none);
    check(&Calls, calls);
    check(&Arc::new(Calls), calls);
    check(&Around(Watching), results);
    check(
        &Around(Calls),
        Asks {
            after_gadget: true,
            ..calls
        },
    );
    check(
        &closures::before_model_call(async |_| BeforeModelCall::Proceed),
        Asks {
            before_model_call: true,
            ..none
        },
    );
    check(
        &closures::before_compaction(async |_| BeforeCompaction::Skip),
        Asks {
            before_compaction: true,
            ..none
        },
    );
    check(
        &closures::after_model_call(async |_| AfterModelCall::Proceed),
        Asks {
            after_model_call: true,
            ..none
        },
    );
    check(
        &closures::on_model_error(async |_| OnModelError::Proceed),
        Asks {
            model_error: true,
            ..none
        },
    );
    check(
        &closures::after_gadget(async |_| AfterGadget::Proceed),
        results,
    );
    check(
        &closures::on_gadget_error(async |_| OnGadgetError::Continue),
        results,
    );
    check(
        &closures::on_dependency_skipped(async |_| OnDependencySkipped::Skip),
        Asks {
            dependency_skipped: true,
            ..none
        },
    );
}

/// Writes down every method that is called, with the run, and decides nothing.
#[derive(Clone)]
struct Scribe {
    name: &'static str,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Scribe {
    fn note(&self, run: &RunContext, what: &str) {
        let line = format!("{} {} {what}", self.name, run.info().id);
        self.lines.lock().unwrap().push(line);
    }
}

impl Hook for Scribe {
    fn event(&self, run: &RunContext, event: &Event) {
        if let EventKind::RunStart(_) | EventKind::RunFinished { .. } = event.kind {
            self.note(run, &format!("event of {}", event.run.as_deref().unwrap()));
        }
    }

    fn request(&self, run: &RunContext, request: &Request) {
        self.note(run, &format!("request {}", request.iteration));
    }

    async fn before_model_call(&self, run: &RunContext, _: &Request) -> BeforeModelCall {
        self.note(run, "before_model_call");
        BeforeModelCall::Proceed
    }

    async fn after_model_call(&self, run: &RunContext, _: &Reply) -> AfterModelCall {
        self.note(run, "after_model_call");
        AfterModelCall::Proceed
    }

    async fn before_gadget(&self, run: &RunContext, _: &Start) -> BeforeGadget {
        self.note(run, "before_gadget");
        BeforeGadget::Proceed
    }

    async fn after_gadget(&self, run: &RunContext, _: &GadgetDone) -> AfterGadget {
        self.note(run, "after_gadget");
        AfterGadget::Proceed
    }

    async fn on_gadget_error(&self, run: &RunContext, failed: &GadgetDone) -> OnGadgetError {
        self.note(run, &format!("on_gadget_error {:?}", failed.result));
        OnGadgetError::Continue
    }

    async fn on_dependency_skipped(
        &self,
        run: &RunContext,
        _: &UnmetDependency,
    ) -> OnDependencySkipped {
        self.note(run, "on_dependency_skipped");
        OnDependencySkipped::Skip
    }
}

#[tokio::test]
async fn hooks_of_the_agent_come_before_those_of_the_run() {
    let lines = Arc::default();
    let scribe = |name| Scribe {
        name,
        lines: Arc::clone(&lines),
    };
    let block = call("Broken", "b", &[]);
    let model = Mock::new([block.as_str(), "Done."]);
    let agent = Agent::builder().model(model).gadget(broken());
    let agent = agent.hook(scribe("agent")).build().unwrap();
    let run = agent.ask("?").run_id("r").hook(scribe("run"));
    run.text().await.unwrap();
    let mut seen = lines.lock().unwrap().clone();
    let (agent, run): (Vec<_>, Vec<_>) = seen.drain(..).partition(|line| line.starts_with("agent"));
    assert_eq!(
        agent,
        [
            "agent r event of r",
            "agent r before_model_call",
            "agent r request 1",
            "agent r before_gadget",
            "agent r after_model_call",
            "agent r on_gadget_error Err(\"no luck\")",
            "agent r after_gadget",
            "agent r before_model_call",
            "agent r request 2",
            "agent r after_model_call",
            "agent r event of r",
        ]
    );
    let same: Vec<_> = agent.iter().map(|it| it.replace("agent", "run")).collect();
    assert_eq!(run, same);
}

/// The events of a run as a story, and its end.
async fn told(run: AgentRun<'_>) -> (Vec<String>, Result<Finished, RunError>) {
    let mut events = Vec::new();
    let ended = run.on_event(|event| events.push(event.clone())).await;
    (story(&events), ended)
}

fn agent(blocks: &str) -> Agent {
    let model = Mock::new([blocks, "Done."]);
    let agent = Agent::builder().model(model);
    agent.gadget(echo()).gadget(broken()).build().unwrap()
}

fn says(text: &'static str) -> impl DynHook + 'static {
    closures::after_gadget(async move |_| AfterGadget::Result(text.to_owned()))
}

#[tokio::test]
async fn a_rewritten_result_is_passed_on() {
    async fn check(
        gadget: &str,
        hooks: Vec<Box<dyn FnOnce(AgentRun<'static>) -> AgentRun<'static>>>,
        expected: &str,
    ) {
        let run = agent(&call(gadget, "g", &[])).ask("?");
        let run = hooks.into_iter().fold(run, |run, add| add(run));
        let (lines, _) = told(run).await;
        assert!(
            lines.iter().any(|line| line == expected),
            "{expected}: {lines:?}"
        );
    }
    let adds = || {
        closures::after_gadget(|done: GadgetDone| async move {
            AfterGadget::Result(done.result.unwrap_or_else(|error| error) + "!")
        })
    };
    let recovers =
        || closures::on_gadget_error(async |_| OnGadgetError::Recover("well".to_owned()));
    let stops = || closures::after_gadget(async |_| AfterGadget::Stop);
    let denies = || closures::after_gadget(async |_| AfterGadget::Deny("no".to_owned()));
    check(
        "Echo",
        vec![
            Box::new(move |run| run.hook(says("a"))),
            Box::new(move |run| run.hook(adds())),
        ],
        "g: a!",
    )
    .await;
    check(
        "Broken",
        vec![
            Box::new(move |run| run.hook(recovers())),
            Box::new(move |run| run.hook(adds())),
        ],
        "g: well!",
    )
    .await;
    check(
        "Echo",
        vec![
            Box::new(move |run| run.hook(says("a"))),
            Box::new(move |run| run.hook(denies())),
            Box::new(move |run| run.hook(adds())),
        ],
        "g failed: no",
    )
    .await;
    // A stop ends the run, and what was rewritten before stays so.
    check(
        "Echo",
        vec![
            Box::new(move |run| run.hook(says("a"))),
            Box::new(move |run| run.hook(stops())),
            Box::new(move |run| run.hook(adds())),
        ],
        "g: a",
    )
    .await;
}

#[tokio::test]
async fn a_stop_keeps_what_was_rewritten() {
    let secret = closures::after_model_call(async |_| AfterModelCall::Modify {
        text: Some("(removed)".to_owned()),
        append: Vec::new(),
    });
    let stops = closures::after_model_call(async |_| AfterModelCall::Stop);
    let run = agent("The key is 12345.").ask("?").hook(secret).hook(stops);
    let (_, ended) = told(run).await;
    let finished = ended.unwrap();
    assert_eq!(finished.summary.reason, FinishReason::Stopped);
    let kept = serde_json::to_string(&finished.history).unwrap();
    assert!(
        kept.contains("(removed)") && !kept.contains("12345"),
        "{kept}"
    );
}

/// Messages of several hooks are one, and the model replies about it once.
#[tokio::test]
async fn a_reply_without_calls_continues_if_a_hook_says_so() {
    let continues = |word: &'static str| {
        closures::after_model_call(async move |reply| match reply.iteration {
            1 if reply.calls == 0 => AfterModelCall::Continue(word.to_owned()),
            _ => AfterModelCall::Proceed,
        })
    };
    let run = agent("Done.").ask("?");
    let run = run.hook(continues("Test it.")).hook(continues("Lint it."));
    let (_, ended) = told(run).await;
    let finished = ended.unwrap();
    assert_eq!(finished.summary.iterations, 2);
    let kept = serde_json::to_string(&finished.history).unwrap();
    assert!(kept.contains("Test it.\\n\\nLint it."), "{kept}");
}

struct Panics(&'static str);
impl Hook for Panics {
    fn event(&self, _: &RunContext, _: &Event) {
        assert_ne!(self.0, "event");
    }

    fn request(&self, _: &RunContext, _: &Request) {
        assert_ne!(self.0, "request");
    }

    fn input(
        &self,
        _: &RunContext,
        _: gadgetry::proto::time::Time,
        _: &gadgetry::proto::run::Input,
    ) {
        assert_ne!(self.0, "input");
    }

    async fn before_gadget(&self, _: &RunContext, _: &Start) -> BeforeGadget {
        assert_ne!(self.0, "before_gadget");
        BeforeGadget::Deny("guarded".to_owned())
    }
}

/// A hook that panics while it watches still decides: it may be a guard.
#[tokio::test]
async fn a_hook_that_panics() {
    let block = call("Echo", "e", &[]);
    for method in ["event", "request", "input"] {
        let (lines, ended) = told(agent(&block).ask("?").hook(Panics(method))).await;
        assert_eq!(lines[0], "e failed: guarded", "{method}");
        assert_eq!(ended.unwrap().summary.answer, "Done.", "{method}");
    }
    let (lines, ended) = told(agent(&block).ask("?").hook(Panics("before_gadget"))).await;
    assert_eq!(lines.last().unwrap(), "Cancelled");
    let fault = ended.unwrap_err().into_finished().fault.unwrap();
    assert!(fault.starts_with("a hook panicked: "), "{fault}");
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_never_answers_ends_with_its_run() {
    let never = || closures::before_gadget(async |_| pending().await);
    let run = agent(&call("Echo", "e", &[])).ask("?").hook(never());
    let handle = run.handle();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(5)).await;
        handle.cancel();
    });
    let (lines, _) = told(run).await;
    assert_eq!(lines.last().unwrap(), "Cancelled");
    let run = agent(&call("Echo", "e", &[])).ask("?").hook(never());
    assert!(timeout(Duration::from_secs(5), run.text()).await.is_err());
}

#[tokio::test]
async fn parameters_that_are_rewritten_to_invalid_ones_are_an_error_of_the_call() {
    #[gadgetry::gadget]
    /// Doubles a number.
    fn double(number: i64) -> i64 {
        number * 2
    }
    for parameters in [
        json!({ "number": "many" }),
        json!({}),
        json!([1]),
        json!(null),
    ] {
        let model = Mock::new([call("Double", "d", &[("number", "2")]).as_str(), "Done."]);
        let rewritten = parameters.clone();
        let rewrites = closures::before_gadget(move |_| {
            let parameters = rewritten.clone();
            async move { BeforeGadget::Parameters(parameters) }
        });
        let agent = Agent::builder()
            .model(model)
            .gadget(Double)
            .build()
            .unwrap();
        let (lines, ended) = told(agent.ask("?").hook(rewrites).hook(Calls)).await;
        assert!(
            lines[0].starts_with("d failed: "),
            "{parameters}: {lines:?}"
        );
        assert_eq!(ended.unwrap().summary.answer, "Done.");
    }
}

/// The decisions of hooks are what a journal keeps: a run that is resumed asks them nothing again.
#[tokio::test]
async fn hooks_of_a_durable_run() {
    let journal = MemoryJournal::default();
    let block = call("Echo", "e", &[("text", "hi")]);
    let guard = || closures::before_gadget(async |_| BeforeGadget::Deny("guarded".to_owned()));
    let run = agent(&block).durable(&journal).run_id("a").hook(guard());
    let (lines, _) = told(run.ask("?").await.unwrap()).await;
    assert_eq!(lines[0], "e failed: guarded");

    // A resumed run that has ended gives what happened, whatever the hooks are now.
    let run = agent(&block)
        .durable(&journal)
        .run_id("a")
        .ask("?")
        .await
        .unwrap();
    let finished = run.finish().await.unwrap();
    let kept = serde_json::to_string(&finished.history).unwrap();
    assert!(kept.contains("guarded"), "{kept}");

    // The next process would play its inputs without the questions of a hook that was not there.
    let run = agent(&block).durable(&journal).run_id("c");
    drop(run.ask("?").await.unwrap());
    let run = agent(&block).durable(&journal).run_id("c").hook(guard());
    let error = run.ask("?").await.unwrap_err().to_string();
    assert!(
        error.contains("the decisions that its hooks make"),
        "{error}"
    );

    // Of one that is kept already, a hook that decides could change what was.
    let run = agent(&block)
        .durable(&journal)
        .run_id("b")
        .ask("?")
        .await
        .unwrap();
    let fault = run.hook(guard()).text().await.unwrap_err().to_string();
    assert!(
        fault.contains("a hook that decides of a durable run is set before"),
        "{fault}"
    );
    let run = agent(&block)
        .durable(&journal)
        .run_id("b")
        .ask("?")
        .await
        .unwrap();
    assert_eq!(run.hook(Watching).text().await.unwrap(), "Done.");
}

#[tokio::test]
async fn an_option_that_comes_too_late_cancels_the_run() {
    use futures_util::StreamExt as _;
    let mut run = agent(&call("Echo", "e", &[])).ask("?");
    assert!(run.next().await.is_some());
    let mut run = run.hook(Calls);
    while run.next().await.is_some() {}
    let reason = run.finished().unwrap().summary.reason;
    assert_eq!(reason, FinishReason::Cancelled);
}

#[tokio::test]
async fn a_subagent_has_hooks_of_its_own() {
    let lines = Arc::default();
    let scribe = |name| Scribe {
        name,
        lines: Arc::clone(&lines),
    };
    let inner = scribe("inner");
    let ask = gadget("Ask", move |context: gadgetry::ExecutionContext| {
        let inner = inner.clone();
        async move {
            let builder = Agent::builder().model(Mock::new(["Inner."])).hook(inner);
            let agent = context.spawn_agent(builder).unwrap();
            Outcome::ok(agent.ask("?").text().await.unwrap())
        }
    });
    let model = Mock::new([call("Ask", "a", &[]).as_str(), "Done."]);
    let agent = Agent::builder()
        .model(model)
        .gadget(ask)
        .hook(scribe("outer"));
    let run = agent.build().unwrap().ask("?").run_id("r");
    run.text().await.unwrap();
    let lines = lines.lock().unwrap();
    let of = |start: &str| {
        lines
            .iter()
            .filter(|line| line.starts_with(start))
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(
        of("inner"),
        [
            "inner r/0.0 event of r/0.0",
            "inner r/0.0 before_model_call",
            "inner r/0.0 request 1",
            "inner r/0.0 after_model_call",
            "inner r/0.0 event of r/0.0",
        ]
    );
    assert_eq!(
        of("outer r event"),
        [
            "outer r event of r",
            "outer r event of r/0.0",
            "outer r event of r/0.0",
            "outer r event of r",
        ]
    );
}
