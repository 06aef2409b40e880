//! The run, as its hooks, its gadgets and its user see it.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use gadgetry_proto::error::{Classified, Fault};
use gadgetry_proto::event::RunInfo;
use gadgetry_proto::id::CallId;
use gadgetry_proto::run::Report;
use tokio::sync::mpsc::UnboundedSender;

use crate::scope::Shared;

/// The run around a decision or a call: its identity, the values of its caller, and a way to report to it. Clones refer to the
/// same run.
///
/// ```
/// use gadgetry::RunContext;
/// use gadgetry::control::RunInfo;
///
/// struct Tenant(&'static str);
/// let run = RunContext::new(RunInfo::new("order-7", "haiku")).with(Tenant("acme"));
/// assert_eq!(&*run.info().id, "order-7");
/// assert_eq!(run.get::<Tenant>()?.0, "acme");
/// # Ok::<(), gadgetry::MissingValue>(())
/// ```
#[derive(Clone)]
pub struct RunContext {
    info: Arc<RunInfo>,
    values: Values,
    reports: Option<UnboundedSender<(CallId, Report)>>,
    /// Data that it shares with its parent and its subagents.
    shared: Shared,
}

impl RunContext {
    /// Creates the context of a run that no driver drives, as in a test. Reports go nowhere.
    pub fn new(info: impl Into<Arc<RunInfo>>) -> Self {
        Self {
            info: info.into(),
            values: Values::default(),
            reports: None,
            shared: Shared::default(),
        }
    }

    /// Adds a value; it replaces one of the same type.
    #[must_use]
    pub fn with(mut self, value: impl Any + Send + Sync) -> Self {
        self.values.insert(value);
        self
    }

    /// Returns the same context with these values.
    pub(crate) fn valued(mut self, values: Values) -> Self {
        self.values = values;
        self
    }

    /// Returns the same context with reports to the driver of the run.
    pub(crate) fn reporting(mut self, reports: UnboundedSender<(CallId, Report)>) -> Self {
        self.reports = Some(reports);
        self
    }

    /// Returns the same context with the data that its parent and its subagents share.
    pub(crate) fn sharing(mut self, shared: Shared) -> Self {
        self.shared = shared;
        self
    }

    /// Returns the data that the run shares with its parent and its subagents.
    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Returns the identity of the run.
    pub fn info(&self) -> &Arc<RunInfo> {
        &self.info
    }

    /// Returns the run's value of this type, from [`AgentRun::with`](crate::AgentRun::with), else from
    /// [`AgentBuilder::with`](crate::AgentBuilder::with), else from the run that started this one.
    ///
    /// # Errors
    ///
    /// [`MissingValue`] without such a value.
    pub fn get<T: Any + Send + Sync>(&self) -> Result<&T, MissingValue> {
        self.values.get()
    }

    /// Sends a report about a call to the run, which receives it as an input. A report about a call that is not running has no
    /// effect.
    pub fn report(&self, call: CallId, report: Report) {
        if let Some(reports) = &self.reports {
            // It fails when the run is over. Then no one needs the report.
            let _ = reports.send((call, report));
        }
    }
}

impl fmt::Debug for RunContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunContext")
            .field("info", &self.info)
            .field("values", &self.values)
            .finish_non_exhaustive()
    }
}

/// The values of a run for its gadgets and hooks, by their type: a database, the current user. Cheap to clone.
///
/// ```
/// use gadgetry::Values;
/// let mut values = Values::default();
/// values.insert(5_u32);
/// assert_eq!(values.get::<u32>(), Ok(&5));
/// ```
#[derive(Clone, Default)]
pub struct Values(Arc<HashMap<TypeId, Value>>);

#[derive(Clone)]
struct Value {
    value: Arc<dyn Any + Send + Sync>,
    type_name: &'static str,
}

impl Values {
    /// Adds a value; it replaces one of the same type.
    pub fn insert<T: Any + Send + Sync>(&mut self, value: T) {
        let value = Value {
            value: Arc::new(value),
            type_name: type_name::<T>(),
        };
        Arc::make_mut(&mut self.0).insert(TypeId::of::<T>(), value);
    }

    /// Returns the value of this type.
    ///
    /// # Errors
    ///
    /// [`MissingValue`] without such a value.
    pub fn get<T: Any + Send + Sync>(&self) -> Result<&T, MissingValue> {
        let value = self.0.get(&TypeId::of::<T>());
        value
            .and_then(|it| it.value.downcast_ref())
            .map_or_else(Self::missing, Ok)
    }

    /// Returns the error for a type without a value.
    pub(crate) fn missing<'a, T>() -> Result<&'a T, MissingValue> {
        Err(MissingValue {
            type_name: type_name::<T>(),
        })
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether there is a value of the needed type.
    pub(crate) fn has(&self, need: Need) -> bool {
        self.0.contains_key(&need.id)
    }

    /// Returns these values, and those of `outer` whose types have none here.
    pub(crate) fn within(mut self, outer: &Self) -> Self {
        if self.0.is_empty() {
            return outer.clone();
        }
        let mine = Arc::make_mut(&mut self.0);
        for (id, value) in outer.0.iter() {
            mine.entry(*id).or_insert_with(|| value.clone());
        }
        self
    }
}

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.values().map(|value| value.type_name);
        f.debug_set().entries(names).finish()
    }
}

/// A type of which a gadget needs a value: a run without one does not begin.
///
/// ```
/// use gadgetry::Need;
/// assert_eq!(Need::of::<u32>().type_name(), "u32");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    id: TypeId,
    type_name: &'static str,
}

impl Need {
    /// Makes the need for a value of the type `T`.
    pub fn of<T: Any + Send + Sync>() -> Self {
        Self {
            id: TypeId::of::<T>(),
            type_name: type_name::<T>(),
        }
    }

    /// Returns the type, as the compiler writes it.
    pub fn type_name(&self) -> &'static str {
        self.type_name
    }
}

/// Error for a run without a value of a type that a gadget or a hook needs: a mistake in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the run has no value of type `{type_name}`; add one to the run or its agent with `.with(…)`"
)]
#[non_exhaustive]
pub struct MissingValue {
    /// The type, as the compiler writes it.
    pub type_name: &'static str,
}

impl Classified for MissingValue {
    fn fault(&self) -> Fault {
        Fault::Program
    }
}
