//! The driver: waits for the model, the gadgets, the clock and the user, and feeds the run with their inputs.
//!
//! This is the only place in the library that waits for several things at once. It waits with the [`Runtime`] of its
//! [`Services`].

mod effects;
mod handle;
mod outside;
mod questions;
mod reply;
mod resumed;
mod subagent;
mod tasks;

use std::collections::{BTreeMap, VecDeque};
use std::future::{Future, pending};
use std::ops::Not as _;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_core::future::BoxFuture;
use gadgetry_proto::convo::OutputStore;
use gadgetry_proto::id::CallId;
use gadgetry_proto::message::Message;
use gadgetry_proto::run::{Command, Input, Misuse, Output, QuestionId, Report, Start, Summary};
use gadgetry_proto::time::Time;
use tokio::sync::mpsc;
use tracing::Instrument as _;

use crate::ask::random_id;
use crate::context::{CallSlot, CancellationToken, ExecutionContext, Host};
use crate::control::{Seen, Watchers};
use crate::journal::{JournalError, Recording, RunMessageContent};
use crate::runtime::Runtime;
use crate::scope::NOTHING;
use crate::services::Services;

pub use crate::observer::Observer;
#[doc(no_inline)]
pub use gadgetry_proto::{
    run::{Code, Run, RunConfig},
    schema::Registry,
};
pub(crate) use subagent::SubagentParent;
pub use subagent::{Subagent, SubagentError};

use handle::RunHandle;
use reply::Reply;
use resumed::Resumed;
use tasks::{Ending, Task, Tasks};

/// Result of a driven run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunResult {
    /// The run's own summary.
    pub summary: Summary,
    /// The conversation with all results. A further run can continue from it.
    pub history: Vec<Message>,
    /// The long results that the conversation refers to: for [`Run::with_outputs`] of a further run.
    pub outputs: OutputStore,
    /// Fault for which the driver stopped the run, if it did: a hook panicked or gave an impossible answer.
    pub fault: Option<String>,
}

/// Drives `run` to its end with `services`; `commands` come from the user.
///
/// Each gadget and each question is a separate task, so gadgets, questions and the reply never wait for each other. When a gadget
/// times out, or the run is cancelled, its token is cancelled first; its future is dropped after the [grace
/// period](Services::grace), or at once if it has never taken its token.
///
/// The run must [ask](Services::asks) the questions that the hooks and the user decide. A question without either is answered
/// with [`Decision::Proceed`](gadgetry_proto::run::Decision::Proceed).
///
/// A run that was [loaded](Run::load) with [work in flight](Run::pending) continues by itself: see
/// [`Input::Interrupted`]. A caller that knows the outcome of that work feeds it to the run before it calls `drive`.
///
/// With the default [runtime](Services::runtime) it needs a tokio runtime with time enabled, and with I/O if a gadget or
/// model does I/O.
///
/// Cancel safety: dropping the future drops the reply and every gadget; `observer` has seen everything until then.
///
/// ```
/// use std::sync::Arc;
/// use gadgetry::driver::{Registry, Run, RunConfig};
/// use gadgetry::{Event, ScriptedModel, Services, Toolbox, drive};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let model: ScriptedModel = r#"{"text": "Hello!"}"#.parse()?;
/// let run = Run::ask(&RunConfig::default().plan(Registry::default())?, "Hi");
/// let services = Services::new(Arc::new(model), Toolbox::default());
/// let (_commands, receiver) = tokio::sync::mpsc::channel(1);
/// let ended = drive(run, &services, receiver, &mut |_: &Event| {}).await;
/// assert_eq!(ended.summary.answer, "Hello!");
/// # Ok(())
/// # }
/// ```
pub async fn drive(
    run: Run,
    services: &Services,
    commands: mpsc::Receiver<Command>,
    observer: &mut dyn Observer,
) -> RunResult {
    drive_recorded(run, services, None, commands, observer).await
}

/// [`drive`] with a journal: every input is recorded before the run handles it, and kept before an effect.
pub(crate) async fn drive_recorded(
    run: Run,
    services: &Services,
    recording: Option<Recording>,
    commands: mpsc::Receiver<Command>,
    observer: &mut dyn Observer,
) -> RunResult {
    let interrupted = !run.pending().is_empty();
    // Boxed, so that the future of a gadget that drives a subagent stays small.
    let mut driver = Box::new(Driver::new(
        run,
        services.clone(),
        recording,
        commands,
        observer,
    ));
    let info = driver.handle.run.info();
    let span = tracing::info_span!(
        "run",
        run = &*info.id,
        agent = info.agent.as_deref(),
        model = info.single_call.not().then_some(&*info.model),
    );
    let summary = driver.finish(interrupted).instrument(span).await;
    debug_assert!(driver.running.is_empty(), "a run ends after its gadgets");
    let Driver { run, fault, .. } = *driver;
    RunResult::of(run, summary, fault)
}

