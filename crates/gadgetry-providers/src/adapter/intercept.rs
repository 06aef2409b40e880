//! Custom blocks and transforms without an agent.

use std::mem;
use std::sync::Arc;

use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::{ModelError, ModelErrorKind};
use gadgetry_proto::message::Request;
use gadgetry_proto::prompt::{append_to_system, custom_block_listing};
use gadgetry_proto::reply::{Format, Pipeline, ReplyStage};
use gadgetry_proto::tags::CustomBlock;

use crate::model::Model;

/// The reply of `model` with its custom blocks and transforms applied, as in an agent without gadgets.
///
/// The description of its tags is added to the request, and they are removed from the text. A model without any streams as
/// it is.
///
/// Cancel safety: dropping the stream cancels the reply.
pub fn intercepted(model: &dyn Model, mut request: Request) -> BoxStream<'static, Delta> {
    let blocks = model.custom_blocks();
    let transforms = model.transforms();
    if blocks.is_empty() && transforms.is_empty() {
        return model.stream(request);
    }
    if let Some(listing) = custom_block_listing(blocks.iter().map(CustomBlock::config)) {
        append_to_system(Arc::make_mut(&mut request.messages), &listing);
    }
    let format = Format {
        markers: None,
        ..Format::default()
    };
    match ReplyStage::new(format, blocks, None) {
        Ok(stage) => piped(Pipeline::new(stage, transforms), model.stream(request)),
        Err(error) => {
            let error = Delta::Error(ModelError::new(
                ModelErrorKind::BadRequest,
                format!("the custom blocks of the model {:?}: {error}", model.name()),
            ));
            stream::iter([error]).boxed()
        }
    }
}

/// The deltas of one reply, passed through a pipeline.
///
/// ```
/// use futures_util::{StreamExt as _, stream};
/// use gadgetry::Delta;
/// use gadgetry::format::{Format, Pipeline, ReplyStage};
/// use gadgetry::provider::adapter::piped;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let format = Format { reasoning: vec!["think".to_owned()], ..Format::default() };
/// let pipeline = Pipeline::new(ReplyStage::new(format, vec![], None)?, vec![]);
/// let reply = stream::iter([Delta::text("<think>easy</think>4")]).boxed();
/// let deltas: Vec<Delta> = piped(pipeline, reply).collect().await;
/// assert_eq!(deltas.last(), Some(&Delta::text("4")));
/// # Ok(())
/// # }
/// ```
pub fn piped(
    mut pipeline: Pipeline,
    deltas: BoxStream<'static, Delta>,
) -> BoxStream<'static, Delta> {
    let mut is_over = false;
    // `None` is the end of the stream: a reply that broke off may end in what could have become a tag.
    let deltas = deltas.map(Some).chain(stream::iter([None]));
    deltas
        .flat_map(move |delta| {
            let mut out = Vec::new();
            let ends = matches!(
                delta,
                None | Some(Delta::MessageEnd { .. } | Delta::Error(_))
            );
            // Text that is buffered comes before the first end, because readers of the stream may stop there. After the
            // text `4 <thi`, the end of the message yields `<thi` and then the end.
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
