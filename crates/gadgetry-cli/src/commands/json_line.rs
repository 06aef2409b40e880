//! A JSON object on a line of stdin.

use gadgetry::proto::schema::json_message;

/// Says what is wrong with the JSON on one line: serde's words, with the column only.
fn json_problem(error: &serde_json::Error) -> String {
    let message = json_message(error);
    if error.column() == 0 {
        return message;
    }
    format!("{message} at column {}", error.column())
}

/// Reads the JSON object on one line. `Err` says what is wrong with it.
pub(super) fn object<'a, T: serde::Deserialize<'a>>(
    json: &'a [u8],
    what: &str,
) -> Result<T, String> {
    // Without this check, an array would do: its items would be taken for the fields.
    if !json.starts_with(b"{") {
        return Err(format!("{what} is not a JSON object"));
    }
    serde_json::from_slice(json).map_err(|error| json_problem(&error))
}
