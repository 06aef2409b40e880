//! One configuration file, as read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::form;
use super::hooks::{self, HookCommand};
use super::keys::Keys;
use super::layer::{Layer, LayerReader, unknown};
use super::models::{self, ModelTables};
use super::tables::{self, ApprovalRule, McpServer};
use super::value::{self, Entry, Item, Value};
use super::verb::ConfigVerb;
use crate::error::Error;
use crate::options::{Origin, Place, SYSTEM_PROMPT, Setting, Settings, Source};

/// Profiles, commands and prompts of a file, each.
const MOST: usize = 500;

/// Keys and tables outside of tables that set no option.
const OTHERS: [&str; 9] = [
    "approvals",
    "commands",
    "hooks",
    "mcp",
    "models",
    "profile",
    "profiles",
    "prompts",
    "skills",
];

/// A text and its position.
pub(crate) type Named = (String, Place);

/// The name of a profile, and what chose it.
pub(crate) type Choice = (String, Source);

/// Contents of a configuration file.
#[derive(Debug, Default)]
pub(crate) struct ConfigFile {
    pub(crate) layer: Layer,
    /// The profile that it chooses.
    pub(crate) profile: Option<Choice>,
    pub(crate) profiles: BTreeMap<String, Profile>,
    pub(crate) commands: BTreeMap<String, CustomCommand>,
    pub(crate) prompts: BTreeMap<String, PromptSource>,
    pub(crate) approvals: Vec<ApprovalRule>,
    pub(crate) hooks: Vec<HookCommand>,
    pub(crate) servers: Vec<McpServer>,
    /// Folders with skills.
    pub(crate) skills: Vec<(PathBuf, Place)>,
    pub(crate) models: ModelTables,
}

/// A table `[profiles.NAME]`.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    /// The profiles whose keys it has, too; the last one wins.
    pub(crate) inherits: Vec<Named>,
    pub(crate) layer: Layer,
}

/// A table `[commands.NAME]`.
#[derive(Clone, Debug)]
pub(crate) struct CustomCommand {
    pub(crate) place: Place,
    /// The verb that it runs.
    pub(crate) verb: ConfigVerb,
    pub(crate) description: Option<String>,
    /// The template of its prompt.
    pub(crate) prompt: Option<Named>,
    /// The profile that it uses.
    pub(crate) profile: Option<Choice>,
    pub(crate) settings: Settings,
}

/// A prompt in `[prompts]`.
#[derive(Clone, Debug)]
pub(crate) enum PromptSource {
    /// The template.
    Inline(Named),
    /// The file that it is in.
    File(PathBuf, Place),
}

impl PromptSource {
    /// Returns its position.
    pub(crate) fn place(&self) -> &Place {
        match self {
            Self::Inline((_, place)) | Self::File(_, place) => place,
        }
    }
}

/// Reads the text of a file. `folder` is what its relative paths are resolved from.
pub(crate) fn parse(
    text: &str,
    name: &Arc<str>,
    folder: &Path,
    origin: Origin,
    keys: &Keys,
) -> Result<ConfigFile, Error> {
    let mut file = ConfigFile::default();
    for entry in value::parse(text, name)? {
        let item = &entry.item;
        let mut reader = LayerReader {
            keys,
            folder,
            origin,
        };
        match entry.key.as_str() {
            "profile" => file.profile = Some(choice(item, origin)?),
            "profiles" => {
                reader.origin = Origin::Profile;
                for entry in few("profiles", item)? {
                    let profile = profile(entry, &mut reader)?;
                    file.profiles.insert(entry.key.clone(), profile);
                }
            }
            "commands" => {
                reader.origin = Origin::Command;
                for entry in few("commands", item)? {
                    let command = command(entry, &mut reader)?;
                    file.commands.insert(entry.key.clone(), command);
                }
            }
            "prompts" => {
                for entry in few("prompts", item)? {
                    file.prompts
                        .insert(entry.key.clone(), prompt(entry, folder)?);
                }
            }
            "approvals" => file.approvals = tables::approvals(item)?,
            "hooks" => file.hooks = hooks::hooks(item, origin)?,
            "mcp" => file.servers = tables::servers(item, origin, folder)?,
            "models" => {
                few("models", item)?;
                file.models = models::models(item)?;
            }
            "skills" => {
                let folders = tables::skills(item)?.into_iter();
                let folders = folders.map(|(it, place)| (form::path(&it, folder).into(), place));
                file.skills = folders.collect();
            }
            _ => {
                reader.read(&mut file.layer, &entry, &OTHERS)?;
            }
        }
    }
    Ok(file)
}

/// The entries of a table, of which there may be some hundreds.
fn few<'a>(key: &str, item: &'a Item) -> Result<&'a [Entry], Error> {
    let entries = item.table(key)?;
    match entries.get(MOST) {
        Some(entry) => Err(entry
            .place
            .error(format_args!("there are more than {MOST} {key}"))),
        None => Ok(entries),
    }
}

fn named(key: &str, item: &Item) -> Result<Named, Error> {
    Ok((item.text(key)?.to_owned(), item.place.clone()))
}

fn choice(item: &Item, origin: Origin) -> Result<Choice, Error> {
    let (name, place) = named("profile", item)?;
    Ok((name, Source::File(origin, place)))
}

