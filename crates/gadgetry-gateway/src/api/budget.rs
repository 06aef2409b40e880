//! What a request may make the gateway do: counted before anything of it is compiled.

use serde_json::Value;

use super::Refusal;
use crate::exchange::{ClientRequest, Tool};

/// Steps to prepare the tools of a request: about one for each JSON value in their schemas.
const TOOLS: usize = 30_000;

/// Steps of a tool in addition to those of its schema.
const TOOL: usize = 20;

/// Steps of a regular expression.
const PATTERN: usize = 20;

/// Stop sequences.
const STOPS: usize = 64;

/// Bytes of a stop sequence.
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

    use crate::Api;

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
            let refused = Api::Chat.decode(body).err().and_then(|it| it.field);
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
