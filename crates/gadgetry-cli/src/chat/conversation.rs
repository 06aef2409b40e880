//! The conversation on the screen: waits for keys, the run, requests and time, and carries out effects.

use std::collections::HashMap;
use std::future::pending;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::Event as TerminalEvent;
use futures_util::{FutureExt as _, StreamExt as _};
use gadgetry::approval::{Answer, ApprovalRequest, Rule};
use gadgetry::proto::event::Event;
use gadgetry::{AgentHandle, AgentRun, NotInjected};
use tokio::runtime::Builder;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, block_in_place, spawn_blocking};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::flight::Flight;
use super::history_file::HistoryFile;
use super::injected::Injected;
use super::requests::{Desk, Request};
use super::state::{App, Approval, Effect, Message, Preview, RequestId, Tone, Verdict};
use super::talk::{Opened, Talk, User};
use super::terminal::Terminal;
use super::{export, files};
use crate::approvals::keep;
use crate::args::ChatArgs;
use crate::error::Error;
use crate::follow::verdict;
use crate::interrupts::Interrupts;
use crate::printer::Printer;

/// Between two frames.
const FRAME: Duration = Duration::from_millis(33);
/// Between two frames that only the time makes different.
const TICK: Duration = Duration::from_millis(100);
/// Events of a run that are handled at once.
const AT_ONCE: usize = 256;
/// How long gadgets may take to end when the user leaves.
const PATIENCE: Duration = Duration::from_secs(4);

/// Holds the conversation until the user leaves.
pub(super) fn run(args: ChatArgs, printer: &mut Printer) -> Result<(), Error> {
    let (desk, requests) = Desk::new();
    let (history_file, history) = HistoryFile::open(&args.options.model.data);
    let first = args.prompt.clone();
    let is_continued = args.continues.is_some();
    let user_file = args.user_file.clone();
    let user = User {
        approver: Some(desk.clone()),
        human: Arc::new(desk),
        flight: Flight::default(),
        injected: Injected::default(),
    };
    let opened = Talk::open(args, user, printer)?;
    let model = opened.talk.model()?;
    let mut app = App::new(model, String::new(), history);
    if let Some(note) = opened.note.clone() {
        app.update(Duration::ZERO, Message::Note(Tone::Alert, note));
    }
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Error::machine(&error))?;
    let (talk, done) = runtime.block_on(async {
        let terminal = match Terminal::enter() {
            Ok(terminal) => terminal,
            Err(error) => return (opened.talk, Err(error)),
        };
        let Opened {
            talk, last, run, ..
        } = opened;
        let mut conversation = Conversation {
            app,
            talk,
            terminal,
            requests,
            history_file,
            user_file,
            started: Instant::now(),
            run: None,
            answers: HashMap::new(),
            listing: None,
            compacts_next: false,
            is_over: false,
            is_dirty: true,
            painted: None,
        };
        let done = conversation.hold(last, run, first).await;
        let talk = conversation.leave().await;
        (talk, done)
    });
    runtime.shutdown_timeout(Duration::from_millis(250));
    talk.flush();
    if let Some(name) = talk
        .name()
        .filter(|_| is_continued || !talk.said().is_empty())
    {
        printer.progress(&format!("continue with: gadgetry chat --continue {name}\n"));
    }
    done.map_err(|error| Error::Failed(format!("cannot use the terminal: {error}")))
}

/// The answer that a request waits for.
enum Waiting {
    Question(oneshot::Sender<Option<String>>),
    /// With the rules that the user can choose from.
    Approval(oneshot::Sender<Answer>, Vec<Rule>, Box<ApprovalRequest>),
}

