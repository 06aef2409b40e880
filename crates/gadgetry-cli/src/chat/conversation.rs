//! The conversation on the screen: waits for keys, the run, requests and time, and carries out effects.

mod answers;
mod runs;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::future::pending;
use std::io;
use std::mem;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::Event as TerminalEvent;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _};
use gadgetry::proto::event::Event;
use gadgetry::{AgentHandle, AgentRun, Media};
use ratatui_core::text::Line;
use tokio::sync::mpsc;
use tokio::task::block_in_place;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use super::again::Again;
use super::attention::Attention;
use super::clipboard;
use super::history_file::HistoryFile;
use super::images;
use super::injected::{Fate, Injected};
use super::listing::Listing;
use super::report::{Report, Tone};
use super::requests::{Desk, Request};
use super::shell::{self, Shell};
use super::state::{App, Effect, Failure, Message, Waiting};
use super::submitting::{Submitting, submitted};
use super::talk::{Opened, Talk, User};
use super::terminal::{Input, Terminal};
use crate::cli::{ChatArgs, SessionName, Theme};
use crate::error::Error;
use crate::hooks::{Ending, Submitted, noted};
use crate::interrupts::Interrupts;
use crate::invocation::Invocation;
use crate::lines::counted;
use crate::printer::Printer;
use crate::usable::Usable;

use answers::Answers;

/// Between two frames.
const FRAME: Duration = Duration::from_millis(33);
/// Between two frames that only the time makes different.
const TICK: Duration = Duration::from_millis(100);
/// Maximum time to list the sessions for completions.
const LISTING: Duration = Duration::from_millis(500);
/// Maximum time for gadgets to end when the user leaves.
const PATIENCE: Duration = Duration::from_secs(4);

/// Holds the conversation until the user leaves. Returns the command line for another session, if the user leaves for that.
pub(super) async fn run(
    args: ChatArgs,
    invocation: Invocation,
    printer: &Printer,
) -> Result<Option<Vec<OsString>>, Error> {
    let (desk, requests) = Desk::new();
    let (history_file, history) = HistoryFile::open(&args.options.model.data);
    let first = args.prompt.clone();
    let is_continued = args.continues.is_some();
    let theme = args.theme.unwrap_or(Theme::Auto);
    let user_file = invocation.config.user_path.clone();
    let (injected, fates) = Injected::new();
    let user = User {
        injected,
        ..User::new(Arc::new(desk.clone()), Some(Arc::new(desk)))
    };
    let again = Again::new(&invocation.settings);
    let opened = Box::pin(Talk::open(args, invocation, user, printer)).await?;
    let mut app = App::new(opened.talk.facts().clone(), history);
    if let Some(note) = opened.note.clone() {
        let note = Report::Note(Tone::Alert, note);
        app.update(Duration::ZERO, Message::Report(note));
    }
    let Opened { talk, run, .. } = opened;
    let mut next = None;
    let (talk, done) = match Terminal::enter(theme) {
        Ok(terminal) => {
            let mut conversation = Conversation {
                app,
                talk,
                terminal,
                requests,
                fates,
                history_file,
                started: Instant::now(),
                run: None,
                submitting: None,
                answers: Answers::new(user_file),
                listing: None,
                looking: None,
                pasting: None,
                shell: None,
                effects: VecDeque::new(),
                is_over: false,
                attention: Attention::default(),
                next: None,
                is_dirty: true,
                painted: None,
                settled: Vec::new(),
            };
            let done = conversation.hold(run, first).await;
            next = conversation.next.take();
            (Box::pin(conversation.leave()).await, done)
        }
        Err(error) => (talk, Err(error)),
    };
    let session = talk.name().map(ToString::to_string);
    let ended = talk.moments().end(session.as_deref(), Ending::Left);
    noted(&ended.await, printer);
    talk.flush().await;
    if let Some(name) = talk
        .name()
        .filter(|_| talk.is_kept() && next.is_none())
        .filter(|_| is_continued || !talk.said().is_empty())
    {
        printer.progress(&format!("continue with: {}\n", again.of(name)));
    }
    done.map_err(|error| Error::Failed(format!("cannot use the terminal: {error}")))?;
    Ok(next.map(|name| again.words(&name)))
}

