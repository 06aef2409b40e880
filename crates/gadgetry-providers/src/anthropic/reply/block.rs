//! One content block of an answer.

use std::collections::HashSet;
use std::sync::Arc;

use gadgetry_proto::delta::{ContentMetadata, Delta};
use gadgetry_proto::message::ProviderData;
use serde_json::{Map, Value};

use super::fields::{extension, text, whole};
use crate::anthropic::API;
use crate::arguments::{self, Arguments};
use crate::json::{self, SurrogateJoiner};
use crate::tools::ToolNames;

/// A block as far as it has arrived.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) index: Option<u64>,
    kind: Kind,
    halves: SurrogateJoiner,
    over: bool,
    /// The server has ended it, but its JSON is missing or not whole. Whether the reply was cut in it is known only when
    /// another block begins, or at the end.
    ended: bool,
    /// Deltas that have not been emitted yet.
    pub(super) ready: Vec<Delta>,
}

#[derive(Debug)]
enum Kind {
    Text,
    Thinking {
        /// The block as later requests send it back.
        kept: Option<SignedBlock>,
    },
    Tool {
        id: String,
        /// The input of the first frame, which counts if no pieces come: an object, or its text.
        input: Value,
        /// The pieces.
        arguments: Arguments,
        name: String,
    },
    /// A call with the id of an earlier one, which is not executed.
    Repeated,
    /// Tools of the server, and whatever comes next.
    Unknown,
}

/// A block that goes back with the reply: its fields, and the model that signed it.
#[derive(Debug)]
struct SignedBlock {
    model: Arc<str>,
    fields: Map<String, Value>,
}

impl Block {
    /// A block that begins. `ids` are those of earlier calls: a call that repeats one is not executed, and a call without
    /// an id gets a new one. Thinking is kept for the model `keeps`.
    pub(super) fn new(
        index: Option<u64>,
        block: &Value,
        names: &ToolNames,
        ids: &mut HashSet<String>,
        keeps: Option<&Arc<str>>,
    ) -> Self {
        let kept = || {
            let fields = block.as_object().cloned().unwrap_or_default();
            let model = Arc::clone(keeps?);
            Some(SignedBlock { model, fields })
        };
        let mut new = Self {
            index,
            kind: Kind::Unknown,
            halves: SurrogateJoiner::default(),
            over: false,
            ended: false,
            ready: Vec::new(),
        };
        match block["type"].as_str() {
            Some("text") => {
                new.kind = Kind::Text;
                new.cite(block["citations"].as_array().cloned().unwrap_or_default());
                new.say(text(block, "text").unwrap_or_default());
            }
            Some("thinking") => {
                new.kind = Kind::Thinking { kept: kept() };
                new.reason(text(block, "thinking").unwrap_or_default());
                new.sign(text(block, "signature").unwrap_or_default());
            }
            Some("redacted_thinking") => {
                new.kind = Kind::Thinking { kept: kept() };
                let metadata = extension("redacted_thinking", block["data"].clone());
                new.ready.push(Delta::ReasoningMetadata { metadata });
            }
            Some("tool_use") => {
                let name = whole(text(block, "name").unwrap_or_default());
                let mut input = block["input"].clone();
                json::whole_value(&mut input);
                let id = whole(text(block, "id").unwrap_or_default());
                // Results need an id of their own.
                let id = if id.is_empty() {
                    let mut number = index.unwrap_or_default();
                    while ids.contains(&format!("toolu_{number}")) {
                        number = number.max(ids.len() as u64) + 1;
                    }
                    format!("toolu_{number}")
                } else {
                    id
                };
                if !ids.insert(id.clone()) {
                    new.ready.push(arguments::repeated(&id));
                    new.kind = Kind::Repeated;
                    return new;
                }
                let name = names.meant(&name).to_owned();
                new.ready.push(Delta::ToolCallStart {
                    id: id.clone(),
                    name: name.clone(),
                });
                new.kind = Kind::Tool {
                    id,
                    input,
                    arguments: Arguments::default(),
                    name,
                };
            }
            _ => {}
        }
        new
    }

    pub(super) fn is_known(&self) -> bool {
        !matches!(self.kind, Kind::Unknown)
    }

    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// Returns whether more of the block may come.
    pub(super) fn is_open(&self) -> bool {
        !self.over && !self.ended
    }

    /// The server has ended it, but it is not known whether it is whole.
    pub(super) fn is_doubtful(&self) -> bool {
        !self.over && self.ended
    }

    /// The server has ended it.
    pub(super) fn end(&mut self) {
        match &self.kind {
            Kind::Tool {
                arguments, input, ..
            } if !is_whole(arguments, input) => self.ended = true,
            Kind::Tool { .. }
            | Kind::Repeated
            | Kind::Text
            | Kind::Thinking { .. }
            | Kind::Unknown => self.stop(),
        }
    }

