//! Hooks and the person that a run asks, under tokio's paused clock.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::stage::{Seen, call, echo, gadget, plan, play, play_until, services, slow};
use futures_core::future::BoxFuture;
use gadgetry::control::{
    AfterGadget, AfterModelCall, BeforeGadget, BeforeModelCall, DynHook, Hook, Hooks,
    OnDependencySkipped, OnModelError, Reply, RunContext, closures,
};
use gadgetry::human::HumanQuestion;
use gadgetry::proto::call::Outcome;
use gadgetry::proto::event::FinishReason;
use gadgetry::proto::message::{Message, Request, Role};
use gadgetry::proto::run::{Asks, Decision, OnTextOnlyReply, QuestionKind, RunConfig, Start};
use gadgetry::{DynGadget, Services};
use serde_json::{Value, json};
use tokio::time::sleep;

fn fail() -> Arc<dyn DynGadget> {
    gadget("Fail", |_| async { Outcome::error("no luck") })
}

fn with(replies: &[Value], hook: impl DynHook + 'static) -> Services {
    Services {
        hooks: Hooks::default().with(hook),
        ..services(replies, &[echo(), slow(), fail()])
    }
}

async fn check(replies: &[Value], hook: impl DynHook + 'static, expected: &[&str]) -> Seen {
    let seen = play(&with(replies, hook)).await;
    assert_eq!(seen.lines, expected);
    assert_eq!(seen.ended.fault, None);
    seen
}

#[tokio::test(start_paused = true)]
async fn every_decision_does_what_it_says() {
    let one = |header: &str| vec![json!(call(header)), json!("done")];
    let echo = one("Echo:e");

    check(
        &echo,
        closures::before_model_call(|request: Request| async move {
            match request.iteration {
                1 => BeforeModelCall::Proceed,
                _ => BeforeModelCall::Reply("instead".to_owned()),
            }
        }),
        &[
            "0 start e",
            "0 e: Result(\"e\")",
            "0 \"instead\"",
            "0 Completed 0",
        ],
    )
    .await;
    check(
        &[json!({ "text": "done", "expect": { "contains": ["changed"] } })],
        closures::before_model_call(|request: Request| async move {
            let messages = Arc::new(vec![Message::text(Role::User, "changed")]);
            BeforeModelCall::Replace(request.messages(messages))
        }),
        &["0 \"done\"", "0 Completed 0"],
    )
    .await;
    check(
        &echo,
        closures::before_model_call(|_| async { BeforeModelCall::Stop }),
        &["0 Stopped 0"],
    )
    .await;

    let seen = check(
        &[json!("done")],
        closures::after_model_call(|reply: Reply| async move {
            assert_eq!(reply.iteration, 1);
            AfterModelCall::Modify {
                text: Some("kept".to_owned()),
                append: Vec::new(),
            }
        }),
        &["0 \"done\"", "0 Completed 0"],
    )
    .await;
    let last = seen.ended.history.last().unwrap();
    assert_eq!(last.raw.as_deref(), Some("kept"));

    let broken = [json!({ "text": "", "finish": "error" }), json!("done")];
    check(
        &broken,
        closures::on_model_error(|failure| async move {
            assert!(!failure.error.message.is_empty());
            OnModelError::Reply("sorry".to_owned())
        }),
        &["0 \"sorry\"", "0 Completed 0"],
    )
    .await;

    let before = |decided: BeforeGadget| {
        closures::before_gadget(move |start: Start| {
            assert_eq!(start.gadget_name, "Echo");
            let decided = decided.clone();
            async { decided }
        })
    };
    for (decided, result) in [
        (BeforeGadget::Result("r".to_owned()), "0 e: Result(\"r\")"),
        (BeforeGadget::Deny("no".to_owned()), "0 e: Error(\"no\")"),
    ] {
        check(
            &echo,
            before(decided),
            &[result, "0 \"done\"", "0 Completed 0"],
        )
        .await;
    }
    let changed = BeforeGadget::Parameters(json!({}));
    for decided in [BeforeGadget::Proceed, changed] {
        let expected = [
            "0 start e",
            "0 e: Result(\"e\")",
            "0 \"done\"",
            "0 Completed 0",
        ];
        check(&echo, before(decided), &expected).await;
    }

    for (decided, result) in [
        (AfterGadget::Proceed, "0 e: Result(\"e\")"),
        (AfterGadget::Result("r".to_owned()), "0 e: Result(\"r\")"),
        (AfterGadget::Deny("no".to_owned()), "0 e: Error(\"no\")"),
    ] {
        let after = closures::after_gadget(move |done| {
            assert_eq!(done.result.as_deref(), Ok("e"));
            let decided = decided.clone();
            async { decided }
        });
        check(
            &echo,
            after,
            &["0 start e", result, "0 \"done\"", "0 Completed 0"],
        )
        .await;
    }
    let stop = closures::after_gadget(|_| async { AfterGadget::Stop });
    check(
        &echo,
        stop,
        &["0 start e", "0 e: Result(\"e\")", "0 Stopped 0"],
    )
    .await;

    let unmet = [json!(call("Fail:f") + &call("Echo:e:f")), json!("done")];
    for (decided, lines) in [
        (OnDependencySkipped::Skip, vec!["0 skip e"]),
        (
            OnDependencySkipped::Execute,
            vec!["0 start e", "0 e: Result(\"e\")"],
        ),
        (
            OnDependencySkipped::Fallback("r".to_owned()),
            vec!["0 e: Result(\"r\")"],
        ),
    ] {
        let hook = closures::on_dependency_skipped(move |unmet| {
            assert_eq!(unmet.failed_dependency, "f");
            let decided = decided.clone();
            async { decided }
        });
        let begin = vec!["0 start f", "0 f: Error(\"no luck\")"];
        let end = vec!["0 \"done\"", "0 Completed 0"];
        check(&unmet, hook, &[begin, lines, end].concat()).await;
    }
}

