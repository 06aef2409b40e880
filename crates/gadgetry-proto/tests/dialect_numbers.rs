//! Numbers in calls of other forms arrive as those of a block do: with the digits that were written.

use std::fmt::Write as _;
use std::sync::Arc;

use gadgetry_proto::block::Markers;
use gadgetry_proto::call::{Call, Parameters};
use gadgetry_proto::delta::Delta;
use gadgetry_proto::dialect::{DialectCall, Gate, GateRules, Gated};
use gadgetry_proto::limits::Limits;
use gadgetry_proto::reply::{Format, Reader};
use gadgetry_proto::schema::{GadgetSpec, Registry};
use serde_json::{Value, json};

use crate::dialect_invariants::{Row, dialects, rows};

const NUMBERS: [&str; 26] = [
    "0",
    "-0",
    "1",
    "1.0",
    "1.50",
    "0.1",
    "0.1000",
    "0.10000000000000000001",
    "-0.0",
    "3.141592653589793238",
    "9007199254740993",
    "9007199254740993.25",
    "9007199254740993.0",
    "9223372036854775807",
    "-9223372036854775808",
    "-9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
    "12345678901234567890123",
    "1e5",
    "1E+5",
    "1e400",
    "-1e400",
    "1e-400",
    "5e-324",
    "123456789.123456789123456789",
];

/// Types of the parameter, and how a number is written for it.
fn places() -> Vec<(Value, &'static str)> {
    vec![
        (json!({}), "{}"),
        (json!({ "type": "number" }), "{}"),
        (json!({ "type": "integer" }), "{}"),
        (json!({ "type": "string" }), "{}"),
        (json!({ "type": ["number", "string"] }), "{}"),
        (json!({ "type": ["integer", "null"] }), "{}"),
        (json!({}), "[{}]"),
        (
            json!({ "type": "array", "items": { "type": "number" } }),
            "[{}, {}]",
        ),
        (
            json!({ "type": "array", "items": { "type": "string" } }),
            "[{}]",
        ),
        (json!({}), "{\"a\": {\"b\": [{}]}}"),
        (
            json!({ "type": "object", "properties": { "a": { "type": "number" } }, "additionalProperties": { "type": "string" } }),
            "{\"a\": {}, \"b\": {}}",
        ),
    ]
}

fn registry(place: &Value) -> Arc<Registry> {
    let calc = GadgetSpec {
        parameters: json!({ "type": "object", "properties": { "text": { "type": "string" }, "n": place } }),
        ..GadgetSpec::new("Calc", "")
    };
    Arc::new(Registry::new([calc]).expect("the name is valid"))
}

/// The parameters of a block, or what is wrong with them.
fn block(body: &str, registry: &Arc<Registry>) -> Parameters {
    call(body, registry).parameters.clone()
}

pub(crate) fn call(body: &str, registry: &Arc<Registry>) -> Arc<Call> {
    let format = Format {
        markers: Some(Markers::default()),
        ..Format::default()
    };
    let mut reader = Reader::new(format, Vec::new(), Arc::clone(registry)).expect("a format");
    let mut out = Vec::new();
    let block = format!("!!!GADGET_START:Calc\n{body}\n!!!GADGET_END");
    reader.push(Delta::text(block), &mut out);
    let _ = reader.finish(&mut out);
    let call = out.iter().find_map(|delta| {
        let Delta::GadgetCall(call) = delta else {
            return None;
        };
        Some(Arc::clone(call))
    });
    call.expect("a call")
}

fn dialect(row: &Row, number: &str, registry: &Registry) -> Option<Parameters> {
    call_in(row, number, registry).map(|call| call.parameters)
}

pub(crate) fn call_in(row: &Row, number: &str, registry: &Registry) -> Option<DialectCall> {
    let rules = GateRules {
        dialects: &dialects(),
        registry,
        limits: &Limits::default(),
        anchoring: gadgetry_proto::block::Anchoring::Anywhere,
    };
    let (mut gate, mut out) = (Gate::default(), Vec::new());
    gate.push(&row.call("x", number), &rules, &mut out);
    gate.finish(false, &rules, &mut out);
    out.into_iter().find_map(|piece| {
        let Gated::Call(call, _) = piece else {
            return None;
        };
        Some(call)
    })
}

/// The parameters with their keys in one order.
fn shown(parameters: &Parameters) -> String {
    match parameters {
        Parameters::Parsed(value) => format!("{} {}", value["text"], value["n"]),
        Parameters::Malformed(_) => "malformed".to_owned(),
    }
}

#[test]
fn a_number_arrives_as_in_a_block() {
    let mut wrong = String::new();
    for (place, around) in places() {
        let registry = registry(&place);
        for number in NUMBERS {
            let number = around.replace("{}", number);
            let as_json = block(&format!("{{\"text\": \"x\", \"n\": {number}}}"), &registry);
            let as_text = block(&format!("!!!ARG:text\nx\n!!!ARG:n\n{number}"), &registry);
            for row in rows() {
                // Gemma's own form takes what is no number for a text.
                let is_gemma = row.form.contains("call:");
                if is_gemma && number.contains("e400") {
                    let found = dialect(&row, &number, &registry).map(|it| shown(&it));
                    assert!(found.is_some_and(|it| it.contains("e400")), "{number}");
                    continue;
                }
                // Forms whose texts are marked have numbers as JSON has them.
                let is_json = row.encoding == "json" || is_gemma || row.form.contains("DSML");
                let expected = shown(if is_json { &as_json } else { &as_text });
                let found = dialect(&row, &number, &registry);
                let found = found.map_or_else(|| "none".to_owned(), |it| shown(&it));
                // What no block takes may be none.
                if found != expected && !(expected == "malformed" && found == "none") {
                    let _ = writeln!(
                        wrong,
                        "{place} {}: {number}\n  {expected}\n  {found}",
                        row.dialect
                    );
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
