//! The stages that a delta passes before the run takes it in: the reply scanner, then the transforms.

use std::mem;
use std::sync::Arc;

use serde_json::Value;

use crate::delta::Delta;
use crate::reply::Format;
use crate::reply::ReplyStage;
use crate::reply::ScannerState;
use crate::run::spec::RunSpec;
use crate::tags::TagNameError;
use crate::transform::Compose;
use crate::transform::DeltaTransform;
use crate::transform::TransformFactory;
use crate::transform::compose;

/// Code with state of its own. What a saved run keeps of it is [`Pipeline::save`].
pub(super) struct Pipeline {
    stage: ReplyStage,
    factories: Vec<TransformFactory>,
    /// Those of the current reply, from its first delta on.
    transforms: Option<Compose>,
    /// Buffers, empty between two pieces.
    scanned: Vec<Delta>,
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
        Ok(Self {
            stage: ReplyStage::new(format, spec.custom_blocks.clone(), registry)?,
            factories: spec.transforms.clone(),
            transforms: None,
            scanned: Vec::new(),
            ready: Vec::new(),
        })
    }

    /// Each reply gets fresh transforms, so that no state of one reply reaches another.
    pub(super) fn begin_reply(&mut self) {
        self.transforms = None;
    }

    /// What a delta becomes. Give the list back by [`Pipeline::recycle`].
    pub(super) fn push(&mut self, delta: Delta) -> Vec<Delta> {
        let mut scanned = mem::take(&mut self.scanned);
        self.stage.process(delta, &mut scanned);
        let mut ready = mem::take(&mut self.ready);
        self.transform(&mut scanned, &mut ready);
        self.scanned = scanned;
        ready
    }

    /// The rest of the reply. Give the list back by [`Pipeline::recycle`].
    pub(super) fn finish(&mut self) -> Vec<Delta> {
        let mut scanned = mem::take(&mut self.scanned);
        self.stage.finish(&mut scanned);
        let mut ready = mem::take(&mut self.ready);
        self.transform(&mut scanned, &mut ready);
        self.transforms().flush(&mut ready);
        self.scanned = scanned;
        ready
    }

    /// Forgets the rest of the reply.
    pub(super) fn discard(&mut self) {
        self.stage.finish(&mut self.scanned);
        self.scanned.clear();
    }

    pub(super) fn recycle(&mut self, mut ready: Vec<Delta>) {
        ready.clear();
        self.ready = ready;
    }

    fn transform(&mut self, scanned: &mut Vec<Delta>, ready: &mut Vec<Delta>) {
        if self.factories.is_empty() {
            return ready.append(scanned);
        }
        for delta in scanned.drain(..) {
            self.transforms().process(delta, ready);
        }
    }

    fn transforms(&mut self) -> &mut Compose {
        let make = || compose(self.factories.iter().map(|make| make()).collect());
        self.transforms.get_or_insert_with(make)
    }

    pub(super) fn save(&self) -> (ScannerState, Value) {
        let transforms = self.transforms.as_ref();
        let transforms = transforms.map_or(Value::Null, DeltaTransform::save);
        (self.stage.state().clone(), transforms)
    }

    pub(super) fn load(&mut self, scanner: ScannerState, transforms: &Value) {
        self.stage.restore(scanner);
        if *transforms != Value::Null {
            self.transforms().load(transforms);
        }
    }
}
