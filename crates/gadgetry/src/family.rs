//! Runs that belong together: a run, the subagents of its gadgets, theirs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::context::CancellationToken;

/// Where a run stands among those that share its cancellation, its budget and the person that they may ask.
///
/// The default is a run of its own. Clones are the same place: two runs that are driven with one family, one after the
/// other, share what they spend.
///
/// ```
/// let family = gadgetry::Family::limited_to(0.5);
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
    /// US dollars that all of them may spend together. Gadgets and their models obey it; a run obeys the one of its
    /// [`RunSpec`](gadgetry_proto::run::RunSpec), which should be the same.
    pub budget: Option<f64>,
    /// For spans: `/`, or the calls that lead to this run, as `/a.0/b.1`.
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
            path: Arc::from("/"),
            ledger: Ledger::default(),
            turn: Arc::default(),
        }
    }
}

impl Family {
    /// A run of its own that may spend so many US dollars.
    pub fn limited_to(dollars: f64) -> Self {
        Self {
            budget: Some(dollars),
            ..Self::default()
        }
    }

    /// What all of them have spent, in US dollars; what gadgets have reported that still run is in it.
    pub fn spent(&self) -> f64 {
        self.ledger.total()
    }

    /// What they may still spend, in US dollars, never less than 0; `None` without a budget.
    pub fn left(&self) -> Option<f64> {
        let inner = (self.budget, &self.ledger);
        let all = std::iter::once(inner).chain(self.ledger.around());
        let left = all.filter_map(|(budget, ledger)| Some((budget? - ledger.total()).max(0.0)));
        left.reduce(f64::min)
    }
}

impl Family {
    /// The place of a subagent: one deeper, cancelled with the call that starts it.
    pub(crate) fn child(&self, cancellation: CancellationToken, call: &str, agent: u32) -> Self {
        let parent = self.path.trim_end_matches('/');
        Self {
            depth: self.depth.saturating_add(1),
            cancellation,
            path: format!("{parent}/{call}.{agent}").into(),
            ..self.clone()
        }
    }

    /// The same place with `dollars` for itself and those below it, inside what the family may spend.
    pub(crate) fn narrowed(&self, dollars: f64) -> Self {
        let outer = (self.budget, self.ledger.clone());
        let ledger = Ledger {
            total: Arc::default(),
            outer: Some(Arc::new(outer)),
        };
        Self {
            budget: Some(dollars),
            ledger,
            ..self.clone()
        }
    }
}

/// What a whole family has spent. Every dollar is written down once, by the run whose model or gadget has cost it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    total: Arc<Mutex<f64>>,
    /// The budget and the ledger of the family around, if this is the part of one that has a budget of its own.
    outer: Option<Arc<(Option<f64>, Ledger)>>,
}

impl Ledger {
    fn total(&self) -> f64 {
        *lock(&self.total)
    }

    /// The budgets and ledgers around it, the innermost first.
    fn around(&self) -> impl Iterator<Item = (Option<f64>, &Ledger)> {
        std::iter::successors(self.outer(), |(_, ledger)| ledger.outer())
    }

    fn outer(&self) -> Option<(Option<f64>, &Self)> {
        let (budget, ledger) = self.outer.as_deref()?;
        Some((*budget, ledger))
    }
}

/// A run's part of the ledger of its family.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Option<f64>,
    ledger: Ledger,
    /// What of the ledger this run knows: what it has written down itself, and what its subagents have told.
    known: Mutex<f64>,
}

impl Share {
    pub(crate) fn of(family: &Family) -> Self {
        Self {
            budget: family.budget,
            ledger: family.ledger.clone(),
            known: Mutex::default(),
        }
    }

    /// This run has spent `dollars`; less than 0 if it had written down too much.
    pub(crate) fn spend(&self, dollars: f64) {
        add(&self.ledger.total, dollars);
        for (_, ledger) in self.ledger.around() {
            add(&ledger.total, dollars);
        }
        self.learn(dollars);
    }

    /// A subagent of this run has spent `dollars`, and has written them down.
    pub(crate) fn learn(&self, dollars: f64) {
        add(&self.known, dollars);
    }

    /// What the others have spent.
    ///
    /// The run knows one budget. What is left of a larger one around it may be less; then this is so much more.
    pub(crate) fn elsewhere(&self) -> f64 {
        let known = *lock(&self.known);
        let inner = self.ledger.total() - known;
        let outer = self
            .ledger
            .around()
            .filter_map(|(budget, ledger)| Some(ledger.total() - known - (budget? - self.budget?)));
        let elsewhere = outer.fold(inner, f64::max);
        if elsewhere < NOTHING { 0.0 } else { elsewhere }
    }
}

/// Sums of the same amounts in another order differ by less than this, in US dollars.
pub(crate) const NOTHING: f64 = 1e-9;

fn add(sum: &Mutex<f64>, dollars: f64) {
    let mut sum = lock(sum);
    *sum = (*sum + dollars).min(f64::MAX);
}

fn lock(sum: &Mutex<f64>) -> MutexGuard<'_, f64> {
    sum.lock().unwrap_or_else(PoisonError::into_inner)
}
