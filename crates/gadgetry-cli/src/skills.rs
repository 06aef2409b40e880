//! The skills that options name.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gadgetry::proto::schema::closest;
use gadgetry::skill::SkillError;
use gadgetry::{DynGadget, Skill, Skills};

use crate::cli::SkillOptions;
use crate::error::Error;

impl SkillOptions {
    /// Reads the skills of all folders, the typed ones first. A folder that is named twice counts once.
    pub(crate) fn load(&self) -> Result<Skills, Error> {
        let mut skills = Skills::new();
        let mut read = Vec::new();
        for folder in self.skills.iter().chain(&self.configured_skills) {
            let failed = |error| SkillError::Read {
                path: folder.clone(),
                error,
            };
            let real = folder
                .canonicalize()
                .map_err(failed)
                .map_err(Error::input)?;
            if !read.contains(&real) {
                skills.add_dir(folder).map_err(Error::input)?;
                read.push(real);
            }
        }
        Ok(skills)
    }
}

/// The `SKILL.md` files in a folder, as [`Skills::add_dir`] finds them; none if it cannot be read.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    const FILE: &str = "SKILL.md";
    let is_there = |file: &PathBuf| file.symlink_metadata().is_ok();
    let own = folder.join(FILE);
    if is_there(&own) {
        return vec![own];
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.map(|entry| entry.path().join(FILE));
    let mut files: Vec<PathBuf> = files.filter(is_there).collect();
    files.sort();
    files
}

/// The gadget that loads skills, if the model may load any.
pub(crate) fn gadget(skills: &Skills) -> Option<Arc<dyn DynGadget>> {
    let mut skills_of_model = skills.iter();
    let has_any = skills_of_model.any(|skill| !skill.front_matter().disable_model_invocation);
    has_any.then(|| skills.gadget())
}

/// The skill of this name.
pub(crate) fn named<'s>(skills: &'s Skills, name: &str) -> Result<&'s Skill, Error> {
    skills.get(name).ok_or_else(|| {
        let hint = match closest(name, skills.iter().map(Skill::name)).first() {
            Some(near) => format!("; did you mean {near}?"),
            None if skills.is_empty() => {
                "; there are no skills: name their folder with --skills DIR, or in [skills] of the configuration"
                    .to_owned()
            }
            None => String::new(),
        };
        Error::input(format_args!("there is no skill {name:?}{hint}"))
    })
}
