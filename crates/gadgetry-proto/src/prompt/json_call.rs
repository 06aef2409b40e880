//! A call as JSON.

use serde_json::Value;

use crate::json::spaced;

/// A call in the form [`CallForm::Json`](crate::call_form::CallForm::Json), without a line break at its end. It has blanks after colons
/// and commas, as the JSON has that models were trained on.
///
/// ```
/// use gadgetry_proto::prompt::json_call;
/// let call = json_call("add", &serde_json::json!({ "numbers": [1, 2] }));
/// assert_eq!(call, r#"<tool_call>
/// {"name": "add", "arguments": {"numbers": [1, 2]}}
/// </tool_call>"#);
/// ```
pub fn json_call(name: &str, arguments: &Value) -> String {
    let (name, arguments) = (spaced(&Value::from(name)), spaced(arguments));
    format!("<tool_call>\n{{\"name\": {name}, \"arguments\": {arguments}}}\n</tool_call>")
}
