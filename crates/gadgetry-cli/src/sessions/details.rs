//! Details of the command line that a session keeps, to repeat it.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::{env, io, mem};

use gadgetry::proto::run::RunConfig;
use reqwest::Url;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::cli::{self, is_url, name_and_target};
use crate::error::Error;
use crate::options::{
    Attributes, BASE_URL, Definitions, IMAGE, SYSTEM, Secret, Setting, Settings, Source, Value,
};

/// The version of stored options: an object by their names. Before it, they were a list of words, `--name` or `--name=value`.
const VERSION: u32 = 1;

/// The options of agents, and so of conversations.
pub(crate) static OPTIONS: LazyLock<Definitions> = LazyLock::new(|| {
    let root = cli::command();
    let agent = root.find_subcommand("agent");
    agent.map(Definitions::of).unwrap_or_default()
});

/// The document that is stored with each run of a session.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Details {
    /// The form of the options.
    #[serde(default)]
    version: u32,
    /// None of them is a key.
    options: Json,
    /// The names of options that are not kept because they may hold keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) left_out: Vec<String>,
    /// The working directory.
    pub(crate) folder: String,
    /// The first prompt of the run as the user has typed it, if the model reads more: notes, files, the text of a skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) typed: Option<String>,
    /// The prompts that were added to the run after its first one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) added: Vec<String>,
    /// Changes of files that the user has undone, about which the model has not read yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) undone: Vec<String>,
    /// The session whose runs came before its first one, those with lower numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) forked_from: Option<String>,
    /// Whether messages had images, so that the model reads them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) has_images: bool,
    /// Whether its latest run began without a user who answers, and so without the gadgets for that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_unattended: bool,
}

impl Details {
    /// Keeps the options that a session may have, in the current working directory.
    pub(crate) fn of(settings: &Settings) -> io::Result<Self> {
        Self::in_folder(settings, env::current_dir()?)
    }

    /// Keeps the options that a session may have, in another folder.
    pub(crate) fn in_folder(settings: &Settings, folder: PathBuf) -> io::Result<Self> {
        let folder = folder.into_os_string();
        let folder = folder.into_string().map_err(|_| not_unicode())?;
        let mut details = Self {
            version: VERSION,
            options: Json::Null,
            left_out: Vec::new(),
            folder,
            typed: None,
            added: Vec::new(),
            undone: Vec::new(),
            forked_from: None,
            has_images: settings.has(IMAGE),
            is_unattended: false,
        };
        details.set_options(settings)?;
        Ok(details)
    }

    /// Replaces the options, whose relative paths are resolved from the present working directory.
    pub(crate) fn set_options(&mut self, settings: &Settings) -> io::Result<()> {
        let kept = settings
            .clone()
            .only(|name, _| !Attributes::of(name).is_once);
        let mut options = serde_json::Map::new();
        for (name, Setting { value, .. }) in kept.in_folder(Path::new(""), &OPTIONS)? {
            let without_keys = without_keys(&name, &value);
            if without_keys.as_ref() != Some(&value) {
                self.leave_out(&name);
            }
            if let Some(value) = without_keys {
                let json = value.json().ok_or_else(not_unicode)?;
                options.insert(name, json);
            }
        }
        (self.version, self.options) = (VERSION, Json::Object(options));
        Ok(())
    }

