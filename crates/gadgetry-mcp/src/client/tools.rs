//! Tools of servers as gadgets, under names that no two of them share.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::future::ready;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use gadgetry::proto::schema::{Registry, RegistryError, SchemaError, Unterminated};
use gadgetry::{CallPreview, DynGadget, ExecutionContext, GadgetSpec, Origin, Outcome, Permission};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::content;
use super::error::ToolWarning;
use super::remote::Remote;

/// Characters of a description.
const DESCRIPTION_LENGTH: usize = 8_000;

/// Characters of the name of a gadget.
const NAME_LENGTH: usize = 128;

/// A tool of a server, as a gadget.
pub(super) struct ToolGadget {
    spec: GadgetSpec,
    tool: Tool,
}

/// A tool of a server.
#[derive(Clone)]
struct Tool {
    remote: Arc<Remote>,
    name: String,
    /// The definition that the model reads.
    definition: String,
}

impl DynGadget for ToolGadget {
    fn spec(&self) -> &GadgetSpec {
        &self.spec
    }

    /// A server may do anything, whatever it says about its tools.
    fn permission(&self) -> Permission {
        Permission::Ask
    }

    fn preview<'a>(&'a self, _: &'a Value) -> BoxFuture<'a, Result<CallPreview, String>> {
        Box::pin(ready(self.tool.calls()))
    }

    /// Calls the tool. Needs a tokio runtime with I/O and time enabled.
    ///
    /// Cancel safety: dropping the future cancels the call at the server.
    fn execute(&self, parameters: Value, context: ExecutionContext) -> BoxFuture<'static, Outcome> {
        let tool = self.tool.clone();
        Box::pin(async move {
            let Value::Object(arguments) = parameters else {
                return Outcome::error("the parameters must be a JSON object");
            };
            let check = || {
                let checked = context.check_approved(&tool.calls()?);
                checked.map_err(|error| error.to_string())
            };
            match tool
                .remote
                .call(&tool.name, arguments, &context, check)
                .await
            {
                Ok(result) => content::outcome(&tool.remote.name, &tool.name, &result),
                Err(error) => Outcome::error(error.to_string()),
            }
        })
    }
}

impl Tool {
    /// Returns what a call would do: the tool as the server defines it now, which may be another one than at the start.
    fn calls(&self) -> Result<CallPreview, String> {
        let (tool, server) = (&self.name, &self.remote.name);
        let lists = self.remote.lists();
        let mut tools = lists.tools.iter();
        let Some(now) = tools.find(|it| name_of(it) == Some(tool.as_str())) else {
            return Err(format!(
                "the MCP server {server:?} has no tool {tool:?} any more"
            ));
        };
        let definition = definition(now);
        let mut preview = CallPreview::default();
        preview = preview.note(format!("tool {tool:?} of the MCP server {server:?}"));
        if definition != self.definition {
            preview =
                preview.note("the server has changed what this tool is since it was connected");
        }
        Ok(preview.origin(Origin {
            server: server.clone(),
            definition,
        }))
    }
}

