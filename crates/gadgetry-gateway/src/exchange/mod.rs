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
mod gate;
mod held;
mod history;
mod instructions;
mod request;
mod rules;
mod stops;
mod toolset;
mod turn;

use std::sync::Arc;

use gadgetry::proto::call::{Call, Parameters};
use gadgetry::proto::convo::TokenEstimate;
use gadgetry::proto::delta::{Delta, StopReason};
use gadgetry::proto::error::{DiagnosticCode, ModelErrorKind};
use gadgetry::proto::message::{Content, Message, Request, Role, ToolChoice};
use gadgetry::proto::prompt::{append_to_system, correction};
use gadgetry::proto::reply::{Format, Reader, Verdict};
use gadgetry::proto::schema::{GadgetSpec, Registry, Unterminated, coerce_json};
use gadgetry::proto::tags::{BlockCode, BlockConfig, BlockMode, CustomBlock, TagNameError};
use gadgetry::proto::usage::Usage;
use serde_json::Value;

use call_ids::CallIds;
use gate::{Gate, Piece};
use history::HistoryWriter;
use instructions::ANCHORING;
use stops::Stops;
use turn::{Failure, NativeCall, Turn};

pub use held::{HeldCall, HeldCalls};
pub(crate) use request::full_name;
pub use request::{Choice, ClientRequest, TEXT_PARAMETER, Tool, ToolKind};
pub use rules::{Constrain, Dialects, MarkerStyle, ModelRules, RulesPatch, Secrets, ToolMode};
pub use toolset::Toolset;

