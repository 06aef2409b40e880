//! A call as JSON.

use serde_json::Value;

/// A call in the form [`CallForm::Json`](crate::call_form::CallForm::Json), without a line break at its end.
///
/// It has no blanks: a model that has written a blank after a colon as a token of its own means to continue with a number, and is lost
/// where a grammar demands a string.
///
/// ```
/// use gadgetry_proto::prompt::json_call;
/// let call = json_call("add", &serde_json::json!({ "numbers": [1, 2] }));
/// assert_eq!(call, r#"<tool_call>
/// {"name":"add","arguments":{"numbers":[1,2]}}
/// </tool_call>"#);
/// ```
pub fn json_call(name: &str, arguments: &Value) -> String {
    let name = Value::from(name);
    format!("<tool_call>\n{{\"name\":{name},\"arguments\":{arguments}}}\n</tool_call>")
}
