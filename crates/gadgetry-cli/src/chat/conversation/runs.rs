//! Runs of the conversation: messages, events, the end, and commands.

use std::mem;

use futures_util::{FutureExt as _, StreamExt as _};
use gadgetry::proto::event::{Event, FinishReason};
use gadgetry::proto::message::Role;
use gadgetry::{AgentRun, NotInjected};
use tokio::task::block_in_place;

use super::Conversation;
use crate::chat::commands::Entered;
use crate::chat::injected::Fate;
use crate::chat::perform::perform;
use crate::chat::prompt::Prompt;
use crate::chat::report::Tone;
use crate::chat::state::{Failure, Message};
use crate::chat::submitting::Submitting;
use crate::chat::terminal::Terminal;
use crate::cli::SessionName;
use crate::error::Error;
use crate::follow::verdict;
use crate::hooks::Submitted;

/// Events of a run that are handled at once.
const AT_ONCE: usize = 256;

impl Conversation {
    /// Handles an event of the run, and those that are ready after it. `None` is the end of the run.
    pub(super) async fn run_event(&mut self, event: Option<Event>) {
        let mut next = event;
        for _ in 0..AT_ONCE {
            let Some(event) = next else {
                self.end_run().await;
                return;
            };
            // The event may be the one that a message is read with.
            while let Ok(fate) = self.fates.try_recv() {
                self.fate(fate).await;
            }
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
            self.end_run().await;
        }
    }

    async fn end_run(&mut self) {
        let Some((run, _)) = self.run.take() else {
            return;
        };
        let result = match run.finished() {
            Some(finished) => {
                self.talk.ended(finished);
                match &finished.fault {
                    Some(fault) => Err(Failure::Run(format!("the run was stopped: {fault}"))),
                    None => verdict(&finished.summary).map_err(|error| {
                        let words = error.to_string();
                        if finished.summary.reason == FinishReason::ModelError {
                            Failure::Model(words)
                        } else {
                            Failure::Run(words)
                        }
                    }),
                }
            }
            None => Err(Failure::Run("the run was left".to_owned())),
        };
        self.answers.clear();
        self.note_problem();
        match self.talk.take_unread().await {
            Ok(unread) => {
                for text in unread {
                    self.update(Message::NotInjected(text));
                }
            }
            Err(error) => self.note(Tone::Bad, error.to_string()),
        }
        self.update(Message::Ended(result));
    }

    /// Begins a run about a message.
    pub(super) async fn send(&mut self, typed: String) {
        let Some(prompt) = self.prompt(typed) else {
            return;
        };
        self.update(Message::Began(prompt.typed.clone()));
        self.attached(&prompt.problems);
        if self.talk.moments().is_about_prompts() {
            self.submitting = Some(Submitting::start(&self.talk, prompt, false));
            return;
        }
        self.ask(prompt).await;
    }

    /// The commands have decided.
    pub(super) async fn decided(&mut self, decision: Result<Submitted, Error>) {
        let Some(mut submitting) = self.submitting.take() else {
            return;
        };
        let is_added = submitting.is_added;
        let mut prompt = mem::take(&mut submitting.prompt);
        match decision {
            Ok(submitted) => {
                self.attached(&submitted.notes);
                prompt.full += &submitted.context;
                if is_added {
                    self.add(prompt).await;
                } else {
                    self.ask(prompt).await;
                }
            }
            Err(error) => {
                if is_added {
                    self.note(Tone::Bad, error.to_string());
                } else {
                    self.update(Message::Ended(Err(Failure::Run(error.to_string()))));
                }
                self.update(Message::Draft(prompt.typed));
            }
        }
    }

    async fn ask(&mut self, prompt: Prompt) {
        match self.talk.ask(prompt).await {
            Ok(run) => self.follow(run),
            Err(error) => self.update(Message::Ended(Err(Failure::Run(error.to_string())))),
        }
    }

    /// Says what the user does not know of yet.
    pub(super) fn note_problem(&mut self) {
        if let Some(problem) = self.talk.take_problem() {
            self.note(Tone::Alert, problem);
        }
    }

    pub(super) fn follow(&mut self, run: AgentRun<'static>) {
        let handle = run.handle();
        self.run = Some((run, handle));
    }

    /// Adds a message to the run.
    pub(super) async fn inject(&mut self, typed: String) {
        // One at a time.
        if self.run.is_none() || self.submitting.is_some() {
            self.update(Message::NotInjected(typed));
            return;
        }
        let Some(prompt) = self.prompt(typed) else {
            return;
        };
        if !prompt.images.is_empty() {
            let words = "a message with images begins another run, after this one";
            self.note(Tone::Plain, words.to_owned());
            return self.update(Message::NotInjected(prompt.typed));
        }
        self.attached(&prompt.problems);
        if self.talk.moments().is_about_prompts() {
            self.submitting = Some(Submitting::start(&self.talk, prompt, true));
            return;
        }
        self.add(prompt).await;
    }

