//! The observers of a run of an agent, after its hooks.

use gadgetry_proto::event::Event;
use gadgetry_proto::message::Request;
use gadgetry_proto::run::Input;
use gadgetry_proto::time::Time;
use gadgetry_proto::tree::CostTree;

use crate::observer::Observer;

/// The costs, and then the consumer of the run.
pub(super) struct Observers<'a> {
    /// Costs of the run so far.
    pub(super) costs: CostTree,
    /// A panic of the consumer reaches the caller, whose code it is.
    pub(super) consumer: &'a mut dyn Observer,
}

impl Observer for Observers<'_> {
    fn event(&mut self, event: &Event) {
        self.costs.apply(event);
        self.consumer.event(event);
    }

    fn input(&mut self, time: Time, input: &Input) {
        self.consumer.input(time, input);
    }

    fn request(&mut self, request: &Request) {
        self.consumer.request(request);
    }
}