struct Conversation {
    app: App,
    talk: Talk,
    terminal: Terminal,
    requests: mpsc::Receiver<Request>,
    fates: mpsc::UnboundedReceiver<Fate>,
    history_file: HistoryFile,
    started: Instant,
    run: Option<(AgentRun<'static>, AgentHandle)>,
    submitting: Option<Submitting>,
    answers: Answers,
    listing: Option<Listing>,
    /// A look for models in progress.
    looking: Option<BoxFuture<'static, Usable>>,
    /// The image in the clipboard is being read.
    pasting: Option<BoxFuture<'static, Result<Media, Error>>>,
    /// A command of the user that runs.
    shell: Option<Shell>,
    /// Effects to perform.
    effects: VecDeque<Effect>,
    is_over: bool,
    attention: Attention,
    /// The session that follows.
    next: Option<SessionName>,
    /// Whether the state has changed since the last frame.
    is_dirty: bool,
    painted: Option<Instant>,
    /// Lines to print when the screen is not covered any more.
    settled: Vec<Line<'static>>,
}

fn notify(waiting: Waiting) {
    // A terminal that is gone is noticed elsewhere.
    let _ = Terminal::notify(waiting.words());
}

/// Event that the conversation has waited for.
enum Happened {
    Input(Option<io::Result<Input>>),
    Run(Option<Box<Event>>),
    Submitted(Result<Submitted, Error>),
    Request(Option<Request>),
    Fate(Fate),
    Shell(Option<shell::Ended>),
    Files(Vec<String>),
    Usable(Usable),
    Pasted(Result<Media, Error>),
    Signal,
    Time,
}

impl Conversation {
    async fn hold(
        &mut self,
        run: Option<AgentRun<'static>>,
        first: Option<String>,
    ) -> io::Result<()> {
        let mut interrupts = Interrupts::listen()?;
        match self.talk.past().await {
            Ok(past) => {
                self.update(Message::Past(past.before));
                if past.earlier > 0 {
                    let count = counted(past.earlier, "earlier message");
                    let words =
                        format!("… {count}; Ctrl-T shows what the model still reads of them");
                    self.note(Tone::Plain, words);
                }
                self.update(Message::Replayed(past.said));
            }
            Err(error) => self.note(Tone::Bad, error.to_string()),
        }
        match (run, first) {
            (Some(run), first) => {
                self.update(Message::Began(String::new()));
                self.follow(run);
                if let Some(first) = first {
                    self.inject(first).await;
                }
            }
            (None, Some(first)) => self.send(first).await,
            (None, None) => {}
        }
        loop {
            self.carry_out().await;
            self.note_problem();
            if self.is_over {
                return Ok(());
            }
            self.paint()?;
            match self.wait(&mut interrupts).await {
                Happened::Input(input) => self.input(input)?,
                Happened::Run(event) => {
                    // The event may be the end of a command.
                    self.take_output();
                    self.run_event(event.map(|event| *event)).await;
                }
                Happened::Submitted(decision) => self.decided(decision).await,
                Happened::Request(Some(request)) => {
                    if let Some(message) = self.answers.open(request) {
                        self.update(message);
                    }
                }
                Happened::Fate(fate) => self.fate(fate).await,
                Happened::Shell(ended) => self.shell_ended(ended),
                Happened::Files(files) => {
                    let had_popup = self.app.has_popup();
                    self.update(Message::Files(files));
                    if !had_popup && self.app.has_popup() {
                        // The first match does not wait for the next frame.
                        self.painted = None;
                    }
                }
                Happened::Usable(usable) => self.usable(usable),
                Happened::Pasted(image) => self.pasted(image),
                // The agent has the other end of the requests, so they do not end while there is one.
                Happened::Signal | Happened::Request(None) => self.is_over = true,
                Happened::Time => {
                    if self.attention.is_due(Instant::now())
                        && let Some(waiting) = self.app.waits_for()
                    {
                        notify(waiting);
                    }
                    self.take_output();
                    self.update(Message::Tick);
                }
            }
        }
    }

    /// Takes what commands have written since the last time.
    fn take_output(&mut self) {
        for (call, end) in self.talk.output().take_new() {
            self.update(Message::Output(call, end));
        }
    }

