//! Profiles and what they inherit.

use std::collections::{BTreeMap, BTreeSet};

use gadgetry::proto::schema::closest;

use super::file::{ConfigFile, Profile};
use super::layer::Layer;
use crate::error::Error;
use crate::options::Source;

/// Profiles that inherit from each other, one from the next, at most.
const DEEPEST: usize = 32;

/// The profiles of the files, by name. The project's replace the user's.
#[derive(Debug, Default)]
pub(crate) struct Profiles(BTreeMap<String, Profile>);

impl Profiles {
    /// Collects the profiles of the files, the weakest first.
    pub(crate) fn of<'a>(files: impl IntoIterator<Item = &'a ConfigFile>) -> Self {
        let all = files.into_iter().flat_map(|file| file.profiles.clone());
        Self(all.collect())
    }

    /// The names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Checks that everything that is inherited exists, without cycles.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let mut seen = BTreeSet::new();
        let mut names = self.0.keys();
        names.try_for_each(|name| self.visit(name, &mut Vec::new(), &mut seen, &mut |_| {}))
    }

    /// The layers of a profile, the weakest first: those that it inherits, and its own. `source` is what chose it.
    pub(crate) fn layers(&self, name: &str, source: &Source) -> Result<Vec<Layer>, Error> {
        if !self.0.contains_key(name) {
            return Err(source.error(self.unknown(name)));
        }
        let mut layers = Vec::new();
        let mut add = |profile: &Profile| layers.push(profile.layer.clone());
        self.visit(name, &mut Vec::new(), &mut BTreeSet::new(), &mut add)?;
        Ok(layers)
    }

    /// Visits the profiles that one inherits from, and then itself, each once. `chain` leads to it.
    fn visit<'a>(
        &'a self,
        name: &'a str,
        chain: &mut Vec<&'a str>,
        seen: &mut BTreeSet<&'a str>,
        visitor: &mut impl FnMut(&Profile),
    ) -> Result<(), Error> {
        let Some(profile) = self.0.get(name).filter(|_| seen.insert(name)) else {
            return Ok(());
        };
        chain.push(name);
        for (parent, place) in &profile.inherits {
            if chain.contains(&parent.as_str()) {
                return Err(place.error(format_args!(
                    "profiles inherit from each other: {} -> {parent}",
                    chain.join(" -> ")
                )));
            }
            if chain.len() >= DEEPEST {
                let problem = format_args!("more than {DEEPEST} profiles inherit from each other");
                return Err(place.error(problem));
            }
            if !self.0.contains_key(parent) {
                return Err(place.error(self.unknown(parent)));
            }
            self.visit(parent, chain, seen, visitor)?;
        }
        chain.pop();
        visitor(profile);
        Ok(())
    }

    fn unknown(&self, name: &str) -> String {
        let hint = match closest(name, self.names()).first() {
            Some(near) => format!("; did you mean {near:?}?"),
            None if self.names().next().is_none() => format!("; add a table [profiles.{name}]"),
            None => {
                let names: Vec<&str> = self.names().collect();
                format!("; there are {}", names.join(", "))
            }
        };
        format!("there is no profile {name:?}{hint}")
    }
}
