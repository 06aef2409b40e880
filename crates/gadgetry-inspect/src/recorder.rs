//! Records of a run, made of what an observer sees.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{self, Write};
use std::mem;

use gadgetry::proto::delta::Delta;
use gadgetry::proto::event::EventKind;
use gadgetry::proto::message::{Content as Part, Message, Request, Role};
use gadgetry::proto::run::Input;
use gadgetry::proto::time::Time;
use gadgetry::{Event, Observer};
use serde_json::{Value, json};

use crate::keys::is_of_key;
use crate::record::{Content, Records, Turn, without_media};
use crate::recording::Recording;

/// Maximum bytes of a reply as it was written.
const REPLY: usize = 8 << 20;

/// Maximum number of calls of a reply through the interface of a provider.
const TOOL_CALLS: usize = 1_000;

/// Characters of a title.
const TITLE: usize = 120;

/// Runs whose requests are compared: a run and its subagents.
const RUNS: usize = 10_000;

/// Records one run: its events, and with them requests and replies. It is an [`Observer`], for
/// [`AgentRun::observe`](gadgetry::AgentRun::observe) and [`log::replay`](gadgetry::log::replay). The [crate](crate) has an example.
///
/// Adjacent pieces of text are one record. Pieces of parameters and custom blocks are left out, because a later event has the whole.
#[derive(Debug, Default)]
pub struct Recorder {
    records: Records,
    title: Option<String>,
    id: Option<String>,
    /// Text that more text may follow.
    open: Option<Event>,
    /// Each piece of text is a record at once.
    is_live: bool,
    /// The run is one call, which no model has written.
    is_single_call: bool,
    /// Of the run and each subagent, by id.
    runs: HashMap<String, Exchange>,
}

/// The request and the reply of one run.
#[derive(Debug, Default)]
struct Exchange {
    /// Hashes of the messages of the last request.
    sent: Vec<u64>,
    turn: Turn,
    text: String,
    tool_calls: Vec<Value>,
}

impl Recorder {
    /// Returns a recorder that keeps nothing back.
    pub(crate) fn live() -> Self {
        Self {
            is_live: true,
            ..Self::default()
        }
    }

    /// Returns the recording.
    pub fn finish(mut self) -> Recording {
        self.close();
        let title = self.title().to_owned();
        Recording {
            title,
            records: self.records,
        }
    }

    /// Records so far.
    pub(crate) fn records(&self) -> &Records {
        &self.records
    }

    /// Returns whether the beginning of the run was recorded.
    pub(crate) fn has_begun(&self) -> bool {
        self.id.is_some()
    }

    /// Records a line as it is.
    pub(crate) fn line(&mut self, record: &Value) {
        self.records.line(record, false);
    }

    /// Records the last line of a run.
    pub(crate) fn end(&mut self, record: &Value, has_failed: bool) {
        self.records.is_finished = true;
        self.records.has_failed = has_failed;
        self.records.line(record, true);
    }

    /// Leaves later records out, but for the end of the run.
    pub(crate) fn fill(&mut self) {
        self.records.fill();
    }

    /// Returns the beginning of the message of the user, or else the id of the run.
    pub(crate) fn title(&self) -> &str {
        let title = self.title.as_deref().or(self.id.as_deref());
        title.unwrap_or("run")
    }

    fn close(&mut self) {
        if let Some(event) = self.open.take() {
            self.records.event(&event);
        }
    }

    /// Records an event of the run or of a subagent.
    pub(crate) fn record(&mut self, event: &Event) {
        if let EventKind::RunStart(info) = &event.kind
            && event.path.is_empty()
        {
            self.id = Some(info.id.to_string());
            self.is_single_call = info.single_call;
        }
        if self.is_single_call
            && let EventKind::GadgetCall { written, .. } = &event.kind
            && event.path.is_empty()
        {
            self.title
                .get_or_insert_with(|| written.gadget_name.clone());
        }
        if is_repeated_later(&event.kind) {
            return;
        }
        if let Some(open) = &mut self.open
            && open.path == event.path
            && append(&mut open.kind, &event.kind)
        {
            return;
        }
        self.close();
        let is_text = matches!(
            event.kind,
            EventKind::Text { .. } | EventKind::Reasoning { .. }
        );
        if is_text && !self.is_live {
            self.open = Some(event.clone());
        } else {
            self.records.event(event);
        }
    }

    /// Ends the reply of a run: `run` is the id of a subagent, or that of the run if it has one.
    pub(crate) fn end_reply(&mut self, run: Option<&str>) {
        let Some(exchange) = self.runs.get_mut(run.unwrap_or_default()) else {
            return;
        };
        let turn = exchange.turn;
        let text = mem::take(&mut exchange.text);
        let tool_calls = mem::take(&mut exchange.tool_calls);
        if !text.is_empty() || !tool_calls.is_empty() {
            self.close();
            self.records.content(&Content::Reply {
                run,
                turn,
                text: &text,
                tool_calls: &tool_calls,
            });
        }
    }

