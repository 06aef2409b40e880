//! Replies: decoding what was encoded gives the same deltas, streamed in pieces of any size, and as one document.

use gadgetry_proto::delta::{ContentMetadata, Delta, StopReason};
use gadgetry_proto::error::{ModelError, ModelErrorKind};
use gadgetry_proto::usage::Usage;
use gadgetry_providers::openai::{chat, responses};
use gadgetry_providers::{Decode, Encode, ResponseDecoder, anthropic, openai};
use proptest::prelude::*;
use serde_json::json;

/// The APIs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    Chat,
    Messages,
    Responses,
}

pub(crate) const APIS: [Api; 3] = [Api::Chat, Api::Messages, Api::Responses];

pub(crate) fn encoder(api: Api) -> Box<dyn Encode> {
    match api {
        Api::Chat => Box::new(chat::Encoder::new("c1", 7)),
        Api::Messages => Box::new(anthropic::Encoder::new("msg_1")),
        Api::Responses => Box::new(responses::Encoder::new("1", 7)),
    }
}

pub(crate) fn decoder(api: Api) -> Box<dyn Decode> {
    match api {
        Api::Chat => Box::new(openai::Decoder::new()),
        Api::Messages => Box::new(anthropic::Decoder::new()),
        Api::Responses => Box::new(responses::Decoder::new()),
    }
}

/// The stream that a server of the API sends for these deltas.
pub(crate) fn stream(api: Api, deltas: &[Delta]) -> String {
    let mut encoder = encoder(api);
    let (mut frames, mut stream) = (Vec::new(), String::new());
    for delta in deltas {
        encoder.delta(delta, &mut frames);
    }
    for frame in &frames {
        frame.encode(&mut stream);
    }
    stream
}

/// What is read of a body in pieces of a size.
pub(crate) fn read(api: Api, body: &str, size: usize) -> Vec<Delta> {
    let mut answer = ResponseDecoder::new(decoder(api));
    let mut deltas = Vec::new();
    for piece in body.as_bytes().chunks(size) {
        answer.feed(piece, &mut deltas);
    }
    answer.end(None, &mut deltas);
    deltas
}

/// One part of a reply, as a decoder gives it.
#[derive(Clone, Debug)]
enum Part {
    Text(Vec<String>),
    Reasoning(Vec<String>),
    /// Name, and the JSON text of the input in pieces.
    Call(Vec<String>),
    /// Metadata of a text.
    About,
}

fn pieces() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec("[a-z \n{}\"\\\\<>!é漢🦀]{1,8}", 1..4)
}

fn part() -> impl Strategy<Value = Part> {
    let fields = proptest::collection::btree_map("[a-z]{1,3}", "[a-z \n{}\"\\\\é🦀]{0,6}", 0..3);
    let call = (fields, 1_usize..6).prop_map(|(fields, size)| {
        let text = json!(fields).to_string();
        let characters: Vec<char> = text.chars().collect();
        Part::Call(characters.chunks(size).map(String::from_iter).collect())
    });
    prop_oneof![
        3 => pieces().prop_map(Part::Text),
        2 => pieces().prop_map(Part::Reasoning),
        2 => call,
        1 => Just(Part::About),
    ]
}

fn usage() -> impl Strategy<Value = Option<Usage>> {
    let usage = (0_u64..50, 0_u64..50, 0_u64..50, 1_u64..50, 0_u64..50);
    let usage = usage.prop_map(|(fresh, read, written, said, reasoning)| {
        let (input, output) = (fresh + read + written, said + reasoning);
        Usage::default()
            .input_tokens(input)
            .output_tokens(output)
            .total_tokens(input + output)
            .reasoning_tokens(reasoning)
            .cached_input_tokens(read)
            .cache_creation_tokens(written)
    });
    proptest::option::of(usage)
}

/// How a reply ends: why, whether with an error, and with which counts.
fn end() -> impl Strategy<Value = (Result<StopReason, ModelErrorKind>, Option<Usage>)> {
    let end = prop_oneof![
        3 => Just(Ok(StopReason::Stop)),
        1 => Just(Ok(StopReason::MaxTokens)),
        1 => Just(Ok(StopReason::ContentFilter)),
        1 => Just(Ok(StopReason::Unspecified)),
        1 => Just(Err(ModelErrorKind::RateLimit)),
        1 => Just(Err(ModelErrorKind::Overloaded)),
        1 => Just(Err(ModelErrorKind::ContextOverflow)),
    ];
    (end, usage())
}

