//! Events of a stored run and the messages that were added to it, in their order.

use std::collections::VecDeque;
use std::mem;

use gadgetry::Event;
use gadgetry::driver::Observer;
use gadgetry::proto::event::EventKind;
use gadgetry::proto::run::{Command, Input};
use gadgetry::proto::time::Time;

/// A part of a stored run.
#[derive(Debug)]
pub(crate) enum Moment {
    /// A message of the user, as it was typed, where the run reads it.
    Added(String),
    Event(Box<Event>),
}

/// Collects the moments of a run while it is played again.
#[derive(Default)]
pub(crate) struct Moments {
    all: Vec<Moment>,
    /// Messages that were added and read, as they were typed.
    typed: VecDeque<String>,
    /// Messages that were added, as the run reads them, until it does.
    waiting: Vec<String>,
}

impl Moments {
    /// `typed` has the messages that were added and read, as they were typed.
    pub(crate) fn new(typed: Vec<String>) -> Self {
        Self {
            typed: typed.into(),
            ..Self::default()
        }
    }

    pub(crate) fn into_vec(self) -> Vec<Moment> {
        self.all
    }
}

impl Observer for Moments {
    fn event(&mut self, event: &Event) {
        if matches!(event.kind, EventKind::ModelCallStart { .. }) && event.path.is_empty() {
            for full in mem::take(&mut self.waiting) {
                let typed = self.typed.pop_front().unwrap_or(full);
                self.all.push(Moment::Added(typed));
            }
        }
        self.all.push(Moment::Event(Box::new(event.clone())));
    }

    fn input(&mut self, _: Time, input: &Input) {
        let Input::Command(command) = input else {
            return;
        };
        match command {
            Command::Inject(text) => self.waiting.push(text.clone()),
            Command::Retract(text) => {
                let index = self.waiting.iter().rposition(|it| it == text);
                _ = index.map(|index| self.waiting.remove(index));
            }
            Command::Cancel | Command::Compact => {}
        }
    }
}
