//! Conversations, a word for each message.

use std::sync::Arc;

use gadgetry_proto::call::{Call, Parameters, TerminatedBy};
use gadgetry_proto::convo::TokenEstimate;
use gadgetry_proto::id::InvocationId;
use gadgetry_proto::message::{Content, Message, Role};
use serde_json::json;

/// What every word without a `~` at its end comes to.
const TOKENS: u64 = 100;

/// `sys:x`, `user:x`, `say:x` are texts; `call:a,b` is a reply with calls; `res:a,b*` has their results, sticky with `*`;
/// `sum:3:x` and `omit:3` are what earlier compactions have left, joined by `+`. With `~` it is as short as it is
/// written; otherwise it has 100 tokens.
pub(crate) fn conversation(words: &str) -> Vec<Message> {
    words.split_whitespace().map(message).collect()
}

fn message(word: &str) -> Message {
    let (word, long) = match word.strip_suffix('~') {
        Some(word) => (word, false),
        None => (word, !word.starts_with("omit") && !word.starts_with("sum")),
    };
    let mut padding = String::new();
    let mut message = padded(word, &padding);
    loop {
        padding.push('.');
        let longer = padded(word, &padding);
        if !long || TokenEstimate::of(std::slice::from_ref(&longer)).tokens() > TOKENS {
            return message;
        }
        message = longer;
    }
}

fn padded(word: &str, padding: &str) -> Message {
    let (kind, rest) = word.split_once(':').unwrap();
    let text = format!("{word}{padding}");
    let (role, content) = match kind {
        "sys" => return Message::text(Role::System, text),
        "user" => return Message::text(Role::User, text),
        "say" => return Message::text(Role::Assistant, text),
        "call" => {
            let content = rest.split(',').map(call).collect();
            return Message::new(Role::Assistant, content).raw(text);
        }
        "res" => (
            Role::User,
            rest.split(',').map(|id| result(id, padding)).collect(),
        ),
        _ => (Role::User, word.split('+').map(placeholder).collect()),
    };
    Message::new(role, content)
}

pub(crate) fn call(id: &str) -> Content {
    Content::GadgetCall(Arc::new(Call {
        gadget_name: "Save".to_owned(),
        invocation_id: InvocationId::from(id),
        dependencies: Vec::new(),
        parameters_raw: String::new(),
        parameters: Parameters::Parsed(json!({})),
        digits: gadgetry_proto::call::Digits::default(),
        terminated_by: TerminatedBy::EndMarker,
        span: serde_json::from_value(json!({ "start": 0, "end": 0 })).unwrap(),
    }))
}

/// The id may end with `*`.
pub(crate) fn result(id: &str, text: &str) -> Content {
    Content::GadgetResult {
        invocation_id: InvocationId::from(id.trim_end_matches('*')),
        gadget_name: "Save".to_owned(),
        text: text.to_owned(),
        is_error: false,
        sticky: id.ends_with('*'),
        media: Vec::new(),
    }
}

fn placeholder(word: &str) -> Content {
    let mut parts = word.split(':');
    let (kind, turns) = (
        parts.next().unwrap(),
        parts.next().unwrap().parse().unwrap(),
    );
    match kind {
        "omit" => Content::Omission { turns },
        "sum" => Content::Summary {
            text: parts.next().unwrap().to_owned(),
            turns,
        },
        other => panic!("{other}?"),
    }
}

/// The words of a conversation, without `~`. A text that was cut ends with `/`.
pub(crate) fn words(messages: &[Message]) -> String {
    let words: Vec<String> = messages.iter().map(word).collect();
    words.join(" ")
}

fn word(message: &Message) -> String {
    if let Some(raw) = &message.raw {
        return uncut(raw);
    }
    let parts: Vec<String> = message.content.iter().map(part).collect();
    match &message.content[0] {
        Content::GadgetResult { .. } => format!("res:{}", parts.join(",")),
        _ => parts.join("+"),
    }
}

fn part(content: &Content) -> String {
    match content {
        Content::Text { text } => uncut(text),
        Content::Summary { text, turns } => format!("sum:{turns}:{}", uncut(text)),
        Content::Omission { turns } => format!("omit:{turns}"),
        Content::GadgetResult {
            invocation_id,
            sticky,
            text,
            ..
        } => {
            let cut = uncut(text).ends_with('/');
            let (sticky, cut) = (if *sticky { "*" } else { "" }, if cut { "/" } else { "" });
            format!("{invocation_id}{sticky}{cut}")
        }
        other => panic!("no word has {other:?}"),
    }
}

/// The beginning of a text without its padding, and `/` if its middle is left out.
fn uncut(text: &str) -> String {
    let (start, cut) = match text.split_once("\n[… ") {
        Some((start, _)) => (start, "/"),
        None => (text, ""),
    };
    format!("{}{cut}", start.trim_end_matches('.'))
}
