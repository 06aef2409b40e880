//! One output item of a reply.

use std::collections::BTreeSet;

use gadgetry_proto::delta::{ContentMetadata, Delta};
use serde_json::Value;

use super::call::Call;
use crate::json::{self, SurrogateJoiner};

/// An item as far as it has arrived.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) index: Option<u64>,
    pub(super) id: Option<String>,
    /// `None` until something says what the item is.
    pub(super) kind: Option<Kind>,
    pub(super) is_over: bool,
    halves: SurrogateJoiner,
    /// The parts of which something has been emitted.
    said: BTreeSet<Part>,
}

/// Kind of an item.
#[derive(Debug)]
pub(super) enum Kind {
    Message,
    Reasoning,
    Call(Call),
    /// Tools of the server, and whatever comes next.
    Other,
}

/// A part of an item, by its kind and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Text(u64),
    Refusal(u64),
    /// A summary of the reasoning.
    Summary(u64),
    /// The reasoning itself, of servers that show it.
    Thought(u64),
}

impl Item {
    pub(super) fn new(index: Option<u64>, id: Option<String>) -> Self {
        Self {
            index,
            id,
            kind: None,
            is_over: false,
            halves: SurrogateJoiner::default(),
            said: BTreeSet::new(),
        }
    }

    /// Takes the type of the item, if it has none yet.
    pub(super) fn describe(&mut self, item: &Value) {
        let kind = match item["type"].as_str() {
            Some("message") => Kind::Message,
            Some("reasoning") => Kind::Reasoning,
            Some("function_call") => Kind::Call(Call::default()),
            _ => Kind::Other,
        };
        self.kind.get_or_insert(kind);
    }

    /// The call, if the item is one or may become one.
    pub(super) fn call(&mut self) -> Option<&mut Call> {
        let kind = self.kind.get_or_insert_with(|| Kind::Call(Call::default()));
        if let Kind::Call(call) = kind {
            return Some(call);
        }
        None
    }

    /// Takes more of a part. Gives the text to be emitted as that part.
    pub(super) fn write(&mut self, part: Part, piece: &str) -> Option<String> {
        if piece.is_empty() || !self.admits(part) {
            return None;
        }
        let text = self.halves.join(piece);
        // Summaries are paragraphs.
        let is_next = matches!(part, Part::Summary(_)) && !self.said.contains(&part);
        let before = if is_next && !self.said.is_empty() {
            "\n\n"
        } else {
            ""
        };
        self.said.insert(part);
        (!text.is_empty()).then(|| format!("{before}{text}"))
    }

    /// Takes a part as a whole. Gives it, unless its pieces have come.
    pub(super) fn whole(&mut self, part: Part, text: &str) -> Option<String> {
        if self.said.contains(&part) {
            return None;
        }
        let text = self.write(part, text)?;
        Some(text + self.halves.finish())
    }

    /// Half a character that nothing follows.
    pub(super) fn rest(&mut self) -> &'static str {
        self.halves.finish()
    }

    /// Summaries and the reasoning itself are alternatives: of a server that sends both, the first one counts.
    fn admits(&self, part: Part) -> bool {
        match part {
            Part::Summary(_) => !self.said.iter().any(|it| matches!(it, Part::Thought(_))),
            Part::Thought(_) => !self.said.iter().any(|it| matches!(it, Part::Summary(_))),
            Part::Text(_) | Part::Refusal(_) => true,
        }
    }
}

/// The parts of a finished item, with their texts.
pub(super) fn parts(item: &Value) -> impl Iterator<Item = (Part, &str)> {
    let of = |field: &str| item[field].as_array().into_iter().flatten().zip(0..);
    let content = of("content").filter_map(|(part, number)| {
        let (kind, field) = match part["type"].as_str()? {
            "output_text" | "text" => (Part::Text(number), "text"),
            "refusal" => (Part::Refusal(number), "refusal"),
            "reasoning_text" => (Part::Thought(number), "text"),
            _ => return None,
        };
        Some((kind, part[field].as_str()?))
    });
    let summary = of("summary").filter_map(|(part, number)| {
        let text = part["text"].as_str()?;
        Some((Part::Summary(number), text))
    });
    summary.chain(content)
}

/// Returns the annotations of a text as a delta.
pub(super) fn annotations(mut annotations: Vec<Value>) -> Option<Delta> {
    annotations.iter_mut().for_each(json::whole_value);
    (!annotations.is_empty()).then(|| Delta::ContentMetadata {
        metadata: ContentMetadata {
            annotations,
            ..ContentMetadata::default()
        },
    })
}
