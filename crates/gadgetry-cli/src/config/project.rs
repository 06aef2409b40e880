//! The file of a project, `./gadgetry.toml`, and the user's consent to it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, io};

use gadgetry_files as files;

use super::file::{self, ConfigFile, PromptSource};
use super::keys::Keys;
use super::redact;
use super::trust::{self, Decision, Trust};
use super::value;
use crate::connect;
use crate::data_dir;
use crate::error::Error;
use crate::input::unreadable;
use crate::lines::one_line;
use crate::options::{Attributes, MODEL, Origin};
use crate::pages::{Row, rows};
use crate::printer::{Printer, is_at_terminal};
use crate::skills;

/// The name of the file, in the working directory.
pub(crate) const NAME: &str = "gadgetry.toml";
/// Files that it may name.
const NAMED: usize = 100;
/// Characters of a text that is shown in one line with its name.
const SHORT: usize = 72;
/// The question whether the file is used.
pub(crate) const QUESTION: &str = "Use it from now on? [y/N]";
/// Handling of a file that the user has not decided about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asking {
    /// The user is prompted; without a terminal, a note says that the file is not used.
    Prompt,
    /// A note says that the file is not used.
    Note,
    /// The file is ignored without a note.
    Silent,
}

impl Asking {
    /// Prompts, unless the run is for a program, which cannot answer.
    pub(crate) fn unless(is_for_program: bool) -> Self {
        if is_for_program {
            Self::Note
        } else {
            Self::Prompt
        }
    }
}

/// Status of the project's file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Status {
    /// No configuration files are read.
    #[default]
    Unread,
    /// There is no file.
    Absent,
    /// The file is in use.
    Trusted,
    /// The file is not in use: the user has not decided.
    Untrusted,
    /// The file is not in use: it has changed since the user decided.
    Changed,
    /// The file is not in use: the user has declined.
    Declined,
}

impl Status {
    /// Returns the text that reports show.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Unread => "not read",
            Self::Absent => "absent",
            Self::Trusted => "trusted",
            Self::Untrusted => "not trusted",
            Self::Changed => "changed, so not trusted",
            Self::Declined => "declined",
        }
    }
}

/// The file of a project that can be read.
pub(crate) struct Project {
    /// Full path of the file, by which decisions about it are kept.
    path: PathBuf,
    /// The folder as it was named: relative paths in the file begin in it.
    folder: PathBuf,
    text: String,
    trust: Trust,
}

