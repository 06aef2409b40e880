//! The driver: it waits for the model, the gadgets, the clock and the user, and tells the run what happened.
//!
//! This is the only place of the library that waits for several things at once.

use std::collections::BTreeMap;
use std::future::{Future, pending};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_core::stream::BoxStream;
use futures_util::{FutureExt as _, StreamExt as _};
use gadgetry_proto::call::Outcome;
use gadgetry_proto::delta::Delta;
use gadgetry_proto::event::Event;
use gadgetry_proto::id::CallId;
use gadgetry_proto::message::Message;
use gadgetry_proto::run::{Close, Command, Input, Output, Run, Start, Summary};
use gadgetry_proto::time::Time;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::task::coop::consume_budget;
use tokio::time::{Instant, sleep, sleep_until};

use crate::context::{CancellationToken, ExecutionContext, Invocation};
use crate::services::Services;

/// How long a cancelled gadget may take to tidy up before its future is dropped.
const GRACE: Duration = Duration::from_secs(2);

/// Watches a run.
pub trait Observer: Send {
    /// Something happened.
    fn event(&mut self, event: &Event);

    /// The run is about to be told this. The inputs with their times are the log from which it can be replayed.
    fn input(&mut self, time: Time, input: &Input) {
        let _ = (time, input);
    }
}

impl<F: FnMut(&Event) + Send> Observer for F {
    fn event(&mut self, event: &Event) {
        self(event);
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// What the run itself says about it.
    pub summary: Summary,
    /// The conversation, results included: what a further run can go on from.
    pub history: Vec<Message>,
    /// Why the driver stopped the run, if it did: a controller panicked, in these words.
    pub fault: Option<String>,
}

/// Runs `run` to its end with `services`; `commands` come from the user.
///
/// Each gadget runs as a task of its own, so gadgets and the reading of the reply never wait for each other. When a
/// gadget's time is up, or the run is cancelled, its token is cancelled first; two seconds later its future is dropped.
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
    let mut driver = Driver {
        run,
        services,
        began: Instant::now(),
        reply: None,
        tasks: JoinSet::new(),
        tokens: BTreeMap::new(),
        commands: Some(commands),
        observer,
    };
    let summary = loop {
        match driver.drain() {
            Err(summary) => break summary,
            Ok(until) => {
                let input = driver.wait(until).await;
                driver.tell(input);
            }
        }
    };
    debug_assert!(driver.tasks.is_empty(), "a run ends after its gadgets");
    Ended {
        summary,
        history: driver.run.history().to_vec(),
        fault: None,
    }
}

struct Driver<'a> {
    run: Run,
    services: &'a Services,
    began: Instant,
    reply: Option<BoxStream<'static, Delta>>,
    tasks: JoinSet<(CallId, Outcome)>,
    tokens: BTreeMap<CallId, CancellationToken>,
    commands: Option<mpsc::Receiver<Command>>,
    observer: &'a mut dyn Observer,
}

impl Driver<'_> {
    /// Does what the run wants. Gives when to wake it, or how it ended.
    fn drain(&mut self) -> Result<Option<Time>, Summary> {
        loop {
            match self.run.poll() {
                Output::Send(request) => self.reply = Some(self.services.model.stream(request)),
                Output::CloseModel => self.reply = None,
                Output::Start(start) => self.start(start),
                Output::Cancel(id) => {
                    if let Some(token) = self.tokens.get(&id) {
                        token.cancel();
                    }
                }
                Output::Ask(_) => {}
                Output::Event(event) => self.observer.event(&event),
                Output::Wait(until) => return Ok(until),
                Output::Finished(summary) => return Err(summary),
            }
        }
    }

    fn start(&mut self, start: Start) {
        let token = CancellationToken::new();
        self.tokens.insert(start.id, token.clone());
        let Some(gadget) = self
            .services
            .toolbox
            .get(&start.gadget_name)
            .map(Arc::clone)
        else {
            let error = format!("Gadget '{}' is not available", start.gadget_name);
            self.tasks
                .spawn(async move { (start.id, Outcome::error(error)) });
            return;
        };
        let id = start.id;
        let invocation = Invocation {
            gadget_name: start.gadget_name,
            invocation_id: start.invocation_id,
            parameters: start.parameters,
            dependencies: start.dependencies,
        };
        let context = ExecutionContext::new(&invocation, token.clone());
        self.tasks.spawn(async move {
            let account = context.clone();
            let work = invocation.execute(gadget.as_ref(), context);
            // Its end may panic as well, when the future is dropped.
            let whole = AssertUnwindSafe(until_cancelled(work, token, &account));
            let outcome = whole.catch_unwind().await;
            (
                id,
                outcome.unwrap_or_else(|_| cut_short(&account, "panicked at its end")),
            )
        });
    }

    /// Waits for whatever comes first. Results come before more of the reply, so that dependents start early.
    async fn wait(&mut self, until: Option<Time>) -> Input {
        let Self {
            reply,
            tasks,
            tokens,
            commands,
            ..
        } = self;
        let began = self.began;
        tokio::select! {
            biased;
            command = next_command(commands) => Input::Command(command),
            Some(done) = tasks.join_next(), if !tasks.is_empty() => match done {
                Ok((id, outcome)) => {
                    tokens.remove(&id);
                    Input::Done(id, outcome)
                }
                // Panics were caught inside, and nobody aborts tasks.
                Err(_) => Input::Tick,
            },
            delta = next_delta(reply) => if let Some(delta) = delta {
                Input::Delta(delta)
            } else {
                *reply = None;
                Input::ModelClosed(Close::Ended)
            },
            () = sleep_till(began, until) => Input::Tick,
        }
    }

    fn tell(&mut self, input: Input) {
        let now = Time(u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX));
        self.observer.input(now, &input);
        if let Err(misuse) = self.run.handle(now, input) {
            debug_assert!(false, "{misuse}");
        }
    }
}

/// The outcome of `work`; if it is cancelled and does not end soon, what it has cost.
async fn until_cancelled(
    work: impl Future<Output = Outcome>,
    token: CancellationToken,
    account: &ExecutionContext,
) -> Outcome {
    let late = async {
        token.cancelled().await;
        sleep(GRACE).await;
    };
    tokio::select! {
        biased;
        outcome = work => outcome,
        () = late => cut_short(account, "cancelled"),
    }
}

/// The outcome of a gadget that did not come to an end of its own: what it has reported counts.
fn cut_short(account: &ExecutionContext, why: &str) -> Outcome {
    Outcome {
        cost: account.reported_cost(),
        ..Outcome::error(why)
    }
}

async fn next_delta(reply: &mut Option<BoxStream<'static, Delta>>) -> Option<Delta> {
    match reply {
        Some(reply) => {
            // A reply that is always ready must not keep gadgets and the user waiting.
            consume_budget().await;
            reply.next().await
        }
        None => pending().await,
    }
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

async fn sleep_till(began: Instant, until: Option<Time>) {
    match until {
        Some(Time(milliseconds)) => sleep_until(began + Duration::from_millis(milliseconds)).await,
        None => pending().await,
    }
}
