//! Limits on the work of a request, counted before any part of it is compiled.

use gadgetry_validator::{PATTERNS, patterns_bytes};
use serde_json::Value;

use super::Refusal;
use crate::exchange::{ClientRequest, Tool};

/// Steps to prepare the tools of a request: about one for each JSON value in their schemas.
const TOOLS: usize = 30_000;

/// Steps of a tool in addition to those of its schema.
const TOOL: usize = 20;

/// Steps of a regular expression.
const PATTERN: usize = 20;

/// Maximum number of stop sequences.
const STOPS: usize = 64;

/// Maximum bytes of a stop sequence.
const STOP: usize = 1_024;

/// Refuses a request that would cost too much.
pub(super) fn check(request: &ClientRequest) -> Result<(), Refusal> {
    let stops = &request.options.stop;
    if stops.len() > STOPS || stops.iter().any(|stop| stop.len() > STOP) {
        let message = format!("more than {STOPS} stop sequences, or one of more than {STOP} bytes");
        return Err(Refusal::new("stop", message));
    }
    let cost = |tool: &Tool| TOOL + steps(&tool.schema);
    let total: usize = request.tools.iter().map(cost).sum();
    if total > TOOLS {
        let message = format!(
            "the tools of the request are too many, or their schemas too large: {total} steps to prepare them, of \
             {TOOLS}. A value of a schema is a step, a tool {TOOL} and a regular expression {PATTERN}"
        );
        return Err(Refusal::new("tools", message));
    }
    Ok(())
}

/// Returns the bytes that the patterns of tools take when compiled. Refuses patterns that are too large.
pub(crate) fn patterns(tools: &[Tool]) -> Result<usize, Refusal> {
    let mut bytes = 0;
    for tool in tools {
        bytes += patterns_bytes(&tool.schema);
        if bytes > PATTERNS {
            let message = format!(
                "the patterns of the tools' schemas are too large, at the latest with those of the tool {:?}: compiled they \
                 would take more than {PATTERNS} bytes. A repetition such as {{1,255}} takes as much as what it repeats, as \
                 many times",
                tool.name
            );
            return Err(Refusal::new("tools", message));
        }
    }
    Ok(bytes)
}

fn steps(schema: &Value) -> usize {
    match schema {
        Value::Array(items) => 1 + items.iter().map(steps).sum::<usize>(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| {
                let patterns = match (name.as_str(), value) {
                    ("pattern", _) => 1,
                    ("patternProperties", Value::Object(patterns)) => patterns.len(),
                    _ => 0,
                };
                PATTERN * patterns + steps(value)
            });
            1 + fields.sum::<usize>()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::patterns;
    use crate::api::ClientApi;
    use crate::exchange::Tool;

    /// 200 patterns of 20 bytes were a gigabyte.
    #[test]
    fn patterns_have_a_limit_over_all_tools() {
        let check = |pattern: &str, properties: usize, tools: usize, is_fine: bool| {
            let tool = |tool: usize| {
                let schema = |at| json!({"pattern": format!("^{pattern}{tool}x{at}$")});
                let all = (0..properties).map(|at| (format!("p{at}"), schema(at)));
                let all: serde_json::Map<_, _> = all.collect();
                Tool::function("t", "", json!({"type": "object", "properties": all}))
            };
            let tools: Vec<Tool> = (0..tools).map(tool).collect();
            let field = patterns(&tools).err().and_then(|it| it.field);
            assert_eq!(field.is_none(), is_fine, "{pattern} {properties}");
        };
        check("[a-z0-9_-]{1,64}", 50, 1, true);
        check(r"(\w{255}){255}", 1, 1, false);
        check(r"(\w{100}){10}", 5, 1, true);
        check(r"(\w{100}){10}", 100, 1, false);
        check(r"(\w{100}){10}", 1, 100, false);
    }

    #[test]
    fn costs_are_counted_before_they_arise() {
        let check = |count: usize, schema: &Value, stops: &[&str], field: Option<&str>| {
            let tools = (0..count).map(|at| {
                json!({"type": "function", "function": {"name": format!("t{at}"), "parameters": schema}})
            });
            let body = json!({
                "model": "m",
                "messages": [{"role": "user", "content": "x"}],
                "tools": tools.collect::<Vec<_>>(),
                "stop": stops,
            });
            let refused = ClientApi::Chat.decode(body).err().and_then(|it| it.field);
            assert_eq!(refused.as_deref(), field, "{count}");
        };
        let properties = |count: usize, of: &Value| {
            let all = (0..count).map(|at| (format!("p{at}"), of.clone()));
            json!({"type": "object", "properties": all.collect::<serde_json::Map<_, _>>()})
        };
        let text = json!({"type": "string"});
        check(1, &properties(14_900, &text), &[], None);
        check(1, &properties(15_000, &text), &[], Some("tools"));
        check(2_000, &properties(100, &text), &[], Some("tools"));
        check(1_400, &json!({}), &[], None);
        check(1_500, &json!({}), &[], Some("tools"));
        check(
            1,
            &properties(1_500, &json!({"pattern": "a"})),
            &[],
            Some("tools"),
        );
        check(1, &json!({}), &["x"; 64], None);
        check(1, &json!({}), &["x"; 65], Some("stop"));
        check(1, &json!({}), &[&"x".repeat(1_025)], Some("stop"));
    }
}
