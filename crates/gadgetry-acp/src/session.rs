//! One session: a task that carries out requests of the client, one run at a time.

use std::future::pending;
use std::path::PathBuf;
use std::time::Duration;

use agent_client_protocol_schema::v1::{
    ConfigOptionUpdate, CurrentModeUpdate, Error as Refusal, ErrorCode, ForkSessionResponse,
    LoadSessionResponse, NewSessionResponse, PromptResponse, RequestId, ResumeSessionResponse,
    SessionNotification, SessionUpdate, SetSessionConfigOptionResponse, SetSessionModeResponse,
    StopReason,
};
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use gadgetry::approval::{Answer, Approval};
use gadgetry::proto::error::ModelErrorKind;
use gadgetry::proto::event::FinishReason;
use gadgetry::{AgentHandle, AgentRun, CancellationToken, Event, EventKind, Finished};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::client::Client;
use crate::error::refusal;
use crate::host::{HostSession, Past};
use crate::live::Live;
use crate::offer;
use crate::peer::Responder;
use crate::permission::{Decided, Rejected, decide};
use crate::prompt::Prompt;
use crate::updates::{Spent, Updates};

/// Time between two looks at what is seen of calls that run.
const PAUSE: Duration = Duration::from_millis(200);

/// A request of the client to a session.
#[derive(Debug)]
pub(crate) enum Command {
    /// Begins a run.
    Prompt(
        Vec<agent_client_protocol_schema::v1::ContentBlock>,
        Responder,
    ),
    /// Cancels the run.
    Cancel,
    /// Cancels the run that answers this request.
    CancelRequest(RequestId),
    /// Sets the mode.
    SetMode(String, Responder),
    /// Sets an option.
    SetOption(String, String, Responder),
    /// Shows the whole history again.
    Replay(Responder),
    /// Answers that the session is open.
    Attach(Responder),
    /// Ends the session.
    Close(Responder),
}

/// The request that has opened a session.
#[derive(Debug)]
pub(crate) enum Opening {
    /// A new session.
    New,
    /// A new session with the conversation of another one.
    Fork,
    /// A session whose history is shown.
    Load,
    /// A session that continues without that.
    Resume,
}

/// An open session.
pub(crate) struct Session<S> {
    host: S,
    client: Client,
    id: String,
    folder: PathBuf,
    rejected: Rejected,
    spent: Spent,
    running: Option<Running>,
    /// State of the updates about the last run when the session was loaded: the run may continue.
    loaded: Option<Updates>,
    /// The request to close it.
    closing: Option<Responder>,
}

/// A run in progress.
struct Running {
    run: AgentRun<'static>,
    handle: AgentHandle,
    updates: Updates,
    responder: Responder,
    decisions: FuturesUnordered<BoxFuture<'static, Box<(Approval, Decided)>>>,
    is_cancelled: bool,
    /// The next look at what is seen of calls that run.
    next_look: Instant,
}

/// Something that the session has waited for.
enum Happened {
    Command(Option<Command>),
    Decided(Box<(Approval, Decided)>),
    Event(Option<Box<Event>>),
    Live,
    Ended,
}

impl<S: HostSession> Session<S> {
    /// A session that the host has opened.
    pub(crate) fn new(host: S, client: Client, folder: PathBuf) -> Self {
        let id = host.id().to_owned();
        client.begin(&id);
        Self {
            host,
            client,
            id,
            folder,
            rejected: Rejected::default(),
            spent: Spent::default(),
            running: None,
            loaded: None,
            closing: None,
        }
    }

    /// Carries out the client's requests until it is closed, or until `ended`. Returns the request to close it, to be answered when
    /// the session is not listed any more.
    pub(crate) async fn serve(
        mut self,
        opening: Opening,
        responder: Responder,
        mut commands: mpsc::Receiver<Command>,
        ended: CancellationToken,
    ) -> Option<Responder> {
        self.opened(opening, responder).await;
        let mut is_ended = false;
        loop {
            if (self.closing.is_some() || is_ended) && self.running.is_none() {
                break;
            }
            let happened = tokio::select! {
                biased;
                () = ended.cancelled(), if !is_ended => Happened::Ended,
                command = commands.recv(), if !is_ended => Happened::Command(command),
                happened = next(&mut self.running, self.client.live()) => happened,
            };
            match happened {
                Happened::Command(Some(command)) => self.command(command).await,
                Happened::Command(None) | Happened::Ended => {
                    is_ended = true;
                    self.cancel();
                }
                Happened::Decided(decided) => self.decided(*decided),
                Happened::Event(Some(event)) => self.event(&event).await,
                Happened::Live => self.live().await,
                Happened::Event(None) => self.run_ended().await,
            }
        }
        self.closing
    }

