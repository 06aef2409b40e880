//! A call as JSON.

use std::io;

use serde::Serialize as _;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};

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

/// A value on one line, with blanks after colons and commas.
fn spaced(value: &Value) -> String {
    let mut out = Vec::new();
    // Neither a value nor a vector fails.
    _ = value.serialize(&mut Serializer::with_formatter(&mut out, Spaced));
    String::from_utf8(out).unwrap_or_default()
}

struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        separate(writer, first)
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        separate(writer, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

fn separate<W: ?Sized + io::Write>(writer: &mut W, first: bool) -> io::Result<()> {
    if first {
        Ok(())
    } else {
        writer.write_all(b", ")
    }
}
