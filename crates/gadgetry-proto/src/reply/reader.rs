//! A reader of whole replies: the pipeline, the message, and verdicts on calls.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::accumulate::{AccumulatedReply, Accumulator};
use crate::call::{Call, TerminatedBy};
use crate::delta::{Delta, StopReason};
use crate::error::DiagnosticCode;
use crate::reply::check::{self, Verdict};
use crate::reply::{Format, Pipeline, PipelineState, ReplyStage, StopEarly, Stopped, Truncation};
use crate::schema::{Registry, Unterminated};
use crate::tags::{CustomBlock, TagNameError};
use crate::transform::TransformFactory;

/// Reads one reply after another as a run does, but executes nothing.
///
/// Deltas of a model go in, in any pieces; deltas of the reply come out, with gadget calls and custom blocks taken out of
/// the text. What came out also makes the message that [`Reader::finish`] gives. [`Reader::check`] says of a complete
/// call whether, and with which parameters, a run would execute it. Everything is owned data, and the state can be saved
/// between any two deltas.
///
/// ```
/// use std::sync::Arc;
/// use gadgetry_proto::block::Markers;
/// use gadgetry_proto::delta::Delta;
/// use gadgetry_proto::reply::{Format, Reader, Verdict};
/// use gadgetry_proto::schema::{GadgetSpec, Registry};
/// use serde_json::json;
///
/// let add = GadgetSpec {
///     name: "Add".to_owned(),
///     parameters: json!({
///         "type": "object",
///         "properties": { "a": { "type": "number" }, "b": { "type": "number", "default": 1 } },
///         "required": ["a"],
///     }),
///     ..GadgetSpec::default()
/// };
/// let format = Format { markers: Some(Markers::default()), ..Format::default() };
/// let mut reader = Reader::new(format, Vec::new(), Arc::new(Registry::new([add])?))?;
///
/// let pieces = [
///     "Let me see.\n!!!GADGET_START:Add\n!!!AR", "G:a\n4\n!!!GADGET_END\n",
///     "!!!GADGET_START:Add\n!!!ARG:a\nfour\n!!!GADGET", "_END\n",
/// ];
/// let mut out = Vec::new();
/// for piece in pieces {
///     reader.push(Delta::text(piece), &mut out);
/// }
/// let output = reader.finish(&mut out);
///
/// let calls = out.iter().filter_map(|delta| match delta {
///     Delta::GadgetCall(call) => Some(reader.check(call)),
///     _ => None,
/// });
/// let error = "Error: Invalid parameters for 'Add':\n  - a: expected number, got string \"four\"";
/// assert_eq!(
///     calls.collect::<Vec<_>>(),
///     [Verdict::Valid(json!({ "a": 4, "b": 1 })), Verdict::Invalid(error.to_owned())],
/// );
/// assert_eq!(output.message.raw, Some(pieces.concat()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Reader {
    pipeline: Pipeline,
    registry: Arc<Registry>,
    unterminated: Unterminated,
    /// Whether the message has the parts of the reply, or only its text as written.
    keeps_parts: bool,
    reply: ReplyState,
}

/// The reply so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct ReplyState {
    message: Accumulator,
    /// The text as written.
    raw: String,
    /// The reason the model stopped; of the last reply until the next one begins.
    stop_reason: Option<StopReason>,
    is_over: bool,
}

/// The state of a [`Reader`] between two deltas: plain data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReaderState {
    pipeline: PipelineState,
    reply: ReplyState,
}

impl Reader {
    /// A reader of replies of `format`, whose tags are those of `blocks`, and whose calls are for the gadgets of
    /// `registry`. Fails if a tag is not a name, or is there twice.
    pub fn new(
        format: Format,
        blocks: Vec<CustomBlock>,
        registry: Arc<Registry>,
    ) -> Result<Self, TagNameError> {
        let stage = ReplyStage::new(format, blocks, Some(Arc::clone(&registry)))?;
        Ok(Self {
            pipeline: Pipeline::new(stage, []),
            registry,
            unterminated: Unterminated::default(),
            keeps_parts: true,
            reply: ReplyState::default(),
        })
    }