impl RunResult {
    /// The result of a run that has ended.
    pub(crate) fn of(run: Run, summary: Summary, fault: Option<String>) -> Self {
        let (history, outputs) = run.into_history();
        Self {
            summary,
            history,
            outputs,
            fault,
        }
    }
}

struct Driver<'a> {
    run: Run,
    handle: Arc<RunHandle>,
    runtime: Arc<dyn Runtime>,
    /// When the driver began, on the clock of the runtime.
    began: Instant,
    /// The time of the run at that moment: a run that was saved continues from there.
    since: Time,
    reply: Reply,
    /// Number of requests that were sent.
    requests: u32,
    /// The iteration of the last request.
    iteration: u32,
    /// Number of replies that were read before the run was resumed: as far as it is known before the first request, and exactly
    /// from then on.
    resumed_after: Resumed,
    tasks: Tasks,
    running: BTreeMap<CallId, Running>,
    questions: BTreeMap<QuestionId, Task>,
    /// The open question for the user's next message.
    user_input: Option<QuestionId>,
    reports: mpsc::UnboundedReceiver<(CallId, Report)>,
    commands: Option<mpsc::Receiver<Command>>,
    /// Waits for the token of the scope; `None` once it was cancelled.
    cancelled: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// The timer of the last wait with its deadline.
    timer: Option<(Instant, BoxFuture<'static, ()>)>,
    /// Inputs that have arrived and that the run has not handled yet.
    queue: VecDeque<Input>,
    /// When the next input arrived.
    came: Instant,
    /// Spending of other runs that the run knows of.
    known_external: f64,
    fault: Option<String>,
    /// The journal of the run, if it is durable.
    recording: Option<Recording>,
    /// Effects that a durable run carries out once it is kept.
    effects: Vec<Output>,
    /// True if the journal has failed: no effect of the run may be carried out any more.
    is_unrecorded: bool,
    /// The hooks, as long as they do not panic.
    watchers: Watchers,
    /// The observer, which sees everything after the hooks.
    observer: &'a mut dyn Observer,
}

/// A gadget that runs.
struct Running {
    context: ExecutionContext,
    /// Ends the task when the run is dropped.
    _task: Task,
}

impl<'a> Driver<'a> {
    fn new(
        run: Run,
        mut services: Services,
        recording: Option<Recording>,
        commands: mpsc::Receiver<Command>,
        observer: &'a mut dyn Observer,
    ) -> Self {
        let run_id = &mut services.scope.run_id;
        run_id.get_or_insert_with(|| random_id().into());
        let runtime = Arc::clone(&services.runtime);
        let cancelled = services.scope.cancellation.clone().cancelled_owned();
        let (sender, reports) = mpsc::unbounded_channel();
        let watchers = Watchers::of(&services.hooks);
        let info = run.plan().info().cloned();
        let handle = RunHandle::new(services, info, sender, recording.is_some());
        // A run that was saved has spent something. If its parent is as durable, it has entered that.
        if recording.is_some() && handle.services.scope.depth > 0 {
            handle.share.learn(run.total_cost());
        } else {
            handle.share.spend(run.total_cost());
        }
        let path = Arc::clone(&handle.services.scope.path);
        let tasks = Tasks::new(Arc::clone(&runtime), path, Arc::clone(handle.run.info()));
        let began = runtime.now();
        Self {
            handle: Arc::new(handle),
            runtime,
            began,
            since: run.now(),
            reply: Reply::default(),
            requests: 0,
            iteration: run.iterations(),
            resumed_after: Resumed::of(&run, recording.as_ref()),
            tasks,
            running: BTreeMap::new(),
            questions: BTreeMap::new(),
            user_input: None,
            reports,
            commands: Some(commands),
            cancelled: Some(Box::pin(cancelled)),
            timer: None,
            queue: VecDeque::new(),
            came: began,
            known_external: 0.0,
            fault: None,
            recording,
            effects: Vec::new(),
            is_unrecorded: false,
            run,
            watchers,
            observer,
        }
    }

