//! Custom blocks without an agent.

use std::sync::Arc;

use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::ModelErrorKind;
use gadgetry_proto::message::Request;
use gadgetry_proto::prompt::{CustomBlockDoc, append_to_system, custom_block_listing};
use gadgetry_proto::reply::{Format, ReplyStage};
use gadgetry_proto::tags::CustomBlock;
use gadgetry_proto::transform::{Compose, DeltaTransform, compose};

use crate::model::Model;

/// The reply of `model` with its own custom blocks and transforms applied, as an agent would see it but for gadgets:
/// what the model is told about its tags is added to the request, and they are taken out of the text.
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
    let transforms = compose(transforms.iter().map(|make| make()).collect());
    let mut pipeline = Pipeline {
        stage,
        transforms,
        scanned: Vec::new(),
        is_over: false,
    };
    let deltas = model.stream(request).map(Some);
    // `None` is the end of the stream.
    let deltas = deltas.chain(stream::iter([None]));
    deltas
        .flat_map(move |delta| stream::iter(pipeline.take(delta)))
        .boxed()
}

fn listing(blocks: &[CustomBlock]) -> Option<String> {
    custom_block_listing(blocks.iter().map(|block| CustomBlockDoc {
        tag: block.tag(),
        description: block.description.as_deref(),
        instructions: block.instructions.as_deref(),
    }))
}

struct Pipeline {
    stage: ReplyStage,
    transforms: Compose,
    scanned: Vec<Delta>,
    /// What was held has been handed out.
    is_over: bool,
}

impl Pipeline {
    fn take(&mut self, delta: Option<Delta>) -> Vec<Delta> {
        let mut out = Vec::new();
        let ends = matches!(
            delta,
            None | Some(Delta::MessageEnd { .. } | Delta::Error { .. })
        );
        // What is held comes before the end.
        if ends && !self.is_over {
            self.is_over = true;
            self.stage.finish(&mut self.scanned);
            self.pass_on(&mut out);
            self.transforms.flush(&mut out);
        }
        if let Some(delta) = delta {
            self.stage.process(delta, &mut self.scanned);
            self.pass_on(&mut out);
        }
        out
    }

    fn pass_on(&mut self, out: &mut Vec<Delta>) {
        for delta in self.scanned.drain(..) {
            self.transforms.process(delta, out);
        }
    }
}
