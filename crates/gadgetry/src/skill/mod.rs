//! Skills: instructions for a kind of task, in folders with a `SKILL.md`.
//!
//! ```text
//! skills/
//!   release-notes/
//!     SKILL.md            what to do
//!     references/tone.md  what is not always needed
//! ```
//!
//! A `SKILL.md` is YAML front matter and a text:
//!
//! ```text
//! ---
//! name: release-notes
//! description: Writes release notes. Use it when the user asks what is new in a version.
//! ---
//! Collect what changed since $1, and read references/tone.md before you write.
//! ```
//!
//! | field | meaning |
//! |---|---|
//! | `description` | purpose of the skill; up to 1,024 characters. The only required field |
//! | `name` | 1 to 64 characters: `a`-`z`, digits, and hyphens except at the beginning. The default is the folder's name |
//! | `disable-model-invocation` | `true`: the skill is hidden from the model, which cannot load it |
//! | `argument-hint`, `user-invocable`, `version`, `license`, `allowed-tools`, `metadata`, and any other | kept in [`FrontMatter`]; this crate does not act on them |
//!
//! The YAML is one mapping without aliases, tags and repeated keys. Numbers are those of JSON.
//!
//! # What the model reads
//!
//! 1. The description of the gadget `LoadSkill` ([`Skills::gadget`]) lists names and descriptions.
//! 2. A call of `LoadSkill` answers with the text of one skill and the paths of its files.
//! 3. A call with a `resource` answers with the text of one of these files.
//!
//! # Nothing in a skill runs
//!
//! A skill is text. Its placeholders are filled in once ([`Skill::activate`]), no command in it is ever executed, and its files
//! are only read: hidden files and files outside the skill's folder are not read, whatever a path or link says.

mod error;
mod front_matter;
mod gadget;
mod instructions;
mod limits;
mod resources;
mod set;
mod substitute;
mod yaml;

use std::io;
use std::path::{Path, PathBuf};

pub use error::{ArgumentsTooLong, ResourceError, SkillError, SkillProblem};
pub use front_matter::FrontMatter;
pub use limits::{ARGUMENTS_LIMIT, RESOURCE_LIMIT, SKILL_FILE_LIMIT};
pub use resources::Resource;
pub use set::Skills;

use limits::LISTED;

/// Instructions for a kind of task, and the files that belong to them.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path().join("greet");
/// # std::fs::create_dir(&folder)?;
/// std::fs::write(
///     folder.join("SKILL.md"),
///     "---\ndescription: Greets a user\n---\nSay hello to $1.",
/// )?;
/// let skill = gadgetry::Skill::load(&folder)?;
/// assert_eq!(skill.name(), "greet");
/// assert_eq!(skill.activate("Ada"), "Say hello to Ada.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Skill {
    front_matter: FrontMatter,
    body: String,
    dir: PathBuf,
}

impl Skill {
    /// Reads the skill in the folder `dir`. Its other files are read on demand.
    ///
    /// Fails if there is no `SKILL.md` that can be read, or its front matter is wrong; the error has line and column.
    pub fn load(dir: impl AsRef<Path>) -> Result<Self, SkillError> {
        let named = dir.as_ref();
        let dir = named.canonicalize().map_err(|error| SkillError::Read {
            path: named.to_owned(),
            error,
        })?;
        let (front_matter, body) = front_matter::load(&dir, named)?;
        Ok(Self {
            front_matter,
            body,
            dir,
        })
    }

    /// Reads a Markdown file as instructions without further files, such as `.claude/commands/fix.md` or `.claude/agents/reviewer.md`.
    ///
    /// Front matter may be missing, or be lines `key: value` that are not YAML. The name is that of the front matter, or else of
    /// the file, in lower case and with hyphens. The description is cut after 1,024 characters; the first line of the text
    /// replaces a missing one. [`Skill::dir`] is the folder of the file.
    ///
    /// # Errors
    /// If the file cannot be read, is longer than [`SKILL_FILE_LIMIT`], is not UTF-8, or a field has a value of the wrong type.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let file = folder.path().join("Fix_Bug.md");
    /// std::fs::write(&file, "# Fixes a bug\n\nFix $ARGUMENTS.")?;
    /// let command = gadgetry::Skill::from_markdown(&file)?;
    /// assert_eq!((command.name(), command.description()), ("fix-bug", "Fixes a bug"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_markdown(file: impl AsRef<Path>) -> Result<Self, SkillError> {
        let file = file.as_ref();
        let real = file.canonicalize().map_err(|error| SkillError::Read {
            path: file.to_owned(),
            error,
        })?;
        let (front_matter, body) = front_matter::load_file(file)?;
        Ok(Self {
            front_matter,
            body,
            dir: real.parent().unwrap_or(&real).to_owned(),
        })
    }

    /// Returns the name: 1 to 64 of `a`-`z`, digits and hyphens.
    pub fn name(&self) -> &str {
        &self.front_matter.name
    }

    /// Returns the purpose, on one line of up to 1,024 characters.
    pub fn description(&self) -> &str {
        &self.front_matter.description
    }

    /// Returns its front matter.
    pub fn front_matter(&self) -> &FrontMatter {
        &self.front_matter
    }

    /// Returns the text after the front matter, trimmed and with LF line ends.
    pub fn body(&self) -> &str {
        &self.body
    }

    /// Returns the folder, absolute and without links.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the text with its placeholders filled in, for a user message or the result of a call.
    ///
    /// | placeholder | replacement |
    /// |---|---|
    /// | `$ARGUMENTS` | `arguments`, trimmed |
    /// | `$ARGUMENTS[0]`, `$ARGUMENTS[1]`, … | the first, second, … word of them |
    /// | `$1`, `$2`, … | the same words |
    /// | `${SKILL_DIR}` | [`Skill::dir`] |
    ///
    /// Blanks separate the words, except inside `"…"` and `'…'`. Every other `$` stays as it is: a missing word (`$5` of two),
    /// sums of money (`$5.00`), variables of a shell (`${HOME}`), and a `$` after a backslash (`\$1`). If the text has no
    /// placeholder for the arguments, they are added at its end, as `Arguments: …`.
    ///
    /// There is one pass: replacements are not searched for placeholders. Nothing is executed.
    pub fn activate(&self, arguments: &str) -> String {
        substitute::substitute(&self.body, arguments, &self.dir.to_string_lossy())
    }

    /// Returns the first 500 files except `SKILL.md` and hidden ones, sorted by path, folder by folder.
    ///
    /// Links to files inside the skill count, links to anything else do not. Reads the disk each time.
    pub fn resources(&self) -> io::Result<Vec<Resource>> {
        Ok(resources::list(&self.dir, LISTED)?.0)
    }

    /// Returns the text of one of its files, up to [`RESOURCE_LIMIT`] bytes. `path` is relative to the skill's folder.
    ///
    /// Fails if there is no such file, or if it is hidden, too long, not text, or not inside the skill once all links are
    /// followed.
    pub fn read(&self, path: &str) -> Result<String, ResourceError> {
        resources::read(&self.dir, path)
    }
}
