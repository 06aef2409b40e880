//! Skills, commands and subagents in `.agents` and `.claude`, found by themselves.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use gadgetry::Skill;
use gadgetry::skill::SkillError;

use super::instructions::inside;
use crate::lines::one_line;

/// Files of one project, or of the user, at most.
const MOST: usize = 200;
/// Folders of commands in folders, at most.
const DEPTH: usize = 3;

const SKILLS: [&str; 2] = [".agents/skills", ".claude/skills"];
const COMMANDS: [&str; 1] = [".claude/commands"];
const AGENTS: [&str; 2] = [".agents/agents", ".claude/agents"];
/// The file that makes a folder a skill.
const SKILL_FILE: &str = "SKILL.md";

/// What a file is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Skill,
    Command,
    Agent,
}

impl Kind {
    /// The word for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Skill => "skill",
            Self::Command => "command",
            Self::Agent => "subagent",
        }
    }
}

/// A file that was found.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) kind: Kind,
    /// The Markdown file.
    pub(crate) path: PathBuf,
}

/// Files in the order in which they count: the nearest folder first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    pub(crate) files: Vec<File>,
    /// Reasons why others are not read.
    pub(crate) problems: Vec<String>,
}

impl Files {
    /// Finds the files in `folders`. With a `root`, they must not leave it.
    pub(super) fn find<'a>(
        folders: impl IntoIterator<Item = &'a Path>,
        root: Option<&Path>,
    ) -> Self {
        let mut found = Self::default();
        for folder in folders {
            for skills in SKILLS {
                for skill in entries(&folder.join(skills)) {
                    found.add(Kind::Skill, skill.join(SKILL_FILE), root);
                }
            }
            for (kind, names, depth) in [
                (Kind::Command, &COMMANDS[..], DEPTH),
                (Kind::Agent, &AGENTS[..], 1),
            ] {
                for name in names {
                    for path in markdown(&folder.join(name), depth) {
                        found.add(kind, path, root);
                    }
                }
            }
        }
        if found.files.len() > MOST {
            found.files.truncate(MOST);
            let words =
                format!("more than {MOST} skills, commands and subagents: the rest is not read");
            found.problems.push(words);
        }
        found
    }

    fn add(&mut self, kind: Kind, path: PathBuf, root: Option<&Path>) {
        if path.symlink_metadata().is_err() {
            return;
        }
        match root.map_or_else(|| path.canonicalize(), |root| inside(&path, root)) {
            Ok(_) => self.files.push(File { kind, path }),
            Err(error) => {
                let path = one_line(&path.to_string_lossy());
                self.problems.push(format!("{path} is not read: {error}"));
            }
        }
    }

    /// Reads the files of one kind. Of two with one name, the first counts; what is invalid is a problem.
    pub(super) fn read(&mut self, kind: Kind) -> Vec<Skill> {
        let (mut names, mut skills) = (BTreeSet::new(), Vec::new());
        for file in self.files.iter().filter(|it| it.kind == kind) {
            match read(file) {
                Ok(skill) if names.insert(skill.name().to_owned()) => skills.push(skill),
                Ok(_) => {}
                Err(error) => {
                    let words = format!("{} is not used: {error}", kind.name());
                    self.problems.push(one_line(&words));
                }
            }
        }
        skills
    }
}

/// Reads a file as what it is.
pub(super) fn read(file: &File) -> Result<Skill, SkillError> {
    match file.kind {
        Kind::Skill => Skill::load(file.path.parent().unwrap_or(&file.path)),
        Kind::Command | Kind::Agent => Skill::from_markdown(&file.path),
    }
}

/// What is in a folder, by name; nothing if it cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    // A folder with a million files is not sorted.
    let mut entries: Vec<PathBuf> = entries.take(10 * MOST).map(|it| it.path()).collect();
    entries.sort();
    entries
}

fn markdown(folder: &Path, depth: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in entries(folder) {
        let is_markdown = path.extension().is_some_and(|it| it == "md");
        if is_markdown {
            found.push(path);
        } else if depth > 1 && path.is_dir() {
            found.extend(markdown(&path, depth - 1));
        }
        if found.len() > MOST {
            break;
        }
    }
    found
}
