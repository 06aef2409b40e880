//! Descriptions of a conversation: model, mode, gadgets, profiles, skills.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::SystemTime;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join};
use gadgetry::models::{ModelFilter, ModelRegistry};
use gadgetry::provider::{BaseUrl, Resolver};
use gadgetry::{Media, Skill, Skills};

use super::Talk;
use super::base::Base;
use crate::catalog;
use crate::chat::commands::Entered;
use crate::chat::editor::Names;
use crate::chat::files;
use crate::chat::images;
use crate::chat::prompt::Prompt;
use crate::chat::report::{Report, Tone};
use crate::chat::state::Facts;
use crate::cli::AgentOptions;
use crate::connect::{self, ModelOverrides};
use crate::error::Error;
use crate::lines::{age_words, one_line, short};
use crate::modes::Mode;
use crate::project::filled_in;
use crate::sessions::{Sessions, no_sessions, title};
use crate::skills;
use crate::usable::{NONE, Usable};

/// Sessions that are listed.
const SESSIONS: usize = 1000;

impl Base {
    /// Collects the facts that the screen shows and completes.
    pub(super) async fn facts(
        &self,
        options: &AgentOptions,
        skills: &Skills,
        approval: Mode,
    ) -> Result<Facts, Error> {
        let model = &options.model;
        let server = model.server.base_url.as_deref();
        let catalog = catalog::load(&model.data)?;
        let overrides = ModelOverrides {
            images: self.images,
            ..ModelOverrides::of_agent(model)
        };
        let found = connect::model(model.name(), &overrides, &catalog).await?;
        // Whether the user's own model reads images is not in the table: its server decides.
        let is_unknown =
            connect::script(model.name()).is_none() && catalog.get(found.name()).is_none();
        let (models, other_models) = self.models(&catalog);
        let skills = skills.iter().filter(|skill| is_of_user(skill));
        let skills = skills.map(|it| (it.name().to_owned(), short(it.description())));
        let skills: Vec<(String, String)> = skills.collect();
        let commands = self.project.commands.iter();
        let commands = commands.map(|it| (it.name().to_owned(), short(it.description())));
        let named = skills.iter().cloned().chain(commands);
        let named = named.map(|(name, what)| (format!("/{name}"), what));
        let mut named: Vec<(String, String)> = named.collect();
        named.sort();
        named.dedup_by(|one, other| one.0 == other.0);
        Ok(Facts {
            name: model.name().to_owned(),
            window: found.info().context_window,
            reads_images: is_unknown || found.info().reads_images,
            place: self.project.place.clone(),
            server: server.map(|it| BaseUrl::new(it).shown()),
            mode: mode(options, approval),
            approval,
            names: Names {
                models,
                other_models,
                profiles: self.profiles(),
                skills,
                named,
                sessions: Vec::new(),
            },
        })
    }

    /// The models that can be used now, and the others of the catalogue.
    fn models(&self, catalog: &ModelRegistry) -> (Vec<String>, Vec<String>) {
        let served = self.usable.served();
        if !served.is_empty() {
            // Any other name would be sent to that server, too.
            return (served.to_vec(), Vec::new());
        }
        let local = self.usable.of_servers().map(|it| it.name);
        let mut usable: BTreeSet<String> = local.collect();
        let mut others = BTreeSet::new();
        for spec in catalog.list(&ModelFilter::default()) {
            match Resolver::name_of(spec) {
                Some(name) if self.usable.has(&name, spec) => _ = usable.insert(name),
                Some(name) => _ = others.insert(name),
                None => {}
            }
        }
        for (short, name) in Resolver::shortcuts() {
            if usable.contains(name) {
                usable.insert(short.to_owned());
            } else {
                others.insert(short.to_owned());
            }
        }
        let others = others.into_iter().filter(|name| !usable.contains(name));
        let others = others.collect();
        (usable.into_iter().collect(), others)
    }
}

impl Talk {
    /// The reason that a command or a skill of the project is not used, if the user has not trusted it.
    pub(in crate::chat) fn refusal(&self, command: &str) -> Option<String> {
        self.base.project.refusal(command.strip_prefix('/')?)
    }

