//! Who watches a run, who rewrites it, and who decides.

use std::sync::{Arc, Mutex};

use gadgetry::control::{
    AfterGadget, AfterModelCall, BeforeGadget, BeforeModelCall, OnDependencySkipped, OnModelError,
    RunContext, Start,
};
use gadgetry::human::HumanQuestion;
use gadgetry::proto::call::Outcome;
use gadgetry::proto::error::ModelErrorKind;
use gadgetry::proto::event::{Event, FinishReason};
use gadgetry::proto::message::{Message, Request, Role};
use gadgetry::proto::run::{AboutCall, Input, Interceptor};
use gadgetry::proto::time::Time;
use gadgetry::{Agent, AgentBuilder, Hook, Observer, OnGadgetError};
use serde_json::json;

use super::support::{Mock, broken, call, echo, failed, gadget, story};

/// The story of a run, and the model's last request.
async fn told(
    replies: &[&str],
    options: impl FnOnce(AgentBuilder) -> AgentBuilder,
) -> (Vec<String>, String) {
    let model = Mock::new(replies.iter().copied());
    let builder = Agent::builder()
        .model(model.clone())
        .gadget(echo())
        .gadget(broken());
    let mut events = Vec::new();
    let run = options(builder).ask("Question?").unwrap();
    let _ = run.on_event(|event| events.push(event.clone())).await;
    (story(&events), model.last())
}

fn echo_call() -> String {
    call("Echo", "e", &[("text", "hi")])
}

#[tokio::test]
async fn before_and_after_a_model_call() {
    let (lines, _) = told(&[], |it| {
        it.before_model_call(async |request| match request.iteration {
            1 => BeforeModelCall::Reply(call("Echo", "e", &[("text", "cached")])),
            _ => BeforeModelCall::Reply("From the cache.".to_owned()),
        })
    })
    .await;
    assert_eq!(
        lines,
        [
            "start e",
            "e: cached",
            "text \"From the cache.\"",
            "Completed"
        ]
    );

    let (_, last) = told(&["Draft.", "Better."], |it| {
        it.after_model_call(async |reply| match reply.iteration {
            1 => AfterModelCall::Modify {
                text: Some("Edited.".to_owned()),
                append: vec![Message::text(Role::User, "Again, please.")],
            },
            _ => AfterModelCall::Proceed,
        })
        .text_only(gadgetry::proto::run::OnTextOnlyReply::Acknowledge)
        .max_iterations(2)
    })
    .await;
    assert_eq!(
        last.split('\n')
            .skip_while(|line| *line != "Question?")
            .collect::<Vec<_>>(),
        ["Question?", "Edited.", "Again, please.",]
    );
}

#[tokio::test]
async fn on_a_model_error() {
    let model = Mock::new([failed(ModelErrorKind::BadRequest)]);
    let run = Agent::builder()
        .model(model)
        .on_model_error(async |failure| {
            assert_eq!(failure.error.kind, ModelErrorKind::BadRequest);
            OnModelError::Reply("I am not well.".to_owned())
        });
    assert_eq!(
        run.ask("?").unwrap().text().await.unwrap(),
        "I am not well."
    );
}

#[tokio::test]
async fn before_and_after_a_gadget() {
    let (lines, _) = told(&[&echo_call(), "."], |it| {
        it.before_gadget(async |_| BeforeGadget::Parameters(json!({ "text": "ho" })))
    })
    .await;
    assert_eq!(lines[1], "e: ho");
    let (lines, _) = told(&[&echo_call(), "."], |it| {
        it.before_gadget(async |start| BeforeGadget::Deny(format!("no {}", start.gadget_name)))
    })
    .await;
    assert_eq!(lines[0], "e failed: no Echo");
    let (lines, _) = told(&[&echo_call(), "."], |it| {
        it.after_gadget(async |done| AfterGadget::Result(format!("{}!", done.result.unwrap())))
    })
    .await;
    assert_eq!(lines[1], "e: hi!");
}

#[tokio::test]
async fn on_a_gadget_error() {
    let blocks = call("Broken", "b", &[]) + &echo_call();
    let check = async |decision: OnGadgetError, expected: &[&str]| {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (lines, _) = told(&[&blocks, "Done."], |it| {
            let asked = Arc::clone(&asked);
            it.on_gadget_error(move |failure| {
                let call = failure.about.invocation_id.to_string();
                asked
                    .lock()
                    .unwrap()
                    .push((call, failure.result.unwrap_err()));
                let decision = decision.clone();
                async { decision }
            })
        })
        .await;
        // It is not asked about the one that worked.
        assert_eq!(
            *asked.lock().unwrap(),
            [("b".to_owned(), "no luck".to_owned())]
        );
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        assert_eq!(
            lines
                .iter()
                .filter(|it| it.starts_with('b'))
                .copied()
                .collect::<Vec<_>>(),
            expected[..1]
        );
        assert_eq!(lines[4..], expected[1..]);
    };
    let on = ["b failed: no luck", "text \"Done.\"", "Completed"];
    check(OnGadgetError::Continue, &on).await;
    let recovered = ["b: (nothing)", "text \"Done.\"", "Completed"];
    check(OnGadgetError::Recover("(nothing)".into()), &recovered).await;
    check(OnGadgetError::Stop, &["b failed: no luck", "Stopped"]).await;
}

