//! Runs that belong together: a run, the subagents of its gadgets, theirs.

use std::sync::{Arc, Mutex, PoisonError};

use crate::context::CancellationToken;

/// Where a run stands among those that share its cancellation, its budget and the person that they may ask.
///
/// The default is a run of its own. Clones are the same place: two runs that are driven with one family, one after the
/// other, share what they spend.
///
/// ```
/// let family = gadgetry::Family { budget: Some(0.5), ..gadgetry::Family::default() };
/// assert_eq!((family.depth, family.left()), (0, Some(0.5)));
/// ```
#[derive(Clone, Debug)]
pub struct Family {
    /// 0 for a run that nobody's gadget has started, 1 for its subagents, 2 for theirs.
    pub depth: u32,
    /// The depth that subagents may reach; 5 by default.
    pub max_depth: u32,
    /// Cancels the run, and with it its subagents.
    pub cancellation: CancellationToken,
    /// US dollars that all of them may spend together.
    pub budget: Option<f64>,
    /// For spans: empty, or the calls that lead to this run, as `/a.0/b.1`.
    pub(crate) path: Arc<str>,
    pub(crate) ledger: Ledger,
    /// Held by whoever speaks with the person.
    pub(crate) turn: Arc<tokio::sync::Mutex<()>>,
}

impl Default for Family {
    fn default() -> Self {
        Self {
            depth: 0,
            max_depth: 5,
            cancellation: CancellationToken::new(),
            budget: None,
            path: Arc::from(""),
            ledger: Ledger::default(),
            turn: Arc::default(),
        }
    }
}

impl Family {
    /// What all of them have spent, in US dollars; what gadgets have reported that still run is in it.
    pub fn spent(&self) -> f64 {
        self.ledger.total()
    }

    /// What they may still spend, in US dollars, never less than 0; `None` without a budget.
    pub fn left(&self) -> Option<f64> {
        self.budget.map(|budget| (budget - self.spent()).max(0.0))
    }
}

/// What a whole family has spent. Every dollar is written down once, by the run whose model or gadget has cost it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger(Arc<Mutex<f64>>);

impl Ledger {
    pub(crate) fn total(&self) -> f64 {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, dollars: f64) {
        let mut total = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *total = (*total + dollars).min(f64::MAX);
    }
}
