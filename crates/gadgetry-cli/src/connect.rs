//! From the name of a model to the model.

mod facts;
mod server;

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::Path;
use std::sync::Arc;

use gadgetry::models::{ModelRegistry, ModelSpec};
use gadgetry::proto::run::Retry;
use gadgetry::provider::resolve::Place;
use gadgetry::provider::{ModelOptions, Resolver, ServerFacts};
use gadgetry::{Model, ModelInfo, ScriptedModel};

use crate::cli::{ModelArgs, ServerArgs};
use crate::error::Error;
use crate::refusal::WithKeyHint;

/// The prefix of a script's name.
const SCRIPT: &str = "script:";

/// Messages with images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ImageUse {
    #[default]
    None,
    /// Earlier ones, which a model that is in no table reads.
    Earlier,
    /// The next one, which the model must read.
    Next,
}

impl ImageUse {
    /// Earlier ones or none.
    pub(crate) fn earlier(has_images: bool) -> Self {
        if has_images {
            Self::Earlier
        } else {
            Self::None
        }
    }

    /// The next one, or else these.
    pub(crate) fn or_next(self, has_images: bool) -> Self {
        if has_images { Self::Next } else { self }
    }
}

/// The options of a model, and what it must be able to read.
#[derive(Clone, Debug)]
pub(crate) struct ModelOverrides<'a> {
    pub(crate) server: &'a ServerArgs,
    pub(crate) options: ModelOptions,
    pub(crate) images: ImageUse,
    pub(crate) audio: bool,
    /// Replies of a script that were read before.
    pub(crate) replies: usize,
    /// Whether the user's own server is recognised.
    pub(crate) reads_facts: bool,
}

impl<'a> ModelOverrides<'a> {
    /// Returns the overrides of the command line.
    pub(crate) fn of(args: &'a ModelArgs) -> Self {
        Self {
            options: args.options(),
            ..Self::plain(&args.server)
        }
    }

    /// Only how the server is reached.
    pub(crate) fn plain(server: &'a ServerArgs) -> Self {
        Self {
            server,
            options: ModelOptions::default(),
            images: ImageUse::None,
            audio: false,
            replies: 0,
            reads_facts: false,
        }
    }

    /// The same for an agent, whose conversation is to fit.
    pub(crate) fn of_agent(args: &'a ModelArgs) -> Self {
        Self {
            reads_facts: true,
            ..Self::of(args)
        }
    }
}

/// The file that a script is in.
pub(crate) fn script(name: &str) -> Option<&Path> {
    name.strip_prefix(SCRIPT).map(Path::new)
}

/// Returns the policy for failed model calls. A script fails because it says so.
pub(crate) fn retry(args: &ModelArgs) -> Option<Retry> {
    let usual = match script(args.name()) {
        Some(_) => 0,
        None => Retry::default().retries,
    };
    let policy = args.retry.policy(usual);
    (policy.retries > 0).then(|| Retry {
        // Processes that failed together must not come back together.
        seed: random(),
        ..policy
    })
}

/// A number that no other process has. The keys of hash maps are random.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// The model of this name. All that is wrong with it is the user's mistake: nothing is sent yet.
pub(crate) async fn model(
    name: &str,
    overrides: &ModelOverrides<'_>,
    catalog: &ModelRegistry,
) -> Result<Arc<dyn Model>, Error> {
    if let Some(path) = script(name) {
        return scripted(path, overrides.replies);
    }
    let server = overrides.server;
    let resolver = resolver(server, overrides.options.clone())?.registry(catalog.clone());
    let place = resolver.locate(name).map_err(Error::input)?;
    let mut known = resolver.describe(name).map_err(Error::input)?;
    if overrides.reads_facts {
        facts::of(&resolver, name)
            .await
            .complete(&place.model, &mut known);
    }
    let info = info(&place.full_name(), known, overrides, catalog)?;
    let resolver = resolver.info(move |_| info.clone());
    let model = resolver.resolve(name).map_err(Error::input)?;
    let variable = server.api_key_env.as_deref();
    Ok(Arc::new(WithKeyHint::new(
        model, &resolver, &place, variable,
    )))
}

/// The model that a script plays. Its first `replies` were read before.
fn scripted(path: &Path, replies: usize) -> Result<Arc<dyn Model>, Error> {
    if path.as_os_str().is_empty() {
        return Err(Error::input(
            "the script's file is missing; write script:FILE",
        ));
    }
    let script = ScriptedModel::from_path(path).map_err(Error::input)?;
    Ok(Arc::new(script.starting_at(replies)))
}

/// Recognises the server of a model, if it is the user's own.
pub(crate) async fn server_facts(name: &str, server: &ServerArgs) -> Result<ServerFacts, Error> {
    if script(name).is_some() {
        return Ok(ServerFacts::default());
    }
    let resolver = resolver(server, ModelOptions::default())?;
    Ok(facts::of(&resolver, name).await)
}

