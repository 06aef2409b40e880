//! A conversation over several runs: what each one sends, and what it leaves.

use futures_util::StreamExt as _;
use gadgetry::log::{LogWriter, replay};
use gadgetry::proto::block::Markers;
use gadgetry::proto::call::Outcome;
use gadgetry::proto::error::ModelErrorKind;
use gadgetry::proto::event::{Event, FinishReason};
use gadgetry::{Agent, AgentBuilder, Conversation, from_fn};
use serde_json::json;

use super::support::{Mock, Reply, call, echo, failed, gadget, spec};

const ASKS: usize = 12;

/// How many messages each of several asks sends.
fn sent(model: &Mock) -> Vec<usize> {
    model.asked().iter().map(Vec::len).collect()
}

fn replies() -> Mock {
    Mock::new((0..ASKS).map(|index| Reply::from(format!("Reply {index}."))))
}

#[tokio::test]
async fn so_many_asks_send_twice_as_many_messages() {
    let even: Vec<usize> = (1..=ASKS).map(|ask| 2 * ask).collect();

    // One agent, one conversation.
    let model = replies();
    let agent = Agent::builder()
        .model(model.clone())
        .system("s")
        .build()
        .unwrap();
    let mut talk = Conversation::default();
    for ask in 0..ASKS {
        agent
            .ask_in(&mut talk, format!("{ask}?"))
            .text()
            .await
            .unwrap();
    }
    assert_eq!(sent(&model), even);
    assert_eq!(talk.messages().len(), 2 * ASKS);

    // Stored after each ask, and read by another agent.
    let model = replies();
    let mut stored = serde_json::to_string(&Conversation::default()).unwrap();
    for ask in 0..ASKS {
        let agent = Agent::builder()
            .model(model.clone())
            .system("s")
            .build()
            .unwrap();
        let mut talk: Conversation = serde_json::from_str(&stored).unwrap();
        agent
            .ask_in(&mut talk, format!("{ask}?"))
            .text()
            .await
            .unwrap();
        stored = serde_json::to_string(&talk).unwrap();
    }
    assert_eq!(sent(&model), even);

    // A builder that is replaced by one that continues it.
    let model = replies();
    let mut chat = Agent::builder().model(model.clone()).system("s");
    for ask in 0..ASKS {
        let run = chat.clone().build().unwrap().ask(format!("{ask}?"));
        chat = chat.continue_from(run.finish().await.unwrap());
    }
    assert_eq!(sent(&model), even);
}

#[tokio::test]
async fn examples_of_the_builder_are_sent_once() {
    let shown = |model: &Mock| {
        let examples = [("few", "shot")].map(|(user, assistant)| {
            use gadgetry::proto::message::{Message, Role};
            [
                Message::text(Role::User, user),
                Message::text(Role::Assistant, assistant),
            ]
        });
        Agent::builder()
            .model(model.clone())
            .gadget(echo())
            .history(examples.into_iter().flatten())
            .synthetic_call("Echo", json!({ "text": "x" }), "x", "syn")
    };
    let expected = |model: &Mock| {
        let last = model.asked().pop().unwrap();
        let count = |text: &str| last.iter().filter(|message| message.contains(text)).count();
        assert_eq!(last.len(), 1 + 2 + 2 + 5, "{last:#?}");
        assert_eq!(
            (
                count("few"),
                count("shot"),
                count("Echo:syn"),
                count("Result (syn)")
            ),
            (1, 1, 1, 1)
        );
    };

    let model = Mock::new(["one", "two", "three"]);
    let mut finished = shown(&model)
        .build()
        .unwrap()
        .ask("1")
        .finish()
        .await
        .unwrap();
    for ask in ["2", "3"] {
        let agent = shown(&model).continue_from(&finished).build().unwrap();
        finished = agent.ask(ask).finish().await.unwrap();
    }
    expected(&model);

    let model = Mock::new(["one", "two", "three"]);
    let agent = shown(&model).build().unwrap();
    let mut talk = Conversation::default();
    for ask in ["1", "2", "3"] {
        agent.ask_in(&mut talk, ask).text().await.unwrap();
    }
    expected(&model);
}

/// Gives a long result, which the viewer shows; the id of the first one is known.
fn with_long_results(model: &Mock) -> AgentBuilder {
    let lots = gadget("Lots", |_| async {
        let lines: Vec<String> = (1..=40).map(|line| format!("line {line}")).collect();
        Outcome::ok(lines.join("\n"))
    });
    Agent::builder()
        .model(model.clone())
        .gadget(lots)
        .output_limit_percent(0.05)
}

