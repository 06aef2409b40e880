//! The trait for code that watches a run.

use gadgetry_proto::event::Event;
use gadgetry_proto::message::Request;
use gadgetry_proto::run::Input;
use gadgetry_proto::time::Time;

/// Watches a run without influencing it.
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

    /// Receives a request that goes to the model, right after its event. Requests of subagents are not reported here.
    fn request(&mut self, request: &Request) {
        let _ = request;
    }
}

impl<F: FnMut(&Event) + Send> Observer for F {
    fn event(&mut self, event: &Event) {
        self(event);
    }
}
