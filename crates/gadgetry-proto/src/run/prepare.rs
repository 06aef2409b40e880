//! Whether a call can run, and with which parameters.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::call::{Call, Parameters, TerminatedBy};
use crate::id::CallId;
use crate::run::Run;
use crate::run::answer::CANCELLED;
use crate::run::io::Start;
use crate::run::references;
use crate::run::state::{Cut, Prepared};
use crate::spec::invalid_parameters;
use crate::spec::parse_failure;

impl Run {
    /// Why a call cannot run, in words for the model.
    pub(super) fn refusal(&self, call: &Call) -> Option<String> {
        let Some(gadget) = self.spec.registry.get(&call.gadget_name) else {
            return Some(self.spec.registry.unknown_gadget(&call.gadget_name));
        };
        if let Some(cut) = self.state.cut {
            if call.terminated_by == TerminatedBy::EndOfStream {
                let how = cut.words();
                return Some(format!(
                    "Error: The call was not executed: the reply was cut off {how} before the block was complete. \
                     Write the call again."
                ));
            }
            // A transform may have held it back until now.
            if cut == Cut::Cancelled {
                return Some(CANCELLED.to_owned());
            }
        }
        match &call.parameters {
            Parameters::Malformed(error) => Some(parse_failure(gadget.name(), error)),
            // What results will bring can only be checked when they are there.
            Parameters::Parsed(_) if references::has_any(call) => None,
            Parameters::Parsed(parameters) => {
                let mut parameters = parameters.clone();
                gadget.schema().apply_defaults(&mut parameters);
                let problems = gadget.schema().validate(&parameters);
                (!problems.is_empty()).then(|| invalid_parameters(gadget.name(), &problems))
            }
        }
    }

    /// Parameters with the results that they refer to, completed and valid.
    pub(super) fn prepare(&mut self, id: CallId) -> Result<Option<Prepared>, String> {
        let spec = Arc::clone(&self.spec);
        let default_timeout = spec.default_timeout_ms;
        let results = &self.state.results;
        let at = (id.0 - self.state.first_call) as usize;
        let Some(record) = self.state.calls.get(at) else {
            return Ok(None);
        };
        let Some(gadget) = spec.registry.get(&record.call.gadget_name) else {
            return Ok(None);
        };
        let call = &record.call;
        let Parameters::Parsed(parameters) = &call.parameters else {
            return Ok(None);
        };
        let mut parameters = parameters.clone();
        let refers = references::has_any(call);
        if refers {
            let place = gadget.schema().root();
            let limits = &spec.limits;
            references::Resolver::new(&call.dependencies, results, limits)
                .resolve(&mut parameters, &place)?;
        }
        gadget.schema().apply_defaults(&mut parameters);
        if refers {
            let problems = gadget.schema().validate(&parameters);
            if !problems.is_empty() {
                return Err(invalid_parameters(gadget.name(), &problems));
            }
        }
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
            timeout_ms: gadget.spec().timeout_ms.or(default_timeout),
        }))
    }
}
