//! What becomes of what a client gives.

use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::error::{ModelError, ModelErrorKind};
use gadgetry_proto::message::Request;
use gadgetry_proto::usage::Usage;
use gadgetry_providers::adapter::{Adapter, AdapterError};
use gadgetry_providers::model::Model as _;

use super::streaming;

fn end() -> Delta {
    Delta::MessageEnd {
        stop_reason: StopReason::Stop,
        usage: None,
    }
}

fn counts() -> Delta {
    Delta::Usage {
        usage: Usage::default().input_tokens(1),
    }
}

fn failed(error: &str, kind: ModelErrorKind) -> Delta {
    Delta::Error(ModelError::new(kind, error.to_owned()))
}

/// Chunks of a client: how each is mapped, or how it fails.
async fn check(
    chunks: Vec<Result<Vec<Delta>, AdapterError>>,
    requires_end: bool,
    expected: &[Delta],
) {
    let adapter = Adapter::builder("m")
        .prepare_input(|_| ())
        .execute_stream(move |()| stream::iter(chunks.clone()))
        .map_chunk(|chunk| chunk);
    let adapter = if requires_end {
        adapter.requires_end()
    } else {
        adapter
    };
    let deltas: Vec<Delta> = adapter.build().stream(Request::default()).collect().await;
    assert_eq!(deltas, expected);
}

#[tokio::test]
async fn the_end_of_a_reply() {
    let text = || Delta::text("a");
    let other = failed("x", ModelErrorKind::Other);
    let fails = || Err(AdapterError::new(ModelErrorKind::Other, "x"));
    // The end of the stream is the end, and is added once.
    check(vec![Ok(vec![text()])], false, &[text(), end()]).await;
    check(vec![], false, &[end()]).await;
    check(vec![Ok(vec![text(), end()])], false, &[text(), end()]).await;
    // Counts may follow it, and a connection that breaks behind it takes nothing away.
    check(
        vec![Ok(vec![end()]), Ok(vec![counts()]), fails()],
        false,
        &[end(), counts()],
    )
    .await;
    // Where the client can tell, a stream without an end was cut off.
    check(vec![Ok(vec![text()])], true, &[text()]).await;
    check(vec![Ok(vec![text(), end()])], true, &[text(), end()]).await;
    // Nothing follows an error.
    check(
        vec![Ok(vec![text()]), fails(), Ok(vec![text()])],
        false,
        &[text(), other.clone()],
    )
    .await;
    check(
        vec![Ok(vec![other.clone(), text()]), Ok(vec![text()])],
        false,
        &[other],
    )
    .await;
    // A chunk may say nothing.
    check(
        vec![Ok(vec![]), Ok(vec![text(), text()])],
        false,
        &[text(), text(), end()],
    )
    .await;
}

#[derive(Debug, thiserror::Error)]
#[error("no answer")]
struct Failed(#[source] std::io::Error);

#[tokio::test]
async fn errors_say_what_they_mean() {
    let cause = std::io::Error::new(std::io::ErrorKind::ConnectionReset, "reset by peer");
    let error = AdapterError::from(Failed(cause));
    assert_eq!(error.to_string(), "no answer: reset by peer");
    check(
        vec![Err(error)],
        false,
        &[failed("no answer: reset by peer", ModelErrorKind::Other)],
    )
    .await;

    let error = AdapterError::new(ModelErrorKind::RateLimit, "slow down");
    let error = error.code("rate_limit").retry_after(Duration::from_secs(7));
    let delta = Delta::Error(
        ModelError::new(ModelErrorKind::RateLimit, "slow down")
            .with_code("rate_limit")
            .with_retry_after_ms(7000),
    );
    check(vec![Err(error)], false, &[delta]).await;
}

#[tokio::test]
async fn a_request_is_sent_when_the_reply_is_polled() {
    let (sender, mut asked) = tokio::sync::mpsc::unbounded_channel();
    let adapter = Adapter::builder("m")
        .prepare_input(|request| request.iteration)
        .execute_stream(move |iteration| {
            sender.send(iteration).unwrap();
            stream::empty::<Result<(), AdapterError>>()
        })
        .map_chunk(|()| [])
        .build();
    let request = Request::default().iteration(3);
    let mut reply = adapter.stream(request);
    assert!(asked.try_recv().is_err());
    assert_eq!(reply.next().await, Some(end()));
    assert_eq!(asked.try_recv(), Ok(3));
}

#[test]
fn an_adapter_says_who_it_is() {
    let adapter = streaming(vec![])
        .provider("acme")
        .capability("text")
        .capability("images")
        .build();
    assert_eq!(adapter.name(), "m");
    let metadata = adapter.metadata();
    assert_eq!(metadata.provider.as_deref(), Some("acme"));
    assert_eq!(metadata.capabilities, ["text", "images"]);
}
