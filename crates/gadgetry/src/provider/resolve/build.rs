//! From a place to a model: the key, the provider's quirks, and what the user set.

use std::sync::Arc;

use super::address;
use super::error::ResolveError;
use super::table::{Api, NEW_TOKEN_LIMIT, NO_THINKING_WITH_TOOLS, Provider, UNNAMED};
use super::{Place, Resolver};
use crate::model::{Model, ModelInfo};
use crate::models::Mode;
use crate::provider::anthropic::Anthropic;
use crate::provider::http::HttpConfig;
use crate::provider::openai::{MaxTokensField, OpenAi};
use crate::provider::secret::ApiKey;

/// How a key is sent.
enum Key {
    Plain(ApiKey),
    /// As a bearer, where keys have a header of their own.
    Token(ApiKey),
}

impl Resolver {
    /// The model at a place.
    pub(super) fn build(
        &self,
        provider: Option<&Provider>,
        place: Place,
        info: Option<ModelInfo>,
    ) -> Result<Arc<dyn Model>, ResolveError> {
        let key = self.key(provider, &place)?;
        if let Some(info) = info.as_ref().filter(|_| is_official(provider, &place)) {
            served(info.mode, provider, &place)?;
        }
        Ok(
            match provider.map_or(Api::OpenAi, |provider| provider.api) {
                Api::OpenAi => Arc::new(self.openai(provider, &place, key, info)?),
                Api::Anthropic => Arc::new(self.anthropic(place, key, info)?),
            },
        )
    }

    /// The key for a place, if one is needed or there is one.
    fn key(&self, provider: Option<&Provider>, place: &Place) -> Result<Option<Key>, ResolveError> {
        if let Some(key) = &self.api_key {
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
        // A server of someone else may need none.
        if provider.is_here() || !is_official(Some(provider), place) {
            return Ok(None);
        }
        Err(ResolveError::NoKey {
            provider: provider.name,
            variables: provider.keys,
            configured: self.listed(),
        })
    }

    /// How requests to an address are sent. No proxy leads to this machine.
    fn http_for(&self, base_url: &str) -> HttpConfig {
        let config = self.http.clone();
        if address::is_loopback(base_url) {
            return config.proxy_from_environment(false);
        }
        config
    }

    fn openai(
        &self,
        provider: Option<&Provider>,
        place: &Place,
        key: Option<Key>,
        info: Option<ModelInfo>,
    ) -> Result<OpenAi, ResolveError> {
        let mut quirks = provider.map_or(UNNAMED, |provider| provider.quirks);
        let is_own = provider.is_some_and(|it| !it.base_url.is_empty());
        if is_own && quirks.openai_models && !is_official(provider, place) {
            // Behind another address is a gateway, of which only the common is known.
            quirks = UNNAMED;
        }
        let is_ruled = quirks.openai_models && NEW_TOKEN_LIMIT.holds(&place.model);
        let field = if is_ruled {
            MaxTokensField::MaxCompletionTokens
        } else {
            quirks.max_tokens
        };
        let thinks_without_tools =
            quirks.openai_models && NO_THINKING_WITH_TOOLS.holds(&place.model);
        let mut model = OpenAi::builder(&place.model)
            .base_url(&place.base_url)
            .name(place.full_name())
            .http(self.http_for(&place.base_url))
            .info(info.unwrap_or_default())
            .max_tokens_field(field)
            .include_usage(quirks.stream_options)
            .reasoning_field(quirks.reasoning)
            .no_reasoning_with_tools(thinks_without_tools);
        if let Some(header) = quirks.key_header {
            model = model.key_header(header);
        }
        if let Some(Key::Plain(key) | Key::Token(key)) = key {
            model = model.api_key(key);
        }
        if let Some(tokens) = self.max_tokens {
            model = model.max_tokens(tokens);
        }
        if let Some(temperature) = self.temperature {
            model = model.temperature(temperature);
        }
        if let Some(effort) = &self.reasoning_effort {
            model = model.reasoning_effort(effort);
        }
        for (field, value) in &self.options {
            model = model.option(field, value.clone());
        }
        Ok(model.build()?)
    }

    fn anthropic(
        &self,
        place: Place,
        key: Option<Key>,
        info: Option<ModelInfo>,
    ) -> Result<Anthropic, ResolveError> {
        let name = place.full_name();
        let http = self.http_for(&place.base_url);
        let mut model = Anthropic::builder(place.model)
            .base_url(place.base_url)
            .name(name)
            .http(http);
        if let Some(info) = info {
            model = model.info(info);
        }
        match key {
            Some(Key::Plain(key)) => model = model.api_key(key),
            Some(Key::Token(token)) => model = model.auth_token(token),
            None => {}
        }
        if let Some(tokens) = self.max_tokens {
            model = model.max_tokens(tokens);
        }
        if let Some(temperature) = self.temperature {
            model = model.temperature(temperature);
        }
        if let Some(effort) = &self.reasoning_effort {
            model = model.reasoning_effort(effort);
        }
        for (field, value) in &self.options {
            model = model.option(field, value.clone());
        }
        Ok(model.build()?)
    }
}

/// Whether a place is the provider's own address, and not another server.
fn is_official(provider: Option<&Provider>, place: &Place) -> bool {
    provider.is_some_and(|it| address::is_same(&place.base_url, it.base_url))
}

/// Refuses a model that its provider serves through another interface only.
fn served(mode: Mode, provider: Option<&Provider>, place: &Place) -> Result<(), ResolveError> {
    let api = match mode {
        Mode::Chat => return Ok(()),
        Mode::Responses => "the Responses API",
        Mode::Completion => "the legacy Completions API",
    };
    let is_openai = provider.is_some_and(|it| it.quirks.openai_models);
    let responses = mode == Mode::Responses && is_openai;
    let model = &place.model;
    let instead = match (responses, cfg!(feature = "genai")) {
        (false, _) => String::new(),
        (true, true) => format!(", or openai_resp::{model}"),
        (true, false) => format!(
            ", openrouter:openai/{model}, or openai_resp::{model} in a gadgetry that was built with `--features genai`"
        ),
    };
    Err(ResolveError::OtherApi {
        name: place.full_name(),
        api,
        instead,
    })
}
