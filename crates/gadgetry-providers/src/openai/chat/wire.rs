//! Requests and decoders of the API.

use std::sync::Arc;

use gadgetry_proto::message::{Media, MediaData, MediaKind, Request, Sampling};
use gadgetry_proto::schema::GadgetSpec;

use super::ChatCompletions;
use super::reply::Decoder;
use super::request::encode;
use crate::error::ProviderError;
use crate::omitted::{NO_FILES, NO_IMAGES, NO_SOUNDS};
use crate::openai::post;
use crate::request::HttpRequest;
use crate::wire::{Decode, Wire};

impl Wire for ChatCompletions {
    fn request(&self, request: &Request) -> Result<HttpRequest, ProviderError> {
        self.check()?;
        let body = encode::body(self, request);
        post(
            &self.common,
            "chat/completions",
            &body,
            self.own.key_header.as_deref(),
        )
    }

    fn decoder(&self) -> Box<dyn Decode> {
        let names = Arc::clone(&self.common.tool_names);
        let decoder = Decoder::with_names(names).keeping(self.common.keeps());
        Box::new(if self.common.stops("stop") {
            decoder
        } else {
            decoder.without_stop_sequences()
        })
    }

    fn leaves_out(&self, medium: &Media) -> Option<&'static str> {
        match (medium.kind, &medium.data) {
            (MediaKind::Image, _) => (!self.common.reads_images()).then_some(NO_IMAGES),
            (MediaKind::Audio, _) if !self.common.reads_audio() => Some(NO_SOUNDS),
            (MediaKind::Audio, MediaData::Base64(_)) => None,
            (MediaKind::Audio, MediaData::Url(_)) => Some("the API takes no links to sounds"),
            (MediaKind::File | _, _) => Some(NO_FILES),
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
