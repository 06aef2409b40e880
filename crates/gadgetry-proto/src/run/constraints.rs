//! What the replies of a run are held to.

use std::sync::OnceLock;

use crate::grammar::ConstrainedReply;
use crate::message::{Constraint, Notation, ToolChoice};
use crate::run::config::RunConfig;
use crate::schema::Registry;

/// The constraints of one plan. They depend on its gadgets and markers, and are the same for all requests with one choice.
#[derive(Debug, Default)]
pub(super) struct Constraints {
    auto: OnceLock<Option<Constraint>>,
    chosen: OnceLock<Option<Constraint>>,
}

impl Constraints {
    /// What a reply is held to. Nothing, if the run constrains none, or its gadgets have no grammar within the limits: calls are
    /// checked all the same.
    pub(super) fn of(
        &self,
        choice: &ToolChoice,
        config: &RunConfig,
        registry: &Registry,
    ) -> Option<Constraint> {
        let notation = config.constrain?;
        if !config.tools.reads_blocks() || registry.is_empty() {
            return None;
        }
        let make = || made(notation, choice, config, registry);
        if choice.is_auto() {
            self.auto.get_or_init(make).clone()
        } else if *choice == config.tool_choice {
            self.chosen.get_or_init(make).clone()
        } else {
            make()
        }
    }
}

fn made(
    notation: Notation,
    choice: &ToolChoice,
    config: &RunConfig,
    registry: &Registry,
) -> Option<Constraint> {
    let reply = ConstrainedReply {
        size: config.model_size,
        form: config.form,
        markers: &config.markers,
        choice,
        is_single: false,
        has_ids: true,
        max_tokens: None,
    };
    let tools = registry.iter();
    let tools = tools.map(|gadget| (gadget.name(), gadget.shown_parameters()));
    reply.constraint(tools, notation).ok()
}
