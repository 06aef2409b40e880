//! The one road to a model: rate limits, counts, and what is done about a call that failed.
//!
//! The loop of an agent, [`ModelClient`](crate::ModelClient) inside gadgets, and the command line go it. The loop decides
//! about retries itself, because it can be saved and replayed; everything else does with [`ask`], by the same [`Retry`].

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use futures_core::stream::BoxStream;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use gadgetry_proto::delta::{Delta, DeltaKind};
use gadgetry_proto::error::ModelErrorKind;
use gadgetry_proto::message::Request;
use gadgetry_proto::run::Retry;
use gadgetry_proto::usage::Usage;

use crate::meter::{Metered, estimated_tokens};
use crate::services::Limiter;

/// What comes of a model that is asked with [`ask`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Asked {
    /// A piece of the reply.
    Delta(Delta),
    /// The reply failed, and the request is sent again. Whatever came of it so far counts for nothing, but its costs.
    Retry {
        /// How long it is until then.
        delay: Duration,
        /// What the failure means.
        kind: ModelErrorKind,
        /// The failure in words.
        error: String,
    },
}

/// Asks a model, and asks it again when it fails as `retry` says, as long as it has said nothing: no text and no tool
/// call. Reasoning may have come before.
///
/// `send` sends the request; it is called once for each attempt. A reply fails with a
/// [retryable](ModelErrorKind::is_retryable) error, by ending without its end, or, with [`Retry::on_empty`], by having
/// nothing in it. The last failure is handed on as it came.
///
/// ```
/// use gadgetry::ask::{Asked, ask};
/// use gadgetry::proto::message::Request;
/// use gadgetry::proto::run::Retry;
/// use gadgetry::{Model as _, ScriptedModel};
/// use futures_util::StreamExt as _;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// let model: ScriptedModel = r#"{"text": "Hello!"}"#.parse()?;
/// let mut reply = ask(move || model.stream(Request::default()), Some(Retry::default()));
/// while let Some(step) = reply.next().await {
///     if let Asked::Retry { delay, error, .. } = step {
///         eprintln!("{error}; retrying in {delay:?}");
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Cancel safety: dropping the stream ends the reply.
pub fn ask(
    send: impl Fn() -> BoxStream<'static, Delta> + Send + 'static,
    retry: Option<Retry>,
) -> BoxStream<'static, Asked> {
    let mut retry = retry;
    if let Some(retry) = retry.as_mut().filter(|retry| retry.seed == 0) {
        retry.seed = random();
    }
    let asking = Asking {
        send,
        retry,
        attempt: 0,
        next: Next::Send(Duration::ZERO),
        is_over: false,
    };
    stream::unfold(asking, |mut asking| async move {
        let step = asking.step().await?;
        Some((step, asking))
    })
    .boxed()
}

struct Asking<S> {
    send: S,
    retry: Option<Retry>,
    /// Retries so far.
    attempt: u32,
    next: Next,
    /// The reply has ended; counts may follow.
    is_over: bool,
}

enum Next {
    /// Sends the request after this time.
    Send(Duration),
    Read {
        deltas: BoxStream<'static, Delta>,
        said: Said,
    },
    /// A retry is announced after its counts.
    Announce {
        delay: Duration,
        kind: ModelErrorKind,
        error: String,
    },
    Over,
}

/// What a reply has said so far.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Said {
    Nothing,
    Thoughts,
    /// It cannot be taken back.
    Words,
}

