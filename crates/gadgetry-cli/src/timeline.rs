//! The times of calls as bars.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use gadgetry::proto::event::{Ancestor, CallAnswer, Event, EventKind};
use gadgetry::proto::id::CallId;

/// The width of the longest bar, in characters.
const WIDTH: u64 = 48;

/// Collects the calls of a run and of its subagents.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    rows: Vec<Row>,
    /// The row of each call. Calls of different runs may have the same number.
    by_call: BTreeMap<(Vec<Ancestor>, CallId), usize>,
    end: u64,
}

#[derive(Debug)]
struct Row {
    name: String,
    start: u64,
    end: u64,
    fate: &'static str,
}

impl Timeline {
    /// Adds an event.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the others are about no call, or change no bar"
    )]
    pub(crate) fn event(&mut self, event: &Event) {
        let now = event.time.0;
        self.end = self.end.max(now);
        match &event.kind {
            EventKind::GadgetCall { call, written } => {
                let of = (event.path.clone(), *call);
                self.by_call.insert(of, self.rows.len());
                self.rows.push(Row {
                    name: format!("{} {}", written.gadget_name, written.invocation_id),
                    start: now,
                    end: now,
                    fate: "",
                });
            }
            EventKind::GadgetResult {
                call,
                answer,
                duration_ms,
                ..
            } => {
                let fate = match answer {
                    CallAnswer::Result(_) => "done",
                    CallAnswer::Error(_) => "failed",
                };
                self.close(event, *call, now.saturating_sub(*duration_ms), fate);
            }
            EventKind::GadgetSkipped { call, .. } => self.close(event, *call, now, "skipped"),
            _ => {}
        }
    }

    fn close(&mut self, event: &Event, call: CallId, start: u64, fate: &'static str) {
        let row = self.by_call.get(&(event.path.clone(), call));
        if let Some(row) = row.and_then(|row| self.rows.get_mut(*row)) {
            (row.start, row.end, row.fate) = (start, event.time.0, fate);
        }
    }

    /// The bars, one line for each call.
    pub(crate) fn draw(&self) -> String {
        let names = self
            .rows
            .iter()
            .map(|row| row.name.chars().count())
            .max()
            .unwrap_or_default();
        let at = |time: u64| time * WIDTH / self.end.max(1);
        // A call that takes no time has a bar, too, within the frame.
        let start = |time: u64| at(time).min(WIDTH - 1);
        let mut out = String::new();
        for row in &self.rows {
            let from = start(row.start);
            let to = at(row.end).max(from + 1);
            let mark = if row.fate == "skipped" { "-" } else { "#" };
            let blank = |count: u64| " ".repeat(usize::try_from(count).unwrap_or_default());
            let bar = mark.repeat(usize::try_from(to - from).unwrap_or_default());
            let (before, after) = (blank(from), blank(WIDTH.saturating_sub(to)));
            let length = row.end - row.start;
            // Writing to a string cannot fail.
            let _ = writeln!(
                out,
                "  {name:<names$}  |{before}{bar}{after}| {start:>5} ms + {length:>4} ms  {fate}",
                name = row.name,
                start = row.start,
                fate = row.fate
            );
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_show_when_the_calls_ran() {
        let row = |name: &str, start, end, fate| Row {
            name: name.to_owned(),
            start,
            end,
            fate,
        };
        let timeline = Timeline {
            rows: vec![
                row("Read a", 0, 50, "done"),
                row("Sum", 50, 100, "failed"),
                row("Off", 100, 100, "skipped"),
            ],
            end: 100,
            ..Timeline::default()
        };
        let expected = "  Read a  |########################                        |     0 ms +   50 ms  done\n\
                        \u{20} Sum     |                        ########################|    50 ms +   50 ms  failed\n\
                        \u{20} Off     |                                               -|   100 ms +    0 ms  skipped\n";
        assert_eq!(timeline.draw(), expected);
    }

    #[test]
    fn a_result_closes_its_own_call() {
        let mut timeline = Timeline::default();
        let mut add = |time: u64, path: &str, event: &str| {
            let event =
                format!(r#"{{ "v": 1, "seq": 0, "timeMs": {time}, "path": [{path}], {event} }}"#);
            timeline.event(&serde_json::from_str(&event).expect("an event"));
        };
        let call = |number: u32| {
            format!(
                r#""type": "gadget_call", "call": {number}, "gadgetName": "Run", "invocationId": "a", "dependencies": [], "parametersRaw": "", "parameters": {{}}, "terminatedBy": "endMarker", "span": {{ "start": 0, "end": 0 }}"#
            )
        };
        let result = |number: u32, answer: &str| {
            format!(
                r#""type": "gadget_result", "call": {number}, "gadgetName": "Run", "invocationId": "a", "{answer}": "x", "durationMs": 10"#
            )
        };
        // Two calls of one id, and one of a subagent with the same number and id.
        let agent = r#"{ "call": 0, "invocationId": "a", "agent": 0 }"#;
        add(0, "", &call(0));
        add(0, "", &call(1));
        add(10, agent, &call(0));
        add(20, agent, &result(0, "error"));
        add(40, "", &result(0, "result"));
        let fates: Vec<_> = timeline
            .rows
            .iter()
            .map(|row| (row.start, row.end, row.fate))
            .collect();
        assert_eq!(fates, [(30, 40, "done"), (0, 0, ""), (10, 20, "failed")]);
    }
}
