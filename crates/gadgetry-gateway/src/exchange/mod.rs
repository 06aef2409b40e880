//! One request of a client, from its prompt to the last delta of its reply: a state machine that waits for nothing.
//!
//! ```text
//! ClientRequest ─► prompt ─► upstream ─► Delta ─► Reader ─► gate ─► verdicts ─► Delta ─► client
//!                    ▲                                                │
//!                    └──────────── repair turn, invisible ◄───────────┘
//! ```
//!
//! [`Exchange::request`] says what to send to the upstream, [`Exchange::push`] takes the deltas of its reply and gives those
//! of the client's. A call is given whole, as [`Delta::ToolCall`], once its block is complete and its parameters are valid.

mod call_ids;
mod calls;
mod ending;
mod gated;
mod held;
mod history;
mod instructions;
mod prefill;
mod prompt;
mod quoted;
mod repair;
mod request;
mod rules;
mod size;
mod stops;
mod toolset;
mod turn;

use std::sync::Arc;

use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::dialect::{Dialects, Gate, Gated};
use gadgetry_proto::error::{DiagnosticCode, ModelErrorKind};
use gadgetry_proto::message::{Constraint, Message, Request};
use gadgetry_proto::reply::{Format, Reader, StopEarly};
use gadgetry_proto::schema::{Registry, Unterminated};
use gadgetry_proto::tags::{BlockCode, BlockConfig, BlockMode, CustomBlock, TagNameError};
use gadgetry_proto::usage::Usage;
use serde_json::Value;

use call_ids::CallIds;
use instructions::ANCHORING;
use prefill::Prefill;
use quoted::Quoted;
use size::{size, written};
use stops::Stops;
use turn::Turn;

use crate::memory::Owner;

pub use held::{HeldCall, HeldCalls};
pub(crate) use request::full_name;
pub use request::{Choice, ClientRequest, TEXT_PARAMETER, Tool, ToolKind};
pub use rules::{Constrain, MarkerStyle, ModelRules, RulesPatch, Secrets, ToolMode};
pub use toolset::{Toolset, UnusableTool};

/// The code of the error that a reply without end becomes.
pub(crate) const TOO_LARGE: &str = "reply_too_large";

/// What an exchange is made from.
#[derive(Clone, Debug)]
pub struct Setup {
    /// What the client wants.
    pub request: Arc<ClientRequest>,
    /// Its tools.
    pub tools: Arc<Toolset>,
    /// How the model is treated.
    pub rules: Arc<ModelRules>,
    /// Whether the upstream has tools of its own, so that calls are not blocks.
    pub is_native: bool,
    /// The secrets of its prompt.
    pub secrets: Secrets,
    /// What the ids of calls begin with, such as `call_`.
    pub id_prefix: &'static str,
    /// The id of the exchange, which no one can guess: the ids of its calls contain it.
    pub id: u128,
    /// The owner of what is kept until the next request; `None` if nothing is to be kept.
    pub owner: Option<Owner>,
    /// Calls that wait for others, of all exchanges.
    pub held: Arc<HeldCalls>,
    /// The maximum number of bytes that the upstream may write, in all turns together.
    pub reply_bytes: usize,
    /// The constraint on each reply of the upstream.
    pub constraint: Option<Constraint>,
}

impl Setup {
    /// The calls of an earlier exchange of this owner that wait for others.
    fn held_calls(&self, exchange: u128) -> Vec<HeldCall> {
        let owner = self.owner.as_ref();
        owner.map_or_else(Vec::new, |owner| self.held.of(*owner, exchange))
    }
}

/// What to do after a delta.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// The upstream's reply continues.
    More,
    /// Send this request, and push its reply: the model corrects its calls.
    Again(Request),
    /// The client's reply is complete. What the upstream still sends is not needed.
    Done,
}

/// What has happened in an exchange, for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls that were sent to the client.
    pub calls: u32,
    /// Calls that could not be sent.
    pub invalid: u32,
    /// Repair turns.
    pub repairs: u32,
    /// Calls that wait for others.
    pub held: u32,
}

