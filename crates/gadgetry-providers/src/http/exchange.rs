//! One request, and the answer as it streams.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use std::vec;

use bytes::Bytes;
use futures_core::Stream;
use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use futures_util::{FutureExt as _, StreamExt as _};
use gadgetry_proto::delta::Delta;
use reqwest::Response;
use tokio::time::{Instant, Sleep, sleep_until};

use super::Http;
use super::cause::cause;
use super::config::Timeouts;
use super::send::send;
use crate::error::ProviderError;
use crate::redact::{Redactor, Secrets};
use crate::request::HttpRequest;
use crate::response::ResponseDecoder;
use crate::wire::Decode;

/// Time for which a silent connection is polled once more before the reply counts as stalled.
const LAST_LOOK: Duration = Duration::from_millis(10);

/// Maximum wait for token counts and the end of the stream once the reply itself is complete. Some servers send
/// neither, and keep the connection open.
const GRACE: Duration = Duration::from_secs(5);

impl Http {
    /// Sends `request`, and streams the answer as `decoder` reads it.
    ///
    /// Nothing is sent before the stream is polled. It always ends with a [`Delta::MessageEnd`] or a [`Delta::Error`].
    /// An answer that breaks off, stalls or lacks its end is [`Truncated`](gadgetry_proto::error::ModelErrorKind::Truncated); before the answer begins, it is
    /// [`Transport`](gadgetry_proto::error::ModelErrorKind::Transport). The request is sent once more if the connection closes without an answer within
    /// seconds, as one does that was idle for too long.
    ///
    /// Cancel safety: dropping the stream closes the connection.
    pub fn stream(
        &self,
        request: HttpRequest,
        decoder: Box<dyn Decode>,
    ) -> BoxStream<'static, Delta> {
        let http = self.clone();
        let own = http.config.secret_headers.iter().map(|(_, key)| key);
        let keys = request.keys.iter().chain(own);
        let secrets = Secrets::of(keys, http.proxies.iter().chain([&request.url]));
        let answer = ResponseDecoder::new(decoder)
            .frames(http.config.frames)
            .secrets(secrets.clone());
        let timeouts = http.config.timeouts(&request.url);
        let redactor = Redactor::new(secrets.clone());
        let sent = async move { send(&http, request, &secrets).await };
        Exchange::new(Phase::Sent(sent.boxed()), answer, redactor, timeouts).boxed()
    }
}

/// The deltas of one request.
struct Exchange {
    phase: Phase,
    answer: ResponseDecoder,
    redactor: Redactor,
    timeouts: Timeouts,
    /// When a part of the reply last arrived.
    progress: Instant,
    /// Since when only the end of the stream is missing.
    complete: Option<Instant>,
    /// Since when nothing has arrived.
    silent: Option<Instant>,
    /// Fires at the deadline of some read. It is moved when it fires, and not with each read.
    timer: Option<Pin<Box<Sleep>>>,
    /// The deadline has passed, and the connection has its last chance.
    is_last_look: bool,
    /// Deltas that were read.
    batch: Vec<Delta>,
    /// Deltas that can be emitted.
    ready: vec::IntoIter<Delta>,
}

/// The body of an answer, piece by piece, and why it broke off.
type Body = BoxStream<'static, Result<Bytes, String>>;

enum Phase {
    Sent(BoxFuture<'static, Result<Response, ProviderError>>),
    Answered(Body),
    Over,
}

impl Stream for Exchange {
    type Item = Delta;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Delta>> {
        let this = self.get_mut();
        loop {
            if let Some(delta) = this.ready.next() {
                return Poll::Ready(Some(delta));
            }
            match &mut this.phase {
                Phase::Sent(sent) => {
                    let sent = ready!(sent.as_mut().poll(cx));
                    this.answered(sent);
                }
                Phase::Answered(body) => match body.as_mut().poll_next(cx) {
                    Poll::Ready(Some(Ok(bytes))) => this.feed(&bytes),
                    Poll::Ready(Some(Err(why))) => this.end(Some(&why)),
                    Poll::Ready(None) => this.end(None),
                    Poll::Pending => ready!(this.poll_deadline(cx)),
                },
                Phase::Over => return Poll::Ready(None),
            }
            let batch = std::mem::take(&mut this.batch);
            this.ready = this.redactor.batch(batch).into_iter();
        }
    }
}

impl Exchange {
    fn new(phase: Phase, answer: ResponseDecoder, redactor: Redactor, timeouts: Timeouts) -> Self {
        Self {
            phase,
            answer,
            redactor,
            timeouts,
            progress: Instant::now(),
            complete: None,
            silent: None,
            timer: None,
            is_last_look: false,
            batch: Vec::new(),
            ready: Vec::new().into_iter(),
        }
    }

