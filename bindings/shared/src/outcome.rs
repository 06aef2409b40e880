//! Results of functions as outcomes of calls.

use gadgetry::Outcome;

/// Reads what a function has returned: a word for what it is (`result`, `complete`, `human`, `error`), and its text.
pub fn outcome(answer: Option<(String, String)>) -> Outcome {
    let Some((kind, text)) = answer else {
        return Outcome::error("the function gave no result");
    };
    match kind.as_str() {
        "result" => Outcome::ok(text),
        "complete" => Outcome {
            completes_run: true,
            ..Outcome::ok(text)
        },
        "human" => Outcome {
            asks_human: Some(text.clone()),
            ..Outcome::error(format!(
                "The question has no answer: no user is available in this run, or they declined. The question was: {text}"
            ))
        },
        _ => Outcome::error(text),
    }
}
