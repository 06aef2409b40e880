//! Models to choose from: those that can be used now.

use std::collections::BTreeSet;

use gadgetry::models::{ModelFilter, ModelRegistry};
use gadgetry::provider::Resolver;
use gadgetry_acp::Choice;

use super::ground::{Base, full_name};
use crate::cli::AgentOptions;
use crate::config::{ConfigVerb, Keys};
use crate::lines::one_line;
use crate::options::{MODEL, Settings, Source};
use crate::usable::{Usable, today};
use crate::{catalog, connect};

/// Models that are offered; clients show them as a menu.
const MODELS: usize = 500;

impl Base {
    /// Lists models to choose from, the one of the options among them: those of the server that they name, or else those of the
    /// configuration, of servers that answer within a second, and of providers whose keys are set.
    pub(super) async fn models(&self, options: &AgentOptions) -> Vec<Choice> {
        let (current, server) = (options.model.name(), &options.model.server);
        let mut offered = Offered::default();
        if server.base_url.is_some() {
            // Any other name would be sent to that server, too.
            let facts = connect::server_facts(current, server).await;
            let served = facts.unwrap_or_default().models.into_iter();
            offered.add(served.map(|it| it.name));
        } else {
            offered.add(self.configured());
            let usable = Usable::look().await;
            if let Ok(catalog) = catalog::load(&self.ground.data) {
                offered.add_usable(&usable, &catalog, current);
            }
        }
        offered.with(current)
    }

    /// The models of the configuration.
    fn configured(&self) -> Vec<String> {
        let mut models: Vec<String> = Vec::new();
        for name in self.config.profiles.names() {
            let layers = self.config.profiles.layers(name, &Source::Flag);
            let settings = layers.unwrap_or_default().into_iter();
            let (keys, verb) = (Keys::new(), ConfigVerb::Acp);
            let settings = settings.fold(Settings::default(), |weaker, it| {
                it.over(weaker, verb, &keys)
            });
            models.extend(settings.text(MODEL).map(str::to_owned));
        }
        let configured = self.new_settings().unwrap_or_default();
        models.extend(configured.text(MODEL).map(str::to_owned));
        models
    }
}

/// Names of models, in the order of the menu.
#[derive(Default)]
struct Offered(Vec<String>);

impl Offered {
    /// Adds a part of the menu.
    fn add(&mut self, names: impl IntoIterator<Item = String>) {
        let names: BTreeSet<String> = names.into_iter().collect();
        let new = names.into_iter().filter(|it| !self.0.contains(it));
        let new: Vec<String> = new.collect();
        self.0.extend(new);
    }

    /// Adds the short names, the models of servers, those of the provider of `current`, and the others.
    fn add_usable(&mut self, usable: &Usable, catalog: &ModelRegistry, current: &str) {
        let full = full_name(current);
        let provider = full.split_once(':').map(|(provider, _)| provider);
        let (mut same, mut others) = (Vec::new(), Vec::new());
        for spec in catalog.list(&ModelFilter::default()) {
            let Some(name) = Resolver::name_of(spec) else {
                continue;
            };
            let is_same = name.split_once(':').map(|(provider, _)| provider) == provider;
            let is_gone = today().is_some_and(|today| spec.is_deprecated(today));
            // Its key may be in a variable that only the options name.
            if is_same && !is_gone {
                same.push(name);
            } else if usable.has(&name, spec) {
                others.push(name);
            }
        }
        let shortcuts = Resolver::shortcuts();
        let shortcuts = shortcuts.filter(|(_, full)| {
            let mut all = same.iter().chain(&others);
            all.any(|it| it == full)
        });
        self.add(shortcuts.map(|(short, _)| short.to_owned()));
        self.add(usable.of_servers().map(|it| it.name));
        self.add(same);
        self.add(others);
    }

    /// The choices, with the one in use.
    fn with(mut self, current: &str) -> Vec<Choice> {
        self.0.truncate(MODELS);
        if !self.0.iter().any(|it| it == current) {
            self.0.insert(0, current.to_owned());
        }
        let choices = self.0.into_iter().map(|name| {
            let mut shortcuts = Resolver::shortcuts();
            let full = shortcuts.find(|(short, _)| *short == name);
            let choice = Choice::new(name.clone(), one_line(&name));
            match full {
                Some((_, full)) => choice.described(full),
                None => choice,
            }
        });
        choices.collect()
    }
}