/// One exchange. See the [module](self).
///
/// ```
/// use std::sync::Arc;
/// use gadgetry_proto::delta::{Delta, StopReason};
/// use gadgetry_gateway::Api;
/// use gadgetry_gateway::exchange::{Exchange, Progress, Secrets, Setup, Toolset};
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
/// let request = Arc::new(Api::Chat.decode(body)?);
/// let secrets = Secrets::new(Default::default(), 1);
/// let block = format!(
///     "{0}add:sum\n{1}a\n2\n{1}b\n3\n{2}\n",
///     secrets.markers.start(), secrets.markers.arg(), secrets.markers.end(),
/// );
/// let mut exchange = Exchange::new(Setup {
///     tools: Arc::new(Toolset::new(request.tools.clone())?),
///     request,
///     rules: Arc::default(),
///     is_native: false,
///     secrets,
///     id_prefix: "call_",
///     id: 7,
///     owner: None,
///     held: Arc::default(),
///     reply_bytes: 1 << 20,
///     constraint: None,
/// })?;
/// let mut out = Vec::new();
/// exchange.push(Delta::MessageStart { model: None }, &mut out);
/// exchange.push(Delta::text(block), &mut out);
/// let end = Delta::MessageEnd { stop_reason: StopReason::Stop, usage: None };
/// assert_eq!(exchange.push(end, &mut out), Progress::Done);
/// let call = Delta::ToolCall {
///     id: "call_00000000000000000000000007_sum".to_owned(),
///     name: "add".to_owned(),
///     input: json!({"a": 2, "b": 3}),
/// };
/// assert_eq!(out[1], call);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are independent facts about a reply"
)]
pub struct Exchange {
    setup: Setup,
    /// What the upstream is sent. Repair turns are appended.
    messages: Vec<Message>,
    /// What only the first request has.
    trailing: Vec<Message>,
    reader: Reader,
    gate: Gate,
    /// What the model may only repeat.
    quoted: Quoted,
    /// The dialects that the gate takes out of the text.
    dialects: Dialects,
    /// The tools that can be called.
    registry: Arc<Registry>,
    stops: Stops,
    ids: CallIds,
    turn: Turn,
    /// The calls that the client has: the name in blocks, the model's id, and the parameters.
    sent: Vec<(String, String, Value)>,
    held: Vec<HeldCall>,
    prefill: Option<Prefill>,
    /// Text before the first call of a reply that must have one.
    withheld: String,
    /// Text that is blank so far, at the beginning of the reply.
    blank: String,
    has_text: bool,
    /// The text before is the end marker of a block, whose line break is a part of the block.
    after_block: bool,
    /// The last repair turn was about something that looked like a call. It was shown as text, so an answer without a call
    /// adds nothing.
    was_near_miss: bool,
    is_started: bool,
    is_over: bool,
    usage: Usage,
    /// Whether the upstream has counted each reply.
    is_counted: bool,
    turn_usage: Option<Usage>,
    /// Bytes of the instructions about tools.
    injected: u64,
    /// Bytes of text and reasoning that the upstream has written.
    written: u64,
    /// Bytes of all that the upstream has sent.
    received: usize,
    counts: Counts,
    scratch: Vec<Delta>,
    pieces: Vec<Gated>,
}

