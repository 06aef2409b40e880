//! From the name of a model to the model.

use std::path::Path;
use std::sync::Arc;

use gadgetry::models::{ModelRegistry, ModelSpec};
use gadgetry::proto::run::Retry;
use gadgetry::proto::spec::GadgetSpec;
use gadgetry::provider::Resolver;
use gadgetry::{Model, ScriptedModel};

use crate::args::ModelArgs;
use crate::error::Error;
use crate::refusal::Telling;

/// What stands in front of a script's name.
const SCRIPT: &str = "script:";

/// What is asked of a model beside its name.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wishes<'a> {
    pub(crate) base_url: Option<&'a str>,
    pub(crate) reasoning: Option<&'a str>,
    pub(crate) max_tokens: Option<u64>,
    pub(crate) temperature: Option<f64>,
    /// Whether it is shown pictures, and whether it hears.
    pub(crate) images: bool,
    pub(crate) audio: bool,
    /// Gadgets that it calls through the provider's own interface.
    pub(crate) tools: &'a [GadgetSpec],
}

impl<'a> Wishes<'a> {
    /// Those of the command line.
    pub(crate) fn of(args: &'a ModelArgs) -> Self {
        Self {
            base_url: args.base_url.as_deref(),
            reasoning: args.reasoning.as_deref(),
            max_tokens: args.max_tokens,
            temperature: args.temperature,
            images: false,
            audio: false,
            tools: &[],
        }
    }
}

/// The file that a script is in.
pub(crate) fn script(name: &str) -> Option<&Path> {
    name.strip_prefix(SCRIPT).map(Path::new)
}

/// What is done about failed model calls. A script fails because it says so.
pub(crate) fn retry(args: &ModelArgs) -> Option<Retry> {
    let retries = match args.max_retries {
        Some(retries) => retries,
        None if script(&args.model).is_some() => 0,
        None => Retry::default().retries,
    };
    (retries > 0).then(|| Retry {
        retries,
        ..Retry::default()
    })
}

/// The model of this name. All that is wrong with it is the user's mistake: nothing is sent yet.
pub(crate) fn model(
    name: &str,
    wishes: Wishes<'_>,
    catalog: &ModelRegistry,
) -> Result<Arc<dyn Model>, Error> {
    if let Some(path) = script(name) {
        if path.as_os_str().is_empty() {
            return Err(Error::input("no script is named; write script:FILE"));
        }
        if !wishes.tools.is_empty() {
            return Err(Error::input(
                "a script is text: --tools native needs a real model",
            ));
        }
        let script = ScriptedModel::from_path(path).map_err(Error::input)?;
        return Ok(Arc::new(script));
    }
    let mut resolver = Resolver::from_env();
    resolver = set(resolver, wishes.base_url, Resolver::base_url);
    resolver = set(resolver, wishes.reasoning, Resolver::reasoning_effort);
    resolver = set(resolver, wishes.max_tokens, Resolver::max_tokens);
    resolver = set(resolver, wishes.temperature, Resolver::temperature);
    resolver = resolver.tools(wishes.tools.iter().cloned());
    let place = resolver.locate(name).map_err(Error::input)?;
    let full = match place.provider {
        Some(provider) => format!("{provider}:{}", place.model),
        None => place.model.clone(),
    };
    let known = catalog.get(&full);
    // Behind another address may be another model of this name.
    if let Some(spec) = known.filter(|_| wishes.base_url.is_none()) {
        refuse_what_it_cannot_take(spec, wishes)?;
    }
    let known = known.map(ModelSpec::info);
    let (images, audio) = (wishes.images, wishes.audio);
    let resolver = resolver.info(move |_| {
        if known.is_none() && !images && !audio {
            return None;
        }
        // Where nobody knows, the user does.
        let mut info = known.clone().unwrap_or_default();
        info.reads_images |= images;
        info.reads_audio |= audio;
        Some(info)
    });
    let model = resolver.resolve(name).map_err(Error::input)?;
    Ok(Arc::new(Telling::new(model, &resolver, &place)))
}

fn set<B, T>(builder: B, value: Option<T>, with: impl FnOnce(B, T) -> B) -> B {
    match value {
        Some(value) => with(builder, value),
        None => builder,
    }
}

fn refuse_what_it_cannot_take(spec: &ModelSpec, wishes: Wishes<'_>) -> Result<(), Error> {
    let info = spec.info();
    let (what, feature) = match (
        wishes.images && !info.reads_images,
        wishes.audio && !info.reads_audio,
    ) {
        (true, _) => ("pictures", "vision"),
        (_, true) => ("sounds", "audio"),
        (false, false) => return Ok(()),
    };
    Err(Error::input(format_args!(
        "{} takes no {what}, as far as the table of models knows; `gadgetry models --feature {feature}` lists those that do",
        spec.id
    )))
}
