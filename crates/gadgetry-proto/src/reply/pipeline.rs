//! The road of every delta: the reply stage, then the transforms.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::delta::Delta;
use crate::reply::{ReplyStage, ScannerState};
use crate::transform::{Compose, DeltaTransform, TransformFactory, compose};

/// Reads one reply after another: deltas of a model in, deltas of the reply out.
///
/// Text goes through the [`ReplyStage`], which takes calls and custom blocks out of it; then everything goes through the
/// transforms, of which each reply has fresh ones. Without transforms a text that nothing begins or ends in passes as it
/// is, without a copy.
///
/// ```
/// use gadgetry_proto::delta::Delta;
/// use gadgetry_proto::reply::{Format, Pipeline, ReplyStage};
/// use gadgetry_proto::tags::CustomBlock;
///
/// let stage = ReplyStage::new(Format::default(), vec![CustomBlock::think()], None)?;
/// let mut pipeline = Pipeline::new(stage, []);
/// let mut out = Vec::new();
/// pipeline.push(Delta::text("<think>hm</think>Hi. <th"), &mut out);
/// // What is held for a tag that does not come is text at the end.
/// pipeline.finish(&mut out);
/// assert_eq!(out[1..], [Delta::text("Hi. "), Delta::text("<th")]);
/// # Ok::<(), gadgetry_proto::tags::TagNameError>(())
/// ```
pub struct Pipeline {
    stage: ReplyStage,
    factories: Arc<[TransformFactory]>,
    /// Those of the current reply, once a delta has reached them.
    transforms: Option<Compose>,
    /// Memory for deltas between the stage and the transforms; empty between two calls.
    scanned: Vec<Delta>,
}

/// The state of a [`Pipeline`] between two deltas: plain data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PipelineState {
    scanner: ScannerState,
    /// What [`DeltaTransform::save`] gave; null if no delta has reached the transforms.
    transforms: Value,
}

impl Pipeline {
    /// A pipeline whose replies each get a transform of each factory, in this order.
    pub fn new(stage: ReplyStage, transforms: impl Into<Arc<[TransformFactory]>>) -> Self {
        Self {
            stage,
            factories: transforms.into(),
            transforms: None,
            scanned: Vec::new(),
        }
    }

    /// Replaces the transforms of the replies from the next one on.
    pub(super) fn set_transforms(&mut self, factories: Arc<[TransformFactory]>) {
        self.factories = factories;
    }

    /// Takes one delta and appends what takes its place.
    pub fn push(&mut self, delta: Delta, out: &mut Vec<Delta>) {
        if self.factories.is_empty() {
            return self.stage.process(delta, out);
        }
        self.stage.process(delta, &mut self.scanned);
        self.transform(out);
    }

    /// Ends the reply: appends what was held. The pipeline is ready for the next one.
    pub fn finish(&mut self, out: &mut Vec<Delta>) {
        if self.factories.is_empty() {
            return self.stage.finish(out);
        }
        self.stage.finish(&mut self.scanned);
        self.transform(out);
        // A transform that has seen nothing may have something to append, too.
        self.transforms().flush(out);
        self.transforms = None;
    }

    /// Drops the reply and what was held of it. The pipeline is ready for the next one.
    pub fn discard(&mut self) {
        self.stage.finish(&mut self.scanned);
        self.scanned.clear();
        self.transforms = None;
    }

    /// The state between two deltas.
    pub fn state(&self) -> PipelineState {
        let transforms = self.transforms.as_ref();
        PipelineState {
            scanner: self.stage.state().clone(),
            transforms: transforms.map_or(Value::Null, DeltaTransform::save),
        }
    }

    /// Continues from the state of another pipeline of the same definition.
    pub fn restore(&mut self, state: PipelineState) {
        self.stage.restore(state.scanner);
        self.transforms = None;
        if state.transforms != Value::Null {
            self.transforms().load(&state.transforms);
        }
    }

    fn transform(&mut self, out: &mut Vec<Delta>) {
        let mut scanned = std::mem::take(&mut self.scanned);
        let transforms = self.transforms();
        for delta in scanned.drain(..) {
            transforms.process(delta, out);
        }
        self.scanned = scanned;
    }

    fn transforms(&mut self) -> &mut Compose {
        let factories = &self.factories;
        let make = || compose(factories.iter().map(|make| make()).collect());
        self.transforms.get_or_insert_with(make)
    }
}

/// A copy has its own transforms, which have loaded what those of the original save.
impl Clone for Pipeline {
    fn clone(&self) -> Self {
        let mut copy = Self::new(self.stage.clone(), Arc::clone(&self.factories));
        if let Some(transforms) = &self.transforms {
            copy.transforms().load(&transforms.save());
        }
        copy
    }
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipeline")
            .field("stage", &self.stage)
            .field("transforms", &self.factories.len())
            .finish_non_exhaustive()
    }
}
