//! A run in a few lines, and a comparison with the lines that a test expects.

use std::fmt::Write as _;

use gadgetry::proto::call::Parameters;
use gadgetry::proto::event::{ApprovalAnswer, CallAnswer, EventKind};
use serde_json::json;

use crate::events::{EventLog, joined, origin};

/// Maximum width of a column of a comparison, in characters.
const WIDTH: usize = 70;

/// Checks that a run did what the lines say. They are those of [`EventLog::story`]; one that ends with `…` fits every line that begins so,
/// and `…` alone fits any number of lines.
///
/// # Panics
///
/// If the run did something else, with what was expected and what happened side by side.
///
/// ```
/// use gadgetry::{Agent, gadget};
/// use gadgetry_testing::{EventLog, MockModel, assert_run, call, paused, reply};
///
/// /// Gets the weather
/// #[gadget]
/// fn weather(city: String) -> String {
///     format!("{city}: 21 degrees")
/// }
///
/// let model = MockModel::in_order([reply().call(call("Weather").arg("city", "Paris")), reply().text("It is warm.")]);
/// let log = EventLog::default();
/// let agent = Agent::builder().model(model).gadget(Weather).observer(log.clone()).build()?;
/// paused(agent.ask("What is the weather in Paris?").text())?;
/// assert_run!(log, [
///     r#"call Weather {"city":"Paris"}"#,
///     "result Weather: Paris: 21…",
///     "text: It is warm.",
///     "end completed",
/// ]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[macro_export]
macro_rules! assert_run {
    ($log:expr, [$($line:expr),* $(,)?] $(,)?) => {
        $crate::EventLog::assert_story(&$log, &[$(::std::convert::AsRef::<str>::as_ref(&$line)),*])
    };
}

impl EventLog {
    /// Returns the run in a few lines: what was called with which parameters, the results, the questions, the text, and the end. Ids,
    /// times and costs are left out, and a text is one line. The lines of subagents begin with the ids of the calls that
    /// they come from.
    ///
    /// | line | event |
    /// |---|---|
    /// | `call Weather {"city":"Paris"}` | a call; `malformed` in place of parameters that cannot be read |
    /// | `result Weather: 21 degrees`, `error Weather: no such city` | an answer to a call |
    /// | `skip Weather` | a call whose dependency failed |
    /// | `approval Weather`, `allowed`, `denied` | a call that needs approval, and the answer |
    /// | `question: Which city?` | a question to the user |
    /// | `text: It is warm.` | the text between two other lines |
    /// | `withdrawn` | the text so far was withdrawn, because the reply failed |
    /// | `end completed`, `end modelError: overloaded` | the end, with its error |
    pub fn story(&self) -> Vec<String> {
        let events = joined(&self.events());
        let lines = events.iter().filter_map(|event| {
            let line = line(&event.kind)?;
            Some(one_line(&format!("{}{line}", origin(&event.path))))
        });
        lines.collect()
    }

    /// The function of [`assert_run!`].
    #[doc(hidden)]
    #[track_caller]
    pub fn assert_story(&self, expected: &[&str]) {
        if let Err(difference) = compare(expected, &self.story()) {
            panic!("the run is not as expected; `!` marks the differences\n{difference}");
        }
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a story leaves most events out"
)]
fn line(kind: &EventKind) -> Option<String> {
    Some(match kind {
        EventKind::GadgetCall { written, .. } => match &written.parameters {
            Parameters::Parsed(parameters) => format!("call {} {parameters}", written.gadget_name),
            Parameters::Malformed(_) => format!("call {} malformed", written.gadget_name),
        },
        EventKind::GadgetResult {
            gadget_name,
            answer,
            ..
        } => match answer {
            CallAnswer::Result(text) => format!("result {gadget_name}: {text}"),
            CallAnswer::Error(text) => format!("error {gadget_name}: {text}"),
        },
        EventKind::GadgetSkipped { gadget_name, .. } => format!("skip {gadget_name}"),
        EventKind::ApprovalRequired { approval, .. } => {
            format!("approval {}", approval.gadget_name)
        }
        EventKind::ApprovalAnswered { answer, .. } => match answer {
            ApprovalAnswer::Allowed => "allowed".to_owned(),
            ApprovalAnswer::Denied { .. } => "denied".to_owned(),
            _ => return None,
        },
        EventKind::HumanInputRequired { question, .. } => format!("question: {question}"),
        EventKind::Text { text } if !text.trim().is_empty() => format!("text: {}", text.trim()),
        EventKind::ReplyWithdrawn { .. } => "withdrawn".to_owned(),
        EventKind::RunFinished { reason, error, .. } => {
            let reason = json!(reason);
            let error = error.as_ref().map(|error| format!(": {error}"));
            let reason = reason.as_str().unwrap_or_default();
            format!("end {reason}{}", error.unwrap_or_default())
        }
        _ => return None,
    })
}