    async fn opened(&mut self, opening: Opening, responder: Responder) {
        let offer = self.host.offer();
        let (modes, options) = (offer::modes(&offer), offer::options(&offer));
        match opening {
            Opening::New => {
                let response = NewSessionResponse::new(self.id.clone());
                respond(responder, response.modes(modes).config_options(options)).await;
            }
            Opening::Fork => {
                let response = ForkSessionResponse::new(self.id.clone());
                respond(responder, response.modes(modes).config_options(options)).await;
            }
            Opening::Load => self.replay(responder).await,
            Opening::Resume => {
                let response = ResumeSessionResponse::new();
                respond(responder, response.modes(modes).config_options(options)).await;
            }
        }
        self.update(offer::commands(&offer)).await;
    }

    async fn command(&mut self, command: Command) {
        match command {
            Command::Prompt(_, responder) | Command::Replay(responder)
                if self.running.is_some() =>
            {
                let error = "a prompt is in progress in this session; cancel it first";
                refuse(responder, refusal(ErrorCode::InvalidRequest, error)).await;
            }
            Command::Prompt(blocks, responder) => self.prompt(blocks, responder).await,
            Command::Replay(responder) => self.replay(responder).await,
            Command::Attach(responder) => {
                let offer = self.host.offer();
                let response = ResumeSessionResponse::new();
                let response = response.modes(offer::modes(&offer));
                respond(responder, response.config_options(offer::options(&offer))).await;
            }
            Command::Cancel => self.cancel(),
            Command::CancelRequest(id) => {
                let running = self.running.as_ref();
                if running.is_some_and(|it| it.responder.id() == Some(&id)) {
                    self.cancel();
                }
            }
            Command::SetMode(mode, responder) => self.set_mode(&mode, responder).await,
            Command::SetOption(option, value, responder) => match self.set(&option, &value).await {
                Ok(()) => {
                    let options = offer::options(&self.host.offer());
                    respond(responder, SetSessionConfigOptionResponse::new(options)).await;
                }
                Err(error) => refuse(responder, error).await,
            },
            Command::Close(responder) => {
                self.closing = Some(responder);
                self.cancel();
            }
        }
    }

    async fn prompt(
        &mut self,
        blocks: Vec<agent_client_protocol_schema::v1::ContentBlock>,
        responder: Responder,
    ) {
        let prompt = Prompt::of(blocks, &self.folder);
        if prompt.content().is_empty() {
            let error = refusal(ErrorCode::InvalidParams, "the prompt is empty");
            return refuse(responder, error).await;
        }
        match self.host.prompt(prompt).await {
            Ok(turn) => {
                let window = self.host.offer().window;
                let loaded = self.loaded.take().filter(|it| it.run() == turn.number);
                let updates = loaded.unwrap_or_else(|| {
                    Updates::new(turn.number, self.folder.clone(), window, self.spent)
                });
                for note in &turn.notes {
                    self.update(updates.note(note)).await;
                }
                self.running = Some(Running {
                    handle: turn.run.handle(),
                    run: turn.run,
                    updates,
                    responder,
                    decisions: FuturesUnordered::new(),
                    is_cancelled: false,
                    next_look: Instant::now(),
                });
                // What is left of calls of the run before.
                self.client.live().take();
            }
            Err(error) => refuse(responder, error).await,
        }
    }

    fn cancel(&mut self) {
        if let Some(running) = &mut self.running {
            running.is_cancelled = true;
            // The run answers them itself.
            running.decisions.clear();
            running.handle.cancel();
        }
    }

