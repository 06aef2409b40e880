//! Options of an agent that its author may leave to the model.

use gadgetry_proto::block::Anchoring;
use gadgetry_proto::call_form::CallForm;
use gadgetry_proto::convo::char_limit;
use gadgetry_proto::dialect::Dialects;
use gadgetry_proto::message::Notation;
use gadgetry_proto::run::RunConfig;
use gadgetry_proto::usage::Price;
use gadgetry_providers::model::ModelInfo;

use crate::agent::AgentError;

/// Tokens of a context window that is not known.
const USUAL_WINDOW: u64 = 128_000;

/// Maximum part of a result that the model reads at once.
#[derive(Clone, Copy)]
pub(super) enum OutputLimit {
    /// Percentage of the context window.
    Percent(f64),
    /// The limit in [`RunConfig::output_limit`].
    Configured,
}

/// The options that the author has set. The rest follows from the model.
#[derive(Clone)]
pub(super) struct LeftToModel {
    pub(super) context_window: Option<u64>,
    pub(super) price: Option<Price>,
    pub(super) form: Option<CallForm>,
    /// The plan adds that of the form.
    pub(super) dialects: Dialects,
    pub(super) examples: Option<usize>,
    pub(super) is_constrained: bool,
    pub(super) constrain: Option<Notation>,
    pub(super) anchoring: Anchoring,
    pub(super) output_limit: OutputLimit,
}

impl LeftToModel {
    /// Sets the options of a run for a model with these facts.
    pub(super) fn set(&self, config: &mut RunConfig, info: &ModelInfo) -> Result<(), AgentError> {
        config.context_window = self.context_window.or(info.context_window);
        config.price = self.price.clone().or(info.price.clone());
        if config.tools.reads_blocks() {
            config.form = self.form.unwrap_or_else(|| info.usual_form());
            config.dialects = self.dialects.clone();
            config.examples = self.examples.unwrap_or_else(|| info.usual_examples());
            config.model_size = info.size(config.examples);
            config.constrain = self.constrain;
            if self.is_constrained && config.constrain.is_none() {
                config.constrain = info.constraint.notation();
            }
            self.anchor(config);
        }
        if let OutputLimit::Percent(percent) = self.output_limit {
            let percent = percentage("`.output_limit_percent(…)`", percent)?;
            let window = config.context_window.unwrap_or(USUAL_WINDOW);
            config.output_limit = Some(char_limit(window, percent));
        }
        Ok(())
    }

    /// Sets how a run that has begun calls gadgets to what it was then, whatever its model is known for by now.
    pub(super) fn keep_form(&self, config: &mut RunConfig, began: &RunConfig) {
        if !config.tools.reads_blocks() {
            return;
        }
        config.form = self.form.unwrap_or(began.form);
        config.dialects = self.dialects.clone();
        config.examples = self.examples.unwrap_or(began.examples);
        config.model_size = began.model_size;
        if self.is_constrained && self.constrain.is_none() {
            config.constrain = began.constrain;
        }
        self.anchor(config);
    }

    fn anchor(&self, config: &mut RunConfig) {
        config.anchoring = match config.constrain {
            // Where a grammar rules, text within a line is free.
            Some(_) => Anchoring::LineStart,
            None => self.anchoring,
        };
    }
}

pub(super) fn percentage(option: &'static str, percent: f64) -> Result<f64, AgentError> {
    if percent > 0.0 && percent <= 100.0 {
        Ok(percent)
    } else {
        Err(AgentError::Percent { option, percent })
    }
}
