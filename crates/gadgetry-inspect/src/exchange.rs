//! Requests to a gateway as runs.

use std::collections::HashMap;
use std::fmt;
use std::mem;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use gadgetry::proto::delta::Delta;
use gadgetry::proto::error::ModelError;
use gadgetry::proto::message::Request;
use gadgetry::proto::usage::Usage;
use serde_json::{Value, json};

use crate::inspector::{Inspector, LiveRun, Source};
use crate::recorder::shown;

/// Maximum bytes of a reply: as the model wrote it, and as the client received it.
const REPLY: usize = 8 << 20;

/// Maximum number of calls of a request.
const CALLS: usize = 1_000;

/// In place of the result of a call, which the client has.
const SENT: &str = "sent to the client";

/// A request to a gateway, as a run in the list: [`Inspector::exchange`] begins it. Each request to a model is a reply of the run, and
/// each call that the client receives is a call. Keys are removed from all texts before they are kept.
///
/// ```
/// use gadgetry::proto::delta::Delta;
/// use gadgetry_inspect::Inspector;
///
/// let inspector = Inspector::new();
/// let mut exchange = inspector.exchange("req_1", "chat", "qwen3:4b");
/// exchange.delivered(&Delta::text("4"));
/// exchange.end(None);
/// ```
pub struct LiveExchange {
    inspector: Inspector,
    run: Arc<Source>,
    id: String,
    began: Instant,
    replies: u32,
    /// The current reply has not ended.
    is_open: bool,
    raw: String,
    raw_calls: Vec<Value>,
    usage: Usage,
    text: String,
    reasoning: String,
    /// Names and inputs of calls that are not complete, by id.
    open: HashMap<String, (String, String)>,
    calls: usize,
    error: Option<ModelError>,
}

impl Inspector {
    /// Begins a request to a gateway: its id, the API of the client, and the model that it names.
    pub fn exchange(&self, id: &str, api: &str, model: &str) -> LiveExchange {
        let run = self.insert(Source::Live(Box::new(LiveRun::new(id.into()))));
        let exchange = LiveExchange {
            inspector: self.clone(),
            run,
            id: id.to_owned(),
            began: Instant::now(),
            replies: 0,
            is_open: false,
            raw: String::new(),
            raw_calls: Vec::new(),
            usage: Usage::default(),
            text: String::new(),
            reasoning: String::new(),
            open: HashMap::new(),
            calls: 0,
            error: None,
        };
        let start = SystemTime::now().duration_since(UNIX_EPOCH);
        let start = start.unwrap_or_default().as_millis();
        let info = json!({ "type": "run_start", "id": id, "agent": api, "model": model, "startMs": start });
        exchange.add(info);
        exchange
    }
}

impl LiveExchange {
    /// A request is sent to a model: the first one, or one for corrections.
    pub fn sent(&mut self, request: &Request) {
        self.end_reply(None);
        self.replies += 1;
        self.is_open = true;
        self.change(|recorder| {
            recorder.title_of(request);
            recorder.change_title(|title| self.inspector.0.redaction.text(title));
        });
        self.add(json!({ "type": "model_call_start", "iteration": self.replies }));
        let messages: Vec<Value> = request.all_messages().map(shown).collect();
        self.add(json!({
            "type": "inspect_request", "iteration": self.replies, "purpose": "reply", "kept": 0, "messages": messages,
        }));
    }