#[tokio::test]
async fn a_run_that_was_stopped_has_an_answer() {
    let model = Mock::new([format!("It breaks. {}", call("Broken", "b", &[]))]);
    let run = Agent::builder().model(model).gadget(broken());
    let run = run
        .on_gadget_error(async |_| OnGadgetError::Stop)
        .ask("?")
        .unwrap();
    assert_eq!(run.text().await.unwrap(), "It breaks. ");
}

#[tokio::test]
async fn on_an_unmet_dependency() {
    let blocks =
        call("Broken", "b", &[]) + "!!!GADGET_START:Echo:e:b\n!!!ARG:text\nhi\n!!!GADGET_END\n";
    let check = async |options: fn(AgentBuilder) -> AgentBuilder, line: &str| {
        let (lines, _) = told(&[&blocks, "."], options).await;
        assert!(lines.contains(&line.to_owned()), "{lines:?}");
    };
    check(|it| it, "skipped e").await;
    check(
        |it| {
            it.on_dependency_skipped(async |unmet| {
                assert_eq!(unmet.failed_dependency, "b");
                OnDependencySkipped::Fallback("[]".to_owned())
            })
        },
        "e: []",
    )
    .await;
    check(
        |it| it.on_dependency_skipped(async |_| OnDependencySkipped::Execute),
        "e: hi",
    )
    .await;
}

#[tokio::test]
async fn the_first_hook_that_does_not_proceed_decides() {
    struct Deny(&'static str);
    impl Hook for Deny {
        async fn before_gadget(&self, _: &RunContext, _: &Start) -> BeforeGadget {
            BeforeGadget::Deny(self.0.to_owned())
        }
    }
    let (lines, _) = told(&[&echo_call(), "."], |it| {
        it.before_gadget(async |_| BeforeGadget::Proceed)
            .hook(Deny("one"))
            .hook(Deny("two"))
    })
    .await;
    assert_eq!(lines[0], "e failed: one");
}

#[tokio::test]
async fn a_hook_that_panics_stops_the_run() {
    let model = Mock::new([echo_call()]);
    let run = Agent::builder().model(model).gadget(echo());
    let run = run
        .before_gadget(async |_| panic!("oh no"))
        .ask("?")
        .unwrap();
    let error = run.text().await.unwrap_err();
    assert_eq!(error.reason(), FinishReason::Cancelled);
    assert_eq!(
        error.to_string(),
        "the run was cancelled: a hook panicked: oh no"
    );
}

#[tokio::test]
async fn a_gadget_asks_the_user() {
    let ask = || {
        gadget("Ask", |context: gadgetry::ExecutionContext| async move {
            match context.ask_human("Really?").await {
                Ok(answer) => Outcome::ok(answer),
                Err(error) => Outcome::error(error.to_string()),
            }
        })
    };
    let block = call("Ask", "a", &[]);
    let (lines, _) = told(&[&block, "."], |it| {
        it.gadget(ask())
            .on_human_input(async |question: HumanQuestion| Some(format!("{question} Yes.")))
    })
    .await;
    assert_eq!(lines[1], "a: Really? Yes.");
    let (lines, _) = told(&[&block, "."], |it| it.gadget(ask())).await;
    assert_eq!(lines[1], "a failed: no user is available to answer");
}

#[tokio::test]
async fn everybody_watches_in_order() {
    struct Watcher(&'static str, Arc<Mutex<Vec<String>>>);
    impl Observer for Watcher {
        fn event(&mut self, event: &Event) {
            let lines = story(std::slice::from_ref(event));
            self.1
                .lock()
                .unwrap()
                .extend(lines.iter().map(|line| format!("{} {line}", self.0)));
        }

        fn input(&mut self, _: Time, input: &Input) {
            if let Input::ModelClosed(_) = input {
                self.1.lock().unwrap().push(format!("{} closed", self.0));
            }
        }

        fn request(&mut self, request: &Request) {
            let messages = request.messages.len();
            let line = format!("{} request of {messages}", self.0);
            self.1.lock().unwrap().push(line);
        }
    }
    let log = Arc::new(Mutex::new(Vec::new()));
    let agent = Agent::builder()
        .model(Mock::new(["One.", "Two."]))
        .observer(Watcher("first", Arc::clone(&log)))
        .observer(Watcher("second", Arc::clone(&log)))
        .build()
        .unwrap();
    let run = agent.ask("?").on_event(|event| {
        let lines = story(std::slice::from_ref(event));
        log.lock()
            .unwrap()
            .extend(lines.iter().map(|line| format!("consumer {line}")));
    });
    run.await.unwrap();
    agent.ask("?").text().await.unwrap();
    assert_eq!(
        *log.lock().unwrap(),
        [
            "first request of 1",
            "second request of 1",
            "first text \"One.\"",
            "second text \"One.\"",
            "consumer text \"One.\"",
            "first closed",
            "second closed",
            "first Completed",
            "second Completed",
            "consumer Completed",
            "first request of 1",
            "second request of 1",
            "first text \"Two.\"",
            "second text \"Two.\"",
            "first closed",
            "second closed",
            "first Completed",
            "second Completed",
        ]
    );
}

#[tokio::test]
async fn interceptors_rewrite_in_order() {
    struct Add(&'static str);
    impl Interceptor for Add {
        fn result(&self, _: &AboutCall, text: String) -> String {
            text + self.0
        }
    }
    let (_, last) = told(&[&echo_call(), "."], |it| {
        it.interceptor(Add("1")).interceptor(Add("2"))
    })
    .await;
    assert!(last.ends_with("Result (e): hi12"), "{last}");
}
