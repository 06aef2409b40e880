//! Budget scopes: the depth, cancellation and budget that a run shares with its subagents.

use std::any::Any;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use gadgetry_proto::event::{RunInfo, RunParent};
use gadgetry_proto::id::CallId;
use tokio_util::sync::CancellationToken;

/// The depth, cancellation and budget of a run, shared with its subagents.
///
/// The default is a separate scope. Clones are the same scope: two runs driven one after another with clones of one scope share
/// their spending.
///
/// ```
/// let scope = gadgetry::BudgetScope::limited_to(0.5);
/// assert_eq!((scope.depth, scope.left()), (0, Some(0.5)));
/// ```
#[derive(Clone, Debug)]
pub struct BudgetScope {
    /// The nesting depth: 0 for a top-level run, 1 for its subagents, 2 for theirs.
    pub depth: u32,
    /// The maximum depth of subagents; 5 by default.
    pub max_depth: u32,
    /// Cancels the run and its subagents.
    pub cancellation: CancellationToken,
    /// US dollars that all runs of the scope may spend together. Gadgets and their model calls obey this limit; a run
    /// obeys the one of its [`RunConfig`](gadgetry_proto::run::RunConfig), which should be the same.
    pub budget: Option<f64>,
    /// The id of the top-level run, also in its subagents: a part of all [idempotency
    /// keys](crate::ExecutionContext::idempotency_key). `None`, which is the default: each [`drive`](crate::drive) of a top-level
    /// run creates a random one. A program that continues a run in another process must give it the same id there, and give that
    /// id to no other run.
    pub run_id: Option<Arc<str>>,
    /// The path of the run for spans and steps: `/`, or the numbers of the calls that lead to it and those of the
    /// subagents, as `/5.0/2.1`.
    pub(crate) path: Arc<str>,
    pub(crate) ledger: Ledger,
    /// Held while a question to the user is open, so that questions are asked one at a time.
    pub(crate) turn: Arc<tokio::sync::Mutex<()>>,
    pub(crate) shared: Shared,
}

/// A value that a run shares with its subagents, made when it is first needed. A later module defines its type.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shared(Arc<OnceLock<Arc<dyn Any + Send + Sync>>>);

impl Shared {
    /// Returns the value. All callers take the same type.
    pub(crate) fn get<T: Any + Default + Send + Sync>(&self) -> Arc<T> {
        let value = self.0.get_or_init(|| Arc::new(T::default()));
        Arc::clone(value).downcast().unwrap_or_default()
    }
}

impl Default for BudgetScope {
    fn default() -> Self {
        Self {
            depth: 0,
            max_depth: 5,
            cancellation: CancellationToken::new(),
            budget: None,
            run_id: None,
            path: Arc::from("/"),
            ledger: Ledger::default(),
            turn: Arc::default(),
            shared: Shared::default(),
        }
    }
}

impl BudgetScope {
    /// Creates a scope with a budget in US dollars.
    pub fn limited_to(dollars: f64) -> Self {
        Self {
            budget: Some(dollars),
            ..Self::default()
        }
    }

    /// Returns the US dollars spent in the scope, including costs that running gadgets have reported so far.
    pub fn spent(&self) -> f64 {
        self.ledger.total()
    }

    /// Returns the US dollars left, never less than 0; `None` without a budget.
    pub fn left(&self) -> Option<f64> {
        let inner = (self.budget, &self.ledger);
        let all = std::iter::once(inner).chain(self.ledger.around());
        let left = all.filter_map(|(budget, ledger)| Some((budget? - ledger.total()).max(0.0)));
        left.reduce(f64::min)
    }
}

impl BudgetScope {
    /// Returns the scope of a subagent: one level deeper, cancelled with the call that starts it, same budget.
    ///
    /// Its path has the number of the call: the id that the model gave it may be that of another call of a later reply.
    pub(crate) fn child(&self, cancellation: CancellationToken, call: CallId, agent: u32) -> Self {
        let parent = self.path.trim_end_matches('/');
        Self {
            depth: self.depth.saturating_add(1),
            cancellation,
            path: format!("{parent}/{}.{agent}", call.0).into(),
            ..self.clone()
        }
    }

    /// Returns the identity of the run, whose model has the name `model`.
    pub(crate) fn info(&self, model: &str) -> RunInfo {
        let run_id = self.run_id.as_deref().unwrap_or_default();
        let path = self.path.trim_end_matches('/');
        let mut info = RunInfo::new(format!("{run_id}{path}"), model);
        info.parent = path.rsplit_once('/').and_then(|(parent, last)| {
            let (call, _) = last.split_once('.')?;
            let call = CallId(call.parse().ok()?);
            Some(RunParent::new(format!("{run_id}{parent}"), call))
        });
        info
    }

