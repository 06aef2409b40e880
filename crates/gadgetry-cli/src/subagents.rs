//! Subagents of files such as `.claude/agents/reviewer.md`, and the gadget by which the model runs one.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use gadgetry::models::ModelRegistry;
use gadgetry::proto::call::Outcome;
use gadgetry::proto::schema::{GadgetSpec, OnInterrupt};
use gadgetry::{AgentBuilder, DynGadget, ExecutionContext, IntoGadget as _, Model, Skill, from_fn};
use serde_json::{Value, json};

use crate::cli::{ModelArgs, ServerArgs};
use crate::connect::{self, ModelOverrides};
use crate::lines::{one_line, short};

/// The name of the gadget.
pub(crate) const RUN_AGENT: &str = "RunAgent";

/// Gadgets by the names that other programs have for theirs.
const NAMES: [(&str, &str); 11] = [
    ("Bash", "RunCommand"),
    ("Edit", "EditFile"),
    ("Glob", "Search"),
    ("Grep", "Search"),
    ("LS", "ListDirectory"),
    ("MultiEdit", "EditFile"),
    ("NotebookEdit", "EditFile"),
    ("Read", "ReadFile"),
    ("Skill", "LoadSkill"),
    ("WebFetch", "HttpFetch"),
    ("Write", "WriteFile"),
];

/// A subagent.
#[derive(Clone)]
struct Subagent {
    description: String,
    system: String,
    /// The names of its gadgets; `None` for those of the run.
    tools: Option<Vec<String>>,
    /// Its model; `None` for that of the run.
    model: Option<Arc<dyn Model>>,
}

/// Subagents by name.
#[derive(Clone, Default)]
pub(crate) struct Subagents(BTreeMap<String, Subagent>);

impl Subagents {
    /// Reads the subagents of files. A model that cannot be used is a note, and that of the run is used.
    pub(crate) async fn of(
        files: &[Skill],
        model: &ModelArgs,
        catalog: &ModelRegistry,
        notes: &mut Vec<String>,
    ) -> Self {
        let mut all = BTreeMap::new();
        for file in files {
            let other = &file.front_matter().other;
            let name = other.get("model").and_then(Value::as_str);
            let name = name
                .map(str::trim)
                .filter(|it| !matches!(*it, "" | "inherit"));
            let own = match name {
                Some(name) => match own_model(name, model, catalog).await {
                    Ok(own) => Some(own),
                    Err(why) => {
                        let (agent, name) = (file.name(), one_line(name));
                        notes.push(format!(
                            "subagent {agent} uses the model of the run, not {name}: {}",
                            one_line(&why)
                        ));
                        None
                    }
                },
                None => None,
            };
            let agent = Subagent {
                description: short(file.description()),
                system: file.body().to_owned(),
                tools: other.get("tools").and_then(tools),
                model: own,
            };
            all.insert(file.name().to_owned(), agent);
        }
        Self(all)
    }

    /// The gadget that runs one of them, each with some of `gadgets`; `None` without subagents. `style` has how calls are written.
    pub(crate) fn gadget(
        &self,
        style: &AgentBuilder,
        gadgets: &[Arc<dyn DynGadget>],
    ) -> Option<Arc<dyn DynGadget>> {
        if self.0.is_empty() {
            return None;
        }
        let builders = self.0.iter().map(|(name, agent)| {
            let has = |gadget: &&Arc<dyn DynGadget>| {
                let tools = agent.tools.as_ref();
                tools.is_none_or(|it| it.contains(&gadget.spec().name))
            };
            let chosen = gadgets.iter().filter(has).cloned();
            let mut builder = style
                .clone()
                .name(name.as_str())
                .gadgets(chosen.collect::<Vec<_>>());
            if !agent.system.is_empty() {
                builder = builder.system(&agent.system);
            }
            if let Some(model) = &agent.model {
                builder = builder.model(Arc::clone(model));
            }
            (name.clone(), builder)
        });
        let builders: BTreeMap<String, AgentBuilder> = builders.collect();
        let gadget = from_fn(self.spec(), move |parameters: Value, context| {
            let text = |name: &str| parameters[name].as_str().unwrap_or_default().to_owned();
            let (name, prompt) = (text("agent"), text("prompt"));
            let builder = builders.get(&name).cloned();
            async move {
                match builder {
                    Some(builder) => answer(builder, prompt, &context).await,
                    None => Outcome::error(format!("there is no subagent {name:?}")),
                }
            }
        });
        Some(gadget.into_gadget())
    }

