//! Who watches a run: text of the run itself, observers that panic, and what the last event has.

use std::sync::{Arc, Mutex};

use futures_util::StreamExt as _;
use gadgetry::proto::call::Outcome;
use gadgetry::proto::event::{Event, EventKind};
use gadgetry::{Agent, ExecutionContext, IntoGadget};

use super::support::{Mock, call, finish, gadget};

/// Runs a subagent, which says this.
fn research() -> impl IntoGadget {
    gadget("Research", |context: ExecutionContext| async move {
        let model = Mock::new(["[of the subagent]"]);
        let agent = context.spawn_agent(Agent::builder().model(model));
        match agent.unwrap().ask("?").text().await {
            Ok(text) => Outcome::ok(text),
            Err(error) => Outcome::error(error.to_string()),
        }
    })
}

fn agent() -> Agent {
    let first = format!("Let me.\n{}", call("Research", "r", &[]));
    let model = Mock::new([first, "The answer.".to_owned()]);
    let builder = Agent::builder().model(model).gadget(research());
    builder.build().unwrap()
}

#[tokio::test]
async fn texts_are_those_of_the_run_itself() {
    let mut run = agent().ask("?");
    let texts: Vec<String> = run.texts().collect().await;
    assert_eq!(texts.concat(), "Let me.\nThe answer.");
    assert_eq!(run.finished().unwrap().summary.answer, "The answer.");

    let (mut own, mut all) = (String::new(), String::new());
    let run = agent().ask("?").on_event(|event| {
        own.extend(event.own_text());
        if let EventKind::Text { text } = &event.kind {
            all.push_str(text);
        }
    });
    // A run is awaited as it is finished.
    assert_eq!(run.await.unwrap().summary.answer, "The answer.");
    assert_eq!(own, "Let me.\nThe answer.");
    assert!(all.contains("[of the subagent]"));
    assert_eq!(
        agent().ask("?").await.unwrap().summary.answer,
        "The answer."
    );
}

#[tokio::test]
async fn the_last_event_has_the_answer() {
    for (reply, answer) in [
        ("Four.".to_owned(), "Four."),
        (call("Finish", "f", &[("text", "All done.")]), "All done."),
    ] {
        let seen = Arc::new(Mutex::new(None));
        let keep = Arc::clone(&seen);
        // The type of the closure's parameter is inferred.
        let builder = Agent::builder().on_event(move |event| {
            if let EventKind::RunFinished { answer, .. } = &event.kind {
                *keep.lock().unwrap() = Some(answer.clone());
            }
        });
        let agent = builder
            .model(Mock::new([reply]))
            .gadget(finish())
            .build()
            .unwrap();
        let finished = agent.ask("?").await.unwrap();
        assert_eq!(finished.summary.answer, answer);
        assert_eq!(seen.lock().unwrap().as_deref(), Some(answer));
    }
}

#[tokio::test]
async fn an_observer_that_panics_is_switched_off() {
    let (first, second) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
    let (counts, all) = (Arc::clone(&first), Arc::clone(&second));
    let agent = Agent::builder()
        .model(Mock::new(["One.", "Two."]))
        .on_event(move |_| {
            *counts.lock().unwrap() += 1;
            panic!("a bug of the observer");
        })
        .on_event(move |_| *all.lock().unwrap() += 1)
        .build()
        .unwrap();
    let mut events = 0;
    let finished = agent.ask("?").on_event(|_| events += 1).await.unwrap();
    assert_eq!(finished.summary.answer, "One.");
    // In a further run, too.
    agent.ask("?").await.unwrap();
    assert_eq!(*first.lock().unwrap(), 1);
    assert_eq!(*second.lock().unwrap(), 2 * events);
}

#[tokio::test]
#[should_panic(expected = "a bug of the caller")]
async fn a_panic_of_the_caller_reaches_the_caller() {
    let agent = Agent::builder().model(Mock::new(["One."])).build().unwrap();
    let _ = agent
        .ask("?")
        .on_event(|_: &Event| panic!("a bug of the caller"))
        .await;
}
