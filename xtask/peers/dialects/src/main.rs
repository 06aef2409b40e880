//! Measures how calls in the forms of models are read: by us, and by the crates `tool-parser` and `dynamo-parsers`.
//!
//! All three read the same replies in the same run: each row of `corpus/dialects.json` with each text of [`TEXTS`], two calls a
//! reply. We and `tool-parser` get pieces of four characters; `dynamo-parsers` reads a reply at once, which is all that it
//! can do. A reply counts as right if its calls have the names and arguments that were written.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use dynamo_parsers::tool_calling::{ToolDefinition, detect_and_parse_tool_call};
use futures_executor::block_on;
use gadgetry_proto::block::Anchoring;
use gadgetry_proto::call::Parameters;
use gadgetry_proto::dialect::{Dialects, Gate, Gated, Rules};
use gadgetry_proto::limits::Limits;
use gadgetry_proto::schema::{GadgetSpec, Registry};
use openai_protocol::common::Tool;
use serde_json::{Value, json};
use tool_parser::ParserFactory;

const TEXTS: [&str; 10] = [
    "plain",
    "Zoë, 東京 and 🎉",
    "a \"quoted\" and 'single' \\ backslash",
    "two\nlines",
    "</tool_call><tool_call>",
    "<|tool_call_end|><|call|>",
    "</function></invoke>[TOOL_CALLS]",
    "{\"name\": \"Calc\", \"arguments\": {}}",
    "`ticks` and ```\nfences",
    "}}]) <｜tool▁call▁end｜>",
];
const ROUNDS: u32 = 20;

/// What the beginning of a form is called by `tool-parser` and `dynamo-parsers`.
const NAMES: [(&str, &str, &str); 14] = [
    ("<tool_call>\n{", "qwen", "hermes"),
    ("<tool_call>\n<function", "qwen_coder", "qwen3_coder"),
    ("[TOOL_CALLS][", "mistral", "mistral"),
    ("{\"name\"", "llama", "llama3_json"),
    ("<|python_tag|>", "llama", "llama3_json"),
    ("<|channel|>", "", "harmony"),
    ("<tool_call>Calc\n", "glm45_moe", "glm47"),
    ("<tool_call>Calc<", "glm47_moe", "glm47"),
    ("<|tool_calls_section", "kimik2", "kimi_k2"),
    ("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function", "deepseek", "deepseek_v3"),
    ("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>Calc", "deepseek31", "deepseek_v3_1"),
    ("<｜DSML｜function_calls>", "deepseek32", "deepseek_v3_2"),
    ("<｜DSML｜tool_calls>", "deepseek_v4", "deepseek_v4"),
    ("<|tool_call>", "gemma4", "gemma4"),
];

type Calls = Vec<(String, Value)>;

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": { "text": { "type": "string" }, "n": { "type": "integer" } },
        "required": ["text", "n"],
    })
}

fn pieces(text: &str) -> Vec<&str> {
    let ends: Vec<usize> = text.char_indices().map(|(at, c)| at + c.len_utf8()).collect();
    let mut from = 0;
    let pieces = ends.chunks(4).map(|chunk| {
        let piece = &text[from..chunk[chunk.len() - 1]];
        from += piece.len();
        piece
    });
    pieces.collect()
}

fn ours(pieces: &[&str], rules: &Rules<'_>) -> Calls {
    let mut gate = Gate::default();
    let mut out = Vec::new();
    for piece in pieces {
        gate.push(piece, rules, &mut out);
    }
    gate.finish(rules, &mut out);
    let calls = out.into_iter().filter_map(|piece| match piece {
        Gated::Call(call, _) => match call.parameters {
            Parameters::Parsed(parameters) => Some((call.gadget_name, parameters)),
            Parameters::Malformed(_) => None,
        },
        _ => None,
    });
    calls.collect()
}

fn of_tool_parser(factory: &ParserFactory, name: &str, pieces: &[&str], tools: &[Tool]) -> Calls {
    let Some(mut parser) = factory.registry().create_parser(name) else {
        return Vec::new();
    };
    let mut found: BTreeMap<usize, (String, String)> = BTreeMap::new();
    let mut take = |items: Vec<tool_parser::types::ToolCallItem>| {
        for item in items {
            let call = found.entry(item.tool_index).or_default();
            call.0.push_str(item.name.as_deref().unwrap_or_default());
            call.1.push_str(&item.parameters);
        }
    };
    for piece in pieces {
        if let Ok(result) = block_on(parser.parse_incremental(piece, tools)) {
            take(result.calls);
        }
    }
    take(parser.get_unstreamed_tool_args().unwrap_or_default());
    let calls = found.into_values();
    calls.map(|(name, text)| (name, serde_json::from_str(&text).unwrap_or_default())).collect()
}