    /// The options. Those of one invocation, which another version may have kept, are not among them.
    pub(crate) fn settings(&self) -> Result<Settings, Error> {
        let damaged = || Error::Failed("the options of the session are damaged".to_owned());
        let mut settings = Settings::default();
        let mut add = |name: &str, value: Value| {
            if OPTIONS.get(name).is_none() {
                return Err(Error::input(format_args!(
                    "the session has an option --{name}, which this version does not know"
                )));
            }
            settings.insert(name, Setting::new(value, Source::Session));
            Ok(())
        };
        match (self.version, &self.options) {
            (0, Json::Array(words)) => {
                let words = words.iter().map(Json::as_str);
                let words: Vec<&str> = words.collect::<Option<_>>().ok_or_else(damaged)?;
                for (name, value) in of_words(&words) {
                    add(name, value)?;
                }
            }
            (VERSION, Json::Object(options)) => {
                for (name, json) in options {
                    add(name, Value::of_json(json).ok_or_else(damaged)?)?;
                }
            }
            (0 | VERSION, _) => return Err(damaged()),
            (newer, _) => {
                return Err(Error::input(format_args!(
                    "the session was written by a later version (its options have version {newer}, not {VERSION})"
                )));
            }
        }
        Ok(settings.only(|name, _| !Attributes::of(name).is_once))
    }

    /// The end of the system prompt of a run with these details, after the user's own: what it began with to know about the
    /// project. `None` if it cannot be found, because the user's own has changed since.
    pub(crate) fn context(&self, config: &RunConfig) -> Result<Option<String>, Error> {
        let whole = config.system.as_deref().unwrap_or_default();
        let settings = self.settings()?;
        let own = settings.text(SYSTEM).unwrap_or_default();
        let context = whole.strip_prefix(own);
        Ok(context.map(|it| it.trim_start_matches('\n').to_owned()))
    }

    /// Takes note that an option is not kept.
    pub(crate) fn leave_out(&mut self, name: &str) {
        if !self.left_out.iter().any(|it| it == name) {
            self.left_out.push(name.to_owned());
        }
    }

    /// A message with a note about the changes that were undone since the one before, so that the model does not rely on them.
    pub(crate) fn with_undone(&mut self, message: String) -> String {
        let undone = mem::take(&mut self.undone);
        if undone.is_empty() {
            return message;
        }
        let undone = undone.join(", ");
        format!(
            "[The user has undone changes of files: {undone}. Read a file again before you use it.]\n\n{message}"
        )
    }

    /// The options that were not kept and are not in `settings` again.
    pub(crate) fn missing<'a>(&'a self, settings: &Settings) -> Vec<&'a str> {
        let missing = self.left_out.iter().filter(|it| !settings.has(it));
        missing.map(String::as_str).collect()
    }

    /// Replaces the value of an option.
    #[cfg(feature = "chat")]
    pub(crate) fn set_option(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let mut settings = self.settings()?;
        settings.insert(name, Setting::new(Value::text(value), Source::Flag));
        let set = self.set_options(&settings);
        set.map_err(|error| Error::machine(&error))
    }

    /// Forgets options that may hold a key of a model's server.
    #[cfg(feature = "chat")]
    pub(crate) fn leave_server(&mut self) -> Result<(), Error> {
        let is_bound = |name: &str| Attributes::of(name).is_of_model_server();
        let settings = self.settings()?.only(|name, _| !is_bound(name));
        self.left_out.retain(|name| !is_bound(name));
        let set = self.set_options(&settings);
        set.map_err(|error| Error::machine(&error))
    }
}

/// The options in the words of earlier versions.
fn of_words<'a>(words: &[&'a str]) -> Vec<(&'a str, Value)> {
    let mut options: Vec<(&str, Value)> = Vec::new();
    for word in words {
        let word = word.strip_prefix("--").unwrap_or(word);
        let Some((name, text)) = word.split_once('=') else {
            options.push((word, Value::Switch(true)));
            continue;
        };
        match options.iter_mut().find(|(other, _)| *other == name) {
            Some((_, Value::Texts(texts))) => texts.push(text.into()),
            _ => options.push((name, Value::text(text))),
        }
    }
    options
}

/// Fails if an option without which the session would send requests elsewhere is `missing`.
pub(crate) fn refuse_without(missing: &[&str]) -> Result<(), Error> {
    if missing.contains(&BASE_URL) {
        return Err(Error::input(
            "the session did not keep its --base-url, because it contains a password or a query; add --base-url URL",
        ));
    }
    Ok(())
}

