//! Whether a call can run, and with which parameters.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::call::{Call, Parameters, TerminatedBy};
use crate::delta::StopReason;
use crate::id::CallId;
use crate::run::Run;
use crate::run::answer::CANCELLED;
use crate::run::io::Start;
use crate::run::references;
use crate::run::state::{Cut, Prepared};
use crate::spec::RegisteredGadget;
use crate::spec::Unterminated;
use crate::spec::invalid_parameters;
use crate::spec::parse_failure;

const UNTERMINATED: &str = "Error: The call was not executed: the reply ended before the end marker of the block, so its \
                            last value may be incomplete. Write the call again, whole, with its end marker.";

impl Run {
    /// The parameters of a call, completed and valid; `None` if results have to be put in first. Or why it cannot
    /// run, in words for the model.
    pub(super) fn examine(
        &self,
        call: &Call,
        gadget: Option<&RegisteredGadget>,
    ) -> Result<Option<Value>, String> {
        let Some(gadget) = gadget else {
            return Err(self.spec.registry.unknown_gadget(&call.gadget_name));
        };
        if let Some(cut) = &self.state.cut {
            if call.terminated_by == TerminatedBy::EndOfStream {
                let how = cut.words();
                return Err(format!(
                    "Error: The call was not executed: {how} before the block was complete. Write the call again."
                ));
            }
            // A transform may have held it back until now.
            if *cut == Cut::Cancelled {
                return Err(CANCELLED.to_owned());
            }
        }
        let policy = gadget.spec().unterminated.unwrap_or(self.spec.unterminated);
        if policy == Unterminated::Confirm && self.is_unterminated(call) {
            return Err(UNTERMINATED.to_owned());
        }
        match &call.parameters {
            Parameters::Malformed(error) => Err(parse_failure(gadget.name(), error)),
            // What results will bring can only be checked when they are there.
            Parameters::Parsed(_) if references::has_any(call) => Ok(None),
            Parameters::Parsed(parameters) => complete(parameters.clone(), gadget).map(Some),
        }
    }

    /// Whether nothing but the end of a whole reply completed the call. A stop sequence took the place of the end marker.
    fn is_unterminated(&self, call: &Call) -> bool {
        let stop_reason = self.state.accumulator.stop_reason();
        call.terminated_by == TerminatedBy::EndOfStream
            && stop_reason != Some(&StopReason::StopSequence)
    }

    /// Parameters with the results that they refer to, completed and valid.
    pub(super) fn prepare(&mut self, id: CallId) -> Result<Option<Prepared>, String> {
        let spec = Arc::clone(&self.spec);
        let default_timeout = spec.default_timeout_ms;
        let results = &self.state.results;
        let slot = self.state.numbers.slot(id);
        let Some(record) = slot.and_then(|at| self.state.calls.get_mut(at)) else {
            return Ok(None);
        };
        let Some(gadget) = spec.registry.get(&record.call.gadget_name) else {
            return Ok(None);
        };
        let call = &record.call;
        let parameters = match (record.parameters.take(), &call.parameters) {
            (Some(parameters), _) => Arc::unwrap_or_clone(parameters),
            (None, Parameters::Malformed(_)) => return Ok(None),
            (None, Parameters::Parsed(parameters)) => {
                let mut parameters = parameters.clone();
                let place = gadget.schema().root();
                let room = self.state.used.room_for_references(&spec.limits);
                let mut resolver =
                    references::Resolver::new(&call.dependencies, results, &spec.limits, room);
                resolver.resolve(&mut parameters, &place)?;
                let used = &mut self.state.used;
                used.take_references(room - resolver.room(), &parameters, &spec.limits)?;
                complete(parameters, gadget)?
            }
        };
        let dependencies: BTreeMap<_, _> = call
            .dependencies
            .iter()
            .filter_map(|id| Some((id.clone(), Arc::clone(&results.get(id)?.text))))
            .collect();
        let start = Start {
            id,
            invocation_id: call.invocation_id.clone(),
            gadget_name: gadget.name().to_owned(),
            parameters,
            dependencies,
        };
        Ok(Some(Prepared {
            start,
            timeout_ms: own_or(gadget.spec().timeout_ms, default_timeout),
        }))
    }
}

/// The timeout of a call. Zero means that there is none.
fn own_or(own: Option<u64>, default: Option<u64>) -> Option<u64> {
    own.or(default).filter(|milliseconds| *milliseconds > 0)
}

/// Fills in defaults and checks, in words for the model.
pub(super) fn complete(mut parameters: Value, gadget: &RegisteredGadget) -> Result<Value, String> {
    let problems = gadget.schema().complete(&mut parameters);
    if problems.is_empty() {
        Ok(parameters)
    } else {
        Err(invalid_parameters(gadget.name(), &problems))
    }
}
