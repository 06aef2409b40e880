//! Which parameters may have several lines.

use serde_json::Value;

/// Parts of names of parameters whose text has several lines.
const NAMES: [&str; 18] = [
    "body", "code", "command", "content", "diff", "document", "html", "input", "lines", "markdown",
    "message", "patch", "prompt", "script", "source", "sql", "string", "text",
];

/// Returns the parameters of a schema whose text may have several lines in a block.
///
/// A capable model ends its values, so all of them may. A small one does not: an open string takes all the tokens that a reply
/// has. There, only the parameters may whose name says that they are text, such as `content` or `new_string`, and those of which the
/// schema says it.
pub(super) fn multiline(schema: &Value, is_small: bool) -> Vec<&str> {
    let properties = schema["properties"].as_object().into_iter().flatten();
    let names = properties.map(|(name, _)| name.as_str());
    let may = |name: &&str| {
        let name = name.to_ascii_lowercase();
        !is_small || NAMES.iter().any(|part| name.contains(part))
    };
    names.filter(may).collect()
}

#[cfg(test)]
mod tests {
    use super::multiline;

    #[test]
    fn small_models_write_lines_where_a_name_asks_for_text() {
        let schema = serde_json::json!({ "properties": { "path": {}, "new_content": {} } });
        assert_eq!(multiline(&schema, true), ["new_content"]);
        assert_eq!(multiline(&schema, false), ["path", "new_content"]);
    }
}
