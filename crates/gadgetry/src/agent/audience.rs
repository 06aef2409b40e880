//! Everybody who is told about a run.

use std::sync::{Arc, Mutex, PoisonError};

use gadgetry_proto::event::Event;
use gadgetry_proto::message::Request;
use gadgetry_proto::run::Input;
use gadgetry_proto::time::Time;
use gadgetry_proto::tree::CostTree;

use crate::driver::Observer;

/// An observer that several runs tell.
pub(super) type SharedObserver = Arc<Mutex<dyn Observer>>;

/// Observers first, then whoever consumes it.
pub(super) struct Audience<'a> {
    pub(super) observers: &'a [SharedObserver],
    /// What the run has cost so far.
    pub(super) costs: CostTree,
    pub(super) consumer: &'a mut dyn Observer,
}

impl Observer for Audience<'_> {
    fn event(&mut self, event: &Event) {
        self.costs.apply(event);
        for observer in self.observers {
            let mut observer = observer.lock().unwrap_or_else(PoisonError::into_inner);
            observer.event(event);
        }
        self.consumer.event(event);
    }

    fn input(&mut self, time: Time, input: &Input) {
        for observer in self.observers {
            let mut observer = observer.lock().unwrap_or_else(PoisonError::into_inner);
            observer.input(time, input);
        }
        self.consumer.input(time, input);
    }

    fn request(&mut self, request: &Request) {
        for observer in self.observers {
            let mut observer = observer.lock().unwrap_or_else(PoisonError::into_inner);
            observer.request(request);
        }
        self.consumer.request(request);
    }
}
