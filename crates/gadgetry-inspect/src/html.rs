//! Recordings and the page as one file.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::assets::{PAGE, SCRIPTS, STYLE};
use crate::recording::Recording;
use crate::redact::Redaction;

/// Bytes of a file, which is what mail and chats take. Texts are shortened until it has no more.
const BUDGET: usize = 960 << 10;

/// Lengths to which texts are shortened, in characters, from the first that is enough.
const LENGTHS: [usize; 6] = [usize::MAX, 32_000, 8_000, 2_000, 500, SHORTEST];

/// The shortest of them.
const SHORTEST: usize = 120;

/// Bytes of a run without its records, and of the record that says that others are left out.
const OVERHEAD: usize = 8_000;

/// Makes one HTML file of recordings. It opens without a server, loads nothing, and has no keys that `redaction` finds.
///
/// If it would be larger than a megabyte, long texts are shortened, and then later records are left out. The [crate](crate) has an example.
pub fn html(recordings: &[Recording], redaction: &Redaction) -> String {
    let mut runs: Vec<Run> = recordings
        .iter()
        .map(|recording| Run::of(recording, redaction))
        .collect();
    let frame = Frame::new();
    let room = BUDGET.saturating_sub(frame.before.len() + frame.after.len());
    for length in LENGTHS {
        if runs.iter().map(|run| run.size(length)).sum::<usize>() > room {
            continue;
        }
        let data = data(&runs, length);
        if data.len() <= room {
            return frame.with(&data);
        }
    }
    let share = room / runs.len().max(1);
    for run in &mut runs {
        run.leave_out(share);
    }
    frame.with(&data(&runs, SHORTEST))
}

struct Run {
    title: Value,
    state: &'static str,
    records: Vec<Value>,
}

impl Run {
    fn of(recording: &Recording, redaction: &Redaction) -> Self {
        let mut records = joined(recording.values());
        let redaction = redaction.learning(&records);
        for record in &mut records {
            redaction.clean(record);
        }
        let mut title = Value::from(recording.title());
        redaction.clean(&mut title);
        Self {
            title,
            state: recording.state(),
            records,
        }
    }

    /// Bytes that it has at least, with texts of at most `length` characters.
    fn size(&self, length: usize) -> usize {
        self.records.iter().map(|it| size(it, length)).sum()
    }

    /// Keeps the first records that have at most `room` bytes, and the last one.
    fn leave_out(&mut self, room: usize) {
        let mut left = room.saturating_sub(OVERHEAD);
        let fit = |record: &&Value| {
            let length = json(&shortened(record, SHORTEST)).len() + 1;
            let fits = length <= left;
            left = left.saturating_sub(length);
            fits
        };
        let kept = self.records.iter().take_while(fit).count();
        if kept + 1 < self.records.len() {
            let last = self.records.pop();
            let count = self.records.len() - kept;
            self.records.truncate(kept);
            let message = format!("The run is too long for a file: {count} records are left out.");
            self.records
                .push(serde_json::json!({ "type": "inspect_limit", "message": message }));
            self.records.extend(last);
        }
    }
}

/// Kinds of records that have the text of a reply.
const TEXTS: [&str; 2] = ["text", "reasoning"];

/// Records with the text of each reply in one of them: a key in pieces would not be found.
fn joined(values: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut records: Vec<Value> = Vec::new();
    // By the path of the agent and the kind of text.
    let mut open: HashMap<(String, &str), usize> = HashMap::new();
    for value in values {
        let path = value.get("path").map(Value::to_string).unwrap_or_default();
        let kind = value["type"].as_str().unwrap_or_default();
        if let Some(kind) = TEXTS.iter().find(|it| **it == kind) {
            let at = *open.entry((path, kind)).or_insert(records.len());
            let more = value["text"].as_str().unwrap_or_default();
            if let Some(Value::String(text)) = records.get_mut(at).and_then(|it| it.get_mut("text"))
            {
                text.push_str(more);
                continue;
            }
        } else if matches!(kind, "model_call_start" | "reply_withdrawn") {
            for kind in TEXTS {
                open.remove(&(path.clone(), kind));
            }
        }
        records.push(value);
    }
    records
}

