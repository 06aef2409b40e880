//! Requests and decoders of the API.

use std::sync::Arc;

use gadgetry_proto::message::{Media, MediaKind, Request, Sampling};
use gadgetry_proto::schema::GadgetSpec;

use super::reply::Decoder;
use super::request::encode;
use super::{Messages, VERSION};
use crate::error::ProviderError;
use crate::omitted::NO_IMAGES;
use crate::request::HttpRequest;
use crate::wire::{Decode, Wire};

impl Wire for Messages {
    fn request(&self, request: &Request) -> Result<HttpRequest, ProviderError> {
        self.check()?;
        self.check_choice(&request.tool_choice)?;
        let body = encode::body(self, request);
        let base = self.common.base_url().trim_end_matches('/');
        let path = if base.ends_with("/v1") {
            "messages"
        } else {
            "v1/messages"
        };
        let mut request =
            HttpRequest::post(base, path, &body)?.header("anthropic-version", VERSION)?;
        if !self.own.betas.is_empty() {
            request = request.header("anthropic-beta", &self.own.betas.join(","))?;
        }
        if let Some(key) = self.common.key() {
            request = request.secret("x-api-key", key)?;
        }
        match &self.own.auth_token {
            Some(token) if !token.is_empty() => request.bearer(token),
            _ => Ok(request),
        }
    }

    fn decoder(&self) -> Box<dyn Decode> {
        let names = Arc::clone(&self.common.tool_names);
        let decoder = Decoder::with_names(names).keeping(self.common.keeps());
        Box::new(if self.common.stops("stop_sequences") {
            decoder
        } else {
            decoder.without_stop_sequences()
        })
    }

    fn leaves_out(&self, medium: &Media) -> Option<&'static str> {
        const IMAGES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];
        match (medium.kind, medium.mime_type.as_str()) {
            (MediaKind::Audio, _) => Some("the API takes no sounds"),
            (MediaKind::File, mime) if mime != "application/pdf" => {
                Some("the API takes no files but PDF")
            }
            (MediaKind::Image, mime) if !IMAGES.contains(&mime) => {
                Some("the API takes no images but JPEG, PNG, GIF and WebP")
            }
            (MediaKind::Image | MediaKind::File, _) => {
                (!self.common.reads_images()).then_some(NO_IMAGES)
            }
            (_, _) => Some("the API takes no media of this kind"),
        }
    }

    fn with_tools(&self, gadgets: &[GadgetSpec]) -> Option<Self> {
        Some(Self {
            common: self.common.with_tools(gadgets),
            own: self.own.clone(),
        })
    }

    fn with_sampling(&self, sampling: &Sampling) -> Option<Self> {
        Some(Self {
            common: self.common.with_sampling(sampling),
            own: self.own.clone(),
        })
    }
}
