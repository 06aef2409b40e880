//! A server on loopback that speaks Chat Completions: each request gets the next of its replies.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex};

use serde_json::{Value, json};

use crate::acceptor::Acceptor;

/// What a request is answered with.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// A stream of these texts, with usage, that ends as it should.
    Says(Vec<String>),
    /// The same with a text that is made from the system message of the request.
    Answers(fn(&str) -> String),
    /// The same with another reason for the end.
    Ends(&'static str, &'static str),
    /// A stream with one call of a tool: id, name and JSON.
    Calls(&'static str, &'static str, &'static str),
    /// The same with any number of calls: names and JSON.
    ManyCalls(Vec<(String, String)>),
    /// The reply that this makes of the body of the request.
    By(fn(&Value) -> Self),
    /// Nothing, until the client goes away.
    Hangs,
    /// A stream of Anthropic's Messages with this text.
    Messages(&'static str),
    /// A stream that breaks off behind this text.
    BreaksOff(&'static str),
    /// A stream of these bytes.
    Stream(String),
    /// A status with headers and this body.
    Status(&'static str, &'static str),
    /// The same for each GET request to this path, whenever it comes. Other questions about the server have the answer 404.
    Gets(&'static str, &'static str, String),
}

/// Paths by which servers are recognised; that of the models comes first. Such a request takes no reply from those that it is
/// not for.
const PROBES: [&str; 11] = [
    "/v1/models",
    "/props",
    "/version",
    "/get_server_info",
    "/server_info",
    "/api/version",
    "/api/v0/models",
    "/info",
    "/api/ps",
    "/api/show",
    "/tokenize",
];

impl Reply {
    pub(crate) fn says(text: &str) -> Self {
        Self::Says(text.split_inclusive(' ').map(str::to_owned).collect())
    }

    fn bytes(&self, request: &Value) -> String {
        match self {
            Self::Answers(text) => {
                let system = request["messages"][0]["content"].as_str();
                let text = text(system.unwrap_or_default());
                stream([text.as_str()].into_iter(), Some("stop"))
            }
            Self::Says(texts) => stream(texts.iter().map(String::as_str), Some("stop")),
            Self::Ends(text, reason) => stream([*text].into_iter(), Some(reason)),
            Self::Calls(id, name, json) => calls(id, name, json),
            Self::ManyCalls(all) => many_calls(all),
            Self::By(reply) => reply(request).bytes(request),
            Self::Hangs => STREAM.to_owned(),
            Self::Messages(text) => messages(text),
            Self::Stream(body) => format!("{STREAM}{body}"),
            Self::BreaksOff(text) => stream([*text].into_iter(), None),
            Self::Status(head, body) => document(head, body),
            Self::Gets(_, head, body) => document(head, body),
        }
    }
}

fn document(head: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {head}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

const STREAM: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

fn messages(text: &str) -> String {
    let usage = json!({ "input_tokens": 1200, "output_tokens": 1 });
    let message = json!({ "id": "m", "role": "assistant", "content": [], "usage": usage });
    let block = json!({ "type": "text", "text": "" });
    let delta = json!({ "type": "text_delta", "text": text });
    let end = json!({ "stop_reason": "end_turn" });
    let events = [
        json!({ "type": "message_start", "message": message }),
        json!({ "type": "content_block_start", "index": 0, "content_block": block }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": end, "usage": { "output_tokens": 34 } }),
        json!({ "type": "message_stop" }),
    ];
    let frame = |event: Value| {
        let name = event["type"].as_str().unwrap_or_default();
        format!("event: {name}\ndata: {event}\n\n")
    };
    STREAM.to_owned() + &events.map(frame).concat()
}

fn calls(id: &str, name: &str, json: &str) -> String {
    let call =
        |fields: Value| json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [fields] } }] });
    let function = json!({ "name": name, "arguments": "" });
    let (begin, end) = json.split_at(json.len() / 2);
    let frames = [
        call(json!({ "index": 0, "id": id, "type": "function", "function": function })),
        call(json!({ "index": 0, "function": { "arguments": begin } })),
        call(json!({ "index": 0, "function": { "arguments": end } })),
        json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] }),
    ];
    let frame = |frame: Value| format!("data: {frame}\n\n");
    format!("{STREAM}{}data: [DONE]\n\n", frames.map(frame).concat())
}