    /// A model writes a part of its reply.
    pub fn received(&mut self, delta: &Delta) {
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "the others have nothing that a model wrote"
        )]
        match delta {
            Delta::Text { delta, .. } => append(&mut self.raw, delta),
            Delta::ToolCall { id, name, input } if self.raw_calls.len() < CALLS => {
                let call = json!({ "id": id, "name": name, "input": input });
                self.raw_calls.push(call);
            }
            Delta::Usage { usage } => self.usage = *usage,
            Delta::MessageEnd { stop_reason, usage } => {
                self.usage = usage.unwrap_or(self.usage);
                let reason = serde_json::to_value(stop_reason).unwrap_or_default();
                self.end_reply(Some(&reason));
            }
            _ => {}
        }
    }

    /// The client receives a part of the answer.
    pub fn delivered(&mut self, delta: &Delta) {
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "the others have nothing that is shown"
        )]
        match delta {
            Delta::Text { delta, .. } => append(&mut self.text, delta),
            Delta::Reasoning { delta, .. } => append(&mut self.reasoning, delta),
            Delta::ToolCallStart { id, name } if self.open.len() < CALLS => {
                self.open.insert(id.clone(), (name.clone(), String::new()));
            }
            Delta::ToolCallDelta { id, delta } => {
                if let Some((_, input)) = self.open.get_mut(id) {
                    append(input, delta);
                }
            }
            Delta::ToolCallEnd { id, input } => {
                if let Some((name, text)) = self.open.remove(id) {
                    let written = || serde_json::from_str(&text).unwrap_or(Value::String(text));
                    let input = input.clone().unwrap_or_else(written);
                    self.call(id, &name, &input);
                }
            }
            Delta::ToolCall { id, name, input } => self.call(id, name, input),
            Delta::Error(error) => self.error = Some(error.clone()),
            _ => {}
        }
    }

    /// Ends it: with a problem, unless the client has the whole answer.
    pub fn end(mut self, problem: Option<&str>) {
        let message = self.error.as_ref().map(|it| it.message.clone());
        let problem = message.or_else(|| problem.map(str::to_owned));
        if self.is_open {
            self.error.get_or_insert_with(|| {
                let kind = gadgetry::proto::error::ModelErrorKind::Other;
                ModelError::new(kind, problem.as_deref().unwrap_or("no end of the reply"))
            });
        }
        self.end_reply(None);
        self.flush();
        let mut end = json!({
            "type": "run_finished", "reason": if problem.is_some() { "modelError" } else { "completed" }, "iterations": self.replies,
            "totalCost": null, "answer": "",
        });
        if let Some(problem) = &problem {
            end["error"] = problem.as_str().into();
            end["kind"] = "other".into();
        }
        let line = self.line(end);
        self.change(|recorder| recorder.end(&line, problem.is_some()));
    }

    /// Ends the reply of a model. Without a reason, it was cut off.
    fn end_reply(&mut self, reason: Option<&Value>) {
        if !mem::take(&mut self.is_open) {
            return;
        }
        let raw = mem::take(&mut self.raw);
        let calls = mem::take(&mut self.raw_calls);
        self.add(json!({
            "type": "inspect_reply", "iteration": self.replies, "purpose": "reply", "text": raw, "tool_calls": calls,
        }));
        let mut end = json!({
            "type": "model_call_end", "iteration": self.replies, "stopReason": reason, "usage": mem::take(&mut self.usage), "cost": null,
        });
        if reason.is_none() {
            let error = self.error.as_ref().map(|it| it.message.as_str());
            end["error"] = error.unwrap_or("it was cut off").into();
            end["stopReason"] = "error".into();
            end["kind"] = "other".into();
        }
        self.add(end);
    }

    /// Records a call of the answer.
    fn call(&mut self, id: &str, name: &str, input: &Value) {
        self.flush();
        if self.calls >= CALLS {
            return;
        }
        let call = self.calls;
        self.calls += 1;
        self.add(json!({
            "type": "gadget_start", "call": call, "invocationId": id, "gadgetName": name, "parameters": input,
        }));
        self.add(json!({
            "type": "gadget_result", "call": call, "invocationId": id, "gadgetName": name, "result": SENT, "durationMs": 0,
        }));
    }

    /// Records the text of the answer so far.
    fn flush(&mut self) {
        for (kind, text) in [
            ("reasoning", mem::take(&mut self.reasoning)),
            ("text", mem::take(&mut self.text)),
        ] {
            if !text.is_empty() {
                self.add(json!({ "type": kind, "text": text }));
            }
        }
    }

    fn add(&self, record: Value) {
        let record = self.line(record);
        self.change(|recorder| recorder.line(&record));
    }

    /// The record with what all have, and without keys.
    fn line(&self, mut record: Value) -> Value {
        self.inspector.0.redaction.clean(&mut record);
        let time = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        record["v"] = 1.into();
        record["seq"] = 0.into();
        record["timeMs"] = time.into();
        record["run"] = self.id.as_str().into();
        record
    }

    fn change(&self, change: impl FnOnce(&mut crate::recorder::Recorder)) {
        if let Source::Live(live) = &*self.run {
            self.inspector.change(live, change);
        }
    }
}

