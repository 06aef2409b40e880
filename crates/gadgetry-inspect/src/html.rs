//! Recordings and the page as one file.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::assets::{PAGE, SCRIPTS, STYLE};
use crate::recording::Recording;
use crate::redact::{Redaction, each_string};

/// Bytes of a file, which is what mail and chats take. Texts are shortened until it has no more.
const BUDGET: usize = 960 << 10;

/// Lengths to which texts are shortened, in characters, from the first that is enough.
const LENGTHS: [usize; 6] = [usize::MAX, 32_000, 8_000, 2_000, 500, 120];

/// Makes one HTML file of recordings. It opens without a server, loads nothing, and has no keys that `redaction` finds.
///
/// If it would be larger than a megabyte, long texts are shortened. The [crate](crate) has an example.
pub fn html(recordings: &[Recording], redaction: &Redaction) -> String {
    let runs: Vec<Value> = recordings
        .iter()
        .map(|recording| run(recording, redaction))
        .collect();
    let frame = Frame::new();
    let mut page = String::new();
    for length in LENGTHS {
        page = frame.with(&data(&runs, length));
        if page.len() <= BUDGET {
            break;
        }
    }
    page
}

fn run(recording: &Recording, redaction: &Redaction) -> Value {
    let lines = recording.records.lines().iter();
    let records = lines.filter_map(|line| {
        let mut value: Value = serde_json::from_str(line).ok()?;
        redaction.clean(&mut value);
        Some(value)
    });
    let mut title = Value::from(recording.title());
    redaction.clean(&mut title);
    serde_json::json!({ "title": title, "state": recording.state(), "records": records.collect::<Vec<_>>() })
}

/// The runs as JSON that is safe in a script, with texts of at most `length` characters.
fn data(runs: &[Value], length: usize) -> String {
    let mut value = serde_json::json!({ "runs": runs });
    if length < usize::MAX {
        each_string(&mut value, &|text| shorten(text, length));
    }
    value.to_string().replace('<', "\\u003c")
}

fn shorten(text: &mut String, length: usize) {
    if text.len() <= length {
        return;
    }
    let left = text.chars().count().saturating_sub(length);
    if left > 0 {
        *text = text.chars().take(length).collect();
        // Writing to a string cannot fail.
        let _ = write!(text, "… ({left} characters left out)");
    }
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

    fn check(text: &str, most: usize) -> String {
        let mut recorder = Recorder::default();
        let event =
            serde_json::json!({ "v": 1, "seq": 0, "timeMs": 0, "type": "text", "text": text });
        recorder.event(&serde_json::from_value(event).expect("an event"));
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
    fn long_texts_are_shortened() {
        let page = check(&"é<".repeat(2 << 20), BUDGET);
        assert!(page.contains("characters left out"));
    }
}
