//! Consent to the skills, commands and subagents of a project, kept as that to its `gadgetry.toml`.

use std::path::{Path, PathBuf};

use super::discovery::{self, Files, Kind};
use crate::config::{Asking, Decision, Trust, digest};
use crate::data_dir;
use crate::error::Error;
use crate::lines::{counted, one_line, short};
use crate::pages::Row;
use crate::printer::{Printer, is_at_terminal};
use crate::worktree;

/// The question whether the files are used.
const QUESTION: &str = "Use them from now on? [y/N]";
/// The name under which the decision is kept, in the folder of the project.
const NAME: &str = ".agents";

/// Files of a project about which the user decides.
pub(crate) struct Consent {
    /// The files.
    pub(crate) files: Files,
    folder: PathBuf,
    trust: Trust,
}

impl Consent {
    /// The decisions about the files of the project in `folder`, which is canonical; `None` if it has none.
    pub(super) fn about(files: Files, folder: &Path) -> Result<Option<Self>, Error> {
        if files.files.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self {
            files,
            folder: folder.to_owned(),
            trust: Trust::load(data_dir::config().as_deref())?,
        }))
    }

    fn key(&self) -> PathBuf {
        self.folder.join(NAME)
    }

    /// Identifies the files, as they are now.
    pub(crate) fn digest(&self) -> Result<String, Error> {
        let files = self.files.files.iter();
        let files: Vec<PathBuf> = files.map(|it| from(&self.folder, &it.path)).collect();
        digest("", &files, &self.folder).map_err(|error| Error::at(self.folder.display(), error))
    }

    /// The number of files of each kind, such as `2 skills and 1 command`.
    pub(crate) fn count(&self) -> String {
        let of = |kind: Kind| {
            let files = self.files.files.iter();
            let count = files.filter(|it| it.kind == kind).count();
            (count > 0).then(|| counted(count, kind.name()))
        };
        let kinds = [Kind::Skill, Kind::Command, Kind::Agent].into_iter();
        kinds.filter_map(of).collect::<Vec<_>>().join(", ")
    }

    /// The first line about the files.
    pub(crate) fn head(&self) -> String {
        format!(
            "{} has texts that a model follows when it or you choose them:",
            one_line(&self.folder.to_string_lossy())
        )
    }

    /// A row for each file, with the model and the gadgets of a subagent, which decide where requests go and what they may do.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for file in &self.files.files {
            let path = file.path.strip_prefix(&self.folder);
            let path = one_line(&path.unwrap_or(&file.path).to_string_lossy());
            let words = match discovery::read(file) {
                Ok(skill) => {
                    let of_agent = |key: &str| {
                        let value = discovery::agent_field(&skill, key)?;
                        Some(format!("; {key} {value}"))
                    };
                    let keys = ["model", "tools", "allowedTools", "disallowedTools"].into_iter();
                    let keys: String = match file.kind {
                        Kind::Agent => keys.filter_map(of_agent).collect(),
                        Kind::Skill | Kind::Command => String::new(),
                    };
                    let (name, what) = (skill.name(), short(skill.description()));
                    format!("{} {name}: {what} ({path}{keys})", file.kind.name())
                }
                Err(error) => format!("{} in {path}, which is not used: {error}", file.kind.name()),
            };
            rows.extend(Row::items(&one_line(&words)));
        }
        rows
    }

    /// The files if the user has consented, and otherwise none, with the reason as a problem.
    pub(super) fn given(mut self, asking: Asking, printer: &Printer) -> Result<Files, Error> {
        let sha256 = self.digest()?;
        let why = match self.decision(&sha256) {
            Decision::Trusted => return Ok(self.files),
            Decision::Declined => return Ok(Files::default()),
            Decision::Changed => "they have changed since you decided about them",
            Decision::Unknown => "you have not trusted them",
        };
        if asking == Asking::Silent {
            return Ok(Files::default());
        }
        if asking != Asking::Prompt || !is_at_terminal() {
            return Ok(Files {
                files: Vec::new(),
                problems: vec![format!(
                    "{} of this project not used: {why}; `gadgetry config trust` shows and trusts them",
                    self.count()
                )],
            });
        }
        // Without an answer nothing is decided.
        let Some(answer) = printer.ask_about(&self.head(), self.rows(), QUESTION) else {
            return Ok(Files::default());
        };
        let is_trusted = matches!(answer.trim(), "y" | "Y" | "yes");
        let key = self.key();
        if let Err(error) = self.trust.decide(&key, Some((&sha256, is_trusted))) {
            printer.progress(&format!("the decision cannot be kept: {error}\n"));
        }
        Ok(if is_trusted {
            self.files
        } else {
            Files::default()
        })
    }

    /// The decision about the files with this digest. What was decided in the folder of the repository holds for the same files in its
    /// worktrees.
    fn decision(&self, sha256: &str) -> Decision {
        let here = self.trust.decision(&self.key(), sha256);
        let original = worktree::original(&self.folder).filter(|_| here == Decision::Unknown);
        match original.map(|it| self.trust.decision(&it.join(NAME), sha256)) {
            Some(there @ (Decision::Trusted | Decision::Declined)) => there,
            Some(Decision::Changed | Decision::Unknown) | None => here,
        }
    }

    /// Trusts the files with this digest, or forgets the decision about them.
    pub(crate) fn decide(&mut self, sha256: Option<&str>) -> Result<(), Error> {
        let key = self.key();
        let kept = self.trust.decide(&key, sha256.map(|it| (it, true)));
        kept.map_err(|error| Error::Failed(format!("the decision cannot be kept: {error}")))
    }
}

/// The path of a file, from a folder: the same in each copy of a repository.
fn from(folder: &Path, file: &Path) -> PathBuf {
    let mut path = PathBuf::new();
    for ancestor in folder.ancestors() {
        if let Ok(rest) = file.strip_prefix(ancestor) {
            return path.join(rest);
        }
        path.push("..");
    }
    file.to_owned()
}
