//! Costs of a run, and the rest of its budget. All amounts are in US dollars.

use serde::{Deserialize, Serialize};

use crate::call::amount;
use crate::event::EventKind;
use crate::usage::{Price, Usage};

/// The costs of a run and its subagents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Money {
    /// The known costs of this run and its subagents.
    total: f64,
    /// The amount that was spent outside this run and counts for its budget.
    external_spend: f64,
    /// Whether a model call had no known price. Its cost is missing in the total.
    has_unpriced: bool,
}

impl Money {
    /// Adds to the total and returns the amount added. Negative and non-finite amounts count as 0: nothing makes a run
    /// cheaper.
    pub(super) fn charge(&mut self, dollars: f64) -> f64 {
        let cost = amount(dollars);
        self.total = (self.total + cost).min(f64::MAX);
        cost
    }

    /// Adds the cost of a model call; `None` if it is not known.
    pub(super) fn charge_model_call(
        &mut self,
        usage: &Usage,
        price: Option<&Price>,
    ) -> Option<f64> {
        let cost = usage.dollars(price).map(|dollars| self.charge(dollars));
        self.has_unpriced |= cost.is_none();
        cost
    }

    /// Adds what an event of a subagent cost.
    pub(super) fn charge_event(&mut self, kind: &EventKind) {
        match kind.own_cost() {
            Some(cost) => _ = self.charge(cost),
            None => self.has_unpriced = true,
        }
    }

    /// Sets what was spent outside this run so far.
    pub(super) fn set_external_spend(&mut self, dollars: f64) {
        self.external_spend = amount(dollars);
    }

    /// Returns the amount that counts for the budget.
    pub(super) fn spent(&self) -> f64 {
        self.total + self.external_spend
    }

    /// Returns `true` if the budget is used up. Without a budget it never is.
    pub(super) fn exhausts(&self, budget: Option<f64>) -> bool {
        budget.is_some_and(|budget| self.spent() >= budget)
    }

    /// The known costs of this run and its subagents.
    pub(super) fn known_total(&self) -> f64 {
        self.total
    }

    /// The total; `None` if the price of a model call is not known.
    pub(super) fn total(&self) -> Option<f64> {
        (!self.has_unpriced).then_some(self.total)
    }
}
