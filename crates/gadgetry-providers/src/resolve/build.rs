//! From a place to a model: the key, the provider's quirks, and the user's options.

use std::sync::Arc;

use super::Resolver;
use super::error::ResolveError;
use super::place::Place;
use super::table::{Api, NEW_TOKEN_LIMIT, NO_THINKING_WITH_TOOLS, Provider, Quirks, UNNAMED};
use crate::anthropic::Anthropic;
use crate::base_url::BaseUrl;
use crate::http::HttpConfig;
use crate::model::{Model, ModelInfo};
use crate::models::Mode;
use crate::openai::{MaxTokensField, OpenAi, OpenAiCompletions, OpenAiResponses};
use crate::options::ModelOptions;
use crate::secret::ApiKey;

/// A key, with the way to send it.
enum Key {
    Plain(ApiKey),
    /// As a bearer token, where other keys have their own header.
    Token(ApiKey),
}

impl Resolver {
    /// Chooses the API of a place by what is known about the model, unless a prefix of its name has chosen it.
    pub(super) fn choose(
        &self,
        place: &mut Place,
        provider: Option<&Provider>,
        info: Option<&ModelInfo>,
    ) {
        let mode = info.map(|info| info.mode);
        // Another server may translate, so what the catalogue says about the provider does not count there.
        let is_official = place.is_official(provider);
        if mode == Some(Mode::Responses) && !place.is_chosen && is_official {
            place.api = Api::Responses;
        } else if mode == Some(Mode::Completion) && (is_official || self.info.is_some()) {
            place.complete();
        }
    }

    /// The model at a place.
    pub(super) fn build(
        &self,
        provider: Option<&Provider>,
        place: &Place,
        info: Option<ModelInfo>,
    ) -> Result<Arc<dyn Model>, ResolveError> {
        let key = self.key(provider, place)?;
        let options = ModelOptions {
            name: Some(place.full_name()),
            http: self.http_for(&place.base_url),
            base_url: Some(place.base_url.clone()),
            info,
            api_key: None,
            ..self.options.clone()
        };
        Ok(match place.api {
            Api::Chat => Arc::new(chat(provider, place, key, options)?),
            Api::Responses => Arc::new(responses(provider, place, key, options)?),
            Api::Messages => Arc::new(messages(place, key, options)?),
            Api::Completions => Arc::new(completions(provider, place, key, options)?),
        })
    }

    /// The key for a place, if one is needed or there is one.
    fn key(&self, provider: Option<&Provider>, place: &Place) -> Result<Option<Key>, ResolveError> {
        if let Some(key) = &self.options.api_key {
            return Ok(Some(Key::Plain(key.clone())));
        }
        if let Some(variable) = &self.key_variable {
            let key = self.variables.get(variable);
            let key = key.ok_or_else(|| ResolveError::NoVariable {
                variable: variable.clone(),
            })?;
            return Ok(Some(Key::Plain(ApiKey::new(key))));
        }
        let Some(provider) = provider else {
            return Ok(None);
        };
        if let Some((variable, key)) = self.first(provider.keys) {
            let key = ApiKey::new(key);
            return Ok(Some(if variable.ends_with("_AUTH_TOKEN") {
                Key::Token(key)
            } else {
                Key::Plain(key)
            }));
        }
        // A server other than the provider's may need none.
        if provider.is_here() || !place.is_official(Some(provider)) {
            return Ok(None);
        }
        Err(ResolveError::NoKey {
            provider: provider.name,
            variables: provider.keys,
            configured: self.listed(),
        })
    }

    /// The same key as text, for questions about the server; `None` as well if it cannot be had.
    pub(super) fn plain_key(&self, provider: Option<&Provider>, place: &Place) -> Option<ApiKey> {
        let key = self.key(provider, place).ok()??;
        let (Key::Plain(key) | Key::Token(key)) = key;
        Some(key)
    }

    /// Returns the options for requests to an address. A proxy of the environment cannot reach this machine.
    pub(super) fn http_for(&self, base_url: &BaseUrl) -> HttpConfig {
        let config = self.options.http.clone();
        if base_url.is_loopback() {
            return config.proxy_from_environment(false);
        }
        config
    }
}

fn chat(
    provider: Option<&Provider>,
    place: &Place,
    key: Option<Key>,
    options: ModelOptions,
) -> Result<OpenAi, ResolveError> {
    let quirks = quirks(provider, place);
    let has_new_limit = quirks.openai_models && NEW_TOKEN_LIMIT.holds(&place.model);
    let field = if has_new_limit {
        MaxTokensField::MaxCompletionTokens
    } else {
        quirks.max_tokens
    };
    let no_thinking = quirks.openai_models && NO_THINKING_WITH_TOOLS.holds(&place.model);
    let mut model = OpenAi::builder(&place.model)
        .options(with_key(known(options), key))
        .max_tokens_field(field)
        .include_usage(quirks.stream_options)
        .reasoning_field(quirks.reasoning)
        .no_reasoning_with_tools(no_thinking);
    if let Some(header) = quirks.key_header {
        model = model.key_header(header);
    }
    Ok(model.build()?)
}

fn responses(
    provider: Option<&Provider>,
    place: &Place,
    key: Option<Key>,
    options: ModelOptions,
) -> Result<OpenAiResponses, ResolveError> {
    let mut model = OpenAiResponses::builder(&place.model).options(with_key(known(options), key));
    if let Some(header) = quirks(provider, place).key_header {
        model = model.key_header(header);
    }
    Ok(model.build()?)
}

fn completions(
    provider: Option<&Provider>,
    place: &Place,
    key: Option<Key>,
    options: ModelOptions,
) -> Result<OpenAiCompletions, ResolveError> {
    let quirks = quirks(provider, place);
    let mut model = OpenAiCompletions::builder(&place.model)
        .options(with_key(known(options), key))
        .include_usage(quirks.stream_options);
    if let Some(header) = quirks.key_header {
        model = model.key_header(header);
    }
    Ok(model.build()?)
}

fn messages(
    place: &Place,
    key: Option<Key>,
    options: ModelOptions,
) -> Result<Anthropic, ResolveError> {
    let model = Anthropic::builder(&place.model);
    let model = match key {
        Some(Key::Token(token)) => model.options(options).auth_token(token),
        key => model.options(with_key(options, key)),
    };
    Ok(model.build()?)
}

fn with_key(mut options: ModelOptions, key: Option<Key>) -> ModelOptions {
    options.api_key = key.map(|(Key::Plain(key) | Key::Token(key))| key);
    options
}

/// Assumes nothing about an unknown model, whatever the catalogue lists under its name.
fn known(mut options: ModelOptions) -> ModelOptions {
    options.info.get_or_insert_default();
    options
}

/// The quirks of the server at a place.
fn quirks(provider: Option<&Provider>, place: &Place) -> Quirks {
    let quirks = provider.map_or(UNNAMED, |provider| provider.quirks);
    let has_own = provider.is_some_and(|it| !it.base_url.is_empty());
    if has_own && quirks.openai_models && !place.is_official(provider) {
        // OpenAI's name with another address is a gateway, which may know the common fields only.
        return UNNAMED;
    }
    quirks
}
