//! Records of a run as lines of JSON, within limits.

use std::sync::Arc;

use gadgetry::Event;
use gadgetry::proto::event::EventKind;
use gadgetry::proto::message::Purpose;
use serde::Serialize;
use serde_json::Value;

/// Maximum bytes of the records of a run.
const BYTES: usize = 256 << 20;

/// Maximum number of records of a run.
const RECORDS: usize = 500_000;

/// A line that is not an event.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub(crate) enum Content<'c> {
    /// A request. Its first `kept` messages are those of the request before it.
    #[serde(rename = "inspect_request")]
    Request {
        #[serde(skip_serializing_if = "Option::is_none")]
        run: Option<&'c str>,
        #[serde(flatten)]
        turn: Turn,
        kept: usize,
        messages: Vec<Value>,
    },
    /// A reply as the model wrote it.
    #[serde(rename = "inspect_reply")]
    Reply {
        #[serde(skip_serializing_if = "Option::is_none")]
        run: Option<&'c str>,
        #[serde(flatten)]
        turn: Turn,
        text: &'c str,
        #[serde(skip_serializing_if = "<[Value]>::is_empty")]
        tool_calls: &'c [Value],
    },
    /// Records are missing from here on.
    #[serde(rename = "inspect_limit")]
    Limit { message: &'c str },
}

/// The model call that a request or a reply is of, as in its events.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Turn {
    pub(crate) iteration: u32,
    pub(crate) purpose: Purpose,
}

/// The last line of an answer with all records.
pub(crate) const END: &str = "{\"type\":\"inspect_end\"}";

/// Records of a run. A clone shares them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Records {
    lines: Vec<Arc<str>>,
    bytes: usize,
    is_full: bool,
    /// The last event of the run is among them.
    pub(crate) is_finished: bool,
    /// It was a request that failed.
    pub(crate) has_failed: bool,
}

impl Records {
    /// All of them, each without a line break.
    pub(crate) fn lines(&self) -> &[Arc<str>] {
        &self.lines
    }

    /// Returns how the run has ended; `None` if it has not.
    pub(crate) fn end(&self) -> Option<&'static str> {
        if self.has_failed {
            Some("failed")
        } else {
            self.is_finished.then_some("finished")
        }
    }

    /// Bytes of all of them.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds an event, but for data of media. The last event of a run is added to full records, too.
    pub(crate) fn event(&mut self, event: &Event) {
        let is_last = event.path.is_empty() && matches!(event.kind, EventKind::RunFinished { .. });
        self.is_finished |= is_last;
        if let EventKind::GadgetResult { media, .. } = &event.kind
            && !media.is_empty()
            && let Ok(mut value) = serde_json::to_value(event)
        {
            without_media(&mut value);
            self.add(&value, is_last);
        } else {
            self.add(event, is_last);
        }
    }

    /// Adds a line that is not an event.
    pub(crate) fn content(&mut self, content: &Content<'_>) {
        self.add(content, false);
    }

    /// Adds a line that is JSON already.
    pub(crate) fn line(&mut self, record: &Value, is_last: bool) {
        self.add(record, is_last);
    }

    fn add(&mut self, record: &impl Serialize, is_last: bool) {
        if self.is_full && !is_last {
            return;
        }
        // What is serialised has text keys only, so this does not fail.
        let Ok(line) = serde_json::to_string(record) else {
            return;
        };
        let is_room = self.lines.len() < RECORDS && self.bytes + line.len() <= BYTES;
        if is_room || is_last {
            self.bytes += line.len();
            self.lines.push(line.into());
        } else {
            self.fill();
        }
    }

    /// Leaves later records out, but for the last event, and says so.
    pub(crate) fn fill(&mut self) {
        if !self.is_full {
            self.say("The run is too long to be shown: later records are missing.");
        }
    }

    /// Records that only say why there are no others.
    pub(crate) fn missing(message: &str) -> Self {
        let mut records = Self::default();
        records.say(message);
        records
    }

    fn say(&mut self, message: &str) {
        self.is_full = true;
        if let Ok(line) = serde_json::to_string(&Content::Limit { message }) {
            self.lines.push(line.into());
        }
    }
}

/// Replaces data of pictures, sounds and files by their sizes.
pub(crate) fn without_media(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(without_media),
        Value::Object(fields) => {
            if let Some(Value::Object(data)) = fields.get_mut("data")
                && let Some(Value::String(bytes)) = data.get("base64")
            {
                *data = [("bytes".to_owned(), (bytes.len() / 4 * 3).into())]
                    .into_iter()
                    .collect();
            }
            fields.values_mut().for_each(without_media);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_are_left_out() {
        let mut value = serde_json::json!({
            "media": [{ "kind": "image", "mimeType": "image/png", "data": { "base64": "AAAAAAAA" } }],
            "data": { "url": "https://example.com" },
        });
        without_media(&mut value);
        assert_eq!(value["media"][0]["data"]["bytes"], 6);
        assert_eq!(value["data"]["url"], "https://example.com");
    }

    #[test]
    fn full_records_have_the_last_event() {
        let mut records = Records {
            bytes: BYTES,
            ..Records::default()
        };
        let text = EventKind::Text {
            text: "a".to_owned(),
        };
        let event = |kind| Event::new(0, gadgetry::proto::time::Time(1), kind);
        records.event(&event(text.clone()));
        records.event(&event(text));
        let end = r#"{"v":1,"seq":2,"timeMs":9,"type":"run_finished","reason":"completed","iterations":1,"totalCost":null,"answer":""}"#;
        records.event(&serde_json::from_str(end).expect("an event"));
        let kinds = records
            .lines()
            .iter()
            .map(|line| line.contains("inspect_limit"));
        assert_eq!(kinds.collect::<Vec<_>>(), [true, false]);
        assert!(records.is_finished);
    }
}
