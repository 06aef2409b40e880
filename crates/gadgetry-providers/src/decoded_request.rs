//! Requests that clients of an API send.

use std::borrow::Cow;
use std::collections::HashMap;

use gadgetry_proto::call::Digits;
use gadgetry_proto::error::{Classified, Fault};
use gadgetry_proto::json::read_value;
use gadgetry_proto::message::{
    Content, Media, MediaData, MediaKind, Message, Request, Role, ToolChoice,
};
use gadgetry_proto::schema::GadgetSpec;
use serde_json::{Map, Value};

use crate::model::ModelInfo;
use crate::options::ModelOptions;
use crate::wire_model::ModelBuilder;

/// A client's request, read from its body. `O` are the options of its API alone.
///
/// [`DecodedRequest::builder`] makes a model that sends the same body. Unknown fields are in [`ModelOptions::fields`], so they are
/// passed on.
///
/// ```
/// use gadgetry::provider::openai::chat;
/// let body = serde_json::json!({"model": "m", "messages": [{"role": "user", "content": "Hi!"}], "top_p": 0.5});
/// let incoming = chat::decode_request(body)?;
/// assert_eq!(incoming.request.messages[0].content.len(), 1);
/// assert_eq!(incoming.options.fields["top_p"], 0.5);
/// # Ok::<(), gadgetry::provider::RequestError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DecodedRequest<O> {
    /// The model, as the client names it.
    pub model: String,
    /// The options that all APIs have.
    pub options: ModelOptions,
    /// The options of this API alone.
    pub own: O,
    /// The conversation.
    pub request: Request,
}

impl<O: Clone> DecodedRequest<O> {
    /// The builder of a model that sends the same request. It sends all media that the API takes.
    pub fn builder(&self) -> ModelBuilder<O> {
        let info = ModelInfo {
            reads_images: true,
            reads_audio: true,
            ..ModelInfo::default()
        };
        ModelBuilder {
            model: self.model.clone(),
            options: ModelOptions {
                info: self.options.info.clone().or(Some(info)),
                ..self.options.clone()
            },
            own: self.own.clone(),
        }
    }
}

impl<O> DecodedRequest<O> {
    /// The request in `messages`, with what was not read of `body`.
    pub(super) fn new(
        model: String,
        options: ModelOptions,
        own: O,
        body: Body,
        choice: Option<ToolChoice>,
        messages: Messages,
    ) -> Self {
        Self {
            model,
            options: ModelOptions {
                fields: body.0,
                ..options
            },
            own,
            request: Request::default()
                .messages(messages.all)
                .tool_choice(choice.unwrap_or_default()),
        }
    }
}

/// A body that is not a valid request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid request: `{field}` {problem}")]
#[non_exhaustive]
pub struct RequestError {
    /// The field.
    pub field: String,
    /// Description of the mistake.
    pub problem: &'static str,
}

impl Classified for RequestError {
    fn fault(&self) -> Fault {
        Fault::Caller
    }
}

impl RequestError {
    pub(super) fn new(field: &str, problem: &'static str) -> Self {
        Self {
            field: field.to_owned(),
            problem,
        }
    }

    pub(super) fn role(field: &str) -> Self {
        Self::new(field, "has a message of an unknown role")
    }
}

/// The fields of a body. Those that are read are taken out, so that the rest can be passed on.
pub(super) struct Body(Map<String, Value>);

impl Body {
    pub(super) fn new(body: Value) -> Result<Self, RequestError> {
        match body {
            Value::Object(fields) => Ok(Self(fields)),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Err(RequestError::new("body", "is not a JSON object")),
        }
    }

    /// Takes a field out; `null` counts as absent.
    pub(super) fn take(&mut self, field: &str) -> Option<Value> {
        self.0.shift_remove(field).filter(|value| !value.is_null())
    }

    /// Takes a field out if `read` understands it. Otherwise it stays, and is passed on.
    pub(super) fn take_if<T>(
        &mut self,
        field: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Option<T> {
        let value = read(self.0.get(field)?)?;
        self.0.shift_remove(field);
        Some(value)
    }

    pub(super) fn model(&mut self) -> Result<String, RequestError> {
        let model = self.take_if("model", |model| model.as_str().map(str::to_owned));
        model.ok_or_else(|| RequestError::new("model", "is missing, or not a string"))
    }

    pub(super) fn count(&mut self, field: &str) -> Result<Option<u64>, RequestError> {
        let Some(value) = self.take(field) else {
            return Ok(None);
        };
        let count = value.as_u64();
        count
            .map(Some)
            .ok_or_else(|| RequestError::new(field, "is not a whole number"))
    }

    pub(super) fn number(&mut self, field: &str) -> Result<Option<f64>, RequestError> {
        let Some(value) = self.take(field) else {
            return Ok(None);
        };
        let number = value.as_f64();
        number
            .map(Some)
            .ok_or_else(|| RequestError::new(field, "is not a number"))
    }

    pub(super) fn flag(&mut self, field: &str) -> bool {
        self.take(field)
            .and_then(|it| it.as_bool())
            .unwrap_or(false)
    }

    /// One text, or a list of texts.
    pub(super) fn texts(&mut self, field: &str) -> Result<Vec<String>, RequestError> {
        let bad = || RequestError::new(field, "is neither a string nor a list of strings");
        match self.take(field) {
            None => Ok(Vec::new()),
            Some(Value::String(text)) => Ok(vec![text]),
            Some(Value::Array(items)) => items
                .into_iter()
                .map(|item| item.as_str().map(str::to_owned).ok_or_else(bad))
                .collect(),
            Some(_) => Err(bad()),
        }
    }

    pub(super) fn list(&mut self, field: &str) -> Result<Vec<Value>, RequestError> {
        match self.take(field) {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => Ok(items),
            Some(_) => Err(RequestError::new(field, "is not a list")),
        }
    }
}

/// A tool with a schema. Tools that the provider executes itself have none, and are left out.
pub(super) fn tool(tool: &Value, schema: &str) -> Option<GadgetSpec> {
    Some(GadgetSpec {
        name: tool["name"].as_str()?.to_owned(),
        description: tool["description"].as_str().unwrap_or_default().to_owned(),
        parameters: tool.get(schema)?.clone(),
        ..GadgetSpec::default()
    })
}

/// Messages as they are read, one after the other.
#[derive(Default)]
pub(super) struct Messages {
    all: Vec<Message>,
    /// The name of each call, by its id.
    names: HashMap<String, String>,
    /// Whether the last message has results and nothing else.
    ends_with_results: bool,
}

impl Messages {
    /// Adds a message, unless there is nothing in it.
    pub(super) fn push(&mut self, role: Role, content: Vec<Content>) {
        for part in &content {
            if let Content::ToolUse {
                tool_use_id, name, ..
            } = part
            {
                self.names.insert(tool_use_id.clone(), name.clone());
            }
        }
        if !content.is_empty() {
            let is_result = |part: &Content| matches!(part, Content::GadgetResult { .. });
            self.ends_with_results = content.iter().all(is_result);
            self.all.push(Message::new(role, content));
        }
    }

