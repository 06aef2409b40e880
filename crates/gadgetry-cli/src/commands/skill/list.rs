//! `gadgetry skill list`: names and descriptions.

use gadgetry::{Skill, Skills};
use serde::Serialize;

use crate::cli::SkillListArgs;
use crate::error::Error;
use crate::lines::one_line;
use crate::printer::Printer;

/// A skill as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Listed<'a> {
    name: &'a str,
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    argument_hint: Option<&'a str>,
    /// Whether the model may load it.
    model_invocable: bool,
    /// Whether `/skill NAME` in a conversation sends it.
    user_invocable: bool,
    pub(super) folder: String,
}

impl<'a> Listed<'a> {
    pub(super) fn new(skill: &'a Skill) -> Self {
        let front_matter = skill.front_matter();
        Self {
            name: skill.name(),
            description: skill.description(),
            argument_hint: front_matter.argument_hint.as_deref(),
            model_invocable: !front_matter.disable_model_invocation,
            user_invocable: front_matter.user_invocable,
            folder: skill.dir().display().to_string(),
        }
    }
}

pub(crate) fn run(args: &SkillListArgs, skills: &Skills, printer: &Printer) -> Result<(), Error> {
    if skills.is_empty() && !args.json {
        printer.text("no skills\n");
    }
    let width = skills.iter().map(|it| it.name().len()).max();
    let width = width.unwrap_or_default();
    for skill in skills.iter() {
        if args.json {
            printer.json(&Listed::new(skill))?;
        } else {
            let (name, description) = (skill.name(), one_line(skill.description()));
            printer.text(&format!("{name:width$}  {description}\n"));
        }
        printer.flush_if_full()?;
    }
    Ok(())
}