fn profile(table: &Entry, reader: &mut LayerReader<'_>) -> Result<Profile, Error> {
    let mut profile = Profile {
        inherits: Vec::new(),
        layer: Layer::default(),
    };
    for entry in table.item.table(&format!("profiles.{}", table.key))? {
        if entry.key == "inherits" {
            profile.inherits = entry.item.texts("inherits")?;
        } else {
            reader.read(&mut profile.layer, entry, &["inherits"])?;
        }
    }
    Ok(profile)
}

fn command(table: &Entry, reader: &mut LayerReader<'_>) -> Result<CustomCommand, Error> {
    const OTHERS: [&str; 4] = ["type", "description", "prompt", "profile"];
    let name = &table.key;
    let is_word = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '_';
    if name.is_empty() || name.starts_with('-') || !name.chars().all(is_word) {
        return Err(table.place.error(format_args!(
            "invalid command name {name:?}; expected ASCII letters, digits, hyphens and underscores, the first one not a hyphen"
        )));
    }
    if reader.keys.is_verb(name) {
        return Err(table.place.error(format_args!(
            "gadgetry has a verb {name}; choose another name for the command"
        )));
    }
    let entries = table.item.table(&format!("commands.{name}"))?;
    let mut command = CustomCommand {
        place: table.place.clone(),
        verb: ConfigVerb::Agent,
        description: None,
        prompt: None,
        profile: None,
        settings: Settings::default(),
    };
    // The type decides which keys there are.
    if let Some(entry) = entries.iter().find(|entry| entry.key == "type") {
        command.verb = type_of_command(&entry.item, reader.keys)?;
    }
    let mut layer = Layer::default();
    for entry in entries {
        match entry.key.as_str() {
            "type" => {}
            "description" => command.description = Some(entry.item.text("description")?.to_owned()),
            "prompt" => command.prompt = Some(named("prompt", &entry.item)?),
            "profile" => command.profile = Some(choice(&entry.item, Origin::Command)?),
            _ => reader.read_of_verb(&mut layer, command.verb, entry, &OTHERS)?,
        }
    }
    command.settings = layer.verbs.remove(&command.verb).unwrap_or_default();
    Ok(command)
}

/// The verb that a command runs.
fn type_of_command(item: &Item, keys: &Keys) -> Result<ConfigVerb, Error> {
    use ConfigVerb::{Agent, Chat, Complete};

    let verb = ConfigVerb::named(item.text("type")?);
    let verb = verb.filter(|verb| matches!(verb, Agent | Chat | Complete));
    let Some(verb) = verb else {
        let problem = "unknown type of a command; expected \"agent\", \"chat\" or \"complete\"";
        return Err(item.place.error(problem));
    };
    if let Some(feature) = keys.missing_feature(verb) {
        return Err(item.place.error(format_args!(
            "type = {:?} needs gadgetry built with `--features {feature}`",
            verb.name()
        )));
    }
    Ok(verb)
}

fn prompt(entry: &Entry, folder: &Path) -> Result<PromptSource, Error> {
    const EXPECTED: &str = "a text, or a table { file = \"PATH\" }";
    let item = &entry.item;
    if let Value::Text(text) = &item.value {
        return Ok(PromptSource::Inline((text.clone(), item.place.clone())));
    }
    let Value::Table(entries) = &item.value else {
        return Err(item.wrong_type(&entry.key, EXPECTED));
    };
    let mut file = None;
    for entry in entries {
        if entry.key != "file" {
            return Err(unknown(entry, ["file"]));
        }
        file = Some(named("file", &entry.item)?);
    }
    let (file, place) = file.ok_or_else(|| {
        item.place.error(format_args!(
            "the prompt {} has no text; expected {EXPECTED}",
            entry.key
        ))
    })?;
    Ok(PromptSource::File(form::path(&file, folder).into(), place))
}

impl ConfigFile {
    /// All settings, with the tables that they are in.
    pub(crate) fn settings(&self) -> impl Iterator<Item = (String, &Setting)> {
        let profiles = self.profiles.iter();
        let profiles = profiles.map(|(name, it)| (format!("profiles.{name}."), &it.layer));
        let layers = [(String::new(), &self.layer)].into_iter().chain(profiles);
        let of_layers = layers.flat_map(|(prefix, layer)| {
            let verbs = layer.verbs.iter();
            let verbs = verbs.map(|(verb, settings)| (format!("{}.", verb.name()), settings));
            let tables = [(String::new(), &layer.shared)].into_iter().chain(verbs);
            tables.flat_map(move |(table, settings)| {
                let prefix = prefix.clone();
                settings
                    .iter()
                    .map(move |(name, setting)| (format!("{prefix}{table}{name}"), setting))
            })
        });
        let commands = self.commands.iter().flat_map(|(name, command)| {
            let settings = command.settings.iter();
            settings.map(move |(key, setting)| (format!("commands.{name}.{key}"), setting))
        });
        of_layers.chain(commands)
    }

    /// The names of prompts that settings use, with where they do.
    pub(crate) fn used_prompts(&self) -> Vec<(String, &Source)> {
        let settings = self.settings();
        let used = settings.filter(|(key, _)| key.rsplit('.').next() == Some(SYSTEM_PROMPT));
        let named = used.filter_map(|(_, setting)| {
            let name = setting.written.as_str()?;
            Some((name.to_owned(), &setting.source))
        });
        named.collect()
    }
}
