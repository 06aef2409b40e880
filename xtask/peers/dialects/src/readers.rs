//! The readers, with one interface.

use dynamo_parsers::tool_calling::{ToolDefinition, detect_and_parse_tool_call};
use dynamo_parsers_v2::{ToolParseResult, create_tool_parser_for_family};
use gadgetry_proto::block::Anchoring;
use gadgetry_proto::call::Parameters;
use gadgetry_proto::dialect::{Dialects, Gate, Gated, GateRules};
use gadgetry_proto::limits::Limits;
use gadgetry_proto::schema::{GadgetSpec, Registry};
use openai_protocol::common::Tool;
use serde_json::{Value, json};
use tool_parser::ParserFactory;

pub(crate) const NAMES: [&str; 4] = [
    "gadgetry",
    "tool-parser 1.10.0",
    "dynamo-parsers 11.0.1",
    "dynamo-parsers-v2 0.9.6",
];

/// The calls and the text of a reply.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) calls: Vec<(String, Value)>,
    pub(crate) text: String,
}

/// The tool that is offered, as each reader wants it.
pub(crate) struct Tools {
    registry: Registry,
    dialects: Dialects,
    limits: Limits,
    runtime: tokio::runtime::Runtime,
    factory: ParserFactory,
    peer: Vec<Tool>,
    whole: Vec<ToolDefinition>,
    streamed: Vec<dynamo_parsers_v2::Tool>,
}

impl Tools {
    pub(crate) fn new() -> Self {
        let schema = json!({
            "type": "object",
            "properties": {"text": {"type": "string"}, "n": {"type": "number"}},
            "required": ["text", "n"],
        });
        let spec = GadgetSpec {
            parameters: schema.clone(),
            ..GadgetSpec::new("Calc", "")
        };
        let tool = json!({
            "type": "function",
            "function": {"name": "Calc", "description": "", "parameters": schema, "strict": null},
        });
        Self {
            registry: Registry::new([spec]).expect("one gadget"),
            dialects: Dialects::all(),
            limits: Limits::default(),
            runtime: tokio::runtime::Builder::new_current_thread()
                .build()
                .expect("a runtime"),
            factory: ParserFactory::new(),
            peer: vec![serde_json::from_value(tool).expect("a tool")],
            whole: vec![ToolDefinition {
                name: "Calc".to_owned(),
                parameters: Some(schema.clone()),
                strict: None,
            }],
            streamed: vec![dynamo_parsers_v2::Tool {
                name: "Calc".to_owned(),
                description: None,
                parameters: schema,
                strict: None,
            }],
        }
    }
}

/// A reader that is ready for one reply.
pub(crate) enum Ready {
    Ours(Box<Gate>),
    Peer(Box<dyn tool_parser::ToolParser>),
    Whole(&'static str),
    Streamed(Box<dyn dynamo_parsers_v2::ToolParser>),
}

impl Ready {
    pub(crate) fn new(tools: &Tools, reader: usize, family: &'static str) -> Self {
        match reader {
            0 => Self::Ours(Box::default()),
            1 => Self::Peer(
                tools
                    .factory
                    .registry()
                    .create_parser(family)
                    .expect("a parser"),
            ),
            2 => Self::Whole(family),
            _ => Self::Streamed(
                create_tool_parser_for_family(family, &tools.streamed).expect("a parser"),
            ),
        }
    }

    pub(crate) fn read(self, tools: &Tools, pieces: &[String]) -> Outcome {
        match self {
            Self::Ours(gate) => ours(*gate, tools, pieces),
            Self::Peer(parser) => tools.runtime.block_on(peer(parser, tools, pieces)),
            Self::Whole(family) => tools.runtime.block_on(whole(family, tools, pieces)),
            Self::Streamed(parser) => streamed(parser, pieces),
        }
    }
}

fn ours(mut gate: Gate, tools: &Tools, pieces: &[String]) -> Outcome {
    let rules = GateRules {
        dialects: &tools.dialects,
        registry: &tools.registry,
        limits: &tools.limits,
        anchoring: Anchoring::Anywhere,
    };
    let mut out = Vec::new();
    for piece in pieces {
        gate.push(piece, &rules, &mut out);
    }
    gate.finish(&rules, &mut out);
    let mut outcome = Outcome::default();
    for piece in out {
        match piece {
            Gated::Text(text) => outcome.text += &text,
            Gated::Call(call, _) if call.is_whole => {
                if let Parameters::Parsed(value) = call.parameters {
                    outcome.calls.push((call.gadget_name, value));
                }
            }
            Gated::Call(..)
            | Gated::Reasoning(_)
            | Gated::Cut(_)
            | Gated::Opening(_)
            | Gated::Closing(_) => {}
        }
    }
    outcome
}

async fn peer(
    mut parser: Box<dyn tool_parser::ToolParser>,
    tools: &Tools,
    pieces: &[String],
) -> Outcome {
    let mut text = String::new();
    let mut calls: Vec<(String, String)> = Vec::new();
    let mut take = |items: Vec<tool_parser::types::ToolCallItem>| {
        for item in items {
            if calls.len() <= item.tool_index {
                calls.resize(item.tool_index + 1, Default::default());
            }
            let call = &mut calls[item.tool_index];
            call.0 += item.name.as_deref().unwrap_or_default();
            call.1 += &item.parameters;
        }
    };
    for piece in pieces {
        if let Ok(result) = parser.parse_incremental(piece, &tools.peer).await {
            text += &result.normal_text;
            take(result.calls);
        }
    }
    take(parser.get_unstreamed_tool_args().unwrap_or_default());
    text += &parser.take_unstreamed_normal_text();
    Outcome {
        calls: values(calls),
        text,
    }
}

async fn whole(family: &str, tools: &Tools, pieces: &[String]) -> Outcome {
    let reply = pieces.concat();
    let read = detect_and_parse_tool_call(&reply, Some(family), Some(&tools.whole)).await;
    let Ok((calls, text)) = read else {
        return Outcome::default();
    };
    let calls = calls
        .into_iter()
        .map(|it| (it.function.name, it.function.arguments));
    Outcome {
        calls: values(calls),
        text: text.unwrap_or_default(),
    }
}

fn streamed(mut parser: Box<dyn dynamo_parsers_v2::ToolParser>, pieces: &[String]) -> Outcome {
    let mut all = ToolParseResult::default();
    for piece in pieces {
        if let Ok(result) = parser.push(piece) {
            all.append(result);
        }
    }
    if let Ok(result) = parser.finish() {
        all.append(result);
    }
    let all = all.coalesce_calls();
    let calls = all
        .calls
        .into_iter()
        .map(|it| (it.name.unwrap_or_default(), it.arguments));
    Outcome {
        calls: values(calls),
        text: all.normal_text,
    }
}

/// The calls with their arguments as values, null where they are not JSON.
fn values(calls: impl IntoIterator<Item = (String, String)>) -> Vec<(String, Value)> {
    let value = |text: &str| serde_json::from_str(text).unwrap_or_default();
    calls
        .into_iter()
        .map(|(name, text)| (name, value(&text)))
        .collect()
}