    async fn add(&mut self, prompt: Prompt) {
        let Some((_, handle)) = &self.run else {
            self.update(Message::NotInjected(prompt.typed));
            return;
        };
        let handle = handle.clone();
        self.update(Message::Added(prompt.typed.clone()));
        // Noted before it is sent, because the run may read it at once.
        let added = self.talk.added(prompt.full.clone(), &prompt.typed);
        if let Err(error) = added.await {
            self.note(Tone::Bad, error.to_string());
        }
        // If the run is over, its end brings the message back.
        if handle.inject(prompt.full) == Err(NotInjected::TooMany) {
            self.note(Tone::Bad, "too many messages wait for the run".to_owned());
        }
    }

    /// Takes back a message that was added to the run, if the model has not read it.
    pub(super) fn retract(&self, typed: &str) {
        if let Some((_, handle)) = &self.run
            && let Some(full) = self.talk.full(typed)
        {
            // If the run is over, its end brings the message back.
            let _ = handle.retract(full);
        }
    }

    /// The wait of an added message is over.
    pub(super) async fn fate(&mut self, fate: Fate) {
        match fate {
            Fate::Read(typed) => self.update(Message::Read(typed)),
            Fate::TakenBack(typed) => {
                if let Err(error) = self.talk.taken_back(&typed).await {
                    self.note(Tone::Bad, error.to_string());
                }
                self.update(Message::TakenBack(typed));
            }
        }
    }

    /// Carries out a command.
    pub(super) async fn perform(&mut self, command: Entered) {
        if command == Entered::Copy {
            return self.copy();
        }
        if let Entered::Resume(Some(name)) = &command
            && self.run.is_none()
        {
            return self.resume(name.clone()).await;
        }
        self.carry_out_command(command).await;
    }

    /// Leaves for another session, if there is one of this name.
    async fn resume(&mut self, name: SessionName) {
        match self.talk.check_session(&name).await {
            Ok(()) => {
                self.next = Some(name);
                self.is_over = true;
            }
            Err(error) => self.note(Tone::Bad, error.to_string()),
        }
    }

    /// Gives the last answer to the terminal's clipboard.
    fn copy(&mut self) {
        let said = self.talk.said();
        let answer = said.iter().rfind(|(role, _)| *role == Role::Assistant);
        let Some((_, answer)) = answer else {
            return self.note(Tone::Bad, "there is no answer to copy".to_owned());
        };
        match Terminal::copy(answer) {
            Ok(()) => self.note(
                Tone::Plain,
                "the answer is in the clipboard, if the terminal admits it (OSC 52)".to_owned(),
            ),
            Err(error) => self.note(Tone::Bad, error.to_string()),
        }
    }

    async fn carry_out_command(&mut self, command: Entered) {
        let picks_session = command == Entered::Resume(None);
        let picks_model = command == Entered::Model(None);
        let picks_profile = command == Entered::Profile(None);
        let run = self.run.as_ref().map(|(_, handle)| handle);
        match perform(&mut self.talk, run, command).await {
            Ok(performed) => {
                let facts = self.talk.facts().clone();
                let names = &facts.names;
                let draft = match () {
                    () if picks_session && !names.sessions.is_empty() => Some("/resume "),
                    () if picks_model && !names.models.is_empty() => Some("/model "),
                    () if picks_profile && !names.profiles.is_empty() => Some("/profile "),
                    () => None,
                };
                self.update(Message::Facts(facts));
                if let Some(draft) = draft {
                    return self.update(Message::Draft(draft.to_owned()));
                }
                for report in performed.reports {
                    self.update(Message::Report(report));
                }
                if let Some(draft) = performed.draft {
                    self.update(Message::Draft(draft));
                }
            }
            Err(error) => self.note(Tone::Bad, error.to_string()),
        }
    }

    /// The message that a text means; says what is wrong with it.
    fn prompt(&mut self, typed: String) -> Option<Prompt> {
        let talk = &self.talk;
        match block_in_place(|| talk.prompt(typed)) {
            Ok(prompt) => Some(prompt),
            Err(error) => {
                self.note(Tone::Bad, error.to_string());
                None
            }
        }
    }

    fn attached(&mut self, problems: &[String]) {
        for problem in problems {
            self.note(Tone::Alert, problem.clone());
        }
    }
}
