//! Corrections: the text after the error of a malformed call, with the gadget's usage and the form of a block.

use serde_json::Value;

use crate::call_form::CallForm;
use crate::prompt::params::parameter_list;
use crate::prompt::template::CallStyle;
use crate::schema::RegisteredGadget;

/// Characters of a usage. The system message has all of it.
const USAGE: usize = 2_000;

/// Returns the text after the error of a malformed call: the usage of the gadget and the form of a call, each below a blank
/// line.
///
/// ```
/// use gadgetry_proto::block::{Anchoring, Markers};
/// use gadgetry_proto::call_form::CallForm;
/// use gadgetry_proto::prompt::{CallStyle, correction};
/// use gadgetry_proto::schema::{GadgetSpec, Registry};
/// let bell = Registry::compile(GadgetSpec::new("Bell", "Rings"))?;
/// let markers = Markers::default();
/// let style = CallStyle { form: CallForm::Block, markers: &markers, anchoring: Anchoring::LineStart };
/// assert!(correction(&bell, style).ends_with("!!!GADGET_END"));
/// # Ok::<(), gadgetry_proto::schema::RegistryError>(())
/// ```
pub fn correction(gadget: &RegisteredGadget, style: CallStyle<'_>) -> String {
    let usage = shown(&usage(gadget));
    let name = gadget.name();
    let parameter = first_parameter(gadget.shown_parameters()).unwrap_or("name");
    let call = match style.form {
        CallForm::Block => {
            let (start, end) = (style.markers.start(), style.markers.end());
            let arg = style.markers.arg();
            format!(
                "Block Format Reference:\n    {start}{name}:id\n    {arg}{parameter}\n    value\n    {end}"
            )
        }
        CallForm::Json => format!(
            "Call Format Reference:\n    <tool_call>\n    {{\"name\":\"{name}\",\"arguments\":{{\"{parameter}\":value}}}}\n    \
             </tool_call>"
        ),
    };
    format!("\n\nGadget Usage:\n{usage}\n\n{call}")
}

fn usage(gadget: &RegisteredGadget) -> String {
    let spec = gadget.spec();
    let parameters = parameter_list(gadget.shown_parameters());
    let parameters = if parameters.is_empty() {
        "Parameters: none".to_owned()
    } else {
        format!("Parameters:\n{parameters}")
    };
    match spec.description.trim() {
        "" => parameters,
        description => format!("{description}\n{parameters}"),
    }
}

fn shown(usage: &str) -> String {
    match usage.char_indices().nth(USAGE) {
        Some((end, _)) => format!("{}…", &usage[..end]),
        None => usage.to_owned(),
    }
}

/// A parameter that a call has to have, or any.
fn first_parameter(schema: &Value) -> Option<&str> {
    let mut required = schema["required"].as_array().into_iter().flatten();
    let required = required.find_map(Value::as_str);
    required.or_else(|| {
        schema["properties"]
            .as_object()?
            .keys()
            .next()
            .map(String::as_str)
    })
}
