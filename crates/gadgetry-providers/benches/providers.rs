//! What our clients cost for each chunk of a reply, and all that a token passes from the socket to the user's closure.
//!
//! `docs/performance.md` says what each number must be. A chunk is one frame of the event stream, as large as a provider's
//! own, with one token in it.

#![expect(clippy::print_stdout, reason = "a bench prints")]

#[path = "../../gadgetry-proto/benches/support/mod.rs"]
mod support;

use std::hint::black_box;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use gadgetry::{Agent, Model, from_fn};
use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::event::EventKind;
use gadgetry_proto::message::Request;
use gadgetry_proto::usage::Usage;
use gadgetry_providers::{
    Anthropic, Decode, Http, HttpConfig, HttpRequest, OpenAi, ResponseDecoder, anthropic, openai,
    sse,
};
use serde_json::{Value, json};
use support::clock::{best, seconds};
use support::loads::{fetch, spec};
use support::texts::{chunks, prose};
use support::verdict;
use tokio::runtime::{Builder, Runtime};

/// Tokens in a reply.
const TOKENS: usize = 10_000;
/// Bytes in a token.
const TOKEN: usize = 4;
const AT_LEAST: Duration = Duration::from_secs(1);
/// Microseconds that one core may take for a chunk.
const LIMIT: f64 = 2.0;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Api {
    Chat,
    Messages,
}

/// What a reply consists of.
#[derive(Clone, Copy)]
enum Said {
    Prose,
    /// A call with one long argument.
    Value,
}

fn main() {
    decoding();
    http();
    pipeline();
}

fn decoding() {
    println!("\n### µs a chunk: bytes to deltas, one core\n");
    println!(
        "| API | bytes a chunk | a frame at a time | 1,460 B | 64 KiB | JSON alone | limit | |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for api in [Api::Chat, Api::Messages] {
        let frames = frames(api, Said::Prose);
        let body = frames.concat();
        let frame_by_frame: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
        let cuts = [
            ("a frame", frame_by_frame),
            ("1,460 B", body.chunks(1460).collect()),
            ("64 KiB", body.chunks(64 << 10).collect()),
        ];
        let times = cuts
            .each_ref()
            .map(|(_, pieces)| a_token(|| seconds(|| decode(api, pieces))));
        let named = cuts.iter().map(|(name, _)| *name).zip(times);
        let missed: Vec<String> = named
            .filter(|(_, time)| *time > LIMIT)
            .map(|(name, _)| name.to_owned())
            .collect();
        let [frame, packet, large] = times;
        let (size, json, verdict) = (body.len() / TOKENS, json_alone(&frames), verdict(&missed));
        println!(
            "| {} | {size} | {frame:.2} | {packet:.2} | {large:.2} | {json:.2} | {LIMIT} | {verdict} |",
            name(api)
        );
    }
}

fn decode(api: Api, pieces: &[&[u8]]) {
    let decoder: Box<dyn Decode> = match api {
        Api::Chat => Box::new(openai::Decoder::new()),
        Api::Messages => Box::new(anthropic::Decoder::new()),
    };
    let mut answer = ResponseDecoder::new(decoder);
    let mut deltas = Vec::new();
    let mut texts = 0;
    for piece in pieces {
        answer.feed(piece, &mut deltas);
        texts += deltas
            .drain(..)
            .filter(|delta| matches!(delta, Delta::Text { .. }))
            .count();
    }
    assert!(answer.is_over());
    assert_eq!(texts, TOKENS);
}

/// What the JSON parser alone takes for the same frames.
fn json_alone(frames: &[Vec<u8>]) -> f64 {
    let data: Vec<&str> = frames
        .iter()
        .filter_map(|frame| std::str::from_utf8(frame).ok()?.split_once("data: "))
        .map(|(_, data)| data.trim())
        .filter(|data| data.starts_with('{'))
        .collect();
    a_token(|| {
        seconds(|| {
            for data in &data {
                let value: Value = serde_json::from_str(data).expect("it is JSON");
                black_box(value);
            }
        })
    })
}

fn http() {
    println!("\n### µs a chunk: a socket of loopback to deltas\n");
    println!("The server writes from another thread.\n");
    println!("| API | all | without decoding JSON |\n|---|---|---|");
    let runtime = runtime();
    for api in [Api::Chat, Api::Messages] {
        let address = serve(&frames(api, Said::Prose));
        let model = model(api, address);
        let all = a_token(|| seconds(|| assert_eq!(runtime.block_on(texts(&*model)), TOKENS)));
        let http = Http::new(HttpConfig::new()).expect("it is well formed");
        let bare = a_token(|| {
            seconds(|| {
                let base = format!("http://{address}");
                let request = HttpRequest::post(&base, "x", &json!({})).expect("a URL");
                let deltas = http.stream(request, Box::new(Frames(0)));
                assert_eq!(runtime.block_on(deltas.count()), 1);
            })
        });
        println!("| {} | {all:.2} | {bare:.2} |", name(api));
    }
}

/// How many deltas of a reply are text.
async fn texts(model: &dyn Model) -> usize {
    let deltas = model.stream(Request::default());
    deltas
        .filter(|delta| std::future::ready(matches!(delta, Delta::Text { .. })))
        .count()
        .await
}

