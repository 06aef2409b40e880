//! Subagents of files such as `.claude/agents/reviewer.md`, and the gadget by which the model runs one.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use gadgetry::models::ModelRegistry;
use gadgetry::proto::call::Outcome;
use gadgetry::proto::schema::{GadgetSpec, OnInterrupt};
use gadgetry::{AgentBuilder, DynGadget, ExecutionContext, IntoGadget as _, Model, Skill, from_fn};
use serde_json::{Value, json};

use crate::claude_code;
use crate::cli::{ModelArgs, ServerArgs};
use crate::connect::{self, ModelOverrides};
use crate::lines::{one_line, short};
use crate::project::agent_field;

/// The name of the gadget.
pub(crate) const RUN_AGENT: &str = "RunAgent";

/// A subagent.
#[derive(Clone)]
struct Subagent {
    description: String,
    system: String,
    tools: Choice,
    /// Its model; `None` for that of the run.
    model: Option<Arc<dyn Model>>,
}

/// The gadgets of the run that a subagent has.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Choice {
    /// The names of its gadgets; `None` for those of the run.
    only: Option<Vec<String>>,
    /// The names of gadgets that it does not have.
    without: Vec<String>,
}

impl Choice {
    /// Reads `tools` and `disallowedTools`, or what other programs call the first of them. What cannot be read gives no gadget.
    fn of(file: &Skill) -> Result<Self, &'static str> {
        let named = |key: &str| agent_field(file, key);
        let only = match named("tools").or_else(|| named("allowedTools")) {
            Some(value) => tools(value)?,
            None => match &*file.front_matter().allowed_tools {
                [] => None,
                names => Some(names.iter().map(|it| ours(it)).collect()),
            },
        };
        let without = match named("disallowedTools").map(tools) {
            Some(Ok(None)) => return Err("disallowedTools excludes everything"),
            Some(names) => names?.unwrap_or_default(),
            None => Vec::new(),
        };
        // Less than all of a gadget is excluded, so all of it is.
        let whole = |name: String| match name.split_once('(') {
            Some((name, _)) => ours(name),
            None => name,
        };
        Ok(Self {
            only,
            without: without.into_iter().map(whole).collect(),
        })
    }

    fn none() -> Self {
        Self {
            only: Some(Vec::new()),
            without: Vec::new(),
        }
    }

    fn has(&self, gadget: &str) -> bool {
        let is_named = |names: &Vec<String>| names.iter().any(|it| it == gadget);
        self.only.as_ref().is_none_or(is_named) && !is_named(&self.without)
    }
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
            let name = agent_field(file, "model").and_then(Value::as_str);
            let name = name
                .map(str::trim)
                .filter(|it| !matches!(*it, "" | "inherit"));
            let own = match name {
                Some(name) => match own_model(name, model, catalog).await {
                    Ok(own) => Some(own),
                    Err(why) => {
                        let (agent, name, why) = (file.name(), one_line(name), one_line(&why));
                        // What could be done about it is said when the model is named as that of a run.
                        let why = why.split([';', '.']).next().unwrap_or_default();
                        notes.push(format!(
                            "subagent {agent} uses the model of the run, not {name}: {why}"
                        ));
                        None
                    }
                },
                None => None,
            };
            let tools = Choice::of(file).unwrap_or_else(|why| {
                let agent = file.name();
                notes.push(format!("subagent {agent} has no gadgets: {why}"));
                Choice::none()
            });
            let agent = Subagent {
                description: short(file.description()),
                system: file.body().to_owned(),
                tools,
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
            let has = |gadget: &&Arc<dyn DynGadget>| agent.tools.has(&gadget.spec().name);
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

/// The name that a tool has here.
fn ours(name: &str) -> String {
    let name = name.trim();
    claude_code::gadget_of(name).unwrap_or(name).to_owned()
}

/// Names of gadgets: a list, or a text with commas; `None` for all. A tool with a pattern is not a name, since all of the gadget would be
/// more.
fn tools(value: &Value) -> Result<Option<Vec<String>>, &'static str> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) if text.trim() == "*" => Ok(None),
        Value::String(text) => Ok(Some(text.split(',').map(ours).collect())),
        Value::Array(items) => {
            let names = items.iter().map(|it| it.as_str().map(ours));
            let names = names.collect::<Option<_>>();
            names.map(Some).ok_or("each tool needs a name")
        }
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            Err("tools are a list of names, or a text with commas")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of these gadgets a subagent with this front matter has; an error if it has none because of a mistake.
    #[track_caller]
    fn check(front: &str, expected: Result<&[&str], ()>) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.md");
        let text = format!("---\ndescription: d\n{front}\n---\nHelp.\n");
        std::fs::write(&path, text).expect("a file");
        let choice = Choice::of(&Skill::from_markdown(&path).expect("a subagent"));
        let all = ["ReadFile", "Search", "WriteFile", "RunCommand", "mcp__x__y"];
        let found = choice.as_ref().map(|choice| {
            let has = all.into_iter().filter(|it| choice.has(it));
            has.collect::<Vec<_>>()
        });
        assert_eq!(found.as_deref().map_err(|_| ()), expected, "{front}");
    }

    #[test]
    fn names_of_tools() {
        let all: &[&str] = &["ReadFile", "Search", "WriteFile", "RunCommand", "mcp__x__y"];
        for front in ["", "tools:", "tools: '*'", "tools: null", "color: red"] {
            check(front, Ok(all));
        }
        check("tools: Read, Grep", Ok(&["ReadFile", "Search"]));
        check("tools: [Bash, mcp__x__y]", Ok(&["RunCommand", "mcp__x__y"]));
        // Keys in whatever case, and as skills have them.
        for key in [
            "Tools",
            "TOOLS",
            "allowed-tools",
            "allowed_tools",
            "allowedTools",
        ] {
            check(&format!("{key}: Read"), Ok(&["ReadFile"]));
        }
        check(
            "disallowedTools: Write, Bash(rm:*)",
            Ok(&["ReadFile", "Search", "mcp__x__y"]),
        );
        check(
            "disallowed-tools: [Write, Bash, Grep]",
            Ok(&["ReadFile", "mcp__x__y"]),
        );
        check(
            "tools: Read, Write\ndisallowedTools: Write",
            Ok(&["ReadFile"]),
        );
        // What is no list of names gives nothing, and not everything.
        for front in [
            "tools: []",
            "tools: ''",
            "tools: read",
            "tools: Bash(git log:*)",
            "tools: [Bash(x)]",
        ] {
            check(front, Ok(&[]));
        }
        for value in ["5", "true", "false", "{ Read: true }", "[5]", "[[Write]]"] {
            check(&format!("tools: {value}"), Err(()));
            check(&format!("disallowedTools: {value}"), Err(()));
        }
        check("disallowedTools: '*'", Err(()));
    }
}
