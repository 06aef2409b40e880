//! Tokens and what they cost.

use serde::{Deserialize, Serialize};

/// Token counts of one model call, as the provider reports them. Absent fields are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Usage {
    /// Tokens of the request, cached ones included.
    pub input_tokens: u64,
    /// Tokens of the reply, reasoning included unless `reasoning_outside_output` says otherwise.
    pub output_tokens: u64,
    /// The total as the provider reports it.
    pub total_tokens: u64,
    /// Part of `output_tokens` that was reasoning.
    #[serde(skip_serializing_if = "is_zero")]
    pub reasoning_tokens: u64,
    /// Part of `input_tokens` that was read from a cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cached_input_tokens: u64,
    /// Part of `input_tokens` that was written to a cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_creation_tokens: u64,
    /// Part of `cache_creation_tokens` that is kept for an hour, which costs more.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_creation_1h_tokens: u64,
    /// Whether `reasoning_tokens` come on top of `output_tokens`, as Gemini and xAI count.
    #[serde(skip_serializing_if = "is_false")]
    pub reasoning_outside_output: bool,
    /// Whether these are estimates, because the provider did not tell.
    #[serde(skip_serializing_if = "is_false")]
    pub estimated: bool,
    /// The charge that the provider reports, in US dollars; `None` if it reports none, as most do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl Usage {
    crate::setters! {
        /// Sets the tokens of the request, cached ones included.
        input_tokens: u64;
        /// Sets the tokens of the reply.
        output_tokens: u64;
        /// Sets the total.
        total_tokens: u64;
        /// Sets the part of the output that was reasoning.
        reasoning_tokens: u64;
        /// Sets the part of the input that was read from a cache.
        cached_input_tokens: u64;
        /// Sets the part of the input that was written to a cache.
        cache_creation_tokens: u64;
        /// Sets the part of that which is kept for an hour.
        cache_creation_1h_tokens: u64;
        /// Counts reasoning on top of the output, or as a part of it.
        reasoning_outside_output: bool;
        /// Marks the counts as estimates.
        estimated: bool;
        /// Sets the charge that the provider reports, in US dollars.
        cost: impl Into<Option<f64>>;
    }

    /// Estimated counts, marked so.
    ///
    /// ```
    /// use gadgetry_proto::usage::Usage;
    /// let usage = Usage::estimate(1_000, 50);
    /// assert!(usage.estimated);
    /// assert_eq!(usage.total_tokens, 1_050);
    /// ```
    #[must_use]
    pub fn estimate(input_tokens: u64, output_tokens: u64) -> Self {
        Self {
            input_tokens,
            output_tokens,
            total_tokens: input_tokens.saturating_add(output_tokens),
            estimated: true,
            ..Self::default()
        }
    }

    /// The same usage with reasoning as a part of the output, whichever way the provider counted.
    ///
    /// In addition to the flag, the counts themselves show it: reasoning came on top if only with it they add up to the total,
    /// or if there is more of it than output.
    ///
    /// ```
    /// use gadgetry_proto::usage::Usage;
    /// let usage = Usage::default()
    ///     .input_tokens(20)
    ///     .output_tokens(151)
    ///     .reasoning_tokens(382)
    ///     .total_tokens(553);
    /// assert_eq!(usage.with_reasoning_in_output().output_tokens, 533);
    /// ```
    #[must_use]
    pub fn with_reasoning_in_output(mut self) -> Self {
        let apart = self.output_tokens.saturating_add(self.reasoning_tokens);
        let adds_up = self.reasoning_tokens > 0
            && self.total_tokens > 0
            && self.total_tokens == self.input_tokens.saturating_add(apart);
        let outweighs = self.reasoning_tokens > self.output_tokens;
        if self.reasoning_outside_output || adds_up || outweighs {
            self.output_tokens = apart;
        }
        self.reasoning_outside_output = false;
        self
    }

    /// Field by field the sum of both: the tokens of several model calls. Reasoning is in the output of the sum, and
    /// one estimate makes it an estimate.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let (one, other) = (self.unflagged(), other.unflagged());
        Self {
            input_tokens: one.input_tokens.saturating_add(other.input_tokens),
            output_tokens: one.output_tokens.saturating_add(other.output_tokens),
            total_tokens: one.total_tokens.saturating_add(other.total_tokens),
            reasoning_tokens: one.reasoning_tokens.saturating_add(other.reasoning_tokens),
            cached_input_tokens: one
                .cached_input_tokens
                .saturating_add(other.cached_input_tokens),
            cache_creation_tokens: one
                .cache_creation_tokens
                .saturating_add(other.cache_creation_tokens),
            cache_creation_1h_tokens: one
                .cache_creation_1h_tokens
                .saturating_add(other.cache_creation_1h_tokens),
            reasoning_outside_output: false,
            estimated: one.estimated || other.estimated,
            cost: match (one.cost, other.cost) {
                (Some(one), Some(other)) => Some(one + other),
                (one, other) => one.or(other),
            },
        }
    }

    /// Field by field the larger of both: providers repeat a growing count within one reply. What a provider reported
    /// takes the place of an estimate, however large that was.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        let nothing = Self::default();
        match (self.estimated, other.estimated) {
            (true, false) if other != nothing => return other,
            (false, true) if self != nothing => return self,
            _ => {}
        }
        Self {
            input_tokens: self.input_tokens.max(other.input_tokens),
            output_tokens: self.output_tokens.max(other.output_tokens),
            total_tokens: self.total_tokens.max(other.total_tokens),
            reasoning_tokens: self.reasoning_tokens.max(other.reasoning_tokens),
            cached_input_tokens: self.cached_input_tokens.max(other.cached_input_tokens),
            cache_creation_tokens: self.cache_creation_tokens.max(other.cache_creation_tokens),
            cache_creation_1h_tokens: self
                .cache_creation_1h_tokens
                .max(other.cache_creation_1h_tokens),
            reasoning_outside_output: self.reasoning_outside_output
                || other.reasoning_outside_output,
            estimated: self.estimated || other.estimated,
            cost: match (self.cost, other.cost) {
                (Some(one), Some(other)) => Some(one.max(other)),
                (one, other) => one.or(other),
            },
        }
    }

    /// Dollars for one model call with this usage: what the provider says, or else what the price says; `None` if neither is
    /// known.
    ///
    /// ```
    /// use gadgetry_proto::usage::{Price, Usage};
    /// let usage = Usage::default().input_tokens(1_000_000);
    /// assert_eq!(usage.dollars(None), None);
    /// assert_eq!(usage.dollars(Some(&Price::default().input(2.5))), Some(2.5));
    /// assert_eq!(usage.cost(0.25).dollars(None), Some(0.25));
    /// ```
    pub fn dollars(&self, price: Option<&Price>) -> Option<f64> {
        let said = self.cost.filter(|cost| cost.is_finite() && *cost >= 0.0);
        match (said, price) {
            // Gateways say 0 of what they do not know.
            (Some(0.0), Some(price)) => Some(price.cost(self)),
            (Some(cost), _) => Some(cost),
            (None, price) => price.map(|price| price.cost(self)),
        }
    }

    /// Reasoning moved into the output if the flag says that it is not there; nothing is read from the counts.
    fn unflagged(mut self) -> Self {
        if self.reasoning_outside_output {
            self.output_tokens = self.output_tokens.saturating_add(self.reasoning_tokens);
            self.reasoning_outside_output = false;
        }
        self
    }
}