/// Writes down what it is asked, takes its time, and decides.
struct Scribe {
    name: &'static str,
    asked: Arc<Mutex<Vec<String>>>,
    denies: bool,
    milliseconds: u64,
}

impl Hook for Scribe {
    async fn before_gadget(&self, _: &RunContext, start: &Start) -> BeforeGadget {
        let line = format!("{} {}", self.name, start.invocation_id);
        self.asked.lock().unwrap().push(line);
        sleep(Duration::from_millis(self.milliseconds)).await;
        if self.denies {
            return BeforeGadget::Deny(format!("{} says no", self.name));
        }
        BeforeGadget::Proceed
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_that_does_not_proceed_decides() {
    let asked = Arc::default();
    let scribe = |name, denies| Scribe {
        name,
        asked: Arc::clone(&asked),
        denies,
        milliseconds: 0,
    };
    let hooks = Hooks::default()
        .with(closures::after_gadget(|_| async { AfterGadget::Proceed }))
        .with(scribe("first", false))
        .with(scribe("second", true))
        .with(scribe("third", true));
    check(
        &[json!(call("Echo:e")), json!("done")],
        hooks,
        &[
            "0 e: Error(\"second says no\")",
            "0 \"done\"",
            "0 Completed 0",
        ],
    )
    .await;
    assert_eq!(*asked.lock().unwrap(), ["first e", "second e"]);
}

#[test]
fn only_what_is_wanted_is_asked() {
    let one = closures::before_gadget(|_| async { BeforeGadget::Proceed });
    let other = closures::on_model_error(|_| async { OnModelError::Proceed });
    let several = Hooks::default().with(one).with(other);
    let wanted = Asks {
        before_gadget: true,
        model_error: true,
        ..Asks::default()
    };
    assert_eq!(several.questions(), wanted);
    let services = with(&[], several);
    assert_eq!(services.asks(), wanted);
}

#[tokio::test(start_paused = true)]
async fn a_slow_decision_delays_only_its_own_call() {
    let slow_for_a = closures::before_gadget(|start: Start| async move {
        let milliseconds = if start.invocation_id.as_str() == "a" {
            300
        } else {
            20
        };
        sleep(Duration::from_millis(milliseconds)).await;
        BeforeGadget::Proceed
    });
    let text = call("Echo:a") + &call("Echo:b") + &call("Echo:c");
    let mut chunks = vec![json!(text)];
    chunks.extend([json!({ "delayMs": 100 }), json!("more")]);
    check(
        &[json!({ "chunks": chunks }), json!("done")],
        slow_for_a,
        &[
            "20 start b",
            "20 start c",
            "20 b: Result(\"b\")",
            "20 c: Result(\"c\")",
            "100 \"more\"",
            "300 start a",
            "300 a: Result(\"a\")",
            "300 \"done\"",
            "300 Completed 0",
        ],
    )
    .await;
}

/// Decides what nobody has asked.
struct Confused;

impl DynHook for Confused {
    fn questions(&self) -> Asks {
        Asks::hooks()
    }

    fn decide<'a>(&'a self, _: &'a RunContext, _: &'a QuestionKind) -> BoxFuture<'a, Decision> {
        Box::pin(async { Decision::Execute })
    }
}