fn of_dynamo(name: &str, reply: &str, tools: &[ToolDefinition]) -> Calls {
    let parsed = block_on(detect_and_parse_tool_call(reply, Some(name), Some(tools)));
    let calls = parsed.map(|(calls, _)| calls).unwrap_or_default().into_iter();
    calls
        .map(|call| {
            let arguments = serde_json::from_str(&call.function.arguments).unwrap_or_default();
            (call.function.name, arguments)
        })
        .collect()
}

/// How many of the replies are read right, and the best time of all of them, in microseconds a reply.
fn measured(replies: &[(String, Calls)], read: impl Fn(&str) -> Calls) -> (usize, f64) {
    let quiet = |reply: &str| catch_unwind(AssertUnwindSafe(|| read(reply))).unwrap_or_default();
    let right = replies.iter().filter(|(reply, calls)| quiet(reply) == *calls).count();
    let mut best = f64::MAX;
    for _ in 0..ROUNDS {
        let began = Instant::now();
        for (reply, _) in replies {
            std::hint::black_box(quiet(reply));
        }
        best = best.min(began.elapsed().as_secs_f64());
    }
    #[expect(clippy::cast_precision_loss, reason = "there are a few replies")]
    let each = best * 1e6 / replies.len() as f64;
    (right, each)
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let file = std::env::args().nth(1).expect("the rows: corpus/dialects.json");
    let rows: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(file).expect("a file")).expect("JSON");
    let calc = GadgetSpec { parameters: schema(), ..GadgetSpec::new("Calc", "") };
    let registry = Registry::new([calc]).expect("the name is valid");
    let dialects = Dialects::all();
    let limits = Limits::default();
    let rules = Rules { dialects: &dialects, registry: &registry, limits: &limits, anchoring: Anchoring::Anywhere };
    let tool = json!({"type": "function", "function": {"name": "Calc", "description": "", "parameters": schema()}});
    let tools: Vec<Tool> = vec![serde_json::from_value(tool).expect("a tool")];
    let definitions = [ToolDefinition { name: "Calc".to_owned(), parameters: Some(schema()), strict: None }];
    let factory = ParserFactory::new();
    println!("| form | gadgetry: right, µs | tool-parser 1.10.0 | dynamo-parsers 11.0.1 (whole) |\n|---|--:|--:|--:|");
    for row in rows.iter().filter(|row| row["dialect"] != "custom") {
        let form = row["form"].as_str().expect("a form");
        let call = |text: &str, number: &str| {
            let is_json = row["encoding"] == "json";
            let written = if is_json { Value::from(text).to_string() } else { text.to_owned() };
            form.replacen("{n}", number, 1).replacen("{text}", &written, 1)
        };
        let replies: Vec<(String, Calls)> = TEXTS
            .iter()
            .map(|text| {
                let calls = vec![
                    ("Calc".to_owned(), json!({"text": text, "n": 1})),
                    ("Calc".to_owned(), json!({"text": "b", "n": 2})),
                ];
                (format!("One.\n{}\n{}", call(text, "1"), call("b", "2")), calls)
            })
            .collect();
        let names = NAMES.iter().find(|(begin, ..)| form.starts_with(begin));
        let (_, theirs, dynamos) = names.copied().unwrap_or(("", "", ""));
        let shown = |(right, each): (usize, f64)| format!("{right} of {}, {each:.1}", replies.len());
        let our = shown(measured(&replies, |reply| ours(&pieces(reply), &rules)));
        let their = if theirs.is_empty() || factory.registry().create_parser(theirs).is_none() {
            "–".to_owned()
        } else {
            shown(measured(&replies, |reply| of_tool_parser(&factory, theirs, &pieces(reply), &tools)))
        };
        let dynamo = if dynamos.is_empty() {
            "–".to_owned()
        } else {
            shown(measured(&replies, |reply| of_dynamo(dynamos, reply, &definitions)))
        };
        let begin: String = form.chars().take(28).collect();
        let begin = begin.replace('\n', "⏎").replace('|', "\\|");
        let dialect = row["dialect"].as_str().unwrap_or_default();
        println!("| {dialect} `{begin}` | {our} | {their} | {dynamo} |");
    }
}
