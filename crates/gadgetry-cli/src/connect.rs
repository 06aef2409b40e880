//! From the name of a model to the model.

use std::path::Path;
use std::sync::Arc;

use gadgetry::models::{ModelRegistry, ModelSpec};
use gadgetry::proto::run::Retry;
use gadgetry::proto::usage::Price;
use gadgetry::provider::anthropic::AnthropicBuilder;
use gadgetry::provider::openai::{MaxTokensField, OpenAiBuilder};
use gadgetry::provider::{Anthropic, OpenAi, ProviderError, openai};
use gadgetry::{Model, ModelInfo, ScriptedModel};

use crate::args::ModelArgs;
use crate::error::Error;
use crate::providers::{Api, PROVIDERS, Provider};

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
        }
    }
}

/// The file that a script is in.
pub(crate) fn script(name: &str) -> Option<&Path> {
    let path = name.strip_prefix(SCRIPT)?;
    (!path.is_empty()).then(|| Path::new(path))
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
        let script = ScriptedModel::from_path(path).map_err(Error::input)?;
        return Ok(Arc::new(script));
    }
    let (provider, model) = provider(name, wishes.base_url.is_some())?;
    let key = provider.api_key();
    if let (None, Some(variable), None) = (&key, provider.key, wishes.base_url) {
        if !provider.has_url() {
            return Err(Error::input(format_args!(
                "{} needs a key: set the environment variable {variable}",
                provider.name
            )));
        }
    }
    let base_url = match wishes.base_url {
        Some(url) => url.to_owned(),
        None => provider.base_url(),
    };
    // Only OpenAI itself is known to know its new field.
    let is_foreign = base_url != openai::BASE_URL;
    let info = info(name, provider, wishes, catalog)?;
    match provider.api {
        Api::ChatCompletions => {
            let mut builder = OpenAi::builder(model).base_url(base_url).info(info);
            builder = set(builder, key, OpenAiBuilder::api_key);
            builder = set(builder, wishes.reasoning, OpenAiBuilder::reasoning_effort);
            builder = set(builder, wishes.max_tokens, OpenAiBuilder::max_tokens);
            builder = set(builder, wishes.temperature, OpenAiBuilder::temperature);
            if is_foreign {
                builder = builder.max_tokens_field(MaxTokensField::MaxTokens);
            }
            Ok(Arc::new(builder.build().map_err(mistake)?))
        }
        Api::Messages => {
            let mut builder = Anthropic::builder(model).base_url(base_url).info(info);
            builder = set(builder, key, AnthropicBuilder::api_key);
            builder = set(
                builder,
                wishes.reasoning,
                AnthropicBuilder::reasoning_effort,
            );
            builder = set(builder, wishes.max_tokens, AnthropicBuilder::max_tokens);
            builder = set(builder, wishes.temperature, AnthropicBuilder::temperature);
            Ok(Arc::new(builder.build().map_err(mistake)?))
        }
    }
}

fn set<B, T>(builder: B, value: Option<T>, with: impl FnOnce(B, T) -> B) -> B {
    match value {
        Some(value) => with(builder, value),
        None => builder,
    }
}

/// Who serves the model of this name, and the name that it has there.
fn provider(name: &str, has_url: bool) -> Result<(&'static Provider, &str), Error> {
    if let Some((provider, model)) = name.split_once(':')
        && let Some(provider) = Provider::named(provider)
        && !model.is_empty()
    {
        return Ok((provider, model));
    }
    let begins = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    let guess = if begins(&["claude-"]) {
        Some("anthropic")
    } else if has_url || begins(&["gpt-", "chatgpt-", "o1", "o3", "o4"]) {
        Some("openai")
    } else {
        None
    };
    match guess.and_then(Provider::named) {
        Some(provider) if !name.is_empty() && name != "script:" => Ok((provider, name)),
        _ => Err(unknown(name)),
    }
}

fn unknown(name: &str) -> Error {
    let names: Vec<&str> = PROVIDERS.iter().map(|provider| provider.name).collect();
    Error::input(format_args!(
        "unknown model '{name}'; write PROVIDER:NAME with a provider of {}, or script:FILE for the replies in a file",
        names.join(", ")
    ))
}

/// What is known about the model, and whether it takes what it is to be given.
fn info(
    name: &str,
    provider: &Provider,
    wishes: Wishes<'_>,
    catalog: &ModelRegistry,
) -> Result<ModelInfo, Error> {
    let known = catalog.get(name).map(ModelSpec::info);
    let Some(info) = known.clone().filter(|_| wishes.base_url.is_none()) else {
        // Nobody knows what is there; the user does.
        let known = known.unwrap_or_default();
        let is_local = known.is_local || provider.is_local();
        return Ok(ModelInfo {
            is_local,
            price: known.price.or_else(|| is_local.then(Price::default)),
            reads_images: known.reads_images || wishes.images,
            reads_audio: known.reads_audio || wishes.audio,
            ..known
        });
    };
    let refused = [
        (wishes.images && !info.reads_images, "pictures"),
        (wishes.audio && !info.reads_audio, "sounds"),
    ];
    match refused.into_iter().find(|(is_refused, _)| *is_refused) {
        Some((_, what)) => Err(Error::input(format_args!(
            "{name} takes no {what}, as far as the table of models knows; `gadgetry models --feature {}` lists those that do",
            if what == "sounds" { "audio" } else { "vision" }
        ))),
        None => Ok(info),
    }
}

fn mistake(error: ProviderError) -> Error {
    Error::Input(error.to_string())
}