#[tokio::test(start_paused = true)]
async fn a_broken_hook_stops_the_run() {
    let replies = [json!(call("Slow:s") + &call("Echo:e")), json!("never")];
    let panics = || {
        closures::before_gadget(|start: Start| async move {
            sleep(Duration::from_millis(10)).await;
            assert_ne!(start.gadget_name, "Echo", "not that one");
            BeforeGadget::Proceed
        })
    };
    let seen = play(&with(&replies, panics())).await;
    assert_eq!(seen.ended.summary.reason, FinishReason::Cancelled);
    let fault = seen.ended.fault.unwrap();
    assert!(fault.starts_with("a hook panicked: "), "{fault}");
    assert!(fault.contains("not that one"), "{fault}");
    let started = seen.lines.iter().any(|line| line.contains("start e"));
    assert!(!started, "{:?}", seen.lines);

    let seen = play(&with(&replies, Confused)).await;
    assert_eq!(seen.lines, ["0 Cancelled 0"]);
    let fault = seen.ended.fault.unwrap();
    assert_eq!(fault, "a hook: question 0 does not admit this answer");
}

#[tokio::test(start_paused = true)]
async fn every_hook_that_panics_stops_the_run() {
    let unmet = [json!(call("Fail:f") + &call("Echo:e:f")), json!("never")];
    let broken = [json!({ "text": "", "finish": "error" }), json!("never")];
    for services in [
        with(
            &unmet,
            closures::before_model_call(|_| async { panic!("oh") }),
        ),
        with(
            &unmet,
            closures::after_model_call(|_| async { panic!("oh") }),
        ),
        with(&unmet, closures::before_gadget(|_| async { panic!("oh") })),
        with(&unmet, closures::after_gadget(|_| async { panic!("oh") })),
        with(
            &unmet,
            closures::on_dependency_skipped(|_| async { panic!("oh") }),
        ),
        with(
            &broken,
            closures::on_model_error(|_| async { panic!("oh") }),
        ),
    ] {
        let seen = play(&services).await;
        assert_eq!(seen.ended.fault.as_deref(), Some("a hook panicked: oh"));
        assert_eq!(seen.ended.summary.reason, FinishReason::Cancelled);
        assert!(!seen.lines.iter().any(|line| line.contains("never")));
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_never_decides_does_not_outlive_a_cancel() {
    let services = with(
        &[json!(call("Echo:e"))],
        closures::before_gadget(|_| std::future::pending()),
    );
    let seen = play_until(&services, RunConfig::default(), Some(50)).await;
    assert_eq!(seen.lines.last().unwrap(), "50 Cancelled 0");
}

#[tokio::test(start_paused = true)]
async fn a_run_proceeds_without_hooks_and_user() {
    let services = services(&[json!(call("Echo:e")), json!("done")], &[echo()]);
    let config = RunConfig {
        asks: Asks {
            human: true,
            ..Asks::hooks()
        },
        text_only: OnTextOnlyReply::WaitForInput,
        ..RunConfig::default()
    };
    let run = gadgetry::proto::run::Run::ask(&plan(&services, config), "go");
    let (_commands, receiver) = tokio::sync::mpsc::channel(1);
    let ended = gadgetry::drive(run, &services, receiver, &mut |_: &_| {}).await;
    assert_eq!(ended.summary.answer, "done");
}

/// Asks, and gives the answer.
fn curious() -> Arc<dyn DynGadget> {
    gadget("Curious", |context| async move {
        let id = context.invocation_id().to_string();
        match context.ask_human(format!("{id}?")).await {
            Ok(answer) => Outcome::ok(answer),
            Err(error) => Outcome::error(error.to_string()),
        }
    })
}

/// Leaves the question to the run.
fn deferring() -> Arc<dyn DynGadget> {
    gadget("Deferring", |context| async move {
        Outcome {
            asks_human: Some(format!("{}!", context.invocation_id())),
            ..Outcome::error("nobody")
        }
    })
}

fn with_human<R>(
    replies: &[Value],
    human: impl Fn(HumanQuestion) -> R + Send + Sync + 'static,
) -> Services
where
    R: Future<Output = Option<String>> + Send + 'static,
{
    Services {
        human: Some(Arc::new(human)),
        ..services(replies, &[curious(), deferring()])
    }
}

#[tokio::test(start_paused = true)]
async fn the_user_gets_one_question_at_a_time_in_order() {
    let speaking = Arc::new(Mutex::new(false));
    let human = move |question: HumanQuestion| {
        let speaking = Arc::clone(&speaking);
        async move {
            assert!(!std::mem::replace(&mut *speaking.lock().unwrap(), true));
            sleep(Duration::from_millis(100)).await;
            *speaking.lock().unwrap() = false;
            (question.text != "b?").then(|| format!("to {question}"))
        }
    };
    let calls = call("Curious:a") + &call("Curious:b") + &call("Deferring:c") + &call("Curious:d");
    let seen = play(&with_human(&[json!(calls), json!("done")], human)).await;
    let mut answers: Vec<&str> = seen.lines.iter().map(String::as_str).collect();
    answers.retain(|line| line.contains(": "));
    assert_eq!(
        answers,
        [
            "100 a: Result(\"to a?\")",
            "200 b: Error(\"the question was not answered\")",
            "300 d: Result(\"to d?\")",
            "400 c: Result(\"to c!\")",
        ]
    );
    let told = |end: &str| seen.lines.iter().filter(|line| line.ends_with(end)).count();
    assert_eq!((told("answered true"), told("answered false")), (3, 1));
    assert_eq!(seen.lines.last().unwrap(), "400 Completed 0");
}

#[tokio::test(start_paused = true)]
async fn unanswered_questions_are_errors_of_the_call() {
    let calls = [
        json!(call("Curious:a") + &call("Deferring:c")),
        json!("done"),
    ];
    let panics = with_human(&calls, |_| async { panic!("not today") });
    let nobody = services(&calls, &[curious(), deferring()]);
    for (services, error) in [
        (panics, "the question was not answered"),
        (nobody, "no user is available to answer"),
    ] {
        let seen = play(&services).await;
        let answer = format!("0 a: Error(\"{error}\")");
        assert!(seen.lines.contains(&answer), "{:?}", seen.lines);
        assert!(
            seen.lines.contains(&"0 c: Error(\"nobody\")".to_owned()),
            "{:?}",
            seen.lines
        );
        assert_eq!(seen.ended.summary.answer, "done");
    }

    let silent = with_human(&calls, |_| std::future::pending());
    let seen = play_until(&silent, RunConfig::default(), Some(70)).await;
    assert_eq!(seen.lines.last().unwrap(), "70 Cancelled 0");
}

#[tokio::test(start_paused = true)]
async fn a_run_waits_for_what_the_user_says_next() {
    let human = |question: HumanQuestion| async move {
        (question.text == "What?").then(|| "That.".to_owned())
    };
    let replies = [
        json!("What?"),
        json!({ "text": "Good.", "expect": { "contains": ["That."] } }),
    ];
    let spec = RunConfig {
        text_only: OnTextOnlyReply::WaitForInput,
        ..RunConfig::default()
    };
    let seen = play_until(&with_human(&replies, human), spec, None).await;
    assert_eq!(seen.ended.summary.answer, "Good.");
    assert_eq!(seen.ended.summary.iterations, 2);
}
