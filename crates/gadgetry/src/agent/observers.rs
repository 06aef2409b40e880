//! The observers of a run of an agent.

use std::sync::{Arc, Mutex};

use gadgetry_proto::event::Event;
use gadgetry_proto::message::Request;
use gadgetry_proto::run::Input;
use gadgetry_proto::time::Time;
use gadgetry_proto::tree::CostTree;

use crate::observer::Observer;
use crate::presets::{Merged, merge};

/// An observer of all runs of an agent.
pub(super) type SharedObserver = Arc<Mutex<dyn Observer>>;

/// The observers of the agent, and then the consumer of the run.
pub(super) struct Observers<'a> {
    /// An observer that panics is switched off; see [`merge`].
    shared: Merged<'static>,
    /// Costs of the run so far.
    pub(super) costs: CostTree,
    /// A panic of the consumer reaches the caller, whose code it is.
    consumer: &'a mut dyn Observer,
}

impl<'a> Observers<'a> {
    pub(super) fn new(observers: &[SharedObserver], consumer: &'a mut dyn Observer) -> Self {
        let observers = observers
            .iter()
            .map(|observer| Box::new(OfAllRuns(Arc::clone(observer))) as Box<dyn Observer>);
        Self {
            shared: merge(observers.collect()),
            costs: CostTree::default(),
            consumer,
        }
    }
}

impl Observer for Observers<'_> {
    fn event(&mut self, event: &Event) {
        self.costs.apply(event);
        self.shared.event(event);
        self.consumer.event(event);
    }

    fn input(&mut self, time: Time, input: &Input) {
        self.shared.input(time, input);
        self.consumer.input(time, input);
    }

    fn request(&mut self, request: &Request) {
        self.shared.request(request);
        self.consumer.request(request);
    }
}

/// One run's handle of a shared observer. A panic poisons the lock, which switches it off in all runs.
struct OfAllRuns(SharedObserver);

impl Observer for OfAllRuns {
    fn event(&mut self, event: &Event) {
        if let Ok(mut observer) = self.0.lock() {
            observer.event(event);
        }
    }

    fn input(&mut self, time: Time, input: &Input) {
        if let Ok(mut observer) = self.0.lock() {
            observer.input(time, input);
        }
    }

    fn request(&mut self, request: &Request) {
        if let Ok(mut observer) = self.0.lock() {
            observer.request(request);
        }
    }
}