#[tokio::test]
async fn long_results_can_be_viewed_in_a_later_run() {
    let id = "Lots_e6684755";
    let view = call("GadgetOutputViewer", "v", &[("id", id), ("limit", "39-40")]);
    let model = || {
        Mock::new([
            call("Lots", "l", &[]),
            "Long.".into(),
            view.clone(),
            "Read.".into(),
        ])
    };
    let viewed = |model: &Mock| {
        let last = model.last();
        assert!(
            last.contains("line 40") && !last.contains("No stored output"),
            "{last}"
        );
    };

    let first = model();
    let builder = with_long_results(&first);
    let finished = builder
        .clone()
        .build()
        .unwrap()
        .ask("1")
        .finish()
        .await
        .unwrap();
    assert_eq!(finished.outputs.outputs()[0].id, id);
    builder
        .continue_from(&finished)
        .build()
        .unwrap()
        .ask("2")
        .finish()
        .await
        .unwrap();
    viewed(&first);

    let second = model();
    let agent = with_long_results(&second).build().unwrap();
    let mut talk = Conversation::default();
    agent.ask_in(&mut talk, "1").text().await.unwrap();
    let stored = serde_json::to_string(&talk).unwrap();
    let mut talk = serde_json::from_str(&stored).unwrap();
    let mut run = agent.ask_in(&mut talk, "2");

    // The log of the second run knows them as well.
    let mut file = Vec::new();
    let mut log = LogWriter::new(&mut file, &run.header().await.unwrap()).unwrap();
    let finished = run.observe(&mut log).await.unwrap();
    log.finish().unwrap();
    viewed(&second);
    let mut events = Vec::new();
    let again = replay(&file[..], &mut |event: &Event| {
        events.push(format!("{event:?}"));
    });
    assert_eq!(again.unwrap(), Some(finished.summary));
    assert!(events.iter().any(|event| event.contains("line 40")));
}

#[tokio::test]
async fn it_keeps_the_markers_that_it_began_with() {
    let markers = Markers::nonce(7);
    let block = call("Echo", "e", &[("text", "hi")])
        .replace("!!!GADGET_START:", markers.start())
        .replace("!!!ARG:", markers.arg())
        .replace("!!!GADGET_END", markers.end());
    let model = Mock::new(["Hello.".to_owned(), block, "Done.".to_owned()]);
    let agent = |seed| {
        let builder = Agent::builder().model(model.clone()).gadget(echo());
        builder.markers(Markers::nonce(seed)).build().unwrap()
    };
    let mut talk = Conversation::default();
    agent(7).ask_in(&mut talk, "1").text().await.unwrap();
    agent(8).ask_in(&mut talk, "2").text().await.unwrap();
    assert!(model.last().contains("Result (e): hi"), "{}", model.last());
}

#[tokio::test(start_paused = true)]
async fn what_a_run_that_ends_early_leaves() {
    // The model fails: the question stays.
    let model = Mock::new([
        Reply::from("One."),
        failed(ModelErrorKind::Authentication),
        "Two.".into(),
    ]);
    let agent = Agent::builder()
        .model(model.clone())
        .without_retry()
        .build()
        .unwrap();
    let mut talk = Conversation::default();
    agent.ask_in(&mut talk, "1").text().await.unwrap();
    let before = talk.clone();
    let error = agent.ask_in(&mut talk, "2").text().await.unwrap_err();
    assert_eq!(error.reason(), FinishReason::ModelError);
    assert_eq!(talk, Conversation::from(error.finished()));
    assert_eq!(talk.messages().len(), 3);
    // To repeat the question, continue from before it.
    talk = before;
    agent.ask_in(&mut talk, "2").text().await.unwrap();
    assert_eq!(model.asked().pop().unwrap(), ["1", "One.", "2"]);

    // Cancelled while a gadget runs: its call has an answer.
    let wait = from_fn(spec("Wait"), |_, context| async move {
        context.cancellation().cancelled().await;
        Outcome::error("stopped")
    });
    let model = Mock::new([call("Wait", "w", &[]), "Two.".into()]);
    let agent = Agent::builder()
        .model(model.clone())
        .gadget(wait)
        .build()
        .unwrap();
    let mut talk = Conversation::default();
    let run = agent.ask_in(&mut talk, "1");
    let handle = run.handle();
    let error = run.on_event(|event| {
        if matches!(
            event.kind,
            gadgetry::proto::event::EventKind::GadgetStart { .. }
        ) {
            handle.cancel();
        }
    });
    assert_eq!(error.await.unwrap_err().reason(), FinishReason::Cancelled);
    assert_eq!(talk.messages().len(), 3);
    agent.ask_in(&mut talk, "2").text().await.unwrap();
    let asked = model.asked().pop().unwrap();
    assert_eq!(asked.len(), 5);
    assert!(asked[3].starts_with("Result (w): Error"), "{asked:#?}");

    // Dropped: as before.
    let model = Mock::new([call("Echo", "e", &[])]);
    let agent = Agent::builder()
        .model(model)
        .gadget(echo())
        .build()
        .unwrap();
    let before = talk.clone();
    let mut run = agent.ask_in(&mut talk, "3");
    run.next().await.unwrap();
    drop(run);
    assert_eq!(talk, before);
}

#[tokio::test]
async fn a_stream_adds_to_it_at_its_end() {
    let agent = Agent::builder().model(Mock::new(["One."])).build().unwrap();
    let mut talk = Conversation::default();
    let mut run = agent.ask_in(&mut talk, "1");
    while run.next().await.is_some() {}
    assert_eq!(run.finished().unwrap().summary.answer, "One.");
    assert_eq!(talk.messages().len(), 2);
}