    /// Drives the run to its end.
    async fn finish(&mut self, interrupted: bool) -> Summary {
        // Before anything else: what the scope has spent counts for the very first request.
        if let Some(input) = self.external_spend() {
            self.feed(input);
        }
        if interrupted {
            self.feed(Input::Interrupted);
        }
        loop {
            match self.drain().await {
                Err(summary) => return summary,
                Ok(until) => {
                    let input = self.next(until).await;
                    self.feed(input);
                }
            }
        }
    }

    fn start(&mut self, start: Start) {
        let trace = self
            .watchers
            .trace_context(&self.handle.run, Some(start.id));
        let services = &self.handle.services;
        let gadget = match services.toolbox.get(&start.gadget_name) {
            None => Err(format!("Gadget '{}' is not available", start.gadget_name)),
            Some(gadget) => match services.denial(&**gadget) {
                Some(denial) => Err(denial),
                None => Ok(Arc::clone(gadget)),
            },
        };
        let host: Arc<dyn Host> = Arc::<RunHandle>::clone(&self.handle);
        let binding = services.approvals.as_ref();
        let binding = binding.map(|it| {
            let run = self.handle.run.clone();
            it.bind(run, Arc::clone(&services.toolbox), start.clone())
        });
        let context = ExecutionContext::from_parts(
            start.gadget_name,
            start.invocation_id,
            start.dependencies,
            CancellationToken::new(),
            Some(CallSlot {
                answered: start.answered,
                subagent_costs: start.subagent_costs,
                trace,
                ..CallSlot::new(host, start.id, self.iteration)
            }),
        );
        // Nearly always the last owner, which takes the value without a copy.
        let parameters = Arc::unwrap_or_clone(start.parameters);
        let task = self
            .tasks
            .gadget(start.id, gadget, parameters, context.clone(), binding);
        let running = Running {
            context,
            _task: task,
        };
        self.running.insert(start.id, running);
    }

    /// Waits for the next input.
    async fn next(&mut self, until: Option<Time>) -> Input {
        let input = loop {
            if let Some(input) = self.queue.pop_front() {
                break input;
            }
            if let Some(input) = self.wait(until).await {
                break input;
            }
        };
        // Whatever may lead to a further request comes after the spending of others, so that the budget is right. Deltas
        // and reports do not lead to one, and there are too many of them.
        if matches!(input, Input::Delta(_) | Input::Report(..)) {
            return input;
        }
        match self.external_spend() {
            Some(first) => {
                self.queue.push_front(input);
                first
            }
            None => input,
        }
    }

    /// Waits for the first input.
    ///
    /// The order counts when several are ready. Cancellation comes first. Results come before more of the reply, so that
    /// dependents start early, and before the clock, so that a gadget that was done in time has not timed out. Commands
    /// come before reports and the reply, which may be ready all the time.
    async fn wait(&mut self, until: Option<Time>) -> Option<Input> {
        let wake = until.map(|until| self.began + Duration::from_millis(until.since(self.since)));
        let input = tokio::select! {
            biased;
            () = token_cancelled(&mut self.cancelled) => Some(Input::Command(Command::Cancel)),
            ending = self.tasks.next() => return self.end(ending),
            command = next_command(&mut self.commands) => Some(Input::Command(command)),
            message = next_message(&mut self.recording) => self.message(message),
            Some((id, report)) = self.reports.recv() => self.report(id, report),
            input = self.reply.next() => Some(input),
            () = wake_at(&mut self.timer, wake, &*self.runtime) => Some(Input::Tick),
        };
        self.came = self.runtime.now();
        input
    }

    /// The input for a report, unless its call is over. Approvals can be about calls that have not started.
    fn report(&self, id: CallId, report: Report) -> Option<Input> {
        let is_approval = matches!(
            report,
            Report::ApprovalRequired(_) | Report::ApprovalAnswered { .. }
        );
        let matters = is_approval || self.running.contains_key(&id);
        matters.then_some(Input::Report(id, report))
    }

    /// Takes the reports that were sent before the end of a task, so that they are handled before it. This includes reports of
    /// other tasks.
    fn take_reports(&mut self) {
        // The number is taken once, because those may report faster than this loop reads.
        for _ in 0..self.reports.len() {
            let Ok((id, report)) = self.reports.try_recv() else {
                break;
            };
            self.queue.extend(self.report(id, report));
        }
    }

