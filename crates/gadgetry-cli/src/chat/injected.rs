//! Messages that were added to a run, until the run has read them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gadgetry::Observer;
use gadgetry::proto::event::Event;
use gadgetry::proto::run::{Command, Input};
use gadgetry::proto::time::Time;

/// The messages that wait. A run that ends at the same moment leaves some. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Injected(Arc<Mutex<VecDeque<Message>>>);

#[derive(Debug)]
struct Message {
    /// As the run reads it.
    full: String,
    typed: String,
}

impl Injected {
    /// Takes note of a message that was added.
    pub(super) fn add(&self, full: String, typed: String) {
        self.lock().push_back(Message { full, typed });
    }

    /// Takes the messages that no run will read, as they were typed.
    pub(super) fn take(&self) -> Vec<String> {
        self.lock().drain(..).map(|it| it.typed).collect()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Message>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Injected {
    fn event(&mut self, _: &Event) {}

    fn input(&mut self, _: Time, input: &Input) {
        if let Input::Command(Command::Inject(text)) = input {
            let mut messages = self.lock();
            if let Some(index) = messages.iter().position(|it| it.full == *text) {
                messages.remove(index);
            }
        }
    }
}
