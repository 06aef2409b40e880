//! Skills, commands and subagents in `.agents` and `.claude`, found by themselves.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use gadgetry::Skill;
use gadgetry::skill::{SKILL_FILE_LIMIT, SkillError};
use serde_json::Value;

use super::instructions::inside;
use crate::lines::one_line;

/// Files of one project, or of the user, at most.
const MOST: usize = 200;
/// Folders of commands in folders, at most.
const DEPTH: usize = 3;
/// Entries of folders that are looked at, at most: links can make few of them endless.
const ENTRIES: usize = 10_000;

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
        let mut walk = Walk {
            root,
            left: ENTRIES,
            known: BTreeSet::new(),
        };
        for folder in folders {
            for skills in SKILLS {
                for skill in walk.entries(&folder.join(skills), &mut found) {
                    found.add(Kind::Skill, skill.join(SKILL_FILE), root);
                }
            }
            for (kind, names, depth) in [
                (Kind::Command, &COMMANDS[..], DEPTH),
                (Kind::Agent, &AGENTS[..], 1),
            ] {
                for name in names {
                    for path in walk.markdown(&folder.join(name), depth, &mut found) {
                        found.add(kind, path, root);
                    }
                }
            }
        }
        if walk.left == 0 {
            let words = format!(
                "more than {ENTRIES} files in .agents and .claude: the rest is not looked at"
            );
            found.problems.push(words);
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
        let real = real_path(&path, root).and_then(|real| {
            if real.metadata()?.len() <= SKILL_FILE_LIMIT {
                return Ok(());
            }
            let limit = SKILL_FILE_LIMIT >> 10;
            Err(io::Error::other(format!("it is larger than {limit} KiB")))
        });
        match real {
            Ok(()) => self.files.push(File { kind, path }),
            Err(error) => self.not_read(&path, &error),
        }
    }

    fn not_read(&mut self, path: &Path, error: &io::Error) {
        let path = one_line(&path.to_string_lossy());
        self.problems.push(format!("{path} is not read: {error}"));
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

/// A field of a subagent's front matter, in whatever case and with whatever hyphens its author has written the key.
pub(crate) fn agent_field<'s>(agent: &'s Skill, key: &str) -> Option<&'s Value> {
    let plain = |key: &str| key.replace(['-', '_'], "").to_ascii_lowercase();
    let mut other = agent.front_matter().other.iter();
    let found = other.find(|(written, _)| plain(written) == plain(key));
    found.map(|(_, value)| value)
}

fn real_path(path: &Path, root: Option<&Path>) -> io::Result<PathBuf> {
    root.map_or_else(|| path.canonicalize(), |root| inside(path, root))
}

/// A walk through folders, each of which counts once, by whatever links it is reached.
struct Walk<'r> {
    root: Option<&'r Path>,
    /// Entries that may still be looked at.
    left: usize,
    /// Folders that were read, by their real paths.
    known: BTreeSet<PathBuf>,
}

impl Walk<'_> {
    /// What is in a folder, by name; nothing if it cannot be read or was read before.
    fn entries(&mut self, folder: &Path, found: &mut Files) -> Vec<PathBuf> {
        if folder.symlink_metadata().is_err() {
            return Vec::new();
        }
        match real_path(folder, self.root) {
            Ok(real) => {
                if !self.known.insert(real) {
                    return Vec::new();
                }
            }
            Err(error) => {
                found.not_read(folder, &error);
                return Vec::new();
            }
        }
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut entries: Vec<PathBuf> = entries.take(self.left).map(|it| it.path()).collect();
        self.left -= entries.len();
        entries.sort();
        entries
    }

    fn markdown(&mut self, folder: &Path, depth: usize, files: &mut Files) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for path in self.entries(folder, files) {
            let is_markdown = path.extension().is_some_and(|it| it == "md");
            if is_markdown {
                found.push(path);
            } else if depth > 1 && path.is_dir() {
                found.extend(self.markdown(&path, depth - 1, files));
            }
            if found.len() > MOST {
                break;
            }
        }
        found
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// The files that are found in a folder, and what is said of others.
    fn found(make: impl FnOnce(&Path)) -> (Vec<String>, Vec<String>) {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder
            .path()
            .canonicalize()
            .expect("a folder")
            .join("repository");
        for name in [".claude/commands", ".claude/agents", ".agents/skills/s"] {
            fs::create_dir_all(root.join(name)).expect("a folder");
        }
        make(&root);
        let found = Files::find([root.as_path()], Some(&root));
        let files = found.files.iter().map(|it| {
            let path = it.path.strip_prefix(&root).expect("it is inside");
            path.to_string_lossy().into_owned()
        });
        let problems = found.problems.iter();
        let root = format!("{}/", root.display());
        let problems = problems.map(|it| it.replace(&root, "")).collect();
        (files.collect(), problems)
    }

    #[test]
    fn links_are_not_endless() {
        // With 2,000 of them, there would be 8 billion entries.
        let (files, problems) = found(|root| {
            let commands = root.join(".claude/commands");
            for number in 0..2_000 {
                symlink(".", commands.join(format!("d{number}"))).expect("a link");
            }
            fs::write(commands.join("x.md"), "x").expect("a file");
            symlink("../commands", root.join(".claude/commands/again")).expect("a link");
        });
        assert_eq!(files, [".claude/commands/x.md"]);
        assert_eq!(problems, [""; 0]);
        let (files, problems) = found(|root| {
            for number in 0..=ENTRIES {
                fs::write(root.join(format!(".claude/commands/{number}")), "").expect("a file");
            }
        });
        assert_eq!(files, [""; 0]);
        assert_eq!(
            problems,
            ["more than 10000 files in .agents and .claude: the rest is not looked at"]
        );
    }

    #[test]
    fn what_is_not_of_the_repository_is_not_looked_at() {
        let check = |expected: &str, make: &dyn Fn(&Path)| {
            let (files, problems) = found(make);
            assert_eq!((files.len(), &*problems), (0, &[expected.to_owned()][..]));
        };
        let leaves = "is not read: it is a link that leaves the repository";
        check(&format!(".claude/commands/out {leaves}"), &|root| {
            fs::write(root.join("../x.md"), "x").expect("a file");
            symlink("../../..", root.join(".claude/commands/out")).expect("a link");
        });
        check(&format!(".claude/agents/x.md {leaves}"), &|root| {
            fs::write(root.join("../x.md"), "x").expect("a file");
            symlink("../../../x.md", root.join(".claude/agents/x.md")).expect("a link");
        });
        let large = "is not read: it is larger than 256 KiB";
        for name in [
            ".claude/commands/x.md",
            ".claude/agents/x.md",
            ".agents/skills/s/SKILL.md",
        ] {
            check(&format!("{name} {large}"), &|root| {
                let file = fs::File::create(root.join(name)).expect("a file");
                // It takes no room on the disk.
                file.set_len(1 << 40).expect("a size");
            });
        }
    }
}
