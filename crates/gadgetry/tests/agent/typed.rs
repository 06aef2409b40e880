//! Answers of a type.

use gadgetry::proto::event::FinishReason;
use gadgetry::proto::tree::Status;
use gadgetry::schemars::JsonSchema;
use gadgetry::serde::Deserialize;
use gadgetry::{Agent, Conversation, TypedError};

use super::support::{Mock, call, echo, finish, gadget};

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(crate = "gadgetry::serde")]
#[schemars(crate = "gadgetry::schemars")]
struct Rating {
    /// From 1 to 5
    #[schemars(range(min = 1, max = 5))]
    stars: u8,
    tags: Vec<String>,
}

fn rating(stars: &str) -> String {
    call("FinalAnswer", "r", &[("stars", stars), ("tags/0", "good")])
}

#[tokio::test]
async fn a_typed_answer_is_requested_until_it_is_valid() {
    let replies = [
        "Four stars.".to_owned(),
        rating("six"),
        rating("9"),
        rating("4"),
    ];
    let model = Mock::new(replies);
    let agent = Agent::builder()
        .model(model.clone())
        .gadget(echo())
        .build()
        .unwrap();
    let mut talk = Conversation::default();
    let rated = agent
        .ask_in(&mut talk, "Rate it")
        .typed::<Rating>()
        .await
        .unwrap();
    let tags = vec!["good".to_owned()];
    assert_eq!(rated.value, Rating { stars: 4, tags });
    // Four replies, of which three made a call.
    assert_eq!(rated.finished.usage().output_tokens, 200);
    let statuses: Vec<_> = rated.finished.calls().map(|call| call.status).collect();
    assert_eq!(
        statuses,
        [Status::Failed, Status::Failed, Status::Succeeded]
    );

    assert!(model.system().contains("## FinalAnswer") && model.system().contains("From 1 to 5"));
    let asked = model.asked();
    let last_of = |request: usize| asked[request].last().unwrap().as_str();
    assert_eq!(
        last_of(1),
        "Give your answer by calling the gadget FinalAnswer, not as text."
    );
    assert!(
        last_of(2).contains("stars: expected integer"),
        "{}",
        last_of(2)
    );
    assert!(
        last_of(3).contains("stars: must be at most 5"),
        "{}",
        last_of(3)
    );
    assert_eq!(asked.len(), 4);
    // Another ask of the same agent is as before.
    let model = Mock::new(["Hi."]);
    let agent = Agent::builder()
        .model(model.clone())
        .gadget(echo())
        .build()
        .unwrap();
    agent.ask("?").text().await.unwrap();
    assert!(!model.system().contains("FinalAnswer"));
}

#[tokio::test]
async fn what_is_no_object_is_one_parameter() {
    async fn check<T>(arguments: &[(&str, &str)], expected: T)
    where
        T: gadgetry::serde::de::DeserializeOwned
            + JsonSchema
            + Send
            + PartialEq
            + std::fmt::Debug
            + 'static,
    {
        let model = Mock::new([call("FinalAnswer", "a", arguments)]);
        let agent = Agent::builder().model(model).build().unwrap();
        assert_eq!(agent.ask("?").typed::<T>().await.unwrap().value, expected);
    }
    check(&[("answer", "42")], 42_u32).await;
    check(&[("answer", "true")], true).await;
    check(
        &[("answer/0", "a"), ("answer/1", "b")],
        vec!["a".to_owned(), "b".to_owned()],
    )
    .await;
    check(&[("answer", "null")], None::<u8>).await;
    check(
        &[("k", "1")],
        std::collections::BTreeMap::from([("k".to_owned(), 1_u8)]),
    )
    .await;
}

#[tokio::test]
async fn ends_without_an_answer() {
    let ask = |replies: Vec<String>| {
        let builder = Agent::builder().model(Mock::new(replies)).gadget(finish());
        builder.max_iterations(2).build().unwrap().ask("?")
    };
    let never = ask(vec!["4".to_owned(), "4!".to_owned()])
        .typed::<u8>()
        .await;
    let Err(TypedError::Run(error)) = never else {
        panic!("{never:?}")
    };
    assert_eq!(error.reason(), FinishReason::MaxIterations);

    let other = ask(vec![call("Finish", "f", &[("text", "Done.")])])
        .typed::<u8>()
        .await;
    let Err(TypedError::NoAnswer(finished)) = other else {
        panic!("{other:?}")
    };
    assert_eq!(finished.summary.answer, "Done.");

    let taken = gadget("FinalAnswer", |_| async {
        gadgetry::proto::call::Outcome::ok("")
    });
    let agent = Agent::builder()
        .model(Mock::new([""]))
        .gadget(taken)
        .build()
        .unwrap();
    let error = agent.ask("?").typed::<u8>().await;
    assert!(matches!(error, Err(TypedError::Agent(_))), "{error:?}");

    let mut run = ask(vec!["4".to_owned()]);
    futures_util::StreamExt::next(&mut run).await.unwrap();
    assert_eq!(run.typed::<u8>().await, Err(TypedError::Begun));
}
