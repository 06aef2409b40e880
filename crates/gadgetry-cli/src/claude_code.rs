//! Names of Claude Code's tools and of their parameters, for files that were written for it.

use serde_json::{Map, Value};

/// A tool of Claude Code that is a gadget here.
struct Tool {
    name: &'static str,
    gadget: &'static str,
    /// The names of its parameters there and here. Others have the same name, or are not known there.
    parameters: &'static [(&'static str, &'static str)],
}

const TOOLS: [Tool; 13] = [
    tool("Agent", "RunAgent", &AGENT),
    tool("Bash", "RunCommand", &[]),
    tool("Edit", "EditFile", &EDIT),
    tool("Glob", "Search", &[]),
    tool("Grep", "Search", &[]),
    tool("LS", "ListDirectory", &[("path", "directoryPath")]),
    tool("MultiEdit", "EditFile", &EDIT),
    tool("NotebookEdit", "EditFile", &EDIT),
    tool("Read", "ReadFile", &FILE),
    tool("Skill", "LoadSkill", &[]),
    tool("Task", "RunAgent", &AGENT),
    tool("WebFetch", "HttpFetch", &[]),
    tool("Write", "WriteFile", &FILE),
];
const AGENT: [(&str, &str); 1] = [("subagent_type", "agent")];
const FILE: [(&str, &str); 1] = [("file_path", "filePath")];
const EDIT: [(&str, &str); 4] = [
    ("file_path", "filePath"),
    ("old_string", "search"),
    ("new_string", "replace"),
    ("replace_all", "replaceAll"),
];

const fn tool(
    name: &'static str,
    gadget: &'static str,
    parameters: &'static [(&'static str, &'static str)],
) -> Tool {
    Tool {
        name,
        gadget,
        parameters,
    }
}

/// Returns the gadget that a tool of Claude Code is.
pub(crate) fn gadget_of(name: &str) -> Option<&'static str> {
    let mut tools = TOOLS.iter();
    tools.find(|it| it.name == name).map(|it| it.gadget)
}

/// Returns the names that a gadget has in Claude Code.
pub(crate) fn names_of(gadget: &str) -> impl Iterator<Item = &'static str> {
    let tools = TOOLS.iter().filter(move |it| it.gadget == gadget);
    tools.map(|it| it.name)
}

/// Returns the names of the tools of Claude Code that are gadgets here.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().map(|it| it.name)
}

/// Returns the parameters of a gadget as those of the tool with this name.
pub(crate) fn to_tool(name: &str, parameters: &Value) -> Value {
    renamed(name, parameters.clone(), |(theirs, ours)| (ours, theirs))
}

/// Returns the parameters of the tool with this name as those of the gadget.
pub(crate) fn to_gadget(name: &str, parameters: Value) -> Value {
    renamed(name, parameters, |names| names)
}

fn renamed(
    name: &str,
    parameters: Value,
    pair: fn((&'static str, &'static str)) -> (&'static str, &'static str),
) -> Value {
    let tool = TOOLS.iter().find(|it| it.name == name);
    let (Value::Object(parameters), Some(tool)) = (&parameters, tool) else {
        return parameters;
    };
    let rename = |key: &str| {
        let mut pairs = tool.parameters.iter().map(|it| pair(*it));
        let found = pairs.find(|(from, _)| *from == key);
        found.map_or_else(|| key.to_owned(), |(_, to)| to.to_owned())
    };
    let fields = parameters.iter();
    let fields: Map<String, Value> = fields
        .map(|(key, value)| (rename(key), value.clone()))
        .collect();
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parameters_there_and_back() {
        let check = |tool: &str, theirs: Value, ours: Value| {
            assert_eq!(to_tool(tool, &ours), theirs, "{tool}");
            assert_eq!(to_gadget(tool, theirs), ours, "{tool}");
        };
        check(
            "Edit",
            json!({ "file_path": "a", "old_string": "x", "new_string": "y", "replace_all": true, "expectedCount": 2 }),
            json!({ "filePath": "a", "search": "x", "replace": "y", "replaceAll": true, "expectedCount": 2 }),
        );
        check(
            "Bash",
            json!({ "command": "ls" }),
            json!({ "command": "ls" }),
        );
        check(
            "LS",
            json!({ "path": "a" }),
            json!({ "directoryPath": "a" }),
        );
        check("Grep", json!({ "path": "a" }), json!({ "path": "a" }));
        check(
            "Unknown",
            json!({ "filePath": "a" }),
            json!({ "filePath": "a" }),
        );
        check("Edit", json!("text"), json!("text"));
    }

    #[test]
    fn names_of_gadgets() {
        let check = |gadget: &str, names: &[&str]| {
            let found: Vec<_> = names_of(gadget).collect();
            assert_eq!(found, names, "{gadget}");
        };
        check("EditFile", &["Edit", "MultiEdit", "NotebookEdit"]);
        check("DeleteFile", &[]);
        check("RunAgent", &["Agent", "Task"]);
    }
}
