//! The pipeline of a run: the stages that a delta passes before the run takes it in.

use std::mem;

use crate::delta::Delta;
use crate::reply::{self, PipelineState, Stopped};
use crate::run::plan::Plan;

/// Code with state of its own. What a saved run keeps of it is [`Pipeline::save`].
pub(super) struct Pipeline {
    stages: reply::Pipeline,
    /// A buffer, empty between two pieces.
    ready: Vec<Delta>,
}

impl Pipeline {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            stages: reply::Pipeline::new(plan.stage.clone(), plan.code.transforms.clone())
                .stop_early(plan.config.stop_early),
            ready: Vec::new(),
        }
    }

    /// Transforms a delta. Give the list back by [`Pipeline::recycle`].
    pub(super) fn push(&mut self, delta: Delta) -> Vec<Delta> {
        let mut ready = mem::take(&mut self.ready);
        self.stages.push(delta, &mut ready);
        ready
    }

    /// Returns the place where the reply was ended early.
    pub(super) fn stopped(&self) -> Option<Stopped> {
        self.stages.stopped()
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