/// The prices of a model, in US dollars per million tokens.
///
/// ```
/// use gadgetry_proto::usage::{Price, Tier, Usage};
/// let long = Price::default().input(5.0).output(22.5);
/// let tiers = vec![Tier { above: 272_000, price: long }];
/// let price = Price::default().input(2.5).output(15.0).tiers(tiers);
/// let cost = |input_tokens| price.cost(&Usage::default().input_tokens(input_tokens));
/// assert_eq!(cost(200_000), 0.5);
/// assert_eq!(cost(400_000), 2.0);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Price {
    /// Input tokens that no cache knows.
    pub input: f64,
    /// Output tokens.
    pub output: f64,
    /// Input tokens read from a cache; `input` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<f64>,
    /// Input tokens written to a cache, for minutes; `input` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_input: Option<f64>,
    /// Input tokens written to a cache for an hour; `cache_write_input` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_1h_input: Option<f64>,
    /// Output tokens that were reasoning; `output` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_output: Option<f64>,
    /// Other prices for longer requests, in any order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<Tier>,
}

/// The prices of a model for requests that are longer than most.
///
/// Providers charge the whole request at these prices, input and output, not only what is above: OpenAI ("for the full
/// session", developers.openai.com/api/docs/models/gpt-5.4-pro), Google ("prompts > 200k tokens",
/// ai.google.dev/gemini-api/docs/pricing), Anthropic and Alibaba likewise. What counts is the input, cached or not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Tier {
    /// Input tokens that a request must have more than.
    pub above: u64,
    /// The price of such a request. The tiers of this price are not looked at.
    #[serde(flatten)]
    pub price: Price,
}