    /// Records what a model writes.
    pub(crate) fn reply(&mut self, run: Option<&str>, input: &Input) {
        let Input::Delta(delta) = input else { return };
        let Some(exchange) = self.exchange(run) else {
            return;
        };
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "the others do not belong to a reply"
        )]
        match delta {
            Delta::Text { delta, .. } if exchange.text.len() + delta.len() <= REPLY => {
                exchange.text.push_str(delta);
            }
            Delta::ToolCall { id, name, input } if exchange.tool_calls.len() < TOOL_CALLS => {
                exchange
                    .tool_calls
                    .push(json!({ "id": id, "name": name, "input": input }));
            }
            Delta::ToolCallEnd {
                id,
                input: Some(input),
            } if exchange.tool_calls.len() < TOOL_CALLS => {
                exchange
                    .tool_calls
                    .push(json!({ "id": id, "input": input }));
            }
            _ => {}
        }
    }

    /// Records the messages of a request that the one before it did not have.
    pub(crate) fn request_of(&mut self, run: Option<&str>, request: &Request) {
        if self.is_single_call && run == self.id.as_deref() {
            return;
        }
        self.title_of(request);
        let Some(exchange) = self.exchange(run) else {
            return;
        };
        // A failed reply is not recorded.
        exchange.text.clear();
        exchange.tool_calls.clear();
        let turn = Turn {
            iteration: request.iteration,
            purpose: request.purpose,
        };
        exchange.turn = turn;
        let hashes: Vec<u64> = request.all_messages().map(hash).collect();
        let before = mem::replace(&mut exchange.sent, hashes);
        let pairs = before.iter().zip(&exchange.sent);
        let kept = pairs.take_while(|(before, now)| before == now).count();
        let messages = request.all_messages().skip(kept).map(shown).collect();
        self.close();
        self.records.content(&Content::Request {
            run,
            turn,
            kept,
            messages,
        });
    }

    /// Takes the title from the last message of the user, unless it has one.
    pub(crate) fn title_of(&mut self, request: &Request) {
        if self.title.is_some() {
            return;
        }
        let last = request.messages.iter().rfind(|it| it.role == Role::User);
        let texts = last.iter().flat_map(|it| &it.content).filter_map(|part| {
            if let Part::Text { text } = part {
                Some(text.as_str())
            } else {
                None
            }
        });
        let text: String = texts.flat_map(str::chars).take(TITLE + 1).collect();
        let line = beginning(text.trim().lines().next().unwrap_or_default(), TITLE).trim();
        if !line.is_empty() {
            self.title = Some(line.to_owned());
        }
    }

    /// Changes the title.
    pub(crate) fn change_title(&mut self, change: impl FnOnce(&str) -> String) {
        self.title = self.title.as_deref().map(change);
    }

    fn exchange(&mut self, run: Option<&str>) -> Option<&mut Exchange> {
        let run = run.unwrap_or_default();
        if !self.runs.contains_key(run) {
            if self.runs.len() >= RUNS {
                return None;
            }
            self.runs.insert(run.to_owned(), Exchange::default());
        }
        self.runs.get_mut(run)
    }
}

impl Observer for Recorder {
    fn event(&mut self, event: &Event) {
        self.record(event);
        if event.path.is_empty() && matches!(event.kind, EventKind::ModelCallEnd { .. }) {
            let id = self.id.clone();
            self.end_reply(id.as_deref());
        }
    }

    fn input(&mut self, _: Time, input: &Input) {
        let id = self.id.take();
        self.reply(id.as_deref(), input);
        self.id = id;
    }

    fn request(&mut self, request: &Request) {
        let id = self.id.clone();
        self.request_of(id.as_deref(), request);
    }
}

/// Returns whether a later event has the content of this one.
fn is_repeated_later(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::GadgetArgsPartial { .. }
            | EventKind::CustomBlockStart(_)
            | EventKind::CustomBlockDelta(_)
            | EventKind::CustomBlockEnd(_)
            | EventKind::IterationEnd { .. }
    )
}

/// Appends text of the same kind. Returns `false` if it is not.
fn append(open: &mut EventKind, more: &EventKind) -> bool {
    let ((EventKind::Text { text }, EventKind::Text { text: more })
    | (EventKind::Reasoning { text }, EventKind::Reasoning { text: more })) = (open, more)
    else {
        return false;
    };
    text.push_str(more);
    true
}

/// The first `most` characters of a text. A word that would be cut is left out: half a key has not the form of one.
fn beginning(text: &str, most: usize) -> &str {
    match text.char_indices().nth(most) {
        Some((end, _)) => text[..end].trim_end_matches(is_of_key),
        None => text,
    }
}

/// A message as it is shown: as the model wrote it, and without media.
pub(crate) fn shown(message: &Message) -> Value {
    if let Some(raw) = &message.raw {
        return json!({ "role": message.role, "raw": raw });
    }
    let mut value = serde_json::to_value(message).unwrap_or_default();
    without_media(&mut value);
    value
}

/// The hash of a message, of all its parts.
fn hash(message: &Message) -> u64 {
    struct Hash(DefaultHasher);
    impl Write for Hash {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.write(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut hash = Hash(DefaultHasher::new());
    // Neither a message nor a hash fails.
    let _ = serde_json::to_writer(&mut hash, message);
    hash.0.finish()
}
