//! Measurements as tables and as JSON, and the choice of the best arm.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::measure::{Measured, Probe};
use crate::cli::{Arm, Class};
use crate::config::{ModelMarkers, ModelSettings};
use crate::lines::{one_line, short};

/// A difference of one case in this number does not count.
const TIE: usize = 30;

/// Measurements of one model.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) model: String,
    /// Description of its server.
    pub(crate) server: String,
    pub(crate) cases: usize,
    pub(crate) markers: ModelMarkers,
    pub(crate) arms: Vec<Measured>,
    /// The settings that the configuration has for it.
    pub(crate) configured: ModelSettings,
    /// Arms that were left out, and why.
    pub(crate) left_out: Vec<(Arm, &'static str)>,
}

/// The numbers of one arm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Numbers {
    /// Replies, failures included.
    pub(crate) cases: usize,
    /// Replies in which a call is expected.
    pub(crate) need_call: usize,
    /// A call was made, of those.
    pub(crate) called: usize,
    /// All calls were valid, of those.
    pub(crate) valid: usize,
    /// The right tools were called, of those.
    pub(crate) tool: usize,
    /// Everything was right, of all.
    pub(crate) right: usize,
    /// The same, where no call is needed.
    pub(crate) right_without: usize,
    /// There is no whole reply.
    pub(crate) failed: usize,
    /// On average, of the replies that did not fail.
    pub(crate) input_tokens: f64,
    pub(crate) output_tokens: f64,
    pub(crate) seconds: f64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) estimated: bool,
}

impl Numbers {
    /// Right replies. A model that never calls a tool is right whenever none is needed, so that such replies count in proportion to
    /// the right calls only.
    fn merit(&self) -> usize {
        let without = self.cases - self.need_call;
        let calls = self.right - self.right_without;
        let proportion = (calls * without).div_ceil(self.need_call.max(1));
        if self.need_call == 0 {
            return self.right;
        }
        calls + self.right_without.min(proportion)
    }
}

impl Measured {
    pub(crate) fn numbers(&self) -> Numbers {
        let need = |it: &&Probe| it.class != Some(Class::NoCall);
        let of_need = |is: fn(&Probe) -> bool| {
            let probes = self.probes.iter().filter(need);
            probes.filter(|it| is(it)).count()
        };
        let whole: Vec<&Probe> = self.probes.iter().filter(|it| it.error.is_none()).collect();
        let mean = |of: fn(&Probe) -> f64| {
            #[expect(clippy::cast_precision_loss, reason = "there are some hundreds")]
            let count = whole.len().max(1) as f64;
            whole.iter().map(|it| of(it)).sum::<f64>() / count
        };
        #[expect(clippy::cast_precision_loss, reason = "tokens of a reply are few")]
        let (input, output) = (
            mean(|it| it.input_tokens as f64),
            mean(|it| it.output_tokens as f64),
        );
        Numbers {
            cases: self.probes.len(),
            need_call: self.probes.iter().filter(need).count(),
            called: of_need(|it| it.verdict.called),
            valid: of_need(|it| it.verdict.valid),
            tool: of_need(|it| it.verdict.tool),
            right: self.probes.iter().filter(|it| it.verdict.right).count(),
            right_without: self.of_class(Class::NoCall).1,
            failed: self.probes.len() - whole.len(),
            input_tokens: input,
            output_tokens: output,
            seconds: mean(|it| it.seconds),
            estimated: whole.iter().any(|it| it.estimated),
        }
    }

    /// Returns the reason for giving up the arm, if it was given up.
    pub(crate) fn given_up(&self) -> Option<&str> {
        self.given_up.as_deref()
    }

    /// The first reply in which no call could be read.
    pub(crate) fn first_text(&self) -> Option<&str> {
        let mut texts = self.probes.iter().map(|it| it.text.as_str());
        texts.find(|it| !it.is_empty())
    }

    /// Cases of a class, and how many replies to them were right.
    fn of_class(&self, class: Class) -> (usize, usize) {
        let of = self.probes.iter().filter(|it| it.class == Some(class));
        let right = of.clone().filter(|it| it.verdict.right).count();
        (of.count(), right)
    }
}

