//! One gadget call, ready to start.

use std::collections::BTreeMap;
use std::sync::Arc;

use gadgetry_proto::id::InvocationId;
use serde_json::Value;

/// A gadget call that may start.
///
/// [`Invocation::execute`] runs it outside an agent's run:
///
/// ```
/// use gadgetry::{CancellationToken, ExecutionContext, IntoGadget, Invocation, gadget};
///
/// /// Adds two numbers.
/// #[gadget]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let invocation = Invocation {
///     gadget_name: "Add".to_owned(),
///     invocation_id: "sum".into(),
///     parameters: gadgetry::serde_json::json!({ "a": 2, "b": 2 }),
///     dependencies: Default::default(),
/// };
/// let context = ExecutionContext::new(&invocation, CancellationToken::new());
/// let outcome = invocation.execute(&*Add.into_gadget(), context).await;
/// assert_eq!(outcome.result.as_deref(), Ok("4"));
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The gadget, as registered.
    pub gadget_name: String,
    /// The id of the call.
    pub invocation_id: InvocationId,
    /// The parameters, coerced and validated.
    pub parameters: Value,
    /// The results of the calls that it declared as dependencies.
    pub dependencies: BTreeMap<InvocationId, Arc<str>>,
}