impl Exchange {
    /// An exchange before its first request.
    ///
    /// # Errors
    ///
    /// If a tag of the rules is not a name, or is there twice.
    pub fn new(setup: Setup) -> Result<Self, TagNameError> {
        let Setup {
            request,
            tools,
            rules,
            secrets,
            ..
        } = &setup;
        let reads_blocks = request.may_call() && !setup.is_native;
        let registry = if request.may_call() {
            Arc::clone(tools.registry())
        } else {
            Arc::new(Registry::default())
        };
        let dialects = if reads_blocks {
            rules.dialects_read()
        } else {
            Dialects::default()
        };
        let stops = if reads_blocks {
            request.options.stop.clone()
        } else {
            Vec::new()
        };
        let mut exchange = Self {
            reader: reader(reads_blocks, rules, secrets, Arc::clone(&registry))?,
            gate: Gate::default(),
            quoted: Quoted::in_request(Arc::clone(request), &dialects),
            dialects,
            registry,
            stops: Stops::new(stops),
            ids: CallIds::new(setup.id_prefix, setup.id),
            messages: Vec::new(),
            trailing: Vec::new(),
            turn: Turn::default(),
            sent: Vec::new(),
            held: Vec::new(),
            prefill: None,
            withheld: String::new(),
            blank: String::new(),
            has_text: false,
            after_block: false,
            was_near_miss: false,
            is_started: false,
            is_over: false,
            usage: Usage::default(),
            is_counted: true,
            turn_usage: None,
            injected: 0,
            written: 0,
            received: 0,
            counts: Counts::default(),
            scratch: Vec::new(),
            pieces: Vec::new(),
            setup,
        };
        exchange.messages = exchange.prompt();
        exchange.begin_call();
        Ok(exchange)
    }

    /// Checks rules, so that exchanges with them can be made.
    ///
    /// # Errors
    ///
    /// If a tag is not a name, or is there twice.
    pub fn check(rules: &ModelRules) -> Result<(), TagNameError> {
        let secrets = Secrets::new(rules.markers, 0);
        reader(false, rules, &secrets, Arc::default()).map(|_| ())
    }

    fn reads_blocks(&self) -> bool {
        self.setup.request.may_call() && !self.setup.is_native
    }

    /// What has happened so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Whether the client has received a part of its reply.
    pub fn is_started(&self) -> bool {
        self.is_started
    }

    /// Takes a delta of the upstream's reply, and appends what the client receives.
    pub fn push(&mut self, delta: Delta, out: &mut Vec<Delta>) -> Progress {
        if self.is_over {
            return Progress::Done;
        }
        self.received += size(&delta);
        if self.received > self.setup.reply_bytes && !matches!(delta, Delta::Error { .. }) {
            return self.overflow(out);
        }
        match delta {
            Delta::MessageStart { .. } => {
                if !self.setup.request.choice.kind.is_forced() {
                    self.start(out);
                }
                Progress::More
            }
            Delta::Error { .. } => {
                out.push(delta);
                self.over()
            }
            Delta::Usage { usage } => {
                self.turn_usage = Some(usage);
                Progress::More
            }
            Delta::MessageEnd { stop_reason, usage } => {
                self.turn_usage = usage.or(self.turn_usage);
                self.end(stop_reason, out)
            }
            Delta::ToolCallStart { .. }
            | Delta::ToolCallDelta { .. }
            | Delta::ToolCallEnd { .. }
            | Delta::ToolCall { .. } => {
                if let Some(call) = self.turn.native(delta) {
                    self.flush_text(out);
                    self.native_call(call, out);
                }
                self.progress(out)
            }
            Delta::Diagnostic(said) if said.code == DiagnosticCode::Refusal => {
                self.start(out);
                out.push(Delta::Diagnostic(said));
                Progress::More
            }
            delta => {
                self.written += written(&delta);
                let Some(delta) = Prefill::continued(&mut self.prefill, delta) else {
                    return Progress::More;
                };
                let mut read = std::mem::take(&mut self.scratch);
                self.reader.push(delta, &mut read);
                self.read(&mut read, out);
                self.scratch = read;
                if let Some(stopped) = self.reader.stopped().filter(|_| !self.is_over) {
                    return self.end_stopped(stopped, out);
                }
                self.progress(out)
            }
        }
    }

    /// Whether the reply can end before the upstream's.
    fn progress(&mut self, out: &mut Vec<Delta>) -> Progress {
        if self.is_over {
            return Progress::Done;
        }
        if self.is_enough() {
            self.add_usage();
            return self.finish(StopReason::ToolUse, out);
        }
        if self.stops.found().is_some() && self.turn.failures.is_empty() {
            self.add_usage();
            return self.finish(StopReason::StopSequence, out);
        }
        Progress::More
    }

