//! Everybody who is told about a run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use gadgetry_proto::event::Event;
use gadgetry_proto::message::Request;
use gadgetry_proto::run::Input;
use gadgetry_proto::time::Time;
use gadgetry_proto::tree::CostTree;

use crate::context::panic_text;
use crate::driver::Observer;

/// An observer of several runs. One that has panicked is poisoned, and sees nothing any more.
pub(super) type SharedObserver = Arc<Mutex<dyn Observer>>;

/// Observers first, then whoever consumes it.
pub(super) struct Audience<'a> {
    pub(super) observers: &'a [SharedObserver],
    /// What the run has cost so far.
    pub(super) costs: CostTree,
    pub(super) consumer: &'a mut dyn Observer,
}

impl Audience<'_> {
    /// Calls every observer that has not panicked. A panic of one of them must not end the run of others; a panic of the
    /// consumer is the caller's own, and reaches the caller.
    fn each(&self, show: impl Fn(&mut dyn Observer)) {
        for observer in self.observers {
            let Ok(observer) = observer.lock() else {
                continue;
            };
            // The guard inside is dropped while it panics, which poisons the lock.
            let shown = AssertUnwindSafe(|| {
                let mut observer = observer;
                show(&mut *observer);
            });
            if let Err(panic) = catch_unwind(shown) {
                let words = panic_text("an observer", panic.as_ref());
                tracing::error!("{words}: it is switched off, and the run continues");
            }
        }
    }
}

impl Observer for Audience<'_> {
    fn event(&mut self, event: &Event) {
        self.costs.apply(event);
        self.each(|observer| observer.event(event));
        self.consumer.event(event);
    }

    fn input(&mut self, time: Time, input: &Input) {
        self.each(|observer| observer.input(time, input));
        self.consumer.input(time, input);
    }

    fn request(&mut self, request: &Request) {
        self.each(|observer| observer.request(request));
        self.consumer.request(request);
    }
}
