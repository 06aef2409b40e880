//! A grammar of the block format for the tools of a request, in the notation of llama.cpp (GBNF), which vLLM reads too.
//!
//! A model that is constrained by it writes text and blocks, and no malformed block: every block names a tool, has its required
//! parameters in the order of the schema, values of the right type, and its end.
//! The notation: <https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md>.

use std::collections::HashSet;
use std::fmt::Write as _;

use gadgetry::proto::block::Markers;
use serde_json::Value;

use crate::exchange::Toolset;

/// Rules that do not depend on the tools. No line of text begins like a marker: `!!!`.
const COMMON: &str = r#"
line ::= head? "\n"
tail ::= head
head ::= [^!\n] [^\n]* | "!" ([^!\n] [^\n]*)? | "!!" ([^!\n] [^\n]*)?
id ::= [A-Za-z0-9_]+
text ::= head? ("\n" head?)*
integer ::= "-"? ("0" | [1-9] [0-9]*)
number ::= integer ("." [0-9]+)? ([eE] [-+]? [0-9] [0-9]?)?
boolean ::= "true" | "false"
"#;

/// Bytes of a grammar that an upstream is sent. Servers take long to read larger ones, and read them for each request.
pub const LIMIT: usize = 256 << 10;

/// The grammar of replies with blocks of these tools. Its size is that of the schemas, so check it by [`LIMIT`].
///
/// ```
/// use gadgetry::proto::block::Markers;
/// use gadgetry_gateway::exchange::{Tool, Toolset};
/// let schema = serde_json::json!({"properties": {"n": {"type": "integer"}}, "required": ["n"]});
/// let tools = Toolset::new(vec![Tool::function("add", "", schema)])?;
/// let grammar = gadgetry_gateway::grammar::of(&tools, &Markers::default());
/// assert!(grammar.contains(r#"tool-0 ::= "!!!GADGET_START:add:" id "\n" "!!!ARG:n\n" integer "\n" "!!!GADGET_END" "\n""#));
/// # Ok::<(), gadgetry_gateway::exchange::UnusableTool>(())
/// ```
pub fn of(tools: &Toolset, markers: &Markers) -> String {
    let mut names = Vec::new();
    let mut rules = String::new();
    for (number, (name, tool)) in tools.iter().enumerate() {
        names.push(format!("tool-{number}"));
        let start = quoted(&format!("{}{name}:", markers.start()));
        let body = parameters(&tool.schema, markers);
        let end = quoted(markers.end());
        // Writing to a string does not fail.
        let _ = writeln!(
            rules,
            "tool-{number} ::= {start} id \"\\n\" {body}{end} \"\\n\""
        );
    }
    let blocks = names.join(" | ");
    format!(
        "root ::= (line | block)* tail?\nblock ::= {blocks}\n{rules}{}",
        COMMON.trim_start()
    )
}

/// The arguments of a tool, each followed by a space.
fn parameters(schema: &Value, markers: &Markers) -> String {
    let any = format!("({} [^\\n]+ \"\\n\" text \"\\n\")* ", quoted(markers.arg()));
    let Some(properties) = schema["properties"].as_object() else {
        return any;
    };
    let required = schema["required"].as_array().into_iter().flatten();
    let required: HashSet<&str> = required.filter_map(Value::as_str).collect();
    let mut out = String::new();
    for (name, schema) in properties {
        let argument = argument(name, schema, markers);
        if required.contains(name.as_str()) {
            let _ = write!(out, "{argument} ");
        } else {
            let _ = write!(out, "({argument})? ");
        }
    }
    if schema["additionalProperties"].is_object() || schema["additionalProperties"] == true {
        out.push_str(&any);
    }
    out
}

/// One parameter. Objects and arrays are one argument for each value in them, or one of JSON.
fn argument(name: &str, schema: &Value, markers: &Markers) -> String {
    let arg = markers.arg();
    let pointer = name.replace('~', "~0").replace('/', "~1");
    let one = |value: &str| format!("{} {value} \"\\n\"", quoted(&format!("{arg}{pointer}\n")));
    if let Some(values) = schema["enum"].as_array() {
        let plain = |value: &Value| match value {
            Value::String(text) if !text.is_empty() && !text.contains(['\n', '\r']) => {
                Some(quoted(text))
            }
            Value::Number(number) => Some(quoted(&number.to_string())),
            Value::Bool(truth) => Some(quoted(&truth.to_string())),
            _ => None,
        };
        let all: Option<Vec<String>> = values.iter().map(plain).collect();
        if let Some(all) = all.filter(|all| !all.is_empty()) {
            return one(&format!("({})", all.join(" | ")));
        }
    }
    match schema["type"].as_str() {
        Some("integer") => one("integer"),
        Some("number") => one("number"),
        Some("boolean") => one("boolean"),
        Some("string") => one("text"),
        _ => {
            let nested = quoted(&format!("{arg}{pointer}"));
            format!("({nested} (\"/\" [^\\n]+)? \"\\n\" text \"\\n\")+")
        }
    }
}

/// A text as a terminal of the notation.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '"' | '\\' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
