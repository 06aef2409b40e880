//! The road of every delta: the reply stage, then the transforms.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::delta::{ContentMetadata, Delta, DeltaKind};
use crate::error::{Diagnostic, DiagnosticCode, Span};
use crate::reply::hopeless::Watch;
use crate::reply::repetition::Repetition;
use crate::reply::{ReplyStage, ScannerState, StopEarly, Stopped};
use crate::transform::{Compose, DeltaTransform, TransformFactory, compose};

/// The diagnostic of a reply that repeats itself.
const REPEATED: &str = "The same was written again and again, so the reply was ended there, and nothing that \
                        followed was read";

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
    /// The transforms of the current reply, once a delta has reached them.
    transforms: Option<Compose>,
    /// Memory for deltas between the stage and the transforms; empty between two calls.
    scanned: Vec<Delta>,
    rules: StopEarly,
    lines: LineWatch,
}

/// The lines of the reply, for ending it early.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct LineWatch {
    text: Repetition,
    reasoning: Repetition,
    /// Bytes of text so far.
    read: u64,
    stopped: Option<Stopped>,
}

/// The state of a [`Pipeline`] between two deltas: plain data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PipelineState {
    scanner: ScannerState,
    /// The value of [`DeltaTransform::save`]; null if no delta has reached the transforms.
    transforms: Value,
    #[serde(skip_serializing_if = "is_default")]
    watch: Watch,
    #[serde(skip_serializing_if = "is_default")]
    lines: LineWatch,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Pipeline {
    /// A pipeline whose replies each get a transform of each factory, in this order.
    pub fn new(stage: ReplyStage, transforms: impl Into<Arc<[TransformFactory]>>) -> Self {
        Self {
            stage,
            factories: transforms.into(),
            transforms: None,
            scanned: Vec::new(),
            rules: StopEarly::NEVER,
            lines: LineWatch::default(),
        }
    }

    /// Ends replies early by these rules. A pipeline does not by default.
    #[must_use]
    pub fn stop_early(mut self, rules: StopEarly) -> Self {
        if rules.hopeless_calls {
            self.stage.stop_at_hopeless_calls();
        }
        self.rules = rules;
        self
    }

    /// Returns the place where the current reply was ended early, by [`stop_early`](Self::stop_early). Text that follows is not read; the owner
    /// closes the stream, and calls [`finish`](Self::finish). A [diagnostic](Delta::Diagnostic) has said why.
    pub fn stopped(&self) -> Option<Stopped> {
        self.lines.stopped
    }

    /// Replaces the transforms of the replies from the next one on.
    pub(super) fn set_transforms(&mut self, factories: Arc<[TransformFactory]>) {
        self.factories = factories;
    }

    /// Takes one delta and appends what takes its place.
    pub fn push(&mut self, delta: Delta, out: &mut Vec<Delta>) {
        if self.rules == StopEarly::NEVER {
            return self.pass(delta, out);
        }
        if self.lines.stopped.is_some() {
            if delta.kind() == DeltaKind::Frame {
                self.pass(delta, out);
            }
            return;
        }
        if let Delta::Text { delta, metadata } = delta {
            self.text(delta, metadata, out);
        } else if let Delta::Reasoning { delta, metadata } = delta {
            self.reasoning(delta, metadata, out);
        } else {
            self.pass(delta, out);
        }
    }

    fn pass(&mut self, delta: Delta, out: &mut Vec<Delta>) {
        if self.factories.is_empty() {
            return self.stage.process(delta, out);
        }
        self.stage.process(delta, &mut self.scanned);
        self.transform(out);
    }

    /// Text, up to where it ends the reply.
    fn text(
        &mut self,
        mut text: String,
        mut metadata: Option<ContentMetadata>,
        out: &mut Vec<Delta>,
    ) {
        let limit = self.rules.repeated_lines;
        loop {
            let line = if limit == 0 {
                None
            } else {
                self.lines.text.read(&text, limit)
            };
            // What follows the line is read after it is known what the line is in.
            let rest = line.map(|end| text.split_off(end));
            self.lines.read += text.len() as u64;
            let delta = Delta::Text {
                delta: text,
                metadata: metadata.take(),
            };
            self.pass(delta, out);
            if let Some(at) = self.stage.ended() {
                let why = DiagnosticCode::HopelessCall;
                let in_block = true;
                self.lines.stopped = Some(Stopped { at, why, in_block });
                return;
            }
            let Some(rest) = rest else { return };
            let in_content = self.stage.in_content() || self.lines.text.in_fence();
            if !in_content || self.lines.text.is_endless(limit) {
                return self.stop_repetition(out);
            }
            text = rest;
        }
    }

    fn reasoning(
        &mut self,
        mut text: String,
        metadata: Option<ContentMetadata>,
        out: &mut Vec<Delta>,
    ) {
        let end = self.lines.reasoning.read(&text, self.rules.repeated_lines);
        if let Some(end) = end {
            text.truncate(end);
        }
        let delta = Delta::Reasoning {
            delta: text,
            metadata,
        };
        self.pass(delta, out);
        if end.is_some() {
            self.stop_repetition(out);
        }
    }

    fn stop_repetition(&mut self, out: &mut Vec<Delta>) {
        let (why, at) = (DiagnosticCode::RepeatedLines, self.lines.read);
        let in_block = self.stage.in_block();
        self.lines.stopped = Some(Stopped { at, why, in_block });
        let diagnostic = Delta::Diagnostic(Diagnostic {
            code: why,
            message: REPEATED.to_owned(),
            span: Span { start: at, end: at },
        });
        self.pass(diagnostic, out);
    }

    /// Ends the reply: appends what was held. The pipeline is ready for the next one.
    pub fn finish(&mut self, out: &mut Vec<Delta>) {
        self.lines = LineWatch::default();
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
        self.lines = LineWatch::default();
    }

    /// The state between two deltas.
    pub fn state(&self) -> PipelineState {
        let transforms = self.transforms.as_ref();
        PipelineState {
            scanner: self.stage.state().clone(),
            transforms: transforms.map_or(Value::Null, DeltaTransform::save),
            watch: self.stage.watch().clone(),
            lines: self.lines.clone(),
        }
    }

    /// Continues from the state of another pipeline of the same definition.
    pub fn restore(&mut self, state: PipelineState) {
        self.stage.restore(state.scanner);
        self.stage.restore_watch(state.watch);
        self.lines = state.lines;
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
        copy.rules = self.rules;
        copy.lines = self.lines.clone();
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
