//! One request of a client, from its prompt to the last delta of its reply: a state machine without I/O.
//!
//! ```text
//! ClientRequest ─► prompt ─► upstream ─► Delta ─► the way of a reply ─► Delta ─► client
//!                    ▲                                │
//!                    └── repair turn, invisible ◄─────┘
//! ```
//!
//! [`Exchange::request`] returns the request for the upstream, [`Exchange::push`] takes the deltas of its reply and appends those
//! of the client's reply. A valid call is sent whole once its block is complete: as [`Delta::ToolCall`], or as JSON text if it
//! has long numbers.
//!
//! # The path of a reply
//!
//! ```text
//! delta ─► Prompt::continued   the beginning of a call that the request had is put before the reply
//!              │
//!           Reader             blocks, reasoning and tags out of the text
//!              ├── GadgetCall ───────────────────────────┐
//!           TextOut                                      │
//!              CallGate        other forms of calls      │
//!              ├── Call ─────────────────────────────────┤
//!              Stops           the client's stop         ▼
//!              │               sequences            Setup::callable, and the schema
//!              Opening         blank, withheld,          ├── valid ────► CallsOut ─► Delta::ToolCall
//!              │               or sent as it comes       └── invalid ──► Turn ─► repair turn
//!              ▼
//!         Delta::Text
//! ```
//!
//! Text is withheld in four places, only as long as its meaning is open: `Reader` keeps a possible marker, `CallGate` a possible
//! call, `Stops` a possible stop sequence, and `Opening` the text before a call that the client demands. Anything other than text
//! decides the text that is withheld before it (`flush_text`), so the client receives everything in the order of the reply.
//!
//! Example: a reply that must contain a call, with `{S}`, `{A}` and `{E}` for the markers:
//!
//! | the upstream writes | what happens | the client receives |
//! |---|---|---|
//! | `\n` | `Opening::Blank` keeps it | |
//! | `First the sum.\n` | `Opening::Withheld` keeps both, because a reply without a call is an error | |
//! | `{S}sum:s\n{A}a\n1\n{A}b\n2\n{E}` | `Reader` finds a block. The call is valid, so the text is released | start, text, call |
//! | `\n<tool_` | the line break is a part of the block (`after_block`). `CallGate` keeps the rest | |
//! | `call>{"name": "sum", "arguments": {"a": "x"}}</tool_call>` | a call in another form, with wrong parameters: `Turn::rejected` | |
//! | `Done.` | `Opening::Over` keeps nothing | text |
//! | its end | a repair turn: the model corrects the second call | |
//! | `<tool_call>{"name": "sum", "arguments": {"a": 3, "b": 4}}</tool_call>` and its end | valid | call, end |

// The parts, in order. A part names only parts above it, and a type has one file with its methods, so that a part can be read
// alone. `tests/exchange_parts.rs` reads this table.
//
// | request call_ids held rules toolset setup | what an exchange is made from |
// | instructions history prefill prompt | what the upstream is sent |
// | size tally | counts |
// | reply_reader stops call_gate text | text of a reply |
// | calls turn written_call | calls of a reply |
// | repair ending | pure functions of the parts above |

mod call_gate;
mod call_ids;
mod calls;
mod ending;
mod held;
mod history;
mod instructions;
mod prefill;
mod prompt;
mod repair;
mod reply_reader;
mod request;
mod rules;
mod setup;
mod size;
mod stops;
mod tally;
mod text;
mod toolset;
mod turn;
mod written_call;

use std::mem;
use std::sync::Arc;

use gadgetry_proto::call::{Call, Parameters};
use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::dialect::Gated;
use gadgetry_proto::error::DiagnosticCode;
use gadgetry_proto::message::Request;
use gadgetry_proto::reply::{Reader, Stopped, Verdict};
use gadgetry_proto::schema::{GadgetSpec, Registry};
use gadgetry_proto::tags::TagNameError;

use calls::CallsOut;
use prompt::Prompt;
use reply_reader::reader;
use tally::Tally;
use text::TextOut;
use turn::{CUT, Defect, RejectedCall, Turn};
use written_call::WrittenCall;

pub use held::{HeldCall, HeldCalls};
use request::Input;
pub(crate) use request::full_name;
pub use request::{Choice, ClientRequest, Delivery, TEXT_PARAMETER, Tool, ToolKind};
pub use rules::{
    ChatTemplate, Constrain, MarkerStyle, ModelRules, ReasoningTags, RulesPatch, Secrets, ToolMode,
};
pub use setup::{PreparedRequest, Setup};
pub(crate) use size::TOO_LARGE;
pub use tally::Counts;
pub use toolset::{Toolset, UnusableTool};