    /// Returns the key of a call of the run: the same for each execution of the call, and different from that of any other call.
    ///
    /// Characters that are not safe in a header are written in hexadecimal, and so is `/` in the id of the run: no id looks like
    /// that of a subagent.
    pub(crate) fn key(&self, run_id: &str, call: CallId) -> String {
        let mut key = String::with_capacity(run_id.len() + self.path.len() + 4);
        for byte in run_id.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~:@+".contains(&byte) {
                key.push(char::from(byte));
            } else {
                // Writing to a string does not fail.
                let _ = write!(key, "%{byte:02X}");
            }
        }
        let _ = write!(key, "{}/{}", self.path.trim_end_matches('/'), call.0);
        key
    }

    /// Returns the same scope with a budget of `dollars` for the run and its subagents, within the budget around it.
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

/// The total spending of a scope.
///
/// Every dollar is entered once, by the run whose model or gadget cost it: a parent that sees the cost in an event of
/// its subagent must not enter it again (see [`Share::learn`]).
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    total: Arc<Mutex<f64>>,
    /// The budget and ledger around this one, if this scope has been [narrowed](BudgetScope::narrowed).
    outer: Option<Arc<(Option<f64>, Ledger)>>,
}

impl Ledger {
    fn total(&self) -> f64 {
        *lock(&self.total)
    }

    /// Returns the budgets and ledgers around it, the innermost first.
    fn around(&self) -> impl Iterator<Item = (Option<f64>, &Ledger)> {
        std::iter::successors(self.outer(), |(_, ledger)| ledger.outer())
    }

    fn outer(&self) -> Option<(Option<f64>, &Self)> {
        let (budget, ledger) = self.outer.as_deref()?;
        Some((*budget, ledger))
    }
}

/// One run's view of the ledger of its scope.
///
/// The engine adds up its own costs and those in the events of its subagents, and must learn only about the rest. So a
/// share keeps the sum that its run already knows; the rest is the ledger's total minus that.
///
/// A worked example: a parent has spent 1, and its two subagents 2 each. The ledger says 5. The parent has read the
/// events of the first subagent only: it knows 3, so [`Share::external_spend`] is 2. When it reads the second subagent's
/// events, `learn(2)` makes that 0, and the run's own total is 5.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Option<f64>,
    ledger: Ledger,
    /// Known costs of the run: those that it has entered itself, and those of the events of its subagents.
    known: Mutex<f64>,
}

impl Share {
    pub(crate) fn of(scope: &BudgetScope) -> Self {
        Self {
            budget: scope.budget,
            ledger: scope.ledger.clone(),
            known: Mutex::default(),
        }
    }

    /// Enters `dollars` that this run has spent; a negative amount corrects an earlier entry.
    pub(crate) fn spend(&self, dollars: f64) {
        // Most inputs cost nothing, and this runs for each of them: no lock is taken then.
        if dollars == 0.0 {
            return;
        }
        add(&self.ledger.total, dollars);
        for (_, ledger) in self.ledger.around() {
            add(&ledger.total, dollars);
        }
        self.learn(dollars);
    }

    /// Notes `dollars` that a subagent of this run has entered.
    pub(crate) fn learn(&self, dollars: f64) {
        if dollars != 0.0 {
            add(&self.known, dollars);
        }
    }

    /// Returns the spending of the scope's other runs.
    ///
    /// The engine knows one budget, the innermost. If less is left of a budget around it, the difference is added here,
    /// so that the engine stops when the smallest of them is spent.
    pub(crate) fn external_spend(&self) -> f64 {
        let known = *lock(&self.known);
        let inner = self.ledger.total() - known;
        let outer = self
            .ledger
            .around()
            .filter_map(|(budget, ledger)| Some(ledger.total() - known - (budget? - self.budget?)));
        let external = outer.fold(inner, f64::max);
        if external < NOTHING { 0.0 } else { external }
    }
}

/// Tolerance in US dollars: sums of the same amounts in another order differ by less.
pub(crate) const NOTHING: f64 = 1e-9;

fn add(sum: &Mutex<f64>, dollars: f64) {
    let mut sum = lock(sum);
    *sum = (*sum + dollars).min(f64::MAX);
}

fn lock(sum: &Mutex<f64>) -> MutexGuard<'_, f64> {
    // A number is never left half-written, so a poisoned lock is as good as any.
    sum.lock().unwrap_or_else(PoisonError::into_inner)
}