    fn end(&mut self, ending: Ending) -> Option<Input> {
        self.came = self.runtime.now();
        match ending {
            Ending::Done(id, outcome, at) => {
                self.came = at;
                self.take_reports();
                self.queue.push_back(Input::Done(id, outcome));
                None
            }
            Ending::Decided(id, decision) => {
                self.take_reports();
                self.queue.push_back(Input::Decision(id, decision));
                None
            }
            Ending::Fault(message) => {
                self.stop(message);
                None
            }
        }
    }

    /// Cancels the run because of a broken hook: a call that it might have refused must not run.
    fn stop(&mut self, message: String) {
        tracing::error!("{message}: the run is stopped");
        self.fault.get_or_insert(message);
        self.queue.push_front(Input::Command(Command::Cancel));
    }

    /// Stops the run, because it can no longer be kept. It can be resumed from the kept part.
    fn lose_journal(&mut self, error: &JournalError) {
        self.recording = None;
        self.is_unrecorded = true;
        self.stop(error.to_string());
    }

    /// Returns the input about the spending of other runs in the scope, if that has changed.
    fn external_spend(&mut self) -> Option<Input> {
        let external = self.handle.share.external_spend();
        let changed = (external - self.known_external).abs() > NOTHING;
        changed.then(|| {
            self.known_external = external;
            Input::ExternalSpend(external)
        })
    }

    /// Feeds the run with `input`.
    fn feed(&mut self, input: Input) {
        let elapsed = self.came.saturating_duration_since(self.began).as_millis();
        let elapsed = u64::try_from(elapsed).unwrap_or(u64::MAX);
        // A gadget may have been done before an input that was handled already. The run's time never goes back.
        let now = Time(self.since.0.saturating_add(elapsed)).max(self.run.now());
        if let Some(recording) = &mut self.recording {
            recording.record(now, &input);
        }
        self.watchers
            .show(&self.handle.run, Seen::Input(now, &input));
        self.observer.input(now, &input);
        let from_subagent = matches!(input, Input::Report(_, Report::Child { .. }));
        let done = if let Input::Done(id, _) = &input {
            self.running.remove(id)
        } else {
            None
        };
        if let Input::Decision(id, _) = &input {
            // From outside, perhaps, while it was also asked here.
            self.questions.remove(id);
        }
        if matches!(input, Input::Command(Command::Inject(_)))
            && let Some(question) = self.user_input.take()
        {
            // The user has answered this way. Withdrawn, so that other questions get their turn.
            self.questions.remove(&question);
        }
        let before = self.run.total_cost();
        match self.run.handle(now, input) {
            Ok(()) => {}
            // The run would wait for a better decision forever.
            Err(misuse @ Misuse::WrongDecision(_)) => self.stop(format!("a hook: {misuse}")),
            Err(misuse) => debug_assert!(false, "{misuse}"),
        }
        let cost = self.run.total_cost() - before;
        let share = &self.handle.share;
        if from_subagent {
            // The subagent has entered it into the ledger itself.
            share.learn(cost);
        } else {
            // What the gadget has reported while it ran is in the ledger already.
            let entered = done.map_or(0.0, |running| running.context.reported_cost());
            share.spend(cost - entered);
        }
    }
}

async fn token_cancelled(cancelled: &mut Option<Pin<Box<dyn Future<Output = ()> + Send>>>) {
    match cancelled {
        Some(token) => token.await,
        None => pending().await,
    }
    *cancelled = None;
}

async fn next_command(commands: &mut Option<mpsc::Receiver<Command>>) -> Command {
    if let Some(receiver) = commands {
        if let Some(command) = receiver.recv().await {
            return command;
        }
        *commands = None;
    }
    pending().await
}

async fn next_message(recording: &mut Option<Recording>) -> Option<RunMessageContent> {
    match recording {
        Some(recording) => recording.next_message().await,
        None => pending().await,
    }
}

/// Waits until `at`. The timer is kept between waits, because there is a wait for every delta and the deadline of a
/// running gadget stays the same.
async fn wake_at(
    timer: &mut Option<(Instant, BoxFuture<'static, ()>)>,
    at: Option<Instant>,
    runtime: &dyn Runtime,
) {
    let Some(at) = at else {
        return pending().await;
    };
    let (_, sleep) = match timer {
        Some(kept) if kept.0 == at => kept,
        _ => timer.insert((at, runtime.sleep_until(at))),
    };
    sleep.await;
    *timer = None;
}
