//! The skills of an agent.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::SkillError;
use super::limits::SKILL_FILE;
use super::{Skill, gadget};
use crate::gadget::DynGadget;

/// Skills by name, in alphabetical order.
///
/// ```
/// use gadgetry::{Skills, Toolbox};
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// # std::fs::create_dir(folder.join("greet"))?;
/// # std::fs::write(folder.join("greet/SKILL.md"), "---\ndescription: Greets\n---\n")?;
/// let skills = Skills::from_dir(folder)?;
/// assert!(skills.get("greet").is_some());
///
/// let mut toolbox = Toolbox::default();
/// toolbox.add(skills.gadget())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Skills {
    skills: BTreeMap<String, Arc<Skill>>,
}

impl Skills {
    /// Makes an empty set of skills.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the skills in a folder, as [`Skills::add_dir`] does; it fails as that does.
    pub fn from_dir(dir: impl AsRef<Path>) -> Result<Self, SkillError> {
        let mut skills = Self::new();
        skills.add_dir(dir)?;
        Ok(skills)
    }

    /// Adds the skill of each folder in `dir` that has a `SKILL.md`. If `dir` itself has one, it is the only skill.
    ///
    /// Fails at the first skill that cannot be used, in the order of the folders' names, and then adds nothing.
    pub fn add_dir(&mut self, dir: impl AsRef<Path>) -> Result<&mut Self, SkillError> {
        let mut all = self.clone();
        for folder in skill_folders(dir.as_ref())? {
            all.add(Skill::load(folder)?)?;
        }
        *self = all;
        Ok(self)
    }

    /// Adds a skill. Fails if its name is taken.
    pub fn add(&mut self, skill: Skill) -> Result<&mut Self, SkillError> {
        if let Some(first) = self.get(skill.name()) {
            return Err(SkillError::DuplicateName {
                name: skill.name().to_owned(),
                first: first.dir().to_owned(),
                second: skill.dir,
            });
        }
        self.skills.insert(skill.name().to_owned(), Arc::new(skill));
        Ok(self)
    }

    /// Returns the skill of that name.
    pub fn get(&self, name: &str) -> Option<&Skill> {
        self.skills.get(name).map(AsRef::as_ref)
    }

    /// Returns the skills by name.
    pub fn iter(&self) -> impl Iterator<Item = &Skill> {
        self.skills.values().map(AsRef::as_ref)
    }

    /// Returns the number of skills.
    pub fn len(&self) -> usize {
        self.skills.len()
    }

    /// Returns whether there are no skills.
    pub fn is_empty(&self) -> bool {
        self.skills.is_empty()
    }

    /// Returns the gadget `LoadSkill`, with which the model loads these skills, except those with `disable-model-invocation`.
    ///
    /// | parameter | meaning |
    /// |---|---|
    /// | `skill` | a name; the only required parameter |
    /// | `arguments` | the values of the placeholders in the skill's text, see [`Skill::activate`] |
    /// | `resource` | the path of a file of the skill, whose text is the answer instead of the skill's |
    ///
    /// Its description lists the skills: 250 characters of each description, and 8,000 in total. Skills beyond that are counted,
    /// and can still be loaded. A wrong name or path is answered with the closest ones.
    pub fn gadget(&self) -> Arc<dyn DynGadget> {
        let skills = self.skills.clone().into_iter();
        gadget::load_skill(
            skills
                .filter(|(_, skill)| !skill.front_matter().disable_model_invocation)
                .collect(),
        )
    }
}

/// `dir`, or the folders in it, that have a `SKILL.md`, by name.
fn skill_folders(dir: &Path) -> Result<Vec<PathBuf>, SkillError> {
    let read = |error| SkillError::Read {
        path: dir.to_owned(),
        error,
    };
    // A `SKILL.md` that is a broken link is an error to report, not a folder without one.
    let is_skill = |folder: &Path| folder.join(SKILL_FILE).symlink_metadata().is_ok();
    if is_skill(dir) {
        return Ok(vec![dir.to_owned()]);
    }
    let entries = std::fs::read_dir(dir).map_err(read)?;
    let folders = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut folders = folders.collect::<io::Result<Vec<_>>>().map_err(read)?;
    folders.retain(|folder| is_skill(folder));
    folders.sort();
    Ok(folders)
}