    async fn event(&mut self, event: &Event) {
        if self.running.as_ref().is_some_and(|it| it.is_cancelled) {
            // What a call has written so far is not lost with it.
            self.live().await;
        }
        let Some(running) = &mut self.running else {
            return;
        };
        for update in running.updates.event(event, &self.host) {
            send(&self.client, &self.id, update).await;
        }
        if let EventKind::ApprovalRequired {
            approval,
            invocation_id,
            ..
        } = &event.kind
        {
            self.ask(event, approval, invocation_id.as_str());
        }
    }

    /// Shows what is seen of calls that run.
    async fn live(&mut self) {
        let Some(running) = &mut self.running else {
            return;
        };
        running.next_look = Instant::now() + PAUSE;
        for (call, seen) in self.client.live().take() {
            if let Some(update) = running.updates.seen(call, seen) {
                send(&self.client, &self.id, update).await;
            }
        }
    }

    /// Decides about a call, or lets the user decide.
    fn ask(&mut self, event: &Event, approval: &Approval, invocation: &str) {
        let Some(running) = &mut self.running else {
            return;
        };
        let rules = event.run.as_ref().map_or_else(Vec::new, |run| {
            let gadget = &approval.gadget_name;
            self.client.rules_of(run, gadget, invocation)
        });
        let at_once = if self.rejected.contains(approval) {
            let reason = "the user has rejected the same call before, for the whole session";
            Some(Answer::No(Some(reason.to_owned())))
        } else if self.host.approves(approval) {
            Some(Answer::Once)
        } else {
            None
        };
        if let Some(answer) = at_once {
            // It may have been withdrawn.
            let _ = running.handle.answer(approval.id, answer);
            return;
        }
        if running.is_cancelled {
            return;
        }
        let call = running.updates.shown(event, approval, &self.host);
        let (client, session) = (self.client.clone(), self.id.clone());
        let approval = approval.clone();
        let decision = async move {
            let decided = decide(&client, &session, call, rules).await;
            Box::new((approval, decided))
        };
        running.decisions.push(decision.boxed());
    }

    fn decided(&mut self, (approval, decided): (Approval, Decided)) {
        let answer = decided.noted(&approval, &mut self.rejected);
        if let Some(running) = &self.running {
            // It may have been withdrawn.
            let _ = running.handle.answer(approval.id, answer);
        }
    }

    /// The run has ended.
    async fn run_ended(&mut self) {
        let Some(running) = self.running.take() else {
            return;
        };
        self.spent = running.updates.spent;
        let Some(finished) = running.run.finished() else {
            let error = refusal(ErrorCode::InternalError, "the run was left");
            return refuse(running.responder, error).await;
        };
        self.host.ended(finished);
        if finished.summary.reason == FinishReason::BudgetExceeded {
            let text = "\n\n*The budget is spent.*";
            send(&self.client, &self.id, running.updates.text(text)).await;
        }
        match stop_reason(finished) {
            Ok(reason) => respond(running.responder, PromptResponse::new(reason)).await,
            Err(error) => refuse(running.responder, error).await,
        }
    }

    /// Sends the whole history, and then answers.
    async fn replay(&mut self, responder: Responder) {
        let window = self.host.offer().window;
        let mut spent = Spent::default();
        for run in self.host.runs() {
            let past = match self.host.past(run).await {
                Ok(past) => past,
                Err(error) => return refuse(responder, error).await,
            };
            let mut updates = Updates::new(run, self.folder.clone(), window, spent);
            for item in past {
                let now = match &item {
                    Past::Message(content) => Updates::message(content),
                    Past::Event(event) => updates.event(event, &self.host),
                    Past::Problem(problem) => vec![updates.text(&format!("\n\n*{problem}*"))],
                };
                for update in now {
                    self.update(update).await;
                }
            }
            for update in updates.interrupted() {
                self.update(update).await;
            }
            spent = updates.spent;
            self.loaded = Some(updates);
        }
        self.spent = spent;
        let offer = self.host.offer();
        let response = LoadSessionResponse::new().modes(offer::modes(&offer));
        respond(responder, response.config_options(offer::options(&offer))).await;
    }

