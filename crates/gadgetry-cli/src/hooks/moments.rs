//! Commands about prompts, and about the beginning and the end of a conversation.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::json;
use tokio::time::timeout;

use super::answer::{Answer, Verdict};
use super::commands::{Commands, Failure};
use crate::config::HookEvent;
use crate::error::Error;
use crate::printer::Printer;

/// Maximum time for the commands after a conversation.
const LONGEST_END: Duration = Duration::from_secs(10);

/// The way in which a conversation begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// A new one.
    Startup,
    /// One that is continued.
    Resume,
    /// A new one after another.
    #[cfg(feature = "chat")]
    Clear,
}

/// The way in which it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The user has begun another conversation.
    #[cfg(feature = "chat")]
    Clear,
    /// The user has left.
    #[cfg(feature = "chat")]
    Left,
    /// Something else, such as the end of a run without a user.
    Other,
}

/// The commands about a conversation. Clones are about the same one.
#[derive(Clone, Default)]
pub(crate) struct Moments {
    commands: Option<Commands>,
    phase: Arc<Mutex<Phase>>,
}

#[derive(Clone, Copy, Default)]
enum Phase {
    Before(Start),
    Begun,
    #[default]
    Over,
}

/// What commands say about a prompt that none has denied.
#[derive(Debug, Default)]
pub(crate) struct Submitted {
    /// Text for the model, to follow the prompt.
    pub(crate) context: String,
    /// What went wrong with commands that deny nothing.
    pub(crate) notes: Vec<String>,
}

impl Moments {
    /// The commands about a conversation that begins so.
    pub(crate) fn new(commands: Option<Commands>, start: Start) -> Self {
        Self {
            commands,
            phase: Arc::new(Mutex::new(Phase::Before(start))),
        }
    }

    /// Returns whether a prompt is put to a command.
    #[cfg(feature = "chat")]
    pub(crate) fn is_about_prompts(&self) -> bool {
        let events = [HookEvent::SessionStart, HookEvent::UserPromptSubmit];
        let mut commands = self.commands.iter();
        commands.any(|it| events.iter().any(|event| it.has(*event)))
    }

    /// Puts a prompt to the commands, and before the first one the beginning of the conversation.
    ///
    /// # Errors
    ///
    /// If a command denies the prompt, or cannot be understood.
    pub(crate) async fn submit(
        &self,
        session: Option<&str>,
        prompt: &str,
    ) -> Result<Submitted, Error> {
        let mut submitted = Submitted::default();
        let Some(commands) = &self.commands else {
            return Ok(submitted);
        };
        let session = session.unwrap_or_default();
        let mut add = |answer: Answer| {
            if let Some(context) = answer.context() {
                submitted.context += "\n\n";
                submitted.context += context.trim();
            }
        };
        let phase = *self.phase();
        if let Phase::Before(start) = phase {
            let source = match start {
                Start::Startup => "startup",
                Start::Resume => "resume",
                #[cfg(feature = "chat")]
                Start::Clear => "clear",
            };
            for hook in commands.about(HookEvent::SessionStart, source) {
                let about = json!({ "source": source });
                match commands.put(hook, session, &about).await {
                    Ok(answer) => add(answer),
                    Err(why) => submitted.notes.push(why.words()),
                }
            }
        }
        for hook in commands.about(HookEvent::UserPromptSubmit, "") {
            let about = json!({ "prompt": prompt });
            let answer = commands.put(hook, session, &about).await;
            let answer = answer.map_err(|why| denied(&why.words()))?;
            match answer.verdict() {
                Verdict::Allow => {}
                Verdict::Deny(Some(reason)) => return Err(denied(reason.trim())),
                Verdict::Deny(None) => {
                    return Err(denied(&format!("the hook `{}` denied it", hook.shown())));
                }
                Verdict::Unclear(said) => {
                    let words = format!("the hook `{}` decided {said}", hook.shown());
                    return Err(denied(&words));
                }
            }
            add(answer);
        }
        *self.phase() = Phase::Begun;
        Ok(submitted)
    }

    /// Says that the conversation is over, if it has begun. Returns what went wrong.
    pub(crate) async fn end(&self, session: Option<&str>, ending: Ending) -> Vec<String> {
        let mut notes = Vec::new();
        let before = mem::take(&mut *self.phase());
        let Some(commands) = self.commands.as_ref() else {
            return notes;
        };
        if !matches!(before, Phase::Begun) {
            return notes;
        }
        let reason = match ending {
            #[cfg(feature = "chat")]
            Ending::Clear => "clear",
            #[cfg(feature = "chat")]
            Ending::Left => "prompt_input_exit",
            Ending::Other => "other",
        };
        let all = async {
            for hook in commands.about(HookEvent::SessionEnd, reason) {
                let about = json!({ "reason": reason });
                let answer = commands.put(hook, session.unwrap_or_default(), &about);
                notes.extend(answer.await.err().map(Failure::words));
            }
        };
        // The user has left.
        if timeout(LONGEST_END, all).await.is_err() {
            notes.push("the hooks of SessionEnd have taken too long".to_owned());
        }
        notes
    }

    /// The commands to run when the program begins to wait for the user: for a decision, or for the next message.
    #[cfg(feature = "chat")]
    pub(crate) fn waits(
        &self,
        session: Option<String>,
        is_question: bool,
        message: &'static str,
    ) -> Option<impl Future<Output = ()> + Send + use<>> {
        let commands = self.commands.clone();
        let commands = commands.filter(|it| it.has(HookEvent::Notification))?;
        let kind = if is_question {
            "permission_prompt"
        } else {
            "idle_prompt"
        };
        Some(async move {
            for hook in commands.about(HookEvent::Notification, kind) {
                let about = json!({ "message": message, "notification_type": kind });
                let session = session.as_deref().unwrap_or_default();
                if let Err(why) = commands.put(hook, session, &about).await {
                    tracing::warn!("{}", why.words());
                }
            }
        })
    }

    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Shows what went wrong.
pub(crate) fn noted(notes: &[String], printer: &Printer) {
    for note in notes {
        printer.progress(&format!("{note}\n"));
    }
}

fn denied(why: &str) -> Error {
    Error::Failed(format!("the prompt was not sent: {why}"))
}