impl fmt::Debug for LiveExchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveExchange")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// Appends as much as has room.
fn append(text: &mut String, more: &str) {
    let room = REPLY - text.len();
    text.push_str(&more[..more.floor_char_boundary(room)]);
}

#[cfg(test)]
mod tests {
    use gadgetry::Event;
    use gadgetry::proto::message::{Message, Role};

    use super::*;

    fn delta(text: &str) -> Delta {
        serde_json::from_str(text).expect("a delta")
    }

    /// The types of the records, and all of their text.
    fn records(inspector: &Inspector) -> (Vec<String>, String) {
        let (_, run) = inspector.list().remove(0);
        let Source::Live(live) = &*run else {
            panic!("it is live")
        };
        let recording = live.recording();
        let lines = recording.records.lines();
        let types = lines.iter().map(|line| {
            let value: Value = serde_json::from_str(line).expect("JSON");
            let kind = value["type"].as_str().unwrap_or_default().to_owned();
            if !kind.starts_with("inspect_") {
                let event: Event = serde_json::from_str(line).expect("an event");
                assert_eq!(event.run.as_deref(), Some("req_1"));
            }
            kind
        });
        (types.collect(), lines.join("\n"))
    }

    /// The title of the latest run.
    fn title(inspector: &Inspector) -> String {
        let (_, run) = inspector.list().remove(0);
        let Source::Live(live) = &*run else {
            panic!("it is live")
        };
        live.recorder().title().to_owned()
    }

    /// A title is the beginning of a message, which must not be that of a key.
    #[test]
    fn titles_have_no_part_of_a_key() {
        let check = |message: String, expected: &str| {
            let inspector = Inspector::new();
            let mut exchange = inspector.exchange("req_1", "chat", "m");
            let mut request = Request::default();
            request.messages = Arc::new(vec![Message::text(Role::User, message)]);
            exchange.sent(&request);
            assert_eq!(title(&inspector), expected);
        };
        let key = "sk-0123456789abcdefghijklmnop";
        check(format!("Use {key}, please"), "Use ***, please");
        let words = "word ".repeat(21);
        check(format!("{words}{key} and more"), words.trim_end());
        let list = format!("[\"{}\",\"", "é".repeat(100));
        check(format!("{list}{key}\"]"), &list);
        check(format!("{} {key}", "x".repeat(117)), &"x".repeat(117));
        // Nothing is left of it.
        check("x".repeat(200), "run");
    }

    #[test]
    fn a_request_is_a_run() {
        let inspector = Inspector::new();
        let mut exchange = inspector.exchange("req_1", "chat", "m");
        let key = "sk-0123456789abcdefghijklmnop";
        let mut request = Request::default();
        request.messages = Arc::new(vec![Message::text(Role::User, format!("Use {key}"))]);
        exchange.sent(&request);
        // A key in pieces is one.
        let (left, right) = key.split_at(9);
        for part in [left, right] {
            exchange.received(&Delta::text(part));
            exchange.delivered(&Delta::text(part));
        }
        let end = r#"{"type":"message_end","stopReason":"end","usage":{"inputTokens":7,"outputTokens":3}}"#;
        exchange.received(&delta(end));
        exchange.delivered(&delta(
            r#"{"type":"tool_call","id":"a","name":"look","input":{"at":"here"}}"#,
        ));
        exchange.end(None);
        assert_eq!(title(&inspector), "Use ***");
        let (types, text) = records(&inspector);
        let expected = [
            "run_start",
            "model_call_start",
            "inspect_request",
            "inspect_reply",
            "model_call_end",
            "text",
            "gadget_start",
            "gadget_result",
            "run_finished",
        ];
        assert_eq!(types, expected);
        assert!(!text.contains(key) && text.contains("Use ***"), "{text}");
        assert!(text.contains(r#""inputTokens":7"#), "{text}");
    }

    #[test]
    fn what_has_no_end_has_failed() {
        let inspector = Inspector::new();
        let mut exchange = inspector.exchange("req_1", "chat", "m");
        exchange.sent(&Request::default());
        exchange.end(Some("the client has disconnected"));
        let (types, text) = records(&inspector);
        assert_eq!(types.last().map(String::as_str), Some("run_finished"));
        assert_eq!(
            text.matches("the client has disconnected").count(),
            2,
            "{text}"
        );
    }
}
