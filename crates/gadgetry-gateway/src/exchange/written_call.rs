//! A call as the model wrote it.

use gadgetry_proto::call::{Call, Parameters};
use gadgetry_proto::dialect::DialectCall;
use serde_json::Value;

use super::request::Input;
use super::setup::Setup;
use super::turn::{CUT, NativeCall};

/// A call with the check of its parameters.
#[derive(Debug)]
pub(super) struct WrittenCall {
    /// The model's id.
    pub(super) id: String,
    /// The tool as written.
    pub(super) name: String,
    /// The parameters, or their problem, for the model.
    pub(super) checked: Result<Input, String>,
}

impl WrittenCall {
    /// Makes the call of a block of the reply.
    pub(super) fn block(call: &Call, checked: Result<Value, String>) -> Self {
        Self {
            id: call.invocation_id.as_str().to_owned(),
            name: call.gadget_name.clone(),
            checked: checked.map(|input| (input, call.digits.clone())),
        }
    }

    /// Makes a call in another form, which has no id.
    pub(super) fn in_other_form(call: DialectCall, setup: &Setup) -> Self {
        let name = call.gadget_name;
        let checked = match call.parameters {
            _ if !call.is_whole => Err(CUT.to_owned()),
            Parameters::Parsed(input) => setup.request.check(&name, input),
            Parameters::Malformed(problem) => Err(problem),
        };
        Self {
            id: String::new(),
            name,
            checked: checked.map(|input| (input, call.digits)),
        }
    }

    /// Makes a call of the upstream's own interface.
    pub(super) fn native(call: NativeCall, setup: &Setup) -> Self {
        let NativeCall { id, name, input } = call;
        let checked = match input {
            Ok((input, digits)) => {
                let checked = setup.request.check(&name, input);
                checked.map(|input| (input, digits))
            }
            Err(json) => Err(format!("the arguments are not valid JSON: {json}")),
        };
        // The upstream's ids mean nothing to the client, and may be empty or repeated.
        let id = if setup.is_native { id } else { String::new() };
        Self { id, name, checked }
    }
}