fn pipeline() {
    println!("\n### µs a token: a chunk to an event in the user's closure\n");
    println!("In brackets what the same agent takes for ready deltas.\n");
    println!("| API | reply | bytes in memory | limit | | a socket of loopback |");
    println!("|---|---|---|---|---|---|");
    let runtime = runtime();
    for api in [Api::Chat, Api::Messages] {
        for said in [Said::Prose, Said::Value] {
            let frames = frames(api, said);
            let last = match said {
                Said::Prose => vec![],
                Said::Value => self::frames_of(api, &["Done.".to_owned()]),
            };
            let ready = measure(&runtime, said, || {
                Arc::new(Ready::new(api, [&frames, &last]))
            });
            let deltas = measure(&runtime, said, || Arc::new(Deltas::new(said)));
            let address = serve_in_turn([frames.concat(), last.concat()], said);
            let socket = measure(&runtime, said, || model(api, address));
            let what = match said {
                Said::Prose => "prose",
                Said::Value => "a call with one long argument",
            };
            let missed = (ready > LIMIT).then(|| "bytes in memory".to_owned());
            let verdict = verdict(missed.as_slice());
            println!(
                "| {} | {what} | {ready:.2} ({deltas:.2}) | {LIMIT} | {verdict} | {socket:.2} |",
                name(api)
            );
        }
    }
}

/// Microseconds a token of a run of an agent with this model.
fn measure(runtime: &Runtime, said: Said, model: impl Fn() -> Arc<dyn Model>) -> f64 {
    a_token(|| {
        let agent = Agent::builder()
            .model(model())
            .gadget(from_fn(spec(), |parameters, _| async move {
                fetch(&parameters)
            }));
        let agent = agent.build().expect("it is well formed");
        seconds(|| {
            let mut pieces = 0;
            let run = agent.ask("Go on.").on_event(|event| {
                let is_piece = matches!(
                    event.kind,
                    EventKind::Text { .. } | EventKind::GadgetArgsPartial { .. }
                );
                pieces += usize::from(is_piece);
            });
            runtime.block_on(run).expect("the model is done at the end");
            match said {
                Said::Prose => assert!(pieces >= TOKENS, "{pieces}"),
                // A piece may wait for the next one, because it may begin a marker.
                Said::Value => assert!(pieces >= TOKENS * 9 / 10, "{pieces}"),
            }
        })
    })
}

/// A model whose replies are bytes in memory.
struct Ready {
    api: Api,
    replies: std::sync::Mutex<std::vec::IntoIter<Vec<Vec<u8>>>>,
}

impl Ready {
    fn new(api: Api, replies: [&Vec<Vec<u8>>; 2]) -> Self {
        let replies = replies.map(Clone::clone).to_vec();
        let replies = std::sync::Mutex::new(replies.into_iter());
        Self { api, replies }
    }
}

impl Model for Ready {
    fn stream(&self, _: Request) -> BoxStream<'static, Delta> {
        let mut replies = self.replies.lock().expect("nobody panics with it");
        let frames = replies.next().expect("there is one more reply");
        let decoder: Box<dyn Decode> = match self.api {
            Api::Chat => Box::new(openai::Decoder::new()),
            Api::Messages => Box::new(anthropic::Decoder::new()),
        };
        let mut answer = ResponseDecoder::new(decoder);
        let deltas = frames.into_iter().map(move |frame| {
            let mut deltas = Vec::new();
            answer.feed(&frame, &mut deltas);
            stream::iter(deltas)
        });
        stream::iter(deltas).flatten().boxed()
    }

    fn name(&self) -> &'static str {
        "ready"
    }
}

/// A model whose replies are deltas.
struct Deltas(std::sync::Mutex<std::vec::IntoIter<Vec<Delta>>>);

impl Deltas {
    fn new(said: Said) -> Self {
        let reply = |pieces: Vec<String>| {
            let end = Delta::MessageEnd {
                stop_reason: StopReason::Stop,
                usage: Some(Usage::default()),
            };
            pieces.into_iter().map(Delta::text).chain([end]).collect()
        };
        let replies = vec![reply(tokens(said)), reply(vec!["Done.".to_owned()])];
        Self(std::sync::Mutex::new(replies.into_iter()))
    }
}

impl Model for Deltas {
    fn stream(&self, _: Request) -> BoxStream<'static, Delta> {
        let mut replies = self.0.lock().expect("nobody panics with it");
        stream::iter(replies.next().expect("there is one more reply")).boxed()
    }

    fn name(&self) -> &'static str {
        "deltas"
    }
}

/// Counts frames, and reads none.
struct Frames(usize);

impl Decode for Frames {
    fn frame(&mut self, frame: &sse::SseEvent, out: &mut Vec<Delta>) -> bool {
        self.0 += 1;
        // Behind the last token come the end, and counts.
        if frame.data == "[DONE]" || frame.data.contains("message_stop") {
            assert!(self.0 > TOKENS);
            out.push(Delta::error("over"));
        }
        true
    }

