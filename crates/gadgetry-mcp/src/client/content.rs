//! Answers of a server, as results of gadgets.
//!
//! Answers are read as JSON and not as the types of the protocol, so that one part that is unknown or malformed does not
//! cost the rest.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gadgetry::proto::json::read_value;
use gadgetry::{Media, MediaData, MediaKind, Outcome};
use serde_json::Value;

/// The outcome of a call of `tool`.
pub(super) fn outcome(server: &str, tool: &str, result: &Value) -> Outcome {
    let mut parts = Parts::default();
    for block in result
        .get("content")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        parts.block(block);
    }
    if let Some(structured) = result.get("structuredContent").filter(|it| !it.is_null()) {
        parts.structured(structured);
    }
    let failed = result.get("isError") == Some(&Value::Bool(true));
    let text = parts.texts.join("\n");
    let base = if failed && text.trim().is_empty() {
        Outcome::error(format!(
            "the tool {tool:?} of the MCP server {server:?} failed without a message"
        ))
    } else if failed {
        Outcome::error(text)
    } else {
        Outcome::ok(text)
    };
    Outcome {
        media: parts.media,
        ..base
    }
}

/// The outcome of reading a resource.
pub(super) fn resource(result: &Value) -> Outcome {
    let mut parts = Parts::default();
    for contents in result
        .get("contents")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        parts.contents(contents);
    }
    Outcome {
        media: parts.media,
        ..Outcome::ok(parts.texts.join("\n"))
    }
}

#[derive(Default)]
struct Parts {
    texts: Vec<String>,
    media: Vec<Media>,
}

impl Parts {
    fn block(&mut self, block: &Value) {
        let text = |key: &str| block.get(key).and_then(Value::as_str);
        match text("type") {
            Some("text") => self.texts.push(text("text").unwrap_or_default().to_owned()),
            Some("image") => {
                self.bytes(text("data"), text("mimeType"), Some(MediaKind::Image), None);
            }
            Some("audio") => {
                self.bytes(text("data"), text("mimeType"), Some(MediaKind::Audio), None);
            }
            Some("resource") if block.get("resource").is_some() => {
                self.contents(&block["resource"]);
            }
            Some("resource_link") => self.texts.push(link(block)),
            _ => self.texts.push(block.to_string()),
        }
    }

    /// The contents of a resource: a text, or bytes.
    fn contents(&mut self, contents: &Value) {
        let text = |key: &str| contents.get(key).and_then(Value::as_str);
        match (text("text"), text("blob")) {
            (Some(text), _) => self.texts.push(text.to_owned()),
            (None, Some(blob)) => {
                let name = text("uri").map(|uri| uri.rsplit('/').next().unwrap_or(uri));
                self.bytes(Some(blob), text("mimeType"), None, name);
            }
            (None, None) => self.texts.push(contents.to_string()),
        }
    }

    /// Adds bytes as a medium; what is not valid Base64 would make the model's provider refuse the whole conversation.
    fn bytes(
        &mut self,
        data: Option<&str>,
        mime_type: Option<&str>,
        kind: Option<MediaKind>,
        name: Option<&str>,
    ) {
        let mime_type = mime_type.unwrap_or(match kind {
            Some(MediaKind::Image) => "image/png",
            Some(MediaKind::Audio) => "audio/wav",
            Some(_) | None => "application/octet-stream",
        });
        let kind = kind.unwrap_or(match mime_type.split('/').next() {
            Some("image") => MediaKind::Image,
            Some("audio") => MediaKind::Audio,
            Some(_) | None => MediaKind::File,
        });
        let data = data.unwrap_or_default();
        if data.is_empty() || STANDARD.decode(data).is_err() {
            let note = format!("[{mime_type}: the server sent no valid Base64]");
            self.texts.push(note);
            return;
        }
        self.media.push(Media {
            kind,
            mime_type: mime_type.to_owned(),
            data: MediaData::Base64(data.to_owned()),
            name: name.map(str::to_owned),
        });
    }