/// Next step after a delta.
#[derive(Clone, Debug, PartialEq)]
pub enum ExchangeStep {
    /// The upstream's reply continues.
    More,
    /// The model has to correct its calls: send this request, and push its reply.
    Again(Request),
    /// The client's reply is complete. Further deltas of the upstream are not needed.
    Done,
}

/// One exchange. See the [module](self).
///
/// ```
/// use std::sync::Arc;
/// use gadgetry_proto::delta::{Delta, StopReason};
/// use gadgetry_gateway::ClientApi;
/// use gadgetry_gateway::exchange::{Exchange, PreparedRequest, ExchangeStep, Secrets, Setup, Toolset};
/// use serde_json::json;
///
/// let body = json!({
///     "model": "any",
///     "messages": [{"role": "user", "content": "Add 2 and 3."}],
///     "tools": [{"type": "function", "function": {"name": "add", "parameters": {
///         "type": "object",
///         "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
///         "required": ["a", "b"],
///     }}}],
/// });
/// let request = Arc::new(ClientApi::Chat.decode(body)?);
/// let secrets = Secrets::new(Default::default(), 1);
/// let block = format!(
///     "{0}add:sum\n{1}a\n2\n{1}b\n3\n{2}\n",
///     secrets.markers.start(), secrets.markers.arg(), secrets.markers.end(),
/// );
/// let request = Arc::new(PreparedRequest {
///     tools: Arc::new(Toolset::new(request.tools.clone())?),
///     client: request,
///     secrets,
///     id_prefix: ClientApi::Chat.call_prefix(),
///     owner: None,
///     held: Arc::default(),
///     reply_bytes: 1 << 20,
/// });
/// let mut exchange = Exchange::new(Setup {
///     request,
///     id: 7,
///     rules: Arc::default(),
///     is_native: false,
///     constraint: None,
/// })?;
/// let mut out = Vec::new();
/// exchange.push(Delta::MessageStart { model: None }, &mut out);
/// exchange.push(Delta::text(block), &mut out);
/// let end = Delta::MessageEnd { stop_reason: StopReason::Stop, usage: None };
/// assert_eq!(exchange.push(end, &mut out), ExchangeStep::Done);
/// let call = Delta::ToolCall {
///     id: "call_00000000000000000000000007_sum".to_owned(),
///     name: "add".to_owned(),
///     input: json!({"a": 2, "b": 3}),
/// };
/// assert_eq!(out[1], call);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Its parts have separate states, which only this type combines.
#[derive(Debug)]
pub struct Exchange {
    setup: Setup,
    prompt: Prompt,
    reader: Reader,
    text: TextOut,
    calls: CallsOut,
    /// The reply of the upstream that is read.
    turn: Turn,
    tally: Tally,
    phase: Phase,
    /// Memory for the deltas of the reader.
    scratch: Vec<Delta>,
}

/// The client's reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The client has received nothing, so an error can still have its status.
    Waiting,
    Begun,
    Over,
}

impl Exchange {
    /// Begins an exchange. [`Exchange::request`] returns its first request.
    ///
    /// # Errors
    ///
    /// If a tag of the rules is not a name, or occurs twice.
    pub fn new(setup: Setup) -> Result<Self, TagNameError> {
        let registry = if setup.client().may_call() {
            Arc::clone(setup.tools().registry())
        } else {
            Arc::new(Registry::default())
        };
        let markers = setup.reads_blocks().then(|| setup.secrets());
        Ok(Self {
            prompt: Prompt::of(&setup),
            reader: reader(&setup.rules, markers, Arc::clone(&registry))?,
            text: TextOut::of(&setup, registry),
            calls: CallsOut::new(setup.request.id_prefix, setup.id),
            turn: Turn::default(),
            tally: Tally::default(),
            phase: Phase::Waiting,
            scratch: Vec::new(),
            setup,
        })
    }

    /// Checks rules, so that exchanges with them can be made.
    ///
    /// # Errors
    ///
    /// If a tag is not a name, or occurs twice.
    pub fn check(rules: &ModelRules) -> Result<(), TagNameError> {
        reader(rules, None, Arc::default()).map(|_| ())
    }

