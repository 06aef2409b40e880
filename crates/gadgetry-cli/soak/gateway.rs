//! `gadgetry serve` and its clients.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::Child;

use crate::http;
use crate::process::Clock;
use crate::random::Random;
use crate::world::World;
use crate::{Failure, Shared};

/// What a client does, or the upstream.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Whole,
    Streamed,
    Slow,
    Leaves,
    Cut,
    Refused,
}

/// All kinds with their shares in percent, and the word that the world knows them by.
pub(crate) const KINDS: [(Kind, usize, &str); 6] = [
    (Kind::Whole, 30, "whole"),
    (Kind::Streamed, 40, "streamed"),
    (Kind::Slow, 10, "slow"),
    (Kind::Leaves, 10, "leaves"),
    (Kind::Cut, 5, "cut"),
    (Kind::Refused, 5, "refused"),
];

/// No answer takes so long on any machine.
const TOO_LONG: Duration = Duration::from_mins(5);

/// The gateway's process.
pub(crate) struct Gateway {
    pub(crate) process: Child,
    pub(crate) address: String,
}

impl Gateway {
    pub(crate) async fn start(
        program: &Path,
        clock: &Clock,
        world: &World,
    ) -> Result<Self, Failure> {
        let mut command = clock.command(program);
        command.args(["serve", "--listen", "127.0.0.1:0", "--markers", "plain"]);
        command.args(["--upstream", &world.url()]);
        let mut process = command.stderr(Stdio::piped()).spawn()?;
        let lines = process.stderr.take().ok_or("it is piped")?;
        let mut lines = BufReader::new(lines).lines();
        let address = loop {
            let line = lines.next_line().await?.ok_or("the gateway has ended")?;
            if let Some(rest) = line.strip_prefix("serving http://") {
                break rest.split('/').next().unwrap_or_default().to_owned();
            }
        };
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Ok(Self { process, address })
    }
}

/// Requests so far, by kind.
#[derive(Default)]
pub(crate) struct Counts([AtomicUsize; KINDS.len()]);

impl Counts {
    /// How many there were, in the order of [`KINDS`].
    pub(crate) fn all(&self) -> [usize; KINDS.len()] {
        std::array::from_fn(|at| self.0[at].load(Ordering::Relaxed))
    }
}

/// One client, which sends a request after the other until the end.
pub(crate) async fn client(shared: Arc<Shared>, address: String, mut random: Random) {
    while !shared.is_over() {
        let share = random.below(100);
        let mut sum = 0;
        let kind = KINDS.iter().position(|(_, percent, _)| {
            sum += percent;
            share < sum
        });
        let at = kind.unwrap_or(0);
        let number = shared.requests.fetch_add(1, Ordering::Relaxed).to_string();
        let asked = request(&address, &number, at, &mut random);
        let problem = match tokio::time::timeout(TOO_LONG, asked).await {
            Ok(Ok(())) => None,
            Ok(Err(problem)) => Some(problem.to_string()),
            Err(_) => Some("no answer".to_owned()),
        };
        let (kind, _, word) = KINDS[at];
        let asked = shared.world.asked(&number);
        if let Some(problem) = problem {
            shared.broken(format!("request {number} ({word}): {problem}"));
        } else if asked != 1 && matches!(kind, Kind::Whole | Kind::Streamed | Kind::Slow) {
            shared.broken(format!("request {number} ({word}): sent {asked} times"));
        }
        shared.counts.0[at].fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(random.millis(60)).await;
    }
}

/// Sends a request, and checks the answer.
async fn request(
    address: &str,
    number: &str,
    at: usize,
    random: &mut Random,
) -> Result<(), Failure> {
    let (kind, _, word) = KINDS[at];
    let streams = !matches!(kind, Kind::Whole) && (kind != Kind::Refused || random.percent(50));
    // A client that leaves has to have something to leave.
    let word = if kind == Kind::Leaves { "slow" } else { word };
    let parameters =
        json!({"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]});
    let body = json!({
        "model": "m",
        "stream": streams,
        "messages": [{"role": "user", "content": format!("soak gate {number} {word}")}],
        "tools": [{"type": "function", "function": {"name": "lookup", "parameters": parameters}}],
    });
    let path = "/v1/chat/completions";
    if kind == Kind::Leaves {
        let mut socket = http::send(address, path, &body.to_string()).await?;
        let mut some = vec![0; 1 + random.below(600)];
        // Dropping it closes the connection.
        return match socket.read_exact(&mut some).await {
            Ok(_) => Ok(()),
            Err(error) => Err(format!("the answer is too short to leave: {error}").into()),
        };
    }
    let answer = http::post(address, path, &body.to_string()).await?;
    let (text, calls, reason) = if answer.status != 200 {
        (String::new(), Vec::new(), String::new())
    } else if streams {
        streamed(&answer.body)
    } else {
        whole(&answer.body)?
    };
    let shown = format!("status {}, {}", answer.status, answer.body);
    if matches!(kind, Kind::Cut | Kind::Refused) {
        let failed = answer.status >= 500 || answer.body.contains("\"error\"");
        if !failed || !calls.is_empty() {
            return Err(format!("no error, or a call that was cut off: {shown}").into());
        }
        return Ok(());
    }
    let expected = json!({ "item": format!("g{number}") });
    let arguments: Vec<Value> = calls
        .iter()
        .filter_map(|it| serde_json::from_str(it).ok())
        .collect();
    let is_right = arguments == [expected]
        && text.trim() == format!("Looking up g{number}.")
        && reason == "tool_calls"
        && answer.is_whole;
    if is_right {
        return Ok(());
    }
    Err(format!("lost or changed: {shown}").into())
}

/// Text, arguments of the calls, and the reason of the end.
type Reply = (String, Vec<String>, String);

fn whole(body: &str) -> Result<Reply, Failure> {
    let body: Value = serde_json::from_str(body)?;
    let choice = &body["choices"][0];
    let calls = choice["message"]["tool_calls"].as_array();
    let calls = calls.into_iter().flatten();
    Ok((
        string(&choice["message"]["content"]),
        calls
            .map(|it| string(&it["function"]["arguments"]))
            .collect(),
        string(&choice["finish_reason"]),
    ))
}

fn streamed(body: &str) -> Reply {
    let (mut text, mut calls, mut reason) = (String::new(), Vec::new(), String::new());
    for line in body.lines().filter_map(|line| line.strip_prefix("data: ")) {
        let chunk: Value = serde_json::from_str(line).unwrap_or_default();
        let choice = &chunk["choices"][0];
        text += &string(&choice["delta"]["content"]);
        reason += &string(&choice["finish_reason"]);
        for call in choice["delta"]["tool_calls"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let at = call["index"]
                .as_u64()
                .and_then(|it| usize::try_from(it).ok());
            let at = at.unwrap_or(0).min(99);
            if calls.len() <= at {
                calls.resize(at + 1, String::new());
            }
            calls[at] += &string(&call["function"]["arguments"]);
        }
    }
    (text, calls, reason)
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