impl Price {
    crate::setters! {
        /// Sets the price of input tokens that no cache knows.
        input: f64;
        /// Sets the price of output tokens.
        output: f64;
        /// Sets the price of input tokens read from a cache.
        cached_input: impl Into<Option<f64>>;
        /// Sets the price of input tokens written to a cache, for minutes.
        cache_write_input: impl Into<Option<f64>>;
        /// Sets the price of input tokens written to a cache for an hour.
        cache_write_1h_input: impl Into<Option<f64>>;
        /// Sets the price of output tokens that were reasoning.
        reasoning_output: impl Into<Option<f64>>;
        /// Sets other prices for longer requests, in any order.
        tiers: Vec<Tier>;
    }

    /// Dollars for the `usage` of one model call. The sum of several may fall into a tier that none of them reached.
    ///
    /// Never negative: neither counts that contradict each other nor rates that are not amounts make it so.
    ///
    /// The sum of, in tokens and dollars a million: `(input − cached − written) × input`, `cached × cached_input`,
    /// `written × cache_write_input`, `(output − reasoning) × output` and `reasoning × reasoning_output`. Cache reads and
    /// writes are parts of the input, reasoning is part of the output. Source: vectors K02 and K04 of the corpus.
    pub fn cost(&self, usage: &Usage) -> f64 {
        let reached = self
            .tiers
            .iter()
            .filter(|tier| usage.input_tokens > tier.above);
        let tier = reached.max_by_key(|tier| tier.above);
        tier.map_or(self, |tier| &tier.price).flat_cost(usage)
    }

    /// Returns `true` if any price is above 0. A price of 0 is most often an unknown one.
    pub fn charges(&self) -> bool {
        [self.input, self.output]
            .into_iter()
            .any(|rate| rate.is_finite() && rate > 0.0)
    }

    fn flat_cost(&self, usage: &Usage) -> f64 {
        let usage = usage.unflagged();
        let read = usage.cached_input_tokens;
        let written = usage.cache_creation_tokens;
        let written_1h = usage.cache_creation_1h_tokens;
        let fresh = usage
            .input_tokens
            .saturating_sub(read.saturating_add(written.max(written_1h)));
        let reasoning = usage.reasoning_tokens;
        let visible = usage.output_tokens.saturating_sub(reasoning);
        let write = self.cache_write_input.unwrap_or(self.input);
        let dollars = amount(fresh, self.input)
            + amount(read, self.cached_input.unwrap_or(self.input))
            + amount(written.saturating_sub(written_1h), write)
            + amount(written_1h, self.cache_write_1h_input.unwrap_or(write))
            + amount(visible, self.output)
            + amount(reasoning, self.reasoning_output.unwrap_or(self.output));
        dollars / 1e6
    }
}

/// The price of this many tokens at this rate; 0 if the rate is not an amount.
#[expect(
    clippy::cast_precision_loss,
    reason = "token counts are far below 2^52"
)]
fn amount(tokens: u64, rate: f64) -> f64 {
    if rate.is_finite() && rate > 0.0 {
        tokens as f64 * rate
    } else {
        0.0
    }
}