    /// Returns the next request to the upstream.
    pub fn request(&self) -> Request {
        self.prompt.request(&self.setup, self.tally.counts.repairs)
    }

    /// Returns the tools for the upstream's own interface; `None` if calls are text.
    pub fn native_tools(&self) -> Option<Vec<GadgetSpec>> {
        let is_offered = self.setup.is_native && self.setup.client().may_call();
        is_offered.then(|| self.setup.tools().specs())
    }

    /// Estimates the tokens that the instructions about tools add to the prompt.
    pub fn injected_tokens(&self) -> u64 {
        self.prompt.injected_tokens()
    }

    /// Estimates the tokens of the prompt.
    pub fn prompt_tokens(&self) -> u64 {
        self.prompt.tokens()
    }

    /// Returns the numbers of events so far.
    pub fn counts(&self) -> Counts {
        self.tally.counts
    }

    /// Returns the stop sequence of the client that has ended the reply.
    pub fn stop_sequence(&self) -> Option<&str> {
        self.text.stop_sequence()
    }

    /// Sends calls that have waited for results of this request. If there are any, the reply is complete, and no request is sent
    /// to the model. Returns `false` if no call is ready.
    pub fn run_dependencies(&mut self, out: &mut Vec<Delta>) -> bool {
        if !self.setup.rules.run_dependencies || !self.setup.reads_blocks() {
            return false;
        }
        let Some((exchange, calls)) = self.setup.ready_calls() else {
            return false;
        };
        self.calls = CallsOut::new(self.setup.request.id_prefix, exchange);
        let request = Arc::clone(&self.setup.request);
        for ready in calls {
            if let Some(tool) = request.tools.tool(&ready.name) {
                self.send(ready.id, &ready.name, tool, ready.input, out);
            }
        }
        self.finish(StopReason::ToolUse, out);
        true
    }

    /// Takes a delta of the upstream's reply, and appends the deltas for the client.
    pub fn push(&mut self, delta: Delta, out: &mut Vec<Delta>) -> ExchangeStep {
        if self.phase == Phase::Over {
            return ExchangeStep::Done;
        }
        if let Some(error) = self.tally.receive(&delta, self.setup.request.reply_bytes) {
            out.push(error);
            return self.over();
        }
        match delta {
            Delta::MessageStart { .. } => {
                if !self.setup.is_forced() {
                    self.begin(out);
                }
                ExchangeStep::More
            }
            Delta::Error(_) => {
                out.push(delta);
                self.over()
            }
            Delta::Usage { usage } => {
                self.tally.counted(Some(usage));
                ExchangeStep::More
            }
            Delta::MessageEnd { stop_reason, usage } => {
                self.tally.counted(usage);
                self.end(stop_reason, out)
            }
            Delta::ToolCallStart { .. }
            | Delta::ToolCallDelta { .. }
            | Delta::ToolCallEnd { .. }
            | Delta::ToolCall { .. } => {
                if let Some(call) = self.turn.native(delta) {
                    self.flush_text(out);
                    self.decide(WrittenCall::native(call, &self.setup), out);
                }
                self.progress(out)
            }
            Delta::Diagnostic(said) if said.code == DiagnosticCode::Refusal => {
                self.begin(out);
                out.push(Delta::Diagnostic(said));
                ExchangeStep::More
            }
            delta => {
                let Some(delta) = self.prompt.continued(delta) else {
                    return ExchangeStep::More;
                };
                let mut read = mem::take(&mut self.scratch);
                self.reader.push(delta, &mut read);
                self.take_in(read, out);
                match self.reader.stopped() {
                    Some(stopped) => self.end_stopped(stopped, out),
                    None => self.progress(out),
                }
            }
        }
    }

    /// Takes the output of the reader.
    fn take_in(&mut self, mut read: Vec<Delta>, out: &mut Vec<Delta>) {
        for delta in read.drain(..) {
            if self.is_enough() {
                break;
            }
            let is_repair = self.turn.is_repair();
            match delta {
                Delta::Text { delta, .. } => {
                    self.text.push(&delta);
                    self.take_pieces(out);
                }
                Delta::Reasoning { .. } if !is_repair => {
                    self.begin(out);
                    out.push(delta);
                }
                Delta::GadgetCallStart(_) => self.flush_text(out),
                Delta::GadgetCall(call) => {
                    self.text.end_block();
                    self.block(&call, out);
                }
                Delta::Diagnostic(said)
                    if matches!(
                        said.code,
                        DiagnosticCode::NearMiss | DiagnosticCode::CutHeader
                    ) =>
                {
                    self.note_near_miss(|| said.message);
                }
                Delta::ContentMetadata { .. } | Delta::ReasoningMetadata { .. } if !is_repair => {
                    out.push(delta);
                }
                _ => {}
            }
        }
        self.scratch = read;
    }