fn one_line(text: &str) -> String {
    text.trim_end().replace('\n', "\\n")
}

/// A row of a comparison: the expected line, and what happened.
type Row<'a> = (Option<&'a str>, Option<&'a str>, bool);

/// Compares both lists. An error has them side by side.
fn compare(expected: &[&str], actual: &[String]) -> Result<(), String> {
    let rows = align(expected, actual);
    if rows.iter().all(|(.., fits)| *fits) {
        return Ok(());
    }
    let width = |text: &str| text.chars().count().min(WIDTH);
    let lines = rows.iter().filter_map(|(expected, ..)| *expected);
    let column = lines.map(width).chain([8]).max().unwrap_or_default();
    let mut out = format!("  {:column$}   actual\n", "expected");
    for (expected, actual, fits) in rows {
        let mark = if fits { ' ' } else { '!' };
        let expected: String = expected.unwrap_or_default().chars().take(WIDTH).collect();
        let line = format!("{mark} {expected:column$}   {}", actual.unwrap_or_default());
        // Writing to a string does not fail.
        let _ = writeln!(out, "{}", line.trim_end());
    }
    Err(out)
}

/// Any number of lines.
const ANY: &str = "…";

fn fits(expected: &str, actual: &str) -> bool {
    match expected.strip_suffix(ANY) {
        Some(start) => actual.starts_with(start),
        None => expected == actual,
    }
}

/// The rows with the fewest differences. Two lines that differ in one row count as less than two rows.
fn align<'a>(expected: &[&'a str], actual: &'a [String]) -> Vec<Row<'a>> {
    const MISSING: usize = 2;
    const DIFFERENT: usize = 3;
    let (rows, columns) = (expected.len(), actual.len());
    // The costs of what is left of both lists.
    let mut costs = vec![vec![0; columns + 1]; rows + 1];
    for at in (0..=rows).rev() {
        for of in (0..=columns).rev() {
            let mut best = usize::MAX;
            let is_gap = expected.get(at) == Some(&ANY);
            if at < rows {
                best = costs[at + 1][of] + if is_gap { 0 } else { MISSING };
            }
            if of < columns {
                let skipped = costs[at][of + 1] + if is_gap { 0 } else { MISSING };
                best = best.min(skipped);
            }
            if at < rows && of < columns && !is_gap {
                let pair = if fits(expected[at], &actual[of]) {
                    0
                } else {
                    DIFFERENT
                };
                best = best.min(costs[at + 1][of + 1] + pair);
            }
            costs[at][of] = if best == usize::MAX { 0 } else { best };
        }
    }
    let (mut at, mut of, mut out) = (0, 0, Vec::new());
    while at < rows || of < columns {
        let left = costs[at][of];
        let wanted = expected.get(at).copied();
        let found = actual.get(of).map(String::as_str);
        let is_gap = wanted == Some(ANY);
        if let (Some(wanted), Some(found), false) = (wanted, found, is_gap) {
            let is_same = fits(wanted, found);
            let pair = if is_same { 0 } else { DIFFERENT };
            if costs[at + 1][of + 1] + pair == left {
                out.push((Some(wanted), Some(found), is_same));
                (at, of) = (at + 1, of + 1);
                continue;
            }
        }
        if is_gap && found.is_some() && costs[at][of + 1] == left {
            out.push((wanted, found, true));
            of += 1;
        } else if wanted.is_some() && costs[at + 1][of] + if is_gap { 0 } else { MISSING } == left {
            if !is_gap {
                out.push((wanted, None, false));
            }
            at += 1;
        } else {
            out.push((None, found, false));
            of += 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::compare;

    #[test]
    fn lines_side_by_side() {
        let check = |expected: &[&str], actual: &[&str], difference: &str| {
            let actual: Vec<String> = actual.iter().map(|line| (*line).to_owned()).collect();
            let found = compare(expected, &actual).err().unwrap_or_default();
            assert_eq!(found, difference, "{expected:?} {actual:?}");
        };
        let head = "  expected   actual\n";
        check(&[], &[], "");
        check(&["a", "b"], &["a", "b"], "");
        check(&["a…", "b"], &["abc", "b"], "");
        check(&["…", "b"], &["x", "y", "b"], "");
        check(&["a", "…"], &["a"], "");
        check(&["a", "…", "c", "…"], &["a", "b", "c", "d", "e"], "");
        check(
            &["a", "b"],
            &["a", "c"],
            &format!("{head}  a          a\n! b          c\n"),
        );
        check(&["a", "b"], &["b"], &format!("{head}! a\n  b          b\n"));
        check(
            &["b"],
            &["a", "b"],
            &format!("{head}!            a\n  b          b\n"),
        );
        check(
            &["…", "z"],
            &["a", "b"],
            &format!("{head}  …          a\n  …          b\n! z\n"),
        );
        check(&[], &["a"], &format!("{head}!            a\n"));
    }
}
