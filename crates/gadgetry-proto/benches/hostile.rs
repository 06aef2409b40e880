//! What a hostile model, schema or value may take: memory for endless replies, time for schemas.
//!
//! Each row runs in a process of its own; its largest size is Linux's `VmHWM`. A row past its limit fails the bench.

#![expect(clippy::print_stdout, reason = "a bench prints")]
#![expect(
    clippy::disallowed_methods,
    reason = "a bench measures time and memory, and starts itself"
)]

use std::env;
use std::process::{Command, ExitCode};
use std::time::Instant;

use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::limits::Limits;
use gadgetry_proto::run::{Close, Input, Output, Run, RunConfig, Tools};
use gadgetry_proto::schema::{GadgetSpec, Registry, Schema, parameters};
use gadgetry_proto::tags::BlockConfig;
use gadgetry_proto::time::Time;
use serde_json::{Value, json};

/// Bytes that each reply would have if nothing stopped it.
const REPLY: usize = 1 << 30;
/// MiB that a process may have for one.
const MEMORY: f64 = 200.0;
/// Milliseconds that a schema and a value may take.
const TIME: f64 = 100.0;

const ROW: &str = "--row";

type Piece = fn(usize) -> Delta;

const REPLIES: [(&str, Tools, Piece); 12] = [
    ("prose", Tools::Text, |_| {
        text("one two three four five ", 2_700)
    }),
    ("one byte a delta", Tools::Text, |_| Delta::text("x")),
    ("whitespace", Tools::Text, |_| text("\n", 65_536)),
    ("reasoning", Tools::Text, |_| {
        reasoning("one two three four five ".repeat(2_500))
    }),
    ("text and reasoning by turns", Tools::Text, |n| {
        if n % 2 == 0 {
            reasoning("h".to_owned())
        } else {
            Delta::text("t")
        }
    }),
    ("tags", Tools::Text, |_| text("<a/>", 16_000)),
    ("calls of an unknown gadget", Tools::Text, |_| {
        text("!!!GADGET_START:N\n!!!GADGET_END\n", 2_000)
    }),
    ("calls", Tools::Text, |_| {
        text(
            "!!!GADGET_START:Echo\n!!!ARG:text\nx\n!!!GADGET_END\n",
            1_000,
        )
    }),
    ("an open block", Tools::Text, |n| {
        if n == 0 {
            Delta::text("!!!GADGET_START:Echo\n!!!ARG:text\n")
        } else {
            text("one two three four five ", 2_700)
        }
    }),
    ("arrays of objects", Tools::Text, |_| {
        Delta::text(format!(
            "!!!GADGET_START:Echo\n!!!ARG:list\n[{}0]\n!!!GADGET_END\n",
            "{\"\":0},".repeat(9_000)
        ))
    }),
    ("native arguments", Tools::Native, |n| {
        if n == 0 {
            native_start(0)
        } else {
            native_piece(n)
        }
    }),
    ("native calls", Tools::Native, native_start),
];

fn text(unit: &str, times: usize) -> Delta {
    Delta::text(unit.repeat(times))
}

fn reasoning(delta: String) -> Delta {
    Delta::Reasoning {
        delta,
        metadata: None,
    }
}

fn native_start(n: usize) -> Delta {
    Delta::ToolCallStart {
        id: format!("c{n}"),
        name: "Echo".to_owned(),
    }
}

fn native_piece(_: usize) -> Delta {
    Delta::ToolCallDelta {
        id: "c0".to_owned(),
        delta: "[0,".repeat(20_000),
    }
}

type Judge = fn() -> usize;

/// Schemas and values; each gives how many problems there are, so that nothing is left out.
const SCHEMAS: [(&str, Judge); 6] = [
    ("30 × allOf of two references to the next", || {
        let mut schema = json!({ "type": "object", "$ref": "#/$defs/d0", "$defs": { "d30": {} } });
        for n in 0..30 {
            let next = json!({ "$ref": format!("#/$defs/d{}", n + 1) });
            schema["$defs"][format!("d{n}")] = json!({ "allOf": [next, next] });
        }
        judge(schema, json!({}))
    }),
    ("14 subschemas, each of which refers to all", || {
        let all: Vec<Value> = (0..14)
            .map(|n| json!({ "$ref": format!("#/$defs/d{n}") }))
            .collect();
        let mut schema = json!({ "$ref": "#/$defs/d0", "$defs": {} });
        for n in 0..14 {
            schema["$defs"][format!("d{n}")] = json!({ "allOf": all });
        }
        judge(schema, json!({ "a": {} }))
    }),
    ("20,000 references in a chain", || {
        let mut schema = json!({ "$ref": "#/$defs/d0", "$defs": { "d20000": {} } });
        for n in 0..20_000 {
            schema["$defs"][format!("d{n}")] = json!({ "$ref": format!("#/$defs/d{}", n + 1) });
        }
        judge(schema, json!({}))
    }),
    ("a default that refers to itself", || {
        judge(
            json!({ "properties": { "n": { "$ref": "#", "default": {} } } }),
            json!({}),
        )
    }),
    ("recursive union, 22 KB, written as text", || {
        let schema = Schema::new(expressions()).expect("it is a schema");
        let list = chains(20, json!(1)).to_string();
        let mut built = parameters(
            [("list", list.as_str())],
            Some(&schema),
            "!!!ARG:",
            &Limits::default(),
        )
        .expect("it is JSON");
        schema.complete(&mut built).len()
    }),
    ("recursive union, 22 KB, with a mistake", || {
        judge(expressions(), json!({ "list": chains(20, json!("x")) }))
    }),
];