    /// Takes more of it. `false` if its meaning is unknown.
    pub(super) fn push(&mut self, delta: &Value) -> bool {
        match delta["type"].as_str() {
            Some("text_delta") => self.say(text(delta, "text").unwrap_or_default()),
            Some("thinking_delta") => self.think(text(delta, "thinking").unwrap_or_default()),
            Some("signature_delta") => self.sign(text(delta, "signature").unwrap_or_default()),
            Some("citations_delta") => self.cite(vec![delta["citation"].clone()]),
            Some("input_json_delta") => return self.input(&delta["partial_json"]),
            _ => return false,
        }
        true
    }

    /// Marks the block as complete.
    pub(super) fn stop(&mut self) {
        if self.over {
            return;
        }
        let rest = self.halves.finish();
        match std::mem::replace(&mut self.kind, Kind::Unknown) {
            Kind::Text | Kind::Unknown if !rest.is_empty() => self.ready.push(Delta::text(rest)),
            Kind::Thinking { kept } => {
                if !rest.is_empty() {
                    self.ready.push(reasoning(rest.to_owned()));
                }
                self.ready.extend(kept.map(SignedBlock::delta));
            }
            Kind::Text | Kind::Repeated | Kind::Unknown => {}
            Kind::Tool {
                id,
                input,
                mut arguments,
                name,
            } => {
                if let (Value::String(text), true) = (&input, arguments.json().is_empty()) {
                    let delta = arguments.write(text);
                    let id = id.clone();
                    self.ready
                        .extend(delta.map(|delta| Delta::ToolCallDelta { id, delta }));
                }
                // Without pieces the input is what came first, and `{}` if nothing did.
                let input = if input.is_null() {
                    Value::Object(serde_json::Map::new())
                } else {
                    input
                };
                let input = arguments.json().is_empty().then_some(input);
                self.ready.push(Delta::ToolCallEnd { id, input });
                self.ready.extend(arguments.report_extra(&name));
            }
        }
        self.over = true;
    }

    /// The answer was cut off inside it: an open call never ends.
    pub(super) fn cut(&mut self) {
        self.over = true;
    }

    fn say(&mut self, piece: &str) {
        let delta = self.halves.join(piece);
        if !delta.is_empty() {
            let delta = delta.into_owned();
            self.ready.push(Delta::Text {
                delta,
                metadata: None,
            });
        }
    }

    fn think(&mut self, piece: &str) {
        if let Kind::Thinking { kept: Some(kept) } = &mut self.kind {
            kept.think(piece);
        }
        self.reason(piece);
    }

    fn reason(&mut self, piece: &str) {
        let delta = self.halves.join(piece);
        if !delta.is_empty() {
            let delta = reasoning(delta.into_owned());
            self.ready.push(delta);
        }
    }

    fn sign(&mut self, signature: &str) {
        if !signature.is_empty() {
            if let Kind::Thinking { kept: Some(kept) } = &mut self.kind {
                let signature = signature.to_owned();
                kept.fields.insert("signature".to_owned(), signature.into());
            }
            let metadata = extension("signature", signature.into());
            self.ready.push(Delta::ReasoningMetadata { metadata });
        }
    }

    fn cite(&mut self, mut citations: Vec<Value>) {
        citations.iter_mut().for_each(json::whole_value);
        if !citations.is_empty() {
            let metadata = ContentMetadata {
                citations,
                ..ContentMetadata::default()
            };
            self.ready.push(Delta::ContentMetadata { metadata });
        }
    }

    /// A piece of the JSON text of a tool's input; some servers give it as an object, whole.
    fn input(&mut self, piece: &Value) -> bool {
        let Kind::Tool {
            id,
            input,
            arguments,
            ..
        } = &mut self.kind
        else {
            return matches!(self.kind, Kind::Repeated);
        };
        if let Value::String(piece) = piece {
            let id = id.clone();
            let delta = arguments.write(piece);
            self.ready
                .extend(delta.map(|delta| Delta::ToolCallDelta { id, delta }));
            return true;
        }
        if piece.is_object() {
            *input = piece.clone();
            json::whole_value(input);
        }
        piece.is_object() || piece.is_null()
    }
}

impl SignedBlock {
    fn think(&mut self, piece: &str) {
        let text = self.fields.entry("thinking").or_insert_with(|| "".into());
        if let Value::String(text) = text {
            text.push_str(piece);
        }
    }

    fn delta(self) -> Delta {
        let mut data = Value::Object(self.fields);
        json::whole_value(&mut data);
        Delta::ProviderData(ProviderData {
            api: API.to_owned(),
            model: self.model.as_ref().to_owned(),
            data,
        })
    }
}

fn reasoning(delta: String) -> Delta {
    Delta::Reasoning {
        delta,
        metadata: None,
    }
}

/// Returns whether nothing is missing from an input. Without any piece it may be `{}`, or cut off.
fn is_whole(arguments: &Arguments, input: &Value) -> bool {
    if arguments.json().trim().is_empty() {
        return input.is_string() || input.as_object().is_some_and(|input| !input.is_empty());
    }
    arguments.is_whole()
}
