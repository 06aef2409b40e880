//! Combines several observers into one, and shares one observer among several owners.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use gadgetry_proto::event::Event;
use gadgetry_proto::message::Request;
use gadgetry_proto::run::Input;
use gadgetry_proto::time::Time;

use crate::observer::Observer;
use crate::panics::panic_text;

/// Combines several observers, which are called in this order.
///
/// An observer that panics is switched off, and an error is logged. The others and the run continue.
///
/// ```
/// use gadgetry::presets::{Silent, merge};
/// use gadgetry::Event;
/// let mut count = 0;
/// let observers = merge(vec![Box::new(Silent)]).and(|_: &Event| count += 1);
/// # drop(observers);
/// ```
pub fn merge<'a>(observers: Vec<Box<dyn Observer + 'a>>) -> Merged<'a> {
    Merged {
        observers: observers.into_iter().map(Some).collect(),
    }
}

/// Several observers as one; see [`merge`].
#[derive(Default)]
pub struct Merged<'a> {
    /// `None` for one that has panicked.
    observers: Vec<Option<Box<dyn Observer + 'a>>>,
}

impl<'a> Merged<'a> {
    /// Adds an observer after the others.
    #[must_use]
    pub fn and(mut self, observer: impl Observer + 'a) -> Self {
        self.observers.push(Some(Box::new(observer)));
        self
    }

    fn each(&mut self, mut show: impl FnMut(&mut dyn Observer)) {
        for slot in &mut self.observers {
            let Some(observer) = slot else {
                continue;
            };
            // The observer may be half-changed after a panic. It is not used again.
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| show(observer.as_mut()))) {
                let text = panic_text("an observer", panic.as_ref());
                tracing::error!("{text}: it is switched off, and the run continues");
                *slot = None;
            }
        }
    }
}

impl Observer for Merged<'_> {
    fn event(&mut self, event: &Event) {
        self.each(|observer| observer.event(event));
    }

    fn input(&mut self, time: Time, input: &Input) {
        self.each(|observer| observer.input(time, input));
    }

    fn request(&mut self, request: &Request) {
        self.each(|observer| observer.request(request));
    }
}

impl fmt::Debug for Merged<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Merged")
            .field("observers", &self.observers.len())
            .finish()
    }
}

/// An observer with several owners: clones are the same observer. One clone watches a run, and another is read afterwards.
///
/// ```
/// use gadgetry::presets::{Shared, Timing};
/// let timing = Shared::new(Timing::default());
/// let observer = timing.clone(); // for the run
/// # drop(observer);
/// println!("{}", timing.with(|timing| timing.report()));
/// ```
#[derive(Debug, Default)]
pub struct Shared<O>(Arc<Mutex<O>>);

impl<O> Shared<O> {
    /// Wraps `observer`.
    pub fn new(observer: O) -> Self {
        Self(Arc::new(Mutex::new(observer)))
    }

    /// Passes the observer to `look`. The run waits for `look` before its next event.
    ///
    /// Calling it from within the observer itself deadlocks.
    pub fn with<R>(&self, look: impl FnOnce(&mut O) -> R) -> R {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<O> Clone for Shared<O> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<O: Observer> Observer for Shared<O> {
    fn event(&mut self, event: &Event) {
        self.with(|observer| observer.event(event));
    }

    fn input(&mut self, time: Time, input: &Input) {
        self.with(|observer| observer.input(time, input));
    }

    fn request(&mut self, request: &Request) {
        self.with(|observer| observer.request(request));
    }
}
