//! Values by the names of options.

use std::collections::BTreeMap;
use std::collections::btree_map::IntoIter;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::{self, Path};

use clap::ArgMatches;
use serde_json::Value as Json;

use super::{Attributes, BASE_URL, Definitions, Kind, MODEL, Source, UPSTREAM, Value};
use crate::connect;
use crate::error::Error;
use crate::usable;

/// The value of an option, and where it is from.
#[derive(Clone)]
pub(crate) struct Setting {
    pub(crate) value: Value,
    /// The value as a file has it.
    pub(crate) written: Json,
    pub(crate) source: Source,
}

impl Setting {
    /// A value that no file has.
    pub(crate) fn new(value: Value, source: Source) -> Self {
        Self {
            value,
            written: Json::Null,
            source,
        }
    }
}

/// Values may be keys.
impl fmt::Debug for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setting").finish_non_exhaustive()
    }
}

/// Values by the names of options.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings(BTreeMap<String, Setting>);

impl Settings {
    /// Returns what was typed.
    pub(crate) fn typed(definitions: &Definitions, matches: &ArgMatches) -> Self {
        let typed = definitions.typed(matches).into_iter();
        let typed = typed.map(|(name, value)| (name, Setting::new(value, Source::Flag)));
        typed.collect()
    }

    /// Returns the setting of an option.
    pub(crate) fn get(&self, name: &str) -> Option<&Setting> {
        self.0.get(name)
    }

    /// Returns whether an option is set.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Returns the first text of an option.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.value.first()
    }

    /// Returns whether a flag is on.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        let value = self.0.get(name).map(|it| &it.value);
        value == Some(&Value::Switch(true))
    }

    /// Returns all of them, by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Setting)> {
        self.0.iter().map(|(name, it)| (name.as_str(), it))
    }

    /// Sets an option.
    pub(crate) fn insert(&mut self, name: impl Into<String>, setting: Setting) {
        self.0.insert(name.into(), setting);
    }

    /// Removes an option.
    pub(crate) fn remove(&mut self, name: &str) -> Option<Setting> {
        self.0.remove(name)
    }

    /// Keeps the settings that `is_kept` selects.
    #[must_use]
    pub(crate) fn only(mut self, is_kept: impl Fn(&str, &Setting) -> bool) -> Self {
        self.0.retain(|name, setting| is_kept(name, setting));
        self
    }

    /// Makes paths absolute. Relative ones are resolved from a folder; an empty one is the working directory.
    pub(crate) fn in_folder(self, folder: &Path, definitions: &Definitions) -> io::Result<Self> {
        let settings = self.0.into_iter().map(|(name, mut setting)| {
            let kind = definitions.get(&name).map(|it| it.kind);
            if name == MODEL {
                setting.value = setting.value.map(|text| {
                    let script = text.to_str().and_then(connect::script);
                    match script.filter(|file| !file.as_os_str().is_empty()) {
                        Some(file) => {
                            let mut name = OsString::from("script:");
                            name.push(path::absolute(folder.join(file))?);
                            Ok(name)
                        }
                        None => Ok::<_, io::Error>(text.to_owned()),
                    }
                })?;
            } else if matches!(kind, Some(Kind::Path | Kind::Paths)) {
                let absolute = |text: &OsStr| path::absolute(folder.join(text)).map(Into::into);
                setting.value = setting.value.map(absolute)?;
            }
            Ok((name, setting))
        });
        settings.collect()
    }

    /// Adds the settings of `weaker` for which these leave room: no other value, nothing in conflict, and no value that may
    /// hold a key of another server than the one that these choose.
    #[must_use]
    pub(crate) fn merge(self, weaker: Self, definitions: &Definitions) -> Self {
        self.merge_noting(weaker, definitions).0
    }

    /// Like [`Self::merge`]. Also returns the settings that were left because they are for another server.
    pub(crate) fn merge_noting(mut self, weaker: Self, definitions: &Definitions) -> (Self, Self) {
        let names: Vec<String> = self.0.keys().cloned().collect();
        let is_free = |name: &str| {
            let mut taken = names.iter();
            !taken.any(|it| it == name || definitions.conflict(it, name))
        };
        let bound = weaker.0.keys();
        let bound = bound.filter(|name| self.chooses_another(name, &weaker));
        let bound: Vec<String> = bound.cloned().collect();
        let mut left = Self::default();
        for (name, setting) in weaker {
            if bound.contains(&name) {
                left.insert(name, setting);
            } else if is_free(&name) {
                self.insert(name, setting);
            }
        }
        (self, left)
    }

    /// Returns whether these choose another server than the one for which `weaker` has the option.
    fn chooses_another(&self, name: &str, weaker: &Self) -> bool {
        let Some(server) = Attributes::of(name).bound_to else {
            return false;
        };
        let is_other = |name: &str| {
            let chosen = self.text(name);
            chosen.is_some() && chosen != weaker.text(name)
        };
        if server != MODEL {
            return is_other(server);
        }
        // A base URL is where every model is.
        let is_at_url = weaker.has(BASE_URL) || self.has(BASE_URL);
        let other_provider = || {
            let both = weaker.text(MODEL).zip(self.text(MODEL));
            both.is_some_and(|(old, new)| connect::is_elsewhere(old, new))
        };
        is_other(BASE_URL) || (!is_at_url && other_provider())
    }
}

impl IntoIterator for Settings {
    type Item = (String, Setting);
    type IntoIter = IntoIter<String, Setting>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl FromIterator<(String, Setting)> for Settings {
    fn from_iter<I: IntoIterator<Item = (String, Setting)>>(settings: I) -> Self {
        Self(settings.into_iter().collect())
    }
}

impl Extend<(String, Setting)> for Settings {
    fn extend<I: IntoIterator<Item = (String, Setting)>>(&mut self, settings: I) {
        self.0.extend(settings);
    }
}

/// Fails if an option is missing without which the others of a verb mean nothing.
pub(crate) fn required(settings: &Settings, definitions: &Definitions) -> Result<(), Error> {
    if definitions.get(MODEL).is_some() && !settings.has(MODEL) {
        return Err(Error::input(usable::how_to_choose()?));
    }
    let mut missing = Vec::new();
    let is_about_upstream = settings.has("upstream-api") || settings.has("upstream-key-env");
    let needs_upstream = is_about_upstream || !settings.has("config");
    if definitions.get(UPSTREAM).is_some() && !settings.has(UPSTREAM) && needs_upstream {
        missing.push("--upstream <URL|MODEL>");
    }
    let is_confined = settings.is_on("sandbox") || settings.is_on("dangerously-without-sandbox");
    if settings.is_on("yes") && !is_confined {
        return Err(Error::input(
            "--yes needs one of --sandbox (commands have no network, and write nothing outside the workspace) and --dangerously-without-sandbox (commands may do what you may)",
        ));
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(Error::input(format_args!(
        "the following required arguments were not provided: {}",
        missing.join(" ")
    )))
}