/// A hash of all that a server says about a tool: 96 bits, which no server can choose.
fn definition(tool: &Value) -> String {
    let hash = Sha256::digest(tool.to_string());
    let mut text = String::new();
    for byte in hash.iter().take(12) {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The gadgets for the tools of all servers, and the tools that cannot be offered.
pub(super) fn gadgets(
    remotes: &[Arc<Remote>],
    reserved: &BTreeSet<String>,
) -> (Vec<Arc<dyn DynGadget>>, Vec<ToolWarning>) {
    let lists: Vec<_> = remotes
        .iter()
        .map(|remote| (remote, remote.lists()))
        .collect();
    let mut uses: BTreeMap<String, usize> = BTreeMap::new();
    for (_, lists) in &lists {
        let names = lists.tools.iter().filter_map(name_of);
        // Twice at one server is a mistake of that server, which a prefix does not solve.
        let names: BTreeSet<String> = names.map(|name| gadget_name(name).to_lowercase()).collect();
        for name in names {
            *uses.entry(name).or_default() += 1;
        }
    }
    let prefixes = remotes.iter().map(|remote| {
        let prefix = gadget_name(&prefix(&remote.name)).to_lowercase();
        (remote.name.as_str(), prefix)
    });
    let prefixes: Vec<(&str, String)> = prefixes.collect();
    let mut taken: BTreeSet<String> = reserved.iter().map(|name| name.to_lowercase()).collect();
    let (mut gadgets, mut warnings) = (Vec::new(), Vec::new());
    for (remote, lists) in lists {
        for tool in &lists.tools {
            let plain = gadget_name(name_of(tool).unwrap_or_default());
            let key = plain.to_lowercase();
            let is_free = uses.get(&key).is_none_or(|uses| *uses < 2)
                && !reserved_has(reserved, &key)
                && !is_of_another(&prefixes, &remote.name, &key);
            let name = if is_free {
                plain
            } else {
                gadget_name(&format!("{}{plain}", prefix(&remote.name)))
            };
            match gadget(remote, tool, &name, &taken) {
                Ok(gadget) => {
                    taken.insert(gadget.spec.name.to_lowercase());
                    gadgets.push(Arc::new(gadget) as Arc<dyn DynGadget>);
                }
                Err(reason) => warnings.push(ToolWarning {
                    server: remote.name.clone(),
                    tool: name_of(tool).unwrap_or_default().to_owned(),
                    reason,
                }),
            }
        }
    }
    (gadgets, warnings)
}

fn reserved_has(reserved: &BTreeSet<String>, key: &str) -> bool {
    reserved.iter().any(|name| name.to_lowercase() == key)
}

/// Returns the prefix of a gadget's name if the name of its tool is not free.
fn prefix(server: &str) -> String {
    format!("{server}__")
}

/// Returns whether a name begins with the prefix of another server than `server`, whose tool it would seem to be.
fn is_of_another(prefixes: &[(&str, String)], server: &str, key: &str) -> bool {
    let mut others = prefixes.iter().filter(|(other, _)| *other != server);
    others.any(|(_, prefix)| key.starts_with(prefix))
}

fn name_of(tool: &Value) -> Option<&str> {
    tool.get("name")?.as_str().filter(|name| !name.is_empty())
}

/// The name with what a block cannot carry replaced, and what has a meaning in the pattern of an approval rule.
fn gadget_name(name: &str) -> String {
    let special = [':', '*', '(', ')', '\\'];
    let allowed = |c: char| !(special.contains(&c) || c.is_whitespace() || c.is_control());
    let name = name.chars().map(|c| if allowed(c) { c } else { '_' });
    let name: String = name.take(NAME_LENGTH).collect();
    name.strip_prefix("!!!")
        .map_or(name.clone(), |rest| format!("___{rest}"))
}

fn gadget(
    remote: &Arc<Remote>,
    tool: &Value,
    name: &str,
    taken: &BTreeSet<String>,
) -> Result<ToolGadget, String> {
    let Some(tool_name) = name_of(tool) else {
        return Err("it has no name".to_owned());
    };
    if taken.contains(&name.to_lowercase()) {
        return Err(format!("the name {name:?} is already taken"));
    }
    let text = |key: &str| tool.get(key)?.as_str().filter(|it| !it.trim().is_empty());
    let description = text("description").or(text("title")).map_or_else(
        || format!("MCP tool {tool_name:?} of the server {:?}", remote.name),
        |text| text.chars().take(DESCRIPTION_LENGTH).collect(),
    );
    let schema = match tool.get("inputSchema") {
        Some(schema @ (Value::Object(_) | Value::Bool(true))) => schema.clone(),
        // Arguments are an object, whatever the server has written.
        _ => json!({ "type": "object" }),
    };
    let spec = |parameters| GadgetSpec {
        // A call may have an effect, and a proxy may have cut it off.
        unterminated: Some(Unterminated::Confirm),
        ..GadgetSpec::new(name, description.clone()).parameters(parameters)
    };
    let compiled = match Registry::compile(spec(schema)) {
        Err(RegistryError::Schema {
            error: SchemaError::NotAnObject { .. },
            ..
        }) => Registry::compile(spec(json!({ "type": "object" }))),
        compiled => compiled,
    };
    match compiled {
        Ok(compiled) => Ok(ToolGadget {
            spec: compiled.spec().clone(),
            tool: Tool {
                remote: Arc::clone(remote),
                name: tool_name.to_owned(),
                definition: definition(tool),
            },
        }),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::{gadget_name, is_of_another};

    #[test]
    fn names() {
        for (name, expected) in [
            ("read_file", "read_file"),
            ("two words:x", "two_words_x"),
            ("Read*", "Read_"),
            ("Run(cargo *)", "Run_cargo___"),
            ("a\\b", "a_b"),
            ("!!!GADGET_END", "___GADGET_END"),
        ] {
            assert_eq!(gadget_name(name), expected);
        }
    }

    #[test]
    fn the_prefix_of_another_server() {
        let prefixes = [("a", "a__".to_owned()), ("b", "b__".to_owned())];
        for (server, name, expected) in [
            ("a", "b__read", true),
            ("a", "a__read", false),
            ("a", "b_read", false),
            ("a", "c__read", false),
            ("b", "a__", true),
        ] {
            assert_eq!(is_of_another(&prefixes, server, name), expected, "{name}");
        }
    }
}
