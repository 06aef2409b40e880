//! The driver: it waits for the model, the gadgets, the clock and the user, and tells the run what happened.
//!
//! This is the only place of the library that waits for several things at once.

mod reply;
mod tasks;

use std::collections::{BTreeMap, VecDeque};
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use gadgetry_proto::convo::OutputStore;
use gadgetry_proto::event::Event;
use gadgetry_proto::id::CallId;
use gadgetry_proto::message::{Message, Request};
use gadgetry_proto::run::{
    Command, Decision, Input, Misuse, Output, Question, QuestionKind, Report, Run, Start, Summary,
};
use gadgetry_proto::time::Time;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep_until};

use crate::context::{CancellationToken, ExecutionContext, Host, Invocation, Seat};
use crate::family::{NOTHING, Share};
use crate::human::ask_in_turn;
use crate::services::Services;

use reply::Reply;
use tasks::{Ending, decide, execute};

/// Watches a run.
pub trait Observer: Send {
    /// Something happened.
    fn event(&mut self, event: &Event);

    /// The run is about to be told this. The inputs with their times are the log from which it can be replayed.
    fn input(&mut self, time: Time, input: &Input) {
        let _ = (time, input);
    }

    /// This request goes to the model, right after its event. Those of subagents are not told here.
    fn request(&mut self, request: &Request) {
        let _ = request;
    }
}

impl<F: FnMut(&Event) + Send> Observer for F {
    fn event(&mut self, event: &Event) {
        self(event);
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Ended {
    /// What the run itself says about it.
    pub summary: Summary,
    /// The conversation, results included: what a further run can go on from.
    pub history: Vec<Message>,
    /// The long results that the conversation names: for [`Run::with_outputs`] of a further run.
    pub outputs: OutputStore,
    /// Why the driver stopped the run, if it did: a controller failed, in these words.
    pub fault: Option<String>,
}

/// Runs `run` to its end with `services`; `commands` come from the user.
///
/// Each gadget runs as a task of its own, so gadgets and the reading of the reply never wait for each other, and so does
/// each decision. When a gadget's time is up, or the run is cancelled, its token is cancelled first; its future is dropped
/// after the [grace period](Services::grace), or at once if it has never taken its token.
///
/// The run has to [ask](Services::asks) what controller and human are there for. A question that nobody is there for is
/// answered with [`Decision::Proceed`].
///
/// A run that was [loaded](Run::load) with [work in flight](Run::pending) continues by itself: see
/// [`Input::Interrupted`]. A caller that knows what became of that work tells the run before it calls `drive`.
///
/// Needs a tokio runtime with time enabled, and with I/O if a gadget or model wants it.
///
/// Cancel safety: dropping the future drops the reply and every gadget; what had happened was told to `observer`.
///
/// ```
/// use std::sync::Arc;
/// use gadgetry::proto::event::Event;
/// use gadgetry::proto::run::{Run, RunSpec};
/// use gadgetry::{ScriptedModel, Services, Toolbox, drive};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let model: ScriptedModel = r#"{"text": "Hello!"}"#.parse()?;
/// let run = Run::ask(RunSpec::default(), "Hi")?;
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
) -> Ended {
    // Boxed, so that the future of a gadget that drives a subagent stays small.
    let interrupted = !run.pending().is_empty();
    let mut driver = Box::new(Driver::new(run, services.clone(), commands, observer));
    // What the family has spent before counts for the very first request.
    if let Some(input) = driver.spent_elsewhere() {
        driver.tell(input);
    }
    if interrupted {
        driver.tell(Input::Interrupted);
    }
    let summary = loop {
        match driver.drain() {
            Err(summary) => break summary,
            Ok(until) => {
                let input = driver.next(until).await;
                driver.tell(input);
            }
        }
    };
    debug_assert!(driver.running.is_empty(), "a run ends after its gadgets");
    let Driver { run, fault, .. } = *driver;
    let (history, outputs) = run.into_history();
    Ended {
        summary,
        history,
        outputs,
        fault,
    }
}

struct Driver<'a> {
    run: Run,
    host: Arc<Host>,
    began: Instant,
    /// The time of the run when the driver began: a run that was saved goes on from there.
    since: Time,
    /// The number of the last request.
    iteration: u32,
    reply: Reply,
    tasks: JoinSet<Ending>,
    running: BTreeMap<CallId, ExecutionContext>,
    reports: mpsc::UnboundedReceiver<(CallId, Report)>,
    commands: Option<mpsc::Receiver<Command>>,
    /// The end of the token of the family, until it has come.
    cancelled: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// The person that is asked what the user says next.
    asked: Option<AbortHandle>,
    /// Inputs that have come and were not told yet.
    queue: VecDeque<Input>,
    /// When what the run is told next came. A gadget that was done in time is so, whenever the driver is polled.
    came: Instant,
    /// What the run knows of the spending of others.
    elsewhere: f64,
    fault: Option<String>,
    observer: &'a mut dyn Observer,
}

