//! The agent loop as a state machine: the product's one cycle, in one place.
//!
//! ```text
//! Send ─► Delta… ─► ModelClosed ─► (Start ─► Done)… ─► Send …  until the model calls nothing more
//! ```
//!
//! A driver feeds [`Input`]s with [`Run::handle`] and after each one drains [`Run::poll`] until it says
//! [`Output::Wait`] or [`Output::Finished`]. Gadgets start while the reply still streams. The same inputs at the same
//! times give the same outputs, on any machine and after any [`Run::save`] and [`Run::load`].
//!
//! ```
//! use gadgetry_proto::delta::{Delta, StopReason};
//! use gadgetry_proto::run::{Close, Input, Output, Run, RunSpec};
//! use gadgetry_proto::time::Time;
//!
//! let mut run = Run::ask(RunSpec::default(), "Hello")?;
//! let mut drain = |run: &mut Run| loop {
//!     match run.poll() {
//!         output @ (Output::Wait(_) | Output::Finished(_)) => return output,
//!         _ => {}
//!     }
//! };
//! drain(&mut run);
//! run.handle(Time(5), Input::Delta(Delta::text("Hi there.")))?;
//! run.handle(Time(6), Input::Delta(Delta::MessageEnd { stop_reason: StopReason::Stop, usage: None }))?;
//! run.handle(Time(6), Input::ModelClosed(Close::Ended))?;
//! let Output::Finished(summary) = drain(&mut run) else { unreachable!("the model called nothing") };
//! assert_eq!(summary.answer, "Hi there.");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod calls;
mod caps;
mod compact;
mod decide;
mod dialects;
mod execute;
mod interceptor;
mod interrupt;
mod io;
mod iteration;
mod model_call;
mod native;
mod numbers;
mod prepare;
mod question;
mod reading;
mod references;
mod report;
mod results;
mod retry;
mod spec;
mod state;
mod trailing;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde_json::Value;

use crate::accumulate::Accumulator;
use crate::block::Markers;
use crate::call::amount;
use crate::convo::History;
use crate::convo::OutputStore;
use crate::convo::TokenEstimate;
use crate::convo::neutralise;
use crate::convo::viewer;
use crate::delta::Delta;
use crate::event::{Event, EventKind};
use crate::message::{Content, Message, Role, ToolChoice};
use crate::prompt::CustomBlockDoc;
use crate::prompt::custom_block_listing;
use crate::reply::Format;
use crate::reply::ReplyStage;
use crate::sched::Scheduler;
use crate::time::Time;
use crate::transform::Compose;
use crate::transform::DeltaTransform;
use crate::transform::compose;

pub use interceptor::Interceptor;
pub use interrupt::PendingWork;
pub use io::{Close, Command, Input, Misuse, Output, Report, Start, Summary};
pub use question::{AboutCall, Asks, Decision, Question, QuestionId, QuestionKind};
pub use retry::Retry;
pub use spec::{OnUnmet, RunSpec, SpecError, TextOnly, Tools};
pub use state::Snapshot;
pub use trailing::{HintTiming, MakeTrailing, Standing, Trailing, iteration_hint, parallel_hint};

use calls::calls_per_reply;
use caps::Used;
use numbers::CallNumbers;
use state::{Phase, Seen, State};

