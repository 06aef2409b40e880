//! The world around the programs: a text model with Chat Completions, and the service that gadgets change, in one server that
//! remembers every request.
//!
//! | path | what it does |
//! |---|---|
//! | `/v1/chat/completions` | Answers as a text model, by the first line `soak run RUN` or `soak gate NUMBER FAULT` of a user's message |
//! | `/effect` | A gadget was executed; the body is `KEY ITEM`, the answer a receipt that no other execution gets |
//! | `/finished` | A run has ended; the body is `RUN RESULT` |

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};

use crate::Failure;
use crate::http;
use crate::random::Random;
use crate::runs::Run;

/// What the world has seen.
pub(crate) struct World {
    pub(crate) address: String,
    state: Mutex<State>,
}

struct State {
    random: Random,
    receipts: u64,
    runs: BTreeMap<String, Run>,
    /// Runs of the process that nothing kills: checked as soon as they end.
    checked: usize,
    failed: usize,
    problems: Vec<String>,
    /// Requests for each number of the gateway's clients.
    gates: BTreeMap<String, usize>,
}

/// How a reply is sent.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// In pieces with pauses.
    Slow,
    /// The connection ends within a block.
    Cut,
    /// Status 500.
    Refused,
}

impl World {
    /// Starts the server.
    pub(crate) async fn start(seed: u64) -> Result<Arc<Self>, Failure> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let world = Arc::new(Self {
            address: listener.local_addr()?.to_string(),
            state: Mutex::new(State {
                random: Random::new(seed, 0),
                receipts: 0,
                runs: BTreeMap::new(),
                checked: 0,
                failed: 0,
                problems: Vec::new(),
                gates: BTreeMap::new(),
            }),
        });
        let served = Arc::clone(&world);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let world = Arc::clone(&served);
                // Clients that go are part of the load.
                tokio::spawn(async move { world.serve(socket).await.ok() });
            }
        });
        Ok(world)
    }

    /// The base URL of the model.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Takes the promises that were found broken.
    pub(crate) fn problems(&self) -> Vec<String> {
        self.with(|state| std::mem::take(&mut state.problems))
    }

    /// Runs of the undisturbed process that were checked, and those of them that ended with an error of the model.
    pub(crate) fn checked(&self) -> (usize, usize) {
        self.with(|state| (state.checked, state.failed))
    }

    /// Whether a run has ended.
    pub(crate) fn has_ended(&self, run: &str) -> bool {
        self.with(|state| state.runs.get(run).is_some_and(|run| run.ended.is_some()))
    }

    /// Forgets a run, and returns what it was.
    pub(crate) fn take(&self, run: &str) -> Run {
        self.with(|state| state.runs.remove(run).unwrap_or_default())
    }

    /// Forgets a number of the gateway's clients, and returns the number of requests for it that the model has had.
    pub(crate) fn asked(&self, gate: &str) -> usize {
        self.with(|state| state.gates.remove(gate).unwrap_or(0))
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn serve(&self, mut socket: TcpStream) -> io::Result<()> {
        let request = http::receive(&mut socket).await?;
        match request.path.as_str() {
            "/v1/chat/completions" => self.chat(&mut socket, &request.body).await,
            "/effect" => {
                let receipt = self.with(|state| state.effect(&request.body));
                http::reply(&mut socket, 200, &receipt).await
            }
            "/finished" => {
                self.with(|state| state.finished(&request.body));
                http::reply(&mut socket, 200, "noted").await
            }
            "/v1/models" => {
                let models = json!({"object": "list", "data": [{"id": "m", "object": "model"}]});
                http::reply(&mut socket, 200, &models.to_string()).await
            }
            _ => http::reply(&mut socket, 404, "{}").await,
        }
    }

    async fn chat(&self, socket: &mut TcpStream, body: &str) -> io::Result<()> {
        let Some((text, fault)) = self.with(|state| state.answer(body)) else {
            return http::reply(socket, 400, r#"{"error": {"message": "no soak"}}"#).await;
        };
        if fault == Fault::Refused {
            return http::reply(socket, 500, r#"{"error": {"message": "overturned"}}"#).await;
        }
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n";
        socket.write_all(head.as_bytes()).await?;
        // Within the last block, or within the prose of a reply without one.
        let cut = text.rfind("!!!GADGET_END").unwrap_or(text.len() / 2);
        let shown = if fault == Fault::Cut {
            &text[..cut]
        } else {
            &text
        };
        let mut rest = shown;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.len().min(17));
            rest = after;
            socket
                .write_all(frame(&json!({"content": piece}), None).as_bytes())
                .await?;
            if fault == Fault::Slow {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        if fault == Fault::Cut {
            return Ok(());
        }
        socket
            .write_all(frame(&json!({}), Some("stop")).as_bytes())
            .await?;
        socket
            .write_all(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
            .await
    }
}

/// A chunk of a reply, as a chunk of HTTP. All text is ASCII.
fn frame(delta: &Value, reason: Option<&str>) -> String {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
    let chunk = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]});
    let data = format!("data: {chunk}\n\n");
    format!("{:x}\r\n{data}\r\n", data.len())
}

