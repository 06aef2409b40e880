//! What an agent learns from the folder that it works in: where it is, what the authors of the project say, and the skills, commands
//! and subagents that it offers.
//!
//! ```text
//! workspace ─► repository ─► environment    folder, branch, system, date ──┐
//!                    ├────► instructions   AGENTS.md, CLAUDE.md ───────────┴─► the end of the system prompt
//!                    └────► discovery ─► consent ─► skills, commands, subagents
//! ```
//!
//! Text of a project is data. It is enclosed and its markers are escaped; it is never read as an option, a rule or a reply.

mod consent;
mod discovery;
mod environment;
mod instructions;
mod repository;

use std::env;
use std::path::{Path, PathBuf};

use gadgetry::proto::block::Markers;
use gadgetry::proto::convo::escape_markers;
use gadgetry::skill::{ARGUMENTS_LIMIT, ArgumentsTooLong};
use gadgetry::{Skill, Skills};

use crate::blocks::Blocks;
use crate::cli::{AgentOptions, SkillOptions};
use crate::config::Asking;
use crate::error::Error;
use crate::printer::Printer;

pub(crate) use consent::Consent;
pub(crate) use discovery::agent_field;

use discovery::{File, Files, Kind};
use repository::Repository;

/// A script, whose markers are plain: those of a run with another model are random, and no file has them.
const PLAIN: &str = "script:";

/// What an agent learns from its folder.
#[derive(Clone, Debug, Default)]
pub(crate) struct Project {
    /// The end of the system prompt.
    pub(crate) context: String,
    /// The skills that were found, the ones that count first.
    skills: Vec<Skill>,
    /// Commands by their files.
    pub(crate) commands: Vec<Skill>,
    /// Subagents by their files.
    pub(crate) agents: Vec<Skill>,
    /// Files that the user has not trusted.
    untrusted: Vec<File>,
    /// What the user is shown at the start.
    pub(crate) notes: Vec<String>,
    /// The folder, and the branch of its repository.
    pub(crate) place: String,
}

/// The folders of a project.
struct Folders {
    /// The folder that the agent works in.
    workspace: PathBuf,
    repository: Option<Repository>,
}

impl Folders {
    fn of(workspace: Option<&Path>) -> Result<Self, Error> {
        let folder = match workspace {
            Some(folder) => folder.to_owned(),
            None => env::current_dir().map_err(|error| Error::machine(&error))?,
        };
        // A workspace that is not there is an error of who opens it.
        let workspace = folder.canonicalize().unwrap_or(folder);
        Ok(Self {
            repository: Repository::around(&workspace),
            workspace,
        })
    }

    fn root(&self) -> &Path {
        let root = self.repository.as_ref().map(Repository::root);
        root.unwrap_or(&self.workspace)
    }

    /// From the workspace up to the root of the repository.
    fn nearest_first(&self) -> Vec<&Path> {
        let folders = self.workspace.ancestors();
        let inside = folders.take_while(|it| it.starts_with(self.root()));
        inside.collect()
    }

    /// The folder and the branch, for the user.
    fn place(&self) -> String {
        let home = env::var_os("HOME").map(PathBuf::from);
        let below = home.and_then(|it| self.workspace.strip_prefix(it).ok().map(Path::to_owned));
        let folder = match below {
            Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
            Some(below) => format!("~/{}", below.display()),
            None => self.workspace.display().to_string(),
        };
        let branch = self.repository.as_ref().and_then(Repository::branch);
        match branch {
            Some(branch) => format!("{folder} ({branch})"),
            None => folder,
        }
    }

    fn files(&self) -> Files {
        Files::find(self.nearest_first(), Some(self.root()))
    }
}

impl Project {
    /// Reads what the options do not exclude. `kept` is the end of the system prompt of a session that is continued: it stays, because
    /// a run is resumed with what it began with, and the caches of a provider hold its prompt.
    pub(crate) fn read(
        options: &AgentOptions,
        kept: Option<String>,
        asking: Asking,
        printer: &Printer,
    ) -> Result<Self, Error> {
        let folders = Folders::of(options.source.workspace.as_deref())?;
        let chosen = &options.project;
        let place = folders.place();
        let mut project = if chosen.no_discovery {
            Self::default()
        } else {
            Self::found(&folders, asking, printer)?
        };
        project.place = place;
        if let Some(kept) = kept {
            project.context = kept;
            return Ok(project);
        }
        let mut parts = Vec::new();
        if !chosen.no_environment {
            let repository = folders.repository.as_ref();
            parts.push(environment::describe(&folders.workspace, repository));
        }
        if !chosen.no_instructions {
            let found = instructions::read(&folders.nearest_first(), folders.root());
            if !found.shown.is_empty() {
                let files = found.shown.join(", ");
                project.notes.insert(0, format!("instructions: {files}"));
                parts.push(found.text);
            }
            project.notes.extend(found.problems);
        }
        project.context = without_markers(&parts.join("\n\n"), options)?;
        Ok(project)
    }