impl<'a> Driver<'a> {
    fn new(
        run: Run,
        services: Services,
        commands: mpsc::Receiver<Command>,
        observer: &'a mut dyn Observer,
    ) -> Self {
        let (sender, reports) = mpsc::unbounded_channel();
        let cancelled = services.family.cancellation.clone().cancelled_owned();
        let share = Share::of(&services.family);
        // A run that was saved has spent something.
        share.spend(run.total_cost());
        let began = Instant::now();
        Self {
            host: Arc::new(Host {
                services,
                share,
                reports: sender,
            }),
            began,
            since: run.now(),
            iteration: 0,
            reply: Reply::default(),
            tasks: JoinSet::new(),
            running: BTreeMap::new(),
            reports,
            commands: Some(commands),
            cancelled: Some(Box::pin(cancelled)),
            asked: None,
            queue: VecDeque::new(),
            came: began,
            elsewhere: 0.0,
            fault: None,
            run,
            observer,
        }
    }

    /// Does what the run wants. Gives when to wake it, or how it ended.
    fn drain(&mut self) -> Result<Option<Time>, Summary> {
        loop {
            match self.run.poll() {
                Output::Send(request) => {
                    self.iteration = request.iteration;
                    self.observer.request(&request);
                    self.reply.send(&self.host.services, request);
                }
                Output::CloseModel => self.reply.close(),
                Output::Start(start) => self.start(start),
                Output::Cancel(id) => {
                    if let Some(context) = self.running.get(&id) {
                        context.token().cancel();
                    }
                }
                Output::Ask(question) => self.ask(question),
                Output::Event(event) => self.observer.event(&event),
                Output::Wait(until) => return Ok(until),
                Output::Finished(summary) => return Err(summary),
            }
        }
    }

    fn start(&mut self, start: Start) {
        let services = &self.host.services;
        let gadget = services.toolbox.get(&start.gadget_name).map(Arc::clone);
        let invocation = Invocation {
            gadget_name: start.gadget_name,
            invocation_id: start.invocation_id,
            parameters: start.parameters,
            dependencies: start.dependencies,
        };
        let seat = Seat {
            host: Arc::clone(&self.host),
            call: start.id,
            iteration: self.iteration,
            agents: AtomicU32::new(0),
        };
        let token = CancellationToken::new();
        let context = ExecutionContext::seated(&invocation, token, Some(seat));
        self.running.insert(start.id, context.clone());
        self.tasks
            .spawn(execute(start.id, gadget, invocation, context));
    }

    fn ask(&mut self, Question { id, kind }: Question) {
        let services = &self.host.services;
        let question = match &kind {
            QuestionKind::Human { question, .. } => Some(question),
            QuestionKind::Input { text } => Some(text),
            QuestionKind::BeforeModelCall { .. }
            | QuestionKind::AfterModelCall { .. }
            | QuestionKind::ModelError { .. }
            | QuestionKind::BeforeGadget { .. }
            | QuestionKind::AfterGadget { .. }
            | QuestionKind::DependencySkipped { .. } => None,
        };
        match (question, &services.human, &services.controller) {
            (Some(question), Some(human), _) => {
                let answer = ask_in_turn(&services.family, Arc::clone(human), question.clone());
                let task = self.tasks.spawn(async move {
                    let answer = answer.await;
                    Ending::Decided(id, answer.map_or(Decision::Proceed, Decision::Result))
                });
                if matches!(kind, QuestionKind::Input { .. }) {
                    self.asked = Some(task);
                }
            }
            (None, _, Some(controller)) => {
                self.tasks.spawn(decide(id, kind, Arc::clone(controller)));
            }
            (Some(_), None, _) | (None, _, None) => {
                self.queue.push_back(Input::Decision(id, Decision::Proceed));
            }
        }
    }

