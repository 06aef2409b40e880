//! A model server that does what a row says, on a free port of loopback.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::acceptor::Acceptor;

use super::row::{Call, End, Endless, Reply, Wire};

/// Answers to GET requests, by path. Others get 404.
pub(crate) type Gets = BTreeMap<String, Reply>;

/// A server that answers until it is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    _acceptor: Acceptor,
    bodies: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(crate) fn start(wire: Wire, replies: &[Reply], gets: &Gets) -> Self {
        let bodies = Arc::new(Mutex::new(Vec::new()));
        let (replies, seen): (Arc<[Reply]>, _) = (replies.into(), Arc::clone(&bodies));
        let gets = Arc::new(gets.clone());
        let count = Arc::new(AtomicUsize::new(0));
        // The threads of connections end with their clients.
        let acceptor = Acceptor::start(move |stream| {
            let (replies, seen) = (Arc::clone(&replies), Arc::clone(&seen));
            let (count, gets) = (Arc::clone(&count), Arc::clone(&gets));
            thread::spawn(move || {
                // A client that goes away is not the server's business.
                let _ = serve(&stream, wire, &replies, &gets, &seen, &count);
            });
        });
        Self {
            address: acceptor.address,
            _acceptor: acceptor,
            bodies,
        }
    }

    /// The texts of the requests so far: the strings of each body, one a line.
    pub(crate) fn requests(&self) -> Vec<String> {
        let text = |body: &String| {
            let body: Value = serde_json::from_str(body).expect("the program sends JSON");
            let mut text = String::new();
            each_text(&body, &mut |it| {
                text.push_str(it);
                text.push('\n');
            });
            text
        };
        self.bodies
            .lock()
            .expect("no panic")
            .iter()
            // A request for the list of models has none.
            .filter(|body| !body.is_empty())
            .map(text)
            .collect()
    }
}

const MISSING: &[u8] = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// One request a connection.
fn serve(
    stream: &TcpStream,
    wire: Wire,
    replies: &[Reply],
    gets: &Gets,
    seen: &Mutex<Vec<String>>,
    count: &AtomicUsize,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    if let Some(rest) = first.strip_prefix("GET ") {
        let path = rest.split(' ').next().unwrap_or_default();
        return match gets.get(path) {
            Some(reply) => answer(stream, wire, reply),
            None => { stream }.write_all(MISSING),
        };
    }
    seen.lock()
        .expect("no panic")
        .push(String::from_utf8_lossy(&body).into_owned());
    let at = count.fetch_add(1, Ordering::Relaxed);
    let Some(reply) = replies.get(at).or(replies.last()) else {
        return Ok(());
    };
    let mut reply = reply.clone();
    if reply.echo {
        reply.text.push(last_message(&body));
    }
    answer(stream, wire, &reply)
}

/// The text of the last message of a request.
fn last_message(body: &[u8]) -> String {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    if let Some(prompt) = body["prompt"].as_str() {
        let prompt = prompt.strip_suffix("\n\n### Assistant\n").unwrap_or(prompt);
        let last = prompt.rsplit("### User\n").next();
        return last.unwrap_or_default().to_owned();
    }
    let last = body["messages"].as_array().and_then(|it| it.last());
    let mut text = String::new();
    if let Some(last) = last {
        each_text(&last["content"], &mut |it| text.push_str(it));
    }
    text
}

