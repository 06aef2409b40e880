//! `gadgetry skill info`: all there is about one skill.

use std::fmt::Write as _;

use gadgetry::{Skill, Skills};
use serde::Serialize;
use serde_json::{Map, Value};

use super::list::Listed;
use crate::cli::SkillInfoArgs;
use crate::error::Error;
use crate::lines::one_line;
use crate::printer::Printer;
use crate::skills;

/// A skill with everything that its `SKILL.md` says, as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    #[serde(flatten)]
    listed: Listed<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    license: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    allowed_tools: &'a [String],
    #[serde(skip_serializing_if = "Map::is_empty")]
    metadata: &'a Map<String, Value>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    other: &'a Map<String, Value>,
    files: Vec<ShownFile>,
    text: &'a str,
}

#[derive(Serialize)]
struct ShownFile {
    path: String,
    bytes: u64,
}

pub(crate) fn run(args: &SkillInfoArgs, all: &Skills, printer: &Printer) -> Result<(), Error> {
    let skill = skills::named(all, &args.name)?;
    let resources = skill.resources().map_err(|error| {
        let folder = skill.dir().display();
        Error::at(folder, format_args!("cannot list the files: {error}"))
    })?;
    let files = resources.into_iter().map(|it| ShownFile {
        path: it.path,
        bytes: it.size,
    });
    let front_matter = skill.front_matter();
    let shown = Shown {
        listed: Listed::new(skill),
        version: front_matter.version.as_deref(),
        license: front_matter.license.as_deref(),
        allowed_tools: &front_matter.allowed_tools,
        metadata: &front_matter.metadata,
        other: &front_matter.other,
        files: files.collect(),
        text: skill.body(),
    };
    if args.json {
        return printer.json(&shown);
    }
    printer.text(&text(skill, &shown));
    Ok(())
}

fn text(skill: &Skill, shown: &Shown<'_>) -> String {
    let front_matter = skill.front_matter();
    let mut text = String::new();
    let mut row = |name: &str, value: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:<13}  {}", one_line(value));
    };
    row("name", skill.name());
    row("description", skill.description());
    if let Some(hint) = &front_matter.argument_hint {
        row("arguments", hint);
    }
    let invoked_by = match (
        front_matter.disable_model_invocation,
        front_matter.user_invocable,
    ) {
        (false, true) => "the model, the user",
        (false, false) => "the model",
        (true, true) => "the user",
        (true, false) => "no one",
    };
    row("invoked by", invoked_by);
    if let Some(version) = shown.version {
        row("version", version);
    }
    if let Some(license) = shown.license {
        row("license", license);
    }
    if !shown.allowed_tools.is_empty() {
        row("allowed tools", &shown.allowed_tools.join(", "));
    }
    for (name, value) in shown.metadata.iter().chain(shown.other) {
        row(&one_line(name), &value.to_string());
    }
    row("folder", &shown.listed.folder);
    for file in &shown.files {
        row("file", &format!("{} ({} bytes)", file.path, file.bytes));
    }
    if !shown.text.is_empty() {
        let _ = write!(text, "\n{}\n", shown.text);
    }
    text
}
