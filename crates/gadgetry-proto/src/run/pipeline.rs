//! The pipeline of a run: the stages that a delta passes before the run takes it in.

use std::mem;
use std::sync::Arc;

use crate::delta::Delta;
use crate::reply::{self, Format, PipelineState, ReplyStage};
use crate::run::spec::RunSpec;
use crate::tags::TagNameError;

/// Code with state of its own. What a saved run keeps of it is [`Pipeline::save`].
pub(super) struct Pipeline {
    stages: reply::Pipeline,
    /// A buffer, empty between two pieces.
    ready: Vec<Delta>,
}

impl Pipeline {
    pub(super) fn new(spec: &RunSpec) -> Result<Self, TagNameError> {
        let format = Format {
            markers: spec.tools.reads_blocks().then(|| spec.markers.clone()),
            anchoring: spec.anchoring,
            tags: Vec::new(),
            reasoning: spec.reasoning_tags.clone(),
            reasoning_open: spec.reasoning_open,
            limits: spec.limits.clone(),
        };
        let registry = Some(Arc::clone(&spec.registry));
        let stage = ReplyStage::new(format, spec.custom_blocks.clone(), registry)?;
        Ok(Self {
            stages: reply::Pipeline::new(stage, spec.transforms.clone()),
            ready: Vec::new(),
        })
    }

    /// What a delta becomes. Give the list back by [`Pipeline::recycle`].
    pub(super) fn push(&mut self, delta: Delta) -> Vec<Delta> {
        let mut ready = mem::take(&mut self.ready);
        self.stages.push(delta, &mut ready);
        ready
    }

    /// The rest of the reply. Give the list back by [`Pipeline::recycle`].
    pub(super) fn finish(&mut self) -> Vec<Delta> {
        let mut ready = mem::take(&mut self.ready);
        self.stages.finish(&mut ready);
        ready
    }

    /// Forgets the rest of the reply.
    pub(super) fn discard(&mut self) {
        self.stages.discard();
    }

    pub(super) fn recycle(&mut self, mut ready: Vec<Delta>) {
        ready.clear();
        self.ready = ready;
    }

    pub(super) fn save(&self) -> PipelineState {
        self.stages.state()
    }

    pub(super) fn load(&mut self, state: PipelineState) {
        self.stages.restore(state);
    }
}