/// What an exchange is made from.
#[derive(Clone, Debug)]
pub struct Setup {
    /// What the client wants.
    pub request: Arc<ClientRequest>,
    /// Its tools.
    pub tools: Arc<Toolset>,
    /// How the model is treated.
    pub rules: Arc<ModelRules>,
    /// Whether the upstream has tools of its own, so that calls are no blocks.
    pub is_native: bool,
    /// The secrets of its prompt.
    pub secrets: Secrets,
    /// What the ids of calls begin with, such as `call_`.
    pub id_prefix: &'static str,
    /// A number that no other exchange has.
    pub number: u64,
    /// Calls that were held back, of all exchanges.
    pub held: Arc<HeldCalls>,
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
/// use gadgetry::proto::delta::{Delta, StopReason};
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
///     tools: Arc::new(Toolset::new(request.tools.clone())),
///     request,
///     rules: Arc::default(),
///     is_native: false,
///     secrets,
///     id_prefix: "call_",
///     number: 7,
///     held: Arc::default(),
/// })?;
/// let mut out = Vec::new();
/// exchange.push(Delta::MessageStart { model: None }, &mut out);
/// exchange.push(Delta::text(block), &mut out);
/// let end = Delta::MessageEnd { stop_reason: StopReason::Stop, usage: None };
/// assert_eq!(exchange.push(end, &mut out), Progress::Done);
/// let call = Delta::ToolCall {
///     id: "call_0000000000000007_sum".to_owned(),
///     name: "add".to_owned(),
///     input: json!({"a": 2, "b": 3}),
/// };
/// assert_eq!(out[1], call);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Exchange {
    setup: Setup,
    /// What the upstream is sent. Repair turns are appended.
    messages: Vec<Message>,
    /// What only the first request has.
    trailing: Vec<Message>,
    reader: Reader,
    gate: Gate,
    stops: Stops,
    ids: CallIds,
    turn: Turn,
    /// The calls that the client has: the name in blocks, the model's id, and the parameters.
    sent: Vec<(String, String, Value)>,
    held: Vec<HeldCall>,
    /// Text before the first call of a reply that must have one.
    withheld: String,
    /// Text that is blank so far, at the beginning of the reply.
    blank: String,
    has_text: bool,
    /// The text before is the end marker of a block, whose line break is a part of the block.
    after_block: bool,
    /// The model was asked about something that looked like a call. It was shown as text, so an answer without a call
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
    /// Bytes of what the upstream has written.
    written: u64,
    counts: Counts,
    scratch: Vec<Delta>,
    pieces: Vec<Piece>,
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
            rules.dialects.0.clone()
        } else {
            Vec::new()
        };
        let gate = Gate::new(dialects, Arc::clone(&registry));
        let stops = if reads_blocks {
            request.options.stop.clone()
        } else {
            Vec::new()
        };
        let mut exchange = Self {
            reader: reader(reads_blocks, rules, secrets, registry)?,
            gate,
            stops: Stops::new(stops),
            ids: CallIds::new(setup.id_prefix, setup.number),
            messages: Vec::new(),
            trailing: Vec::new(),
            turn: Turn::default(),
            sent: Vec::new(),
            held: Vec::new(),
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
            counts: Counts::default(),
            scratch: Vec::new(),
            pieces: Vec::new(),
            setup,
        };
        exchange.messages = exchange.prompt();
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

    /// The number of the exchange.
    pub fn number(&self) -> u64 {
        self.ids.exchange()
    }

    fn reads_blocks(&self) -> bool {
        self.setup.request.may_call() && !self.setup.is_native
    }

    /// The conversation for the upstream.
    fn prompt(&mut self) -> Vec<Message> {
        let Setup {
            request,
            tools,
            rules,
            secrets,
            ..
        } = &self.setup;
        if self.setup.is_native {
            return natively(&request.messages, tools);
        }
        let held = Arc::clone(&self.setup.held);
        let runs_dependencies = rules.run_dependencies;
        let held = move |exchange| {
            if runs_dependencies {
                Vec::new()
            } else {
                held.of(exchange)
            }
        };
        let writer = HistoryWriter {
            tools,
            secrets,
            held: &held,
        };
        let mut messages = writer.write(&request.messages);
        if self.reads_blocks() {
            if let Some(text) = instructions::about_tools(tools, rules, secrets) {
                self.injected = text.len() as u64;
                append_to_system(&mut messages, &text);
            }
            if request.choice.kind.is_forced() {
                let note = instructions::must_call(&request.choice, tools, secrets);
                self.trailing.push(Message::text(Role::User, note));
            }
        }
        if !rules.images {
            messages.iter_mut().for_each(without_images);
        }
        history::shaped(messages, rules.system_role, rules.alternate)
    }

    /// Sends calls that have waited for results of this request, and nothing else: then the model is not asked, and the
    /// reply is complete. `false` if there are none.
    pub fn run_dependencies(&mut self, out: &mut Vec<Delta>) -> bool {
        if !self.setup.rules.run_dependencies || !self.reads_blocks() {
            return false;
        }
        let ready = held::ready(&self.setup.request.messages, &self.setup.held);
        let tools = Arc::clone(&self.setup.tools);
        for (exchange, call, input) in ready {
            let Some(gadget) = tools.registered(&call.name) else {
                continue;
            };
            let input = coerce_json(input, Some(gadget.schema()));
            let Ok(input) = gadget.check(input) else {
                continue;
            };
            self.start(out);
            self.ids = CallIds::new(self.setup.id_prefix, exchange);
            let name = gadget.name().to_owned();
            if let Some(tool) = tools.tool(&name) {
                self.send(call.id, &name, tool, input, out);
            }
        }
        if self.sent.is_empty() {
            return false;
        }
        self.finish(StopReason::ToolUse, out);
        true
    }

    /// What the upstream is sent now.
    pub fn request(&self) -> Request {
        let mut messages = self.messages.clone();
        messages.extend(self.trailing.iter().cloned());
        if self.setup.rules.alternate && !self.trailing.is_empty() {
            messages = history::shaped(messages, true, true);
        }
        Request {
            messages: Arc::new(messages),
            iteration: 1 + self.counts.repairs,
            tool_choice: if self.setup.is_native {
                self.native_choice()
            } else {
                ToolChoice::Auto
            },
            ..Request::default()
        }
    }

    fn native_choice(&self) -> ToolChoice {
        match &self.setup.request.choice.kind {
            ToolChoice::Gadget(name) => {
                let name = self.setup.tools.block_name(name).unwrap_or(name);
                ToolChoice::Gadget(name.to_owned())
            }
            other => other.clone(),
        }
    }

    /// The tools that the upstream is offered as its own; none in text.
    pub fn native_tools(&self) -> Option<Vec<GadgetSpec>> {
        (self.setup.is_native && self.setup.request.may_call()).then(|| self.setup.tools.specs())
    }

    /// What has happened so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Whether the client has received a part of its reply.
    pub fn is_started(&self) -> bool {
        self.is_started
    }

    /// An estimate of the tokens that the instructions about tools add to the prompt.
    pub fn injected_tokens(&self) -> u64 {
        self.injected.div_ceil(4)
    }

    /// An estimate of the tokens of the prompt.
    pub fn prompt_tokens(&self) -> u64 {
        TokenEstimate::of(&self.messages).tokens()
    }

    /// Takes a delta of the upstream's reply, and appends what the client receives.
    pub fn push(&mut self, delta: Delta, out: &mut Vec<Delta>) -> Progress {
        if self.is_over {
            return Progress::Done;
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
                let mut read = std::mem::take(&mut self.scratch);
                self.reader.push(delta, &mut read);
                self.read(&mut read, out);
                self.scratch = read;
                self.progress(out)
            }
        }
    }

    /// Whether the reply can end before the upstream's.
    fn progress(&mut self, out: &mut Vec<Delta>) -> Progress {
        let is_enough = !self.setup.request.is_parallel && !self.sent.is_empty();
        if is_enough {
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
            if self.is_enough() {
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
                    let mut pieces = std::mem::take(&mut self.pieces);
                    self.gate.push(delta, &mut pieces);
                    self.take(&mut pieces, out);
                    self.pieces = pieces;
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
        let mut pieces = std::mem::take(&mut self.pieces);
        self.gate.finish(&mut pieces);
        self.take(&mut pieces, out);
        self.pieces = pieces;
        let kept = self.stops.finish();
        self.show(kept, out);
    }

    /// Takes what came through the gate.
    fn take(&mut self, pieces: &mut Vec<Piece>, out: &mut Vec<Delta>) {
        for piece in pieces.drain(..) {
            match piece {
                Piece::Text(text) => {
                    let text = self.stops.push(text);
                    self.show(text, out);
                }
                Piece::Call(call) => {
                    let kept = self.stops.finish();
                    self.show(kept, out);
                    let checked = match call.parameters {
                        Parameters::Parsed(input) => self.checked(&call.gadget_name, input),
                        Parameters::Malformed(problem) => Err(problem),
                    };
                    self.decide(String::new(), &call.gadget_name, checked, out);
                }
            }
        }
    }

    /// Text for the client. That of a repair turn is kept until its end.
    fn show(&mut self, text: String, out: &mut Vec<Delta>) {
        if text.is_empty() {
            return;
        }
        if self.is_repair() {
            self.turn.text.push_str(&text);
            return;
        }
        let text = if self.has_text {
            text
        } else {
            self.blank.push_str(&text);
            if self.blank.trim().is_empty() {
                return;
            }
            self.has_text = true;
            std::mem::take(&mut self.blank)
        };
        if self.setup.request.choice.kind.is_forced()
            && self.sent.is_empty()
            && self.setup.request.may_call()
        {
            // Without a call the reply will be an error, which needs a status.
            self.withheld.push_str(&text);
            return;
        }
        self.start(out);
        out.push(Delta::text(text));
    }

    /// A block of the reply.
    fn block(&mut self, call: &Arc<Call>, out: &mut Vec<Delta>) {
        let id = call.invocation_id.as_str().to_owned();
        let verdict = self.reader.check(call);
        let depends = !call.dependencies.is_empty();
        match verdict {
            Verdict::Valid(input) if !depends => {
                self.decide(id, &call.gadget_name, Ok(input), out);
            }
            Verdict::Invalid(problem) => {
                self.decide(id, &call.gadget_name, Err(problem), out);
            }
            Verdict::Valid(_) | Verdict::NeedsResults => {
                if let Parameters::Parsed(input) = &call.parameters {
                    self.hold(call, input.clone(), out);
                }
            }
        }
    }

    /// Keeps a call that depends on others until their results are there.
    fn hold(&mut self, call: &Call, input: Value, out: &mut Vec<Delta>) {
        let id = call.invocation_id.as_str().to_owned();
        let dependencies = call.dependencies.iter().map(|it| it.as_str().to_owned());
        let dependencies: Vec<String> = dependencies.collect();
        let is_written = |id: &String| {
            self.sent.iter().any(|(_, sent, _)| sent == id)
                || self.held.iter().any(|it| it.id == *id)
        };
        if let Some(missing) = dependencies.iter().find(|id| !is_written(id)) {
            let problem = format!(
                "it depends on {missing}, which no valid call before it in this reply has as its id; write the values themselves"
            );
            self.decide(id, &call.gadget_name, Err(problem), out);
            return;
        }
        let Some(tool) = self.setup.tools.tool(&call.gadget_name) else {
            return;
        };
        self.turn
            .accepted
            .push((id.clone(), call.gadget_name.clone()));
        self.counts.held += 1;
        self.held.push(HeldCall {
            id,
            name: tool.full_name(),
            dependencies,
            input,
        });
    }

    /// A call of the upstream's own interface.
    fn native_call(&mut self, call: NativeCall, out: &mut Vec<Delta>) {
        let NativeCall { id, name, input } = call;
        let checked = match input {
            Ok(input) => self.checked(&name, input),
            Err(json) => Err(format!("the arguments are not valid JSON: {json}")),
        };
        // The upstream's ids mean nothing to the client, and may be empty or repeated.
        let own = if self.setup.is_native {
            id
        } else {
            String::new()
        };
        self.decide(own, &name, checked, out);
    }

    /// Whether the tool takes these parameters.
    fn checked(&self, name: &str, input: Value) -> Result<Value, String> {
        let registry = self.setup.tools.registry();
        match registry.get(name) {
            Some(gadget) => gadget.check(input),
            None => Err(registry.unknown_gadget(name)),
        }
    }

    /// Sends a call to the client, or takes note of what is wrong with it.
    fn decide(
        &mut self,
        id: String,
        name: &str,
        checked: Result<Value, String>,
        out: &mut Vec<Delta>,
    ) {
        if self.is_enough() || !self.setup.request.may_call() {
            return;
        }
        let tools = Arc::clone(&self.setup.tools);
        let checked = checked.and_then(|input| {
            let tool = tools
                .tool(name)
                .ok_or_else(|| tools.registry().unknown_gadget(name))?;
            let choice = &self.setup.request.choice;
            if choice.allows(&tool.full_name()) {
                Ok((tool, input))
            } else {
                Err(format!("this tool cannot be called now: call {choice}"))
            }
        });
        match checked {
            Ok((tool, input)) => self.send(id, name, tool, input, out),
            Err(problem) => {
                self.counts.invalid += 1;
                self.turn.failures.push(Failure {
                    id,
                    name: name.to_owned(),
                    problem,
                });
            }
        }
    }

    fn send(&mut self, id: String, name: &str, tool: &Tool, input: Value, out: &mut Vec<Delta>) {
        self.turn.accepted.push((id.clone(), name.to_owned()));
        let is_same = |(sent, _, params): &(String, _, Value)| *sent == name && *params == input;
        // A model that corrects one call often repeats the others.
        if self.is_repair() && self.sent.iter().any(is_same) {
            return;
        }
        self.start(out);
        if !self.withheld.is_empty() {
            out.push(Delta::text(std::mem::take(&mut self.withheld)));
        }
        out.push(Delta::ToolCall {
            id: self.ids.for_client(&id),
            name: tool.full_name(),
            input: input.clone(),
        });
        self.counts.calls += 1;
        self.sent.push((name.to_owned(), id, input));
    }

    /// The upstream's reply is complete.
    fn end(&mut self, stop_reason: StopReason, out: &mut Vec<Delta>) -> Progress {
        let mut read = std::mem::take(&mut self.scratch);
        let end = Delta::MessageEnd {
            stop_reason: stop_reason.clone(),
            usage: None,
        };
        self.reader.push(end, &mut read);
        let output = self.reader.finish(&mut read);
        // The beginning of a block that was cut off is nothing for the client to see.
        let start = self.setup.secrets.markers.start();
        let begins = |delta: &Delta| matches!(delta, Delta::Text { delta, .. } if delta.trim_start().starts_with(start));
        if let Some(at) = read.iter().position(begins) {
            let rest = read.split_off(at).into_iter();
            read.extend(rest.filter(|delta| !matches!(delta, Delta::Text { .. })));
        }
        // A call that only the end of the reply has completed is judged by how it ended.
        self.read(&mut read, out);
        self.scratch = read;
        self.flush_text(out);
        self.add_usage();
        if self.is_enough() {
            return self.finish(StopReason::ToolUse, out);
        }
        let is_cut = !stop_reason.is_clean();
        if is_cut {
            return self.finish(stop_reason, out);
        }
        if let Some(problem) = self.to_repair() {
            if self.counts.repairs < self.setup.rules.repairs {
                return self.repair(output.message.raw.unwrap_or_default(), &problem);
            }
            let has_text = !self.turn.text.trim().is_empty() || self.has_text;
            let is_demanded = self.setup.request.choice.kind.is_forced();
            if self.sent.is_empty() && (is_demanded || !self.turn.failures.is_empty() || !has_text)
            {
                return self.fail(&problem, out);
            }
        }
        self.finish(stop_reason, out)
    }

    /// What the model has to correct, if anything.
    fn to_repair(&self) -> Option<Problem> {
        let request = &self.setup.request;
        if !request.may_call() {
            return None;
        }
        if !self.turn.failures.is_empty() {
            return Some(Problem::Invalid);
        }
        if !self.sent.is_empty() {
            return None;
        }
        if request.choice.kind.is_forced() {
            return Some(Problem::NotCalled);
        }
        let near_miss = self.turn.near_miss.clone();
        near_miss.map(Problem::NearMiss)
    }

    /// The next request: the reply, and what is wrong with it.
    fn repair(&mut self, raw: String, problem: &Problem) -> Progress {
        self.counts.repairs += 1;
        self.was_near_miss = matches!(problem, Problem::NearMiss(_));
        let turn = std::mem::take(&mut self.turn);
        self.trailing.clear();
        if self.setup.is_native {
            self.repair_natively(raw, turn, problem);
        } else {
            self.messages.push(Message::text(Role::Assistant, raw));
            let text = self.correction(&turn, problem);
            self.messages.push(Message::text(Role::User, text));
        }
        Progress::Again(self.request())
    }

    /// What the model reads about its calls.
    fn correction(&self, turn: &Turn, problem: &Problem) -> String {
        let Setup {
            tools,
            secrets,
            request,
            ..
        } = &self.setup;
        let writer = HistoryWriter {
            tools,
            secrets,
            held: &|_| Vec::new(),
        };
        let mut texts: Vec<String> = Vec::new();
        for (id, name) in &turn.accepted {
            let text = "Accepted. Its result comes later. Do not write it again.";
            texts.push(writer.envelope(id, name, "accepted", text));
        }
        for failure in &turn.failures {
            let Failure { id, name, problem } = failure;
            let id = if id.is_empty() { "call" } else { id };
            let mut text = writer.envelope(id, name, "error", problem);
            if let Some(gadget) = tools.registry().get(name) {
                text.push_str(&correction(gadget, &secrets.markers));
            }
            texts.push(text);
        }
        texts.push(match problem {
            Problem::Invalid => {
                "The calls with errors were not executed. Write them again, whole and corrected, and nothing else.".to_owned()
            }
            Problem::NotCalled => instructions::must_call(&request.choice, tools, secrets),
            Problem::NearMiss(what) => format!(
                "{what}. Nothing was executed. If you meant to call a tool, write the block again, whole; otherwise write your \
                 answer again."
            ),
        });
        texts.join("\n\n")
    }

    fn repair_natively(&mut self, raw: String, turn: Turn, problem: &Problem) {
        let mut content = Vec::new();
        if !raw.is_empty() {
            content.push(Content::Text { text: raw });
        }
        let mut results = Vec::new();
        for (at, call) in turn.native.into_iter().enumerate() {
            let id = if call.id.is_empty() {
                format!("call_{at}")
            } else {
                call.id
            };
            let failure = turn
                .failures
                .iter()
                .find(|it| it.id == id || it.id.is_empty());
            let (text, is_error) = match failure {
                Some(failure) => (failure.problem.clone(), true),
                None => (
                    "Accepted. Its result comes later. Do not call it again.".to_owned(),
                    false,
                ),
            };
            results.push(Content::GadgetResult {
                invocation_id: id.as_str().into(),
                gadget_name: call.name.clone(),
                text,
                is_error,
                sticky: false,
                media: Vec::new(),
            });
            content.push(Content::ToolUse {
                tool_use_id: id,
                name: call.name,
                input: call.input.unwrap_or_else(Value::String),
            });
        }
        if *problem == Problem::NotCalled {
            results.push(Content::Text {
                text: format!("Call {} now.", self.setup.request.choice),
            });
        }
        for (role, content) in [(Role::Assistant, content), (Role::User, results)] {
            if !content.is_empty() {
                self.messages.push(Message {
                    role,
                    content,
                    raw: None,
                });
            }
        }
    }

    /// The client's reply has failed: no call of the model can be sent.
    fn fail(&mut self, problem: &Problem, out: &mut Vec<Delta>) -> Progress {
        let (code, message) = match problem {
            Problem::NotCalled => (
                "tool_choice_not_satisfied",
                format!(
                    "tool_choice not satisfied: the model did not call {}",
                    self.setup.request.choice
                ),
            ),
            Problem::Invalid | Problem::NearMiss(_) => {
                let first = self.turn.failures.first();
                let about = first.map_or_else(
                    || "a block that is not one".to_owned(),
                    |it| format!("{}: {}", it.name, it.problem),
                );
                (
                    "invalid_tool_call",
                    format!(
                        "the model wrote a tool call that is not valid, and did not correct it. {about}"
                    ),
                )
            }
        };
        out.push(Delta::Error {
            error: message,
            code: Some(code.to_owned()),
            kind: ModelErrorKind::Other,
            retry_after_ms: None,
        });
        self.over()
    }

    /// Ends the client's reply.
    fn finish(&mut self, reason: StopReason, out: &mut Vec<Delta>) -> Progress {
        self.start(out);
        if self.is_repair() && self.sent.is_empty() && !self.was_near_miss {
            let text = std::mem::take(&mut self.turn.text);
            if !text.trim().is_empty() {
                out.push(Delta::text(text));
            }
        }
        if !self.withheld.is_empty() {
            // It was cut off before it could call anything.
            out.push(Delta::text(std::mem::take(&mut self.withheld)));
        }
        let sent = |id: &String| self.sent.iter().any(|(_, sent, _)| sent == id);
        let mut waiting: Vec<HeldCall> = std::mem::take(&mut self.held);
        if !waiting
            .iter()
            .any(|call| call.dependencies.iter().any(sent))
        {
            waiting.clear();
        }
        self.setup.held.keep(self.ids.exchange(), waiting);
        let stop_reason = match (reason, self.sent.is_empty()) {
            (StopReason::Stop | StopReason::ToolUse | StopReason::StopSequence, false) => {
                StopReason::ToolUse
            }
            (StopReason::ToolUse, true) => StopReason::Stop,
            (reason, _) => reason,
        };
        let usage = if self.is_counted && self.usage != Usage::default() {
            self.usage
        } else {
            let estimate = Usage::estimate(self.prompt_tokens(), self.written.div_ceil(4));
            if self.usage.input_tokens > 0 {
                Usage {
                    estimated: true,
                    ..self.usage.plus(Usage::estimate(0, 0))
                }
            } else {
                estimate
            }
        };
        out.push(Delta::MessageEnd {
            stop_reason,
            usage: Some(usage),
        });
        self.over()
    }

    /// Adds the tokens of the upstream's reply to those before.
    fn add_usage(&mut self) {
        match self.turn_usage.take() {
            Some(usage) => self.usage = self.usage.plus(usage),
            None => self.is_counted = false,
        }
    }
}

/// Why a reply is not what the client can be given.
#[derive(Clone, Debug, PartialEq)]
enum Problem {
    /// Calls are invalid.
    Invalid,
    /// The client demands a call, and there is none.
    NotCalled,
    /// Something looked like a call, and was none.
    NearMiss(String),
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
    Ok(Reader::new(format, blocks, registry)?.unterminated(Unterminated::Confirm))
}

/// A tag that is removed from the text with its content.
fn stripped(tag: &str) -> Option<CustomBlock> {
    let config = BlockConfig {
        mode: BlockMode::Suppress,
        ..BlockConfig::new(tag)
    };
    CustomBlock::from_parts(config, BlockCode::default())
}

/// The messages for an upstream with tools of its own: the names of tools as it knows them.
fn natively(messages: &[Message], tools: &Toolset) -> Vec<Message> {
    let mut messages = messages.to_vec();
    for message in &mut messages {
        for part in &mut message.content {
            if let Content::ToolUse { name, .. } = part
                && let Some(own) = tools.block_name(name)
            {
                own.clone_into(name);
            }
        }
    }
    messages
}

/// Images become their captions.
fn without_images(message: &mut Message) {
    for part in &mut message.content {
        if let Content::Media(medium) = part {
            *part = Content::Text {
                text: medium.caption(),
            };
        }
    }
}

fn written(delta: &Delta) -> u64 {
    match delta {
        Delta::Text { delta, .. } | Delta::Reasoning { delta, .. } => delta.len() as u64,
        _ => 0,
    }
}