/// The best arm of those that saw the same cases: the one of the most [merit](Numbers::merit), and of those that are as good, within
/// one case in thirty, the one of the fewest tokens.
pub(crate) fn best(arms: &[Measured], cases: usize) -> Option<&Measured> {
    let whole = arms.iter().filter(|it| it.probes.len() == cases);
    let whole: Vec<(&Measured, Numbers)> = whole.map(|it| (it, it.numbers())).collect();
    let most = whole.iter().map(|(_, it)| it.merit()).max()?;
    let is_as_good = |it: &Numbers| it.merit() > 0 && (most - it.merit()) * TIE <= cases;
    let tokens = |it: &Numbers| it.input_tokens + it.output_tokens;
    let good = whole.into_iter().filter(|(_, it)| is_as_good(it));
    let best = good.min_by(|(_, one), (_, other)| tokens(one).total_cmp(&tokens(other)));
    best.map(|(arm, _)| arm)
}

impl Report {
    pub(super) fn best(&self) -> Option<(&Measured, ModelSettings)> {
        let best = best(&self.arms, self.cases)?;
        Some((best, best.arm.settings(self.markers)))
    }

    pub(super) fn words(&self) -> String {
        let mut out = self.tables();
        if self.configured != ModelSettings::default() {
            let _ = writeln!(out, "configured: {}", options(&self.configured));
        }
        match self.best() {
            Some((best, settings)) => {
                let _ = writeln!(out, "best: {} ({})", best.arm.name(), options(&settings));
            }
            None => out.push_str("no form gave a right call\n"),
        }
        out
    }

    /// The numbers, and what was left out or given up.
    pub(crate) fn tables(&self) -> String {
        const HEAD: [&str; 8] = [
            "FORM", "CALLS", "VALID", "TOOL", "RIGHT", "IN", "OUT", "SECONDS",
        ];
        let head = format!("{}  {}", one_line(&self.model), one_line(&self.server));
        let mut out = format!("{}\n\n", head.trim_end());
        let rows: Vec<Vec<String>> = self.arms.iter().map(row).collect();
        table(&mut out, &HEAD.map(str::to_owned), &rows);
        let classes: Vec<Class> = Class::ALL
            .into_iter()
            .filter(|class| self.arms.iter().any(|it| it.of_class(*class).0 > 0))
            .collect();
        if classes.len() > 1 {
            out.push('\n');
            let mut head = vec!["RIGHT".to_owned()];
            head.extend(classes.iter().map(|it| it.name().to_uppercase()));
            let rows = self.arms.iter().map(|arm| {
                let cells = classes.iter().map(|class| {
                    let (cases, right) = arm.of_class(*class);
                    format!("{right}/{cases}")
                });
                [arm.arm.name().to_owned()]
                    .into_iter()
                    .chain(cells)
                    .collect()
            });
            table(&mut out, &head, &rows.collect::<Vec<_>>());
        }
        out.push('\n');
        for (arm, why) in &self.left_out {
            let _ = writeln!(out, "{} is left out: {why}", arm.name());
        }
        for measured in &self.arms {
            let name = measured.arm.name();
            let failed = measured.probes.iter().filter_map(|it| it.error.as_deref());
            let last = failed.clone().next_back().map(short);
            match (&measured.given_up, last) {
                (Some(why), _) => {
                    let _ = writeln!(out, "{name} was given up: {}", short(why));
                }
                (None, Some(last)) => {
                    let _ = writeln!(
                        out,
                        "{name}: {} failed, the last one: {last}",
                        failed.count()
                    );
                }
                (None, None) => {}
            }
        }
        out
    }

    pub(crate) fn json(&self) -> Value {
        let arms = self.arms.iter().map(|measured| {
            let classes = Class::ALL.into_iter().filter_map(|class| {
                let (cases, right) = measured.of_class(class);
                let numbers = json!({ "cases": cases, "right": right });
                (cases > 0).then(|| (class.name().to_owned(), numbers))
            });
            json!({
                "arm": measured.arm,
                "settings": measured.arm.settings(self.markers),
                "numbers": measured.numbers(),
                "classes": classes.collect::<Map<_, _>>(),
                "givenUp": measured.given_up,
                "probes": measured.probes,
            })
        });
        let best = self.best();
        let best = best.map(|(arm, settings)| json!({ "arm": arm.arm, "settings": settings }));
        let left_out = self.left_out.iter();
        let left_out = left_out.map(|(arm, why)| json!({ "arm": arm, "why": why }));
        json!({
            "model": self.model,
            "server": self.server,
            "cases": self.cases,
            "configured": self.configured,
            "arms": arms.collect::<Vec<_>>(),
            "leftOut": left_out.collect::<Vec<_>>(),
            "best": best,
        })
    }
}

