//! The gadget that loads skills for the model.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use gadgetry_proto::call::Outcome;
use gadgetry_proto::schema::{Example, GadgetSpec, OnInterrupt, closest};
use serde_json::{Value, json};

use super::Skill;
use super::error::did_you_mean;
use super::instructions::LOAD_SKILL;
use crate::gadget::{DynGadget, IntoGadget as _, from_fn};

/// Maximum number of characters of the list of skills.
const LIST_LENGTH: usize = 8_000;

/// Maximum number of characters of each description in it.
const DESCRIPTION_LENGTH: usize = 250;

/// Space for the line that counts the omitted skills.
const REMAINDER_LENGTH: usize = 100;

type ByName = BTreeMap<String, Arc<Skill>>;

pub(super) fn load_skill(skills: ByName) -> Arc<dyn DynGadget> {
    let spec = spec(&skills);
    let skills = Arc::new(skills);
    let gadget = from_fn(spec, move |parameters, _context| {
        let skills = Arc::clone(&skills);
        // Files are read, which may take a while.
        let work = tokio::task::spawn_blocking(move || answer(&skills, &parameters));
        async move {
            match work.await {
                Ok(Ok(text)) => Outcome::ok(text),
                Ok(Err(message)) => Outcome::error(message),
                Err(error) => Outcome::error(format!("the skill could not be loaded: {error}")),
            }
        }
    });
    gadget.into_gadget()
}

fn spec(skills: &ByName) -> GadgetSpec {
    let properties = json!({
        "skill": { "type": "string", "description": "The name of the skill" },
        "arguments": {
            "type": "string",
            "description": "What the skill is to work on, if its instructions take arguments",
        },
        "resource": {
            "type": "string",
            "description": "Instead of the instructions, read this file of the skill: a path that the skill or its list of files names",
        },
    });
    let examples = skills.keys().next().map(|name| Example {
        params: json!({ "skill": name }),
        output: None,
        comment: Some("Read the instructions of a skill".to_owned()),
    });
    GadgetSpec {
        name: LOAD_SKILL.to_owned(),
        description: description(skills),
        parameters: json!({ "type": "object", "properties": properties, "required": ["skill"] }),
        examples: examples.into_iter().collect(),
        // Instructions must not be compacted away during the task.
        sticky_result: true,
        // It only reads.
        on_interrupt: OnInterrupt::Rerun,
        ..GadgetSpec::default()
    }
}

fn description(skills: &ByName) -> String {
    if skills.is_empty() {
        return "Loads a skill, which is instructions for a kind of task. There are no skills."
            .to_owned();
    }
    format!(
        "Loads a skill, which is instructions for a kind of task. When a task fits a skill, load the skill before you begin, and follow it. The skills:\n{}",
        list(skills)
    )
}

/// Returns a line for each skill, as far as there is space.
fn list(skills: &ByName) -> String {
    let line = |skill: &Arc<Skill>| {
        let description = cut(skill.description(), DESCRIPTION_LENGTH);
        format!("- {}: {description}", skill.name())
    };
    let lines: Vec<String> = skills.values().map(line).collect();
    // Where each line ends, with its newline.
    let ends: Vec<usize> = (lines.iter())
        .scan(0, |end, line| {
            *end += line.chars().count() + 1;
            Some(*end)
        })
        .collect();
    let fitting = |room: usize| ends.partition_point(|end| *end <= room + 1);
    let mut shown = fitting(LIST_LENGTH);
    if shown < lines.len() {
        shown = fitting(LIST_LENGTH - REMAINDER_LENGTH);
    }
    let mut list = lines[..shown].join("\n");
    if shown < lines.len() {
        let left_out = lines.len() - shown;
        let _ = write!(
            list,
            "\n{left_out} more are not listed here; they can be loaded by their names, too."
        );
    }
    list
}

/// The first characters of `text`, of which the last is `…` if there were more.
fn cut(text: &str, characters: usize) -> String {
    if text.chars().nth(characters).is_none() {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(characters - 1).collect();
    short.truncate(short.trim_end().len());
    short.push('…');
    short
}

fn answer(skills: &ByName, parameters: &Value) -> Result<String, String> {
    let parameter = |name: &str| parameters[name].as_str().filter(|it| !it.trim().is_empty());
    let name = parameters["skill"].as_str().unwrap_or_default().trim();
    let skill = (skills.get(name)).ok_or_else(|| {
        let closest = closest(name, skills.keys().map(String::as_str));
        format!("there is no skill {name:?}{}", did_you_mean(&closest))
    })?;
    match (parameter("resource"), parameter("arguments")) {
        (Some(_), Some(_)) => Err(
            "give either resource or arguments: a file is read as it is written, and takes no arguments"
                .to_owned(),
        ),
        (Some(resource), None) => skill.read(resource.trim()).map_err(|error| error.to_string()),
        (None, arguments) => {
            let text = skill.instructions(arguments.unwrap_or_default());
            text.map_err(|error| error.to_string())
        }
    }
}