    fn answered(&mut self, sent: Result<Response, ProviderError>) {
        self.phase = match sent {
            Ok(response) => {
                self.progress = Instant::now();
                Phase::Answered(body_of(response))
            }
            Err(error) => {
                self.batch.push(error.into());
                Phase::Over
            }
        };
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.silent = None;
        self.is_last_look = false;
        self.answer.feed(bytes, &mut self.batch);
        let progressed = self.answer.has_progressed();
        if progressed {
            self.progress = Instant::now();
        } else if self.progress_deadline() <= Instant::now() {
            self.end(Some(&self.no_progress()));
            return;
        }
        if progressed || self.complete.is_none() {
            self.complete = self.answer.may_end().then(Instant::now);
        }
        if self.answer.is_over() {
            self.over();
        }
    }

    fn end(&mut self, broken: Option<&str>) {
        self.answer.end(broken, &mut self.batch);
        self.over();
    }

    fn over(&mut self) {
        if let Phase::Answered(mut body) = std::mem::replace(&mut self.phase, Phase::Over) {
            // The end of the body has usually arrived with the end of the reply. Once it is read, the connection
            // can be used again.
            while let Some(Some(Ok(_))) = body.next().now_or_never() {}
        }
    }

    /// Until when the reply may go without progress.
    fn progress_deadline(&self) -> Instant {
        let progress = self.progress + self.timeouts.progress;
        self.complete
            .map_or(progress, |since| progress.min(since + GRACE))
    }

    fn no_progress(&self) -> String {
        let limit = self.timeouts.progress;
        format!("the reply stalled: no part of it for {limit:?}, only keep-alives")
    }

    /// Waits for the deadline of a silent connection, and ends the reply then. It may be silent for the idle timeout, and for
    /// no longer than the reply may go without progress.
    fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let silent = *self.silent.get_or_insert_with(Instant::now);
        let idle = silent + self.timeouts.idle;
        let progress = self.progress_deadline();
        let deadline = idle.min(progress);
        loop {
            let timer = self
                .timer
                .get_or_insert_with(|| Box::pin(sleep_until(deadline)));
            // It may have been set for an earlier read, or a later one.
            if !self.is_last_look && timer.deadline() > deadline {
                timer.as_mut().reset(deadline);
            }
            ready!(timer.as_mut().poll(cx));
            let now = Instant::now();
            if now < deadline {
                timer.as_mut().reset(deadline);
            } else if !self.is_last_look {
                // On a machine that is overloaded or was suspended the timer can fire before the connection's task has
                // run: bytes that already wait in the socket count.
                self.is_last_look = true;
                timer.as_mut().reset(now + LAST_LOOK);
            } else {
                let why = if progress < idle {
                    self.no_progress()
                } else {
                    format!("the reply stalled: no data for {:?}", self.timeouts.idle)
                };
                self.end(Some(&why));
                return Poll::Ready(());
            }
        }
    }
}