/// The value without texts that may be keys; `None` if nothing is left.
fn without_keys(name: &str, value: &Value) -> Option<Value> {
    let secret = Attributes::of(name).secret;
    let Value::Texts(texts) = value else {
        return (secret != Secret::Always).then(|| value.clone());
    };
    let is_kept = |text: &&std::ffi::OsString| {
        let text = text.to_str();
        match secret {
            Secret::Never => true,
            Secret::Always => false,
            Secret::InUrl => text.is_some_and(|url| !may_hold_key(url)),
            Secret::InServer => text.is_some_and(|server| {
                let (_, target) = name_and_target(server);
                !is_url(target) || !may_hold_key(target)
            }),
        }
    };
    let kept: Vec<_> = texts.iter().filter(is_kept).cloned().collect();
    (!kept.is_empty() || texts.is_empty()).then_some(Value::Texts(kept))
}

fn may_hold_key(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else {
        return true;
    };
    !url.username().is_empty()
        || url.password().is_some()
        || url.query().is_some()
        || url.fragment().is_some()
}

fn not_unicode() -> io::Error {
    io::Error::other("the name of a file, a folder or an option is not UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_a_key_is_not_kept() {
        let check = |name: &str, text: &str, expected: bool| {
            let is_kept = without_keys(name, &Value::text(text)).is_some();
            assert_eq!(is_kept, expected, "{name} {text}");
        };
        check(BASE_URL, "http://localhost:8000/v1", true);
        check(BASE_URL, "https://example.com/@cf/v1", true);
        check(BASE_URL, "https://user@example.com/v1", false);
        check(BASE_URL, "https://:key@example.com/v1", false);
        check(BASE_URL, "https://example.com/v1?key=k", false);
        check(BASE_URL, "https://example.com/v1#key", false);
        check(BASE_URL, "not a URL", false);
        check("mcp", "npx server --token=x", true);
        check("mcp", "s=https://example.com/mcp", true);
        check("mcp", "s=https://example.com/mcp?key=k", false);
        check("header", "A: b", false);
        check("extra-body", "{}", false);
        check("system", "Be brief.", true);
    }

    /// Sessions of earlier versions have words.
    #[test]
    fn stored_options_are_read_in_each_version() {
        let check = |stored: &str, expected: Result<&str, &str>| {
            let json = format!(r#"{{"folder":"/",{stored}}}"#);
            let details: Details = serde_json::from_str(&json).expect("details");
            let found = details.settings().map(|settings| {
                let shown = settings.iter();
                let shown = shown
                    .map(|(name, it)| format!("{name}={}", it.value.json().unwrap_or_default()));
                shown.collect::<Vec<_>>().join(" ")
            });
            let found = found.map_err(|error| error.to_string());
            assert_eq!(
                found.as_deref().map_err(String::as_str),
                expected,
                "{stored}"
            );
        };
        check(
            r#""options":["--model=script:/a=b","--tag=a","--sandbox","--tag=b","--yes"]"#,
            Ok(r#"model="script:/a=b" sandbox=true tag=["a","b"]"#),
        );
        check(
            r#""version":1,"options":{"model":"m","sandbox":true,"tag":["a","b"],"quiet":true}"#,
            Ok(r#"model="m" sandbox=true tag=["a","b"]"#),
        );
        check(
            r#""version":1,"options":{"no-such":"x"}"#,
            Err("the session has an option --no-such, which this version does not know"),
        );
        let damaged = Err("the options of the session are damaged");
        check(r#""version":1,"options":["--model=m"]"#, damaged);
        check(r#""version":1,"options":{"budget":1}"#, damaged);
        check(r#""options":[1]"#, damaged);
        check(
            r#""version":2,"options":{}"#,
            Err("the session was written by a later version (its options have version 2, not 1)"),
        );
    }
}