fn many_calls(all: &[(String, String)]) -> String {
    let calls = all.iter().enumerate().map(|(index, (name, json))| {
        let function = json!({ "name": name, "arguments": json });
        let call = json!({ "index": index, "id": format!("c{index}"), "type": "function", "function": function });
        json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [call] } }] })
    });
    let usage = json!({ "prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110 });
    let end = [
        json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] }),
        json!({ "choices": [], "usage": usage }),
    ];
    let frames = calls.chain(end).map(|frame| format!("data: {frame}\n\n"));
    format!("{STREAM}{}data: [DONE]\n\n", frames.collect::<String>())
}

fn stream<'a>(texts: impl Iterator<Item = &'a str>, reason: Option<&str>) -> String {
    let mut out = STREAM.to_owned();
    let mut frame = |value: &Value| out.extend(["data: ", &value.to_string(), "\n\n"]);
    for text in texts {
        frame(&json!({ "choices": [{ "index": 0, "delta": { "content": text } }] }));
    }
    let Some(reason) = reason else {
        return out;
    };
    frame(&json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] }));
    let usage = json!({ "prompt_tokens": 1200, "completion_tokens": 34, "total_tokens": 1234 });
    frame(&json!({ "choices": [], "usage": usage }));
    out.push_str("data: [DONE]\n\n");
    out
}

/// What a client has asked.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// Method and path.
    pub(crate) line: String,
    /// In lower case, one a line.
    pub(crate) headers: String,
    pub(crate) body: Value,
}

pub(crate) struct Server {
    url: String,
    _acceptor: Acceptor,
    asked: Arc<Requests>,
}

/// All requests, and a signal at each.
#[derive(Default)]
struct Requests {
    all: Mutex<Vec<Asked>>,
    changed: Condvar,
}

impl Server {
    /// With these replies, one a request; the last one again for all that follow.
    pub(crate) fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let asked: Arc<Requests> = Arc::default();
        let seen = Arc::clone(&asked);
        let replies = replies.into_iter();
        let (gets, replies): (Vec<Reply>, Vec<Reply>) =
            replies.partition(|it| matches!(it, Reply::Gets(..)));
        let mut number = 0;
        let acceptor = Acceptor::start(move |connection| {
            let reply = replies.get(number.min(replies.len().saturating_sub(1)));
            // A client that goes away is its own problem.
            let served = serve(&connection, reply, &gets, &seen);
            number += usize::from(!matches!(served, Ok(Served::Probe)));
        });
        Self {
            url: format!("http://{}/v1", acceptor.address),
            _acceptor: acceptor,
            asked,
        }
    }

    /// Where it is, up to `/v1`.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.all.lock().expect("no panic").clone()
    }

    /// Waits until the requests are such.
    pub(crate) fn wait_for(&self, is_there: impl Fn(&[Asked]) -> bool) {
        let all = self.asked.all.lock().expect("no panic");
        let waited = self.asked.changed.wait_while(all, |all| !is_there(all));
        drop(waited.expect("no panic"));
    }
}

/// What a request was.
enum Served {
    Probe,
    Other,
}

fn serve(
    connection: &TcpStream,
    reply: Option<&Reply>,
    gets: &[Reply],
    asked: &Requests,
) -> std::io::Result<Served> {
    let mut reader = BufReader::new(connection);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut headers = String::new();
    while !headers.ends_with("\n\r\n") && headers != "\r\n" {
        if reader.read_line(&mut headers)? == 0 {
            // No request at all: a client that has closed an idle connection.
            return Ok(Served::Probe);
        }
    }
    let headers = headers.to_lowercase();
    let length = headers
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body = serde_json::from_slice(&body).unwrap_or_else(|_| {
        let text = String::from_utf8_lossy(&body);
        if text.is_empty() {
            Value::Null
        } else {
            Value::from(text)
        }
    });
    let line = line.trim_end_matches(" HTTP/1.1\r\n").to_owned();
    let path = line.split_once(' ').map_or("", |(_, path)| path);
    let get = gets
        .iter()
        .find(|it| matches!(it, Reply::Gets(of, ..) if *of == path));
    if get.is_none() && PROBES.contains(&path) {
        { connection }.write_all(document("404 Not Found", "{}").as_bytes())?;
        return Ok(Served::Probe);
    }
    let mut reply = get.or(reply).expect("a reply").clone();
    if let Reply::By(of_request) = reply {
        reply = of_request(&body);
    }
    let answer = reply.bytes(&body);
    asked.all.lock().expect("no panic").push(Asked {
        line,
        headers,
        body,
    });
    asked.changed.notify_all();
    { connection }.write_all(answer.as_bytes())?;
    if matches!(reply, Reply::Hangs) {
        // The end of what the client sends.
        while reader.read(&mut [0; 64])? > 0 {}
    }
    Ok(if get.is_some() {
        Served::Probe
    } else {
        Served::Other
    })
}
