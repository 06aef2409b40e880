//! The trait for code that watches a run.

use std::sync::{Arc, Mutex};

use futures_core::future::BoxFuture;
use gadgetry_proto::event::Event;
use gadgetry_proto::message::Request;
use gadgetry_proto::run::{Asks, Decision, Input, QuestionKind};
use gadgetry_proto::time::Time;

use crate::control::{DynHook, RunContext, Seen};

/// Watches runs without influencing them: the simple form of a [`Hook`](crate::Hook), with `&mut self`.
///
/// Any `FnMut(&Event)` is an observer. [`presets`](crate::presets) has ready-made ones, and
/// [`merge`](crate::presets::merge) makes one observer of several.
///
/// ```
/// use gadgetry::{Event, Observer};
///
/// struct Count(usize);
/// impl Observer for Count {
///     fn event(&mut self, _event: &Event) {
///         self.0 += 1;
///     }
/// }
/// # let mut observer: Box<dyn Observer> = Box::new(Count(0));
/// # let _ = &mut observer;
/// ```
pub trait Observer: Send {
    /// Receives the next event.
    fn event(&mut self, event: &Event);

    /// Receives an input of the run before the run handles it. The inputs with their times are the log from which the
    /// run can be [replayed](crate::log).
    fn input(&mut self, time: Time, input: &Input) {
        let _ = (time, input);
    }

    /// Receives a request to the model, right after its event. Requests of subagents are not reported here.
    fn request(&mut self, request: &Request) {
        let _ = request;
    }
}

impl<F: FnMut(&Event) + Send> Observer for F {
    fn event(&mut self, event: &Event) {
        self(event);
    }
}

/// Makes an observer a hook of an agent: it sees the events of all runs, one after another.
pub(crate) fn as_hook(observer: impl Observer + 'static) -> Arc<dyn DynHook> {
    Arc::new(OfAllRuns(Mutex::new(observer)))
}

/// A panic poisons the lock, which switches the observer off in all runs.
struct OfAllRuns<O>(Mutex<O>);

impl<O: Observer> DynHook for OfAllRuns<O> {
    fn questions(&self) -> Asks {
        Asks::default()
    }

    fn decide<'a>(&'a self, _: &'a RunContext, _: &'a QuestionKind) -> BoxFuture<'a, Decision> {
        Box::pin(std::future::ready(Decision::Proceed))
    }

    fn watch(&self, _: &RunContext, seen: Seen<'_>) {
        let Ok(mut observer) = self.0.lock() else {
            return;
        };
        match seen {
            Seen::Event(event) => observer.event(event),
            Seen::Input(time, input) => observer.input(time, input),
            Seen::Request(request) => observer.request(request),
        }
    }
}
