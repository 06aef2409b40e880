//! Another profile for a conversation in progress.

use std::collections::BTreeSet;
use std::path::Path;

use super::server::{for_server, leave_chosen, value_in};
use super::words::{of_continued, with_options};
use super::{Config, ConfigVerb, Keys, Source};
use crate::args::option_name;
use crate::error::Error;
use crate::sessions::words_in;

const MODEL: &str = "model";

impl Config {
    /// The options of a conversation with another profile, as words: the weakest are those `stored` with a session, then those
    /// of the configuration, then those that were `typed`. The `model` in use stays if one was typed, or if the profile names
    /// none. Configured paths are resolved from `folder`.
    pub(crate) fn chat_with_profile(
        &self,
        profile: &str,
        typed: &[String],
        stored: Option<&[String]>,
        (model, folder): (&str, &Path),
    ) -> Result<Vec<String>, Error> {
        let keys = Keys::new();
        let chosen = (profile.to_owned(), Source::Flag);
        let layer = self.profiles.layer(profile, &chosen.1)?;
        let verb = ConfigVerb::Chat;
        let settings = self.settings_with(verb, None, Some(&chosen), &keys)?;
        let mut settings = match stored {
            Some(_) => of_continued(settings, true),
            None => settings,
        };
        let keys = keys.of(verb);
        let mut tables = verb.parent().into_iter().chain([verb]);
        let names_model = layer.shared.contains_key(MODEL)
            || tables.any(|verb| {
                let table = layer.verbs.get(&verb);
                table.is_some_and(|it| it.contains_key(MODEL))
            });
        let keeps_model = !names_model || self.typed.contains(MODEL);
        leave_chosen(&mut settings, |name| {
            if name == MODEL {
                return keeps_model.then(|| model.to_owned());
            }
            let mut values = typed.iter().filter(|it| option_name(it) == name);
            values
                .next_back()?
                .split_once('=')
                .map(|(_, it)| it.to_owned())
        });
        let added = with_options(Vec::new(), 0, self, keys, &settings, &self.typed)?;
        let added = added.into_iter().filter_map(|it| it.into_string().ok());
        let added = words_in(folder, added.collect());
        let added = added.map_err(|error| Error::machine(&error))?;
        let given = added.iter().map(|it| option_name(it).to_owned());
        let given: BTreeSet<String> = given.chain(self.typed.iter().cloned()).collect();
        let is_free = |name: &str| {
            !given.contains(name) && !given.iter().any(|other| keys.conflict(name, other))
        };
        let stored = for_server(stored.unwrap_or_default().to_vec(), |name| {
            if name == MODEL && keeps_model {
                return Some(model.to_owned());
            }
            value_in(typed, name).or_else(|| value_in(&added, name))
        });
        let stored = stored.into_iter().filter(|it| is_free(option_name(it)));
        let words = stored.chain(added.iter().cloned());
        let mut words: Vec<String> = words.chain(typed.iter().cloned()).collect();
        if keeps_model {
            words.retain(|it| option_name(it) != MODEL);
            words.push(format!("--{MODEL}={model}"));
        }
        Ok(words)
    }

    /// Takes note that another profile is in use.
    pub(crate) fn use_profile(&mut self, name: &str) {
        self.profile = Some((name.to_owned(), Source::Flag));
    }

    /// The name of the profile in use. In a continued session, only a profile that was chosen for it is.
    pub(crate) fn profile_in_use(&self, is_continued: bool) -> Option<&str> {
        let (name, source) = self.profile.as_ref()?;
        (!is_continued || *source == Source::Flag).then_some(name)
    }
}
