//! A prompt of the client as content of a message.

use std::mem;
use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1::{
    BlobResourceContents, ContentBlock, EmbeddedResourceResource, ResourceLink,
};
use gadgetry::proto::message::Content;
use gadgetry::{Media, MediaData, MediaKind};
use percent_encoding::percent_decode_str;

/// Message of the user to the agent of a session.
///
/// ```
/// use gadgetry_acp::Prompt;
/// assert_eq!(Prompt::text("Say hi").command(), None);
/// assert_eq!(Prompt::text("/review src").command(), Some(("review", "src")));
/// assert_eq!(Prompt::text("Say hi").with_first_text("Say hi to Ada").words(), "Say hi");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    content: Vec<Content>,
    words: String,
}

impl Prompt {
    /// A message that is one text.
    pub fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            words: text.clone(),
            content: vec![Content::Text { text }],
        }
    }

    /// The message of these blocks. Files in `folder` are named relative to it.
    pub(crate) fn of(blocks: Vec<ContentBlock>, folder: &Path) -> Self {
        let words = words(&blocks, folder);
        let mut content = Vec::new();
        let mut is_after_link = false;
        for block in blocks {
            let is_link = matches!(block, ContentBlock::ResourceLink(_));
            let next = of_block(block, folder);
            // What was typed around a file is one text.
            if let (Some(Content::Text { text: before }), Content::Text { text }) =
                (content.last_mut(), &next)
            {
                append(before, is_after_link, text, is_link);
            } else {
                content.push(next);
            }
            is_after_link = is_link;
        }
        Self { content, words }
    }

    /// Returns the content of the message.
    pub fn content(&self) -> &[Content] {
        &self.content
    }

    /// Returns the words of the user alone: what was typed, with the names of the files that are mentioned in it. They stay when the
    /// message gets other texts.
    pub fn words(&self) -> &str {
        &self.words
    }

    /// Returns the content of the message, without a copy.
    pub fn into_content(self) -> Vec<Content> {
        self.content
    }

    /// Returns the name and the arguments of a slash command, if the message begins with one.
    pub fn command(&self) -> Option<(&str, &str)> {
        let Some(Content::Text { text }) = self.content.first() else {
            return None;
        };
        let (name, rest) = text
            .strip_prefix('/')?
            .split_once(char::is_whitespace)
            .unwrap_or((&text[1..], ""));
        (!name.is_empty() && !name.contains('/')).then(|| (name, rest.trim()))
    }

    /// The same message with another first text.
    #[must_use]
    pub fn with_first_text(mut self, text: impl Into<String>) -> Self {
        let text = Content::Text { text: text.into() };
        match self.content.first_mut() {
            Some(first @ Content::Text { .. }) => *first = text,
            _ => self.content.insert(0, text),
        }
        self
    }

    /// The same message with a text added at its end.
    #[must_use]
    pub fn and_text(mut self, text: impl Into<String>) -> Self {
        self.content.push(Content::Text { text: text.into() });
        self
    }

    /// Returns the texts of the message, joined.
    pub fn texts(&self) -> String {
        let mut texts = String::new();
        for content in &self.content {
            if let Content::Text { text } = content {
                texts.push_str(text);
            }
        }
        texts
    }
}

/// The words of the user. A file that is embedded is named with text on both sides of it, or if there is nothing else: others
/// are context that the client attaches.
fn words(blocks: &[ContentBlock], folder: &Path) -> String {
    let mut words = String::new();
    let mut files: Vec<String> = Vec::new();
    let mut is_after_name = false;
    for block in blocks {
        let (next, is_name) = match block {
            ContentBlock::Text(it) => (it.text.clone(), false),
            ContentBlock::ResourceLink(link) => (named(link, folder), true),
            ContentBlock::Resource(it) => {
                files.extend(uri(&it.resource).map(|uri| shown(uri, folder)));
                continue;
            }
            ContentBlock::Image(_) | ContentBlock::Audio(_) | _ => continue,
        };
        if !next.trim().is_empty() {
            let files = mem::take(&mut files);
            if !words.is_empty() {
                for file in files {
                    append(&mut words, is_after_name, &file, true);
                    is_after_name = true;
                }
            }
        }
        append(&mut words, is_after_name, &next, is_name);
        is_after_name = is_name;
    }
    if words.is_empty() {
        words = files.join(" ");
    }
    words
}