struct Conversation {
    app: App,
    talk: Talk,
    terminal: Terminal,
    requests: mpsc::Receiver<Request>,
    history_file: HistoryFile,
    /// Where rules are kept for good.
    user_file: Option<PathBuf>,
    started: Instant,
    run: Option<(AgentRun<'static>, AgentHandle)>,
    answers: HashMap<RequestId, Waiting>,
    listing: Option<JoinHandle<Vec<String>>>,
    /// Whether the next run begins with a compaction.
    compacts_next: bool,
    is_over: bool,
    /// Whether the state has changed since the last frame.
    is_dirty: bool,
    painted: Option<Instant>,
}

/// What the conversation has waited for.
enum Happened {
    Terminal(Option<io::Result<TerminalEvent>>),
    Run(Option<Event>),
    Request(Option<Request>),
    Files(Vec<String>),
    Signal,
    Time,
}

impl Conversation {
    async fn hold(
        &mut self,
        last: Option<(String, String)>,
        run: Option<AgentRun<'static>>,
        first: Option<String>,
    ) -> io::Result<()> {
        let mut interrupts = Interrupts::listen()?;
        if let Some((prompt, answer)) = last {
            self.show_last(prompt, &answer);
        }
        match (run, first) {
            (Some(run), first) => {
                self.update(Message::Began(String::new()));
                self.follow(run);
                if let Some(first) = first {
                    self.inject(first);
                }
            }
            (None, Some(first)) => self.send(&first),
            (None, None) => {}
        }
        while !self.is_over {
            self.paint()?;
            match self.wait(&mut interrupts).await {
                Happened::Terminal(event) => self.terminal_event(event)?,
                Happened::Run(event) => self.run_event(event),
                Happened::Request(request) => self.request(request),
                Happened::Files(files) => self.update(Message::Files(files)),
                Happened::Signal => self.is_over = true,
                Happened::Time => self.update(Message::Tick),
            }
        }
        Ok(())
    }

    async fn wait(&mut self, interrupts: &mut Interrupts) -> Happened {
        let wake = self.next_frame();
        tokio::select! {
            biased;
            () = interrupts.next() => Happened::Signal,
            event = self.terminal.next() => Happened::Terminal(event),
            request = self.requests.recv() => Happened::Request(request),
            files = listed(&mut self.listing) => Happened::Files(files),
            () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => Happened::Time,
            event = next_event(&mut self.run) => Happened::Run(event),
        }
    }

    /// When the next frame is due, if one is.
    fn next_frame(&self) -> Option<Instant> {
        let pause = match (self.is_dirty, self.app.is_moving()) {
            (true, _) => FRAME,
            (false, true) => TICK,
            (false, false) => return None,
        };
        Some(
            self.painted
                .map_or_else(Instant::now, |painted| painted + pause),
        )
    }

    fn paint(&mut self) -> io::Result<()> {
        let is_due = |painted: Instant| painted.elapsed() >= FRAME;
        if !self.is_dirty || !self.painted.is_none_or(is_due) {
            return Ok(());
        }
        let (columns, rows) = Terminal::size();
        let settled = self.app.take_settled(columns.saturating_sub(1).max(1));
        let view = self.app.view(columns, rows);
        self.terminal.paint(&settled, view)?;
        self.is_dirty = false;
        self.painted = Some(Instant::now());
        Ok(())
    }

    fn update(&mut self, message: Message) {
        self.is_dirty = true;
        let now = self.started.elapsed();
        for effect in self.app.update(now, message) {
            self.carry_out(effect);
        }
    }

    fn terminal_event(&mut self, event: Option<io::Result<TerminalEvent>>) -> io::Result<()> {
        match event {
            Some(Ok(TerminalEvent::Key(key))) => self.update(Message::Key(key)),
            Some(Ok(TerminalEvent::Paste(text))) => self.update(Message::Paste(text)),
            Some(Ok(TerminalEvent::Resize(..))) => self.is_dirty = true,
            Some(Ok(
                TerminalEvent::FocusGained | TerminalEvent::FocusLost | TerminalEvent::Mouse(_),
            )) => {}
            Some(Err(error)) => return Err(error),
            None => self.is_over = true,
        }
        Ok(())
    }

    /// Handles an event of the run, and those that are ready after it. `None` is the end of the run.
    fn run_event(&mut self, event: Option<Event>) {
        let mut next = event;
        for _ in 0..AT_ONCE {
            let Some(event) = next else {
                self.end_run();
                return;
            };
            self.update(Message::Run(Box::new(event)));
            let Some((run, _)) = &mut self.run else {
                return;
            };
            match run.next().now_or_never() {
                Some(event) => next = event,
                None => return,
            }
        }
        if let Some(event) = next {
            self.update(Message::Run(Box::new(event)));
        } else {
            self.end_run();
        }
    }