    /// Sets the transforms that deltas go through after the calls and blocks were taken out. Each reply has fresh ones.
    #[must_use]
    pub fn transforms(mut self, transforms: impl Into<Arc<[TransformFactory]>>) -> Self {
        self.pipeline.set_transforms(transforms.into());
        self
    }

    /// Sets what happens to calls that only the end of the reply completes; a gadget's own policy counts first.
    #[must_use]
    pub fn unterminated(mut self, policy: Unterminated) -> Self {
        self.unterminated = policy;
        self
    }

    /// Leaves the parts out of the message of [`finish`](Self::finish), which then has only the text as written: for those who
    /// use the deltas, and have many replies in memory at once.
    #[must_use]
    pub fn without_parts(mut self) -> Self {
        self.keeps_parts = false;
        self
    }

    /// Ends replies early by these rules. A reader does not by default.
    #[must_use]
    pub fn stop_early(mut self, rules: StopEarly) -> Self {
        self.pipeline = self.pipeline.stop_early(rules);
        self
    }

    /// Returns the place where the current reply was ended early, by [`stop_early`](Self::stop_early). What follows is not read.
    pub fn stopped(&self) -> Option<Stopped> {
        self.pipeline.stopped()
    }

    /// Takes one delta and appends what takes its place.
    pub fn push(&mut self, delta: Delta, out: &mut Vec<Delta>) {
        if self.reply.is_over {
            self.reply = ReplyState::default();
        }
        if let Delta::Text { delta: text, .. } = &delta {
            self.reply.raw.push_str(text);
        }
        let from = out.len();
        self.pipeline.push(delta, out);
        if let Some(stopped) = self.pipeline.stopped() {
            self.reply
                .raw
                .truncate(usize::try_from(stopped.at).unwrap_or(usize::MAX));
        }
        self.reply.take(&out[from..], self.keeps_parts);
    }

    /// Ends the reply: appends what was held, and gives the message with its text as written. The reader is ready for
    /// the next one.
    pub fn finish(&mut self, out: &mut Vec<Delta>) -> AccumulatedReply {
        let from = out.len();
        self.pipeline.finish(out);
        let reply = &mut self.reply;
        reply.take(&out[from..], self.keeps_parts);
        let mut output = std::mem::take(&mut reply.message).into_output();
        output.message.raw = Some(std::mem::take(&mut reply.raw)).filter(|raw| !raw.is_empty());
        reply.stop_reason.clone_from(&output.stop_reason);
        reply.is_over = true;
        output
    }

    /// Checks whether a run would execute a call of the current or the last reply, decided as a run does it. A call that
    /// only the end of the reply completed is not executed if the model did not say that its reply is whole.
    pub fn check(&self, call: &Call) -> Verdict {
        self.checked(call).unwrap_or_else(Verdict::Invalid)
    }

    fn checked(&self, call: &Call) -> Result<Verdict, String> {
        let gadget = check::gadget(call, &self.registry)?;
        // The call that has ended the reply is judged before it has ended.
        let is_hopeless = self
            .stopped()
            .is_some_and(|stopped| stopped.why == DiagnosticCode::HopelessCall);
        if call.terminated_by == TerminatedBy::EndOfStream
            && !is_hopeless
            && let Some(truncation) = Truncation::of_call(self.reply.stop_reason.as_ref())
        {
            return Err(truncation.refusal());
        }
        check::terminated(call, gadget, self.unterminated)?;
        Ok(check::parameters(call, gadget))
    }

    /// The state between two deltas.
    pub fn state(&self) -> ReaderState {
        ReaderState {
            pipeline: self.pipeline.state(),
            reply: self.reply.clone(),
        }
    }

    /// Continues from the state of another reader of the same definition.
    pub fn restore(&mut self, state: ReaderState) {
        self.pipeline.restore(state.pipeline);
        self.reply = state.reply;
    }
}

impl ReplyState {
    fn take(&mut self, deltas: &[Delta], keeps_parts: bool) {
        for delta in deltas {
            // The end of a message has no part, but why it stopped.
            if !keeps_parts && !matches!(delta, Delta::MessageEnd { .. }) {
                continue;
            }
            self.message.push(delta);
            if let Delta::Diagnostic(diagnostic) = delta
                && diagnostic.code == DiagnosticCode::StrayReasoningEnd
            {
                self.message.text_was_reasoning();
            }
        }
    }
}
