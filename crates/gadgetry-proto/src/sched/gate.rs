//! The gate for ready calls: limits, exclusivity, order.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::id::CallId;
use crate::sched::job;
use crate::sched::job::Job;

/// The ready and the running calls.
///
/// Every gadget has a lane. A lane with room offers the first of its ready calls, so the next call to start is always
/// the least of the offers, whatever the number of ready calls after them.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(super) struct Gate {
    max: Option<u32>,
    running: BTreeMap<CallId, Seat>,
    lanes: Vec<Lane>,
    lane_of: BTreeMap<String, usize>,
    offers: BTreeSet<(CallId, usize)>,
    /// Ready calls that run alone. They need no lane: when one starts, every lane is empty.
    exclusive: BTreeSet<(CallId, usize)>,
}

/// The facts about a call that the gate needs.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(super) struct Seat {
    lane: usize,
    exclusive: bool,
}

#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
struct Lane {
    max: Option<u32>,
    running: u32,
    ready: BTreeSet<CallId>,
    offer: Option<CallId>,
}

impl Gate {
    pub(super) fn new(max: Option<u32>) -> Self {
        Self {
            max: job::cap(max),
            running: BTreeMap::new(),
            lanes: Vec::new(),
            lane_of: BTreeMap::new(),
            offers: BTreeSet::new(),
            exclusive: BTreeSet::new(),
        }
    }

    /// The seat of a call that may become ready later.
    pub(super) fn seat(&mut self, job: &Job) -> Seat {
        let lane = if let Some(lane) = self.lane_of.get(&job.gadget) {
            *lane
        } else {
            self.lane_of.insert(job.gadget.clone(), self.lanes.len());
            self.lanes.push(Lane::default());
            self.lanes.len() - 1
        };
        self.change(lane, |lane| lane.max = job::cap(job.max_concurrent));
        Seat {
            lane,
            exclusive: job.exclusive,
        }
    }

    /// A call is ready.
    pub(super) fn enter(&mut self, id: CallId, seat: Seat) {
        if seat.exclusive {
            self.exclusive.insert((id, seat.lane));
        } else {
            self.change(seat.lane, |lane| {
                lane.ready.insert(id);
            });
        }
    }

    /// Starts the first ready call that may start, unless a call before it holds it back.
    pub(super) fn start_next(&mut self, hold: Option<CallId>) -> Option<CallId> {
        let exclusive = self.exclusive.first().copied();
        let next = self.offers.first().copied();
        let next = [next, exclusive].into_iter().flatten().min()?;
        let seat = Seat {
            lane: next.1,
            exclusive: exclusive == Some(next),
        };
        if !self.has_room(seat) || hold.is_some_and(|hold| hold < next.0) {
            return None;
        }
        self.exclusive.remove(&next);
        self.change(seat.lane, |lane| {
            lane.ready.remove(&next.0);
            lane.running += 1;
        });
        self.running.insert(next.0, seat);
        Some(next.0)
    }

    /// A running call is done. Returns whether it was running.
    pub(super) fn finish(&mut self, id: CallId) -> bool {
        let Some(seat) = self.running.remove(&id) else {
            return false;
        };
        self.change(seat.lane, |lane| {
            lane.running = lane.running.saturating_sub(1);
        });
        true
    }

    /// No call is ready any more.
    pub(super) fn clear_ready(&mut self) {
        self.offers.clear();
        self.exclusive.clear();
        for lane in &mut self.lanes {
            lane.ready.clear();
            lane.offer = None;
        }
    }

    pub(super) fn is_running(&self, id: CallId) -> bool {
        self.running.contains_key(&id)
    }

    pub(super) fn running(&self) -> impl Iterator<Item = CallId> + '_ {
        self.running.keys().copied()
    }

    fn has_room(&self, seat: Seat) -> bool {
        // An exclusive call that runs is the only one that does.
        let first = self.running.values().next();
        match first {
            None => true,
            Some(running) if running.exclusive || seat.exclusive => false,
            Some(_) => self.max.is_none_or(|max| self.running.len() < max as usize),
        }
    }

    /// Changes a lane and renews its offer.
    fn change(&mut self, index: usize, change: impl FnOnce(&mut Lane)) {
        let Some(lane) = self.lanes.get_mut(index) else {
            return;
        };
        change(lane);
        let has_room = lane.max.is_none_or(|max| lane.running < max);
        let offer = lane.ready.first().copied().filter(|_| has_room);
        if offer != lane.offer {
            if let Some(old) = lane.offer {
                self.offers.remove(&(old, index));
            }
            if let Some(new) = offer {
                self.offers.insert((new, index));
            }
            lane.offer = offer;
        }
    }
}