impl Project {
    /// Finds the file in a folder; an empty path is the working directory.
    pub(crate) fn find(folder: &Path) -> Result<Option<Self>, Error> {
        let file = folder.join(NAME);
        // Not `exists`: a broken link is not the absence of a file.
        match file.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(file.display(), &error)),
            Ok(_) => {}
        }
        let text = files::text(&file, value::LIMIT).map_err(|error| {
            Error::input(format_args!(
                "cannot read {}: {error}; remove it, or add --no-config",
                file.display()
            ))
        })?;
        let whole = env::current_dir().and_then(|here| here.join(folder).canonicalize());
        let whole = whole.map_err(|error| Error::machine(&error))?;
        Ok(Some(Self {
            path: whole.join(NAME),
            folder: folder.to_owned(),
            text,
            trust: Trust::load(data_dir::config().as_deref())?,
        }))
    }

    /// Parses the file.
    pub(crate) fn parse(&self, keys: &Keys) -> Result<ConfigFile, Error> {
        let name: Arc<str> = self.name().into();
        file::parse(&self.text, &name, &self.folder, Origin::Project, keys)
    }

    /// The name for messages.
    fn name(&self) -> String {
        self.folder.join(NAME).display().to_string()
    }

    /// Parses the file if the user has consented to it, and returns its status.
    pub(crate) fn consented(
        mut self,
        keys: &Keys,
        asking: Asking,
        printer: &Printer,
    ) -> Result<(Option<ConfigFile>, Status), Error> {
        let is_prompted = asking == Asking::Prompt && is_at_terminal();
        let is_known = self.trust.knows(&self.path);
        let name = self.name();
        let note = |printer: &Printer, why: &str| {
            let there = match asking {
                Asking::Prompt => "",
                Asking::Note => " there",
                Asking::Silent => return,
            };
            printer.progress(&format!(
                "{name} is not used: {}; `gadgetry config trust`{there} shows it and trusts it\n",
                one_line(why)
            ));
        };
        if !is_known && !is_prompted {
            note(printer, "you have not trusted it");
            return Ok((None, Status::Untrusted));
        }
        let parsed = self.parse(keys);
        let parsed = parsed.and_then(|file| Ok((self.digest(&file)?, file)));
        let (sha256, file) = match parsed {
            Ok(parsed) => parsed,
            Err(Error::Input(problem) | Error::Failed(problem)) => {
                note(printer, &problem);
                let status = if is_known {
                    Status::Changed
                } else {
                    Status::Untrusted
                };
                return Ok((None, status));
            }
            Err(error) => return Err(error),
        };
        let why = match self.trust.decision(&self.path, &sha256) {
            Decision::Trusted => return Ok((Some(file), Status::Trusted)),
            Decision::Declined => return Ok((None, Status::Declined)),
            Decision::Changed => "it has changed since you decided about it",
            Decision::Unknown => "you have not trusted it",
        };
        if !is_prompted {
            note(printer, why);
            return Ok((None, Status::Changed));
        }
        if is_known {
            printer.progress(&format!("{name}: {why}\n"));
        }
        let Summary { head, rows } = self.summary(&file);
        // Without an answer nothing is decided.
        let Some(answer) = printer.ask_about(&head, rows, QUESTION) else {
            return Ok((None, Status::Untrusted));
        };
        let is_trusted = matches!(answer.trim(), "y" | "Y" | "yes");
        if let Err(error) = self.trust.decide(&self.path, Some((&sha256, is_trusted))) {
            printer.progress(&format!("the decision cannot be kept: {error}\n"));
        }
        if is_trusted {
            Ok((Some(file), Status::Trusted))
        } else {
            Ok((None, Status::Declined))
        }
    }

    /// Trusts the file with this digest.
    pub(crate) fn trust(&mut self, sha256: &str) -> Result<(), Error> {
        let kept = self.trust.decide(&self.path, Some((sha256, true)));
        kept.map_err(|error| not_kept(&error))
    }

    /// Forgets the decision about the file.
    pub(crate) fn revoke(&mut self) -> Result<(), Error> {
        let kept = self.trust.decide(&self.path, None);
        kept.map_err(|error| not_kept(&error))
    }

    /// Identifies the file, and the files that it names, as they are now.
    pub(crate) fn digest(&self, file: &ConfigFile) -> Result<String, Error> {
        let mut named: Vec<PathBuf> = Vec::new();
        for (key, setting) in file.settings() {
            match key.rsplit('.').next() {
                Some("gadgets" | "config") => {
                    named.extend(setting.value.texts().iter().map(PathBuf::from));
                }
                Some(MODEL) => {
                    let script = setting.value.first().and_then(connect::script);
                    named.extend(script.map(Path::to_owned));
                }
                Some(_) | None => {}
            }
        }
        for prompt in file.prompts.values() {
            if let PromptSource::File(path, _) = prompt {
                named.push(path.clone());
            }
        }
        for (folder, _) in &file.skills {
            named.extend(skills::files(folder));
        }
        if named.len() > NAMED {
            return Err(Error::at(
                NAME,
                format_args!("it names more than {NAMED} files"),
            ));
        }
        let sha256 = trust::digest(&self.text, &named, &self.folder);
        sha256.map_err(|error| Error::at(NAME, error))
    }

    /// All of what the file would change; what decides where requests are sent, what runs and what is allowed is last.
    pub(crate) fn summary(&self, file: &ConfigFile) -> Summary {
        let (mut plain, mut risky) = (Vec::new(), Vec::new());
        if let Some((profile, _)) = &file.profile {
            plain.extend(Row::items(&format!("profile = {profile:?}")));
        }
        for (name, prompt) in &file.prompts {
            match prompt {
                PromptSource::Inline((text, _)) => {
                    plain.extend(text_of(&format!("prompts.{name}"), " =", text));
                }
                // Its text is sent to the model's server, whatever it is.
                PromptSource::File(path, _) => {
                    risky.extend(Row::items(&format!("prompts.{name} in {}", path.display())));
                }
            }
        }
        for (name, command) in &file.commands {
            let what = format!("command {name}, {}", command.verb.name());
            plain.extend(match &command.prompt {
                Some((text, _)) => text_of(&what, ":", text),
                None => Row::items(&what),
            });
            if let Some(text) = &command.description {
                plain.extend(text_of(&format!("commands.{name}.description"), " =", text));
            }
            if let Some((profile, _)) = &command.profile {
                plain.extend(text_of(&format!("commands.{name}.profile"), " =", profile));
            }
        }
        for (name, profile) in &file.profiles {
            for (parent, _) in &profile.inherits {
                plain.extend(text_of(&format!("profiles.{name} inherits"), "", parent));
            }
        }
        for (key, setting) in file.settings() {
            let last = key.rsplit('.').next().unwrap_or_default();
            let value = redact::setting(last, &setting.written);
            let rows = if Attributes::of(last).is_risky {
                &mut risky
            } else {
                &mut plain
            };
            rows.extend(match value.as_str() {
                Some(text) => text_of(&key, " =", text),
                None => Row::items(&format!("{key} = {value}")),
            });
        }
        for (name, settings, _) in file.models.iter() {
            for (key, value) in settings.pairs() {
                risky.extend(text_of(&format!("models.{name:?}.{key}"), " =", &value));
            }
        }
        for (folder, _) in &file.skills {
            risky.extend(Row::items(&format!("skills in {}", folder.display())));
        }
        for rule in &file.approvals {
            risky.extend(Row::items(&rule.rule.to_string()));
        }
        for hook in &file.hooks {
            risky.extend(Row::items(&hook.written()));
        }
        for command in &file.after_edit {
            risky.extend(Row::items(&command.written()));
        }
        for server in &file.servers {
            let value = redact::server_for_consent(&server.item.json());
            risky.extend(Row::items(&format!("MCP server {} = {value}", server.name)));
        }
        plain.extend(risky);
        Summary {
            head: format!("{} would set:", self.path.display()),
            rows: plain,
        }
    }
}

/// A text with its name: in one line if it is short, and else in lines of its own.
fn text_of(name: &str, between: &str, text: &str) -> Vec<Row> {
    if !text.contains('\n') && text.chars().count() <= SHORT {
        return Row::items(&format!("{name}{between} {text:?}"));
    }
    let mut all = Row::items(&format!("{name}{between}"));
    all.extend(rows(text));
    all
}

/// Summary of the changes that a file would make.
pub(crate) struct Summary {
    pub(crate) head: String,
    pub(crate) rows: Vec<Row>,
}

fn not_kept(error: &io::Error) -> Error {
    Error::Failed(format!("the decision cannot be kept: {error}"))
}
