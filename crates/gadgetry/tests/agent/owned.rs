//! Conversations that a run owns, and gives back.

use futures_util::StreamExt as _;
use gadgetry::proto::call::Outcome;
use gadgetry::proto::convo::prompt_text;
use gadgetry::{Agent, Conversation, FinishReason, Message, ModelErrorKind, Role, from_fn};

use super::support::{Mock, Reply, call, failed, spec};

fn texts(talk: &Conversation) -> Vec<String> {
    let texts = talk.messages().iter().map(prompt_text);
    texts.map(std::borrow::Cow::into_owned).collect()
}

/// A conversation in which something was said.
fn begun() -> Conversation {
    let said = [(Role::User, "1"), (Role::Assistant, "One.")];
    let said = said.map(|(role, text)| Message::text(role, text));
    Conversation::from(said.to_vec())
}

fn agent(replies: Vec<Reply>) -> Agent {
    let wait = from_fn(spec("Wait"), |_, context| async move {
        context.cancellation().cancelled().await;
        Outcome::error("stopped")
    });
    let builder = Agent::builder().model(Mock::new(replies)).gadget(wait);
    builder.without_retry().build().unwrap()
}

#[tokio::test]
async fn a_spawned_run_gives_the_conversation_back() {
    let agent = agent(vec!["Two.".into(), "Three.".into()]);
    let mut talk = begun();
    for prompt in ["2", "3"] {
        let mut run = agent.ask_owned(talk, prompt);
        let spawned = tokio::spawn(async move {
            while run.next().await.is_some() {}
            run.into_conversation()
        });
        talk = spawned.await.unwrap().unwrap();
    }
    assert_eq!(texts(&talk), ["1", "One.", "2", "Two.", "3", "Three."]);
    // A run without a conversation has one in the end, too.
    let mut run = self::agent(vec!["Two.".into()]).ask("2");
    while run.next().await.is_some() {}
    assert_eq!(texts(&run.into_conversation().unwrap()), ["2", "Two."]);
}

/// Whatever was read of the stream, the conversation before the question is not lost.
#[tokio::test]
async fn a_run_that_has_not_ended_gives_what_it_was_given() {
    for before in [Conversation::default(), begun()] {
        let agent = agent(vec!["Two.".into()]);
        let events = {
            let run = agent.ask_owned(before.clone(), "2");
            run.collect::<Vec<_>>().await.len()
        };
        for read in 0..events {
            let agent = self::agent(vec!["Two.".into()]);
            let mut run = agent.ask_owned(before.clone(), "2");
            for _ in 0..read {
                run.next().await.unwrap();
            }
            match run.into_conversation() {
                Ok(talk) => assert_eq!(talk.messages().len(), before.messages().len() + 2),
                Err(unfinished) => assert_eq!(unfinished.into_conversation(), before, "{read}"),
            }
        }
    }
}

/// As with `ask_in`: what was said until then, with an answer for every call.
#[tokio::test(start_paused = true)]
async fn a_run_that_failed_or_was_cancelled_gives_what_was_said() {
    let agent = agent(vec![
        failed(ModelErrorKind::Authentication),
        call("Wait", "w", &[]).into(),
        "Two.".into(),
    ]);
    let mut run = agent.ask_owned(begun(), "2");
    while run.next().await.is_some() {}
    assert_eq!(
        run.finished().unwrap().summary.reason,
        FinishReason::ModelError
    );
    let talk = run.into_conversation().unwrap();
    assert_eq!(texts(&talk), ["1", "One.", "2"]);

    let mut run = agent.ask_owned(begun(), "2");
    let handle = run.handle();
    while let Some(event) = run.next().await {
        if matches!(event.kind, gadgetry::EventKind::GadgetStart { .. }) {
            handle.cancel();
        }
    }
    let talk = run.into_conversation().unwrap();
    assert_eq!(talk.messages().len(), 5);
    assert!(
        texts(&talk)[4].starts_with("Result (w): Error: The run was cancelled"),
        "{:?}",
        texts(&talk)
    );

    let mut run = agent.ask_owned(talk, "3");
    while run.next().await.is_some() {}
    assert_eq!(
        texts(&run.into_conversation().unwrap()).last().unwrap(),
        "Two."
    );
}