    fn reply(&mut self, _: Value, _: &mut Vec<Delta>) {}

    fn end(&mut self, _: &mut Vec<Delta>) {}
}

/// A reply in pieces of a token.
fn tokens(said: Said) -> Vec<String> {
    let text = prose(TOKENS * TOKEN);
    let mut tokens = chunks(&text, TOKEN);
    tokens.truncate(TOKENS);
    let mut tokens: Vec<String> = tokens.into_iter().map(str::to_owned).collect();
    if matches!(said, Said::Value) {
        tokens.insert(0, "!!!GADGET_START:Fetch\n!!!ARG:url\n".to_owned());
        tokens.push("\n!!!GADGET_END\n".to_owned());
    }
    tokens
}

/// The frames of a reply with a token each.
fn frames(api: Api, said: Said) -> Vec<Vec<u8>> {
    frames_of(api, &tokens(said))
}

fn frames_of(api: Api, tokens: &[String]) -> Vec<Vec<u8>> {
    let chat = |delta: Value, finish: Value| {
        let choice =
            json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish });
        let id = "chatcmpl-9kL2mN4pQ6rS8tU0vW1xY3zA5bC7d";
        let chunk = json!({
            "id": id, "object": "chat.completion.chunk", "created": 1_795_300_159, "model": "gpt-4o-2024-08-06",
            "service_tier": "default", "system_fingerprint": "fp_07871e2ad8", "choices": [choice], "usage": null,
        });
        format!("data: {chunk}\n\n")
    };
    let messages = |value: Value| {
        let name = value["type"].as_str().expect("each has one");
        format!("event: {name}\ndata: {value}\n\n")
    };
    let said = tokens.iter();
    let frames: Vec<String> = match api {
        Api::Chat => said
            .map(|token| chat(json!({ "content": token }), Value::Null))
            .chain([
                chat(json!({}), json!("stop")),
                "data: [DONE]\n\n".to_owned(),
            ])
            .collect(),
        Api::Messages => {
            let begin = [
                json!({ "type": "message_start", "message": { "id": "msg_1", "type": "message", "role": "assistant",
                    "model": "claude-sonnet-4-5", "content": [], "usage": { "input_tokens": 10, "output_tokens": 1 } } }),
                json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
            ];
            let end = [
                json!({ "type": "content_block_stop", "index": 0 }),
                json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 5 } }),
                json!({ "type": "message_stop" }),
            ];
            let said = said.map(|token| {
                json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": token } })
            });
            begin
                .into_iter()
                .chain(said)
                .chain(end)
                .map(messages)
                .collect()
        }
    };
    frames.into_iter().map(String::into_bytes).collect()
}

fn serve(frames: &[Vec<u8>]) -> SocketAddr {
    serve_in_turn([frames.concat(), Vec::new()], Said::Prose)
}

/// A server that gives the first reply again and again, or for a call both in turn, each frame as a chunk of HTTP.
fn serve_in_turn(replies: [Vec<u8>; 2], said: Said) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("it is bound");
    let replies = Arc::new(replies.map(|reply| chunked(&reply)));
    let turn = Arc::new(AtomicUsize::new(0));
    std::thread::spawn(move || {
        // A thread each: connections that are kept for later wait without an end.
        for stream in listener.incoming().flatten() {
            let (replies, turn) = (Arc::clone(&replies), Arc::clone(&turn));
            std::thread::spawn(move || {
                answer(&stream, || match said {
                    Said::Prose => &replies[0],
                    Said::Value => &replies[turn.fetch_add(1, Ordering::Relaxed) % 2],
                })
            });
        }
    });
    address
}

fn chunked(body: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(body).expect("it is text");
    let mut out =
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            .to_vec();
    for frame in text.split_inclusive("\n\n") {
        out.extend_from_slice(format!("{:x}\r\n{frame}\r\n", frame.len()).as_bytes());
    }
    out.extend_from_slice(b"0\r\n\r\n");
    out
}

/// Answers all requests of one connection.
fn answer<'r>(stream: &TcpStream, mut reply: impl FnMut() -> &'r Vec<u8>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut read, mut write) = (BufReader::new(stream), stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if read.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
            if line.trim().is_empty() {
                break;
            }
        }
        read.read_exact(&mut vec![0; length])?;
        write.write_all(reply())?;
    }
}

fn model(api: Api, address: SocketAddr) -> Arc<dyn Model> {
    let base = format!("http://{address}/v1");
    match api {
        Api::Chat => Arc::new(
            OpenAi::builder("m")
                .base_url(base)
                .build()
                .expect("it is well formed"),
        ),
        Api::Messages => Arc::new(
            Anthropic::builder("m")
                .base_url(base)
                .build()
                .expect("it is well formed"),
        ),
    }
}

/// One core.
fn runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("the system lets us")
}

fn name(api: Api) -> &'static str {
    match api {
        Api::Chat => "Chat Completions",
        Api::Messages => "Messages",
    }
}

fn a_token(run: impl FnMut() -> f64) -> f64 {
    let tokens = u32::try_from(TOKENS).expect("they are few");
    best(AT_LEAST, run) * 1e6 / f64::from(tokens)
}