    /// Returns the facts that the screen shows and completes.
    pub(in crate::chat) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The gadgets, as the model reads about them from the next message on.
    pub(in crate::chat) async fn gadgets(&mut self) -> Report {
        // A mistake in new tools is reported with the next message.
        let _ = self.refresh().await;
        let registry = self.agent.plan().registry();
        let rows = registry.iter().map(|it| {
            let description = &it.spec().description;
            (one_line(it.name()), short(first_sentence(description)))
        });
        table(rows.collect(), "there are no gadgets")
    }

    /// The models that can be used now.
    pub(in crate::chat) async fn models(&mut self) -> Result<Report, Error> {
        self.use_usable(self.look().await)?;
        let rows = self.facts.names.models.iter();
        let rows = rows.map(|name| (one_line(name), String::new()));
        let otherwise = format!("{NONE}; `/model ` and a part of a name finds the others");
        Ok(table(rows.collect(), &otherwise))
    }

    /// Looks for the models that can be used now, also those of the server that `--base-url` names.
    pub(in crate::chat) fn look(&self) -> BoxFuture<'static, Usable> {
        let model = &self.args.options.model;
        let (name, server) = (model.name().to_owned(), model.server.clone());
        async move {
            if server.base_url.is_none() {
                return Usable::look().await;
            }
            let facts = connect::server_facts(&name, &server);
            let (found, facts) = join(Usable::look(), facts).await;
            let served = facts.unwrap_or_default().models.into_iter();
            found.serving(served.map(|it| it.name).collect())
        }
        .boxed()
    }

    /// Completes the names of these models from now on.
    pub(in crate::chat) fn use_usable(&mut self, usable: Usable) -> Result<(), Error> {
        self.base.usable = usable;
        let catalog = catalog::load(&self.args.options.model.data)?;
        let names = &mut self.facts.names;
        (names.models, names.other_models) = self.base.models(&catalog);
        Ok(())
    }

    /// The profiles, with a mark at the one in use.
    pub(in crate::chat) fn profiles(&mut self) -> Report {
        let rows = self.base.profiles();
        self.facts.names.profiles.clone_from(&rows);
        table(
            rows,
            "there are no profiles; add a table [profiles.NAME] to the configuration",
        )
    }

    /// The rules about calls, the first that matches counts.
    pub(in crate::chat) fn rules(&self) -> Report {
        let rules = self.approvals.rules();
        let rows = rules.iter().map(|rule| {
            let rule = rule.to_string();
            let (what, calls) = rule.split_once(' ').unwrap_or((&rule, ""));
            (what.to_owned(), one_line(calls))
        });
        table(
            rows.collect(),
            "there are no rules; gadgets that write, run or fetch ask",
        )
    }

    /// The other sessions of this folder, the latest first.
    pub(in crate::chat) async fn sessions(&mut self) -> Result<Report, Error> {
        let kept = self.kept.as_ref().or(self.last.as_ref());
        let sessions = match kept {
            Some(kept) => Some(Sessions {
                journal: kept.sessions.journal.clone(),
            }),
            None => Sessions::existing(&self.args.options.model.data)?,
        };
        let Some(sessions) = sessions else {
            return Err(no_sessions());
        };
        let folder = std::env::current_dir().ok();
        let folder = folder.as_deref().and_then(std::path::Path::to_str);
        // After `/new`, the one before is another one.
        let current = self.kept.as_ref().map(|kept| &kept.name);
        let all = sessions.all().await?.into_iter();
        let here = all.filter(|it| {
            it.folder().as_deref() == folder && folder.is_some() && Some(&it.name) != current
        });
        let now = SystemTime::now();
        let mut rows = Vec::new();
        for session in here.take(SESSIONS) {
            let first = session.runs.values().next();
            let title = short(&first.map(title).unwrap_or_default());
            let age = now.duration_since(session.updated()).unwrap_or_default();
            let what = format!("{} ago · {title}", age_words(age));
            rows.push((session.name.to_string(), what));
        }
        self.facts.names.sessions.clone_from(&rows);
        Ok(table(rows, "there is no other session of this folder"))
    }

    /// The skills that the user may send.
    pub(in crate::chat) fn skills(&self) -> Report {
        let skills = self.skills.iter().filter(|skill| is_of_user(skill));
        let rows = skills.map(|skill| {
            let hint = skill.front_matter().argument_hint.as_deref();
            let name = format!("{} {}", skill.name(), hint.unwrap_or_default());
            (one_line(&name), short(skill.description()))
        });
        table(
            rows.collect(),
            "there are no skills; name their folder with --skills DIR, or in [skills] of the configuration",
        )
    }

    /// The message that a text means: the instructions of a skill after `/skill`, and the files that it mentions.
    pub(in crate::chat) fn prompt(&self, typed: String) -> Result<Prompt, Error> {
        let mut attached = match Entered::of(&typed, &self.facts().names.named) {
            Some(Entered::Skill(name, text)) => {
                let instructions = self.instructions(&name, &text)?;
                // The files that the user mentions, and not those that the skill mentions.
                let mut attached = files::attach(&text);
                attached.text = instructions + &attached.text[text.len()..];
                attached
            }
            Some(_) | None => files::attach(&typed),
        };
        attached.images.extend(self.images.of(&typed));
        if !attached.images.is_empty() {
            self.sees_images()?;
        }
        Ok(Prompt {
            typed,
            full: attached.text,
            images: attached.images,
            problems: attached.problems,
        })
    }

    /// Takes an image for the next message, and returns its label.
    pub(in crate::chat) fn take_image(&mut self, path: &Path) -> Result<String, Error> {
        self.sees_images()?;
        Ok(self.images.add(images::read(path)?))
    }

    /// Takes an image that was read, and returns its label.
    pub(in crate::chat) fn take_media(&mut self, image: Media) -> String {
        self.images.add(image)
    }

    /// Fails if the table of models says that the model does not read images.
    pub(in crate::chat) fn sees_images(&self) -> Result<(), Error> {
        if self.facts.reads_images {
            return Ok(());
        }
        let model = &self.facts.name;
        Err(Error::input(format_args!(
            "{model} reads no images, according to the table of models; `gadgetry models --feature vision` lists models that do"
        )))
    }

    /// The instructions of a skill, with these arguments.
    fn instructions(&self, name: &str, text: &str) -> Result<String, Error> {
        let command = self.base.project.command(name);
        if let Some(command) = command.filter(|_| self.skills.get(name).is_none()) {
            return filled_in(command, text);
        }
        let skill = skills::named(&self.skills, name)?;
        if !is_of_user(skill) {
            return Err(Error::input(format_args!(
                "the skill {name} is for the model only, because its SKILL.md has `user-invocable: false`"
            )));
        }
        skill.instructions(text).map_err(Error::input)
    }
}

fn first_sentence(text: &str) -> &str {
    let end = text.match_indices('.').map(|(at, _)| at + 1);
    let mut ends = end.filter(|end| text[*end..].starts_with(char::is_whitespace));
    ends.next().map_or(text, |end| &text[..end])
}

fn is_of_user(skill: &Skill) -> bool {
    skill.front_matter().user_invocable
}

fn table(rows: Vec<(String, String)>, otherwise: &str) -> Report {
    if rows.is_empty() {
        Report::Note(Tone::Plain, otherwise.to_owned())
    } else {
        Report::Table(rows)
    }
}

/// Describes how calls are approved, and where commands run.
pub(super) fn mode(options: &AgentOptions, approval: Mode) -> String {
    let approvals = &options.approvals;
    let mode = match approval {
        _ if approvals.dry_run => "dry run",
        Mode::Plan => "plans (read only)",
        Mode::Ask | Mode::AcceptEdits if approvals.yes => "allows all (--yes)",
        Mode::AcceptEdits => "accepts edits",
        Mode::Ask => "asks",
    };
    let sandbox = if options.source.sandbox {
        ", sandbox"
    } else {
        ""
    };
    format!("{mode}{sandbox}")
}
