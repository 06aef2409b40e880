//! Messages that were added to a run, until the model reads them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gadgetry::Observer;
use gadgetry::proto::event::{Event, EventKind};
use gadgetry::proto::run::{Command, Input};
use gadgetry::proto::time::Time;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The messages that wait. A run that ends leaves some. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Injected {
    waiting: Arc<Mutex<VecDeque<Message>>>,
    fates: Option<UnboundedSender<Fate>>,
}

/// End of the wait of a message, as it was typed.
#[derive(Debug)]
pub(super) enum Fate {
    /// The next request has it.
    Read(String),
    /// The user has taken it back.
    TakenBack(String),
}

#[derive(Debug)]
struct Message {
    /// As the run reads it.
    full: String,
    typed: String,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// On its way to the run.
    Sent,
    /// The run has taken the message.
    Taken,
    /// In the next request, if there is one.
    Due,
}

impl Injected {
    /// No messages yet, and the channel that reports when their wait ends.
    pub(super) fn new() -> (Self, UnboundedReceiver<Fate>) {
        let (fates, receiver) = unbounded_channel();
        let injected = Self {
            waiting: Arc::default(),
            fates: Some(fates),
        };
        (injected, receiver)
    }

    /// Takes note of a message that was added.
    pub(super) fn add(&self, full: String, typed: String) {
        let place = Place::Sent;
        self.lock().push_back(Message { full, typed, place });
    }

    /// Returns the latest message that was typed like this, as the run reads it.
    pub(super) fn full(&self, typed: &str) -> Option<String> {
        let waiting = self.lock();
        let latest = waiting.iter().rfind(|it| it.typed == typed);
        latest.map(|it| it.full.clone())
    }

    /// Takes the messages that no run will read, as they were typed.
    pub(super) fn take(&self) -> Vec<String> {
        self.lock().drain(..).map(|it| it.typed).collect()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Message>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, fate: Fate) {
        if let Some(fates) = &self.fates {
            // The conversation may be over.
            let _ = fates.send(fate);
        }
    }
}

impl Observer for Injected {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the others decide nothing about messages"
    )]
    fn event(&mut self, event: &Event) {
        if !event.path.is_empty() {
            return;
        }
        let mut waiting = self.lock();
        match event.kind {
            // The run takes what it has into the next request, in the same step.
            EventKind::IterationEnd { .. } => {
                for message in waiting.iter_mut().filter(|it| it.place == Place::Taken) {
                    message.place = Place::Due;
                }
            }
            EventKind::ModelCallStart { .. } => {
                while let Some(index) = waiting.iter().position(|it| it.place == Place::Due) {
                    if let Some(message) = waiting.remove(index) {
                        self.send(Fate::Read(message.typed));
                    }
                }
            }
            _ => {}
        }
    }

    fn input(&mut self, _: Time, input: &Input) {
        let Input::Command(command) = input else {
            return;
        };
        let mut waiting = self.lock();
        match command {
            Command::Inject(text) => {
                let mut sent = waiting.iter_mut();
                let sent = sent.find(|it| it.place == Place::Sent && it.full == *text);
                if let Some(message) = sent {
                    message.place = Place::Taken;
                }
            }
            Command::Retract(text) => {
                let is_latest = |it: &Message| it.place == Place::Taken && it.full == *text;
                let index = waiting.iter().rposition(is_latest);
                if let Some(message) = index.and_then(|index| waiting.remove(index)) {
                    self.send(Fate::TakenBack(message.typed));
                }
            }
            Command::Cancel | Command::Compact => {}
        }
    }
}