    /// The result of a call.
    pub(super) fn result(
        &self,
        id: &str,
        text: String,
        is_error: bool,
        media: Vec<Media>,
    ) -> Content {
        Content::GadgetResult {
            invocation_id: id.into(),
            gadget_name: self.names.get(id).cloned().unwrap_or_default(),
            text,
            is_error,
            sticky: false,
            media,
        }
    }

    /// Adds a result to those before it: the results of one reply are one message.
    pub(super) fn push_result(&mut self, result: Content) {
        match self.all.last_mut() {
            Some(last) if self.ends_with_results => last.content.push(result),
            _ => self.push(Role::User, vec![result]),
        }
    }

    /// Adds a part to the reply that is read, or begins one.
    pub(super) fn push_reply(&mut self, part: Content) {
        if let Content::ToolUse {
            tool_use_id, name, ..
        } = &part
        {
            self.names.insert(tool_use_id.clone(), name.clone());
        }
        match self.all.last_mut() {
            Some(last) if last.role == Role::Assistant => {
                last.content.push(part);
                self.ends_with_results = false;
            }
            _ => self.push(Role::Assistant, vec![part]),
        }
    }
}

/// The contents of a message: a text, or a list whose parts `read` reads.
pub(super) fn parts(content: &Value, read: impl Fn(&Value) -> Option<Content>) -> Vec<Content> {
    match content {
        Value::String(said) => text(said).into_iter().collect(),
        Value::Array(parts) => parts.iter().filter_map(read).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

/// The text of a result, of the parts in which `said` finds some, and the media that `read` reads.
pub(super) fn output(
    content: &Value,
    said: impl Fn(&Value) -> Option<Cow<'_, str>>,
    read: impl Fn(&Value) -> Option<Media>,
) -> (String, Vec<Media>) {
    if let Some(text) = content.as_str() {
        return (text.to_owned(), Vec::new());
    }
    let parts = || content.as_array().into_iter().flatten();
    let texts: Vec<Cow<'_, str>> = parts().filter_map(said).collect();
    (texts.join("\n\n"), parts().filter_map(read).collect())
}

/// The text of a part that is text.
pub(super) fn part_text(part: &Value) -> Option<Cow<'_, str>> {
    part["text"].as_str().map(Cow::Borrowed)
}

/// The arguments of a call. Numbers that a value does not keep are texts, and text that is not JSON stays a text, which becomes an object when
/// it is sent again.
pub(super) fn arguments(json: &str) -> Value {
    let Ok(value) = read_value(json) else {
        return json.into();
    };
    let digits = Digits::of(json, &value).unwrap_or_default();
    digits.as_texts(value)
}

pub(super) fn text(text: &str) -> Option<Content> {
    let text = text.to_owned();
    (!text.is_empty()).then_some(Content::Text { text })
}

/// An image or a file by its URL, which may hold the bytes.
pub(super) fn media_at(kind: MediaKind, url: &str, name: Option<String>) -> Media {
    let inline = url.strip_prefix("data:");
    let inline = inline.and_then(|rest| rest.split_once(";base64,"));
    let (mime_type, data) = match inline {
        Some((mime, data)) => (mime.to_owned(), MediaData::Base64(data.to_owned())),
        None => (
            mime_of(kind, url).to_owned(),
            MediaData::Url(url.to_owned()),
        ),
    };
    Media {
        kind,
        mime_type,
        data,
        name,
    }
}

/// The media type of what a link leads to, as far as the link shows it.
fn mime_of(kind: MediaKind, url: &str) -> &'static str {
    if kind != MediaKind::Image {
        return "application/pdf";
    }
    let path = url.split(['?', '#']).next().unwrap_or(url);
    match path.rsplit('.').next() {
        Some("png") => "image/png",
        Some("gif") => "image/gif",
        Some("webp") => "image/webp",
        _ => "image/jpeg",
    }
}
