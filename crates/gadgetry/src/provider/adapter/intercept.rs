//! Custom blocks without an agent.

use std::mem;
use std::sync::Arc;

use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::ModelErrorKind;
use gadgetry_proto::message::Request;
use gadgetry_proto::prompt::{CustomBlockDoc, append_to_system, custom_block_listing};
use gadgetry_proto::reply::{Format, Pipeline, ReplyStage};
use gadgetry_proto::tags::CustomBlock;

use crate::model::Model;

/// The reply of `model` with its own custom blocks and transforms applied, as an agent would see it but for gadgets:
/// the description of its tags is added to the request, and they are removed from the text.
///
/// A model without any streams as it is.
///
/// Cancel safety: dropping the stream cancels the reply.
pub fn intercepted(model: &dyn Model, mut request: Request) -> BoxStream<'static, Delta> {
    let blocks = model.custom_blocks();
    let transforms = model.transforms();
    if blocks.is_empty() && transforms.is_empty() {
        return model.stream(request);
    }
    if let Some(listing) = listing(&blocks) {
        append_to_system(Arc::make_mut(&mut request.messages), &listing);
    }
    let format = Format {
        markers: None,
        ..Format::default()
    };
    let stage = match ReplyStage::new(format, blocks, None) {
        Ok(stage) => stage,
        Err(error) => {
            let error = Delta::Error {
                error: format!("the custom blocks of the model {:?}: {error}", model.name()),
                code: None,
                kind: ModelErrorKind::BadRequest,
                retry_after_ms: None,
            };
            return stream::iter([error]).boxed();
        }
    };
    let mut pipeline = Pipeline::new(stage, transforms);
    let mut is_over = false;
    let deltas = model.stream(request).map(Some);
    // `None` is the end of the stream.
    let deltas = deltas.chain(stream::iter([None]));
    deltas
        .flat_map(move |delta| {
            let mut out = Vec::new();
            let ends = matches!(
                delta,
                None | Some(Delta::MessageEnd { .. } | Delta::Error { .. })
            );
            // What is held comes before the first end: readers of the stream may stop there.
            if ends && !mem::replace(&mut is_over, true) {
                pipeline.finish(&mut out);
            }
            if let Some(delta) = delta {
                pipeline.push(delta, &mut out);
            }
            stream::iter(out)
        })
        .boxed()
}

fn listing(blocks: &[CustomBlock]) -> Option<String> {
    custom_block_listing(blocks.iter().map(|block| CustomBlockDoc {
        tag: block.xml_tag(),
        description: block.description.as_deref(),
        instructions: block.instructions.as_deref(),
    }))
}