/// A run of an agent. See the [module](self).
pub struct Run {
    spec: Arc<RunSpec>,
    /// Whether the run answers calls of the viewer itself.
    has_viewer: bool,
    stage: ReplyStage,
    /// Those of the current reply, from its first delta on.
    transforms: Option<Compose>,
    state: State,
    /// Between stages; empty between inputs.
    scanned: Vec<Delta>,
    transformed: Vec<Delta>,
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run")
            .field("spec", &self.spec)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl Run {
    /// A run about one message of the user. Fails if the tags, the viewer or the tool choice of `spec` cannot be used.
    pub fn ask(spec: RunSpec, prompt: &str) -> Result<Self, SpecError> {
        Self::new(spec, vec![Message::text(Role::User, prompt)])
    }

    /// A run that goes on from a conversation. Its first request is ready at time 0.
    ///
    /// Markers in the user's texts are made unrecognisable. Fails as [`Run::ask`] does.
    pub fn new(mut spec: RunSpec, conversation: Vec<Message>) -> Result<Self, SpecError> {
        let has_viewer = add_viewer(&mut spec)?;
        name_choice(&mut spec)?;
        let history = opening(&spec, conversation);
        let tokens = TokenEstimate::of(history.messages());
        let mut schedule = spec.schedule.clone();
        schedule.max_per_reply = Some(calls_per_reply(&spec));
        let state = State {
            now: Time::default(),
            begun: false,
            seq: 0,
            iteration: 0,
            phase: Phase::Working,
            history,
            accumulator: Accumulator::default(),
            raw: String::new(),
            model_error: None,
            attempt: 0,
            instead: None,
            sent: false,
            acted_on: false,
            seen: Seen::default(),
            refusal: None,
            cut: None,
            scheduler: Scheduler::new(schedule),
            numbers: CallNumbers::default(),
            calls: Vec::new(),
            deadlines: BTreeSet::new(),
            cancelled: BTreeMap::new(),
            results: BTreeMap::new(),
            tokens,
            summary_plan: None,
            summary_error: None,
            overflowed: false,
            compact_now: false,
            stored: OutputStore::default(),
            notes: Vec::new(),
            dialect_calls: 0,
            promised: false,
            reminded: false,
            has_called: false,
            injected: Vec::new(),
            completed: None,
            stopped: None,
            calls_before: None,
            appended: Vec::new(),
            questions: BTreeMap::new(),
            next_question: 0,
            blocked: None,
            total_cost: 0.0,
            used: Used::default(),
            unpriced: false,
            elsewhere: 0.0,
            answer: String::new(),
            outputs: VecDeque::new(),
            summary: None,
        };
        let mut run = Self::with_state(spec, has_viewer, state)?;
        run.next_reply();
        Ok(run)
    }

    fn with_state(spec: RunSpec, has_viewer: bool, state: State) -> Result<Self, SpecError> {
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
        let spec = Arc::new(spec);
        Ok(Self {
            spec,
            has_viewer,
            stage,
            transforms: None,
            state,
            scanned: Vec::new(),
            transformed: Vec::new(),
        })
    }

    /// Everything that [`Run::load`] needs to go on, besides the [`RunSpec`]. Possible after any input.
    pub fn save(&self) -> Snapshot {
        Snapshot {
            state: self.state.clone(),
            scanner: self.stage.state().clone(),
            transforms: self
                .transforms
                .as_ref()
                .map_or(Value::Null, DeltaTransform::save),
        }
    }

    /// Continues where a run of the same `spec` was saved. Fails as [`Run::ask`] does.
    ///
    /// If work was in flight ([`Run::pending`]) that no driver will finish, send [`Input::Interrupted`] first.
    pub fn load(mut spec: RunSpec, snapshot: Snapshot) -> Result<Self, SpecError> {
        let has_viewer = add_viewer(&mut spec)?;
        name_choice(&mut spec)?;
        let mut run = Self::with_state(spec, has_viewer, snapshot.state)?;
        run.stage.restore(snapshot.scanner);
        if snapshot.transforms != Value::Null {
            run.transforms().load(&snapshot.transforms);
        }
        Ok(run)
    }

    /// The same run, whose viewer also finds `outputs`: those of the run that it continues.
    #[must_use]
    pub fn with_outputs(mut self, outputs: OutputStore) -> Self {
        self.state.stored = outputs;
        self
    }

    /// The long results that the viewer can show.
    pub fn outputs(&self) -> &OutputStore {
        &self.state.stored
    }

    /// The markers of the blocks in its conversation.
    pub fn markers(&self) -> &Markers {
        &self.spec.markers
    }

    /// The conversation so far, without the reply that is being read.
    pub fn history(&self) -> &[Message] {
        self.state.history.messages()
    }

    /// The conversation and the [outputs](Run::outputs), to keep. They are not copied unless a request still holds them.
    pub fn into_history(self) -> (Vec<Message>, OutputStore) {
        (self.state.history.into_messages(), self.state.stored)
    }

    /// What the run has cost so far, in US dollars, its subagents included, as far as it is known.
    pub fn total_cost(&self) -> f64 {
        self.state.total_cost
    }

    /// The time of the last input; 0 before the first.
    pub fn now(&self) -> Time {
        self.state.now
    }

    /// Takes an input at `now`. Time that goes back counts as standing still.
    ///
    /// Afterwards drain [`Run::poll`]. An error is a mistake of the driver and changes nothing; whatever a model,
    /// a gadget or a user says is never an error. After the run has finished, every input is ignored.
    pub fn handle(&mut self, now: Time, input: Input) -> Result<(), Misuse> {
        if self.state.phase == Phase::Finished {
            return Ok(());
        }
        self.check(&input)?;
        self.state.now = self.state.now.max(now);
        let first = !std::mem::replace(&mut self.state.begun, true);
        // A result that has come is not too late, whatever the clock says.
        if !matches!(input, Input::Done(..)) {
            self.expire();
        }
        match input {
            Input::Delta(delta) if self.state.phase == Phase::Summarising => {
                self.read_summary(delta);
            }
            Input::ModelClosed(close) if self.state.phase == Phase::Summarising => {
                self.close_summary(close);
            }
            Input::Delta(delta) => self.read(delta),
            Input::ModelClosed(close) => self.close_reply(close),
            Input::Done(id, outcome) => {
                self.done(id, outcome);
                self.expire();
            }
            Input::Command(Command::Cancel) => self.cancel(),
            Input::Command(Command::Inject(text)) => self.inject(text),
            Input::Command(Command::Compact) => self.state.compact_now = true,
            Input::Decision(id, decision) => self.decide(id, decision),
            Input::Report(id, report) => self.report(id, report),
            Input::RateLimited(delay_ms) => self.tell(EventKind::RateLimited { delay_ms }),
            Input::SpentElsewhere(dollars) => {
                self.state.elsewhere = amount(dollars);
                if first {
                    self.call_back();
                }
            }
            Input::Interrupted => self.interrupted(),
            Input::Tick => {}
        }
        self.advance();
        Ok(())
    }

    fn check(&self, input: &Input) -> Result<(), Misuse> {
        match input {
            Input::Delta(_) | Input::ModelClosed(_)
                if !matches!(self.state.phase, Phase::Reading | Phase::Summarising) =>
            {
                Err(Misuse::NoReply)
            }
            Input::Done(id, _) if !self.is_expected(*id) => Err(Misuse::NotRunning(*id)),
            Input::Decision(id, decision) => match self.state.questions.get(id) {
                Some(open) if !open.pending.admits(decision) => Err(Misuse::WrongDecision(*id)),
                Some(_) | None => Ok(()),
            },
            Input::Delta(_)
            | Input::ModelClosed(_)
            | Input::Done(..)
            | Input::Command(_)
            | Input::Report(..)
            | Input::RateLimited(_)
            | Input::SpentElsewhere(_)
            | Input::Interrupted
            | Input::Tick => Ok(()),
        }
    }

    /// What to do next. Drain it until [`Output::Wait`] or [`Output::Finished`].
    pub fn poll(&mut self) -> Output {
        if let Some(output) = self.state.outputs.pop_front() {
            return output;
        }
        match &self.state.summary {
            Some(summary) => Output::Finished(summary.clone()),
            None => Output::Wait(self.alarm()),
        }
    }

    /// When something happens if nothing else does.
    fn alarm(&self) -> Option<Time> {
        let deadline = self.state.deadlines.first().map(|(deadline, _)| *deadline);
        match self.state.phase {
            Phase::Backoff(until) => Some(deadline.map_or(until, |deadline| deadline.min(until))),
            Phase::Reading
            | Phase::Summarising
            | Phase::Working
            | Phase::Asking
            | Phase::Settling(_)
            | Phase::Finished => deadline,
        }
    }

    /// The transforms of the current reply.
    fn transforms(&mut self) -> &mut Compose {
        let make = || compose(self.spec.transforms.iter().map(|make| make()).collect());
        self.transforms.get_or_insert_with(make)
    }

    fn put(&mut self, output: Output) {
        self.state.outputs.push_back(output);
    }

    fn tell(&mut self, kind: EventKind) {
        let event = Event::new(self.state.seq, self.state.now, kind);
        self.state.seq += 1;
        self.put(Output::Event(event));
    }
}

/// Adds the viewer's description where outputs are limited and there is a gadget to have them.
fn add_viewer(spec: &mut RunSpec) -> Result<bool, SpecError> {
    if spec.output_limit.is_none() || spec.registry.is_empty() {
        return Ok(false);
    }
    let registry = Arc::make_mut(&mut spec.registry);
    registry.add(viewer::spec()).map_err(SpecError::Viewer)?;
    Ok(true)
}

/// Gives the gadget that the model must call the name under which the provider knows it.
fn name_choice(spec: &mut RunSpec) -> Result<(), SpecError> {
    if let ToolChoice::Gadget(name) = &mut spec.tool_choice {
        let gadget = spec.registry.get(name);
        let gadget = gadget.ok_or_else(|| SpecError::ToolChoice(name.clone()))?;
        gadget.name().clone_into(name);
    }
    Ok(())
}

/// The system message and the conversation as the model first sees them.
fn opening(spec: &RunSpec, mut conversation: Vec<Message>) -> History {
    for message in conversation
        .iter_mut()
        .filter(|message| message.role == Role::User)
    {
        for content in &mut message.content {
            if let Content::Text { text } = content {
                *text = neutralise(text, &spec.markers).into_owned();
            }
        }
    }
    if let Some(system) = &spec.system {
        conversation.insert(0, Message::text(Role::System, system));
    }
    let mut history = History::new(conversation);
    if spec.tools.reads_blocks() {
        let (registry, markers) = (&spec.registry, &spec.markers);
        let gadgets = spec
            .prompt
            .render_registry(registry, markers, spec.anchoring);
        history.append_to_system(&gadgets.unwrap_or_default());
    }
    let blocks = spec.custom_blocks.iter().map(|block| CustomBlockDoc {
        tag: block.xml_tag(),
        description: block.description.as_deref(),
        instructions: block.instructions.as_deref(),
    });
    history.append_to_system(&custom_block_listing(blocks).unwrap_or_default());
    history
}
