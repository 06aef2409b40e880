//! Formats usage and cost so far.

use std::fmt::Write as _;

use gadgetry::proto::event::{Event, EventKind};
use gadgetry::proto::usage::Usage;

/// Bytes of text that make a token, about.
const BYTES_A_TOKEN: u64 = 4;

/// Tokens and costs of a run so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct UsageTotals {
    /// Tokens of the model calls that have ended.
    usage: Usage,
    /// Costs as far as they are known, in US dollars.
    dollars: f64,
    /// Whether the price of a model call is not known.
    is_unpriced: bool,
    /// The length of the reply that is streaming.
    bytes: u64,
}

impl UsageTotals {
    /// Adds an event.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the others have no tokens")]
    pub(crate) fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Text { text } => self.text(text),
            EventKind::GadgetArgsPartial { args, .. } => self.text(&args.delta),
            EventKind::ModelCallEnd { usage, .. } => self.tokens(*usage),
            _ => {}
        }
        self.cost(event.kind.own_cost());
    }

    /// Adds text of the reply that is streaming.
    pub(crate) fn text(&mut self, text: &str) {
        self.bytes = self.bytes.saturating_add(text.len() as u64);
    }

    /// Adds a model call that has ended, and its cost.
    pub(crate) fn call(&mut self, usage: Usage, dollars: Option<f64>) {
        self.tokens(usage);
        self.cost(dollars);
    }

    /// Adds the tokens of a model call; an estimate if they are not known.
    fn tokens(&mut self, usage: Usage) {
        let usage = if usage.output_tokens == 0 && self.bytes > 0 {
            let about = Usage::estimate(usage.input_tokens, self.bytes.div_ceil(BYTES_A_TOKEN));
            usage.max(about)
        } else {
            usage
        };
        self.usage = self.usage.plus(usage);
        self.bytes = 0;
    }

    fn cost(&mut self, dollars: Option<f64>) {
        self.dollars += dollars.unwrap_or_default();
        self.is_unpriced |= dollars.is_none();
    }

    /// Tokens and known costs, as far as there are any.
    pub(crate) fn words(&self) -> String {
        let coming = self.bytes.div_ceil(BYTES_A_TOKEN);
        let about = if coming > 0 || self.usage.estimated {
            "about "
        } else {
            ""
        };
        let written = self.usage.output_tokens.saturating_add(coming);
        let mut words = String::new();
        if self.usage.input_tokens > 0 {
            // Writing to a string cannot fail.
            let _ = write!(words, "{} in, ", tokens(self.usage.input_tokens));
        }
        let _ = write!(words, "{about}{} out", tokens(written));
        if let Some(cost) = self.cost_words() {
            let _ = write!(words, ", {cost}");
        }
        words
    }

    /// Known costs, if there are any.
    pub(crate) fn cost_words(&self) -> Option<String> {
        let least = if self.is_unpriced { "at least " } else { "" };
        (self.dollars > 0.0).then(|| format!("{least}{}", dollars(self.dollars)))
    }
}

fn tokens(count: u64) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} token{plural}", grouped(count))
}

/// Dollars with as many digits as such an amount needs.
pub(crate) fn dollars(amount: f64) -> String {
    if amount < 0.0995 {
        format!("${amount:.4}")
    } else {
        format!("${amount:.2}")
    }
}

/// A number with commas: `12,345`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        let check = |number: u64, text: &str| assert_eq!(grouped(number), text);
        check(0, "0");
        check(999, "999");
        check(1_000, "1,000");
        check(1_234_567, "1,234,567");
        assert_eq!(dollars(0.000_123), "$0.0001");
        assert_eq!(dollars(12.3), "$12.30");
    }

    #[test]
    fn a_reply_counts_while_it_comes_and_exactly_when_it_is_over() {
        let mut totals = UsageTotals::default();
        totals.text("twelve bytes");
        assert_eq!(totals.words(), "about 3 tokens out");
        let usage = Usage::default().input_tokens(1_500).output_tokens(4);
        totals.call(usage, Some(0.002));
        assert_eq!(totals.words(), "1,500 tokens in, 4 tokens out, $0.0020");
        totals.text("more");
        assert_eq!(
            totals.words(),
            "1,500 tokens in, about 5 tokens out, $0.0020"
        );
        totals.call(Usage::default(), None);
        assert_eq!(
            totals.words(),
            "1,500 tokens in, about 5 tokens out, at least $0.0020"
        );
    }

    #[test]
    fn every_event_with_a_cost_counts() {
        let check = |events: &[&str], words: &str| {
            let mut totals = UsageTotals::default();
            for event in events {
                let event = format!(r#"{{ "v": 1, "seq": 0, "timeMs": 0, {event} }}"#);
                totals.event(&serde_json::from_str(&event).expect("an event"));
            }
            assert_eq!(totals.words(), words, "{events:?}");
        };
        let about = |kind: &str, cost: &str| {
            format!(
                r#""type": "{kind}", "call": 0, "invocationId": "a", "gadgetName": "A", "cost": {cost}, "durationMs": 1, "result": "x""#
            )
        };
        let (result, late) = (about("gadget_result", "0.5"), about("gadget_cost", "0.25"));
        let end = |cost: &str| {
            format!(
                r#""type": "model_call_end", "iteration": 1, "stopReason": "stop", "usage": {{ "outputTokens": 1 }}, "cost": {cost}"#
            )
        };
        check(&[&result], "0 tokens out, $0.50");
        // The gadget was out of time; its cost is reported later.
        check(&[&result, &late], "0 tokens out, $0.75");
        check(&[&result, &end("1")], "1 token out, $1.50");
        check(&[&end("null")], "1 token out");
        check(&[&result, &end("null")], "1 token out, at least $0.50");
    }
}
