//! The numbers of calls: given when a call is announced, kept when it is complete.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::id::{CallId, InvocationId};

/// Gives each call of a run its [`CallId`].
///
/// A call has its number as soon as its header is complete, so that all its events carry it. Three things keep that from
/// being a plain count of complete calls:
///
/// - calls through a provider's interface stream in parallel, and may be completed in another order than they began;
/// - a transform may drop a complete call that was announced;
/// - a reply may end before a call does.
///
/// So a number that was given is never given again, and numbers may be missing among the complete calls.
///
/// With calls `a` and `b` announced, `b` complete and then `c`, which was never announced:
///
/// ```text
/// announce a → 0   announce b → 1   complete b → 1 (slot 0)   complete c → 2 (slot 1)
/// slots: [None, Some(0), Some(1)]   announced: {a: 0}
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct CallNumbers {
    /// The first number of the current reply.
    first: u32,
    /// Slots of the calls among the complete calls of the reply, by number from `first` on.
    slots: Vec<Option<usize>>,
    /// The calls of the current reply that are announced and not complete.
    announced: BTreeMap<InvocationId, CallId>,
}

impl CallNumbers {
    /// The header of a call is complete. A second header with the same id begins another call.
    pub(super) fn announce(&mut self, id: &InvocationId) -> CallId {
        let call = self.next();
        self.announced.insert(id.clone(), call);
        call
    }

    /// The call that a piece with this id belongs to.
    pub(super) fn of_piece(&mut self, id: &InvocationId) -> CallId {
        // Only a transform that makes up pieces has not announced the call.
        match self.announced.get(id) {
            Some(call) => *call,
            None => self.announce(id),
        }
    }

    /// The call is complete and goes into this slot.
    pub(super) fn complete(&mut self, id: &InvocationId, slot: usize) -> CallId {
        let call = match self.announced.remove(id) {
            Some(call) => call,
            None => self.next(),
        };
        let at = self.index(call);
        if let Some(place) = at.and_then(|at| self.slots.get_mut(at)) {
            *place = Some(slot);
        }
        call
    }

    /// The slot of a complete call of the current reply.
    pub(super) fn slot(&self, call: CallId) -> Option<usize> {
        self.slots.get(self.index(call)?).copied().flatten()
    }

    /// Returns `true` if the call was written in an earlier reply.
    pub(super) fn is_earlier(&self, call: CallId) -> bool {
        call.0 < self.first
    }

    /// The reply has ended: what was announced and is not complete never will be.
    pub(super) fn end_reply(&mut self) {
        self.announced.clear();
    }

    /// The calls of the reply are answered, and their slots are free.
    pub(super) fn next_reply(&mut self) {
        self.end_reply();
        self.first = self.next_number();
        self.slots.clear();
    }

    fn next(&mut self) -> CallId {
        let call = CallId(self.next_number());
        self.slots.push(None);
        call
    }

    fn next_number(&self) -> u32 {
        // No run has that many calls.
        let given = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        self.first.saturating_add(given)
    }

    fn index(&self, call: CallId) -> Option<usize> {
        call.0.checked_sub(self.first).map(|at| at as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Applies steps and compares the numbers they give: `+a` announces, `.a` is a piece, `a` completes, `|` ends the
    /// reply, `/` begins the next.
    fn check(steps: &str, numbers: &[u32]) {
        let mut calls = CallNumbers::default();
        let mut given = Vec::new();
        let mut slots = BTreeMap::new();
        for step in steps.split_whitespace() {
            let id = InvocationId::from(step.trim_start_matches(['+', '.']));
            match step.as_bytes()[0] {
                b'|' => calls.end_reply(),
                b'/' => {
                    calls.next_reply();
                    slots.clear();
                }
                b'+' => given.push(calls.announce(&id)),
                b'.' => given.push(calls.of_piece(&id)),
                _ => {
                    let call = calls.complete(&id, slots.len());
                    let before = slots.insert(call, slots.len());
                    assert_eq!(before, None, "{steps}: {call} is complete twice");
                    given.push(call);
                }
            }
            for (call, slot) in &slots {
                assert_eq!(calls.slot(*call), Some(*slot), "{steps}: {call}");
                assert!(!calls.is_earlier(*call), "{steps}: {call}");
            }
        }
        let given: Vec<u32> = given.iter().map(|call| call.0).collect();
        assert_eq!(given, numbers, "{steps}");
    }

    #[test]
    fn a_call_keeps_its_number_and_no_other_call_gets_it() {
        check("+a .a .a a +b .b b", &[0, 0, 0, 0, 1, 1, 1]);
        check("a b", &[0, 1]);
        // In parallel, completed in another order.
        check("+a +b .a b a", &[0, 1, 0, 1, 0]);
        // Never complete, and the same id again.
        check("+a +b b", &[0, 1, 1]);
        check("+a +a .a a a", &[0, 1, 1, 1, 2]);
        check(".a a", &[0, 0]);
        // Cut off: a later call of that id is another one.
        check("+a | a", &[0, 1]);
        check("+a a +b | / +b b", &[0, 0, 1, 2, 2]);
        check("a / / b", &[0, 1]);
    }

    #[test]
    fn calls_of_earlier_replies_and_unknown_calls_have_no_slot() {
        let mut calls = CallNumbers::default();
        let first = calls.complete(&"a".into(), 0);
        calls.next_reply();
        assert_eq!(calls.slot(first), None);
        assert!(calls.is_earlier(first));
        let announced = calls.announce(&"b".into());
        assert_eq!(calls.slot(announced), None);
        assert_eq!(calls.slot(CallId(9)), None);
    }
}
