//! Every way in which servers were seen to write, cut, break and refuse a reply, over HTTP on loopback, for all
//! backends: what a good client keeps is kept, at every size of the pieces in which the bytes come.

#![cfg(feature = "http")]
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test looks at a few of many kinds"
)]

mod chat;
mod chat_calls;
mod completions;
mod failing;
mod kept;
mod messages;
mod responses;
mod row;
mod server;

use std::io::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::{StreamExt as _, stream};
use gadgetry_proto::message::{Message, Request, Role};
use gadgetry_providers::model::Model;
use gadgetry_providers::openai::{OpenAiCompletions, OpenAiResponses};
use gadgetry_providers::{Anthropic, HttpConfig, OpenAi};

use row::{Answer, Api, End, Finish, Kept, Row};

/// Bytes in a piece of the answer.
const SIZES: [usize; 3] = [1, 7, usize::MAX];

/// A timeout that no reply reaches, however busy the machine is.
const PATIENCE: Duration = Duration::from_mins(5);

/// Rows at a time, so that those in which nothing comes wait together.
const AT_ONCE: usize = 64;

/// The timeout that a silent server is meant to reach. It covers the silence alone: connecting has [`PATIENCE`], and
/// bytes that wait in the socket are read before a reply counts as stalled. So no machine is too slow for it.
const SILENCE: Duration = Duration::from_millis(300);

/// Rows that a backend does not pass yet, as API and name. They are printed, and fail once they pass.
const KNOWN: [(Api, &str); 0] = [];

#[tokio::test]
async fn chat_completions() {
    let mut rows = chat::framing();
    rows.extend(chat::chunks());
    rows.extend(chat::characters());
    rows.extend(chat_calls::rows());
    rows.extend(failing::chat_streams());
    rows.extend(failing::answers(Api::Chat));
    check(Api::Chat, rows).await;
}

#[tokio::test]
async fn completions() {
    let mut rows = completions::streams();
    rows.extend(completions::broken());
    rows.extend(failing::answers(Api::Completions));
    check(Api::Completions, rows).await;
}

#[tokio::test]
async fn messages() {
    let mut rows = messages::framing();
    rows.extend(messages::frames());
    rows.extend(messages::characters());
    rows.extend(failing::messages_streams());
    rows.extend(failing::answers(Api::Messages));
    check(Api::Messages, rows).await;
}

#[tokio::test]
async fn responses() {
    let mut rows = responses::framing();
    rows.extend(responses::frames());
    rows.extend(responses::disorder());
    rows.extend(responses::broken());
    rows.extend(failing::answers(Api::Responses));
    check(Api::Responses, rows).await;
}

#[tokio::test]
async fn whole_replies_to_a_request_for_a_stream() {
    for api in [Api::Chat, Api::Completions, Api::Messages, Api::Responses] {
        let rows = failing::documents().into_iter();
        check(api, rows.filter(|row| row.api == api).collect()).await;
    }
}