    fn end_run(&mut self) {
        let Some((run, _)) = self.run.take() else {
            return;
        };
        let result = match run.finished() {
            Some(finished) => {
                self.talk.ended(finished);
                match &finished.fault {
                    Some(fault) => Err(format!("the run was stopped: {fault}")),
                    None => verdict(&finished.summary).map_err(words),
                }
            }
            None => Err("the run was left".to_owned()),
        };
        self.answers.clear();
        let talk = &mut self.talk;
        match block_in_place(|| talk.take_unread()) {
            Ok(unread) => {
                for text in unread {
                    self.update(Message::NotInjected(text));
                }
            }
            Err(error) => self.note(Tone::Bad, words(error)),
        }
        self.update(Message::Ended(result));
    }

    fn request(&mut self, request: Option<Request>) {
        match request {
            Some(Request::Question(id, question, answer)) => {
                self.answers.insert(id, Waiting::Question(answer));
                self.update(Message::Question(id, question));
            }
            Some(Request::Approval(id, request, answer)) => {
                let rules = request.suggestions();
                let approval = approval(&request, &rules);
                let waiting = Waiting::Approval(answer, rules, request);
                self.answers.insert(id, waiting);
                self.update(Message::Approval(id, approval));
            }
            Some(Request::Withdrawn(id)) => {
                if self.answers.remove(&id).is_some() {
                    self.update(Message::Withdrawn(id));
                }
            }
            // The agent has the other end, so this does not happen while there is one.
            None => self.is_over = true,
        }
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Send(text) => self.send(&text),
            Effect::Inject(text) => self.inject(text),
            Effect::Remember(text) => self.history_file.add(&text),
            Effect::CancelGadgets => self.talk.cancel_gadgets(),
            Effect::CancelRun => {
                if let Some((_, handle)) = &self.run {
                    handle.cancel();
                }
            }
            Effect::Answer(id, answer) => {
                if let Some(Waiting::Question(sender)) = self.answers.remove(&id) {
                    // The gadget may be gone.
                    let _ = sender.send(answer);
                }
            }
            Effect::Decide(id, verdict) => self.decide(id, verdict),
            Effect::UseModel(name) => self.use_model(&name),
            Effect::ListTools => self.list_tools(),
            Effect::Compact => self.compact(),
            Effect::Export(path) => self.export(&path),
            Effect::ListFiles => {
                if self.listing.is_none() {
                    self.listing = Some(spawn_blocking(files::list));
                }
            }
            Effect::Suspend => {
                if let Err(error) = self.terminal.suspend() {
                    self.note(Tone::Bad, error.to_string());
                }
            }
            Effect::Leave => self.is_over = true,
        }
    }

    fn decide(&mut self, id: RequestId, verdict: Verdict) {
        if let Some(Waiting::Approval(sender, rules, request)) = self.answers.remove(&id) {
            if let Verdict::Always(index) = &verdict
                && let Some(rule) = rules.get(*index)
                && let Err(problem) = keep(self.user_file.as_deref(), &request, rule)
            {
                self.note(Tone::Bad, problem);
            }
            let answer = match verdict {
                Verdict::Once => Answer::Once,
                Verdict::Session(index) | Verdict::Always(index) => {
                    match rules.into_iter().nth(index) {
                        Some(rule) => Answer::Session(rule),
                        None => Answer::Once,
                    }
                }
                Verdict::No(reason) => Answer::No(reason),
            };
            // The call may be gone.
            let _ = sender.send(answer);
        }
    }

    /// Begins a run about a message.
    fn send(&mut self, text: &str) {
        self.update(Message::Began(text.to_owned()));
        let talk = &mut self.talk;
        let (problems, run) = block_in_place(|| {
            let (text, problems) = files::attach(text);
            (problems, talk.ask(text))
        });
        self.attached(problems);
        match run {
            Ok(run) => {
                self.follow(run);
                if std::mem::take(&mut self.compacts_next) {
                    self.compact();
                }
            }
            Err(error) => self.update(Message::Ended(Err(words(error)))),
        }
    }

    fn follow(&mut self, run: AgentRun<'static>) {
        let handle = run.handle();
        self.run = Some((run, handle));
    }