/// The deltas of a reply as the decoder of an API gives them.
fn deltas(
    api: Api,
    parts: &[Part],
    end: &(Result<StopReason, ModelErrorKind>, Option<Usage>),
) -> Vec<Delta> {
    let model = Some("m".to_owned());
    let mut deltas = vec![Delta::MessageStart { model }];
    let mut calls = 0;
    let mut open = "";
    for part in parts {
        match part {
            Part::Text(pieces) => {
                deltas.extend(pieces.iter().map(Delta::text));
                open = "text";
            }
            Part::Reasoning(pieces) => {
                deltas.extend(pieces.iter().map(|piece| Delta::Reasoning {
                    delta: piece.clone(),
                    metadata: None,
                }));
                open = "reasoning";
            }
            Part::Call(pieces) => {
                calls += 1;
                let id = format!("call_{calls}");
                let name = "f".to_owned();
                deltas.push(Delta::ToolCallStart {
                    id: id.clone(),
                    name,
                });
                deltas.extend(pieces.iter().map(|piece| Delta::ToolCallDelta {
                    id: id.clone(),
                    delta: piece.clone(),
                }));
                deltas.push(Delta::ToolCallEnd { id, input: None });
                open = "";
            }
            // Citations are of the open text.
            Part::About if open == "text" => {
                let source = json!({"type": "source", "url": "https://h.example"});
                let (citations, annotations) = match api {
                    Api::Messages => (vec![source], Vec::new()),
                    Api::Chat | Api::Responses => (Vec::new(), vec![source]),
                };
                deltas.push(Delta::ContentMetadata {
                    metadata: ContentMetadata {
                        citations,
                        annotations,
                        ..ContentMetadata::default()
                    },
                });
            }
            Part::About => {}
        }
    }
    let (end, usage) = end;
    match end {
        Ok(reason) => {
            let reason = if *reason == StopReason::Stop && calls > 0 {
                StopReason::ToolUse
            } else {
                reason.clone()
            };
            deltas.push(Delta::MessageEnd {
                stop_reason: reason,
                usage: *usage,
            });
        }
        Err(kind) => {
            deltas.extend(usage.map(|usage| Delta::Usage { usage }));
            let code = if *kind == ModelErrorKind::RateLimit {
                "rate_limit_error"
            } else if *kind == ModelErrorKind::Overloaded {
                "overloaded_error"
            } else {
                "context_length_exceeded"
            };
            deltas.push(Delta::Error(
                ModelError::new(*kind, "not now").with_code(code),
            ));
        }
    }
    deltas
}

/// Text, reasoning, calls and the end, whatever the pieces and the order of kinds.
pub(crate) fn summary(deltas: &[Delta]) -> (String, String, Vec<String>, String) {
    let (mut text, mut reasoning, mut calls, mut end) =
        (String::new(), String::new(), Vec::new(), String::new());
    for delta in deltas {
        if let Delta::Text { delta, .. } = delta {
            text += delta;
        } else if let Delta::Reasoning { delta, .. } = delta {
            reasoning += delta;
        } else if let Delta::ToolCallStart { id, name } = delta {
            calls.push(format!("{id} {name} "));
        } else if let Delta::ToolCallDelta { delta, .. } = delta {
            *calls.last_mut().unwrap() += delta;
        } else if let Delta::ToolCallEnd { input, .. } = delta {
            let last = calls.last_mut().unwrap();
            *last += &input.as_ref().map(ToString::to_string).unwrap_or_default();
            // Documents may write the same input with other white space.
            let (head, json) = last.split_at(last.find('{').unwrap());
            let value: serde_json::Value = serde_json::from_str(json).unwrap();
            *last = format!("{head}{value} end");
        } else if let Delta::MessageEnd { stop_reason, usage } = delta {
            end = format!("{stop_reason} {usage:?}");
        }
    }
    (text, reasoning, calls, end)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn streams(parts in proptest::collection::vec(part(), 0..5), end in end(), size in 1_usize..40) {
        for api in APIS {
            let deltas = deltas(api, &parts, &end);
            let stream = stream(api, &deltas);
            prop_assert_eq!(&read(api, &stream, size), &deltas, "{:?}: {}", api, stream);
            // Frames in the form of the encoder are encoded again alike.
            prop_assert_eq!(self::stream(api, &read(api, &stream, usize::MAX)), stream);
        }
    }

    #[test]
    fn documents(parts in proptest::collection::vec(part(), 1..5), usage in usage()) {
        for api in APIS {
            let deltas = deltas(api, &parts, &(Ok(StopReason::Stop), usage));
            let mut encoder = encoder(api);
            for delta in &deltas {
                encoder.delta(delta, &mut Vec::new());
            }
            let document = encoder.document().to_string();
            let (text, reasoning, calls, _) = summary(&read(api, &document, 16));
            let expected = summary(&deltas);
            prop_assert_eq!((text, reasoning.replace("\n\n", ""), calls), (expected.0, expected.1.replace("\n\n", ""), expected.2), "{:?}: {}", api, document);
        }
    }

    /// Whatever a stream is cut after: no call that the whole does not have, and no success.
    #[test]
    fn streams_that_are_cut(parts in proptest::collection::vec(part(), 1..4), cut in 0.0..1.0) {
        for api in APIS {
            let deltas = deltas(api, &parts, &(Ok(StopReason::Stop), None));
            let stream = stream(api, &deltas);
            #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in a short text")]
            let at = (stream.len() as f64 * cut) as usize;
            let at = stream.floor_char_boundary(at);
            let read = read(api, &stream[..at], 7);
            let ended = |deltas: &[Delta]| -> Vec<Delta> {
                let ends = deltas.iter().filter(|delta| matches!(delta, Delta::ToolCallEnd { .. }));
                ends.cloned().collect()
            };
            prop_assert!(ended(&deltas).starts_with(&ended(&read)), "{:?}", api);
        }
    }
}
