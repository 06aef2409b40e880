//! The events of a run as JSON, for `agent` and `replay` alike.

use gadgetry::proto::event::{Event, EventKind};
use serde_json::Value;

use crate::error::Error;
use crate::printer::Printer;

/// Writes an event at once, with the fields that `docs/cli.md` promises.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "all others are written unchanged"
)]
pub(crate) fn print(event: &Event, printer: &mut Printer) -> Result<(), Error> {
    match &event.kind {
        // The position of a block is of use only with the reply's text.
        EventKind::GadgetCall { .. } => print_without("span", event, printer),
        EventKind::GadgetResult { cost, .. } if *cost == 0.0 => {
            print_without("cost", event, printer)
        }
        _ => printer.json_line(event),
    }
}

fn print_without(field: &str, event: &Event, printer: &mut Printer) -> Result<(), Error> {
    let mut value = serde_json::to_value(event).unwrap_or_default();
    if let Value::Object(fields) = &mut value {
        fields.shift_remove(field);
    }
    printer.json_line(&value)
}