    /// Adds a message to the run.
    fn inject(&mut self, text: String) {
        let (full, problems) = block_in_place(|| files::attach(&text));
        self.attached(problems);
        let Some((_, handle)) = &self.run else {
            self.update(Message::NotInjected(text));
            return;
        };
        let (talk, handle) = (&mut self.talk, handle.clone());
        // Noted before it is sent, because the run may read it at once.
        if let Err(error) = block_in_place(|| talk.added(full.clone(), &text)) {
            self.note(Tone::Bad, words(error));
        }
        // If the run is over, its end brings the message back.
        if handle.inject(full) == Err(NotInjected::TooMany) {
            self.note(Tone::Bad, "too many messages wait for the run".to_owned());
        }
    }

    fn attached(&mut self, problems: Vec<String>) {
        for problem in problems {
            self.note(Tone::Alert, problem);
        }
    }

    fn use_model(&mut self, name: &str) {
        let talk = &mut self.talk;
        match block_in_place(|| talk.use_model(name)) {
            Ok(model) => {
                self.update(Message::Model(model));
                let when = if self.run.is_some() {
                    "from the next message on"
                } else {
                    "now"
                };
                self.note(Tone::Plain, format!("{name} is in use {when}"));
            }
            Err(error) => self.note(Tone::Bad, words(error)),
        }
    }

    fn list_tools(&mut self) {
        let gadgets = self.talk.gadgets();
        if gadgets.is_empty() {
            self.note(Tone::Plain, "no gadgets".to_owned());
        }
        for gadget in gadgets {
            let first = gadget
                .description
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned();
            self.note(Tone::Plain, format!("{}: {first}", gadget.name));
        }
    }

    fn compact(&mut self) {
        match &self.run {
            Some((_, handle)) => {
                // A run that is over has no next request.
                let _ = handle.compact();
            }
            None => self.compacts_next = true,
        }
        self.note(
            Tone::Plain,
            "the conversation is compacted before the next request".to_owned(),
        );
    }

    fn export(&mut self, path: &str) {
        let said = self.talk.said();
        let written = block_in_place(|| export::write(Path::new(path), &said));
        match written {
            Ok(()) => self.note(Tone::Plain, format!("{path} has the conversation")),
            Err(error) => self.note(Tone::Bad, format!("cannot write {path}: {error}")),
        }
    }

    fn note(&mut self, tone: Tone, text: String) {
        self.update(Message::Note(tone, text));
    }

    /// Shows the last exchange of a session that is continued.
    fn show_last(&mut self, prompt: String, answer: &str) {
        self.update(Message::Replayed(prompt, answer.to_owned()));
    }

    /// Ends the run that is in progress, and restores the terminal.
    async fn leave(mut self) -> Talk {
        if let Some((mut run, handle)) = self.run.take() {
            handle.cancel();
            let deadline = Instant::now() + PATIENCE;
            while let Ok(Some(event)) = timeout_at(deadline, run.next()).await {
                self.update(Message::Run(Box::new(event)));
            }
            if let Some(finished) = run.finished() {
                self.talk.ended(finished);
            }
        }
        self.app.finish();
        let (columns, _) = Terminal::size();
        let settled = self.app.take_settled(columns.saturating_sub(1).max(1));
        // The terminal may be gone.
        let _ = self
            .terminal
            .paint(&settled, super::screen::View::default());
        self.talk
    }
}

/// What the screen shows of a call that needs approval.
fn approval(request: &ApprovalRequest, rules: &[Rule]) -> Approval {
    let preview = &request.preview;
    let subject = match &preview.subject {
        Some(subject) => subject.text().to_owned(),
        None => serde_json::to_string_pretty(&*request.parameters).unwrap_or_default(),
    };
    Approval {
        gadget: request.gadget.clone(),
        preview: Preview {
            subject,
            diff: preview.diff.clone(),
        },
        notes: preview.notes.clone(),
        rules: rules.iter().map(|rule| rule.calls().to_owned()).collect(),
    }
}

async fn next_event(run: &mut Option<(AgentRun<'static>, AgentHandle)>) -> Option<Event> {
    match run {
        Some((run, _)) => run.next().await,
        None => pending().await,
    }
}

/// The files, once they are listed.
async fn listed(listing: &mut Option<JoinHandle<Vec<String>>>) -> Vec<String> {
    match listing {
        Some(work) => {
            let files = work.await.unwrap_or_default();
            *listing = None;
            files
        }
        None => pending().await,
    }
}

fn words(error: Error) -> String {
    match error {
        Error::Input(words) | Error::Failed(words) | Error::Help(words) => words,
        Error::Closed => "the output is closed".to_owned(),
    }
}