    /// Notes text that looked like a call, and was not one.
    fn note_near_miss(&mut self, problem: impl FnOnce() -> String) {
        self.tally.counts.near_misses += 1;
        self.turn.note_near_miss(problem);
    }

    /// Takes the output of the gate.
    fn take_pieces(&mut self, out: &mut Vec<Delta>) {
        let mut pieces = self.text.take_pieces();
        for piece in pieces.drain(..) {
            match piece {
                Gated::Text(text) => {
                    let shown = self.text.shown(text);
                    self.emit(shown, out);
                }
                Gated::Reasoning(delta) if !self.turn.is_repair() => {
                    let metadata = None;
                    self.emit(Some(Delta::Reasoning { delta, metadata }), out);
                }
                Gated::Call(call, _) => {
                    let kept = self.text.flush_stops();
                    self.emit(kept, out);
                    self.decide(WrittenCall::in_other_form(call, &self.setup), out);
                }
                Gated::Cut(_) => self.note_near_miss(|| CUT.to_owned()),
                // The gate has made text of those that are to be seen.
                Gated::Reasoning(_) | Gated::Opening(_) | Gated::Closing(_) => {}
            }
        }
        self.text.recycle(pieces);
    }

    /// Decides withheld text, because something other than text follows.
    fn flush_text(&mut self, out: &mut Vec<Delta>) {
        self.text.flush_gate();
        self.take_pieces(out);
        let kept = self.text.flush_stops();
        self.emit(kept, out);
    }

    /// Takes a block of the reply.
    fn block(&mut self, call: &Call, out: &mut Vec<Delta>) {
        let checked = match self.reader.check(call) {
            Verdict::Valid(input) if call.dependencies.is_empty() => Ok(input),
            Verdict::Invalid(problem) => Err(problem),
            Verdict::Valid(_) | Verdict::NeedsResults => return self.hold(call, out),
        };
        self.decide(WrittenCall::block(call, checked), out);
    }

    /// Keeps a call that depends on others until their results arrive.
    fn hold(&mut self, call: &Call, out: &mut Vec<Delta>) {
        let tool = self.setup.request.tools.tool(&call.gadget_name);
        let (Some(tool), Parameters::Parsed(input)) = (tool, &call.parameters) else {
            return;
        };
        match self.calls.hold(call, tool, input.clone()) {
            Ok(()) => {
                self.tally.counts.held += 1;
                let id = call.invocation_id.as_str();
                self.turn.accept(id, &call.gadget_name);
            }
            Err(problem) => self.decide(WrittenCall::block(call, Err(problem)), out),
        }
    }

    /// Sends a call to the client, or notes its problem.
    fn decide(&mut self, call: WrittenCall, out: &mut Vec<Delta>) {
        if self.is_enough() || !self.setup.client().may_call() {
            return;
        }
        let WrittenCall { id, name, checked } = call;
        let request = Arc::clone(&self.setup.request);
        match checked.and_then(|input| Ok((request.callable(&name)?, input))) {
            Ok((tool, input)) => self.send(id, &name, tool, input, out),
            Err(problem) => {
                self.tally.counts.invalid += 1;
                self.turn.rejected.push(RejectedCall { id, name, problem });
            }
        }
    }

    fn send(&mut self, id: String, name: &str, tool: &Tool, input: Input, out: &mut Vec<Delta>) {
        self.turn.accept(&id, name);
        if self.turn.is_repair() && self.calls.has(name, &input) {
            return;
        }
        let withheld = self.text.release();
        self.emit(withheld, out);
        self.begin(out);
        out.extend(self.calls.send(id, name, tool, input));
        self.tally.counts.calls += 1;
    }

    /// Begins the client's reply, unless it has begun.
    fn begin(&mut self, out: &mut Vec<Delta>) {
        if self.phase == Phase::Waiting {
            self.phase = Phase::Begun;
            out.push(Delta::MessageStart {
                model: Some(self.setup.client().model.clone()),
            });
        }
    }