impl<S: Fn() -> BoxStream<'static, Delta>> Asking<S> {
    async fn step(&mut self) -> Option<Asked> {
        loop {
            match std::mem::replace(&mut self.next, Next::Over) {
                Next::Over => return None,
                Next::Send(delay) => {
                    if !delay.is_zero() {
                        tokio::time::sleep(delay).await;
                    }
                    self.next = Next::Read {
                        deltas: (self.send)(),
                        said: Said::Nothing,
                    };
                }
                Next::Announce { delay, kind, error } => {
                    self.next = Next::Send(delay);
                    return Some(Asked::Retry { delay, kind, error });
                }
                Next::Read { mut deltas, said } => {
                    let Some(delta) = deltas.next().await else {
                        let lost = "the connection ended before the model had finished its reply";
                        if self.is_over || !self.fails(said, ModelErrorKind::Truncated, lost, None)
                        {
                            return None;
                        }
                        continue;
                    };
                    if let Delta::Error {
                        error,
                        kind,
                        retry_after_ms,
                        ..
                    } = &delta
                    {
                        if kind.is_retryable() && self.fails(said, *kind, error, *retry_after_ms) {
                            continue;
                        }
                        self.is_over = true;
                    } else if let Delta::MessageEnd { stop_reason, usage } = &delta {
                        let on_empty = self.retry.as_ref().is_some_and(|retry| retry.on_empty);
                        let is_empty = said == Said::Nothing && stop_reason.is_clean() && on_empty;
                        let empty = "the reply was empty";
                        if is_empty && self.fails(said, ModelErrorKind::Other, empty, None) {
                            match usage {
                                Some(usage) => {
                                    return Some(Asked::Delta(Delta::Usage { usage: *usage }));
                                }
                                None => continue,
                            }
                        }
                        self.is_over = true;
                    }
                    let said = said.max(says(&delta));
                    self.next = Next::Read { deltas, said };
                    return Some(Asked::Delta(delta));
                }
            }
        }
    }

    /// The reply has failed. Whether the request is sent again.
    fn fails(
        &mut self,
        said: Said,
        kind: ModelErrorKind,
        error: &str,
        retry_after_ms: Option<u64>,
    ) -> bool {
        let retry = self.retry.as_ref().filter(|_| said < Said::Words);
        let delay = retry.and_then(|retry| retry.delay_ms(1, self.attempt + 1, retry_after_ms));
        let Some(delay) = delay else {
            return false;
        };
        self.attempt += 1;
        self.next = Next::Announce {
            delay: Duration::from_millis(delay),
            kind,
            error: error.to_owned(),
        };
        true
    }
}

fn says(delta: &Delta) -> Said {
    match (delta, delta.kind()) {
        (Delta::Text { delta, .. }, _) if delta.trim().is_empty() => Said::Nothing,
        (Delta::ProviderData(_), _) | (_, DeltaKind::Reasoning) => Said::Thoughts,
        (_, DeltaKind::Frame) => Said::Nothing,
        _ => Said::Words,
    }
}

/// What comes of a request that a limiter holds back.
pub(crate) enum Admitted {
    /// It was held back for this long.
    After(Duration),
    Delta(Delta),
}

/// Sends `request` once the limiter admits it; the limiter and `tell` learn what it has used.
pub(crate) fn admitted<S, T>(
    limiter: Option<Arc<dyn Limiter>>,
    request: Request,
    send: S,
    tell: T,
) -> BoxStream<'static, Admitted>
where
    S: FnOnce(Request) -> BoxStream<'static, Delta> + Send + 'static,
    T: FnOnce(Usage) + Send + Unpin + 'static,
{
    let sent = async move {
        let mut waited = Duration::ZERO;
        let mut tokens = 0;
        if let Some(limiter) = &limiter {
            tokens = estimated_tokens(&request);
            waited = limiter.admit(tokens).await;
        }
        let held = (!waited.is_zero()).then_some(Admitted::After(waited));
        let record = move |usage| {
            tell(usage);
            if let Some(limiter) = limiter {
                limiter.record(tokens, usage);
            }
        };
        let deltas = Metered::new(|| send(request), record);
        stream::iter(held).chain(deltas.map(Admitted::Delta))
    };
    sent.flatten_stream().boxed()
}

/// A number that no other run has. The keys of hash maps are random.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
