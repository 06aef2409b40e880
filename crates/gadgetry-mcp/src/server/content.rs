//! The result of a gadget as the result of a tool.

use gadgetry::agent::SingleCall;
use gadgetry::proto::event::CallAnswer;
use gadgetry::{Media, MediaData, MediaKind};
use rmcp::model::{CallToolResult, ContentBlock, Resource, ResourceContents};

/// The result of a call that has ended; `fault` says why if it has none.
pub(super) fn result(call: SingleCall, fault: Option<String>, limit: usize) -> CallToolResult {
    let (text, failed) = match call.answer {
        Some(CallAnswer::Result(text)) => (text, false),
        Some(CallAnswer::Error(text)) => (text, true),
        None => {
            let text = fault.unwrap_or_else(|| "the gadget was not executed".to_owned());
            (text, true)
        }
    };
    let mut blocks = Vec::new();
    if !text.is_empty() || call.media.is_empty() {
        blocks.push(ContentBlock::text(shortened(text, limit)));
    }
    blocks.extend(call.media.into_iter().map(medium));
    if failed {
        CallToolResult::error(blocks)
    } else {
        CallToolResult::success(blocks)
    }
}

/// The first `limit` bytes of a text, with a note about the rest.
fn shortened(mut text: String, limit: usize) -> String {
    if text.len() <= limit {
        return text;
    }
    let total = text.len();
    let end = text.floor_char_boundary(limit);
    text.truncate(end);
    format!(
        "{text}\n[The result has {total} bytes. Only the first {end} are here; call again for less.]"
    )
}

fn medium(medium: Media) -> ContentBlock {
    let Media {
        kind,
        mime_type,
        data,
        name,
    } = medium;
    let name = name.unwrap_or_else(|| "result".to_owned());
    match (kind, data) {
        (MediaKind::Image, MediaData::Base64(data)) => ContentBlock::image(data, mime_type),
        (MediaKind::Audio, MediaData::Base64(data)) => ContentBlock::audio(data, mime_type),
        (_, MediaData::Base64(data)) => {
            let uri = format!("gadget://result/{}", name.replace(char::is_whitespace, "_"));
            ContentBlock::resource(ResourceContents::blob(data, uri).with_mime_type(mime_type))
        }
        (_, MediaData::Url(url)) => {
            ContentBlock::resource_link(Resource::new(url, name).with_mime_type(mime_type))
        }
    }
}

#[cfg(test)]
mod tests {
    use gadgetry::agent::SingleCall;
    use gadgetry::proto::event::CallAnswer;
    use gadgetry::{Media, MediaData, MediaKind};
    use serde_json::{Value, json};

    use super::result;

    #[test]
    fn results() {
        let check = |answer: Option<CallAnswer>, media: Vec<Media>, expected: Value| {
            let call = SingleCall {
                answer,
                media,
                ..SingleCall::default()
            };
            let found = result(call, Some("cancelled".to_owned()), 10);
            let found = serde_json::to_value(found).unwrap();
            let found = json!([found["isError"], found["content"]]);
            assert_eq!(found, expected);
        };
        let ok = |text: &str| Some(CallAnswer::Result(text.to_owned()));
        let text = |text: &str| json!({ "type": "text", "text": text });
        check(ok("4"), vec![], json!([false, [text("4")]]));
        check(ok(""), vec![], json!([false, [text("")]]));
        check(None, vec![], json!([true, [text("cancelled")]]));
        check(
            Some(CallAnswer::Error("no".to_owned())),
            vec![],
            json!([true, [text("no")]]),
        );
        let long = "123456789ä, and more";
        let note =
            "123456789\n[The result has 21 bytes. Only the first 9 are here; call again for less.]";
        check(ok(long), vec![], json!([false, [text(note)]]));
        let medium = |kind, mime: &str, data| Media {
            kind,
            mime_type: mime.to_owned(),
            data,
            name: Some("a b".to_owned()),
        };
        let bytes = || MediaData::Base64("aGk=".to_owned());
        let url = MediaData::Url("https://example.com/x".to_owned());
        check(
            ok(""),
            vec![
                medium(MediaKind::Image, "image/png", bytes()),
                medium(MediaKind::Audio, "audio/wav", bytes()),
                medium(MediaKind::File, "application/pdf", bytes()),
                medium(MediaKind::Image, "image/png", url),
            ],
            json!([false, [
                { "type": "image", "data": "aGk=", "mimeType": "image/png" },
                { "type": "audio", "data": "aGk=", "mimeType": "audio/wav" },
                { "type": "resource", "resource": { "uri": "gadget://result/a_b", "mimeType": "application/pdf", "blob": "aGk=" } },
                { "type": "resource_link", "uri": "https://example.com/x", "name": "a b", "mimeType": "image/png" },
            ]]),
        );
    }
}