    fn emit(&mut self, delta: Option<Delta>, out: &mut Vec<Delta>) {
        if let Some(delta) = delta {
            self.begin(out);
            out.push(delta);
        }
    }

    /// Returns `true` if the client has received all the calls that it admits.
    fn is_enough(&self) -> bool {
        !self.setup.client().is_parallel && !self.calls.is_empty()
    }

    /// Ends the reply before the upstream's, if the rest of that is not needed.
    fn progress(&mut self, out: &mut Vec<Delta>) -> ExchangeStep {
        let reason = if self.is_enough() {
            StopReason::ToolUse
        } else if self.text.stop_sequence().is_some() && self.turn.rejected.is_empty() {
            StopReason::StopSequence
        } else {
            return ExchangeStep::More;
        };
        self.tally.end_reply();
        self.finish(reason, out)
    }

    /// Takes the end of a reply that the reader has stopped, because the rest of it would be useless. An incomplete call in it
    /// has to be corrected; text that repeats itself is cut off as by a token limit.
    fn end_stopped(&mut self, stopped: Stopped, out: &mut Vec<Delta>) -> ExchangeStep {
        if !stopped.in_block {
            return self.end(StopReason::MaxTokens, out);
        }
        self.turn.repeats |= stopped.why == DiagnosticCode::RepeatedLines;
        self.end(StopReason::ToolUse, out)
    }

    /// Takes the end of the upstream's reply.
    fn end(&mut self, stop_reason: StopReason, out: &mut Vec<Delta>) -> ExchangeStep {
        let mut read = mem::take(&mut self.scratch);
        if let Some(text) = self.prompt.end_reply() {
            self.reader.push(text, &mut read);
        }
        let end = Delta::MessageEnd {
            stop_reason: stop_reason.clone(),
            usage: None,
        };
        self.reader.push(end, &mut read);
        let output = self.reader.finish(&mut read);
        ending::remove_cut_block(&mut read, self.setup.secrets().markers.start());
        // A call that only the end of the reply has completed is judged by how it ended.
        self.take_in(read, out);
        self.text.end_gate(stop_reason.is_clean());
        self.flush_text(out);
        self.tally.counts.forms += u32::from(self.calls.is_empty() && self.text.has_form());
        self.text.end_reply();
        self.tally.end_reply();
        if self.is_enough() {
            return self.finish(StopReason::ToolUse, out);
        }
        let (is_forced, has_calls) = (self.setup.is_forced(), !self.calls.is_empty());
        let defect = if stop_reason.is_clean() && self.setup.client().may_call() {
            self.turn.defect(is_forced, has_calls)
        } else {
            None
        };
        let Some(defect) = defect else {
            return self.finish(stop_reason, out);
        };
        if self.tally.counts.repairs < self.setup.rules.repairs {
            return self.repair(output.message.raw.unwrap_or_default(), defect);
        }
        let has_rejected = !self.turn.rejected.is_empty();
        if !has_calls && (is_forced || has_rejected || !self.text.has_text()) {
            out.push(repair::error(&self.setup, &self.turn, &defect));
            return self.over();
        }
        self.finish(stop_reason, out)
    }

    /// Begins a repair turn.
    fn repair(&mut self, raw: String, defect: Defect) -> ExchangeStep {
        self.tally.counts.repairs += 1;
        let turn = mem::take(&mut self.turn);
        let messages = repair::messages(&self.setup, raw, turn, &defect);
        self.prompt.append(messages);
        self.text.begin_repair();
        self.turn = Turn::correcting(defect);
        ExchangeStep::Again(self.request())
    }

    /// Ends the client's reply.
    fn finish(&mut self, reason: StopReason, out: &mut Vec<Delta>) -> ExchangeStep {
        self.begin(out);
        if self.calls.is_empty() && !self.turn.corrects_near_miss() {
            out.extend(self.text.take_repair());
        }
        // It was cut off before it could call anything.
        out.extend(self.text.release());
        let (exchange, held) = self.calls.take_held();
        if let Some(owner) = self.setup.request.owner {
            self.setup.request.held.keep(owner, exchange, held);
        }
        out.push(Delta::MessageEnd {
            stop_reason: ending::stop_reason(reason, !self.calls.is_empty()),
            usage: Some(self.tally.usage(|| self.prompt.tokens())),
        });
        self.over()
    }

    fn over(&mut self) -> ExchangeStep {
        self.phase = Phase::Over;
        ExchangeStep::Done
    }
}