fn body_of(response: Response) -> Body {
    // Not the response itself: its headers keep the first buffer of the connection alive.
    let pieces = response.bytes_stream().map(|piece| {
        piece.map_err(|error| {
            let why = cause(&error.without_url());
            format!("the reply was cut off: {why}")
        })
    });
    pieces.fuse().boxed()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use futures_util::{StreamExt as _, stream};
    use gadgetry_proto::delta::Delta;
    use tokio::time::Instant;

    use super::{Exchange, Http, Phase, Redactor, ResponseDecoder, Secrets};
    use crate::http::HttpConfig;
    use crate::{anthropic, openai};

    /// The text read of pieces that arrive with these delays in seconds, and the seconds that it took.
    async fn read(
        config: HttpConfig,
        pieces: Vec<(u64, &'static str)>,
        chat: bool,
    ) -> (String, u64) {
        let http = Http::new(config).expect("nothing is wrong with it");
        let url = "https://host.example/v1".parse().expect("it is a URL");
        let body = stream::iter(pieces).then(|(seconds, piece)| async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            Ok(Bytes::from_static(piece.as_bytes()))
        });
        let began = Instant::now();
        let answer = ResponseDecoder::new(if chat {
            Box::new(openai::Decoder::new())
        } else {
            Box::new(anthropic::Decoder::new())
        });
        let mut exchange = Exchange::new(
            Phase::Answered(body.chain(stream::pending()).boxed()),
            answer,
            Redactor::new(Secrets::default()),
            http.config.timeouts(&url),
        );
        let mut said = String::new();
        while let Some(delta) = exchange.next().await {
            if let Delta::Text { delta, .. } = &delta {
                said.push_str(delta);
            } else if let Delta::Error(error) = &delta {
                said.push_str(&error.message);
            } else if let Delta::MessageEnd {
                usage: Some(usage), ..
            } = &delta
            {
                said.push_str(&usage.output_tokens.to_string());
                said.push_str(" tokens");
            }
        }
        (said, began.elapsed().as_secs())
    }

    const HI: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"hi \"}}]}\n\n";
    const EMPTY: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"\"}}]}\n\n";
    const END: &str = "data: [DONE]\n\n";
    const PING: &str = "data: {\"type\":\"ping\"}\n\n";

    #[tokio::test(start_paused = true)]
    async fn signs_of_life_are_no_progress() {
        let default = HttpConfig::new;
        let short = || {
            default()
                .idle_timeout(Duration::from_secs(10))
                .progress_timeout(Duration::from_mins(1))
        };
        let times = |count: usize, piece| vec![(5, piece); count];
        let stalled =
            |limit: &str| format!("the reply stalled: no part of it for {limit}, only keep-alives");
        let cases = [
            // Comments alone.
            (short(), times(1000, ": hello\n\n"), stalled("60s"), 60..=65),
            (
                default(),
                times(1000, ": hello\n\n"),
                stalled("900s"),
                900..=905,
            ),
            // Empty pieces of the reply, once it has begun.
            (
                short(),
                [times(1, HI), times(1000, EMPTY)].concat(),
                format!("hi {}", stalled("60s")),
                65..=70,
            ),
            // Each piece of the reply restarts the timeout.
            (
                short(),
                [
                    times(11, ": a\n\n"),
                    times(1, HI),
                    times(11, ": b\n\n"),
                    times(1, END),
                ]
                .concat(),
                "hi ".to_owned(),
                120..=120,
            ),
            // Silence alone ends it sooner.
            (
                short(),
                times(1, ": hello\n\n"),
                "the reply stalled: no data for 10s".to_owned(),
                15..=16,
            ),
            (
                short().progress_timeout(Duration::from_secs(8)),
                vec![],
                stalled("8s"),
                8..=9,
            ),
        ];
        for (config, pieces, expected, when) in cases {
            let name = format!("{:?}", pieces.first());
            let (said, seconds) = read(config, pieces, true).await;
            assert_eq!(said, expected, "{name}");
            assert!(when.contains(&seconds), "{name}: {seconds}");
        }
        let (said, _) = read(short(), times(1000, PING), false).await;
        assert_eq!(said, stalled("60s"));
    }

    /// Once the reply has said why it ends, a server that sends no sign of the end is not waited for as long.
    #[tokio::test(start_paused = true)]
    async fn a_reply_that_is_complete_needs_no_sign_of_its_end() {
        const STOP: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
        const COUNTS: &str =
            "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":7}}\n\n";
        const OTHER: &str = "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"hi \"},\"finish_reason\":\"stop\"}]}\n\n";
        const START: &str = "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"hi \"}}\n\n";
        const BLOCK_STOP: &str = "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n";
        const REASON: &str =
            "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n";
        let stalled = "hi the reply stalled: no data for 300s";
        let alive = |pieces: &[(u64, &'static str)]| [pieces, &[(1, ": hello\n\n"); 100]].concat();
        let cases = [
            (true, vec![(0, HI), (9, STOP)], "hi ", 14),
            (true, alive(&[(0, HI), (9, STOP)]), "hi ", 14),
            // Counts come with the end, or after it.
            (
                true,
                vec![(0, HI), (9, STOP), (4, COUNTS)],
                "hi 7 tokens",
                14,
            ),
            (
                true,
                vec![(0, HI), (9, STOP), (4, END), (0, COUNTS)],
                "hi ",
                13,
            ),
            // More of the reply restarts the timeout.
            (
                true,
                vec![(0, HI), (0, STOP), (4, HI), (4, HI)],
                "hi hi hi ",
                13,
            ),
            // The only choice has another number, so it was waited for choice 0.
            (true, vec![(0, OTHER)], "hi ", 5),
            // Without a reason to stop the reply is not complete.
            (true, vec![(0, HI)], stalled, 300),
            (
                false,
                vec![(0, START), (0, BLOCK_STOP), (9, REASON)],
                "hi ",
                14,
            ),
            (false, vec![(0, START), (0, BLOCK_STOP)], stalled, 300),
            // A block that is open may have more.
            (
                false,
                vec![(0, START), (0, REASON), (9, BLOCK_STOP)],
                "hi ",
                14,
            ),
        ];
        for (chat, pieces, expected, when) in cases {
            let name = format!("{pieces:?}");
            let (said, seconds) = read(HttpConfig::new(), pieces, chat).await;
            assert_eq!((said.as_str(), seconds), (expected, when), "{name}");
        }
    }

    /// A local server that loads its model first may be silent for longer.
    #[test]
    fn servers_on_this_machine_have_more_time() {
        let minutes = |url: &str, config: HttpConfig| {
            let timeouts = config.timeouts(&url.parse().expect("it is a URL"));
            [timeouts.header, timeouts.idle, timeouts.progress].map(|it| it.as_secs() / 60)
        };
        let set = HttpConfig::new().idle_timeout(Duration::from_mins(1));
        for (url, config, expected) in [
            ("https://host.example", HttpConfig::new(), [5, 5, 15]),
            ("http://127.0.0.1:1", HttpConfig::new(), [30, 30, 90]),
            ("http://localhost:1", HttpConfig::new(), [30, 30, 90]),
            ("http://[::1]:1", HttpConfig::new(), [30, 30, 90]),
            ("http://[::1]:1", set, [30, 1, 90]),
        ] {
            assert_eq!(minutes(url, config), expected, "{url}");
        }
    }
}
