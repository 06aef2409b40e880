//! Shared parts of the wires that write requests.

use gadgetry_proto::call::Parameters;
use gadgetry_proto::message::{Content, Media, MediaData, Message, Request};
use serde_json::{Map, Value};

use crate::arguments;
use crate::omitted::media_of;
use crate::options::ModelOptions;

/// A part of a message as a wire sends it.
pub(super) enum Piece<'m> {
    /// Text, not empty.
    Text(String),
    /// A medium that the model takes.
    Media(&'m Media),
}

/// `content`, all or some of the message `of`, as texts and the media that the model takes, in order.
pub(super) fn pieces<'m>(
    options: &ModelOptions,
    content: &'m [Content],
    of: &Message,
    takes: impl Fn(&Media) -> bool,
) -> Vec<Piece<'m>> {
    let is_taken = |part: &Content| media_of(part).iter().any(&takes);
    if content.len() == of.content.len() && !content.iter().any(is_taken) {
        let text = options.text(of);
        return (!text.is_empty())
            .then_some(Piece::Text(text))
            .into_iter()
            .collect();
    }
    let mut pieces = Vec::new();
    // Adjacent parts become one text, because blank lines between them depend on their neighbours.
    let mut run = Vec::new();
    let flush = |run: &mut Vec<Content>, pieces: &mut Vec<Piece<'m>>| {
        if !run.is_empty() {
            let text = options.text(&part_of(of, std::mem::take(run)));
            if !text.is_empty() {
                pieces.push(Piece::Text(text));
            }
        }
    };
    for part in content {
        let mut taken = media_of(part).iter().filter(|it| takes(it)).peekable();
        let is_taken = taken.peek().is_some();
        // A medium that is sent needs no caption; the result that it belongs to still has a text.
        if !is_taken || !matches!(part, Content::Media(_)) {
            run.push(part.clone());
        }
        if is_taken {
            flush(&mut run, &mut pieces);
            pieces.extend(taken.map(Piece::Media));
        }
    }
    flush(&mut run, &mut pieces);
    pieces
}

/// A message with some of the content of another, and so without its raw text.
pub(super) fn part_of(message: &Message, content: Vec<Content>) -> Message {
    Message::new(message.role, content)
}

/// Id, name and input of a call that the provider's own interface can carry.
///
/// The input is always an object: see [`arguments::sent`].
pub(super) fn native_call(part: &Content) -> Option<(&str, &str, Value)> {
    let (id, name, input) = if let Content::ToolUse {
        tool_use_id,
        name,
        input,
    } = part
    {
        (tool_use_id.as_str(), name, input)
    } else if let Content::GadgetCall(call) = part
        && let Parameters::Parsed(input) = &call.parameters
    {
        (call.invocation_id.as_str(), &call.gadget_name, input)
    } else {
        return None;
    };
    Some((id, name, arguments::sent(input)))
}

/// Data that the API `api` and `model` gave with a reply, to be sent back.
pub(super) fn provider_data<'m>(part: &'m Content, api: &str, model: &str) -> Option<&'m Value> {
    if let Content::ProviderData(kept) = part
        && kept.api == api
        && kept.model == model
    {
        return Some(&kept.data);
    }
    None
}

/// The URL of a medium, which holds its bytes if there is no other.
pub(super) fn url_of(medium: &Media) -> String {
    match &medium.data {
        MediaData::Base64(data) => format!("data:{};base64,{data}", medium.mime_type),
        MediaData::Url(url) => url.clone(),
    }
}

/// The fields of a request's body. They keep the order in which they are set, because a provider's cache compares
/// prefixes.
#[derive(Default)]
pub(super) struct Fields(Map<String, Value>);

impl Fields {
    /// Sets a field; `None` leaves it out.
    pub(super) fn set(&mut self, field: &str, value: impl Into<Option<Value>>) {
        if let Some(value) = value.into() {
            self.0.insert(field.to_owned(), value);
        }
    }

    /// Adds the constraint of the request, in the field that the server takes it in.
    pub(super) fn constrain(&mut self, options: &ModelOptions, request: &Request) {
        options.apply_constraint(&mut self.0, request);
    }

    /// The body, with the additional fields of the options.
    pub(super) fn body(mut self, options: &ModelOptions) -> Value {
        options.apply_fields(&mut self.0);
        Value::Object(self.0)
    }
}

/// The ids of the calls that a message has results of.
pub(super) fn answered(message: &Message) -> impl Iterator<Item = &str> {
    message.content.iter().filter_map(|part| {
        if let Content::GadgetResult { invocation_id, .. } = part {
            return Some(invocation_id.as_str());
        }
        None
    })
}
