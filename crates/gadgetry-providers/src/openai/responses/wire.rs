//! Requests and decoders of the API.

use std::sync::Arc;

use gadgetry_proto::message::{Media, MediaKind, Request, Sampling};
use gadgetry_proto::schema::GadgetSpec;

use super::Responses;
use super::reply::Decoder;
use super::request::encode;
use crate::error::ProviderError;
use crate::omitted::NO_IMAGES;
use crate::openai::post;
use crate::request::HttpRequest;
use crate::wire::{Decode, Wire};

impl Wire for Responses {
    fn request(&self, request: &Request) -> Result<HttpRequest, ProviderError> {
        self.check()?;
        let body = encode::body(self, request);
        post(
            &self.common,
            "responses",
            &body,
            self.own.key_header.as_deref(),
        )
    }

    fn decoder(&self) -> Box<dyn Decode> {
        let names = Arc::clone(&self.common.tool_names);
        Box::new(Decoder::with_names(names).keeping(self.common.keeps()))
    }

    fn leaves_out(&self, medium: &Media) -> Option<&'static str> {
        match (medium.kind, medium.mime_type.as_str()) {
            (MediaKind::Audio, _) => Some("the API takes no sounds"),
            (MediaKind::Image, _) => (!self.common.reads_images()).then_some(NO_IMAGES),
            (MediaKind::File, "application/pdf") => {
                (!self.common.reads_images()).then_some(NO_IMAGES)
            }
            (_, _) => Some("the API takes no files but PDF"),
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