    /// What the run is to be told next.
    async fn next(&mut self, until: Option<Time>) -> Input {
        let input = loop {
            if let Some(input) = self.queue.pop_front() {
                break input;
            }
            if let Some(input) = self.wait(until).await {
                break input;
            }
        };
        // Before what may lead to a further request. The pieces of a reply are too many, and do not.
        if matches!(input, Input::Delta(_) | Input::Report(..)) {
            return input;
        }
        match self.spent_elsewhere() {
            Some(first) => {
                self.queue.push_front(input);
                first
            }
            None => input,
        }
    }

    /// Waits for whatever comes first. Results come before more of the reply, so that dependents start early, and before
    /// what moves the clock on, so that they are in time.
    async fn wait(&mut self, until: Option<Time>) -> Option<Input> {
        let wake = until.map(|until| self.began + Duration::from_millis(until.since(self.since)));
        let input = tokio::select! {
            biased;
            () = token_cancelled(&mut self.cancelled) => Some(Input::Command(Command::Cancel)),
            Some(ending) = self.tasks.join_next(), if !self.tasks.is_empty() => match ending {
                Ok(ending) => return self.end(ending),
                // Panics were caught inside; a question whose answer has come another way was withdrawn.
                Err(_) => None,
            },
            command = next_command(&mut self.commands) => Some(Input::Command(command)),
            Some((id, report)) = self.reports.recv() => self.report(id, report),
            input = self.reply.next() => Some(input),
            () = sleep_till(wake) => Some(Input::Tick),
        };
        self.came = Instant::now();
        input
    }

    /// A report of a call that still runs.
    fn report(&self, id: CallId, report: Report) -> Option<Input> {
        let running = self.running.contains_key(&id);
        running.then_some(Input::Report(id, report))
    }

    fn end(&mut self, ending: Ending) -> Option<Input> {
        self.came = Instant::now();
        match ending {
            Ending::Done(id, outcome, at) => {
                self.came = at;
                // What it told before its end comes before its end. Others may tell more all the time.
                for _ in 0..self.reports.len() {
                    let Ok((id, report)) = self.reports.try_recv() else {
                        break;
                    };
                    self.queue.extend(self.report(id, report));
                }
                self.queue.push_back(Input::Done(id, outcome));
                None
            }
            Ending::Decided(id, decision) => Some(Input::Decision(id, decision)),
            Ending::Fault(words) => {
                self.stop(words);
                None
            }
        }
    }

    /// Nothing that a broken controller might have refused may happen.
    fn stop(&mut self, words: String) {
        tracing::error!("{words}: the run is stopped");
        self.fault.get_or_insert(words);
        self.queue.push_front(Input::Command(Command::Cancel));
    }

    /// What the family has spent beside this run, if the run does not know yet.
    fn spent_elsewhere(&mut self) -> Option<Input> {
        let elsewhere = self.host.share.elsewhere();
        let changed = (elsewhere - self.elsewhere).abs() > NOTHING;
        changed.then(|| {
            self.elsewhere = elsewhere;
            Input::SpentElsewhere(elsewhere)
        })
    }

    fn tell(&mut self, input: Input) {
        let elapsed = self.came.duration_since(self.began).as_millis();
        let elapsed = u64::try_from(elapsed).unwrap_or(u64::MAX);
        let now = Time(self.since.0.saturating_add(elapsed)).max(self.run.now());
        self.observer.input(now, &input);
        let of_subagent = matches!(input, Input::Report(_, Report::Child { .. }));
        let done = if let Input::Done(id, _) = &input {
            self.running.remove(id)
        } else {
            None
        };
        if matches!(input, Input::Command(Command::Inject(_)))
            && let Some(task) = self.asked.take()
        {
            // The user has said it this way. The person is free for other questions.
            task.abort();
        }
        let before = self.run.total_cost();
        match self.run.handle(now, input) {
            Ok(()) => {}
            // Waiting for a better one would be for ever.
            Err(misuse @ Misuse::WrongDecision(_)) => self.stop(format!("a controller: {misuse}")),
            Err(misuse) => debug_assert!(false, "{misuse}"),
        }
        let cost = self.run.total_cost() - before;
        if of_subagent {
            // It has written that down itself.
            self.host.share.learn(cost);
        } else {
            // What the gadget has reported is written down already.
            let written = done.map_or(0.0, |context| context.reported_cost());
            self.host.share.spend(cost - written);
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

async fn sleep_till(until: Option<Instant>) {
    match until {
        Some(until) => sleep_until(until).await,
        None => pending().await,
    }
}
