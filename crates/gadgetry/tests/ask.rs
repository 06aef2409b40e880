//! The road to a model that gadgets and the command line go: what is retried, what it costs, and what is handed on.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test names what it looks at"
)]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use gadgetry::ask::{ModelCall, Received};
use gadgetry::proto::call::Outcome;
use gadgetry::proto::delta::{Delta, StopReason};
use gadgetry::proto::error::{ModelError, ModelErrorKind};
use gadgetry::proto::message::Request;
use gadgetry::proto::run::Retry;
use gadgetry::proto::schema::GadgetSpec;
use gadgetry::proto::usage::{Price, Usage};
use gadgetry::{Agent, Model, ModelInfo, from_fn};

fn text(text: &str) -> Delta {
    Delta::text(text)
}

fn thought() -> Delta {
    Delta::Reasoning {
        delta: "hm".to_owned(),
        metadata: None,
    }
}

fn failed(kind: ModelErrorKind, retry_after_ms: Option<u64>) -> Delta {
    Delta::Error(ModelError::new(kind, "sorry").with_retry_after_ms(retry_after_ms))
}

/// The end of a reply that used one token of output.
fn end() -> Delta {
    Delta::MessageEnd {
        stop_reason: StopReason::Stop,
        usage: Some(used()),
    }
}

fn used() -> Usage {
    Usage::default().output_tokens(1).total_tokens(1)
}

/// 10 ms, then 20, and no more.
fn steady() -> Retry {
    Retry {
        retries: 2,
        min_ms: 10,
        jitter: false,
        ..Retry::default()
    }
}

/// Gives these replies in turn.
#[derive(Clone)]
struct Replies(Arc<Mutex<VecDeque<Vec<Delta>>>>);

impl Replies {
    fn new(replies: impl IntoIterator<Item = Vec<Delta>>) -> Self {
        Self(Arc::new(Mutex::new(replies.into_iter().collect())))
    }

    fn left(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

impl Model for Replies {
    fn stream(&self, _: Request) -> BoxStream<'static, Delta> {
        let reply = self.0.lock().unwrap().pop_front();
        stream::iter(reply.unwrap()).boxed()
    }

    fn name(&self) -> &'static str {
        "replies"
    }

    fn info(&self) -> ModelInfo {
        ModelInfo::default().price(Price::default().output(1_000_000.0))
    }
}

/// What comes of replies, in short.
async fn asked(replies: Vec<Vec<Delta>>, retry: Option<Retry>) -> String {
    let model = Replies::new(replies);
    let call = ModelCall::new(Arc::new(model.clone())).retry(retry);
    let steps = call.send(Request::default());
    let lines = steps.map(|step| match step {
        Received::Retry { delay, error } => format!("retry {}: {error}", delay.as_millis()),
        Received::Delta(Delta::Text { delta, .. }) => format!("text {delta}"),
        Received::Delta(Delta::Reasoning { .. }) => "thought".to_owned(),
        Received::Delta(Delta::Error(ModelError { message: error, .. })) => {
            format!("error {error}")
        }
        Received::Delta(Delta::MessageEnd { .. }) => "end".to_owned(),
        Received::Delta(Delta::Usage { .. }) => "usage".to_owned(),
        other => format!("{other:?}"),
    });
    let lines: Vec<String> = lines.collect().await;
    assert_eq!(model.left(), 0, "{lines:?}");
    lines.join(" | ")
}

#[tokio::test(start_paused = true)]
async fn what_is_retried() {
    use ModelErrorKind::{BadRequest, Overloaded, RateLimit};
    let fine = || vec![text("Fine."), end()];
    let limit = |after| vec![failed(RateLimit, after)];
    let lost = "the connection ended before the model had finished its reply";
    let table = [
        (
            "nothing failed",
            vec![fine()],
            "text Fine. | end".to_owned(),
        ),
        (
            "twice",
            vec![limit(None), limit(None), fine()],
            "retry 10: sorry | retry 20: sorry | text Fine. | end".to_owned(),
        ),
        (
            "too often",
            vec![limit(None), limit(None), limit(None)],
            "retry 10: sorry | retry 20: sorry | error sorry".to_owned(),
        ),
        (
            "as asked",
            vec![limit(Some(700)), fine()],
            "retry 700: sorry | text Fine. | end".to_owned(),
        ),
        (
            "longer than is waited for",
            vec![limit(Some(u64::MAX))],
            "error sorry".to_owned(),
        ),
        (
            "our mistake",
            vec![vec![failed(BadRequest, None)]],
            "error sorry".to_owned(),
        ),
        (
            "after text",
            vec![vec![text("Fi"), failed(Overloaded, None)]],
            "text Fi | error sorry".to_owned(),
        ),
        (
            "after thoughts",
            vec![vec![thought(), failed(Overloaded, None)], fine()],
            "thought | retry 10: sorry | text Fine. | end".to_owned(),
        ),
        (
            "lost",
            vec![vec![thought()], fine()],
            format!("thought | retry 10: {lost} | text Fine. | end"),
        ),
        (
            "lost after text",
            vec![vec![text("Fi")]],
            "text Fi".to_owned(),
        ),
        (
            "empty",
            vec![vec![end()], fine()],
            "usage | retry 10: the reply was empty | text Fine. | end".to_owned(),
        ),
        // It is paid for, and would be the same.
        (
            "thoughts alone",
            vec![vec![thought(), end()]],
            "thought | end".to_owned(),
        ),
    ];
    for (name, replies, expected) in table {
        assert_eq!(asked(replies, Some(steady())).await, expected, "{name}");
    }
    for (replies, expected) in [
        (vec![limit(None)], "error sorry"),
        (vec![vec![end()]], "end"),
        (vec![vec![]], ""),
    ] {
        assert_eq!(asked(replies, None).await, expected);
    }
}

/// A gadget's own question is retried like a reply of the run, and each attempt is paid for.
#[tokio::test(start_paused = true)]
async fn a_question_of_a_gadget_is_retried() {
    let replies = Replies::new([
        vec![text("!!!GADGET_START:Ask:a\n!!!GADGET_END\n"), end()],
        vec![failed(ModelErrorKind::RateLimit, Some(5_000))],
        vec![
            Delta::Usage { usage: used() },
            failed(ModelErrorKind::Overloaded, None),
        ],
        vec![text("42"), end()],
        vec![text("It is 42."), end()],
    ]);
    let spec = GadgetSpec {
        name: "Ask".to_owned(),
        ..GadgetSpec::default()
    };
    let gadget = from_fn(spec, |_, context| async move {
        match context.model().unwrap().complete("?", ()).await {
            Ok(answer) => Outcome::ok(answer),
            Err(error) => Outcome::error(error.to_string()),
        }
    });
    let began = tokio::time::Instant::now();
    let finished = Agent::builder()
        .model(replies.clone())
        .gadget(gadget)
        .retry(steady())
        .ask("What is it?")
        .unwrap()
        .finish()
        .await
        .unwrap();
    assert_eq!(replies.left(), 0);
    assert_eq!(finished.summary.answer, "It is 42.");
    let results = format!("{:?}", finished.history);
    assert!(results.contains("text: \"42\""), "{results}");
    // Two replies of the run, and the two attempts that used something.
    assert!(
        (finished.summary.known_cost - 4.0).abs() < 1e-9,
        "{}",
        finished.summary.known_cost
    );
    let waited = began.elapsed();
    assert!(
        (Duration::from_secs(5)..Duration::from_secs(6)).contains(&waited),
        "{waited:?}"
    );
}