fn expressions() -> Value {
    let form = |kind: &str| {
        json!({ "type": "object", "required": ["kind", "arg"],
            "properties": { "arg": { "$ref": "#/$defs/Expr" }, "kind": { "const": kind } } })
    };
    json!({
        "type": "object",
        "properties": { "list": { "type": "array", "items": { "$ref": "#/$defs/Expr" } } },
        "$defs": { "Expr": { "oneOf": [form("a"), form("b"), { "type": "integer" }] } },
    })
}

fn chains(count: usize, end: Value) -> Value {
    let one = (0..50).fold(
        end,
        |arg, n| json!({ "arg": arg, "kind": if n % 2 == 0 { "a" } else { "b" } }),
    );
    Value::Array(vec![one; count])
}

fn judge(schema: Value, mut value: Value) -> usize {
    match Registry::new([GadgetSpec {
        name: "G".to_owned(),
        parameters: schema,
        ..GadgetSpec::default()
    }]) {
        Ok(registry) => registry
            .get("G")
            .map_or(0, |gadget| gadget.schema().complete(&mut value).len()),
        Err(_) => 1,
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [flag, number] = arguments.as_slice()
        && flag == ROW
    {
        return row(number.parse().expect("a row has a number"));
    }
    println!("\n### Hostile replies of 1 GiB, and hostile schemas\n");
    println!(
        "| row | bytes read | largest process, MiB (at most {MEMORY}) | ms (schemas: at most {TIME}) | |\n|---|---|---|---|---|"
    );
    let mut failed = false;
    for number in 0..REPLIES.len() + SCHEMAS.len() {
        let program = env::current_exe().expect("this program has a path");
        let child = Command::new(program)
            .args([ROW, &number.to_string()])
            .status();
        failed |= !child.is_ok_and(|status| status.success());
    }
    if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn row(number: usize) -> ExitCode {
    let started = Instant::now();
    let (name, read, is_schema) = if let Some((name, tools, piece)) = REPLIES.get(number) {
        (*name, reply(*tools, *piece), false)
    } else {
        let (name, judge) = SCHEMAS[number - REPLIES.len()];
        std::hint::black_box(judge());
        (name, 0, true)
    };
    let ms = started.elapsed().as_secs_f64() * 1000.0;
    let largest = largest();
    let good = largest.is_none_or(|mib| mib < MEMORY) && (!is_schema || ms < TIME);
    let size = largest.map_or("unknown".to_owned(), |mib| format!("{mib:.1}"));
    let verdict = if good { "PASS" } else { "above" };
    println!("| {name} | {read} | {size} | {ms:.1} | {verdict} |");
    if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Reads a reply until it or the run ends. Returns the bytes that were read.
#[expect(clippy::wildcard_enum_match_arm, reason = "only some outputs matter")]
fn reply(tools: Tools, piece: Piece) -> usize {
    let echo = GadgetSpec {
        name: "Echo".to_owned(),
        parameters: json!({ "type": "object", "properties": { "list": { "type": "array" }, "text": {} } }),
        ..GadgetSpec::default()
    };
    let registry = Registry::new([echo]).expect("it is a gadget");
    let config = RunConfig {
        custom_blocks: vec![BlockConfig::new("a")],
        tools,
        ..RunConfig::default()
    };
    let plan = config.plan(registry).expect("the tag is one");
    let mut run = Run::ask(&plan, "go");
    let (mut read, mut pieces, mut requests, mut reading) = (0, 0, 0, true);
    let mut running = Vec::new();
    loop {
        match run.poll() {
            Output::Send(_) if requests == 1 => return read,
            Output::Send(_) => requests += 1,
            Output::CloseModel => reading = false,
            Output::Start(start) => running.push(start.id),
            Output::Finished(_) => return read,
            Output::Wait(_) => {
                let input = if reading && read < REPLY {
                    let delta = piece(pieces);
                    pieces += 1;
                    read += match &delta {
                        Delta::Text { delta, .. }
                        | Delta::Reasoning { delta, .. }
                        | Delta::ToolCallDelta { delta, .. } => delta.len(),
                        _ => 16,
                    };
                    Input::Delta(delta)
                } else if reading {
                    reading = false;
                    let stop_reason = StopReason::Stop;
                    let end = Delta::MessageEnd {
                        stop_reason,
                        usage: None,
                    };
                    run.handle(Time(0), Input::Delta(end))
                        .expect("the reply is being read");
                    Input::ModelClosed(Close::Ended)
                } else if let Some(id) = running.pop() {
                    Input::Done(id, gadgetry_proto::call::Outcome::ok("ok"))
                } else {
                    return read;
                };
                run.handle(Time(0), input).expect("inputs make sense");
            }
            _ => {}
        }
    }
}

/// The most memory that this process had, in MiB.
fn largest() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib / 1024.0)
}
