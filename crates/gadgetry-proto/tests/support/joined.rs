//! What the scanner tells, with adjacent deltas joined, so that it can be compared.

use gadgetry_proto::block::CallBlock;
use gadgetry_proto::error::{Diagnostic, ParseError};
use gadgetry_proto::reply::{Format, ReplyEvent, Scanner};
use gadgetry_proto::schema;
use serde_json::Value;

use super::naive::Seen;

/// One thing that the scanner told.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    /// Anything but what follows.
    Seen(Seen),
    /// The arguments of the call are all that the block has, whatever they are worth.
    Call {
        call: Seen,
        parameters: Result<Value, ParseError>,
    },
    Diagnostic(Diagnostic),
    /// Deltas of an argument that never became complete, because its block passed its cap.
    Unfinished {
        pointer: String,
        value: String,
    },
}

/// Joins what it is told.
#[derive(Debug, Default)]
pub struct Joiner {
    pub told: Vec<Told>,
}

impl Joiner {
    pub fn hear(&mut self, event: ReplyEvent<'_>) {
        match event {
            ReplyEvent::Text(more) => {
                assert!(!more.is_empty(), "a text delta is never empty");
                if let Some(Told::Seen(Seen::Text(text))) = self.told.last_mut() {
                    text.push_str(more);
                } else {
                    self.seen(Seen::Text(more.to_owned()));
                }
            }
            ReplyEvent::CallStart(header) => self.seen(Seen::CallStart {
                name: header.gadget_name().to_owned(),
                id: header.invocation_id().to_owned(),
                dependencies: header.dependencies().map(str::to_owned).collect(),
            }),
            ReplyEvent::Argument {
                header,
                pointer,
                delta,
                complete,
                begins: _,
            } => {
                assert!(
                    complete || !delta.is_empty(),
                    "only the last delta may be empty"
                );
                let so_far = self.unfinished(pointer);
                so_far.push_str(delta);
                if complete {
                    let value = std::mem::take(so_far);
                    self.told.pop();
                    self.seen(Seen::Argument {
                        id: header.invocation_id().to_owned(),
                        pointer: pointer.to_owned(),
                        value,
                    });
                }
            }
            ReplyEvent::Call(block) => self.told.push(call(&block)),
            ReplyEvent::TagStart {
                block,
                tag,
                attributes,
            } => self.seen(Seen::TagStart {
                block: block.0,
                tag: tag.to_owned(),
                attrs: pairs(attributes),
            }),
            ReplyEvent::TagDelta { block, delta, .. } => {
                assert!(!delta.is_empty(), "a content delta is never empty");
                if let Some(Told::Seen(Seen::TagContent { content, .. })) = self.told.last_mut() {
                    content.push_str(delta);
                } else {
                    self.seen(Seen::TagContent {
                        block: block.0,
                        content: delta.to_owned(),
                    });
                }
            }
            ReplyEvent::TagEnd { block, tag, reason } => {
                self.seen(Seen::TagEnd {
                    block: block.0,
                    tag: tag.to_owned(),
                    reason,
                });
            }
            ReplyEvent::Tag {
                block,
                tag,
                content,
                attributes,
                self_closing,
                ..
            } => self.seen(Seen::Tag {
                block: block.0,
                tag: tag.to_owned(),
                content: content.to_owned(),
                attrs: pairs(attributes),
                self_closing,
            }),
            ReplyEvent::Diagnostic(diagnostic) => self.told.push(Told::Diagnostic(diagnostic)),
        }
    }

    fn seen(&mut self, seen: Seen) {
        self.told.push(Told::Seen(seen));
    }

    /// The value of the current argument so far.
    fn unfinished(&mut self, now: &str) -> &mut String {
        if !matches!(self.told.last(), Some(Told::Unfinished { .. })) {
            self.told.push(Told::Unfinished {
                pointer: now.to_owned(),
                value: String::new(),
            });
        }
        let Some(Told::Unfinished { pointer, value }) = self.told.last_mut() else {
            unreachable!("it was pushed");
        };
        assert_eq!(pointer, now, "an argument that is not complete goes on");
        value
    }
}

fn pairs(attributes: &gadgetry_proto::message::Attributes) -> Vec<(String, String)> {
    attributes
        .iter()
        .map(|(name, value)| (name.clone(), value.as_str().unwrap_or("no text").to_owned()))
        .collect()
}

fn call(block: &CallBlock<'_>) -> Told {
    let arguments = block
        .arguments()
        .map(|(pointer, value)| (pointer.to_owned(), value.into_owned()))
        .collect();
    let header = block.header();
    Told::Call {
        call: Seen::Call {
            name: header.gadget_name().to_owned(),
            id: header.invocation_id().to_owned(),
            dependencies: header.dependencies().map(str::to_owned).collect(),
            raw: block.raw().to_owned(),
            arguments: Ok(arguments),
            terminated_by: block.terminated_by(),
            span: block.span(),
        },
        parameters: block.parameters(None),
    }
}

/// A scanner of this format; tags that it would refuse are left out.
pub fn scanner(format: &Format) -> Scanner {
    let mut format = format.clone();
    format
        .tags
        .retain(|tag| tag.len() <= format.limits.tag_name);
    let limit = format.limits.tag_name;
    format.reasoning.retain(|tag| tag.len() <= limit);
    Scanner::new(&format).expect("the generator writes only names")
}

/// What a scanner tells about a reply in these pieces.
pub fn scan(pieces: &[&str], format: &Format) -> Vec<Told> {
    let mut scanner = scanner(format);
    let mut joiner = Joiner::default();
    for piece in pieces {
        scanner.push(piece, &mut |event| joiner.hear(event));
    }
    scanner.finish(&mut |event| joiner.hear(event));
    joiner.told
}

/// Whether the scanner told what the oracle saw. The oracle knows pairs, the scanner a tree.
pub fn is_what(told: &Told, seen: &Seen, format: &Format) -> bool {
    match (told, seen) {
        (Told::Seen(told), seen) => told == seen,
        (Told::Diagnostic(told), Seen::Diagnostic(code, span)) => {
            told.code == *code && told.span == *span
        }
        (
            Told::Call { call, parameters },
            Seen::Call {
                arguments: expected,
                ..
            },
        ) => {
            let mut call = call.clone();
            let Seen::Call { arguments, .. } = &mut call else {
                return false;
            };
            let told = std::mem::replace(arguments, expected.clone());
            call == *seen && same_parameters(&told, parameters, expected, format)
        }
        (Told::Diagnostic(_) | Told::Call { .. } | Told::Unfinished { .. }, _) => false,
    }
}

fn same_parameters(
    told: &Result<Vec<(String, String)>, ()>,
    parameters: &Result<Value, ParseError>,
    expected: &Result<Vec<(String, String)>, ()>,
    format: &Format,
) -> bool {
    let Ok(pairs) = expected else {
        return parameters.is_err();
    };
    if let [(pointer, json)] = pairs.as_slice()
        && pointer.is_empty()
    {
        return *parameters
            == schema::json_parameters(json, None, &format.limits).map(Option::unwrap_or_default);
    }
    let marker = format.markers.as_ref().map_or("", |markers| markers.arg());
    let texts = pairs
        .iter()
        .map(|(pointer, value)| (pointer.as_str(), value.as_str()));
    told == expected && *parameters == schema::parameters(texts, None, marker, &format.limits)
}