/// The address of a file that is embedded.
fn uri(resource: &EmbeddedResourceResource) -> Option<&str> {
    match resource {
        EmbeddedResourceResource::TextResourceContents(it) => Some(&it.uri),
        EmbeddedResourceResource::BlobResourceContents(it) => Some(&it.uri),
        _ => None,
    }
}

/// Appends a text. A name stays a word of its own.
fn append(text: &mut String, is_after_name: bool, next: &str, is_name: bool) {
    const OPENING: [char; 7] = ['(', '[', '{', '"', '\'', '`', '@'];
    let is_open = |it: char| it.is_whitespace() || OPENING.contains(&it);
    let is_glued = if is_name {
        !text.is_empty() && !text.ends_with(is_open)
    } else {
        is_after_name && next.starts_with(char::is_alphanumeric)
    };
    if is_glued {
        text.push(' ');
    }
    text.push_str(next);
}

fn of_block(block: ContentBlock, folder: &Path) -> Content {
    let text = |text: String| Content::Text { text };
    match block {
        ContentBlock::Text(it) => text(it.text),
        ContentBlock::Image(it) => Content::Media(Media {
            kind: MediaKind::Image,
            mime_type: it.mime_type,
            data: MediaData::Base64(it.data),
            name: it.uri,
        }),
        ContentBlock::Audio(it) => Content::Media(Media {
            kind: MediaKind::Audio,
            mime_type: it.mime_type,
            data: MediaData::Base64(it.data),
            name: None,
        }),
        ContentBlock::ResourceLink(link) => text(named(&link, folder)),
        ContentBlock::Resource(it) => match it.resource {
            EmbeddedResourceResource::TextResourceContents(it) => {
                let name = shown(&it.uri, folder).replace(['"', '\n'], "?");
                let end = if it.text.ends_with('\n') { "" } else { "\n" };
                text(format!(
                    "\n<file path=\"{name}\">\n{}{end}</file>\n",
                    it.text
                ))
            }
            EmbeddedResourceResource::BlobResourceContents(it) => of_blob(it, folder),
            _ => text("[a resource of a kind that is not supported]".to_owned()),
        },
        _ => text("[content of a kind that is not supported]".to_owned()),
    }
}

fn of_blob(blob: BlobResourceContents, folder: &Path) -> Content {
    let mime_type = blob.mime_type.unwrap_or_default();
    let name = shown(&blob.uri, folder);
    if mime_type.starts_with("image/") {
        return Content::Media(Media {
            kind: MediaKind::Image,
            mime_type,
            data: MediaData::Base64(blob.blob),
            name: Some(name),
        });
    }
    // The model has gadgets to read files, and could not read bytes.
    let text = format!("[file {name}, which is not text]");
    Content::Text { text }
}

fn named(link: &ResourceLink, folder: &Path) -> String {
    let shown = shown(&link.uri, folder);
    if shown == link.uri && link.name != link.uri {
        format!("[{}]({shown})", link.name)
    } else {
        shown
    }
}

/// The path of a file, relative to `folder` if it is in there; any other URI as it is.
fn shown(uri: &str, folder: &Path) -> String {
    let Some(path) = path_of(uri) else {
        return uri.to_owned();
    };
    let inside = path
        .strip_prefix(folder)
        .ok()
        .filter(|it| !it.as_os_str().is_empty());
    inside.unwrap_or(&path).display().to_string()
}