    async fn wait(&mut self, interrupts: &mut Interrupts) -> Happened {
        let wake = self.next_frame();
        tokio::select! {
            biased;
            () = interrupts.next() => Happened::Signal,
            input = self.terminal.next() => Happened::Input(input),
            request = self.requests.recv() => Happened::Request(request),
            // The talk has the other end, so they do not end.
            Some(fate) = self.fates.recv() => Happened::Fate(fate),
            decision = submitted(&mut self.submitting) => Happened::Submitted(decision),
            ended = shell::ended(&mut self.shell) => Happened::Shell(ended),
            files = listed(&mut self.listing) => Happened::Files(files),
            usable = ready(&mut self.looking) => Happened::Usable(usable),
            image = ready(&mut self.pasting) => Happened::Pasted(image),
            () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => Happened::Time,
            event = next_event(&mut self.run) => Happened::Run(event.map(Box::new)),
        }
    }

    /// When the next frame is due, if one is.
    fn next_frame(&self) -> Option<Instant> {
        let pause = match (self.is_dirty, self.app.is_moving()) {
            (true, _) => FRAME,
            (false, true) => TICK,
            (false, false) => return self.attention.due(),
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
        self.app.resize(columns, rows);
        let settled = self.app.take_settled(columns.saturating_sub(1).max(1));
        self.settled.extend(settled);
        if let Some(view) = self.app.overlay(columns, rows) {
            self.terminal.overlay(view)?;
        } else {
            let view = self.app.view(columns, rows);
            self.terminal.paint(&mem::take(&mut self.settled), view)?;
        }
        self.is_dirty = false;
        self.painted = Some(Instant::now());
        Ok(())
    }

    fn update(&mut self, message: Message) {
        self.update_at(Instant::now(), message);
    }

    fn update_at(&mut self, now: Instant, message: Message) {
        self.is_dirty = true;
        let now = now.saturating_duration_since(self.started);
        let waited = self.app.waits_for().is_some();
        self.effects.extend(self.app.update(now, message));
        if waited {
            return;
        }
        let Some(waiting) = self.app.waits_for() else {
            return;
        };
        if self.attention.wait(Instant::now()) {
            notify(waiting);
        }
        let session = self.talk.name().map(ToString::to_string);
        let is_question = waiting == Waiting::Decision;
        let moments = self.talk.moments();
        if let Some(work) = moments.waits(session, is_question, waiting.words()) {
            tokio::spawn(work);
        }
    }

    async fn carry_out(&mut self) {
        while let Some(effect) = self.effects.pop_front() {
            self.effect(effect).await;
        }
    }

    fn input(&mut self, input: Option<io::Result<Input>>) -> io::Result<()> {
        let Some(input) = input.transpose()? else {
            self.is_over = true;
            return Ok(());
        };
        self.attention.key();
        match input {
            Input::Text(text, since) => self.update_at(since, Message::Text(text)),
            Input::Event(TerminalEvent::Key(key)) => self.update(Message::Key(key)),
            Input::Event(TerminalEvent::Paste(text)) => self.paste(text),
            Input::Event(TerminalEvent::Resize(..)) => self.is_dirty = true,
            Input::Event(TerminalEvent::FocusGained) => self.attention.set_focus(true),
            Input::Event(TerminalEvent::FocusLost) => self.attention.set_focus(false),
            Input::Event(TerminalEvent::Mouse(_)) => {}
        }
        Ok(())
    }

    /// A paste, or the path of an image that was dragged into the terminal.
    fn paste(&mut self, text: String) {
        let Some(path) = images::dragged(&text) else {
            return self.update(Message::Paste(text));
        };
        match block_in_place(|| self.talk.take_image(&path)) {
            Ok(label) => self.update(Message::Paste(format!("{label} "))),
            Err(error) => {
                self.note(Tone::Bad, error.to_string());
                self.update(Message::Paste(text));
            }
        }
    }

    async fn effect(&mut self, effect: Effect) {
        match effect {
            Effect::Send(text) => self.send(text).await,
            Effect::Inject(text) => self.inject(text).await,
            Effect::Retract(text) => self.retract(&text),
            Effect::Remember(text) => self.history_file.add(&text),
            Effect::CancelGadgets => self.talk.cancel_gadgets(),
            Effect::CancelRun => match &self.run {
                Some((_, handle)) => handle.cancel(),
                None if self.submitting.take().is_some() => {
                    let words = "interrupted before it was sent".to_owned();
                    self.update(Message::Ended(Err(Failure::Run(words))));
                }
                None => {}
            },
            Effect::Answer(id, answer) => self.answers.answer(id, answer),
            Effect::Decide(id, verdict) => {
                if let Some(problem) = self.answers.decide(id, verdict) {
                    self.note(Tone::Bad, problem);
                }
            }
            Effect::Shell(line) => {
                self.shell = Some(Shell::start(line, &self.talk.folder(), self.talk.output()));
            }
            Effect::CancelShell => {
                if let Some(shell) = &self.shell {
                    shell.cancel();
                }
            }
            Effect::Mode(mode) => {
                self.talk.use_mode(mode);
                self.facts_changed();
            }
            Effect::Perform(command) => self.perform(command).await,
            Effect::ListFiles => {
                self.listing = Some(Listing::start(Path::new(".")));
            }
            Effect::ListFolder(folder) => {
                if let Some(listing) = &self.listing {
                    listing.folder(&folder);
                }
            }
            Effect::ListModels => self.looking = Some(self.talk.look()),
            Effect::ListSessions => {
                // `/resume` alone says what is wrong.
                let listed = timeout(LISTING, self.talk.sessions()).await;
                if listed.is_ok_and(|it| it.is_ok()) {
                    self.facts_changed();
                }
            }
            Effect::PasteImage => match self.talk.sees_images() {
                // One at a time: the clipboard may not answer.
                Ok(()) if self.pasting.is_some() => {}
                Ok(()) => self.pasting = Some(clipboard::image().boxed()),
                Err(error) => self.note(Tone::Bad, error.to_string()),
            },
            Effect::Suspend => {
                if let Err(error) = self.terminal.suspend() {
                    self.note(Tone::Bad, error.to_string());
                }
            }
            Effect::Leave => self.is_over = true,
        }
    }

    /// The image in the clipboard, or the reason that it is missing.
    fn pasted(&mut self, image: Result<Media, Error>) {
        match image {
            Ok(image) => {
                let label = self.talk.take_media(image);
                self.update(Message::Paste(format!("{label} ")));
            }
            Err(error) => self.note(Tone::Bad, error.to_string()),
        }
    }

    fn usable(&mut self, usable: Usable) {
        match self.talk.use_usable(usable) {
            Ok(()) => self.facts_changed(),
            Err(error) => self.note(Tone::Bad, error.to_string()),
        }
    }

    fn facts_changed(&mut self) {
        let facts = self.talk.facts().clone();
        self.update(Message::Facts(facts));
    }

    fn shell_ended(&mut self, ended: Option<shell::Ended>) {
        let Some(ended) = ended else {
            return self.update(Message::ShellEnded(Vec::new()));
        };
        let tone = if ended.is_ok { Tone::Plain } else { Tone::Bad };
        let mut reports = vec![Report::Note(
            tone,
            format!("$ {} · {}", ended.line, ended.how),
        )];
        if !ended.output.is_empty() {
            reports.push(Report::Output(ended.output.clone()));
        }
        self.talk.ran(ended.note());
        self.update(Message::ShellEnded(reports));
    }

    fn note(&mut self, tone: Tone, text: String) {
        self.update(Message::Report(Report::Note(tone, text)));
    }

    /// Ends the run that is in progress, and restores the terminal.
    async fn leave(mut self) -> Talk {
        if let Some((mut run, handle)) = self.run.take() {
            handle.cancel();
            let deadline = Instant::now() + PATIENCE;
            while let Ok(Some(event)) = timeout_at(deadline, run.next()).await {
                self.update(Message::Run(Box::new(event)));
            }
            self.carry_out().await;
            if let Some(finished) = run.finished() {
                self.talk.ended(finished);
            }
        }
        self.app.finish();
        let (columns, _) = Terminal::size();
        let settled = self.app.take_settled(columns.saturating_sub(1).max(1));
        self.settled.extend(settled);
        // The terminal may be gone.
        let _ = self
            .terminal
            .paint(&self.settled, super::screen::View::default());
        self.talk
    }
}

async fn next_event(run: &mut Option<(AgentRun<'static>, AgentHandle)>) -> Option<Event> {
    match run {
        Some((run, _)) => run.next().await,
        None => pending().await,
    }
}

/// The output of a future, which is then away; without one, it waits.
async fn ready<T>(future: &mut Option<BoxFuture<'static, T>>) -> T {
    match future {
        Some(it) => {
            let output = it.await;
            *future = None;
            output
        }
        None => pending().await,
    }
}

/// More files, if some are listed.
async fn listed(listing: &mut Option<Listing>) -> Vec<String> {
    match listing {
        Some(listing) => listing.next().await,
        None => pending().await,
    }
}
