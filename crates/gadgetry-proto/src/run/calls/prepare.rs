//! Decides whether a call can run, and with which parameters.

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;

use serde_json::Value;

use crate::call::{Call, Parameters, TerminatedBy};
use crate::id::CallId;
use crate::reply::{Verdict, check};
use crate::run::calls::cancelled::CANCELLED;
use crate::run::calls::known::KnownResults;
use crate::run::calls::record::Record;
use crate::run::calls::references;
use crate::run::calls::room::Room;
use crate::run::calls::running::Prepared;
use crate::run::plan::Plan;
use crate::run::start::{AboutCall, Start};
use crate::run::truncation::Truncation;
use crate::sched::Job;
use crate::schema::RegisteredGadget;
use crate::schema::parse_failure;

/// Checks a call that was just read.
///
/// Returns its parameters, completed and valid, or `None` if results have to be put in first. The error is for the model.
pub(super) fn examine(
    call: &Call,
    gadget: Option<&RegisteredGadget>,
    end: Option<&Truncation>,
    plan: &Plan,
) -> Result<Option<Value>, String> {
    let Some(gadget) = gadget else {
        return Err(plan.registry.unknown_gadget(&call.gadget_name));
    };
    if let Some(truncation) = end {
        if call.terminated_by == TerminatedBy::EndOfStream {
            return Err(truncation.refusal());
        }
        // A transform may have held a complete call back until the run was cancelled.
        if *truncation == Truncation::Cancelled {
            return Err(CANCELLED.to_owned());
        }
    }
    check::terminated(call, gadget, plan.config.unterminated)?;
    match check::parameters(call, gadget) {
        Verdict::Valid(parameters) => Ok(Some(parameters)),
        // A value that a result will bring can only be checked once it is there.
        Verdict::NeedsResults => Ok(None),
        Verdict::Invalid(error) => Err(error),
    }
}

/// Takes the parameters of a call, with the results that they refer to, completed and valid. The error is for the model.
pub(super) fn prepare(
    id: CallId,
    record: &mut Record,
    gadget: &RegisteredGadget,
    results: &KnownResults,
    room: &mut Room,
    plan: &Plan,
) -> Result<Prepared, String> {
    let call = &record.call;
    let parameters = match (record.parameters.take(), &call.parameters) {
        (Some(parameters), _) => parameters,
        (None, Parameters::Malformed(error)) => return Err(parse_failure(gadget.name(), error)),
        (None, Parameters::Parsed(parameters)) => {
            let mut parameters = parameters.clone();
            let left = room.left_for_references(&plan.config.limits);
            let mut resolver =
                references::Resolver::new(&call.dependencies, results, &plan.config.limits, left);
            resolver.resolve(&mut parameters, &gadget.schema().root())?;
            room.take_references(left - resolver.room(), &parameters, &plan.config.limits)?;
            Arc::new(gadget.check(parameters)?)
        }
    };
    let dependencies = call.dependencies.iter();
    let dependencies = dependencies.filter_map(|id| Some((id.clone(), results.get(id)?.clone())));
    let own_timeout = gadget.spec().timeout_ms;
    Ok(Prepared {
        start: Start {
            id,
            invocation_id: call.invocation_id.clone(),
            gadget_name: gadget.name().to_owned(),
            parameters,
            dependencies: dependencies.collect(),
            answered: Vec::new(),
            subagent_costs: BTreeMap::new(),
        },
        // Zero means that there is no timeout.
        timeout_ms: own_timeout
            .or(plan.config.default_timeout_ms)
            .filter(|milliseconds| *milliseconds > 0),
    })
}

/// The call for the scheduler.
pub(super) fn job(id: CallId, call: &Call, gadget: &RegisteredGadget) -> Job {
    Job {
        dependencies: call.dependencies.clone(),
        max_concurrent: gadget.spec().max_concurrent,
        exclusive: gadget.spec().exclusive,
        ..Job::new(id, call.invocation_id.clone(), gadget.name())
    }
}

/// Fills in defaults and checks parameters that were changed. The error is for the model.
pub(super) fn validate(prepared: &mut Prepared, plan: &Plan) -> Result<(), String> {
    if let Some(gadget) = plan.registry.get(&prepared.start.gadget_name) {
        let parameters = mem::take(&mut prepared.start.parameters);
        let checked = gadget.check(Arc::unwrap_or_clone(parameters));
        prepared.start.parameters = Arc::new(checked?);
    }
    Ok(())
}

/// Lets the interceptors rewrite the parameters of a call. The error is for the model.
pub(super) fn intercept(
    mut about: AboutCall,
    prepared: &mut Prepared,
    plan: &Plan,
) -> Result<(), String> {
    about.parameters = Value::clone(&prepared.start.parameters);
    let mut parameters = Arc::unwrap_or_clone(mem::take(&mut prepared.start.parameters));
    for interceptor in &plan.code.interceptors {
        parameters = interceptor.parameters(&about, parameters);
    }
    let changed = parameters != about.parameters;
    prepared.start.parameters = Arc::new(parameters);
    if changed {
        validate(prepared, plan)
    } else {
        Ok(())
    }
}