    fn spec(&self) -> GadgetSpec {
        let mut description = "Runs a subagent, which works on a task by itself and returns its answer. It sees the prompt and \
            nothing else of this conversation. The subagents:"
            .to_owned();
        for (name, agent) in &self.0 {
            // Writing to a string cannot fail.
            let _ = write!(description, "\n- {name}: {}", agent.description);
        }
        let names: Vec<&String> = self.0.keys().collect();
        let properties = json!({
            "agent": { "type": "string", "enum": names, "description": "The name of the subagent" },
            "prompt": { "type": "string", "description": "The task, with all that the subagent has to know" },
        });
        GadgetSpec {
            name: RUN_AGENT.to_owned(),
            description,
            parameters: json!({ "type": "object", "properties": properties, "required": ["agent", "prompt"] }),
            // What it had finished is not done again.
            on_interrupt: OnInterrupt::Rerun,
            ..GadgetSpec::default()
        }
    }
}

async fn answer(builder: AgentBuilder, prompt: String, context: &ExecutionContext) -> Outcome {
    let agent = match context.spawn_agent(builder) {
        Ok(agent) => agent,
        Err(error) => return Outcome::error(error.to_string()),
    };
    match agent.ask(prompt).text().await {
        Ok(answer) => Outcome::ok(answer),
        Err(error) => Outcome::error(error.to_string()),
    }
}

/// The model that a subagent names, reached without what the user has said about the server of another provider.
async fn own_model(
    name: &str,
    model: &ModelArgs,
    catalog: &ModelRegistry,
) -> Result<Arc<dyn Model>, String> {
    if model.server.base_url.is_some() {
        return Err("all requests go to --base-url".to_owned());
    }
    let plain = ServerArgs {
        headers: Vec::new(),
        api_key_env: None,
        extra_body: None,
        ..model.server.clone()
    };
    let server = if connect::is_elsewhere(model.name(), name) {
        &plain
    } else {
        &model.server
    };
    let overrides = ModelOverrides {
        reads_facts: true,
        ..ModelOverrides::plain(server)
    };
    let found = connect::model(name, &overrides, catalog).await;
    found.map_err(|error| error.to_string())
}

/// Names of gadgets: a list, or a text with commas. A tool with a pattern is left out, since all of the gadget would be more.
fn tools(value: &Value) -> Option<Vec<String>> {
    let named = |name: &str| {
        let name = name.trim();
        let ours = NAMES.iter().find(|(theirs, _)| *theirs == name);
        ours.map_or(name, |(_, ours)| *ours).to_owned()
    };
    match value {
        Value::String(text) if text.trim() == "*" => None,
        Value::String(text) => Some(text.split(',').map(named).collect()),
        Value::Array(items) => Some(items.iter().filter_map(Value::as_str).map(named).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tools() {
        let check = |value: Value, expected: Option<&[&str]>| {
            let found = tools(&value);
            let found: Option<Vec<&str>> = found
                .as_ref()
                .map(|it| it.iter().map(String::as_str).collect());
            assert_eq!(found.as_deref(), expected, "{value}");
        };
        check(json!("Read, Grep"), Some(&["ReadFile", "Search"]));
        check(
            json!(["Bash", "mcp__x__y"]),
            Some(&["RunCommand", "mcp__x__y"]),
        );
        check(json!("Bash(git log:*)"), Some(&["Bash(git log:*)"]));
        check(json!("*"), None);
        check(json!(null), None);
    }
}
