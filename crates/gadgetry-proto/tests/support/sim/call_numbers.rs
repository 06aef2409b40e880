//! What must hold for the numbers of calls in events.

use std::collections::BTreeMap;

use gadgetry_proto::event::{Event, EventKind};
use gadgetry_proto::id::{CallId, InvocationId};

/// Follows the calls of one run by their numbers alone.
#[derive(Default)]
pub(super) struct CallNumbers {
    calls: BTreeMap<CallId, Known>,
}

struct Known {
    invocation_id: InvocationId,
    is_complete: bool,
    is_answered: bool,
}

impl CallNumbers {
    /// Looks at an event of the run itself, and panics if its number is another call's.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "kinds without a call do not get to the match"
    )]
    pub(super) fn event(&mut self, event: &Event) {
        let kind = &event.kind;
        assert_eq!(kind.call().is_some(), has_invocation_id(event), "{event:?}");
        let Some(call) = kind.call() else { return };
        match kind {
            EventKind::GadgetCallStart { start, .. } => {
                let before = self.calls.insert(call, Known::new(&start.invocation_id));
                assert!(before.is_none(), "{call} is announced twice");
            }
            EventKind::GadgetArgsPartial { args, .. } => {
                let known = &self.calls[&call];
                assert_eq!(known.invocation_id, args.invocation_id, "{call}");
                assert!(!known.is_complete, "{call} is complete");
            }
            EventKind::GadgetCall { written, .. } => {
                let id = &written.invocation_id;
                let known = self.calls.entry(call).or_insert_with(|| Known::new(id));
                assert_eq!(known.invocation_id, *id, "{call}");
                assert!(!known.is_complete, "{call} is complete twice");
                known.is_complete = true;
            }
            EventKind::GadgetRestarted { invocation_id, .. } => {
                let known = self.complete(call, invocation_id);
                assert!(!known.is_answered, "{call} starts again after its answer");
            }
            EventKind::GadgetStart { invocation_id, .. }
            | EventKind::GadgetCost { invocation_id, .. }
            | EventKind::GadgetProgress { invocation_id, .. }
            | EventKind::ApprovalRequired { invocation_id, .. }
            | EventKind::ApprovalAnswered { invocation_id, .. } => {
                self.complete(call, invocation_id);
            }
            EventKind::GadgetResult { invocation_id, .. }
            | EventKind::GadgetSkipped { invocation_id, .. } => {
                let known = self.complete(call, invocation_id);
                assert!(!known.is_answered, "{call} is answered twice");
                known.is_answered = true;
            }
            EventKind::HumanInputRequired { invocation_id, .. }
            | EventKind::HumanInputReceived { invocation_id, .. } => {
                let id = invocation_id.as_ref().expect("the id of the call");
                self.complete(call, id);
            }
            other => panic!("{other:?} has a call"),
        }
    }

    fn complete(&mut self, call: CallId, id: &InvocationId) -> &mut Known {
        let known = self.calls.get_mut(&call);
        let known = known.unwrap_or_else(|| panic!("{call} is not known"));
        assert_eq!(known.invocation_id, *id, "{call}");
        assert!(known.is_complete, "{call} is not complete");
        known
    }

    /// Every call that was complete is answered.
    pub(super) fn end(&self) {
        for (call, known) in &self.calls {
            assert_eq!(known.is_complete, known.is_answered, "{call} at the end");
        }
    }
}

impl Known {
    fn new(id: &InvocationId) -> Self {
        Self {
            invocation_id: id.clone(),
            is_complete: false,
            is_answered: false,
        }
    }
}

/// Whether the JSON of the event names a call.
fn has_invocation_id(event: &Event) -> bool {
    let json = serde_json::to_value(&event.kind).expect("events are JSON");
    json.get("invocationId").is_some()
}
