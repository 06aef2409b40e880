//! The answer to a call that loads a skill.

use std::fmt::Write as _;

use gadgetry_proto::visible::visible_line;

use super::error::ArgumentsTooLong;
use super::limits::{ARGUMENTS_LIMIT, LISTED};
use super::{Skill, resources};

/// The name of the gadget that loads skills.
pub(super) const LOAD_SKILL: &str = "LoadSkill";

impl Skill {
    /// Returns the answer of `LoadSkill`: the skill's name, its [text](Skill::activate), and the list of its files, unless the model
    /// cannot load the skill and so cannot read them.
    ///
    /// Reads the files each time.
    ///
    /// # Errors
    ///
    /// [`ArgumentsTooLong`] if the arguments have more than [`ARGUMENTS_LIMIT`] bytes: a text can repeat them often.
    pub fn instructions(&self, arguments: &str) -> Result<String, ArgumentsTooLong> {
        if arguments.len() > ARGUMENTS_LIMIT {
            return Err(ArgumentsTooLong {
                bytes: arguments.len(),
            });
        }
        Ok(answer(self, arguments))
    }
}

/// The text of the skill, and what belongs to it.
fn answer(skill: &Skill, arguments: &str) -> String {
    let files = if skill.front_matter.disable_model_invocation {
        String::new()
    } else {
        files(skill)
    };
    let parts = [
        format!("Skill {}", skill.name()),
        skill.activate(arguments).trim().to_owned(),
        files,
    ];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("\n\n")
}

fn files(skill: &Skill) -> String {
    let name = skill.name();
    // The text is returned even if the folder cannot be listed.
    let (files, more) = match resources::list(skill.dir(), LISTED) {
        Ok(files) => files,
        Err(error) => return format!("The files of this skill cannot be listed: {error}"),
    };
    if files.is_empty() {
        return String::new();
    }
    let mut list = format!(
        "Files of this skill, which {LOAD_SKILL} reads with skill={name} and resource=<path>:"
    );
    for file in files {
        // A name with a line break must not look like two.
        let _ = write!(
            list,
            "\n- {} ({} bytes)",
            visible_line(&file.path),
            file.size
        );
    }
    if more {
        list.push_str("\nThere are more files than these.");
    }
    list
}
