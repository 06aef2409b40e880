//! Which call ran when, as bars.

use std::fmt::Write as _;

use gadgetry::proto::event::{Answer, Event, EventKind};

/// The width of the longest bar, in characters.
const WIDTH: u64 = 48;

/// Gathers the calls of a run.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    rows: Vec<Row>,
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
    /// Looks at an event.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "only calls have a place on it"
    )]
    pub(crate) fn event(&mut self, event: &Event) {
        let now = event.time.0;
        self.end = self.end.max(now);
        match &event.kind {
            EventKind::GadgetCall { written: call, .. } => {
                let name = format!("{} {}", call.gadget_name, call.invocation_id);
                self.rows.push(Row {
                    name,
                    start: now,
                    end: now,
                    fate: "",
                });
            }
            EventKind::GadgetResult {
                gadget_name,
                invocation_id,
                answer,
                duration_ms,
                ..
            } => {
                let fate = match answer {
                    Answer::Result(_) => "done",
                    Answer::Error(_) => "failed",
                };
                self.close(
                    &format!("{gadget_name} {invocation_id}"),
                    now - duration_ms,
                    now,
                    fate,
                );
            }
            EventKind::GadgetSkipped {
                gadget_name,
                invocation_id,
                ..
            } => {
                self.close(
                    &format!("{gadget_name} {invocation_id}"),
                    now,
                    now,
                    "skipped",
                );
            }
            _ => {}
        }
    }

    fn close(&mut self, name: &str, start: u64, end: u64, fate: &'static str) {
        let open = self
            .rows
            .iter_mut()
            .rev()
            .find(|row| row.name == name && row.fate.is_empty());
        if let Some(row) = open {
            (row.start, row.end, row.fate) = (start, end, fate);
        }
    }

    /// The bars, a line a call.
    pub(crate) fn draw(&self) -> String {
        let names = self
            .rows
            .iter()
            .map(|row| row.name.chars().count())
            .max()
            .unwrap_or_default();
        let at = |time: u64| time * WIDTH / self.end.max(1);
        // Whatever takes no time is still seen, within the frame.
        let start = |time: u64| at(time).min(WIDTH - 1);
        let mut out = String::new();
        for row in &self.rows {
            let from = start(row.start);
            let to = at(row.end).max(from + 1);
            let mark = if row.fate == "skipped" { "-" } else { "#" };
            let blank = |count: u64| " ".repeat(usize::try_from(count).unwrap_or_default());
            let bar = mark.repeat(usize::try_from(to - from).unwrap_or_default());
            let (before, behind) = (blank(from), blank(WIDTH.saturating_sub(to)));
            let length = row.end - row.start;
            // Writing to a string cannot fail.
            let _ = writeln!(
                out,
                "  {name:<names$}  |{before}{bar}{behind}| {start:>5} ms + {length:>4} ms  {fate}",
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
    fn bars_stand_where_the_calls_ran() {
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
        };
        let expected = "  Read a  |########################                        |     0 ms +   50 ms  done\n\
                        \u{20} Sum     |                        ########################|    50 ms +   50 ms  failed\n\
                        \u{20} Off     |                                               -|   100 ms +    0 ms  skipped\n";
        assert_eq!(timeline.draw(), expected);
    }
}
