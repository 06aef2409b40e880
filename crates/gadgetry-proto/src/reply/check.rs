//! Checks of calls: decides whether one could be executed, without executing it.

use serde_json::Value;

use crate::call::{Call, Parameters, TerminatedBy};
use crate::schema::{RegisteredGadget, Registry, Unterminated, parse_failure};

const UNTERMINATED: &str = "Error: The call was not executed: the reply ended before the end marker of the block, so its \
                            last value may be incomplete. Write the call again, whole, with its end marker.";

/// The decision of a run about a call, as far as its text and the schema of its gadget decide. Made by [`crate::reply::Reader::check`].
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The gadget can be executed with these parameters: coerced, completed with defaults, and valid.
    Valid(Value),
    /// Parameters refer to results of other calls. They can be checked when these are there.
    NeedsResults,
    /// The call cannot be executed. The text is its result for the model.
    Invalid(String),
}

/// The verdict on the parameters of a call of `gadget`.
pub(crate) fn parameters(call: &Call, gadget: &RegisteredGadget) -> Verdict {
    match &call.parameters {
        Parameters::Malformed(error) => Verdict::Invalid(parse_failure(gadget.name(), error)),
        Parameters::Parsed(_) if call.has_references() => Verdict::NeedsResults,
        Parameters::Parsed(parameters) => match gadget.check(parameters.clone()) {
            Ok(parameters) => Verdict::Valid(parameters),
            Err(error) => Verdict::Invalid(error),
        },
    }
}

/// Fails, with what the model reads, if nothing but the end of the reply completed the call and its gadget, or else
/// `policy`, does not admit that.
pub(crate) fn terminated(
    call: &Call,
    gadget: &RegisteredGadget,
    policy: Unterminated,
) -> Result<(), String> {
    let policy = gadget.spec().unterminated.unwrap_or(policy);
    // What is wrong with it anyway says more.
    let is_readable = matches!(call.parameters, Parameters::Parsed(_));
    let is_open = call.terminated_by == TerminatedBy::EndOfStream && is_readable;
    if is_open && policy == Unterminated::Confirm {
        return Err(UNTERMINATED.to_owned());
    }
    Ok(())
}

/// The gadget of a call, or what the model reads if it does not exist.
pub(crate) fn gadget<'r>(
    call: &Call,
    registry: &'r Registry,
) -> Result<&'r RegisteredGadget, String> {
    let gadget = registry.get(&call.gadget_name);
    gadget.ok_or_else(|| registry.unknown_gadget(&call.gadget_name))
}
