//! Several observers as one, and one observer in several hands.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use gadgetry_proto::event::Event;
use gadgetry_proto::message::Request;
use gadgetry_proto::run::Input;
use gadgetry_proto::time::Time;

use crate::driver::Observer;

/// All of `observers`, in this order.
///
/// If one of them panics, those after it are told nevertheless; then the panic goes on, as it would have without the
/// others. A panic is a mistake in the observer, and is not hidden here.
///
/// ```
/// use gadgetry::presets::{Silent, merge};
/// use gadgetry::proto::event::Event;
/// let mut count = 0;
/// let observers = merge(vec![Box::new(Silent)]).and(|_: &Event| count += 1);
/// # drop(observers);
/// ```
pub fn merge<'a>(observers: Vec<Box<dyn Observer + 'a>>) -> Merged<'a> {
    Merged { observers }
}

/// Several observers as one; see [`merge`].
#[derive(Default)]
pub struct Merged<'a> {
    observers: Vec<Box<dyn Observer + 'a>>,
}

impl<'a> Merged<'a> {
    /// And this one, after the others.
    #[must_use]
    pub fn and(mut self, observer: impl Observer + 'a) -> Self {
        self.observers.push(Box::new(observer));
        self
    }

    fn all(&mut self, mut tell: impl FnMut(&mut dyn Observer)) {
        let mut first = None;
        for observer in &mut self.observers {
            // The observer may be left half-changed; nobody looks at it here, and the panic goes on.
            let told = catch_unwind(AssertUnwindSafe(|| tell(observer.as_mut())));
            if let Err(panic) = told {
                first.get_or_insert(panic);
            }
        }
        if let Some(panic) = first {
            resume_unwind(panic);
        }
    }
}

impl Observer for Merged<'_> {
    fn event(&mut self, event: &Event) {
        self.all(|observer| observer.event(event));
    }

    fn input(&mut self, time: Time, input: &Input) {
        self.all(|observer| observer.input(time, input));
    }

    fn request(&mut self, request: &Request) {
        self.all(|observer| observer.request(request));
    }
}

impl fmt::Debug for Merged<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Merged")
            .field("observers", &self.observers.len())
            .finish()
    }
}

/// An observer in several hands: clones are the same one. One watches a run, another is asked what it saw.
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
    /// Takes it over.
    pub fn new(observer: O) -> Self {
        Self(Arc::new(Mutex::new(observer)))
    }

    /// Gives it to `look`. The run waits if it has something to tell meanwhile. Not for calling from within the
    /// observer itself: that would wait for ever.
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