/// Every string of a JSON value, in order.
pub(crate) fn each_text(value: &Value, take: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => take(text),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, take)),
        Value::Object(fields) => fields.values().for_each(|field| each_text(field, take)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn answer(mut stream: &TcpStream, wire: Wire, reply: &Reply) -> std::io::Result<()> {
    let mut head = format!(
        "HTTP/1.1 {} Whatever\r\nconnection: close\r\n",
        reply.status
    );
    if !reply.headers.contains_key("content-type") {
        head.push_str("content-type: text/event-stream\r\n");
    }
    for (name, value) in &reply.headers {
        head.extend([name, ": ", value, "\r\n"]);
    }
    // A broken connection can be told from an ended one only if the end is announced.
    let announced = reply.end != End::Close;
    if announced {
        head.push_str("content-length: 1000000000\r\n");
    }
    stream.write_all(head.as_bytes())?;
    stream.write_all(b"\r\n")?;
    let body = match &reply.body {
        Some(body) => body.clone(),
        None => frames(wire, reply),
    };
    stream.write_all(body.as_bytes())?;
    if let Some(endless) = &reply.endless {
        let piece = piece(wire, endless).repeat(8);
        loop {
            stream.write_all(piece.as_bytes())?;
        }
    }
    if reply.end == End::Silence {
        // Until the client goes.
        stream.read_to_end(&mut Vec::new())?;
    }
    Ok(())
}

/// One frame of a reply without end. Its text is long, so that the limits are reached soon.
fn piece(wire: Wire, endless: &Endless) -> String {
    const TIMES: usize = 4096;
    let chat = |delta: Value| json!({ "choices": [{ "index": 0, "delta": delta }] });
    let messages =
        |delta: Value| json!({ "type": "content_block_delta", "index": 0, "delta": delta });
    let completions = |text: String| json!({ "choices": [{ "index": 0, "text": text }] });
    let frame = match (endless, wire) {
        (Endless::Comment(text), _) => return format!(": {text}\n\n"),
        (Endless::Text(text), Wire::Chat) => chat(json!({ "content": text.repeat(TIMES) })),
        (Endless::Text(text) | Endless::Reasoning(text), Wire::Completions) => {
            completions(text.repeat(TIMES))
        }
        (Endless::Reasoning(text), Wire::Chat) => {
            chat(json!({ "reasoning_content": text.repeat(TIMES) }))
        }
        (Endless::Text(text), Wire::Messages) => {
            messages(json!({ "type": "text_delta", "text": text.repeat(TIMES) }))
        }
        (Endless::Reasoning(text), Wire::Messages) => {
            messages(json!({ "type": "thinking_delta", "thinking": text.repeat(TIMES) }))
        }
    };
    data(&frame)
}

/// The event stream of a reply.
fn frames(wire: Wire, reply: &Reply) -> String {
    match wire {
        Wire::Chat => chat(reply, "content"),
        Wire::Completions => chat(reply, "text"),
        Wire::Messages => messages(reply),
    }
}

fn data(frame: &Value) -> String {
    match frame.as_str() {
        Some(text) => format!("data: {text}\n\n"),
        None => format!("data: {frame}\n\n"),
    }
}

/// The frames of Chat Completions, or of the legacy Completions, where the `text` has its place in the choice. These have no calls, so
/// they come as those of the other.
fn chat(reply: &Reply, text: &str) -> String {
    let chunk = |delta: Value| data(&json!({ "choices": [{ "index": 0, "delta": delta }] }));
    let mut out = String::new();
    for said in &reply.text {
        out += &if text == "text" {
            data(&json!({ "choices": [{ "index": 0, "text": said }] }))
        } else {
            chunk(json!({ "content": said }))
        };
    }
    for (index, call) in (0_u64..).zip(&reply.calls) {
        let mut piece = json!({
            "index": call.index.unwrap_or(index),
            "type": "function",
            "function": { "name": call.name, "arguments": call.arguments },
        });
        if let Some(id) = id(call, index) {
            piece["id"] = id.into();
        }
        out += &chunk(json!({ "tool_calls": [piece] }));
    }
    for frame in &reply.frames {
        out += &data(frame);
    }
    if let Some(finish) = &reply.finish {
        out += &data(&json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": finish }] }));
    }
    if reply.done && reply.endless.is_none() {
        out += "data: [DONE]\n\n";
    }
    out
}

/// The id as the row says, made up, or none if the row says an empty one.
fn id(call: &Call, index: u64) -> Option<String> {
    match &call.id {
        Some(id) if id.is_empty() => None,
        Some(id) => Some(id.clone()),
        None => Some(format!("call_{index}")),
    }
}

fn messages(reply: &Reply) -> String {
    let mut out = data(&json!({
        "type": "message_start",
        "message": {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
            "usage": { "input_tokens": 10, "output_tokens": 1 },
        },
    }));
    let mut index = 0;
    if !reply.text.is_empty() || reply.endless.is_some() {
        let block = match reply.endless {
            Some(Endless::Reasoning(_)) => json!({ "type": "thinking", "thinking": "" }),
            _ => json!({ "type": "text", "text": "" }),
        };
        out += &data(
            &json!({ "type": "content_block_start", "index": index, "content_block": block }),
        );
        for text in &reply.text {
            let delta = json!({ "type": "text_delta", "text": text });
            out += &data(&json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        }
        if reply.endless.is_some() {
            return out;
        }
        if reply.finish.is_some() {
            out += &data(&json!({ "type": "content_block_stop", "index": index }));
        }
        index += 1;
    }
    for call in &reply.calls {
        let id = id(call, index).unwrap_or_default();
        let block = json!({ "type": "tool_use", "id": id, "name": call.name, "input": {} });
        out += &data(
            &json!({ "type": "content_block_start", "index": index, "content_block": block }),
        );
        if !call.arguments.is_empty() {
            let delta = json!({ "type": "input_json_delta", "partial_json": call.arguments });
            out += &data(&json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        }
        if call.closed {
            out += &data(&json!({ "type": "content_block_stop", "index": index }));
        }
        index += 1;
    }
    for frame in &reply.frames {
        out += &data(frame);
    }
    if let Some(finish) = &reply.finish {
        // The words of the other API, so that one row serves both.
        let finish = match finish.as_str() {
            Some("stop") => json!("end_turn"),
            Some("tool_calls") => json!("tool_use"),
            Some("length") => json!("max_tokens"),
            _ => finish.clone(),
        };
        let delta = json!({ "stop_reason": finish, "stop_sequence": null });
        out += &data(
            &json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": 5 } }),
        );
    }
    if reply.done {
        out += &data(&json!({ "type": "message_stop" }));
    }
    out
}