/// The settings as options of `agent`.
pub(crate) fn options(settings: &ModelSettings) -> String {
    let pairs = settings.pairs().into_iter();
    let words: Vec<String> = pairs
        .map(|(key, value)| format!("--{key} {value}"))
        .collect();
    words.join(" ")
}

fn row(measured: &Measured) -> Vec<String> {
    let it = measured.numbers();
    let of = |count: usize, all: usize| format!("{count}/{all}");
    let about = if it.estimated { "~" } else { "" };
    vec![
        measured.arm.name().to_owned(),
        of(it.called, it.need_call),
        of(it.valid, it.need_call),
        of(it.tool, it.need_call),
        of(it.right, it.cases),
        format!("{about}{:.0}", it.input_tokens),
        format!("{about}{:.0}", it.output_tokens),
        format!("{:.1}", it.seconds),
    ]
}

/// Rows below their head, all but the first column to the right.
fn table(out: &mut String, head: &[String], rows: &[Vec<String>]) {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let cells = cells.chain(head.get(column));
        cells.map(|it| it.chars().count()).max().unwrap_or_default()
    };
    for row in std::iter::once(head).chain(rows.iter().map(Vec::as_slice)) {
        for (column, cell) in row.iter().enumerate() {
            let width = width(column);
            // Writing to a string cannot fail.
            let _ = if column == 0 {
                write!(out, "{cell:<width$}")
            } else {
                write!(out, "  {cell:>width$}")
            };
        }
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::super::score::Verdict;
    use super::*;
    use Arm::{JsonExamples, Native, Text};

    /// An arm with so many right replies of 60, and so many tokens.
    fn measured(arm: Arm, right: usize, tokens: u64, cases: usize) -> Measured {
        let probe = |at: usize| Probe {
            class: Some(Class::One),
            verdict: Verdict {
                right: at < right,
                ..Verdict::default()
            },
            input_tokens: tokens,
            ..Probe::default()
        };
        Measured {
            arm,
            probes: (0..cases).map(probe).collect(),
            given_up: None,
        }
    }

    #[test]
    fn the_best_arm() {
        let check = |arms: &[(Arm, usize, u64)], expected: Option<Arm>| {
            let all = arms.iter();
            let all = all.map(|(arm, right, tokens)| measured(*arm, *right, *tokens, 60));
            let all: Vec<Measured> = all.collect();
            assert_eq!(best(&all, 60).map(|it| it.arm), expected, "{arms:?}");
        };
        check(&[], None);
        check(&[(Text, 0, 1)], None);
        check(&[(Text, 10, 500), (Native, 40, 900)], Some(Native));
        // Two of sixty are no difference.
        check(&[(Text, 38, 500), (Native, 40, 900)], Some(Text));
        check(&[(Text, 38, 900), (Native, 40, 500)], Some(Native));
        check(&[(Text, 37, 500), (Native, 40, 900)], Some(Native));
        check(
            &[(Text, 38, 500), (JsonExamples, 39, 400), (Native, 40, 900)],
            Some(JsonExamples),
        );
        check(&[(Text, 0, 1), (Native, 1, 900)], Some(Native));
        // One that never calls is right where no call is needed, and good for nothing.
        let without = |arm, right, right_without| {
            let mut all = measured(arm, right, 1, 60);
            for (at, probe) in all.probes.iter_mut().skip(50).enumerate() {
                probe.class = Some(Class::NoCall);
                probe.verdict.right = at < right_without;
            }
            all
        };
        let all = [without(Text, 0, 10), without(Native, 5, 0)];
        assert_eq!(best(&all, 60).map(|it| it.arm), Some(Native));
        let all = [without(Text, 48, 10), without(Native, 50, 2)];
        assert_eq!(best(&all, 60).map(|it| it.arm), Some(Text));
        // One that was given up has no number to compare.
        let all = [measured(Text, 20, 1, 20), measured(Native, 15, 1, 60)];
        assert_eq!(best(&all, 60).map(|it| it.arm), Some(Native));
    }
}