/// Whatever a stream is cut behind: no call that the whole stream does not have, no other text, and no success
/// without a reason to stop.
#[tokio::test]
async fn a_stream_cut_at_any_byte_never_succeeds_without_its_end() {
    let golden = [
        chat::whole("golden", &chat::GOLDEN),
        completions::whole("golden", &completions::GOLDEN),
        messages::whole("golden", &messages::GOLDEN),
        responses::whole("golden", &responses::GOLDEN),
    ];
    for row in golden {
        let body = &row.answer.body;
        let cuts: Vec<Answer> = (0..body.len())
            .map(|at| Answer {
                body: body[..at].to_vec(),
                ..row.answer.clone()
            })
            .collect();
        let finish = match row.api {
            Api::Chat => r#""finish_reason":"tool_calls""#,
            Api::Completions => r#""finish_reason":"stop""#,
            Api::Messages => r#""stop_reason":"tool_use""#,
            Api::Responses => r#""type":"response.completed""#,
        };
        let text = std::str::from_utf8(body).expect("it is text");
        let told = text.find(finish).expect("it is there") + finish.len();
        let address = server::start(cuts).await;
        for at in 0..body.len() {
            let kept = ask(row.api, address, at, usize::MAX, patient())
                .await
                .expect("rules are kept");
            let all = &row.kept;
            assert!(all.text.starts_with(&kept.text), "{at}: {kept:?}");
            assert!(all.calls.starts_with(&kept.calls), "{at}: {kept:?}");
            assert!(
                kept.calls.len() + kept.cut.len() <= all.calls.len(),
                "{at}: {kept:?}"
            );
            match &kept.finish {
                Finish::Error(kind) => assert!(kind.is_retryable(), "{at}: {kept:?}"),
                finish => {
                    assert!(at >= told && *finish == all.finish, "{at}: {kept:?}");
                    assert_eq!(kept.calls, all.calls, "{at}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_refused_connection_is_a_transport_error() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let address = listener.local_addr().expect("it is bound");
    drop(listener);
    for api in [Api::Chat, Api::Completions, Api::Messages, Api::Responses] {
        let kept = ask(api, address, 0, 1, patient())
            .await
            .expect("rules are kept");
        let transport = Finish::Error(gadgetry_proto::error::ModelErrorKind::Transport);
        assert_eq!(kept.finish, transport);
    }
}

/// Holds every row against the backend, in pieces of every size, and names all that differ.
async fn check(api: Api, rows: Vec<Row>) {
    let address = server::start(rows.iter().map(|row| row.answer.clone()).collect()).await;
    let mut wrong = Vec::new();
    let read = stream::iter(rows.iter().enumerate()).map(async |(at, row)| {
        let http = patient();
        let http = match row.answer.end {
            End::Silent => http.idle_timeout(SILENCE),
            End::Mute => http.header_timeout(SILENCE),
            End::Closed | End::Broken | End::Slammed => http,
        };
        let got = SIZES.map(|size| ask(api, address, at, size, http.clone()));
        (row, join_all(got).await)
    });
    let mut read = read.buffered(AT_ONCE);
    while let Some((row, got)) = read.next().await {
        assert_eq!(row.api, api, "{}", row.name);
        assert_eq!(
            rows.iter().filter(|other| other.name == row.name).count(),
            1,
            "{}",
            row.name
        );
        let differs = got
            .iter()
            .zip(SIZES)
            .filter(|(got, _)| got.as_ref() != Ok(&row.kept));
        let differs: Vec<_> = differs
            .map(|(got, size)| match size {
                usize::MAX => format!("  got, whole: {got:?}"),
                size => format!("  got, in pieces of {size}: {got:?}"),
            })
            .collect();
        let is_known = KNOWN.contains(&(api, row.name));
        let report = format!(
            "{api:?}, {:?}\n  expected: {:?}\n{}\n",
            row.name,
            row.kept,
            differs.join("\n")
        );
        match (differs.is_empty(), is_known) {
            (true, false) => {}
            (true, true) => wrong.push(format!(
                "{api:?}, {:?} passes: take it out of KNOWN\n",
                row.name
            )),
            (false, false) => wrong.push(report),
            // Not through the test's own output, which nobody sees when it passes.
            (false, true) => {
                let notice = format!("KNOWN: {report}\n");
                _ = std::io::stderr().write_all(notice.as_bytes());
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} rows:\n{}",
        wrong.len(),
        rows.len(),
        wrong.join("\n")
    );
}

fn patient() -> HttpConfig {
    HttpConfig::new()
        .connect_timeout(PATIENCE)
        .header_timeout(PATIENCE)
        .idle_timeout(PATIENCE)
}

async fn ask(
    api: Api,
    address: SocketAddr,
    row: usize,
    size: usize,
    http: HttpConfig,
) -> Result<Kept, String> {
    let base = format!("http://{address}/{row}/{size}/v1");
    let request = Request::default().messages(vec![Message::text(Role::User, "hello")]);
    let deltas = match api {
        Api::Chat => {
            let model = OpenAi::builder("m").base_url(base).http(http).build();
            model.expect("it is well formed").stream(request)
        }
        Api::Completions => {
            let model = OpenAiCompletions::builder("m")
                .base_url(base)
                .http(http)
                .build();
            model.expect("it is well formed").stream(request)
        }
        Api::Messages => {
            let model = Anthropic::builder("m")
                .base_url(base)
                .api_key("k-0123456789")
                .http(http)
                .build();
            model.expect("it is well formed").stream(request)
        }
        Api::Responses => {
            let model = OpenAiResponses::builder("m")
                .base_url(base)
                .http(http)
                .build();
            model.expect("it is well formed").stream(request)
        }
    };
    kept::read(deltas).await
}