    /// Adds structured content, unless a text is the same JSON, or the value of its only field: servers of the SDKs repeat
    /// a text as `{"result": …}`.
    fn structured(&mut self, structured: &Value) {
        let only = structured.as_object().filter(|fields| fields.len() == 1);
        let only = only.and_then(|fields| fields.values().next());
        let is_same = |text: &String| {
            let read = read_value(text).ok();
            let is = |value: &Value| read.as_ref() == Some(value);
            is(structured)
                || only.is_some_and(|value| is(value) || value.as_str() == Some(text.as_str()))
        };
        if !self.texts.iter().any(is_same) {
            self.texts.push(structured.to_string());
        }
    }
}

/// A line about a resource that the server has, but did not send.
pub(super) fn link(resource: &Value) -> String {
    let text = |key: &str| resource.get(key).and_then(Value::as_str);
    let mut line = text("uri").unwrap_or("(no URI)").to_owned();
    for part in [
        text("title").or(text("name")),
        text("mimeType"),
        text("description"),
    ] {
        if let Some(part) = part.filter(|part| !part.is_empty()) {
            line.push_str(" | ");
            line.push_str(&part.replace('\n', " "));
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::outcome;
    use gadgetry::MediaKind;
    use serde_json::{Value, json};

    #[test]
    fn texts() {
        let check = |result: Value, expected: Result<&str, &str>| {
            let found = outcome("s", "t", &result).result;
            assert_eq!(
                found.as_deref().map_err(String::as_str),
                expected,
                "{result}"
            );
        };
        let text = |text: &str| json!({ "type": "text", "text": text });
        check(json!({ "content": [text("a"), text("b")] }), Ok("a\nb"));
        check(json!({}), Ok(""));
        check(
            json!({ "content": [], "structuredContent": { "a": 1 } }),
            Ok(r#"{"a":1}"#),
        );
        check(
            json!({ "content": [text("{ \"a\": 1 }")], "structuredContent": { "a": 1 } }),
            Ok("{ \"a\": 1 }"),
        );
        check(
            json!({ "content": [text("one")], "structuredContent": { "a": 1 } }),
            Ok("one\n{\"a\":1}"),
        );
        check(
            json!({ "content": [text("one")], "structuredContent": { "result": "one" } }),
            Ok("one"),
        );
        check(
            json!({ "content": [text("5")], "structuredContent": { "result": 5 } }),
            Ok("5"),
        );
        check(
            json!({ "content": [text("no")], "isError": true }),
            Err("no"),
        );
        check(
            json!({ "content": [], "isError": true }),
            Err("the tool \"t\" of the MCP server \"s\" failed without a message"),
        );
        check(
            json!({ "content": [{ "type": "hologram", "x": 1 }] }),
            Ok(r#"{"type":"hologram","x":1}"#),
        );
        check(
            json!({ "content": [{ "type": "resource", "resource": { "uri": "a:b", "text": "T" } }] }),
            Ok("T"),
        );
        check(
            json!({ "content": [{ "type": "resource_link", "uri": "a:b", "name": "B", "mimeType": "text/plain" }] }),
            Ok("a:b | B | text/plain"),
        );
        check(
            json!({ "content": [{ "type": "image", "data": "no base64!", "mimeType": "image/png" }] }),
            Ok("[image/png: the server sent no valid Base64]"),
        );
    }

    #[test]
    fn media() {
        let check = |block: Value, kind: MediaKind, name: Option<&str>| {
            let outcome = outcome("s", "t", &json!({ "content": [block] }));
            assert_eq!(outcome.result.as_deref(), Ok(""));
            assert_eq!(outcome.media.len(), 1);
            assert_eq!(outcome.media[0].kind, kind);
            assert_eq!(outcome.media[0].name.as_deref(), name);
        };
        let image = json!({ "type": "image", "data": "aGk=", "mimeType": "image/png" });
        check(image, MediaKind::Image, None);
        let audio = json!({ "type": "audio", "data": "aGk=", "mimeType": "audio/wav" });
        check(audio, MediaKind::Audio, None);
        let blob = |mime: &str| {
            let resource = json!({ "uri": "file:///a/b.bin", "blob": "aGk=", "mimeType": mime });
            json!({ "type": "resource", "resource": resource })
        };
        check(blob("image/jpeg"), MediaKind::Image, Some("b.bin"));
        check(blob("application/zip"), MediaKind::File, Some("b.bin"));
    }
}