    async fn set_mode(&mut self, mode: &str, responder: Responder) {
        let offer = self.host.offer();
        let Some(option) = offer::mode(&offer) else {
            let error = refusal(ErrorCode::InvalidParams, "the session has no modes");
            return refuse(responder, error).await;
        };
        match self.set(&option.option.id, mode).await {
            Ok(()) => respond(responder, SetSessionModeResponse::new()).await,
            Err(error) => refuse(responder, error).await,
        }
    }

    /// Sets an option, and informs the client of everything that has changed.
    async fn set(&mut self, option: &str, value: &str) -> Result<(), Refusal> {
        let before = self.host.offer();
        let known = before.options.iter().find(|it| it.option.id == option);
        let Some(known) = known else {
            let message = format!("the session has no option {option}");
            return Err(refusal(ErrorCode::InvalidParams, message));
        };
        if !known.choices.iter().any(|it| it.id == value) {
            let message = format!("{option} cannot be {value}");
            return Err(refusal(ErrorCode::InvalidParams, message));
        }
        self.host.set(option, value).await?;
        let after = self.host.offer();
        if before.options != after.options {
            let options = ConfigOptionUpdate::new(offer::options(&after));
            self.update(SessionUpdate::ConfigOptionUpdate(options))
                .await;
        }
        let (old, new) = (offer::mode(&before), offer::mode(&after));
        if let Some(mode) = new
            && old.is_none_or(|old| old.current != mode.current)
        {
            let mode = CurrentModeUpdate::new(mode.current.clone());
            self.update(SessionUpdate::CurrentModeUpdate(mode)).await;
        }
        if before.commands != after.commands {
            self.update(offer::commands(&after)).await;
        }
        Ok(())
    }

    async fn update(&mut self, update: SessionUpdate) {
        send(&self.client, &self.id, update).await;
    }
}

async fn send(client: &Client, session: &str, update: SessionUpdate) {
    let notification = SessionNotification::new(session.to_owned(), update);
    // Without a client, the connection ends soon, and the session with it.
    let _ = client.peer().notify("session/update", notification).await;
}

async fn respond(responder: Responder, response: impl serde::Serialize) {
    responder.respond(Ok::<_, Refusal>(response)).await;
}

async fn refuse(responder: Responder, error: impl Into<Refusal>) {
    responder.respond(Err::<(), _>(error)).await;
}

/// The next event of the run, the next decision about a call of it, or something to see of a call.
async fn next(running: &mut Option<Running>, live: &Live) -> Happened {
    let Some(running) = running else {
        return pending().await;
    };
    let next_look = running.next_look;
    let look = async {
        live.changed().await;
        sleep_until(next_look).await;
    };
    let Running { run, decisions, .. } = running;
    tokio::select! {
        biased;
        Some(decided) = decisions.next(), if !decisions.is_empty() => Happened::Decided(decided),
        event = run.next() => Happened::Event(event.map(Box::new)),
        () = look => Happened::Live,
    }
}

/// The reason why a run has ended, or its error.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the others are ends that the model has chosen"
)]
fn stop_reason(finished: &Finished) -> Result<StopReason, Refusal> {
    if let Some(fault) = &finished.fault {
        let message = format!("the run was stopped: {fault}");
        return Err(refusal(ErrorCode::InternalError, message));
    }
    let summary = &finished.summary;
    match summary.reason {
        FinishReason::MaxIterations | FinishReason::BudgetExceeded => {
            Ok(StopReason::MaxTurnRequests)
        }
        FinishReason::Truncated => Ok(StopReason::MaxTokens),
        FinishReason::Withheld => Ok(StopReason::Refusal),
        FinishReason::Cancelled => Ok(StopReason::Cancelled),
        FinishReason::ModelError => {
            let error = summary.error.as_ref();
            let code = match error.map(|it| it.kind) {
                Some(ModelErrorKind::Authentication) => ErrorCode::AuthRequired,
                _ => ErrorCode::InternalError,
            };
            let message = error.map_or("no reason given", |it| &it.message);
            Err(refusal(code, format!("model call failed: {message}")))
        }
        _ => Ok(StopReason::EndTurn),
    }
}