    /// The stop sequence of the client that has ended the reply.
    pub fn stop_sequence(&self) -> Option<&str> {
        self.stops.found()
    }

    fn start(&mut self, out: &mut Vec<Delta>) {
        if !self.is_started {
            self.is_started = true;
            out.push(Delta::MessageStart {
                model: Some(self.setup.request.model.clone()),
            });
        }
    }

    /// The upstream has written more than it may.
    fn overflow(&mut self, out: &mut Vec<Delta>) -> Progress {
        out.push(Delta::Error {
            error: format!(
                "the upstream's reply is larger than the gateway's limit of {} bytes: ask for a shorter one, or raise \
                 `reply-bytes`",
                self.setup.reply_bytes
            ),
            code: Some(TOO_LARGE.to_owned()),
            kind: ModelErrorKind::Other,
            retry_after_ms: None,
            overflow: None,
        });
        self.over()
    }

    fn over(&mut self) -> Progress {
        self.is_over = true;
        Progress::Done
    }

    fn is_repair(&self) -> bool {
        self.counts.repairs > 0
    }

    /// Takes what the reader has made of the reply.
    fn read(&mut self, read: &mut Vec<Delta>, out: &mut Vec<Delta>) {
        for delta in read.drain(..) {
            if self.is_enough() || self.is_over {
                continue;
            }
            match delta {
                Delta::Text { mut delta, .. } => {
                    if self.after_block && !delta.is_empty() {
                        self.after_block = false;
                        if delta.starts_with('\n') {
                            delta.remove(0);
                        }
                    }
                    self.gated(|gate, rules, pieces| gate.push(&delta, rules, pieces), out);
                }
                Delta::Reasoning { .. } if !self.is_repair() => {
                    self.start(out);
                    out.push(delta);
                }
                Delta::GadgetCallStart(_) => self.flush_text(out),
                Delta::GadgetCall(call) => {
                    self.after_block = true;
                    self.block(&call, out);
                }
                Delta::Diagnostic(said)
                    if matches!(
                        said.code,
                        DiagnosticCode::NearMiss | DiagnosticCode::CutHeader
                    ) =>
                {
                    self.turn.near_miss.get_or_insert(said.message);
                }
                Delta::ContentMetadata { .. } | Delta::ReasoningMetadata { .. }
                    if !self.is_repair() =>
                {
                    out.push(delta);
                }
                _ => {}
            }
        }
    }

    fn is_enough(&self) -> bool {
        !self.setup.request.is_parallel && !self.sent.is_empty()
    }

    /// Decides about text that was kept back, because something else than text follows.
    fn flush_text(&mut self, out: &mut Vec<Delta>) {
        self.gated(Gate::flush, out);
        let kept = self.stops.finish();
        self.show(kept, out);
    }
}

fn reader(
    reads_blocks: bool,
    rules: &ModelRules,
    secrets: &Secrets,
    registry: Arc<Registry>,
) -> Result<Reader, TagNameError> {
    let format = Format {
        markers: reads_blocks.then(|| secrets.markers.clone()),
        anchoring: ANCHORING,
        reasoning: rules.reasoning_tags.clone(),
        reasoning_open: rules.reasoning_open,
        ..Format::default()
    };
    let blocks = rules
        .strip_tags
        .iter()
        .filter_map(|tag| stripped(tag))
        .collect();
    let reader = Reader::new(format, blocks, registry)?;
    let reader = if rules.stop_early {
        reader.stop_early(StopEarly::default())
    } else {
        reader
    };
    Ok(reader.unterminated(Unterminated::Confirm).without_parts())
}

/// A tag that is removed from the text with its content.
fn stripped(tag: &str) -> Option<CustomBlock> {
    let config = BlockConfig {
        mode: BlockMode::Suppress,
        ..BlockConfig::new(tag)
    };
    CustomBlock::from_parts(config, BlockCode::default())
}