/// Bytes of a value as JSON, at least.
fn size(value: &Value, length: usize) -> usize {
    match value {
        Value::String(text) => text.len().min(length),
        Value::Array(items) => items.iter().map(|it| size(it, length) + 1).sum(),
        Value::Object(fields) => {
            let fields = fields.iter();
            fields
                .map(|(name, it)| name.len() + 4 + size(it, length))
                .sum()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}

/// The runs as JSON that is safe in a script, with texts of at most `length` characters.
fn data(runs: &[Run], length: usize) -> String {
    let runs = runs.iter().map(|run| {
        let records: Vec<Value> = run.records.iter().map(|it| shortened(it, length)).collect();
        serde_json::json!({ "title": shortened(&run.title, length), "state": run.state, "records": records })
    });
    json(&serde_json::json!({ "runs": runs.collect::<Vec<_>>() }))
}

/// JSON that cannot end the element that it is in.
fn json(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c")
}

/// A value with texts of at most `length` characters.
fn shortened(value: &Value, length: usize) -> Value {
    match value {
        Value::String(text) => shorten(text, length).into(),
        Value::Array(items) => items.iter().map(|it| shortened(it, length)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|(name, it)| (shorten(name, length), shortened(it, length)));
            Value::Object(fields.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn shorten(text: &str, length: usize) -> String {
    let cut = text.char_indices().nth(length.min(text.len()));
    let Some((end, _)) = cut else {
        return text.to_owned();
    };
    let left = text[end..].chars().count();
    format!("{}… ({left} characters left out)", &text[..end])
}

/// The page without data: its beginning, and its end.
struct Frame {
    before: String,
    after: String,
}

impl Frame {
    fn new() -> Self {
        let script: String = SCRIPTS.iter().map(|asset| asset.text).collect();
        let policy = format!(
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; base-uri 'none'; form-action 'none'\">",
            hash(&script),
            hash(STYLE.text)
        );
        let style = format!("<style>{}</style>", STYLE.text);
        let page = PAGE
            .replace(
                "<meta charset=\"utf-8\">",
                &format!("<meta charset=\"utf-8\">\n{policy}"),
            )
            .replace("<link rel=\"stylesheet\" href=\"style.css\">", &style);
        let (before, after) = page.split_once("<script src=").unwrap_or((&page, ""));
        let (_, after) = after.rsplit_once("</script>").unwrap_or(("", after));
        Self {
            before: format!("{before}<script type=\"application/json\" id=\"data\">"),
            after: format!("</script>\n<script>{script}</script>{after}"),
        }
    }

    fn with(&self, data: &str) -> String {
        [&self.before, data, &self.after].concat()
    }
}

/// The hash of a script or style, as a source of a policy.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::Recorder;
    use gadgetry::Observer as _;
    use serde_json::json;

    fn check(text: &str, most: usize) -> String {
        let event = json!({ "v": 1, "seq": 0, "timeMs": 0, "type": "text", "text": text });
        check_events([event], most)
    }

    fn check_events(events: impl IntoIterator<Item = Value>, most: usize) -> String {
        let mut recorder = Recorder::default();
        for event in events {
            recorder.event(&serde_json::from_value(event).expect("an event"));
        }
        let page = html(&[recorder.finish()], &Redaction::default());
        assert!(page.len() <= most, "{} bytes", page.len());
        page
    }

    #[test]
    fn data_cannot_leave_its_element() {
        let page = check("</script><script>alert(1)</script><!--", 200 << 10);
        assert_eq!(page.matches("<script").count(), 2);
        assert!(page.contains("\\u003c/script>"));
        assert!(!page.contains("src="), "nothing is loaded");
    }

    #[test]
    fn keys_in_pieces_are_found() {
        let text =
            |text: &str| json!({ "v": 1, "seq": 0, "timeMs": 0, "type": "text", "text": text });
        let wait = json!({ "v": 1, "seq": 0, "timeMs": 0, "type": "rate_limited", "delayMs": 5 });
        let events = [
            text("use sk-test-012345"),
            wait,
            text("6789abcdef01"),
            text("23456789"),
        ];
        let page = check_events(events, BUDGET);
        assert!(page.contains("use ***"));
        assert!(!page.contains("6789abcdef01"));
    }

    /// The records of a file are what others have written.
    #[test]
    fn replies_of_many_agents_take_linear_time() {
        let event = |kind: &str, at: u64| {
            let path = json!([{ "call": at, "invocationId": "x", "agent": 0 }]);
            json!({ "v": 1, "seq": 0, "timeMs": 0, "path": path, "type": kind, "text": "a", "iteration": 1 })
        };
        let texts = (0..50_000).map(|at| event("text", at));
        // Quadratic, it would take many minutes.
        let starts = (0..50_000).map(|at| event("model_call_start", at + 50_000));
        assert_eq!(joined(texts.chain(starts)).len(), 100_000);
    }

    #[test]
    fn long_texts_are_shortened() {
        let page = check(&"é<".repeat(2 << 20), BUDGET);
        assert!(page.contains("characters left out"));
    }

    #[test]
    fn of_too_many_records_the_first_and_the_last_are_kept() {
        let wait =
            |at| json!({ "v": 1, "seq": at, "timeMs": at, "type": "rate_limited", "delayMs": 5 });
        let end = json!({ "v": 1, "seq": 20_000, "timeMs": 20_000, "type": "run_finished", "reason": "completed", "iterations": 1,
            "totalCost": null, "answer": "" });
        let page = check_events((0..20_000).map(wait).chain([end]), BUDGET);
        assert!(page.contains("records are left out") && page.contains("run_finished"));
        assert!(page.len() > BUDGET / 2, "{} bytes", page.len());
    }
}