    /// The skills, commands and subagents of the project, after consent, and those of the user.
    fn found(folders: &Folders, asking: Asking, printer: &Printer) -> Result<Self, Error> {
        let files = folders.files();
        let mut notes = files.problems.clone();
        let offered = files.files.clone();
        let mut all = match Consent::about(files, &folders.workspace)? {
            Some(consent) => consent.given(asking, printer)?,
            None => Files::default(),
        };
        let is_trusted = !all.files.is_empty();
        let home = env::var_os("HOME").map(PathBuf::from);
        let home = home.filter(|it| it.is_absolute() && it != folders.root());
        let of_user = Files::find(home.as_deref(), None);
        all.files.extend(of_user.files);
        all.problems.extend(of_user.problems);
        let (skills, commands, agents) = (
            all.read(Kind::Skill),
            all.read(Kind::Command),
            all.read(Kind::Agent),
        );
        for problem in all.problems {
            if !notes.contains(&problem) {
                notes.push(problem);
            }
        }
        Ok(Self {
            skills,
            commands,
            agents,
            untrusted: if is_trusted { Vec::new() } else { offered },
            notes,
            ..Self::default()
        })
    }

    /// Returns the prompt that a text means: the instructions of a command or a skill if it begins with its name and a slash. Those
    /// that the options name come first.
    pub(crate) fn prompt(&self, text: String, options: &SkillOptions) -> Result<String, Error> {
        let (name, arguments) = text.split_once(char::is_whitespace).unwrap_or((&text, ""));
        let Some(name) = name.strip_prefix('/') else {
            return Ok(text);
        };
        let named = options.load()?;
        if let Some(command) = self.command(name).filter(|_| named.get(name).is_none()) {
            return filled_in(command, arguments);
        }
        let mut skills = named.get(name).into_iter().chain(&self.skills);
        match skills.find(|it| it.name() == name && it.front_matter().user_invocable) {
            Some(skill) => skill.instructions(arguments).map_err(Error::input),
            None => self
                .refusal(name)
                .map_or(Ok(text), |why| Err(Error::Input(why))),
        }
    }

    /// The reason that a command or a skill of this name is not used, if the user has not trusted it.
    pub(crate) fn refusal(&self, name: &str) -> Option<String> {
        let mut files = self.untrusted.iter().filter(|it| it.kind != Kind::Agent);
        let file = files.find(|file| {
            let skill = discovery::read(file);
            skill.is_ok_and(|it| it.name() == name && it.front_matter().user_invocable)
        })?;
        Some(format!(
            "/{name} is a {} of this project, and you have not trusted it as it is now; `gadgetry config trust` shows and trusts such files",
            file.kind.name()
        ))
    }

    /// The command by a file of this name.
    pub(crate) fn command(&self, name: &str) -> Option<&Skill> {
        self.commands.iter().find(|it| it.name() == name)
    }

    /// Adds the skills whose names are free.
    pub(crate) fn add_to(&self, skills: &mut Skills) {
        for skill in &self.skills {
            // A name that is taken is that of a skill which the user has named.
            let _ = skills.add(skill.clone());
        }
    }

    /// The skills of the project in the working directory and of the user, with notes about those that are not used.
    pub(crate) fn skills(printer: &Printer) -> Result<Self, Error> {
        Self::found(&Folders::of(None)?, Asking::Prompt, printer)
    }

    /// What the user may decide about in the working directory.
    pub(crate) fn consent() -> Result<Option<Consent>, Error> {
        let folders = Folders::of(None)?;
        Consent::about(folders.files(), &folders.workspace)
    }
}

/// The text of a command with its arguments.
pub(crate) fn filled_in(command: &Skill, arguments: &str) -> Result<String, Error> {
    if arguments.len() > ARGUMENTS_LIMIT {
        let bytes = arguments.len();
        return Err(Error::input(ArgumentsTooLong { bytes }));
    }
    Ok(command.activate(arguments))
}

/// The text without the markers that a run may have.
fn without_markers(text: &str, options: &AgentOptions) -> Result<String, Error> {
    let blocks = Blocks::of_run(&options.format, PLAIN)?;
    let text = escape_markers(text, &Markers::default());
    Ok(escape_markers(&text, &blocks.markers).into_owned())
}