impl State {
    fn effect(&mut self, body: &str) -> String {
        self.receipts += 1;
        let receipt = format!("receipt-{}", self.receipts);
        let (key, item) = body.split_once(' ').unwrap_or((body, ""));
        let run = item.split('.').next().unwrap_or_default();
        let run = self.runs.entry(run.to_owned()).or_default();
        run.effect(key, item, &receipt);
        format!("{receipt} for {item}.")
    }

    fn finished(&mut self, body: &str) {
        let (name, result) = body.split_once(' ').unwrap_or((body, ""));
        let run = self.runs.entry(name.to_owned()).or_default();
        run.ended = Some(result.to_owned());
        if !name.starts_with(crate::runs::STEADY) {
            return;
        }
        let run = self.runs.remove(name).unwrap_or_default();
        self.checked += 1;
        self.failed += usize::from(!run.is_answered());
        let found = run.problems(name, 0);
        self.problems.extend(found);
    }

    /// The text of a reply, and how it is sent. `None` for a request that is not ours.
    fn answer(&mut self, body: &str) -> Option<(String, Fault)> {
        let request: Value = serde_json::from_str(body).ok()?;
        let messages = request.get("messages")?.as_array()?;
        let line = messages.iter().find_map(|message| {
            let is_user = message.get("role")?.as_str()? == "user";
            let text = message.get("content")?.to_string();
            let (_, line) = text.split_once("soak ")?;
            let word = |it: &str| {
                it.trim_matches(|it: char| !it.is_ascii_alphanumeric())
                    .to_owned()
            };
            let words: Vec<String> = line.split([' ', '\\', '"']).map(word).collect();
            is_user.then_some(words)
        })?;
        let said = messages
            .iter()
            .filter(|it| it.get("role").is_some_and(|it| it == "assistant"));
        let said = said.count();
        match line.as_slice() {
            [word, number, fault, ..] if word == "gate" => {
                *self.gates.entry(number.clone()).or_default() += 1;
                let fault = match fault.as_str() {
                    "cut" => Fault::Cut,
                    "refused" => Fault::Refused,
                    "slow" => Fault::Slow,
                    _ => Fault::None,
                };
                let text = format!(
                    "Looking up g{number}.\n!!!GADGET_START:lookup\n!!!ARG:item\ng{number}\n!!!GADGET_END\n"
                );
                Some((text, fault))
            }
            [word, run, ..] if word == "run" => {
                let fault = match self.random.below(100) {
                    0..2 => Fault::Refused,
                    2..4 => Fault::Cut,
                    4..20 => Fault::Slow,
                    _ => Fault::None,
                };
                let seen = self.runs.entry(run.clone()).or_default();
                seen.faults += usize::from(matches!(fault, Fault::Cut | Fault::Refused));
                let text = seen.reply(run, said, messages);
                Some((text, fault))
            }
            _ => None,
        }
    }
}