/// The path of a `file:` URI on this machine. Editors name lines of a file in its fragment, which stays.
fn path_of(uri: &str) -> Option<PathBuf> {
    let path = uri.strip_prefix("file://")?;
    let path = path.strip_prefix("localhost").unwrap_or(path);
    path.starts_with('/').then_some(())?;
    let path = percent_decode_str(path).decode_utf8().ok()?;
    Some(PathBuf::from(&*path))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "each row has its own")]
    fn check(blocks: Value, expected: Value) {
        let read = serde_json::from_value(blocks.clone()).expect("blocks");
        let prompt = Prompt::of(read, Path::new("/work"));
        let found = serde_json::to_value(prompt.content()).expect("JSON");
        assert_eq!(found, expected, "{blocks}");
    }

    fn text(text: &str) -> Value {
        json!([{ "type": "text", "text": text }])
    }

    #[test]
    fn blocks_are_content() {
        let link = |uri: &str| json!({ "type": "resource_link", "name": "lib", "uri": uri });
        let file = |uri: &str, of: &str| {
            let resource = json!({ "uri": uri, "text": of });
            json!({ "type": "resource", "resource": resource })
        };
        check(json!([]), json!([]));
        check(text("a"), text("a"));
        check(
            json!([{ "type": "text", "text": "Fix " }, link("file:///work/src/a%20b.rs"), { "type": "text", "text": "!" }]),
            text("Fix src/a b.rs!"),
        );
        let typed = |text: &str| json!({ "type": "text", "text": text });
        let a = || link("file:///work/a.rs");
        check(json!([typed("look"), a()]), text("look a.rs"));
        check(
            json!([typed("(see"), a(), a(), typed("and"), typed("more)")]),
            text("(see a.rs a.rs andmore)"),
        );
        check(json!([typed("`"), a(), typed("`")]), text("`a.rs`"));
        check(
            json!([typed("look"), link("file:///etc/a")]),
            text("look /etc/a"),
        );
        check(json!([link("file:///work/a.rs#L3-9")]), text("a.rs#L3-9"));
        check(json!([link("file:///etc/a%2")]), text("/etc/a%2"));
        check(json!([link("file:///work")]), text("/work"));
        check(json!([link("file://host/a")]), text("[lib](file://host/a)"));
        check(
            json!([link("https://example.com/a")]),
            text("[lib](https://example.com/a)"),
        );
        check(
            json!([file("file:///work/a.rs", "fn a() {}")]),
            text("\n<file path=\"a.rs\">\nfn a() {}\n</file>\n"),
        );
        check(
            json!([file("x\">\n", "")]),
            text("\n<file path=\"x?>?\">\n\n</file>\n"),
        );
        let image = json!({ "type": "image", "data": "aGk=", "mimeType": "image/png" });
        let media = json!({
            "type": "media", "kind": "image", "mimeType": "image/png", "data": { "base64": "aGk=" },
        });
        check(json!([image]), json!([media]));
        let blob = |kind: &str| json!([{ "type": "resource", "resource": { "uri": "file:///work/x", "mimeType": kind, "blob": "aGk=" } }]);
        check(blob("application/zip"), text("[file x, which is not text]"));
        let mut named = media;
        named["name"] = json!("x");
        check(blob("image/png"), json!([named]));
    }

    /// What a client attaches is not among the words of the user.
    #[test]
    fn words_are_those_of_the_user() {
        #[expect(clippy::needless_pass_by_value, reason = "each row has its own")]
        fn check(blocks: Value, expected: &str) {
            let read = serde_json::from_value(blocks.clone()).expect("blocks");
            let prompt = Prompt::of(read, Path::new("/work"));
            assert_eq!(prompt.words(), expected, "{blocks}");
            let other = prompt.with_first_text("Other").and_text("more");
            assert_eq!(other.words(), expected, "{blocks}");
        }
        let typed = |text: &str| json!({ "type": "text", "text": text });
        let link = json!({ "type": "resource_link", "name": "a", "uri": "file:///work/a.txt" });
        let resource = json!({ "uri": "file:///work/b.txt", "text": "EMBEDDED" });
        let file = json!({ "type": "resource", "resource": resource });
        let image = json!({ "type": "image", "data": "aGk=", "mimeType": "image/png" });
        check(json!([]), "");
        check(json!([typed("look"), link, file]), "look a.txt");
        check(
            json!([file, typed("look"), image, typed(" here")]),
            "look here",
        );
        check(
            json!([typed("Fix "), file, typed(" now.")]),
            "Fix b.txt now.",
        );
        check(json!([typed("Fix"), file, typed("now")]), "Fix b.txt now");
        check(json!([image, file, file]), "b.txt b.txt");
        check(json!([image]), "");
    }

    #[test]
    fn commands() {
        let check = |text: &str, expected: Option<(&str, &str)>| {
            assert_eq!(Prompt::text(text).command(), expected, "{text:?}");
        };
        check("/a", Some(("a", "")));
        check("/a-b c d\n", Some(("a-b", "c d")));
        check("/a\nb", Some(("a", "b")));
        check("", None);
        check("/", None);
        check("/ a", None);
        check("/etc/hosts is wrong", None);
        check("a /b", None);
    }
}