/// A model whose name and key are right, before its server is recognised.
#[derive(Clone)]
pub(crate) enum Unasked {
    /// A script, and other models without a server of the user's.
    Model(Arc<dyn Model>),
    /// A model of a server.
    Served(Box<Served>),
}

/// A model of a server.
#[derive(Clone)]
pub(crate) struct Served {
    resolver: Resolver,
    name: String,
    place: Place,
    variable: Option<String>,
}

impl Unasked {
    /// The model of this name, with these options. What is wrong with the name or the key is the user's mistake.
    pub(crate) fn new(
        name: &str,
        server: &ServerArgs,
        options: ModelOptions,
        catalog: &ModelRegistry,
    ) -> Result<Self, Error> {
        if let Some(path) = script(name) {
            return scripted(path, 0).map(Self::Model);
        }
        let resolver = resolver(server, options)?.registry(catalog.clone());
        let place = resolver.locate(name).map_err(Error::input)?;
        let served = Served {
            name: name.to_owned(),
            place,
            variable: server.api_key_env.clone(),
            resolver,
        };
        served.with(&ServerFacts::default())?;
        Ok(Self::Served(Box::new(served)))
    }

    /// The model, with what its server has said.
    pub(crate) fn with(&self, facts: &ServerFacts) -> Result<Arc<dyn Model>, Error> {
        match self {
            Self::Model(model) => Ok(Arc::clone(model)),
            Self::Served(served) => served.with(facts),
        }
    }
}

impl Served {
    fn with(&self, facts: &ServerFacts) -> Result<Arc<dyn Model>, Error> {
        let mut known = self.resolver.describe(&self.name).map_err(Error::input)?;
        facts.complete(&self.place.model, &mut known);
        let resolver = self.resolver.clone().info(move |_| known.clone());
        let model = resolver.resolve(&self.name).map_err(Error::input)?;
        let variable = self.variable.as_deref();
        let model = WithKeyHint::new(model, &resolver, &self.place, variable);
        Ok(Arc::new(model))
    }
}

/// Finds models with what the command line says about the server.
fn resolver(server: &ServerArgs, options: ModelOptions) -> Result<Resolver, Error> {
    let options = server::apply(server, options)?;
    let resolver = Resolver::from_env().options(options);
    Ok(match &server.api_key_env {
        Some(variable) => resolver.api_key_from(variable),
        None => resolver,
    })
}

/// Who serves the model of this name, as far as the name says; `None` for a script.
pub(crate) fn provider(name: &str) -> Option<String> {
    if script(name).is_some() {
        return None;
    }
    let place = Resolver::from_env().locate(name).ok();
    let provider = place.and_then(|place| place.provider);
    Some(provider.unwrap_or(name).to_owned())
}

/// Returns whether models are at different providers. A script is at none, and nothing is sent to it.
pub(crate) fn is_elsewhere(old: &str, new: &str) -> bool {
    old != new && provider(new).is_some_and(|new| provider(old).as_ref() != Some(&new))
}

/// Merges what is known about the model with the overrides of the user.
fn info(
    name: &str,
    known: Option<ModelInfo>,
    overrides: &ModelOverrides<'_>,
    catalog: &ModelRegistry,
) -> Result<Option<ModelInfo>, Error> {
    // Another base URL may serve another model of this name.
    if let Some(spec) = catalog
        .get(name)
        .filter(|_| overrides.server.base_url.is_none())
    {
        refuse_what_it_cannot_take(spec, overrides)?;
    }
    let mut info = known;
    let has_images = match overrides.images {
        ImageUse::None => false,
        ImageUse::Earlier => catalog.get(name).is_none(),
        ImageUse::Next => true,
    };
    if has_images || overrides.audio {
        let info = info.get_or_insert_default();
        info.reads_images |= has_images;
        info.reads_audio |= overrides.audio;
    }
    Ok(info)
}

fn refuse_what_it_cannot_take(
    spec: &ModelSpec,
    overrides: &ModelOverrides<'_>,
) -> Result<(), Error> {
    let info = spec.info();
    let (what, feature) = match (
        overrides.images == ImageUse::Next && !info.reads_images,
        overrides.audio && !info.reads_audio,
    ) {
        (true, _) => ("images", "vision"),
        (_, true) => ("audio", "audio"),
        (false, false) => return Ok(()),
    };
    Err(Error::input(format_args!(
        "{} does not accept {what}, according to the table of models; `gadgetry models --feature {feature}` lists models that do",
        spec.id
    )))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use crate::cli::{Gadgetry, Verb};

    #[test]
    fn processes_retry_at_different_times() {
        let seed = || {
            let args = Gadgetry::parse_from(["gadgetry", "complete", "--model", "openai:x"]);
            let Some(Verb::Complete(args)) = args.verb else {
                unreachable!("it was typed")
            };
            super::retry(&args.model).expect("three retries").seed
        };
        assert_ne!(seed(), seed());
        assert_ne!(seed(), 0);
    }
}
